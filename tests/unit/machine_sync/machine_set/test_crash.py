"""A crash between any two writes of the MachineSet controller is harmless: every scenario, at every write."""

from collections.abc import Callable
from typing import Any

import pytest

from windlass.api import capi, capo, mapi
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import LaggingReader, MemoryReader
from windlass.testing.crash import Actor, Scenario, crash_everywhere

from ..scenarios import copied, deleting, patching, settling
from .cases import AUTHORITY, BEHIND_CLUSTER_API, CAPI_SET, MAPI_SET, NAME, OURS, PAUSED, SYNC, changed
from .world import (
    CAPI,
    MAPI,
    at_rest,
    cluster_api_core,
    empty,
    holds_for_nobody,
    leaked,
    machine_api_core,
    reconciled,
    synchronized,
    world,
)

CONTROLLERS = (machine_api_core, cluster_api_core)
MADE = "OpenStackMachineTemplate.infrastructure.cluster.x-k8s.io/v1beta1 openshift-cluster-api/"

settle = settling(reconciled)


def scenario(start: MemoryApi, *actors: Actor, stays_mirrored: bool = True) -> Callable[[], Scenario]:
    """Scenarios that begin as `start` is now."""
    held = leaked if stays_mirrored else holds_for_nobody
    return lambda: Scenario(copied(start, into=empty()), settle, actors, leaked=held)


def asking_for(authority: str) -> Actor:
    return patching(mapi.MachineSet, NAME, {"spec": {"authoritativeAPI": authority}})


def templates(end: Any) -> set[str]:
    """The names of the templates that the sync made."""
    return {name.removeprefix(MADE) for name in end if name.startswith(f"{MADE}ms-")}


async def behind() -> MemoryApi:
    """Cluster API is authoritative, and all is in sync."""
    return await at_rest(machine_api=BEHIND_CLUSTER_API, cluster_api=CAPI_SET)


async def test_making_a_mirror() -> None:
    report = await crash_everywhere(scenario(world(machine_api=changed(MAPI_SET, metadata__finalizers=[]))))
    assert report.points == 2 * 5  # finalizer, template, mirror, its status, the condition
    assert report.end[CAPI]["metadata"]["finalizers"] == [SYNC]
    assert synchronized(report.end[MAPI])["status"] == "True"


async def test_making_the_first_set_under_cluster_api_authority() -> None:
    start = world(machine_api=changed(BEHIND_CLUSTER_API, metadata__finalizers=[]), templates=())
    report = await crash_everywhere(scenario(start, *CONTROLLERS))
    assert not {PAUSED, AUTHORITY} & set(report.end[CAPI]["metadata"].get("annotations", {}))
    assert synchronized(report.end[MAPI])["message"] == "Successfully synchronized CAPI MachineSet to MAPI"
    assert len(templates(report.end)) == 1


async def test_changing_the_provider_spec() -> None:
    start = await at_rest()
    change = {"spec": {"replicas": 7, "template": {"spec": {"providerSpec": {"value": {"flavor": "m1.huge"}}}}}}
    report = await crash_everywhere(scenario(start, patching(mapi.MachineSet, NAME, change)))
    assert report.points == 2 * 5  # new template, content, status, the old template, the condition
    (made,) = templates(report.end)
    assert report.end[CAPI]["spec"]["template"]["spec"]["infrastructureRef"]["name"] == made
    assert report.end[MADE + made]["spec"]["template"]["spec"]["flavor"] == "m1.huge"
    assert report.end[CAPI]["spec"]["replicas"] == 7


async def test_changing_the_set_under_cluster_api_authority() -> None:
    change = {"spec": {"replicas": 7}, "metadata": {"labels": {"team": None, "stage": "b"}}}
    report = await crash_everywhere(scenario(await behind(), patching(capi.MachineSet, NAME, change), cluster_api_core))
    assert report.points
    assert report.end[MAPI]["spec"]["replicas"] == 7
    assert report.end[MAPI]["metadata"]["labels"] == {"stage": "b"}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(mapi.MachineSet, id="ss3-the-set"),
        pytest.param(capi.MachineSet, id="ss6-its-mirror"),
    ],
)
async def test_deleting_either_side_under_machine_api_authority(kind: type[Any]) -> None:
    start = await at_rest()
    report = await crash_everywhere(
        scenario(start, deleting(kind, NAME), *CONTROLLERS, collect_garbage, stays_mirrored=False)
    )
    assert not {MAPI, CAPI} & set(report.end)
    assert templates(report.end) == set()
    assert f"{MADE}made-by-a-user" in report.end


