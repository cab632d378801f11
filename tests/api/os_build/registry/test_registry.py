"""Questions to a real registry: each way to log in, each refusal, each failure, and what they cost in requests."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.pushing import layer, push
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Denied, Found, Gone, Kind, NotAsked, Registry
from windlass.testing.registry import Auth, User
from windlass.testing.registry import Registry as RealRegistry

pytestmark = pytest.mark.registry

PUSHER, PULLER = Login("pusher", "s3cret"), Login("puller", "pa55word")
WRONG, NOBODY = Login("pusher", "wrong"), None
ORIGIN = "Secret mco/push"


@pytest.fixture(scope="module")
def registries() -> Iterator[Callable[[Auth, bool], RealRegistry]]:
    """A registry for each way to log in, with and without TLS, made when it is first asked for."""
    made: dict[tuple[Auth, bool], RealRegistry] = {}

    def of(auth: Auth, tls: bool) -> RealRegistry:
        if (auth, tls) not in made:
            made[auth, tls] = RealRegistry(auth=auth, tls=tls).__enter__()
        return made[auth, tls]

    yield of
    for registry in made.values():
        registry.__exit__(None, None, None)


def client(registry: RealRegistry, *, seconds: float = 10.0) -> Registry:
    return Registry(insecure=[] if registry.url.startswith("https") else [registry.host], seconds=seconds)


def trusting(registry: RealRegistry) -> Egress:
    """The way to a registry whose certificate is trusted."""
    return Egress(authorities=registry.ca_file.read_text() if registry.url.startswith("https") else "")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    ("auth", "login", "kind", "requests"),
    [
        (Auth.NONE, NOBODY, Kind.GRANTED, 2),
        (Auth.BASIC, PUSHER, Kind.GRANTED, 3),
        (Auth.BASIC, PULLER, Kind.DENIED, 2),
        (Auth.BASIC, WRONG, Kind.DENIED, 2),
        (Auth.BASIC, NOBODY, Kind.DENIED, 1),
        (Auth.BEARER, PUSHER, Kind.GRANTED, 4),
        (Auth.BEARER, PULLER, Kind.DENIED, 3),
        (Auth.BEARER, WRONG, Kind.DENIED, 2),
        (Auth.BEARER, NOBODY, Kind.DENIED, 3),
        (Auth.BEARER, Login("<token>", "", "1dent"), Kind.GRANTED, 4),
    ],
)
async def test_a_push_is_granted_or_denied(
    registries: Callable[[Auth, bool], RealRegistry],
    auth: Auth,
    tls: bool,
    login: Login | None,
    kind: Kind,
    requests: int,
) -> None:
    registry = registries(auth, tls)
    registry.add_user("machine", User("x", identity_token="1dent"))
    registry.forget_requests()
    async with client(registry) as asking:
        target = Target(registry.host, "org/os")
        answer = await asking.may_push(target, login, origin=ORIGIN, egress=trusting(registry))
    assert answer.kind is kind, answer.text
    assert len(registry.requests()) == requests
    uploads = [asked for asked in registry.requests(path="/uploads/") if asked.status < 400]
    assert [asked.method for asked in uploads] == (["POST", "DELETE"] if kind is Kind.GRANTED else [])


async def test_a_registry_whose_authority_is_not_trusted_could_not_be_asked(
    registries: Callable[[Auth, bool], RealRegistry],
) -> None:
    async with Registry() as asking:
        target = Target(registries(Auth.BASIC, True).host, "org/os")
        answer = await asking.may_push(target, PUSHER, origin=ORIGIN)
    assert answer.kind is Kind.NOT_ASKED
    assert "its certificate is not trusted here" in answer.text


@pytest.mark.parametrize(
    ("rule", "kind", "says"),
    [
        pytest.param({"status": 429, "retry_after": 7}, Kind.NOT_ASKED, "a pause of 7 s", id="429"),
        pytest.param({"status": 500}, Kind.NOT_ASKED, "it answers 500", id="500"),
        pytest.param({"status": 401}, Kind.DENIED, "correct the credentials in Secret mco/push", id="401"),
        pytest.param({"status": 403}, Kind.DENIED, "or allow user pusher to push there", id="403"),
        pytest.param({"status": 404}, Kind.UNKNOWN, "has no repository faults/os", id="404"),
        pytest.param({"status": 200, "body": "<html>"}, Kind.NOT_ASKED, "as no registry does", id="a page"),
        pytest.param({"cut": True}, Kind.NOT_ASKED, "the connection was cut", id="cut"),
        pytest.param({"hang": True}, Kind.NOT_ASKED, "no answer within 0.5 s", id="hangs"),
        pytest.param({"status": 429, "skip": 1}, Kind.NOT_ASKED, "a fault of the test", id="429 after the challenge"),
        pytest.param({"cut": True, "method": "DELETE"}, Kind.GRANTED, "lets user pusher", id="cut at the cancel"),
    ],
)
async def test_what_a_registry_does_not_answer_is_told_from_what_it_refuses(
    registry: RealRegistry, rule: Mapping[str, Any], kind: Kind, says: str
) -> None:
    fault = registry.fault(**rule)
    async with client(registry, seconds=0.5 if "hang" in rule else 10.0) as asking:
        answer = await asking.may_push(Target(registry.host, "faults/os"), PUSHER, origin=ORIGIN)
    assert answer.kind is kind
    assert says in answer.text
    assert fault.hits == (2 if rule == {"status": 401} else 1)


async def test_a_registry_that_is_down_could_not_be_asked_and_can_be_when_it_is_back(registry: RealRegistry) -> None:
    target = Target(registry.host, "down/os")
    async with client(registry) as asking:
        with registry.down():
            answer = await asking.may_push(target, PUSHER, origin=ORIGIN)
        assert answer.kind is Kind.NOT_ASKED
        assert "cannot connect" in answer.text
        assert (await asking.may_push(target, PUSHER, origin=ORIGIN)).kind is Kind.GRANTED


async def test_a_manifest_is_found_by_tag_and_digest(registry: RealRegistry) -> None:
    target = Target(registry.host, "manifests/os")
    digest = push(registry, target.path, "v1", layer({"a": b"a"}))
    registry.forget_requests()
    async with client(registry) as asking:
        for reference in ("v1", digest):
            assert await asking.manifest(target, reference, PULLER, origin=ORIGIN) == Found(digest)
        assert [asked.method for asked in registry.requests()] == ["HEAD"] * 4
        gone = await asking.manifest(target, "v2", PULLER, origin=ORIGIN)
        assert gone == Gone(f"{target}:v2 is not in the registry (404)")
        elsewhere = await asking.manifest(Target(registry.host, "none"), digest, PULLER, origin=ORIGIN)
        assert elsewhere == Gone(f"{registry.host}/none@{digest} is not in the registry (404)")
        assert isinstance(await asking.manifest(target, "v1", WRONG, origin=ORIGIN), Denied)
        with registry.down():
            assert isinstance(await asking.manifest(target, "v1", PULLER, origin=ORIGIN), NotAsked)
