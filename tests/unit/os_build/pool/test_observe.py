"""What is read for a decision about a pool where caches lag, kinds are missing or objects are large."""

import base64
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.unit.os_build.fake import FakeBackend
from tests.unit.os_build.world import World, claimed, config_map, machine_config
from windlass.api.core import ConfigMap, Secret
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool, RenderedMachineConfig
from windlass.kube.control.plan import Outcome, Plan, Target
from windlass.kube.control.question import Question
from windlass.kube.errors import NotServed, Status
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import Backend, BuildState
from windlass.os_build.constants import (
    BUILDER_CONFIG,
    BUILDER_CONFIG_ALIAS,
    CONTAINERFILES,
    IMAGE,
    IMAGE_ALIAS,
    NAMESPACE,
)
from windlass.os_build.pool.facts import facts_of
from windlass.os_build.pool.observe import pool_observer
from windlass.os_build.pool.snapshot import PoolFacts, PoolSnapshot, Settings
from windlass.os_build.request import BackendName, Problem, Request

DATA = {"baseImagePullSecretName": "pull", "finalImagePushSecretName": "push"}


class Unserved(FakeBackend):
    def look(self, pool: str) -> Sequence[BuildState]:
        raise NotServed(Status("Failure", "Build is not served", "NotFound", 404))


async def facts(world: World, backends: Mapping[BackendName, Backend] | None = None) -> PoolFacts:
    """What is known of the pool `worker`."""
    controller, settings, found = world.process.controller, Settings(), []
    backends = backends if backends is not None else world.backends(world.process.reader)
    snapshot = await pool_observer(world.process.reader, backends, settings=settings)("worker", Outcome())

    def decide(seen: PoolSnapshot) -> Plan:
        found.append(facts_of(seen, backends=backends, settings=settings))
        return Plan()

    await controller.asker(now=world.now).inquiry("worker").decide(snapshot, decide)
    return found[-1]


def counted(world: World, monkeypatch: pytest.MonkeyPatch) -> list[tuple[type[Any], str]]:
    """Kinds and names of the objects that are looked at from now on."""
    see = world.process.reader.see
    read: list[tuple[type[Any], str]] = []

    async def noted(kind: Any, name: str, **options: Any) -> Any:
        read.append((kind, name))
        return await see(kind, name, **options)

    monkeypatch.setattr(world.process.reader, "see", noted)
    return read


