"""The wire to a cloud: tokens, deadlines, connections, certificates, and what is certain when no answer comes."""

import asyncio
import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.kube.client.tls import AUTHORITY, tls_server
from tests.unit.openstack.cloud.http_cloud import HttpCloud, Said, Seen, served
from windlass.kube.version import VERSION
from windlass.openstack.cloud.classify import classify
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Rejected, Throttled, Unauthenticated, Unavailable
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.openstack.cloud.wire import Http

SERVERS = Http("compute", "GET", "/servers")
CREATE = Http("compute", "POST", "/servers", body={"server": {"name": "a"}}, microversion="2.53")
CA = AUTHORITY.decode()
DEEP = b"[" * 60_000


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        yield cloud


@pytest.fixture
def session(cloud: HttpCloud) -> Iterator[CloudSession]:
    session = CloudSession(cloud.credentials(), Threads(8))
    yield session
    session.close()


async def failure_of(session: CloudSession, request: Http = SERVERS, *, seconds: float = 5.0) -> CloudFailure:
    with pytest.raises(CloudFailure) as caught:
        await session.send(request, seconds=seconds)
    return caught.value


async def login_failure(credentials: Credentials) -> CloudFailure:
    session = CloudSession(credentials, Threads(2))
    try:
        with pytest.raises(CloudFailure) as caught:
            await session.project_id()
    finally:
        session.close()
    return caught.value


async def test_a_cold_call_asks_for_a_token_and_a_warm_one_for_nothing_else(
    cloud: HttpCloud, session: CloudSession
) -> None:
    cloud.answer = lambda request: Said(200, {"path": request.path})
    reply = await session.send(SERVERS, seconds=5, agent="server")
    assert reply.status == 200
    assert [each.path for each in cloud.seen] == ["/identity/v3/auth/tokens", "/one/compute/v2.1/servers"]
    await session.send(SERVERS, seconds=5)
    assert len(cloud.seen) == 3
    assert session.services == {"compute", "network", "image", "block-storage"}
    assert await session.project_id() == "p1"


async def test_a_request_names_program_controller_and_version_and_has_the_body_as_json(
    cloud: HttpCloud, session: CloudSession
) -> None:
    await session.send(CREATE, seconds=5, agent="server")
    [call] = cloud.calls
    assert call.headers["user-agent"] == f"windlass-openstack/{VERSION} (server)"
    assert call.headers["openstack-api-version"] == "compute 2.53"
    assert (call.headers["content-type"], call.body) == ("application/json", b'{"server":{"name":"a"}}')
    assert cloud.seen[0].headers["user-agent"].startswith(f"windlass-openstack/{VERSION} ")


async def test_names_that_are_regexes_or_urls_arrive_as_they_are(cloud: HttpCloud, session: CloudSession) -> None:
    name = "^a.*&limit=1#?/ä +"
    await session.send(
        Http("image", "GET", "/v2/images", query=(("name", name), ("tag", "x"), ("tag", "y"))), seconds=5
    )
    [call] = cloud.calls
    assert call.path == "/one/image/v2/images?name=%5Ea.%2A%26limit%3D1%23%3F%2F%C3%A4%20%2B&tag=x&tag=y"


async def test_twenty_callers_at_once_ask_for_one_token(cloud: HttpCloud, session: CloudSession) -> None:
    cloud.keystone_delay = 0.05
    await asyncio.gather(*(session.send(SERVERS, seconds=5) for _ in range(20)))
    assert cloud.issued == 1
    assert len(cloud.calls) == 20


async def test_no_call_is_lost_while_tokens_die(cloud: HttpCloud) -> None:
    session = CloudSession(cloud.credentials(), Threads(16))
    count = 0
    lock = threading.Lock()

    def dies_at_times(_: Seen) -> Said:
        nonlocal count
        with lock:
            count += 1
            if count % 50 == 0:
                cloud.revoke()
        return Said(200)

    cloud.answer = dies_at_times
    replies = await asyncio.gather(*(session.send(SERVERS, seconds=20) for _ in range(400)))
    assert {reply.status for reply in replies} == {200}
    assert cloud.issued <= 1 + 400 // 50 + 1
    session.close()


