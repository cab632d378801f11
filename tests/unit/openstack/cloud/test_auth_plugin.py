"""How an entry of clouds.yaml logs in: by its fields, as with Cluster API's own provider."""

from typing import Any

import pytest

from windlass.openstack.cloud.auth_plugin import AuthPlugin, auth_plugin
from windlass.openstack.cloud.credentials import Credentials

V3, ROOT = "https://cloud.example/identity/v3", "https://cloud.example/identity"
USER = {"username": "me", "password": "s", "project_name": "p"}
DOMAINS = {"user_domain_name": "Default", "project_domain_name": "Default"}
BY_ID = {"application_credential_id": "c", "application_credential_secret": "s"}
BY_NAME = {"application_credential_name": "c", "application_credential_secret": "s", "username": "me"}
TOKEN = {"token": "t", "project_id": "p"}


def of(auth: dict[str, Any], **entry: Any) -> AuthPlugin:
    return auth_plugin(Credentials({"auth": {"auth_url": V3, **auth}, **entry}, "c", where="Secret a/b"))


@pytest.mark.parametrize(
    ("auth", "auth_type", "name"),
    [
        pytest.param({**USER, **DOMAINS}, None, "v3password", id="password"),
        pytest.param({**USER, **DOMAINS}, "v3password", "v3password", id="password, said"),
        pytest.param({**USER, **DOMAINS}, "v3", "v3password", id="v3"),
        pytest.param({**USER, **DOMAINS}, "Password ", "v3password", id="in another spelling"),
        pytest.param({**USER, **DOMAINS, "auth_url": ROOT}, None, "password", id="no version in the URL"),
        pytest.param({**USER, **DOMAINS, "auth_url": f"{V3}/"}, None, "v3password", id="a slash at the end"),
        pytest.param(BY_ID, None, "v3applicationcredential", id="application credential"),
        pytest.param(BY_ID, "password", "v3applicationcredential", id="the same, and another type"),
        pytest.param(BY_ID, "v3applicationcredentials", "v3applicationcredential", id="the same, misspelt"),
        pytest.param({**BY_ID, "auth_url": ROOT}, None, "v3applicationcredential", id="the same, no version"),
        pytest.param({**BY_NAME, **DOMAINS}, None, "v3applicationcredential", id="by name"),
        pytest.param(TOKEN, None, "v3token", id="token"),
        pytest.param(TOKEN, "token", "v3token", id="token, said"),
        pytest.param({**TOKEN, "auth_url": ROOT}, "v3token", "token", id="token, no version"),
        pytest.param({**USER, **DOMAINS, **TOKEN}, None, "v3password", id="a password counts first"),
        pytest.param({**USER, **DOMAINS, **TOKEN}, "token", "v3token", id="unless the type has its field"),
        pytest.param({**USER, **DOMAINS, **BY_ID}, "v3applicationcredential", "v3applicationcredential", id="so here"),
    ],
)
def test_the_fields_decide(auth: dict[str, Any], auth_type: str | None, name: str) -> None:
    found = of(auth, **({"auth_type": auth_type} if auth_type else {}))
    assert (found.name, found.missing, found.asked) == (name, "", "")


@pytest.mark.parametrize(
    ("auth", "domains"),
    [
        pytest.param({**USER, **DOMAINS}, DOMAINS, id="named"),
        pytest.param(
            {**USER, "default_domain": "default"},
            {"user_domain_id": "default", "project_domain_id": "default"},
            id="default_domain",
        ),
        pytest.param(
            {**USER, "default_domain_name": "D", "user_domain_name": "U"},
            {"user_domain_name": "U", "project_domain_name": "D"},
            id="a default for one of both",
        ),
        pytest.param(
            {**USER, "domain_name": "D"}, {"user_domain_name": "D", "project_domain_name": "D"}, id="domain_name"
        ),
        pytest.param(
            {**USER, "domain_id": "d", "default_domain": "x"},
            {"user_domain_id": "d", "project_domain_id": "d"},
            id="domain_id before the default",
        ),
        pytest.param({**USER, "user-domain-name": "U"}, {"user_domain_name": "U"}, id="written with a hyphen"),
    ],
)
def test_domains_follow_from_others(auth: dict[str, Any], domains: dict[str, str]) -> None:
    options = of(auth).options
    assert {name: value for name, value in options.items() if "_domain_" in name and "default" not in name} == domains


def test_an_application_credential_has_its_scope() -> None:
    options = of({**BY_NAME, **DOMAINS, "project_name": "p", "domain_name": "D", "trust_id": "t"}).options
    assert options == {"auth_url": V3, **BY_NAME, "user_domain_name": "Default"}


@pytest.mark.parametrize("url", [f"{V3}/auth/tokens", f"{V3}/auth/tokens/", V3])
def test_the_url_may_be_that_of_tokens(url: str) -> None:
    assert of({**USER, **DOMAINS, "auth_url": url}).options["auth_url"] == V3


def test_names_of_keystone_2_are_read() -> None:
    assert of({"username": "me", "password": "s", "tenant_name": "p", **DOMAINS}).options["project_name"] == "p"


@pytest.mark.parametrize(
    ("auth", "says"),
    [
        pytest.param({"username": "me"}, "no password, no token and no application credential", id="nothing"),
        pytest.param({"application_credential_id": "c"}, "no application_credential_secret: add", id="no secret"),
        pytest.param({"application_credential_secret": "s"}, "no application_credential_id: add", id="no ID"),
        pytest.param(
            {"application_credential_name": "c", "application_credential_secret": "s"}, "no username for", id="whose"
        ),
        pytest.param(BY_NAME, "no domain for the username: add user_domain_name", id="by name, no domain"),
        pytest.param({"password": "s"}, "no username: add it", id="no user"),
        pytest.param(USER, "no domain for the username: add user_domain_name", id="no domain"),
    ],
)
@pytest.mark.parametrize("auth_type", ["", "password", "v3token", "v3applicationcredential"])
def test_a_missing_field_is_named(auth: dict[str, Any], says: str, auth_type: str) -> None:
    assert says in of(auth, auth_type=auth_type).missing


def test_another_plugin_of_keystoneauth_has_all_fields() -> None:
    found = of({**USER, "domain_name": "D", "identity_provider": "idp"}, auth_type="v3oidcpassword")
    assert found.asked == "v3oidcpassword"
    assert found.auth["identity_provider"] == "idp"
    assert found.auth["project_name"] == "p"