async def test_the_older_config_map_does_not_count_because_a_cache_lags() -> None:
    world = World()
    world.add_pool()
    world.api.load(config_map(BUILDER_CONFIG_ALIAS, **DATA, finalImagePullspec="old.example.com/a/b"))
    newer = world.api.peek(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    assert newer is not None
    await world.api.delete(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    world.process.reader.freeze(ConfigMap)
    world.api.load(newer.tree())
    request = (await facts(world)).request
    assert isinstance(request, Request)
    assert request.target.host == "registry.example.com"


async def test_the_build_of_a_pool_that_a_cache_lacks_goes_on_and_ends_with_the_pool() -> None:
    world = World()
    world.add_pool()
    await world.settle()
    world.process.reader.freeze(MachineConfigPool)
    world.process.reader.removed(Target(MachineConfigPool, "worker"))
    await world.settle("worker")
    assert len(world.builders.builds) == 1
    await world.api.delete(MachineConfigPool, "worker")
    world.process.reader.removed(Target(MachineConfigPool, "worker"))
    await world.settle("worker")
    assert world.builders.builds == {}


async def test_the_build_of_a_pool_goes_on_while_its_kind_is_not_served() -> None:
    world = World()
    world.add_pool()
    await world.settle()
    world.api.uninstall(MachineConfigPool)
    await world.settle("worker")
    assert len(world.builders.builds) == 1


async def test_a_context_that_no_config_map_holds_starts_no_builder_in_a_cluster() -> None:
    world = World()
    world.add_pool()
    noise = base64.b64encode(random.Random(1).randbytes(1_100_000)).decode()
    files = [{"path": "/etc/large", "contents": {"source": f"data:;base64,{noise}"}}]
    config = {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}
    await world.api.delete(MachineConfig, "rendered-worker-1")
    world.api.load(machine_config("rendered-worker-1", config=config))
    await world.settle()
    assert world.says()[:2] == ("BuildFailed", "ContextTooLarge")
    assert world.builders.begun == []


async def test_a_secret_that_serves_for_pulling_and_pushing_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.add_pool()
    both = {"data": {"baseImagePullSecretName": "push"}}
    await world.api.patch(ConfigMap, BUILDER_CONFIG, both, type=PatchType.MERGE, namespace=NAMESPACE)
    read = counted(world, monkeypatch)
    await world.settle()
    assert len(world.builders.builds) == 1
    assert read.count((Secret, "push")) == 1


async def test_a_containerfile_that_openshift_refuses_starts_no_build_and_a_job_takes_it() -> None:
    world = World()
    world.add_pool()
    world.api.load(config_map(CONTAINERFILES, worker="RUN true\n" * 7000))
    await world.settle()
    assert world.says()[:2] == ("BuildFailed", "ContainerfileTooLarge")
    assert world.builders.begun == []
    job = {"data": {"imageBuilderType": "Job"}}
    await world.api.patch(ConfigMap, BUILDER_CONFIG, job, type=PatchType.MERGE, namespace=NAMESPACE)
    await world.settle()
    assert [each.backend for each in world.builders.builds.values()] == [BackendName.JOB]


async def test_a_cluster_without_builds_of_openshift_has_jobs() -> None:
    world = World()
    world.add_pool()
    backends = {
        BackendName.OPENSHIFT: Unserved(world.builders),
        BackendName.JOB: FakeBackend(world.builders, name=BackendName.JOB),
    }
    assert (await facts(world, backends)).backend is BackendName.JOB
    del backends[BackendName.JOB]
    backend = (await facts(world, backends)).backend
    assert isinstance(backend, Problem)
    assert backend.reason == "NoBuilder"


async def test_the_operators_own_alias_stays_when_a_pool_opts_out() -> None:
    world = World()
    theirs = {IMAGE_ALIAS: "registry.example.com/theirs@sha256:1", IMAGE: "registry.example.com/ours@sha256:2"}
    world.add_pool(annotations=theirs)
    await world.settle()
    assert world.annotations() == {IMAGE_ALIAS: theirs[IMAGE_ALIAS]}
    world.add_pool(annotations={**theirs, IMAGE_ALIAS: theirs[IMAGE]})
    await world.settle()
    assert world.annotations() == {}


async def test_what_a_configuration_means_is_read_once_and_until_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    world = claimed()
    await world.api.delete(MachineConfig, "rendered-worker-1")
    read = counted(world, monkeypatch)
    await world.settle()
    assert world.builders.begun == []
    world.api.load(machine_config("rendered-worker-1"))
    await world.settle()
    assert len(world.builders.begun) == 1
    before = read.count((RenderedMachineConfig, "rendered-worker-1"))
    await world.settle()
    await world.settle()
    assert read.count((RenderedMachineConfig, "rendered-worker-1")) == before


async def test_a_context_that_was_found_unfit_is_not_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.add_pool()
    world.api.load(config_map(CONTAINERFILES, worker="RUN true\n" * 7000))
    read = counted(world, monkeypatch)
    await world.settle()
    assert world.says()[:2] == ("BuildFailed", "ContainerfileTooLarge")
    await world.settle()
    assert read.count((MachineConfig, "rendered-worker-1")) == 1
    world.api.load(config_map(CONTAINERFILES, worker="RUN false\n" * 7000))
    await world.settle()
    assert read.count((MachineConfig, "rendered-worker-1")) == 2, "it is another request"


async def test_nothing_is_read_from_the_api_server_while_a_pool_has_its_image(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.add_pool()
    await world.settle()
    [build] = list(world.builders.builds)
    world.builders.succeed(build)
    await world.settle()
    asked: list[tuple[Question[Any], ...]] = []
    ask = world.process.asker.ask

    async def noted(questions: Sequence[Question[Any]], *, number: int) -> Any:
        asked.append(tuple(questions))
        return await ask(questions, number=number)

    monkeypatch.setattr(world.process.asker, "ask", noted)
    await world.settle()
    assert world.says()[0] == "BuildSuccess"
    assert [each for some in asked for each in some if not each.FREE] == []
