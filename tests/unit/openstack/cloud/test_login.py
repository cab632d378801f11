"""A login as clouds.yaml asks for it, and what people are told of one that failed."""

from collections.abc import Iterator
from typing import Any

import pytest
from keystoneauth1.exceptions import ClientException

from tests.unit.openstack.cloud.hostile import keystone_at
from tests.unit.openstack.cloud.http_cloud import HttpCloud, Said, served
from windlass.kube.retry_after import LONGEST_PAUSE
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure, Throttled, Unauthenticated
from windlass.openstack.cloud.login import open_session, refused
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.openstack.cloud.wire import Http, Service

SERVERS = Http("compute", "GET", "/servers")
URL = "https://192.0.2.1/v3"


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        yield cloud


async def failure_of(credentials: Credentials) -> CloudFailure:
    session = CloudSession(credentials, Threads(1))
    with pytest.raises(CloudFailure) as caught:
        await session.send(SERVERS, seconds=10)
    session.close()
    return caught.value


@pytest.mark.parametrize(
    ("fields", "verified"),
    [
        ({}, True),
        ({"verify": True}, True),
        ({"verify": "yes"}, True),
        ({"verify": "No"}, False),
        ({"verify": "False "}, False),
        ({"verify": "OFF"}, False),
        ({"verify": 0}, False),
        ({"insecure": True}, False),
        ({"insecure": "Yes"}, False),
        ({"insecure": False}, True),
        ({"insecure": "No"}, True),
        ({"insecure": "False "}, True),
        ({"insecure": "off"}, True),
        ({"verify": True, "insecure": True}, False),
        ({"verify": False, "insecure": False}, False),
        ({"verify": "No", "insecure": "No"}, False),
        ({"verify": "yes", "insecure": "no"}, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("tenant", ["evil", ""], ids=["of a Secret", "of the user"])
def test_verify_and_insecure_are_read_in_any_spelling(fields: dict[str, Any], verified: bool, tenant: str) -> None:
    session = open_session(keystone_at(URL, tenant, **fields), agent="", connections=1)
    assert session.verify is verified


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"cert": "/me.pem"}, "/me.pem"),
        ({"cert": "/me.pem", "key": "/me.key"}, ("/me.pem", "/me.key")),
        ({"key": "/me.key"}, None),
    ],
    ids=str,
)
def test_a_client_certificate_of_the_users_own_cloud_has_its_key(fields: dict[str, Any], expected: Any) -> None:
    assert open_session(keystone_at(URL, "", **fields), agent="", connections=1).cert == expected


@pytest.mark.parametrize("key", [{}, {"key": "/var/run/secrets/key"}], ids=["alone", "with a key"])
def test_a_client_certificate_that_a_secret_names_is_refused_before_anything_is_read(key: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated, match=r"clouds\.c\.cert in clouds\.yaml of Secret evil/cloud names the file"):
        open_session(keystone_at(URL, cert="/var/run/secrets/cert", **key), agent="", connections=1)


@pytest.mark.parametrize("status", [401, 403, 409, 429, 503])
async def test_a_long_text_of_keystone_is_cut_at_a_word_and_its_length_told(cloud: HttpCloud, status: int) -> None:
    message = "denied " * 600
    cloud.keystone = Said(status, {"error": {"message": message}}, {"X-OpenStack-Request-ID": "r" * 3000})
    said = str(await failure_of(cloud.credentials()))
    assert "denied denied … (" in said
    assert "more characters)" in said.partition("[")[0]
    assert len(said) < 1300


def test_a_long_text_of_a_library_is_cut(cloud: HttpCloud) -> None:
    said = str(refused(ClientException("no such type " * 200), cloud.credentials()))
    assert said.startswith("identity: the credentials of cloud prod of Secret prod/cloud cannot be used: ")
    assert "more characters)" in said
    assert len(said) < 1300


