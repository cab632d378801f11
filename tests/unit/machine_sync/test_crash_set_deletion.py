"""Deleting a MachineSet and its machines with each propagation: both controllers, all actors, a crash at every write.

Between any two rounds of ours everybody else acts, the garbage collector among them.
"""

from collections.abc import Callable
from typing import Any

import pytest

from windlass.api import capi, capo, config, mapi
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader
from windlass.testing.crash import Actor, Scenario, crash_everywhere

from .machine import actors, world
from .machine.cases import MAPI_MACHINE
from .machine_set import world as sets
from .machine_set.cases import MAPI_SET
from .process import to_rest
from .scenarios import copied, home, once
from .trees import (
    CLUSTER,
    INFRA_CLUSTER,
    INFRASTRUCTURE,
    NOW,
    THEIRS,
    Tree,
    changed,
    holds_for_nobody,
    leaked,
    synchronized,
    typed,
)

SET = "ms"
ALL = (
    collect_garbage,
    actors.machine_api_controllers,
    actors.cluster_api_core,
    actors.provider,
    sets.machine_api_core,
    sets.cluster_api_core,
)


def empty() -> MemoryApi:
    api = world.empty()
    api.install(OPENSTACK.infra_template)
    return api


async def settle(api: Api, reader: MemoryReader) -> None:
    """One round about the set, and one about each machine."""
    machine_set = machine_set_controller(reader, platform=OPENSTACK, namespaces=sets.NAMESPACES)
    machine = machine_controller(reader, platform=OPENSTACK, namespaces=sets.NAMESPACES)
    kinds: tuple[Any, ...] = (mapi.Machine, capi.Machine)
    await to_rest(machine_set, SET, api=api, reader=reader, now=NOW, max_rounds=1)
    for name in sorted({found.name for kind in kinds for found in reader.listing(kind)}):
        await to_rest(machine, name, api=api, reader=reader, now=NOW, max_rounds=1)


def machine(name: str, authority: str) -> Tree:
    return changed(
        MAPI_MACHINE,
        metadata__name=name,
        metadata__uid=f"uid-of-{name}",
        spec__authoritativeAPI=authority,
        status__authoritativeAPI=authority,
    )


async def mirrored(*machines: Tree, authority: str = "MachineAPI") -> MemoryApi:
    """A set with these machines, everything in sync and nobody with anything left to do."""
    api = empty()
    machine_set = changed(
        MAPI_SET,
        metadata__uid="mapi-ms-uid",
        spec__authoritativeAPI=authority,
        status__authoritativeAPI=authority,
    )
    trees: list[tuple[Any, Tree]] = [
        (mapi.MachineSet, machine_set),
        *((mapi.Machine, tree) for tree in machines),
        (OPENSTACK.infra_cluster, INFRA_CLUSTER),
        (capi.Cluster, CLUSTER),
        (config.Infrastructure, INFRASTRUCTURE),
    ]
    api.load(*(typed(kind, tree) for kind, tree in trees))
    reader = MemoryReader(api)
    before = -1
    while before != api.version:
        before = api.version
        await settle(api, reader)
        for act in ALL:
            await act(api)
    kinds: tuple[Any, ...] = (mapi.Machine, mapi.MachineSet)
    for found in (found for kind in kinds for found in api.listing(kind)):
        assert synchronized(found.tree())["status"] == "True", found
    return api


def deleting(kind: Any, name: str, propagation: str) -> Actor:
    return once(lambda api: api.delete(kind, name, namespace=home(kind), propagation=propagation))


def scenario(start: MemoryApi, *actors: Actor, held: Callable[[Tree], str] = leaked) -> Callable[[], Scenario]:
    return lambda: Scenario(copied(start, into=empty()), settle, (*actors, *ALL), leaked=held)


def there(end: Any, kind: Any, name: str) -> Tree | None:
    found: Tree | None = end.get(f"{kind.RESOURCE.kind}.{kind.RESOURCE.api_version} {home(kind)}/{name}")
    return found


def owners(tree: Tree | None) -> list[str]:
    assert tree is not None
    return [owner["kind"] for owner in tree["metadata"].get("ownerReferences", ())]