async def test_a_service_that_refuses_every_token_is_told_as_such(cloud: HttpCloud, session: CloudSession) -> None:
    cloud.answer = lambda _: Said(401, {"error": {"message": "no"}})
    reply = await session.send(SERVERS, seconds=5)
    assert isinstance(classify(SERVERS, reply), Unauthenticated)
    assert len(cloud.calls) == 5


async def test_tokens_that_live_for_seconds_are_used_several_times(cloud: HttpCloud, session: CloudSession) -> None:
    cloud.life = 60
    for _ in range(5):
        await session.send(SERVERS, seconds=5)
    assert cloud.issued == 1


@pytest.mark.parametrize("status", [400, 404, 409, 429, 500, 503])
@pytest.mark.parametrize("request_", [SERVERS, CREATE], ids=["GET", "POST"])
async def test_an_answer_is_returned_as_it_is_and_nothing_is_repeated(
    cloud: HttpCloud, session: CloudSession, status: int, request_: Http
) -> None:
    cloud.answer = lambda _: Said(status, {"m": 1}, {"Retry-After": "1", "X-OpenStack-Request-ID": "req-1"})
    reply = await session.send(request_, seconds=5)
    assert (reply.status, reply.body) == (status, b'{"m": 1}')
    assert reply.headers["x-openstack-request-id"] == "req-1"
    assert len(cloud.calls) == 1


async def test_a_redirect_is_not_followed(cloud: HttpCloud, session: CloudSession) -> None:
    cloud.answer = lambda _: Said(302, {}, {"Location": f"{cloud.url}/elsewhere"})
    assert (await session.send(CREATE, seconds=5)).status == 302
    assert len(cloud.calls) == 1


async def test_a_read_is_repeated_once_on_a_dropped_connection(cloud: HttpCloud, session: CloudSession) -> None:
    answers = iter([Said(drop=True), Said(200, {"ok": 1})])
    cloud.answer = lambda _: next(answers)
    assert (await session.send(SERVERS, seconds=5)).status == 200
    assert len(cloud.calls) == 2


async def test_a_read_that_is_dropped_twice_is_unavailable(cloud: HttpCloud, session: CloudSession) -> None:
    cloud.answer = lambda _: Said(drop=True)
    failure = await failure_of(session)
    assert (type(failure), len(cloud.calls)) == (Unavailable, 2)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_dropped_write_is_sent_once_and_doubtful(cloud: HttpCloud, session: CloudSession, method: str) -> None:
    cloud.answer = lambda _: Said(drop=True)
    failure = await failure_of(session, Http("compute", method, "/servers/1"))  # type: ignore[arg-type]
    assert isinstance(failure, Doubtful)
    assert failure.unknown_outcome
    assert len(cloud.calls) == 1


@pytest.mark.parametrize(("request_", "kind"), [(SERVERS, Unavailable), (CREATE, Doubtful)], ids=["GET", "POST"])
async def test_no_answer_in_time_is_unavailable_and_doubtful_for_a_write(
    cloud: HttpCloud, session: CloudSession, request_: Http, kind: type[CloudFailure]
) -> None:
    released = threading.Event()

    def slow(_: Seen) -> Said:
        released.wait(10)
        return Said(200)

    cloud.answer = slow
    await session.project_id()
    failure = await failure_of(session, request_, seconds=0.2)
    released.set()
    assert type(failure) is kind
    assert failure.code == 0


async def test_a_write_is_not_sent_after_its_deadline(cloud: HttpCloud, session: CloudSession) -> None:
    await session.send(SERVERS, seconds=5)
    cloud.revoke()
    cloud.keystone_delay = 0.5
    failure = await failure_of(session, CREATE, seconds=0.3)
    assert type(failure) is Unavailable
    assert str(failure) == "identity: Keystone of cloud prod of Secret prod/cloud does not answer: no answer in time"
    assert [call.method for call in cloud.calls] == ["GET", "POST"]  # the POST was refused with 401


