"""What comes last is noticed by a watch and by nothing else: no resync, no safety look and no retry brings a key back.

Both controllers run here with every timer off. Each test leaves out one object, waits until the controllers have
nothing more to do without it, and adds it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest
from msgspec import structs

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube import config
from windlass.kube.backoff import Constant
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller
from windlass.kube.control.plan import Done, Emit, Plan, RequeueAfter, Retry, WaitFor
from windlass.kube.control.reader import CacheReader
from windlass.kube.process.manager import Manager
from windlass.machine_sync.constants import MACHINE_SET_LABEL
from windlass.machine_sync.controllers import Make, makers

from .examples import Tree
from .stage import CLUSTER, SET, Stage, condition

pytestmark = pytest.mark.plane

NEVER = Constant(86_400.0)

Last = Callable[[Stage], Awaitable[object]]


class Woken:
    """The controllers of a stage without timers; `decided` is the last plan for each name."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.decided: dict[str, Plan] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stage = self.stage
        cluster = config.load(kubeconfig=stage.account)
        async with Client(cluster) as client, Manager(client) as manager:
            for make in makers(platform=stage.example.platform, namespaces=stage.namespaces, resync=0.0):
                await manager.start(self.without_timers(make))
            task = asyncio.create_task(manager.run())
            try:
                yield
            finally:
                manager.shut_down()
                await task

    def without_timers(self, make: Make) -> Callable[[CacheReader], Controller[str, Any]]:
        def made(reader: CacheReader) -> Controller[str, Any]:
            controller = make(reader)

            def decide(snapshot: Any, *, now: datetime) -> Plan:
                plan = controller.decide(snapshot, now=now)
                self.decided[snapshot.name] = plan
                timed = isinstance(plan.next, RequeueAfter | WaitFor)
                return structs.replace(plan, next=Done("no timer")) if timed else plan

            return structs.replace(controller, decide=decide, backoff=NEVER, conflict=NEVER)

        return made

    async def rests(self, name: str) -> None:
        """Everything was decided about `name` that can be without what is missing."""

        async def plan() -> Plan | None:
            return self.decided.get(name)

        def at_rest(found: Plan | None) -> bool:
            if found is None:
                return False
            return isinstance(found.next, Retry) or all(isinstance(action, Emit) for action in found.needed)

        await eventually(plan, at_rest, what=f"rest of {name}")


async def the_cluster(stage: Stage) -> None:
    kind = stage.example.platform.infra_cluster.RESOURCE
    reference = {"apiGroup": kind.group, "kind": kind.kind, "name": CLUSTER}
    await stage.make(capi.Cluster, CLUSTER, {"infrastructureRef": reference})


async def the_infra_cluster(stage: Stage) -> None:
    await stage.infra_cluster()


async def the_twin_of_its_set(stage: Stage) -> None:
    await stage.mirror_set()


async def the_infra_machine(stage: Stage) -> None:
    await stage.infra_machine("w-0")


@pytest.mark.parametrize("last", [the_infra_cluster, the_twin_of_its_set, the_infra_machine])
async def test_a_machine_of_cluster_api_is_mirrored_when_what_was_missing_comes(stage: Stage, last: Last) -> None:
    woken = Woken(stage)
    async with woken.running():
        await stage.source_set()
        for each in (the_infra_cluster, the_twin_of_its_set):
            if each is not last:
                await each(stage)
        await stage.machine("w-0", infra=last is not the_infra_machine)
        await woken.rests("w-0")
        await last(stage)
        await stage.in_sync("w-0")


async def test_a_machine_is_mirrored_when_of_two_sets_one_becomes_the_mirror_of_the_other(stage: Stage) -> None:
    """Until then, the set of the Machine API would count the mirror as a replica too many, and delete the machine."""
    await stage.cluster()
    woken = Woken(stage)
    async with woken.running():
        await the_template(stage)
        await stage.source_set()
        await a_set_of_the_machine_api(stage)
        await stage.set_that(SET, lambda tree: condition(tree).get("reason") == "NameConflict")
        await stage.machine("w-0")
        await woken.rests("w-0")
        assert await stage.get(mapi.Machine, "w-0") is None
        await stage.patch(mapi.MachineSet, SET, {"spec": {"authoritativeAPI": "ClusterAPI"}})
        await stage.in_sync("w-0")


@pytest.mark.parametrize("last", [the_cluster, the_infra_cluster])
async def test_a_machine_of_the_machine_api_is_mirrored_when_what_was_missing_comes(stage: Stage, last: Last) -> None:
    await stage.cluster()
    woken = Woken(stage)
    kind = capi.Cluster if last is the_cluster else stage.example.platform.infra_cluster
    await stage.delete(kind, CLUSTER)
    async with woken.running():
        await stage.machine_of_machine_api("w-0")
        await woken.rests("w-0")
        await last(stage)
        await stage.in_sync("w-0")


async def the_template(stage: Stage) -> None:
    spec = {"template": {"spec": stage.example.infra_spec}}
    await stage.make(stage.example.platform.infra_template, SET, spec)


async def a_set_of_the_machine_api(stage: Stage) -> None:
    value = dict(stage.example.provider_spec)
    labels = {MACHINE_SET_LABEL: SET}
    template = {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": value}}}
    spec = {"authoritativeAPI": "MachineAPI", "replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await stage.make(mapi.MachineSet, SET, spec)


async def set_in_sync(stage: Stage, *, generation: int = 1) -> None:
    def holds(found: Tree | None) -> bool:
        noted = ((found or {}).get("status") or {}).get("synchronizedGeneration")
        return condition(found).get("status") == "True" and noted == generation

    await eventually(lambda: stage.get(mapi.MachineSet, SET), holds, what=f"set {SET} in sync")


async def set_has(stage: Stage, replicas: int) -> None:
    def holds(found: Tree | None) -> bool:
        return found is not None and found["spec"]["replicas"] == replicas

    await eventually(lambda: stage.get(capi.MachineSet, SET), holds, what=f"{replicas} replicas of {SET}")


@pytest.mark.parametrize("last", [the_infra_cluster, the_template])
async def test_a_set_of_cluster_api_is_mirrored_when_what_was_missing_comes(stage: Stage, last: Last) -> None:
    woken = Woken(stage)
    async with woken.running():
        for each in (the_infra_cluster, the_template):
            if each is not last:
                await each(stage)
        await stage.source_set()
        await stage.mirror_set()
        await woken.rests(SET)
        await last(stage)
        await set_in_sync(stage)


async def test_a_set_of_the_machine_api_is_mirrored_when_its_cluster_comes_and_kept_true(stage: Stage) -> None:
    await stage.cluster()
    await stage.delete(capi.Cluster, CLUSTER)
    woken = Woken(stage)
    async with woken.running():
        await a_set_of_the_machine_api(stage)
        await woken.rests(SET)
        await the_cluster(stage)
        await set_in_sync(stage)
        await stage.patch(mapi.MachineSet, SET, {"spec": {"replicas": 3}})
        await set_has(stage, 3)
        await set_in_sync(stage, generation=2)
        await stage.patch(capi.MachineSet, SET, {"spec": {"replicas": 5}})
        await set_has(stage, 3)
