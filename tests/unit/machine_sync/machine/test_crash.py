"""A crash between any two writes of the machine controller is harmless: every scenario, at every write."""

from typing import Any

import pytest

from windlass.api import capi, capo, capo_cluster, mapi
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import LaggingReader, MemoryReader
from windlass.testing.crash import Scenario, crash_everywhere

from ..scenarios import deleting, once, patching
from .actors import cluster_api_core, provider
from .cases import (
    CAPI_MACHINE,
    GONE,
    INFRA,
    INFRA_CLUSTER,
    INFRA_FINALIZER,
    MACHINE_API_FINALIZER,
    MAPI_MACHINE,
    MAPI_SET,
    SYNC,
    Tree,
    changed,
)
from .scenarios import CAPI_AT_END, INFRA_AT_END, MAPI_AT_END, scenario, settle
from .world import (
    NAME,
    OURS,
    THEIRS,
    at_rest,
    leaked,
    mapi_of,
    synchronized,
    typed,
    world,
)

BARE_CAPI = changed(CAPI_MACHINE, metadata__finalizers=["machine.cluster.x-k8s.io"])
BARE_INFRA = changed(INFRA, metadata__finalizers=[INFRA_FINALIZER])


async def test_creating_a_mirror() -> None:
    report = await crash_everywhere(scenario(world(cluster_api=BARE_CAPI, infra_machine=BARE_INFRA)))
    assert report.points == 2 * 4  # two finalizers, the mirror, its status
    assert report.end[MAPI_AT_END]["metadata"]["finalizers"] == [MACHINE_API_FINALIZER, SYNC]
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"


async def test_bringing_a_mirror_up_to_date() -> None:
    start = await at_rest()
    report = await crash_everywhere(
        scenario(
            start,
            patching(capo.OpenStackMachine, "w-0-infra", {"spec": {"flavor": "m1.huge"}}),
            patching(capi.Machine, NAME, {"spec": {"providerID": "openstack:///2"}}),
            patching(capi.Machine, NAME, {"status": {"phase": "Failed"}}, subresource="status"),
        )
    )
    assert report.points == 2 * 2  # content, status
    end = report.end[MAPI_AT_END]
    assert end["spec"]["providerSpec"]["value"]["flavor"] == "m1.huge"
    assert end["spec"]["providerID"] == "openstack:///2"
    assert end["status"]["phase"] == "Failed"
    assert end["status"]["synchronizedGeneration"] == 8


async def test_adopting_a_mirror_that_a_user_made() -> None:
    made: Tree = {
        "metadata": {"name": NAME, "namespace": OURS, "uid": "mapi-uid", "generation": 1},
        "spec": {"authoritativeAPI": "ClusterAPI"},
    }
    independent = changed(BARE_CAPI, metadata__ownerReferences=[])
    report = await crash_everywhere(
        scenario(world(cluster_api=independent, infra_machine=BARE_INFRA, machine_api=made))
    )
    assert report.points == 2 * 5  # three finalizers, content, status
    assert report.end[MAPI_AT_END]["status"]["authoritativeAPI"] == "ClusterAPI"
    assert report.end[MAPI_AT_END]["status"]["phase"] == "Running"


async def test_failing_and_healing_by_itself() -> None:
    async def provide(api: MemoryApi) -> None:
        api.load(typed(capo_cluster.OpenStackCluster, INFRA_CLUSTER))

    start = await at_rest()
    await start.delete(capo_cluster.OpenStackCluster, "c", namespace=THEIRS)
    report = await crash_everywhere(scenario(start, once(provide)))
    assert report.points == 2 * 3  # an Event and False, then True
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"


async def test_failing_for_good() -> None:
    start = await at_rest()
    breaking = patching(capi.Machine, NAME, {"spec": {"version": "v1"}})
    report = await crash_everywhere(scenario(start, breaking))
    assert report.points == 2 * 2  # an Event and False
    assert synchronized(report.end[MAPI_AT_END])["reason"] == "FailedToConvertCAPIMachineToMAPI"


async def test_saying_so_in_an_event_while_there_is_no_mirror() -> None:
    report = await crash_everywhere(
        scenario(world(cluster_api=BARE_CAPI, infra_machine=BARE_INFRA, infra_cluster=None), stays_mirrored=False)
    )
    assert report.points
    assert MAPI_AT_END not in report.end


@pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI"])
async def test_filling_an_authority_that_nobody_has_filled(authority: str) -> None:
    made = changed(MAPI_MACHINE, status=None, spec__authoritativeAPI=authority)
    report = await crash_everywhere(scenario(world(machine_api=made)))
    assert report.points
    assert report.end[MAPI_AT_END]["status"]["authoritativeAPI"] == authority
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"


@pytest.mark.parametrize(
    "deleted",
    [
        pytest.param(capi.Machine, id="the-machine"),
        pytest.param(mapi.Machine, id="its-mirror"),
    ],
)
async def test_deleting_either_side_takes_everything_along(deleted: type[Any]) -> None:
    start = await at_rest()
    actors = (deleting(deleted, NAME), cluster_api_core, provider, collect_garbage)
    report = await crash_everywhere(scenario(start, *actors, stays_mirrored=False))
    assert report.points >= 2 * 4
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_deleting_both_sides_at_once() -> None:
    start = await at_rest()
    actors = (
        deleting(mapi.Machine, NAME),
        deleting(capi.Machine, NAME),
        cluster_api_core,
        provider,
    )
    report = await crash_everywhere(scenario(start, *actors, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_deleting_a_machine_whose_infrastructure_machine_never_came() -> None:
    start = await at_rest()
    api = world(infra_machine=None, machine_api=mapi_of(start))
    actors = (deleting(capi.Machine, NAME), cluster_api_core, provider)
    report = await crash_everywhere(scenario(api, *actors, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END} & set(report.end)


async def test_deleting_a_machine_whose_mirror_is_gone_leaks_no_finalizer() -> None:
    gone = changed(CAPI_MACHINE, metadata__deletionTimestamp=GONE["deletionTimestamp"])
    report = await crash_everywhere(scenario(world(cluster_api=gone), cluster_api_core, provider, stays_mirrored=False))
    assert not {CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_deleting_a_mirror_whose_machine_is_gone() -> None:
    start = mapi_of(await at_rest())
    assert start is not None
    going = changed(start, metadata__deletionTimestamp=GONE["deletionTimestamp"])
    report = await crash_everywhere(
        scenario(world(cluster_api=None, infra_machine=None, machine_api=going), stays_mirrored=False)
    )
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_releasing_a_mirror_when_its_machine_set_goes() -> None:
    start = await at_rest()
    actors = (deleting(mapi.MachineSet, MAPI_SET["metadata"]["name"]), collect_garbage)
    report = await crash_everywhere(scenario(start, *actors, stays_mirrored=False))
    assert MAPI_AT_END not in report.end
    assert CAPI_AT_END in report.end
    assert INFRA_AT_END in report.end


async def test_a_successor_with_caches_from_before_the_crash_makes_nothing_twice() -> None:
    def make() -> Scenario:
        api = world(cluster_api=BARE_CAPI, infra_machine=BARE_INFRA)
        successor = LaggingReader(api)
        successor.freeze(mapi.Machine, capi.Machine, capo.OpenStackMachine)
        readers = iter([MemoryReader(api), successor])
        return Scenario(api, settle, leaked=leaked, reader=lambda _: next(readers))

    report = await crash_everywhere(make)
    assert report.points == 2 * 4
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"