async def test_deleting_the_set_under_cluster_api_authority() -> None:
    report = await crash_everywhere(
        scenario(await first_set(), deleting(capi.MachineSet, NAME), *CONTROLLERS, stays_mirrored=False)
    )
    assert not {MAPI, CAPI} & set(report.end)
    assert templates(report.end) == set()


async def test_deleting_the_mirror_under_cluster_api_authority() -> None:
    report = await crash_everywhere(
        scenario(await first_set(), deleting(mapi.MachineSet, NAME), *CONTROLLERS, stays_mirrored=False)
    )
    assert MAPI not in report.end
    assert CAPI in report.end
    assert len(templates(report.end)) == 1


async def first_set() -> MemoryApi:
    """Cluster API is authoritative over a set and a template that the sync made."""
    api = world(machine_api=BEHIND_CLUSTER_API)
    for _ in range(5):
        await reconciled(api, MemoryReader(api))
        for controller in CONTROLLERS:
            await controller(api)
    return api


async def test_moving_authority_to_cluster_api() -> None:
    report = await crash_everywhere(scenario(await at_rest(), asking_for("ClusterAPI"), *CONTROLLERS))
    status = report.end[MAPI]["status"]
    assert (status["authoritativeAPI"], status["synchronizedAPI"]) == ("ClusterAPI", "ClusterAPI")
    assert synchronized(report.end[MAPI])["message"] == "Successfully synchronized CAPI MachineSet to MAPI"
    (made,) = templates(report.end)
    for name in (CAPI, MADE + made):
        assert not {PAUSED, AUTHORITY} & set(report.end[name]["metadata"].get("annotations", {}))


async def test_moving_authority_to_the_machine_api() -> None:
    report = await crash_everywhere(scenario(await behind(), asking_for("MachineAPI"), *CONTROLLERS))
    status = report.end[MAPI]["status"]
    assert (status["authoritativeAPI"], status["synchronizedAPI"]) == ("MachineAPI", "MachineAPI")
    assert synchronized(report.end[MAPI])["message"] == "Successfully synchronized MAPI MachineSet to CAPI"
    annotations = report.end[CAPI]["metadata"]["annotations"]
    assert (annotations[PAUSED], annotations[AUTHORITY]) == ("", "MachineAPI")
    assert len(templates(report.end)) == 1


@pytest.mark.parametrize("first", ["MachineAPI", "ClusterAPI"])
async def test_taking_a_move_back_while_it_is_under_way(first: str) -> None:
    other = {"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[first]
    start = await (at_rest() if first == "MachineAPI" else behind())
    report = await crash_everywhere(scenario(start, asking_for(other), asking_for(first), *CONTROLLERS))
    assert report.end[MAPI]["status"]["authoritativeAPI"] == first
    paused = PAUSED in report.end[CAPI]["metadata"].get("annotations", {})
    assert paused is (first == "MachineAPI")


async def test_there_and_back_again() -> None:
    """What was mirrored both ways is what it was."""

    async def back(api: MemoryApi) -> None:
        found = api.peek(mapi.MachineSet, NAME, namespace=OURS)
        assert found is not None
        tree = found.tree()
        moved = tree["status"].get("authoritativeAPI") == tree["spec"]["authoritativeAPI"] == "ClusterAPI"
        if moved and synchronized(tree).get("status") == "True":
            await asking_for("MachineAPI")(api)

    start = await at_rest()
    report = await crash_everywhere(scenario(start, asking_for("ClusterAPI"), back, *CONTROLLERS))
    assert report.end[MAPI]["status"]["authoritativeAPI"] == "MachineAPI"
    assert report.end[MAPI]["spec"]["replicas"] == MAPI_SET["spec"]["replicas"]
    assert len(templates(report.end)) == 1


async def test_a_successor_with_caches_from_before_the_crash_makes_nothing_twice() -> None:
    def make() -> Scenario:
        api = world()
        successor = LaggingReader(api)
        successor.freeze(mapi.MachineSet, capi.MachineSet, capo.OpenStackMachineTemplate)
        readers = iter([MemoryReader(api), successor])
        return Scenario(api, settle, leaked=leaked, reader=lambda _: next(readers))

    report = await crash_everywhere(make)
    assert report.points == 2 * 4
    assert synchronized(report.end[MAPI])["status"] == "True"
