"""Releases Machines and MachineSets before Machine sync is uninstalled: what is removed, and what stays paused.

While Machine sync runs, its finalizer is on Machines and MachineSets of both APIs, and on infra machines. Once it is
uninstalled, no program removes the finalizer, and none of these objects could ever be deleted. Its annotations become
wrong, and admission policies rely on them. So both are removed in one write: the policies that protect the annotations
accept no other.

A mirror that is being deleted, for example with its namespace, is paused, so the controllers of its API never remove
their finalizers from it. They are removed too, and what it owns is orphaned, because the instance stays.

This module decides on the writes. It reads metadata only, so that objects that cannot be decoded are released too.

    one = group(MACHINES, machine_api, cluster_api, infra)[0]        # a Mirrored: Holder values that belong together
    plan(one.holders)                                                # a Plan, with a write for each that is held
    stays(one.holders)                                               # what stays paused, why, and what to do about it

Pure: nothing here reads a cluster.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.plan import Action, Delete, Merge, Plan, Target
from windlass.kube.object import Object
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    BOOKKEEPING,
    CLUSTER_API,
    INFRA_FINALIZER_SUFFIX,
    MACHINE_API,
    MACHINE_API_FINALIZER,
    MACHINE_SET_LABEL,
    MIGRATING,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.mirroring.collector import FOREGROUND, ORPHAN
from windlass.machine_sync.platforms import PLATFORMS

CLUSTER_API_GROUP = capi.Machine.RESOURCE.group


class Family(Struct, frozen=True):
    """A kind that is mirrored: its type in each API, and the kind that those of Cluster API refer to on each
    platform."""

    name: str
    machine_api: type[KubernetesObject]
    cluster_api: type[KubernetesObject]
    infra: tuple[type[KubernetesObject], ...]


MACHINES: Final = Family(
    "Machine", mapi.Machine, capi.Machine, tuple(platform.infra_machine for platform in PLATFORMS.values())
)
MACHINE_SETS: Final = Family(
    "MachineSet", mapi.MachineSet, capi.MachineSet, tuple(platform.infra_template for platform in PLATFORMS.values())
)
FAMILIES: Final = (MACHINES, MACHINE_SETS)

_IN_THE_MACHINE_API: Final = tuple(family.machine_api for family in FAMILIES)
_IN_CLUSTER_API: Final = tuple(family.cluster_api for family in FAMILIES)
_OF_SETS: Final = (MACHINE_SETS.machine_api, MACHINE_SETS.cluster_api, *MACHINE_SETS.infra)

_PAUSE: Final = "kubectl annotate KIND NAME -n NAMESPACE cluster.x-k8s.io/paused"
_SWITCH: Final = (
    "set spec.authoritativeAPI to MachineAPI, then status.authoritativeAPI to Migrating and, in a second step, to "
    "MachineAPI (kubectl patch --subresource=status --type=merge)"
)

KEEP_COPY_PAUSED = (
    "right while the Machine API owns the instance: taking the annotation off would make two controllers run it. "
    "Without synchronization the copy grows stale; to remove it, delete it with --cascade=orphan, or the provider may "
    "delete the instance with what it owns, and take its remaining finalizers off by hand"
)
KEEP_SET_PAUSED = (
    "right while the Machine API is the authority of the MachineSet: taking the annotation off would make two "
    "controllers scale it. Without synchronization the copy grows stale; to remove it, delete it with "
    "--cascade=orphan, or its Machines go too, and take its remaining finalizers off by hand"
)
UNPAUSE = f"neither Cluster API nor the Machine API acts on it now. To let Cluster API continue: {_PAUSE}-"
COPY_OF_CLUSTER_API = (
    "right while Cluster API owns the instance, but without synchronization the copy grows stale. To give a machine "
    f"back to the Machine API: pause its Cluster API Machine and infrastructure machine ({_PAUSE}=), {_SWITCH}"
)
SET_COPY_OF_CLUSTER_API = (
    "right while Cluster API is the authority of the MachineSet: scaling the copy has no effect. To give a "
    f"MachineSet back to the Machine API: make spec.replicas what it is in Cluster API, pause the MachineSet there "
    f"({_PAUSE}=), {_SWITCH}"
)
HALFWAY = (
    "the migration of authority stopped halfway and neither side acts on it. Run Machine sync until it is complete "
    "before you uninstall, or set status.authoritativeAPI to the side that shall act (kubectl patch "
    "--subresource=status --type=merge)"
)


class Holder(Struct, frozen=True):
    """An object that may have our finalizer or annotations.

    `authority` is status.authoritativeAPI of an object of the Machine API. `infra` is what an object of Cluster API
    says is its infra machine or template: kind and name, empty for all others.
    """

    kind: type[KubernetesObject]
    meta: ObjectMeta
    authority: str = ""
    infra: tuple[str, str] = ("", "")

    @property
    def ours(self) -> tuple[str, ...]:
        """Our finalizer and annotations on it."""
        finalizers = (SYNC_FINALIZER,) if SYNC_FINALIZER in self.meta.finalizers else ()
        return (*finalizers, *(key for key in BOOKKEEPING if key in self.meta.annotations))

    @property
    def held(self) -> bool:
        return bool(self.ours)

    @property
    def paused(self) -> bool:
        """The controllers of its own API are paused for it."""
        if self.kind in _IN_THE_MACHINE_API:
            return self.authority in (CLUSTER_API, MIGRATING)
        return PAUSED_ANNOTATION in self.meta.annotations

    @property
    def target(self) -> Target:
        meta = self.meta
        return Target(self.kind, meta.name, meta.namespace or None, meta.uid, meta.resource_version)

    def __str__(self) -> str:
        resource = self.kind.RESOURCE
        return f"{resource.kind.lower()}.{resource.group}/{self.meta.name}"


class Mirrored(Struct, frozen=True):
    """All objects of a Machine or MachineSet (`kind`): those of both APIs, and its infrastructure."""

    kind: str
    name: str
    holders: tuple[Holder, ...]

    @property
    def held(self) -> bool:
        return any(found.held for found in self.holders)

    @property
    def halfway(self) -> bool:
        """Authority is moving: status.authoritativeAPI is Migrating."""
        return any(found.authority == MIGRATING for found in self.holders)

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


class Stay(Struct, frozen=True):
    """An object that stays paused: `why`, and the `advice`, which is the same text for all that share it."""

    holder: Holder
    why: str
    advice: str


def holder(found: Object[Any]) -> Holder:
    """The needed metadata of an object as the API server sent it, even if its content is malformed."""
    if found.kind in _IN_THE_MACHINE_API:
        return Holder(found.kind, found.metadata, authority=_text(found.tree(), "status", "authoritativeAPI"))
    if found.kind in _IN_CLUSTER_API:
        of_set = ("template", "spec") if found.kind is MACHINE_SETS.cluster_api else ()
        tree, reference = found.tree(), ("spec", *of_set, "infrastructureRef")
        return Holder(
            found.kind, found.metadata, infra=(_text(tree, *reference, "kind"), _text(tree, *reference, "name"))
        )
    return Holder(found.kind, found.metadata)


def group(
    family: Family, machine_api: Iterable[Holder], cluster_api: Iterable[Holder], infra: Iterable[Holder]
) -> list[Mirrored]:
    """The objects of a family, grouped by the Machine or MachineSet that they belong to.

    An infra machine belongs to the Machine that refers to it, else to the Machine that owns it (the reference may have
    changed, the Machine may be gone), else to the machine of its own name. A template belongs to the MachineSets that
    refer to it and to the one that it was created for, if any.
    """
    members: dict[str, list[Holder]] = defaultdict(list)
    referrers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for found in [*machine_api, *cluster_api]:
        members[found.meta.name].append(found)
        if found.infra[1]:
            referrers[found.infra].append(found.meta.name)
    for found in infra:
        referring = referrers.get((found.kind.RESOURCE.kind, found.meta.name), [])
        for name in _belongs_to(family, found.meta, referring):
            members[name].append(found)
    return [Mirrored(family.name, name, tuple(members[name])) for name in sorted(members)]


def plan(holders: Iterable[Holder], *, orphaned: Collection[str] = ()) -> Plan:
    """Remove what is ours, infrastructure first, so that the Machine API object, which users look at, comes last.

    `orphaned`: uids of those whose deletion has orphaned what they own; the collector leaves no trace of that.
    """
    holders = list(holders)
    held = [found for found in reversed(reading_order(holders)) if found.held]
    return Plan(
        tuple(
            action
            for found in held
            for action in _let_go(found, ends=ends(found, holders), orphaned=found.meta.uid in orphaned)
        )
    )


def ends(found: Holder, holders: Iterable[Holder]) -> bool:
    """It is a mirror that is being deleted: with its own finalizers removed it is gone, and its authority stays."""
    if found.meta.deletion_timestamp is None or not found.paused:
        return False
    if found.kind in _IN_THE_MACHINE_API:
        return found.authority == CLUSTER_API
    theirs = [one for one in holders if one.kind in _IN_THE_MACHINE_API]
    if theirs:
        return all(one.authority in ("", MACHINE_API) and one.meta.deletion_timestamp is None for one in theirs)
    return any(AUTHORITY_ANNOTATION in one.meta.annotations for one in holders)


def reading_order(holders: Iterable[Holder]) -> list[Holder]:
    """The objects in the order of output: the Machine API, Cluster API, infrastructure."""
    return sorted(holders, key=lambda found: (found.kind not in _IN_THE_MACHINE_API, found.kind not in _IN_CLUSTER_API))


def stays(holders: Iterable[Holder]) -> list[Stay]:
    """The objects that stay paused once Machine sync no longer runs."""
    holders = list(holders)
    # While status names no authority, the Machine API's controllers act.
    authority = next((found.authority or MACHINE_API for found in holders if found.kind in _IN_THE_MACHINE_API), "")
    return [_stay(found, authority) for found in holders if found.paused and not ends(found, holders)]


def _let_go(found: Holder, *, ends: bool, orphaned: bool) -> list[Action]:
    meta = found.meta
    before = meta.finalizers
    after = [finalizer for finalizer in before if finalizer != SYNC_FINALIZER]
    orphan: list[Action] = []
    if ends:
        after = [finalizer for finalizer in after if not _of_its_api(finalizer)]
        if found.kind not in _IN_THE_MACHINE_API and not orphaned and ORPHAN not in before:
            orphan = [Delete(target=found.target, propagation="Orphan", why="the instance stays, and so what it owns")]
            before, after = [*before, ORPHAN], [*after, ORPHAN]
    annotations = {key: value for key, value in meta.annotations.items() if key not in BOOKKEEPING}
    merge = Merge(
        target=found.target,
        observed={"metadata": {"finalizers": before, "annotations": meta.annotations}},
        desired={"metadata": {"finalizers": after, "annotations": annotations}},
        why="Machine sync releases it",
    )
    return [*orphan, merge]


def _of_its_api(finalizer: str) -> bool:
    """A finalizer of the controllers that are paused, or of the collector, which deletes what the object owns."""
    domain = finalizer.partition("/")[0]
    return finalizer in (MACHINE_API_FINALIZER, FOREGROUND) or f".{domain}".endswith(INFRA_FINALIZER_SUFFIX)


def _stay(found: Holder, authority: str) -> Stay:
    of_set = found.kind in _OF_SETS
    if found.kind in _IN_THE_MACHINE_API:
        why = f"status.authoritativeAPI is {found.authority}"
        copy = SET_COPY_OF_CLUSTER_API if of_set else COPY_OF_CLUSTER_API
        return Stay(found, why, HALFWAY if found.authority == MIGRATING else copy)
    why = f"annotation {PAUSED_ANNOTATION}"
    if authority == MIGRATING:
        return Stay(found, why, HALFWAY)
    keep = KEEP_SET_PAUSED if of_set else KEEP_COPY_PAUSED
    return Stay(found, why, keep if authority == MACHINE_API else UNPAUSE)


def _belongs_to(family: Family, infra: ObjectMeta, referring: Sequence[str]) -> Iterable[str]:
    if family is MACHINE_SETS:
        made_for = infra.labels.get(MACHINE_SET_LABEL)
        return sorted({*referring, *([made_for] if made_for else [])})
    return referring[-1:] or [_owner(infra) or infra.name]


def _owner(meta: ObjectMeta) -> str:
    """The Cluster API Machine that owns it, or ""."""
    for owner in meta.owner_references:
        if owner.kind == "Machine" and owner.api_version.partition("/")[0] == CLUSTER_API_GROUP:
            return owner.name
    return ""


def _text(tree: Mapping[str, Any], *path: str) -> str:
    value: Any = tree
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
