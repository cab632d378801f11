"""Entries of clouds.yaml as people write them, on a real Keystone: each logs in, or its missing field is named."""

from typing import Any

import pytest
import yaml

from windlass.openstack.cloud.credentials import read
from windlass.openstack.cloud.failures import Unauthenticated
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.openstack.cloud.wire import Http
from windlass.testing.cloud import Project

Tree = dict[str, Any]


class Auth:
    """What a user of the project has to write into `auth`."""

    def __init__(self, project: Project) -> None:
        self.whole: Tree = dict(project.cloud["auth"])
        self.url: str = self.whole["auth_url"]
        self.root = self.url.removesuffix("/v3")
        sdk: Any = project.sdk
        self.user_id, self.project_id = sdk.current_user_id, sdk.current_project_id
        made = project.application_credential()["auth"]
        name = sdk.identity.get_application_credential(self.user_id, made["application_credential_id"]).name
        self.credential: Tree = {"auth_url": self.url} | {key: made[key] for key in made if key.startswith("applic")}
        self.by_name = {
            **self.without("application_credential_id", self.credential),
            "application_credential_name": name,
        }
        self.token: Tree = {"auth_url": self.url, "token": sdk.auth_token, "project_id": self.project_id}
        self.user = {key: self.whole[key] for key in ("auth_url", "username", "password", "project_name")}

    @staticmethod
    def without(field: str, auth: Tree) -> Tree:
        return {key: value for key, value in auth.items() if key != field}


@pytest.fixture
def auth(project: Project) -> Auth:
    return Auth(project)


async def logs_in(entry: Tree) -> None:
    credentials = read(yaml.safe_dump({"clouds": {"x": entry}}), "x", where="Secret t/cloud")
    session = CloudSession(credentials, Threads(1))
    try:
        assert (await session.send(Http("compute", "GET", "/servers"), seconds=20)).status == 200
    finally:
        session.close()


async def test_all_that_the_providers_library_takes_logs_in(auth: Auth) -> None:
    whole, user = auth.whole, auth.user
    region = {"region_name": "RegionOne", "interface": "public", "identity_api_version": 3}
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    token = auth.token
    for entry in (
        {"auth": whole},
        {"auth": whole, "auth_type": "v3password"},
        {"auth": whole, "auth_type": "v3"},
        {"auth": {**whole, "auth_url": auth.root}},
        {"auth": {**whole, "auth_url": f"{auth.url}/"}},
        {"auth": {**whole, "auth_url": f"{auth.url}/auth/tokens"}},
        {"auth": {**user, **domains}},
        {"auth": {**user, "domain_name": "Default"}},
        {"auth": {**user, "default_domain": "default"}},
        {"auth": {**user, "default_domain": "default", "auth_url": auth.root}},
        {"auth": {**auth.without("project_name", user), "tenant_name": user["project_name"], **domains}},
        {
            "auth": {
                "auth_url": auth.url,
                "user_id": auth.user_id,
                "password": user["password"],
                "project_id": auth.project_id,
            }
        },
        {"auth": whole, "endpoint_type": "publicURL"},
        {"auth": whole, "interface": "internal"},
        {"auth": whole, "regions": ["RegionOne"]},
        {"auth": whole, "verify": "False"},
        {"auth": whole, "cacert": "/etc/pki/ca-trust/source/anchors/ca.pem"},
        {"auth": auth.credential, "auth_type": "v3applicationcredential"},
        {"auth": auth.credential, **region},
        {"auth": auth.credential, "auth_type": "password"},
        {"auth": auth.credential, "auth_type": "v3applicationcredentials"},
        {"auth": {**auth.credential, "auth_url": auth.root}, "auth_type": "v3applicationcredential"},
        {"auth": {**auth.credential, "project_name": user["project_name"], "project_domain_id": "default"}},
        {"auth": {**auth.by_name, "username": user["username"], "user_domain_name": "Default"}},
        {"auth": {**auth.by_name, "user_id": auth.user_id}},
        {"auth": token},
        {"auth": token, "auth_type": "token"},
        {"auth": token, "auth_type": "v3token"},
    ):
        try:
            await logs_in(entry)
        except Unauthenticated as error:
            raise AssertionError(f"{entry}: {error}") from None


async def test_what_cannot_log_in_is_named(auth: Auth) -> None:
    whole, user = auth.whole, auth.user
    for entry, says in (
        ({"auth": user}, "has no domain for the username: add user_domain_name"),
        ({"auth": whole, "region_name": "Nope"}, "no region 'Nope'; it has: RegionOne"),
        ({"auth": {**whole, "password": 12345}}, "Keystone refuses the credentials of cloud x of Secret t/cloud"),
        ({"profile": "vexxhost", "auth": auth.without("auth_url", whole)}, "has no auth.auth_url"),
        ({"auth": auth.without("password", whole)}, "has no password, no token and no application credential"),
        ({"auth": auth.by_name}, "has no username for the application_credential_name: add it"),
    ):
        with pytest.raises(Unauthenticated) as caught:
            await logs_in(entry)
        assert says in str(caught.value)
