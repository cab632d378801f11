"""A Secret of a tenant leads no controller to this machine or to metadata services."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.openstack.cloud.hostile import keystone_at
from tests.unit.openstack.cloud.http_cloud import HttpCloud, Said, served
from windlass.kube.addresses import refusal
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure, Rejected, Unauthenticated
from windlass.openstack.cloud.names import Names
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.openstack.cloud.wire import Http

SERVERS = Http("compute", "GET", "/servers")


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        yield cloud


def but_loopback(address: str) -> str:
    """The cloud of a test is on 127.0.0.1; all other addresses are judged as they are."""
    return "" if address == "127.0.0.1" else refusal(address)


async def failure_of(session: CloudSession) -> CloudFailure:
    with pytest.raises(CloudFailure) as caught:
        await session.send(SERVERS, seconds=5)
    return caught.value


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:8081/v3", "127.0.0.1 has the address 127.0.0.1, which is this machine"),
        ("http://169.254.169.254/v3", "169.254.169.254 has the address 169.254.169.254, where clouds keep metadata"),
        ("http://169.254.169.254/latest", "where clouds keep metadata"),
        ("https://[::1]:6443/v3", "which is this machine"),
        ("http://2852039166/v3", "has the address 169.254.169.254, where clouds keep metadata"),
    ],
)
async def test_an_auth_url_at_this_machine_or_at_metadata_is_not_asked(url: str, why: str) -> None:
    failure = await failure_of(CloudSession(keystone_at(url), Threads(2), refusal=refusal))
    assert type(failure) is Unauthenticated
    assert "the auth_url of cloud c of Secret evil/cloud is not asked: " in str(failure)
    assert why in str(failure)
    assert "--allow-loopback-clouds" in str(failure)


async def test_a_name_that_leads_elsewhere_the_second_time_is_judged_at_each_connection(cloud: HttpCloud) -> None:
    """DNS rebinding: the first answer is a good address, the next one is not."""
    answers = iter(["127.0.0.1", "169.254.169.254"])
    now = 0.0

    def look_up(*_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 0))]

    names = Names(look_up, clock=lambda: now)
    url = cloud.url.replace("127.0.0.1", "cloud.example")
    cloud.base = url
    cloud.answer = lambda _: Said(200, headers={"Connection": "close"})
    session = CloudSession(keystone_at(f"{url}/identity/v3"), Threads(2), names, refusal=but_loopback)
    assert (await session.send(SERVERS, seconds=5)).status == 200
    now = 60.0
    session.close()
    failure = await failure_of(session)
    assert type(failure) is Rejected
    assert "cloud.example has the address 169.254.169.254, where clouds keep metadata" in str(failure)


async def test_a_catalog_leads_to_no_such_address(cloud: HttpCloud) -> None:
    cloud.base = "http://169.254.169.254"
    session = CloudSession(keystone_at(f"{cloud.url}/identity/v3"), Threads(2), refusal=but_loopback)
    failure = await failure_of(session)
    assert type(failure) is Rejected
    assert str(failure).startswith("compute: not sent: 169.254.169.254 has the address 169.254.169.254, where clouds")


async def test_a_redirect_leads_to_no_such_address(cloud: HttpCloud) -> None:
    cloud.keystone = Said(307, {}, {"Location": "http://169.254.169.254/latest/meta-data"})
    session = CloudSession(keystone_at(f"{cloud.url}/identity/v3"), Threads(2), refusal=but_loopback)
    failure = await failure_of(session)
    assert type(failure) is Unauthenticated
    assert "where clouds keep metadata" in str(failure)


async def test_a_redirect_of_a_service_is_not_followed(cloud: HttpCloud) -> None:
    cloud.answer = lambda _: Said(302, {}, {"Location": "http://169.254.169.254/latest/meta-data"})
    session = CloudSession(keystone_at(f"{cloud.url}/identity/v3"), Threads(2), refusal=but_loopback)
    assert (await session.send(SERVERS, seconds=5)).status == 302


async def test_the_users_own_cloud_may_be_on_this_machine(cloud: HttpCloud) -> None:
    async with Clouds(refusal=refusal) as clouds:
        with pytest.raises(Unauthenticated, match="which is this machine"):
            await clouds.project(keystone_at(f"{cloud.url}/identity/v3"))
    async with Clouds(refusal=refusal) as clouds:
        assert (await clouds.project(cloud.credentials())).where == "Secret prod/cloud"
