"""One call over sockets: what its clock bounds, what it holds in memory, and what is known of it afterwards."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import requests
from msgspec import structs

from tests.patience import PATIENCE
from tests.unit.kube.client.tls import AUTHORITY, tls_server
from tests.unit.openstack.cloud.hostile import (
    Behaviour,
    banner,
    compressed,
    endless_body,
    hostile,
    keystone_at,
    silent,
    trickling_body,
)
from tests.unit.openstack.cloud.http_cloud import HttpCloud, served
from windlass.openstack.cloud import transport
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Unauthenticated, Unavailable
from windlass.openstack.cloud.names import Names
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.openstack.cloud.transport import (
    FAIR,
    LARGEST,
    OF_TENANT,
    Adapter,
    Call,
    TooLong,
    Volume,
    never_sent,
    under,
    why,
)
from windlass.openstack.cloud.wire import Http

SERVERS = Http("compute", "GET", "/servers")
LARGE = Http("compute", "POST", "/servers", body={"server": {"user_data": "x" * 16 * 2**20}})
"""More than the buffers of a connection take."""


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        yield cloud


def answering(peer: socket.socket, end: threading.Event) -> None:
    """The first request of a connection, which stays open."""
    peer.recv(65536)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")


def first_answering(then: Behaviour) -> Behaviour:
    def behave(peer: socket.socket, end: threading.Event) -> None:
        answering(peer, end)
        then(peer, end)

    return behave


def over_tls(behave: Behaviour) -> Behaviour:
    def behave_in_tls(peer: socket.socket, end: threading.Event) -> None:
        with tls_server("server").wrap_socket(peer, server_side=True) as secure:
            behave(secure, end)

    return behave_in_tls


@contextmanager
def full(port: int) -> Iterator[str]:
    """An address where `port` is open and nobody accepts: its queue is full, so one more waits for its connection."""
    address = "127.0.0.2"
    with socket.create_server((address, port), backlog=0), socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex((address, port))
        yield address


def leading_to(*addresses: str) -> Names:
    """Every name has these addresses."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0)) for each in addresses]
    return Names(lambda *_: found)


async def failure_of(session: CloudSession, request: Http, seconds: float) -> CloudFailure:
    with pytest.raises(CloudFailure) as caught:
        await session.send(request, seconds=seconds)
    return caught.value


@contextmanager
def opened() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        adapter = Adapter(verify=True, authority=AUTHORITY.decode(), connections=1)
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        yield session


def call(seconds: float = PATIENCE, *, tenant: str = "") -> Call:
    return Call(time.monotonic() + seconds, Names(), tenant)


def reading_slowly(peer: socket.socket, end: threading.Event) -> None:
    while not end.wait(0.02):
        peer.recv(4096)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("behave", [silent, reading_slowly], ids=lambda each: each.__name__)
async def test_sending_ends_with_the_call_however_long_the_library_would_wait(scheme: str, behave: Behaviour) -> None:
    def ask(session: requests.Session, place: str) -> bool:
        url = f"{scheme}://{place}/"
        with under(call()):
            session.get(url)
        with under(call(0.4)), pytest.raises(requests.RequestException) as caught:
            session.post(url, data=b"x" * 16 * 2**20, timeout=2 * PATIENCE)
        return why(caught.value) == "no answer in time"

    behave = first_answering(behave)
    with opened() as session, hostile(over_tls(behave) if scheme == "https" else behave) as place:
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(ask, session, place)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_write_that_nobody_reads_is_doubtful_and_its_thread_is_free(cloud: HttpCloud, scheme: str) -> None:
    silence = first_answering(silent)
    threads = Threads(1)
    with hostile(over_tls(silence) if scheme == "https" else silence) as place:
        cloud.base = f"{scheme}://{place}"
        session = CloudSession(cloud.credentials(cacert=AUTHORITY.decode()), threads)
        assert (await session.send(SERVERS, seconds=PATIENCE)).status == 200
        failure = await failure_of(session, LARGE, 0.4)
        assert (type(failure), str(failure)) == (
            Doubtful,
            "compute: no answer to POST /servers: no answer in time",
        )
        assert await threads.run(lambda: True, seconds=PATIENCE)


def test_a_call_whose_time_is_over_asks_for_none() -> None:
    with pytest.raises(TimeoutError):
        call(-1.0).seconds()
    assert call(PATIENCE).seconds() <= PATIENCE


async def test_a_connection_that_does_not_come_about_costs_no_more_than_its_call(cloud: HttpCloud) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, full(other.getsockname()[1]) as address:
        cloud.base = f"http://{address}:{other.getsockname()[1]}"
        session = CloudSession(cloud.credentials(), Threads(1))
        await session.project_id()
        failure = await failure_of(session, LARGE, 0.4)
    assert (type(failure), str(failure)) == (Unavailable, "compute: no answer: no answer in time")


def test_an_address_that_takes_no_connection_leaves_time_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.2)
    with hostile(answering) as place, opened() as session:
        port = int(place.split(":")[1])
        with full(port) as address:
            asked = Call(time.monotonic() + 15, leading_to(address, "127.0.0.1"))
            with under(asked):
                assert session.get(f"http://cloud.example:{port}/").status_code == 200
            assert asked.endpoint == place