BOTH = (machine("ours", "MachineAPI"), machine("theirs", "ClusterAPI"))
NAMES = ("ours", "theirs")
"""The machines of a set, named for who is authoritative: the Machine API or Cluster API."""

EITHER_SIDE = pytest.mark.parametrize("deleted", [mapi.MachineSet, capi.MachineSet], ids=["the-set", "its-mirror"])
SETS = (mapi.MachineSet, capi.MachineSet)
EVERYTHING = (mapi.Machine, capi.Machine, capo.OpenStackMachine)


def assert_nothing_left(end: Any) -> None:
    assert [there(end, kind, SET) for kind in SETS] == [None, None]
    for kind in EVERYTHING:
        assert [there(end, kind, name) for name in NAMES] == [None, None]


class TestSetOfTheMachineApi:
    @EITHER_SIDE
    async def test_orphan_keeps_all_machines_on_both_sides(self, deleted: Any) -> None:
        start = await mirrored(*BOTH)
        end = (await crash_everywhere(scenario(start, deleting(deleted, SET, "Orphan")))).end
        assert [there(end, kind, SET) for kind in SETS] == [None, None]
        for name in NAMES:
            assert owners(there(end, mapi.Machine, name)) == []
            assert there(end, capo.OpenStackMachine, name) is not None
        assert owners(there(end, capi.Machine, "ours")) == ["Cluster"]
        assert owners(there(end, capi.Machine, "theirs")) == []

    @EITHER_SIDE
    @pytest.mark.parametrize("propagation", ["Background", "Foreground"])
    async def test_otherwise_all_machines_go_whichever_api_they_belong_to(self, deleted: Any, propagation: str) -> None:
        start = await mirrored(*BOTH)
        report = await crash_everywhere(scenario(start, deleting(deleted, SET, propagation), held=holds_for_nobody))
        assert_nothing_left(report.end)

    async def test_a_mirror_that_is_gone_by_force_is_made_again_with_all_its_machines(self) -> None:
        """Nobody orphaned anything: the collector deletes each mirror whose set is gone."""

        async def by_force(api: MemoryApi) -> None:
            await api.patch(
                capi.MachineSet, SET, {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=THEIRS
            )
            await api.delete(capi.MachineSet, SET, namespace=THEIRS)

        start = await mirrored(machine("ours", "MachineAPI"))
        end = (await crash_everywhere(scenario(start, once(by_force)))).end
        assert owners(there(end, capi.Machine, "ours")) == ["MachineSet"]
        mirror = there(end, mapi.Machine, "ours")
        assert synchronized(mirror)["status"] == "True"


class TestSetOfClusterApi:
    async def start(self) -> MemoryApi:
        return await mirrored(*BOTH, authority="ClusterAPI")

    @pytest.mark.parametrize("propagation", ["Background", "Foreground"])
    async def test_all_machines_go_whichever_api_they_belong_to(self, propagation: str) -> None:
        delete = deleting(capi.MachineSet, SET, propagation)
        report = await crash_everywhere(scenario(await self.start(), delete, held=holds_for_nobody))
        assert_nothing_left(report.end)

    @pytest.mark.parametrize("propagation", ["Background", "Foreground"])
    async def test_its_mirror_goes_alone_but_for_machines_of_the_machine_api(self, propagation: str) -> None:
        delete = deleting(mapi.MachineSet, SET, propagation)
        end = (await crash_everywhere(scenario(await self.start(), delete))).end
        assert [there(end, kind, "ours") for kind in EVERYTHING] == [None, None, None]
        assert there(end, mapi.MachineSet, SET) is None
        assert there(end, mapi.Machine, "theirs") is None
        assert owners(there(end, capi.Machine, "theirs")) == ["MachineSet"]
        assert there(end, capo.OpenStackMachine, "theirs") is not None

    async def test_orphan_keeps_all_machines_when_its_mirror_goes(self) -> None:
        delete = deleting(mapi.MachineSet, SET, "Orphan")
        end = (await crash_everywhere(scenario(await self.start(), delete))).end
        for name in NAMES:
            assert owners(there(end, mapi.Machine, name)) == []
            assert there(end, capi.Machine, name) is not None
