"""Another release of Windlass converts the same provider specs differently: no mirror is recreated for that alone.

50 machines in 5 sets were mirrored by the earlier release. The present one starts, or the earlier one is put back.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.core import Event
from windlass.api.meta import KubernetesObject
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIRRORED_SPEC_ANNOTATION, Namespaces
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.crd_rules import machine_api as machine_api_rules
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.platforms import OPENSTACK, Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from .process import to_rest
from .trees import CLUSTER, INFRA_CLUSTER, INFRASTRUCTURE, NOW, OURS, PROVIDER_SPEC, THEIRS, Tree, synchronized, typed

SETS = [f"set-{number}" for number in range(5)]
MACHINES = [f"{name}-{number}" for name in SETS for number in range(10)]
LABEL = "machine.openshift.io/cluster-api-machineset"
KINDS: tuple[type[Any], ...] = (
    mapi.Machine,
    mapi.MachineSet,
    capi.Machine,
    capi.MachineSet,
    OPENSTACK.infra_machine,
    OPENSTACK.infra_template,
)
AUTHORITIES = pytest.mark.parametrize("authority", [MACHINE_API, CLUSTER_API])


def earlier_part(machine: mapi.Machine, value: Any, infrastructure: Any, cluster: Any) -> InfraMachinePart:
    """What an earlier conversion made of the same provider spec: another flavor, and a key."""
    part = OPENSTACK.infra_machine_part(machine, value, infrastructure, cluster)
    return replace(part, spec=replace(part.spec, flavor=f"earlier-{part.spec.flavor}", ssh_key_name="earlier"))


PRESENT = replace(OPENSTACK, conversion=7)
EARLIER = replace(OPENSTACK, conversion=6, infra_machine_part=earlier_part)
FIRST = replace(EARLIER, conversion=1)


def machine_set(name: str, authority: str) -> Tree:
    template = {
        "metadata": {"labels": {LABEL: name}},
        "spec": {"authoritativeAPI": authority, "providerSpec": {"value": PROVIDER_SPEC}},
    }
    return {
        "metadata": {"name": name, "namespace": OURS, "uid": f"{name}-uid", "generation": 4},
        "spec": {
            "authoritativeAPI": authority,
            "replicas": 10,
            "selector": {"matchLabels": {LABEL: name}},
            "template": template,
        },
        "status": {"authoritativeAPI": authority, "replicas": 10},
    }


def machine(name: str, authority: str) -> Tree:
    owner = name.rpartition("-")[0]
    of_set = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": owner, "uid": f"{owner}-uid"}
    return {
        "metadata": {
            "name": name,
            "namespace": OURS,
            "uid": f"{name}-uid",
            "generation": 4,
            "labels": {LABEL: owner},
            "ownerReferences": [{**of_set, "controller": True}],
        },
        "spec": {
            "authoritativeAPI": authority,
            "providerID": f"openstack:///{name}",
            "providerSpec": {"value": PROVIDER_SPEC},
        },
        "status": {"authoritativeAPI": authority, "phase": "Running"},
    }


class Fleet:
    """An API server with sets and machines, and the releases of Windlass that work there one after the other."""

    def __init__(self, authority: str, *, sets: list[str], machines: list[str]) -> None:
        self.sets, self.machines = sets, machines
        self.api = MemoryApi(
            machine_api_rules(mapi.Machine),
            machine_api_rules(mapi.MachineSet),
            *KINDS[2:],
            capi.Cluster,
            OPENSTACK.infra_cluster,
            config.Infrastructure,
            Event,
            clock=lambda: NOW,
        )
        self.api.load(
            typed(capi.Cluster, CLUSTER),
            typed(OPENSTACK.infra_cluster, INFRA_CLUSTER),
            typed(config.Infrastructure, INFRASTRUCTURE),
            *(typed(mapi.MachineSet, machine_set(name, authority)) for name in sets),
            *(typed(mapi.Machine, machine(name, authority)) for name in machines),
        )

    async def run(self, platform: Platform) -> None:
        """One release of Windlass takes all to rest, twice: what it made first may be what its next look is about."""
        for _ in range(2):
            for build, names in ((machine_set_controller, self.sets), (machine_controller, self.machines)):
                for name in names:
                    reader = MemoryReader(self.api)
                    controller: Any = build(reader, platform=platform, namespaces=Namespaces(OURS, THEIRS))
                    rest = await to_rest(controller, name, api=self.api, reader=reader)
                    assert not rest.failed, rest

    def uids(self) -> dict[str, str]:
        return {
            f"{kind.RESOURCE.kind}.{kind.RESOURCE.group} {found.name}": found.metadata.uid
            for kind in KINDS
            for found in self.api.listing(kind)
        }

    def specs(self) -> dict[str, Tree]:
        kinds = (OPENSTACK.infra_machine, OPENSTACK.infra_template)
        return {found.name: found.tree()["spec"] for kind in kinds for found in self.api.listing(kind)}

    def trees(self, kind: type[KubernetesObject]) -> dict[str, Tree]:
        return {found.name: found.tree() for found in self.api.listing(kind)}

    def flavors(self) -> set[str]:
        """Those of all infra machines, and of the templates that the sets refer to."""
        templates = self.trees(OPENSTACK.infra_template)
        sets = self.trees(capi.MachineSet).values()
        used = [templates[one["spec"]["template"]["spec"]["infrastructureRef"]["name"]] for one in sets]
        machines = self.trees(OPENSTACK.infra_machine).values()
        return {one["spec"]["flavor"] for one in machines} | {one["spec"]["template"]["spec"]["flavor"] for one in used}

    def deleted(self, since: int) -> list[str]:
        return [str(change.tree["metadata"]["name"]) for change in self.api.changes_since(since) if gone(change)]

    def all_synchronized(self) -> bool:
        both = (*self.trees(mapi.Machine).values(), *self.trees(mapi.MachineSet).values())
        return all(synchronized(tree).get("status") == "True" for tree in both)

    async def edit(self, change: Callable[[Tree], Tree]) -> None:
        """Users merge what `change` gives for a spec into the specs of all machines and sets."""
        for kind, names in ((mapi.Machine, self.machines), (mapi.MachineSet, self.sets)):
            for name in names:
                spec = self.trees(kind)[name]["spec"]
                body = {"spec": change(spec)}
                await self.api.patch(kind, name, body, type=PatchType.MERGE, namespace=OURS)

    async def forget(self, *, items: str) -> None:
        """Records lose the items that begin so, as releases wrote them that did not know of these."""
        for kind in (OPENSTACK.infra_machine, OPENSTACK.infra_template):
            for found in self.api.listing(kind):
                record = found.metadata.annotations.get(MIRRORED_SPEC_ANNOTATION)
                if record is None:
                    continue
                left = ",".join(item for item in record.split(",") if not item.startswith(items)) or None
                body = {"metadata": {"annotations": {MIRRORED_SPEC_ANNOTATION: left}}}
                await self.api.patch(kind, found.name, body, type=PatchType.MERGE, namespace=THEIRS)


def gone(change: Any) -> bool:
    return bool(change.tree["metadata"].get("deletionTimestamp"))


def resized(spec: Tree) -> Tree:
    """The change of a spec that asks for another flavor."""
    value = {"providerSpec": {"value": {"flavor": "m1.huge"}}}
    return {"template": {"spec": value}} if "template" in spec else value


async def mirrored(authority: str = MACHINE_API, *, by: Platform = EARLIER, all_of_them: bool = False) -> Fleet:
    """A fleet that a release has mirrored."""
    fleet = Fleet(authority, sets=SETS if all_of_them else SETS[:1], machines=MACHINES[: 50 if all_of_them else 2])
    await fleet.run(by)
    assert fleet.flavors() == {"earlier-m1.large"}
    return fleet


@AUTHORITIES
@pytest.mark.parametrize("by", [EARLIER, FIRST], ids=["with a version", "without one"])
async def test_an_upgrade_deletes_and_recreates_nothing_of_50_machines_and_5_sets(authority: str, by: Platform) -> None:
    fleet = await mirrored(authority, by=by, all_of_them=True)
    if by is FIRST:
        await fleet.forget(items="@")
    before, specs, since = fleet.uids(), fleet.specs(), fleet.api.version
    assert len(before) == 50 * 3 + 5 * 3

    await fleet.run(PRESENT)

    assert fleet.deleted(since) == []
    assert fleet.uids() == before
    assert fleet.specs() == specs
    assert authority == CLUSTER_API or fleet.all_synchronized()


async def test_this_release_leaves_what_releases_before_records_of_versions_have_mirrored() -> None:
    """Its conversion to OpenStackMachines is another: they made no server as the Machine API makes it."""
    fleet = await mirrored(by=FIRST)
    await fleet.forget(items="@")
    before, specs = fleet.uids(), fleet.specs()
    await fleet.run(OPENSTACK)
    assert (fleet.uids(), fleet.specs()) == (before, specs)


async def test_after_an_upgrade_nothing_is_written_at_rest() -> None:
    fleet = await mirrored()
    await fleet.run(PRESENT)
    since = fleet.api.version
    await fleet.run(PRESENT)
    assert [change.tree["metadata"]["name"] for change in fleet.api.changes_since(since)] == []


@pytest.mark.parametrize("by", [EARLIER, FIRST], ids=["with a version", "without one"])
async def test_a_provider_spec_that_changes_after_the_upgrade_is_converted_by_the_present_release(by: Platform) -> None:
    fleet = await mirrored(by=by)
    if by is FIRST:
        await fleet.forget(items="@")
    await fleet.run(PRESENT)

    await fleet.edit(resized)
    await fleet.run(PRESENT)
    assert fleet.flavors() == {"m1.huge"}
    assert fleet.all_synchronized()


async def test_a_change_of_anything_else_after_the_upgrade_leaves_the_spec_as_it_is() -> None:
    fleet = await mirrored(by=FIRST)
    await fleet.forget(items="@")
    await fleet.run(PRESENT)
    before, specs = fleet.uids(), fleet.specs()
    await fleet.edit(lambda spec: {"replicas": 11} if "replicas" in spec else {"metadata": {"labels": {"a": "b"}}})
    await fleet.run(PRESENT)
    assert (fleet.uids(), fleet.specs()) == (before, specs)
    assert fleet.all_synchronized()


async def test_an_edit_while_no_release_ran_is_not_taken_for_what_an_early_release_had_mirrored() -> None:
    fleet = await mirrored(by=FIRST)
    await fleet.forget(items="@")

    await fleet.edit(resized)
    await fleet.run(PRESENT)
    assert fleet.flavors() == {"m1.huge"}


async def test_before_authority_moves_to_cluster_api_the_mirror_is_converted_by_the_present_release() -> None:
    """Cluster API makes new machines from the template, and the Machine API gets the spec of its mirror from both."""
    fleet = await mirrored()
    await fleet.run(PRESENT)
    assert fleet.flavors() == {"earlier-m1.large"}
    await fleet.edit(lambda _: {"authoritativeAPI": CLUSTER_API})
    await fleet.run(PRESENT)
    assert fleet.flavors() == {"m1.large"}


@pytest.mark.parametrize("back", [EARLIER, FIRST], ids=["with a version", "without one"])
async def test_a_rollback_finds_the_records_of_the_release_that_is_put_back(back: Platform) -> None:
    fleet = await mirrored(by=back)
    if back is FIRST:
        await fleet.forget(items="@")
    for name in fleet.machines:  # its provider changes what it was given
        body = {"spec": {"flavor": "of-the-provider"}}
        await fleet.api.patch(OPENSTACK.infra_machine, name, body, type=PatchType.MERGE, namespace=THEIRS)
    before, specs = fleet.uids(), fleet.specs()
    await fleet.run(PRESENT)
    await fleet.run(back)
    assert (fleet.uids(), fleet.specs()) == (before, specs)
    await fleet.run(PRESENT)
    assert (fleet.uids(), fleet.specs()) == (before, specs)


async def test_a_rollback_leaves_what_the_later_release_has_mirrored() -> None:
    fleet = Fleet(MACHINE_API, sets=SETS[:1], machines=MACHINES[:2])
    await fleet.run(PRESENT)
    before, specs = fleet.uids(), fleet.specs()
    await fleet.run(EARLIER)
    assert (fleet.uids(), fleet.specs()) == (before, specs)
