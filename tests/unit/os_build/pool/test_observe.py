"""What is read for the snapshot of a pool where caches lag, kinds are missing or objects are large."""

import base64
import random
from collections.abc import Sequence
from typing import Any

from tests.unit.os_build.fake import FakeBackend
from tests.unit.os_build.world import World, config_map, machine_config
from windlass.api.core import ConfigMap
from windlass.api.machineconfiguration import MachineConfig
from windlass.kube.control.plan import Outcome
from windlass.kube.errors import NotServed, Status
from windlass.os_build.builder import BuildState
from windlass.os_build.constants import BUILDER_CONFIG, BUILDER_CONFIG_ALIAS, IMAGE, IMAGE_ALIAS, NAMESPACE
from windlass.os_build.pool.observe import PoolObserver, Settings
from windlass.os_build.pool.snapshot import Snapshot
from windlass.os_build.request import BackendName, Problem, Request

DATA = {"baseImagePullSecretName": "pull", "finalImagePushSecretName": "push"}


async def observed(world: World, **fields: Any) -> Snapshot:
    """What a process sees of the pool; `fields` are those of its observer that are others than usually."""
    return await world.process.controller.observe("worker", Outcome())


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
    request = (await observed(world)).request
    assert isinstance(request, Request)
    assert request.target.host == "registry.example.com"


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