@pytest.mark.parametrize(
    ("asked", "pause"),
    [("7", 7.0), ("999999999", LONGEST_PAUSE), ("-5", None), ("soon", None)],
)
async def test_keystone_may_ask_for_a_pause_within_reason(cloud: HttpCloud, asked: str, pause: float | None) -> None:
    cloud.keystone = Said(429, {}, {"Retry-After": asked})
    failure = await failure_of(cloud.credentials())
    assert (type(failure), failure.retry_after) == (Throttled, pause)


PROJECT: dict[str, Any] = {"project": {"id": "p"}}
STRANGE_TOKENS = [
    pytest.param({**PROJECT, "issued_at": "hunter2"}, id="the beginning"),
    pytest.param({**PROJECT, "issued_at": "2026-01-01T00:00:00Z", "expires_at": "hunter2"}, id="the end"),
    pytest.param({"project": "hunter2"}, id="a project"),
    pytest.param({**PROJECT, "catalog": ["hunter2"]}, id="a service"),
    pytest.param(
        {**PROJECT, "catalog": [{"type": "compute", "endpoints": [{"interface": "public", "url": "http://[hunter2"}]}]},
        id="a URL",
    ),
]


@pytest.mark.parametrize("token", STRANGE_TOKENS)
async def test_a_malformed_token_is_not_quoted_to_a_tenant(cloud: HttpCloud, token: dict[str, Any]) -> None:
    cloud.keystone = Said(201, {"token": token}, {"X-Subject-Token": "hunter2"})
    failure = await failure_of(keystone_at(f"{cloud.url}/identity/v3"))
    assert type(failure) is Unauthenticated
    assert "hunter2" not in str(failure)
    assert "cloud c of Secret evil/cloud" in str(failure)


async def test_the_user_is_told_what_is_malformed_in_a_token_of_the_users_own_cloud(cloud: HttpCloud) -> None:
    cloud.keystone = Said(201, {"token": {**PROJECT, "issued_at": "hunter2 " * 1000}}, {"X-Subject-Token": "t"})
    said = str(await failure_of(keystone_at(f"{cloud.url}/identity/v3", "")))
    assert "is malformed: correct it (ValueError: " in said
    assert "hunter2" in said
    assert len(said) < 1300


@pytest.mark.parametrize(
    "body",
    [{"versions": "hunter2"}, {"versions": [{"id": "hunter2", "status": "hunter2"}]}, ["hunter2"], {"hunter2": 1}],
    ids=["a text", "a version", "a list", "another key"],
)
@pytest.mark.parametrize("status", [200, 300, 401])
async def test_versions_that_are_none_are_not_quoted_to_a_tenant(status: int, body: Any) -> None:
    class Stranger(HttpCloud):
        def reply(self, request: Any) -> Said:
            return Said(status, body, {"Openstack-Auth-Receipt": "hunter2"})

    with served(Stranger()) as stranger:
        said = str(await failure_of(keystone_at(stranger.url)))
    assert "hunter2" not in said
    assert "Secret evil/cloud" in said


@pytest.mark.parametrize(
    ("service", "given", "used"),
    [
        ("compute", "", "/v2.1"),
        ("compute", "/", "/v2.1"),
        ("compute", "/v2.1/", "/v2.1"),
        ("compute", "/v2.1/p1", "/v2.1/p1"),
        ("block-storage", "", "/v3/p1"),
        ("block-storage", "/v3/p1", "/v3/p1"),
        ("network", "", ""),
        ("network", "/v2.0/", ""),
        ("network", "/virtual", "/virtual"),
        ("image", "/v2", ""),
    ],
)
async def test_an_endpoint_has_its_version_once_whatever_the_catalog_has(
    cloud: HttpCloud, service: Service, given: str, used: str
) -> None:
    cloud.endpoint = lambda *_: f"{cloud.url}/at{given}"  # type: ignore[method-assign]
    session = CloudSession(cloud.credentials(), Threads(1))
    await session.send(Http(service, "GET", "/things"), seconds=10)
    session.close()
    assert [each.path for each in cloud.calls] == [f"/at{used}/things"]
