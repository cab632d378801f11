"""What the API server refuses to create for a build is told, tried again, and forgotten once it is created."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.os_build.world import Process, World, machine_config, machine_os_config, secret
from windlass.api.batch import Job
from windlass.api.core import ConfigMap, Event, Pod
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.control.plan import Create, Outcome, RequeueAfter, Result, Target
from windlass.kube.control.seen import IndexedReader
from windlass.kube.errors import KubeError, Status, api_error
from windlass.kube.verbs import Api, ApiRequest, CreateRequest
from windlass.model import MemoryApi
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.builder import Backend
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.machine_os.conditions import IMAGE_BUILD_DEGRADED
from windlass.os_build.pool.facts import refused_creation
from windlass.os_build.request import BackendName

QUOTA = 'jobs.batch "build" is forbidden: exceeded quota: builds, requested: count/jobs.batch=1'
SAYS_NO = 'admission webhook "policy.example.com" denied the request:\x1b[31m\nno\tbuilds'


def answer(code: int, reason: str, message: str) -> KubeError:
    return api_error(Status("Failure", message, reason, code))


class Gate(Api):
    """The API server, which refuses to create the kinds in `refused`."""

    def __init__(self, api: MemoryApi) -> None:
        self._api = api
        self.refused: dict[type[Any], KubeError] = {}

    async def send(self, request: ApiRequest[Any], /) -> Any:
        if isinstance(request, CreateRequest) and request.kind in self.refused:
            raise self.refused[request.kind]
        return await self._api.send(request)


class JobWorld(World):
    """A world that builds by Jobs, behind a gate."""

    def __init__(self, *, machine_os_configs: bool = False) -> None:
        super().__init__(machine_os_configs=machine_os_configs)
        self.api.install(Job)
        self.api.install(Pod)
        self.gate = Gate(self.api)
        self.restart()

    def backends(self, reader: IndexedReader) -> Mapping[BackendName, Backend]:
        return {BackendName.JOB: JobBackend(reader)}

    def restart(self) -> None:
        self.process = Process(self, api=self.gate)

    def jobs(self) -> list[str]:
        return [each.name for each in self.api.listing(Job)]

    def events(self) -> list[str]:
        return [each.decode().reason for each in self.api.listing(Event)]


@pytest.fixture
def world() -> JobWorld:
    world = JobWorld()
    world.add_pool()
    return world


@pytest.mark.parametrize("kind", [Job, ConfigMap])
async def test_a_refusal_stands_on_the_pool_and_goes_when_the_builder_is_created(
    world: JobWorld, kind: type[Any]
) -> None:
    world.gate.refused = {kind: answer(403, "Forbidden", QUOTA)}
    ending = await world.settle()
    condition, reason, message = world.says()
    assert (condition, reason) == ("BuildFailed", "BuilderRefused")
    assert QUOTA in message
    assert "Raise that ResourceQuota" in message
    assert ending.next == RequeueAfter(300.0, "ask the API server again")
    assert world.events() == ["BuilderRefused"]
    version = world.api.version
    world.pass_time(200)
    await world.settle()
    assert world.api.version == version, "nothing is written while it rests"
    world.pass_time(101)
    said = world.conditions()
    await world.settle()
    assert (world.conditions(), world.events()) == (said, ["BuilderRefused"]), "it is refused again, and says the same"
    world.gate.refused = {}
    world.pass_time(301)
    await world.settle()
    assert len(world.jobs()) == 1
    assert world.says()[:2] == ("BuildPending", "BuildPending")


async def test_something_else_that_is_asked_for_is_tried_at_once(world: JobWorld) -> None:
    world.gate.refused = {Job: answer(422, "Invalid", "Job is invalid: metadata.labels")}
    await world.settle()
    world.gate.refused = {}
    world.api.load(machine_config("rendered-worker-2"))
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await world.settle()
    assert len(world.jobs()) == 1
    assert [each.name for each in world.api.listing(ConfigMap) if each.name.startswith("build-")] == world.jobs()


@pytest.mark.parametrize("kind", [Job, ConfigMap, MachineOSBuild])
async def test_a_refusal_is_no_end_of_a_machine_os_build(kind: type[Any]) -> None:
    world = JobWorld(machine_os_configs=True)
    world.api.load(secret("global-pull-secret-copy", {"auths": {}}), machine_os_config())
    world.add_pool(annotations={})
    world.gate.refused = {kind: answer(403, "Forbidden", SAYS_NO)}
    await world.settle()
    said = world.conditions()[IMAGE_BUILD_DEGRADED]
    assert (said["status"], said["reason"]) == ("True", "BuilderRefused")
    assert "denied the request: no builds" in said["message"]
    assert world.events() == ["BuilderRefused"]
    version = world.api.version
    await world.settle()
    assert world.api.version == version
    world.gate.refused = {}
    world.pass_time(301)
    await world.settle()
    assert len(world.jobs()) == 1
    assert world.conditions()[IMAGE_BUILD_DEGRADED]["status"] == "False"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (answer(403, "Forbidden", QUOTA), f"{QUOTA}. Raise that ResourceQuota, or delete something that it counts."),
        (
            answer(403, "Forbidden", SAYS_NO),
            "the request: no builds. Correct what the webhook names, or ask",
        ),
        (answer(422, "Invalid", "spec: x"), "spec: x. Correct what the message names."),
        (answer(422, "Invalid", "word " * 1000), "more characters). Correct what the message names."),
    ],
    ids=["quota", "a webhook, with control characters", "invalid", "long"],
)
def test_a_refusal_is_short_and_has_its_remedy(error: KubeError, said: str) -> None:
    create = Create(target=Target(Job, "build", NAMESPACE), body={})
    text = refused_creation(Outcome((Result(create, error),)))
    assert text.startswith(f"The API server refuses to create Job.batch {NAMESPACE}/build: ")
    assert said in text
    assert text.isprintable()
    assert len(text) < 1300


STEPS = st.sampled_from(["refuse jobs", "refuse files", "admit", "render 1", "render 2", "wait", "touch", "restart"])


async def story(steps: list[str]) -> None:
    world = JobWorld()
    world.add_pool()
    for what in [*steps, "admit", "wait"]:
        verb, _, which = what.partition(" ")
        match verb:
            case "refuse":
                world.gate.refused[Job if which == "jobs" else ConfigMap] = answer(403, "Forbidden", QUOTA)
            case "admit":
                world.gate.refused = {}
            case "render":
                world.api.load(machine_config(f"rendered-worker-{which}"))
                await world.patch_pool({"spec": {"configuration": {"name": f"rendered-worker-{which}"}}})
            case "wait":
                world.pass_time(301)
            case "touch":
                await world.patch_pool({"metadata": {"labels": {"touched": str(world.api.version)}}})
            case "restart":
                world.restart()
        await world.settle()
        version = world.api.version
        await world.settle()
        assert world.api.version == version, f"it does not rest after {what}"
    assert len(world.jobs()) == 1
    assert world.says()[0] == "BuildPending"


@pytest.mark.slow
@given(st.lists(STEPS, max_size=12))
@settings(deadline=None)
def test_whatever_is_refused_it_comes_to_rest_and_in_the_end_it_is_built(steps: list[str]) -> None:
    asyncio.run(story(steps))