def test_a_connection_that_no_address_takes_names_the_last_and_carried_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.2)
    with hostile(answering) as place, opened() as session:
        port = int(place.split(":")[1])
        with full(port) as address:
            with under(call()), pytest.raises(requests.ConnectionError, match=f"to {address}:{port} in time") as caught:
                session.get(f"http://{address}:{port}/")
            assert never_sent(caught.value)


@pytest.mark.parametrize(
    ("behave", "answered"),
    [
        (answering, True),
        (silent, False),
        (trickling_body, False),
        (compressed, False),
        (banner, False),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_call_knows_whether_its_request_was_answered_to_the_end(behave: Behaviour, answered: bool) -> None:
    with hostile(behave) as place, opened() as session:
        asked = call(PATIENCE if answered else 0.4)
        assert asked.answered is None
        with under(asked), suppress(requests.RequestException):
            session.get(f"http://{place}/")
        assert asked.answered is answered


def test_the_last_request_of_a_call_says_whether_it_was_answered() -> None:
    with hostile(answering) as good, hostile(banner) as bad, opened() as session:
        asked = call()
        with under(asked):
            session.get(f"http://{good}/")
            with pytest.raises(requests.ConnectionError):
                session.get(f"http://{bad}/")
            assert asked.answered is False
            session.get(f"http://{good}/")
            assert asked.answered is True


def test_an_answer_on_a_connection_that_was_there_before_names_its_endpoint() -> None:
    def longer(peer: socket.socket, end: threading.Event) -> None:
        answering(peer, end)
        endless_body(peer, end)

    with hostile(longer) as place, opened() as session:
        with under(call()):
            session.get(f"http://{place}/")
        with under(call()), pytest.raises(TooLong, match=f"the answer of {place} is larger than"):
            session.get(f"http://{place}/")


def test_a_tenant_has_its_own_bound_and_what_is_given_back_may_be_taken_again() -> None:
    volume = Volume()
    volume.take("a", OF_TENANT)
    volume.take("b", OF_TENANT)
    for _ in range(2):
        with pytest.raises(TooLong, match="answers to namespace a are too large"):
            volume.take("a", 1)
        volume.give_back("a", 1)
    volume.give_back("a", LARGEST)
    volume.take("a", LARGEST)


def test_a_tenant_without_an_answer_is_forgotten() -> None:
    volume = Volume()
    volume.take("a", 5)
    volume.take("a", 7)
    volume.give_back("a", 5)
    assert volume._held == {"a": 7}
    volume.give_back("a", 7)
    assert not volume._held
    volume.give_back("never read", 0)
    assert not volume._held


@pytest.mark.parametrize(("size", "due"), [(FAIR, False), (FAIR + 1, True)])
def test_memory_goes_back_to_the_system_after_a_large_answer_only(size: int, due: bool) -> None:
    volume = Volume()
    volume.take("a", size)
    assert volume._trimmer._due is False
    volume.give_back("a", size)
    assert volume._trimmer._due is due


def test_answers_of_the_users_own_clouds_have_no_bound_together() -> None:
    calls = [call() for _ in range(OF_TENANT // LARGEST + 1)]
    for each in calls:
        each.receive(LARGEST)
    with pytest.raises(TooLong, match="larger than 16 MiB"):
        calls[0].receive(1)
    for each in calls:
        each.forget()


def test_a_call_gives_back_once_what_it_has_read() -> None:
    """Else a tenant could read more each time that a call of its fails."""
    first, second = call(tenant="twice"), call(tenant="twice")
    first.receive(LARGEST)
    second.receive(OF_TENANT - LARGEST)
    for _ in range(2):
        second.forget()
    second.receive(OF_TENANT - LARGEST)
    with pytest.raises(TooLong, match="answers to namespace twice"):
        second.receive(1)
    first.forget()
    second.forget()


@pytest.mark.parametrize("behave", [silent, trickling_body], ids=lambda each: each.__name__)
async def test_a_slow_proxy_of_the_user_costs_its_call(behave: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    with hostile(behave) as place:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://{place}")
        monkeypatch.setenv("no_proxy", "")
        session = CloudSession(keystone_at("http://keystone.example/v3", ""), Threads(1))
        failure = await failure_of(session, SERVERS, 0.4)
    assert str(failure) == "identity: Keystone of cloud c of Secret /cloud does not answer: no answer in time"


async def test_cas_that_the_users_environment_names_are_trusted_for_the_users_own_clouds_only(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(AUTHORITY)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
    with served(HttpCloud(), tls=tls_server("server")) as cloud:
        url = f"{cloud.url}/identity/v3"
        own = CloudSession(keystone_at(url, ""), Threads(1))
        assert await own.project_id() == "p1"
        for _ in range(2):
            failure = await failure_of(CloudSession(keystone_at(url), Threads(1)), SERVERS, PATIENCE)
            assert type(failure) is Unauthenticated
            assert "CERTIFICATE_VERIFY_FAILED" in str(failure)


async def test_a_certificate_for_another_host_is_refused() -> None:
    with served(HttpCloud(), tls=tls_server("server")) as cloud:
        url = cloud.url.replace("127.0.0.1", "other.example")
        credentials = structs.replace(keystone_at(f"{url}/identity/v3"), cacert=AUTHORITY.decode())
        failure = await failure_of(CloudSession(credentials, Threads(1), leading_to("127.0.0.1")), SERVERS, PATIENCE)
        assert type(failure) is Unauthenticated
        assert "CERTIFICATE_VERIFY_FAILED" in str(failure)
        assert cloud.seen == []
