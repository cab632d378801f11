"""Servers that are no clouds, where credentials say that one is: each costs its own call, until its deadline."""

import asyncio
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from msgspec import structs

from tests.unit.kube.client.tls import AUTHORITY, tls_server
from tests.unit.openstack.cloud.hostile import (
    Behaviour,
    banner,
    compressed,
    endless_body,
    endless_chunks,
    endless_continue,
    hostile,
    keystone_at,
    silent,
    trickling_body,
    trickling_header,
)
from tests.unit.openstack.cloud.http_cloud import HttpCloud, Said, Seen, served
from tests.waiting import until
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Unavailable
from windlass.openstack.cloud.login import open_session
from windlass.openstack.cloud.names import Names
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.openstack.cloud.transport import FAIR, LARGEST, OF_ALL, OF_TENANT, Adapter, Call, TooLong, Volume, under
from windlass.openstack.cloud.wire import Http

SERVERS = Http("compute", "GET", "/servers")
CREATE = Http("compute", "POST", "/servers", body={"server": {}})


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        yield cloud


async def failure_of(session: CloudSession, request: Http, seconds: float) -> CloudFailure:
    with pytest.raises(CloudFailure) as caught:
        await session.send(request, seconds=seconds)
    return caught.value


async def is_free(threads: Threads) -> bool:
    """Whether all threads take another call within a second."""
    calls = [threads.run(lambda: True, seconds=1.0) for _ in range(threads.size)]
    return all(await asyncio.gather(*calls))


class PlainServer(HttpCloud):
    """It answers everything alike."""

    def __init__(self, status: int, body: str, kind: str) -> None:
        super().__init__()
        self._said = Said(status, body.encode(), {"Content-Type": kind, "X-Subject-Token": "t"})

    def reply(self, request: Seen) -> Said:
        return self._said


SLOW = [silent, trickling_header, trickling_body, endless_continue]
LONG = [endless_body, endless_chunks]


@pytest.mark.parametrize("behave", SLOW, ids=lambda each: each.__name__)
async def test_a_slow_keystone_costs_its_call_and_then_the_thread_is_free(behave: Behaviour) -> None:
    threads = Threads(1)
    with hostile(behave) as place:
        session = CloudSession(keystone_at(f"http://{place}/v3"), threads)
        failure = await failure_of(session, SERVERS, 0.4)
        assert str(failure).endswith("does not answer: no answer in time")
        assert type(failure) is Unavailable
        assert await is_free(threads)


@pytest.mark.parametrize("behave", SLOW, ids=lambda each: each.__name__)
@pytest.mark.parametrize(("request_", "kind"), [(SERVERS, Unavailable), (CREATE, Doubtful)], ids=["GET", "POST"])
async def test_a_slow_service_costs_its_call_and_then_the_thread_is_free(
    cloud: HttpCloud, behave: Behaviour, request_: Http, kind: type[CloudFailure]
) -> None:
    threads = Threads(1)
    with hostile(behave) as place:
        cloud.base = f"http://{place}"
        session = CloudSession(cloud.credentials(), threads)
        await session.project_id()
        assert type(await failure_of(session, request_, 0.4)) is kind
        assert await is_free(threads)


async def test_a_slow_tls_handshake_costs_its_call(cloud: HttpCloud) -> None:
    threads = Threads(1)
    for behave in (silent, trickling_header):
        with hostile(behave) as place:
            session = CloudSession(keystone_at(f"https://{place}/v3", verify=False), threads)
            assert type(await failure_of(session, SERVERS, 0.4)) is Unavailable
            assert await is_free(threads)


async def test_keystones_that_redirect_to_each_other_share_one_deadline(cloud: HttpCloud) -> None:
    threads = Threads(1)
    cloud.keystone_delay = 0.2
    cloud.keystone = Said(307, {}, {"Location": f"{cloud.url}/identity/v3/auth/tokens"})
    session = CloudSession(cloud.credentials(), threads)
    assert type(await failure_of(session, SERVERS, 0.5)) is Unavailable
    assert len(cloud.seen) <= 3
    assert await is_free(threads)


