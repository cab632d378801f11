"""What is read for the snapshot of a pool where caches lag, kinds are missing or objects are large."""

import base64
import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.os_build.fake import FakeBackend
from tests.unit.os_build.machine_os.samples import machine_os_config
from tests.unit.os_build.world import World, config_map, machine_config, pool
from windlass.api.core import ConfigMap, Secret
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.kube.control.plan import Outcome, Target
from windlass.kube.control.seen import Present
from windlass.kube.errors import NotServed, Status
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import BuildState
from windlass.os_build.constants import (
    BUILDER_CONFIG,
    BUILDER_CONFIG_ALIAS,
    CONTAINERFILES,
    IMAGE,
    IMAGE_ALIAS,
    NAMESPACE,
)
from windlass.os_build.credentials import Secrets
from windlass.os_build.machine_os.request import requested
from windlass.os_build.pool.claims import Claims
from windlass.os_build.pool.observe import PoolObserver, Settings
from windlass.os_build.request import BackendName, Problem, Request

DATA = {"baseImagePullSecretName": "pull", "finalImagePushSecretName": "push"}


class Unserved(FakeBackend):
    def look(self, pool: str) -> Sequence[BuildState]:
        raise NotServed(Status("Failure", "Build is not served", "NotFound", 404))


async def test_the_older_config_map_does_not_count_because_a_cache_lags() -> None:
    world = World()
    world.add_pool()
    world.api.load(config_map(BUILDER_CONFIG_ALIAS, **DATA, finalImagePullspec="old.example.com/a/b"))
    newer = world.api.peek(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    assert newer is not None
    await world.api.delete(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    world.process.reader.freeze(ConfigMap)
    world.api.load(newer.tree())
    request = (await world.process.controller.observe("worker", Outcome())).request
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
    see, read = world.process.reader.see, []

    async def counted(kind: Any, name: str, **options: Any) -> Any:
        read.append((kind, name))
        return await see(kind, name, **options)

    monkeypatch.setattr(world.process.reader, "see", counted)
    materials = (await world.process.controller.observe("worker", Outcome())).materials
    assert materials is not None
    assert isinstance(materials.secrets, Secrets)
    assert materials.secrets.pull == materials.secrets.push
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
    process = world.process
    observe = PoolObserver(process.reader, backends, process.registries, settings=Settings(), now=world.now)
    assert (await observe("worker", Outcome())).backend is BackendName.JOB
    del backends[BackendName.JOB]
    backend = (await observe("worker", Outcome())).backend
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


async def test_what_configurations_mean_is_remembered_for_the_last_two_hundred() -> None:
    world = World(machine_os_configs=True)
    world.add_pool()
    claims = Claims(world.process.reader)
    names = [f"rendered-worker-{number}" for number in range(2, 203)]
    world.api.load(*map(machine_config, names))

    async def name_of_the_build(rendered: str) -> str | Problem:
        world.api.load(pool("worker", rendered))
        config, found = machine_os_config(), world.api.peek(MachineConfigPool, "worker")
        assert found is not None
        request = requested(config, found.decode(), architecture="amd64")
        assert isinstance(request, Request)
        return (await claims.claim(Present(config, b""), Present(found.decode(), b""), request, versions="")).name

    before = [await name_of_the_build(name) for name in names]
    for name in names:
        await world.api.delete(MachineConfig, name)
    assert isinstance(await name_of_the_build(names[0]), Problem)
    assert [await name_of_the_build(name) for name in names[1:]] == before[1:]