async def test_a_cancelled_call_does_not_keep_its_caller(cloud: HttpCloud, session: CloudSession) -> None:
    arrived, released = threading.Event(), threading.Event()

    def slow(_: Seen) -> Said:
        arrived.set()
        released.wait(10)
        return Said(200)

    cloud.answer = slow
    task = asyncio.create_task(session.send(CREATE, seconds=10))
    assert await asyncio.to_thread(arrived.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()


async def test_a_refused_connection_certainly_did_not_carry_a_write(cloud: HttpCloud, session: CloudSession) -> None:
    await session.send(SERVERS, seconds=5)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        session._endpoints["compute"] = f"http://127.0.0.1:{unused.getsockname()[1]}"
        failure = await failure_of(session, CREATE)
    assert type(failure) is Unavailable
    assert "Connection refused" in str(failure)


async def test_a_name_that_does_not_resolve_certainly_did_not_carry_a_write(
    cloud: HttpCloud, session: CloudSession
) -> None:
    await session.send(SERVERS, seconds=5)
    session._endpoints["compute"] = "http://nowhere.invalid"
    assert type(await failure_of(session, CREATE)) is Unavailable


async def test_a_microversion_that_the_service_lacks_is_not_supported(cloud: HttpCloud, session: CloudSession) -> None:
    body = {"computeFault": {"code": 406, "message": "Version 2.53 is not supported by the API. Maximum is 2.38."}}
    cloud.answer = lambda _: Said(406, body)
    failure = classify(CREATE, await session.send(CREATE, seconds=5))
    assert isinstance(failure, Rejected)
    assert "version 2.53 of the compute API is not supported" in str(failure)


async def test_a_service_that_the_catalog_lacks_is_rejected(cloud: HttpCloud, session: CloudSession) -> None:
    failure = await failure_of(session, Http("load-balancer", "GET", "/"))
    assert isinstance(failure, Rejected)
    assert str(failure) == "load-balancer: the cloud offers no load-balancer service in the catalog"


async def test_each_region_has_its_own_endpoints(cloud: HttpCloud) -> None:
    cloud.regions = ["one", "two"]
    for region in ("one", "two"):
        session = CloudSession(cloud.credentials(region=region), Threads(2))
        await session.send(SERVERS, seconds=5)
        session.close()
    assert [call.path for call in cloud.calls] == ["/one/compute/v2.1/servers", "/two/compute/v2.1/servers"]


async def test_a_region_of_identity_ref_wins_over_that_of_clouds_yaml(cloud: HttpCloud) -> None:
    cloud.regions = ["one", "two"]
    session = CloudSession(cloud.credentials(region="two", region_name="one"), Threads(2))
    await session.send(SERVERS, seconds=5)
    session.close()
    assert cloud.calls[0].path.startswith("/two/")


def _without_project(cloud: HttpCloud) -> Credentials:
    cloud.project = None
    return cloud.credentials()


def _two_regions(cloud: HttpCloud, **entry: str) -> Credentials:
    cloud.regions = ["one", "two"]
    return cloud.credentials(**entry)


def _keystone(said: Said) -> Callable[[HttpCloud], Credentials]:
    def make(cloud: HttpCloud) -> Credentials:
        cloud.keystone = said
        return cloud.credentials()

    return make


@pytest.mark.parametrize(
    ("make", "kind", "texts"),
    [
        (lambda cloud: _two_regions(cloud, region="three"), Unauthenticated, ["'three'", "one, two"]),
        (lambda cloud: _two_regions(cloud, region_name="three"), Unauthenticated, ["'three'", "one, two"]),
        (_two_regions, Unauthenticated, ["one, two", "identityRef.region", "Secret prod/cloud"]),
        (_without_project, Unauthenticated, ["prod", "Secret prod/cloud", "project_name"]),
        (
            lambda cloud: cloud.credentials(auth_type="nonsense", auth={"auth_url": f"{cloud.url}/identity/v3"}),
            Unauthenticated,
            ["clouds.prod.auth in clouds.yaml of Secret prod/cloud", "has no password", "add one of them"],
        ),
        (
            lambda cloud: cloud.credentials(auth_type="v3oidcpassword"),
            Unauthenticated,
            ["Secret prod/cloud", "discovery-endpoint"],
        ),
        (
            _keystone(Said(401, {"error": {"message": "The request you have made requires authentication."}})),
            Unauthenticated,
            ["prod", "Secret prod/cloud", "requires authentication"],
        ),
        (_keystone(Said(503, {}, {})), Unavailable, []),
        (_keystone(Said(429, {}, {"Retry-After": "7"})), Throttled, []),
        (_keystone(Said(drop=True)), Unavailable, ["Secret prod/cloud"]),
        (lambda cloud: cloud.credentials(auth_type="none"), Unauthenticated, ["Secret prod/cloud", "such as password"]),
        (lambda cloud: cloud.credentials(cert=[1, 2, 3]), Unauthenticated, ["Secret prod/cloud", "malformed"]),
        (lambda cloud: cloud.credentials(cert="/nowhere"), Unauthenticated, ["Secret prod/cloud", "/nowhere"]),
        (lambda cloud: cloud.credentials(interface={"a": "b"}), Unauthenticated, ["Secret prod/cloud", "malformed"]),
        (lambda cloud: cloud.credentials(auth={"auth_url": "http://["}), Unauthenticated, ["Secret prod/cloud"]),
        (_keystone(Said(201, None, {"X-Subject-Token": "t"})), Unauthenticated, ["Secret prod/cloud", "malformed"]),
        (_keystone(Said(201, {"token": 5}, {"X-Subject-Token": "t"})), Unauthenticated, ["Secret prod/cloud"]),
        (_keystone(Said(201, DEEP, {"X-Subject-Token": "t"})), Unauthenticated, ["Secret prod/cloud", "Recursion"]),
    ],
    ids=[
        "region of identityRef",
        "region of clouds.yaml",
        "no region",
        "no project",
        "auth_type unknown",
        "auth_type without its fields",
        "wrong password",
        "503",
        "429",
        "dropped",
        "auth_type without a token",
        "cert is a list",
        "cert is no file",
        "interface is a map",
        "auth_url is no URL",
        "null instead of a token",
        "a number instead of a token",
        "a deep answer",
    ],
)
async def test_a_failed_login_is_a_sentence_that_names_where_the_credentials_are(
    cloud: HttpCloud, make: Callable[[HttpCloud], Credentials], kind: type[CloudFailure], texts: list[str]
) -> None:
    failure = await login_failure(make(cloud))
    assert type(failure) is kind, failure
    assert failure.service == "identity"
    assert all(text in str(failure) for text in texts), failure


async def test_keystone_that_refuses_connections_is_unavailable(cloud: HttpCloud) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        cloud.url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert type(await login_failure(cloud.credentials())) is Unavailable


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        (
            {"username": "u", "password": 12345, "project_name": 7, "domain_id": "d"},
            {"user": {"name": "u", "domain": {"id": "d"}, "password": "12345"}, "domain": {"id": "d"}, "name": "7"},
        ),
        (
            {"username": "u", "password": "p", "project-name": "x", "domain_name": "D"},
            {"user": {"name": "u", "domain": {"name": "D"}, "password": "p"}, "domain": {"name": "D"}, "name": "x"},
        ),
        (
            {"user_id": "u", "password": "p", "tenant_id": "t"},
            {"user": {"id": "u", "password": "p"}, "id": "t"},
        ),
    ],
    ids=["numbers, one domain", "dashes, domain by name", "tenant"],
)
async def test_spellings_of_clouds_yaml_are_read_as_openstacksdk_reads_them(
    cloud: HttpCloud, auth: dict[str, Any], expected: dict[str, Any]
) -> None:
    entry = {"auth": {"auth_url": f"{cloud.url}/identity/v3", **auth}}
    session = CloudSession(Credentials(entry, "prod", "", "", "Secret prod/cloud"), Threads(2))
    await session.project_id()
    session.close()
    asked = json.loads(cloud.seen[0].body)["auth"]
    user = expected.pop("user")
    assert (asked["identity"]["password"]["user"], asked["scope"]["project"]) == (user, expected)