@pytest.mark.parametrize("behave", LONG, ids=lambda each: each.__name__)
async def test_an_endless_answer_is_not_read_and_its_endpoint_is_named(cloud: HttpCloud, behave: Behaviour) -> None:
    with hostile(behave) as place:
        text = f"the answer of {place} is larger than {LARGEST >> 20} MiB, and was not read"
        keystone = CloudSession(keystone_at(f"http://{place}/v3"), Threads(1))
        assert text in str(await failure_of(keystone, SERVERS, 20))
        cloud.base = f"http://{place}"
        session = CloudSession(cloud.credentials(), Threads(1))
        failure = await failure_of(session, SERVERS, 20)
        assert (type(failure), str(failure)) == (Unavailable, f"compute: no answer: {text}")
        assert type(await failure_of(session, CREATE, 20)) is Doubtful


def test_answers_to_one_tenant_have_a_bound_together() -> None:
    first, second = (Call(deadline=0.0, names=Names(), tenant="greedy") for _ in range(2))
    with under(first):
        first.receive(LARGEST)
        with pytest.raises(TooLong, match="answers to namespace greedy are too large to be read at the same time"):
            second.receive(OF_TENANT - LARGEST + 1)
        second.forget()
    with under(second):
        second.receive(LARGEST)


def test_when_memory_is_short_small_answers_are_still_read() -> None:
    volume = Volume()
    for number in range(OF_ALL // LARGEST):
        volume.take(f"evil-{number}", LARGEST)
    volume.take("small", FAIR)
    with pytest.raises(TooLong):
        volume.take("large", FAIR + 1)
    volume.give_back("large", FAIR + 1)
    volume.give_back("evil-0", LARGEST)
    volume.take("large", LARGEST - FAIR)


async def test_a_long_list_is_read_whole(cloud: HttpCloud) -> None:
    body = json.dumps({"servers": ["x" * 1000] * 10_000}).encode()
    cloud.answer = lambda _: Said(200, body)
    session = CloudSession(keystone_at(f"{cloud.url}/identity/v3"), Threads(1))
    for _ in range(3):
        assert (await session.send(SERVERS, seconds=20)).body == body
    session.close()


@pytest.mark.parametrize("behave", LONG, ids=lambda each: each.__name__)
async def test_memory_of_endless_answers_goes_back_to_the_system(behave: Behaviour) -> None:
    """Each thread reads one, all at the same time."""
    threads, servers = Threads(8), 6
    with ExitStack() as stack:
        places = [stack.enter_context(hostile(behave, f"127.0.0.{2 + number}")) for number in range(servers)]
        sessions = [CloudSession(keystone_at(f"http://{place}/v3", tenant=place), threads) for place in places]
        before = resident()
        failures = await asyncio.gather(*(failure_of(session, SERVERS, 60) for session in sessions))
        assert all("is larger than" in str(each) for each in failures)
        del failures
        await until(lambda: resident() - before < LARGEST, within=30)


def resident() -> int:
    """The memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("behave", [banner, compressed], ids=lambda each: each.__name__)
async def test_what_is_no_answer_is_not_quoted(cloud: HttpCloud, behave: Behaviour) -> None:
    with hostile(behave) as place:
        cloud.base = f"http://{place}"
        session = CloudSession(cloud.credentials(), Threads(1))
        for failure in (
            await failure_of(session, SERVERS, 5),
            await failure_of(CloudSession(keystone_at(f"http://{place}/v3"), Threads(1)), SERVERS, 5),
        ):
            assert "secret" not in str(failure)
            assert "no answer of HTTP" in str(failure) or "compressed" in str(failure)


@pytest.mark.parametrize("path", ["/identity/v3", ""], ids=["v3", "no version"])
@pytest.mark.parametrize("status", [200, 300, 403, 404, 500])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("AWS_SECRET_ACCESS_KEY=hunter2", "text/plain"),
        ("AWS_SECRET_ACCESS_KEY=hunter2", "application/json"),
        ('"hunter2"', "application/json"),
        ('{"message": "hunter2", "hunter2": ["hunter2"]}', "application/json"),
        ('{"versions": "hunter2"}', "application/json"),
        ('{"token": {"hunter2": "hunter2"}}', "application/json"),
    ],
)
async def test_what_the_server_at_an_auth_url_says_is_not_quoted(
    cloud: HttpCloud, path: str, status: int, body: str, kind: str
) -> None:
    with served(PlainServer(status, body, kind)) as other:
        session = CloudSession(keystone_at(f"{other.url}{path}"), Threads(1))
        failure = await failure_of(session, SERVERS, 5)
        assert "hunter2" not in str(failure)
        assert "Secret evil/cloud" in str(failure) or failure.code >= 500


@pytest.mark.parametrize(
    ("tenant", "text"),
    [
        ("evil", "identity: not sent: the name in http://slow.example/v3 was not resolved in time"),
        ("", "identity: Keystone of cloud c of Secret /cloud does not answer: no answer in time"),
    ],
    ids=["of a Secret", "of the user"],
)
async def test_a_name_that_is_never_resolved_costs_its_call_and_no_thread(tenant: str, text: str) -> None:
    end = threading.Event()

    def never(*_: Any) -> list[Any]:
        end.wait(20)
        return []

    threads = Threads(1)
    session = CloudSession(keystone_at("http://slow.example/v3", tenant), threads, Names(never))
    assert str(await failure_of(session, SERVERS, 0.3)) == text
    assert await is_free(threads)
    end.set()


async def test_each_request_of_a_call_may_have_a_large_answer(cloud: HttpCloud) -> None:
    with served(PlainServer(200, " " * (LARGEST - 2**20), "text/plain")) as other:

        def ask() -> int:
            with requests.Session() as session, under(Call(time.monotonic() + 20, Names())):
                session.mount("http://", Adapter(verify=False, authority="", connections=1))
                return sum(len(session.get(other.url).content) for _ in range(2))

        assert await asyncio.to_thread(ask) == 2 * (LARGEST - 2**20)


def test_sessions_of_tenants_share_the_usual_cas_and_no_others() -> None:
    """These take megabytes, and each try to log in to a cloud that fails makes a session."""

    def trust(tenant: str, cacert: str = "", **entry: Any) -> Any:
        credentials = structs.replace(keystone_at("https://192.0.2.1/v3", tenant, **entry), cacert=cacert)
        adapter = open_session(credentials, agent="", connections=1).session.get_adapter("https://")
        assert isinstance(adapter, Adapter)
        return adapter.poolmanager.connection_pool_kw["ssl_context"]

    assert trust("one") is trust("two")
    others = [trust(""), trust(""), trust("one", AUTHORITY.decode()), trust("one", verify=False), trust("one")]
    assert len({id(each) for each in others}) == len(others)
    assert trust("one").verify_mode is ssl.CERT_REQUIRED


async def test_callers_share_a_look_up_and_its_answer_is_used_for_a_while() -> None:
    asked: list[str] = []
    now = 0.0

    def look_up(host: str, *_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]

    names = Names(look_up, clock=lambda: now)
    for _ in range(2):
        found = await asyncio.gather(*(names.resolve("a.example", tenant="a") for _ in range(20)))
        assert {each.host for some in found for each in some} == {"192.0.2.1"}
    assert asked == ["a.example"]
    now = 16.0
    assert await asyncio.to_thread(names.addresses, "a.example", tenant="b", seconds=5.0) == found[0]
    assert asked == ["a.example"] * 2


async def test_a_proxy_or_netrc_of_the_environment_is_not_used_for_a_secret(
    cloud: HttpCloud, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login root password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    own = CloudSession(cloud.credentials(), Threads(1))
    await own.send(SERVERS, seconds=5)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    session = CloudSession(keystone_at(f"{cloud.url}/identity/v3"), Threads(1))
    await session.send(SERVERS, seconds=5)
    assert not any("authorization" in each.headers for each in cloud.seen)
    with pytest.raises(Unavailable, match="Connection refused"):
        await CloudSession(cloud.credentials(), Threads(1)).project_id()


@pytest.mark.parametrize("there", [True, False], ids=["there", "not there"])
@pytest.mark.parametrize("field", ["cacert", "cert"])
async def test_a_file_that_a_secret_names_is_not_looked_at(tmp_path: Any, field: str, there: bool) -> None:
    file = tmp_path / "file"
    if there:
        file.write_bytes(AUTHORITY)
    with served(HttpCloud(), tls=tls_server("server")) as secure:
        session = CloudSession(keystone_at(f"{secure.url}/identity/v3", **{field: str(file)}), Threads(1))
        failure = await failure_of(session, SERVERS, 5)
    where = f"clouds.c.{field} in clouds.yaml of Secret evil/cloud"
    assert f"{where} names the file /" in str(failure)
    assert "and files are not read" in str(failure)
    assert secure.seen == []
