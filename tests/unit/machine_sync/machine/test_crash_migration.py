"""A crash between any two writes is harmless while authority moves, or goes back."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader
from windlass.testing.crash import Actor, crash_everywhere

from ..scenarios import at_once, deleting, once, patching
from .actors import cluster_api_core, is_paused, machine_api_controllers, provider
from .aws_cases import on_aws
from .cases import AUTHORITY, CAPI_MACHINE, INFRA, MAPI_MACHINE, PAUSED, Tree, changed
from .migration_cases import OTHER
from .scenarios import CAPI_AT_END, MAPI_AT_END, scenario
from .world import NAME, THEIRS, mapi_of, reconciled, synchronized, world

ALL = (machine_api_controllers, cluster_api_core, provider, collect_garbage)


async def start(platform: str, authority: str) -> MemoryApi:
    """A machine of that authority, in sync, its actors at rest."""
    if platform == "AWS":
        machine = on_aws()["machine_api"]
        asked = changed(machine, spec__authoritativeAPI=authority, status__authoritativeAPI=authority)
        api = world(**{**on_aws(), "machine_api": asked})
    elif authority == "MachineAPI":
        api = world(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None)
    else:
        api = world(cluster_api=CAPI_MACHINE, infra_machine=INFRA)
    before = -1
    while api.version != before:
        before = api.version
        await reconciled(api, MemoryReader(api))
        for actor in ALL:
            await actor(api)
    return api


def asking(authority: str, *, when: Callable[[MemoryApi], bool] = at_once) -> Actor:
    """A user who asks for it once, as soon as `when` holds."""
    return patching(mapi.Machine, NAME, {"spec": {"authoritativeAPI": authority}}, when=when)


def status(api: MemoryApi) -> Tree:
    found: Tree = (mapi_of(api) or {}).get("status") or {}
    return found


def migrating(api: MemoryApi) -> bool:
    return status(api).get("authoritativeAPI") == "Migrating"


def machine_api_paused(api: MemoryApi) -> bool:
    return migrating(api) and any(c["type"] == "Paused" and c["status"] == "True" for c in status(api)["conditions"])


def cluster_api_paused(api: MemoryApi) -> bool:
    found = api.peek(capi.Machine, NAME, namespace=THEIRS)
    return migrating(api) and found is not None and is_paused(found)


def arrived_at(authority: str) -> Callable[[MemoryApi], bool]:
    def holds(api: MemoryApi) -> bool:
        return status(api).get("authoritativeAPI") == authority and synchronized(mapi_of(api))["status"] == "True"

    return holds


BOTH_WAYS = pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI"], ids=["to-cluster-api", "to-machine-api"])
BOTH_PLATFORMS = pytest.mark.parametrize("platform", ["OpenStack", "AWS"])


def expect(end: Mapping[str, Any], authority: str) -> None:
    found = end[MAPI_AT_END]["status"]
    assert (found["authoritativeAPI"], synchronized(end[MAPI_AT_END])["status"]) == (authority, "True")
    marks = {PAUSED, AUTHORITY} & end[CAPI_AT_END]["metadata"].get("annotations", {}).keys()
    assert marks == ({PAUSED, AUTHORITY} if authority == "MachineAPI" else set())


@BOTH_PLATFORMS
@BOTH_WAYS
async def test_authority_moves(platform: str, authority: str) -> None:
    report = await crash_everywhere(scenario(await start(platform, authority), asking(OTHER[authority]), *ALL))
    assert report.points >= 2 * 5
    expect(report.end, OTHER[authority])


@BOTH_PLATFORMS
@BOTH_WAYS
async def test_there_and_back(platform: str, authority: str) -> None:
    def arrived(api: MemoryApi) -> bool:
        return (
            status(api).get("authoritativeAPI") == OTHER[authority] and synchronized(mapi_of(api))["status"] == "True"
        )

    there, back = asking(OTHER[authority]), asking(authority, when=arrived)
    report = await crash_everywhere(scenario(await start(platform, authority), there, back, *ALL))
    expect(report.end, authority)


@BOTH_PLATFORMS
@BOTH_WAYS
@pytest.mark.parametrize("when", [migrating, machine_api_paused, cluster_api_paused])
async def test_the_wish_goes_back_on_the_way(platform: str, authority: str, when: Callable[[MemoryApi], bool]) -> None:
    there, back = asking(OTHER[authority]), asking(authority, when=when)
    report = await crash_everywhere(scenario(await start(platform, authority), there, *ALL, back))
    expect(report.end, authority)


@BOTH_WAYS
async def test_the_source_changes_on_the_way(authority: str) -> None:
    kind = mapi.Machine if authority == "MachineAPI" else capi.Machine
    change = patching(kind, NAME, {"spec": {"providerID": "openstack:///2"}}, when=migrating)
    begin = await start("OpenStack", authority)
    report = await crash_everywhere(scenario(begin, asking(OTHER[authority]), change, *ALL))
    expect(report.end, OTHER[authority])
    assert report.end[MAPI_AT_END]["spec"]["providerID"] == "openstack:///2"
    assert report.end[CAPI_AT_END]["spec"]["providerID"] == "openstack:///2"


@BOTH_WAYS
@pytest.mark.parametrize("side", [mapi.Machine, capi.Machine])
async def test_it_is_deleted_on_the_way(authority: str, side: type) -> None:
    begin = await start("OpenStack", authority)
    delete = deleting(side, NAME, when=migrating)
    report = await crash_everywhere(scenario(begin, asking(OTHER[authority]), delete, *ALL, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END} & set(report.end)
    assert not [name for name in report.end if name.startswith("OpenStackMachine.")]


@BOTH_WAYS
async def test_its_cluster_api_machine_is_taken_away_by_force_on_the_way(authority: str) -> None:
    """Whoever has authority makes another one, and the move goes on from there."""

    async def take_away(api: MemoryApi) -> None:
        nothing: Tree = {"metadata": {"finalizers": None}}
        await api.patch(capi.Machine, NAME, nothing, type=PatchType.MERGE, namespace=THEIRS)
        await api.delete(capi.Machine, NAME, namespace=THEIRS)

    begin = await start("OpenStack", authority)
    actors = (once(take_away, when=migrating), machine_api_controllers, cluster_api_core, provider)
    report = await crash_everywhere(scenario(begin, asking(OTHER[authority]), *actors))
    expect(report.end, OTHER[authority])


async def test_a_label_that_is_dropped_after_two_moves_is_dropped_everywhere() -> None:
    labelled = changed(MAPI_MACHINE, metadata__labels={"a": "1", "b": "2"})
    api = world(machine_api=labelled, cluster_api=None, infra_machine=None)
    drop = patching(capi.Machine, NAME, {"metadata": {"labels": {"a": None}}}, when=arrived_at("ClusterAPI"))
    report = await crash_everywhere(scenario(api, asking("ClusterAPI"), drop, *ALL))
    labels = report.end[MAPI_AT_END]["metadata"]["labels"]
    assert ("a" in labels, labels["b"]) == (False, "2")
