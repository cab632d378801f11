"""Probes in plans: what is remembered of their answers, and that no secret is shown."""

import asyncio
import base64
import json

import pytest
from msgspec.structs import replace

from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry, Watch
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Call, Target
from windlass.os_build.credentials import Auths, Login
from windlass.os_build.registry import Kind, ProbeUpload, Registry, RegistryCarrier
from windlass.os_build.registry.answers import Unlisted
from windlass.os_build.registry.carrier import LISTED, ImageList, PushList

BEGUN, ENDED = Says(202, {"Location": "/v2/org/os/blobs/uploads/7"}), Says(204)


def request(server: ScriptedRegistry, versions: str = "1") -> ProbeUpload:
    auths = Auths({server.target.host: Login("robot", "s3cret")}, b'{"auths": "s3cret"}')
    return ProbeUpload(pool="worker", target=str(server.target), secret="mco/push", versions=versions, auths=auths)


def carrier(clock: Watch | None = None) -> RegistryCarrier:
    return RegistryCarrier(Registry(insecure=["127.0.0.1"]), clock=clock)


async def test_an_answer_is_remembered_for_this_state_of_the_secrets() -> None:
    async with ScriptedRegistry(BEGUN, ENDED) as server, carrier() as registries:
        assert registries.answered(target=str(server.target), versions="1") is None
        answer = await registries.send(request(server))
        assert answer.kind is Kind.GRANTED
        assert registries.answered(target=str(server.target), versions="1") == answer
        assert registries.answered(target=str(server.target), versions="2") is None
        assert registries.answered(target="quay.io/org/os", versions="1") is None


async def test_pools_with_the_same_target_and_secrets_share_a_probe() -> None:
    async with ScriptedRegistry(BEGUN, ENDED) as server, carrier() as registries:
        answers = await asyncio.gather(*(registries.send(request(server)) for _ in range(20)))
    assert len({answer.kind for answer in answers}) == 1
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("says", "kind", "again"),
    [(Says(403), Kind.DENIED, False), (Says(404), Kind.UNKNOWN, False), (Says(503), Kind.NOT_ASKED, True)],
    ids=["denied", "unknown", "not asked"],
)
async def test_only_that_a_registry_could_not_be_asked_is_forgotten_by_itself(
    says: Says, kind: Kind, again: bool
) -> None:
    clock = Watch()
    async with ScriptedRegistry(says) as server, carrier(clock) as registries:
        assert (await registries.send(request(server))).kind is kind
        clock.time = 59.0
        await registries.send(request(server))
        assert len(server.asked) == 1
        clock.time = 60.0
        assert (registries.answered(target=str(server.target), versions="1") is None) == again
        await registries.send(request(server))
        assert len(server.asked) == 1 + again


async def test_a_probe_that_is_doubted_is_made_again() -> None:
    async with ScriptedRegistry(Says(403), BEGUN, ENDED) as server, carrier() as registries:
        await registries.send(request(server))
        registries.doubt(request(server))
        assert registries.answered(target=str(server.target), versions="1") is None
        assert (await registries.send(request(server))).kind is Kind.GRANTED


async def test_the_memory_is_bounded() -> None:
    async with ScriptedRegistry(Says(403)) as server, carrier() as registries:
        for number in range(1002):
            await registries.send(request(server, str(number)))
        kept = [
            number for number in range(1002) if registries.answered(target=str(server.target), versions=str(number))
        ]
    assert kept == [*range(2, 1002)]


async def test_a_secret_without_credentials_for_the_registry_is_named() -> None:
    async with ScriptedRegistry(Says(401)) as server, carrier() as registries:
        probe = ProbeUpload(
            pool="worker", target=str(server.target), secret="mco/push", versions="1", auths=Auths({}, b"{}")
        )
        answer = await registries.send(probe)
    assert f"Secret mco/push has no credentials for it: add an entry for {server.target.host}" in answer.text


def test_no_secret_is_shown() -> None:
    probe = request(ScriptedRegistry(BEGUN))
    call = Call(target=Target(MachineConfigPool, "worker", uid="u"), request=probe, why="a build is to be pushed")
    shown = f"{call} {call!r} {call.diff()} {probe!r}"
    assert "mco/push" in shown
    assert "s3cret" not in shown
    assert base64.b64encode(json.dumps({"auths": "s3cret"}).encode()).decode() not in shown


IMAGES = ImageList(target="", tag="all", images=(("arm64", f"sha256:{'0' * 64}"),), occasion="1", versions="1")


def pushing(server: ScriptedRegistry, **fields: str) -> PushList:
    wanted = replace(IMAGES, target=str(server.target), **fields)
    return PushList(pool="worker", list=wanted, secret="mco/push", auths=request(server).auths)


async def test_what_became_of_a_list_is_remembered_until_it_is_doubted_or_old() -> None:
    clock = Watch()
    async with ScriptedRegistry(Says(404)) as server, carrier(clock) as registries:
        wanted = pushing(server)
        assert registries.pushed(wanted.list) is None
        answer = await registries.send(wanted)
        assert isinstance(answer, Unlisted)
        assert registries.pushed(wanted.list) == answer
        assert registries.pushed(pushing(server, occasion="2").list) is None, "the image may be there again"
        assert registries.pushed(pushing(server, versions="2").list) is None
        registries.doubt(wanted)
        assert registries.pushed(wanted.list) is None
        await registries.send(wanted)
        clock.time = LISTED[Unlisted]
        assert registries.pushed(wanted.list) is None


async def test_a_list_in_a_plan_shows_no_secret() -> None:
    async with ScriptedRegistry(Says(404)) as server:
        call = Call(target=Target(MachineConfigPool, "worker"), request=pushing(server))
        assert "s3cret" not in f"{call} {call!r} {call.diff()}"
