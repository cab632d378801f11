"""Whatever clouds.yaml and Keystone say, a login ends: with a project, or with a failure that people can read."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.openstack.cloud.http_cloud import HttpCloud, Said, served
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads

DEEP = b"[" * 60_000


@pytest.fixture(scope="module")
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        yield cloud


def outcome(cloud: HttpCloud, credentials: Credentials, *, keystone: Said | None = None) -> str:
    """The project, or the text of the failure."""
    cloud.keystone = keystone

    async def log_in() -> str:
        session = CloudSession(credentials, Threads(1))
        try:
            async with asyncio.timeout(10):
                return await session.project_id()
        finally:
            session.close()

    try:
        return asyncio.run(log_in())
    except CloudFailure as failure:
        return str(failure)


def entry(cloud: HttpCloud, *, auth: dict[str, Any], **fields: Any) -> Credentials:
    known = cloud.credentials()
    return Credentials({"auth": {**known.cloud["auth"], **auth}, **fields}, "prod", where="Secret prod/cloud")


@pytest.mark.parametrize(
    ("auth", "fields"),
    [
        ({}, {"auth_type": "none"}),
        ({"endpoint": "http://127.0.0.1:1", "token": "t"}, {"auth_type": "admin_token"}),
        ({"endpoint": "http://127.0.0.1:1"}, {"auth_type": "http_basic"}),
        ({"oauth2_endpoint": "x", "oauth2_client_id": "i"}, {"auth_type": "v3oauth2mtlsclientcredential"}),
        ({"oauth2_endpoint": "x", "oauth2_client_id": "i"}, {"auth_type": "v3oauth2clientcredential"}),
        ({"auth_methods": ["v3password", []]}, {"auth_type": "v3multifactor"}),
        ({"auth_methods": 3}, {"auth_type": "v3multifactor"}),
        ({"password": ""}, {"auth_type": "\x1b[31m"}),
        ({"password": None}, {"auth_type": ["password"]}),
        ({}, {"cert": [1, 2, 3]}),
        ({}, {"cert": "..\0"}),
        ({"auth_url": ["http://a"]}, {}),
        ({"auth_url": "http://[::1"}, {}),
        ({"auth_url": "file:///etc/passwd"}, {}),
    ],
)
def test_an_entry_that_no_login_can_use_names_the_secret(
    cloud: HttpCloud, auth: dict[str, Any], fields: dict[str, Any]
) -> None:
    said = outcome(cloud, entry(cloud, auth=auth, **fields))
    assert said.startswith("identity")
    assert "Secret prod/cloud" in said
    assert said.isprintable()


def test_a_keystone_that_wants_a_token_for_its_versions_takes_no_thread_for_ever(cloud: HttpCloud) -> None:
    said = outcome(cloud, entry(cloud, auth={"auth_url": cloud.url}))  # the root answers 401
    assert said.startswith("identity: ")
    assert "auth_url" in said


@pytest.mark.parametrize("status", [200, 201, 300, 302, 401, 429, 500])
@pytest.mark.parametrize(
    "body", [DEEP, b'{"error":' + DEEP, b'{"token":' + DEEP, b"\xff\xfe", b"null", b"<" * 2**20, b"9" * 5000]
)
def test_an_answer_of_keystone_that_is_no_json_is_a_failure(cloud: HttpCloud, status: int, body: bytes) -> None:
    headers = {"X-Subject-Token": "t", "Retry-After": "9" * 5000}
    said = outcome(cloud, cloud.credentials(), keystone=Said(status, body, headers))
    assert said.startswith("identity")
    assert said.isprintable()
    assert len(said) < 5000


values = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["2030-01-01T00:00:00Z", "\x1b[1m"])
trees = st.recursive(values, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3))
endpoints = st.fixed_dictionaries({}, optional={"interface": trees, "region": trees, "region_id": trees, "url": trees})
services = st.fixed_dictionaries({}, optional={"type": trees, "name": trees, "endpoints": st.lists(endpoints) | trees})
tokens = st.fixed_dictionaries(
    {},
    optional={
        "project": st.dictionaries(st.sampled_from(["id", "name", "domain"]), trees) | trees,
        "catalog": st.lists(services, max_size=2) | trees,
        "issued_at": trees,
        "expires_at": trees,
        "roles": trees,
        "methods": trees,
    },
)


@given(status=st.sampled_from([200, 201, 300, 401, 503]), body=st.fixed_dictionaries({}, optional={"token": tokens}))
@examples()
def test_any_token_is_taken_or_a_failure(cloud: HttpCloud, status: int, body: Any) -> None:
    said = outcome(cloud, cloud.credentials(), keystone=Said(status, body, {"X-Subject-Token": "t"}))
    assert said


@given(
    auth=st.dictionaries(st.sampled_from(["username", "password", "project_name", "user_domain_id", "token"]), trees),
    fields=st.dictionaries(st.sampled_from(["verify", "insecure", "region_name", "interface", "auth_type"]), trees),
)
@examples()
def test_any_entry_is_used_or_a_failure(cloud: HttpCloud, auth: dict[str, Any], fields: dict[str, Any]) -> None:
    assert outcome(cloud, entry(cloud, auth=auth, **fields))