async def test_the_interface_of_clouds_yaml_is_used(cloud: HttpCloud) -> None:
    for entry in ({"interface": "internal"}, {"endpoint_type": "internalURL"}, {"interface": ["internal", "public"]}):
        session = CloudSession(cloud.credentials(**entry), Threads(2))
        await session.send(SERVERS, seconds=5)
        session.close()
    assert {call.path for call in cloud.calls} == {"/one-internal/compute/v2.1/servers"}


async def test_a_url_without_a_version_is_discovered(cloud: HttpCloud, session: CloudSession) -> None:
    credentials = cloud.credentials()
    auth = {**credentials.cloud["auth"], "auth_url": f"{cloud.url}/identity"}
    bare = CloudSession(Credentials({"auth": auth}, "prod", "", "", "Secret prod/cloud"), Threads(2))
    assert (await bare.send(SERVERS, seconds=5)).status == 200
    bare.close()


@pytest.fixture
def secure() -> Iterator[HttpCloud]:
    with served(HttpCloud(), tls=tls_server("server")) as cloud:
        yield cloud


async def test_the_ca_of_the_secret_is_trusted_without_a_file(
    secure: HttpCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    session = CloudSession(secure.credentials(cacert=CA), Threads(2))
    assert (await session.send(SERVERS, seconds=5)).status == 200
    session.close()


async def test_without_the_right_ca_the_hosts_roots_are_used_and_it_is_said_what_to_do(secure: HttpCloud) -> None:
    failure = await login_failure(secure.credentials())
    assert isinstance(failure, Unauthenticated)
    assert "put the right CA into the key cacert" in str(failure)


async def test_a_ca_path_in_clouds_yaml_is_not_read_and_named_where_the_ca_is_missing(secure: HttpCloud) -> None:
    entry = {**secure.credentials().cloud, "cacert": "/home/me/ca.pem"}
    failure = await login_failure(Credentials(entry, "prod", "", "", "Secret prod/cloud"))
    assert isinstance(failure, Unauthenticated)
    assert "clouds.prod.cacert" in str(failure)
    assert "/home/me/ca.pem" in str(failure)
    assert "files are not read" in str(failure)
    session = CloudSession(Credentials(entry, "prod", "", CA, "Secret prod/cloud"), Threads(2))
    assert (await session.send(SERVERS, seconds=5)).status == 200
    session.close()


@pytest.mark.parametrize("cacert", ["", CA], ids=["no CA", "with a CA"])
async def test_verify_false_is_honoured(secure: HttpCloud, cacert: str) -> None:
    session = CloudSession(secure.credentials(verify=False, cacert=cacert), Threads(2))
    assert (await session.send(SERVERS, seconds=5)).status == 200
    session.close()


@pytest.mark.parametrize("cacert", ["", "\n", " "])
async def test_a_blank_ca_path_is_none(cloud: HttpCloud, cacert: str) -> None:
    entry = {**cloud.credentials().cloud, "cacert": cacert}
    session = CloudSession(Credentials(entry, "prod", "", "", "Secret prod/cloud"), Threads(2))
    assert await session.project_id() == "p1"
    session.close()


@pytest.mark.parametrize("url", ["http://" + "a" * 300, "http://a:99999", "http://..", "nonsense"])
async def test_a_catalog_with_a_url_that_cannot_be_is_unavailable_and_certainly_carried_no_write(
    cloud: HttpCloud, url: str
) -> None:
    cloud.base = url
    session = CloudSession(cloud.credentials(), Threads(2))
    assert type(await failure_of(session)) is Unavailable
    assert type(await failure_of(session, CREATE)) is Unavailable
    session.close()
