"""Let go of machines before Machine sync is uninstalled: which finalizers come off, and what stays paused afterwards.

While Machine sync runs it holds a finalizer on up to three objects per machine: the Machine API's Machine, Cluster
API's Machine and the infrastructure machine. Once it is gone nobody takes them off, and none of the three could ever
be deleted. This page decides what to write; only metadata is looked at, so that objects which nobody can decode are
released too.

    holders = group(machine_api, cluster_api, infra)["worker-0"]     # Holder values, by machine
    plan(holders)                                                    # a Plan of RemoveFinalizers
    stays(holders)                                                   # what stays paused, why, and what to do about it

Pure: nothing here reads a cluster.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.object import Object
from windlass.kube.plan import Plan, RemoveFinalizers, Target
from windlass.machine_sync.constants import PAUSED_ANNOTATION, SYNC_FINALIZER

CLUSTER_API_GROUP = capi.Machine.RESOURCE.group

KEEP_COPY_PAUSED = (
    "right while the Machine API owns the instance: taking the annotation off would make two controllers run it. "
    "Without synchronization the copy grows stale; to remove it, delete it and take its remaining finalizers off by "
    "hand"
)
UNPAUSE = (
    "nobody acts on it now, although the Machine API does not own the instance either. To let Cluster API go on: "
    "kubectl annotate KIND NAME -n NAMESPACE cluster.x-k8s.io/paused-"
)
COPY_OF_CLUSTER_API = (
    "right while Cluster API owns the instance, but without synchronization the copy grows stale. To give a machine "
    "back to the Machine API: pause its Cluster API Machine and infrastructure machine (kubectl annotate KIND NAME "
    "-n NAMESPACE cluster.x-k8s.io/paused=), set spec.authoritativeAPI to MachineAPI, then status.authoritativeAPI to "
    "Migrating and, in a second step, to MachineAPI (kubectl patch --subresource=status --type=merge)"
)
HALFWAY = (
    "the migration of authority stopped halfway and neither side acts on it. Run Machine sync until it is complete "
    "before you uninstall, or set status.authoritativeAPI to the side that shall own the instance (kubectl patch "
    "--subresource=status --type=merge)"
)


class Holder(Struct, frozen=True):
    """An object that may hold our finalizer. `authority` is status.authoritativeAPI of a Machine API Machine.

    `infra` is what a Cluster API Machine says is its infrastructure machine: kind and name, empty for all others.
    """

    kind: type[KubernetesObject]
    meta: ObjectMeta
    authority: str = ""
    infra: tuple[str, str] = ("", "")

    @property
    def held(self) -> bool:
        return SYNC_FINALIZER in self.meta.finalizers

    @property
    def paused(self) -> bool:
        """The controllers of its own side are told to leave it alone."""
        if self.kind is mapi.Machine:
            return self.authority in ("ClusterAPI", "Migrating")
        return PAUSED_ANNOTATION in self.meta.annotations

    @property
    def target(self) -> Target:
        meta = self.meta
        return Target(self.kind, meta.name, meta.namespace or None, meta.uid, meta.resource_version)

    def __str__(self) -> str:
        resource = self.kind.RESOURCE
        return f"{resource.kind.lower()}.{resource.group}/{self.meta.name}"


class Stay(Struct, frozen=True):
    """An object that stays paused: `why`, and the `advice`, which is the same text for all that share it."""

    holder: Holder
    why: str
    advice: str


def holder(found: Object[Any]) -> Holder:
    """What matters of an object as the API server sent it, however broken its content is."""
    tree = found.tree()
    match found.kind:
        case mapi.Machine:
            return Holder(found.kind, found.metadata, authority=_text(tree, "status", "authoritativeAPI"))
        case capi.Machine:
            reference = ("spec", "infrastructureRef")
            infra = (_text(tree, *reference, "kind"), _text(tree, *reference, "name"))
            return Holder(found.kind, found.metadata, infra=infra)
        case _:
            return Holder(found.kind, found.metadata)


def group(
    machine_api: Iterable[Holder], cluster_api: Iterable[Holder], infra: Iterable[Holder]
) -> dict[str, tuple[Holder, ...]]:
    """The objects of each machine, by its name.

    An infrastructure machine belongs to the Machine that refers to it, else to the Machine that owns it (the reference
    may have changed, the Machine may be gone), else to the machine of its own name.
    """
    machines: dict[str, list[Holder]] = {}
    referrer: dict[tuple[str, str], str] = {}
    for found in [*machine_api, *cluster_api]:
        machines.setdefault(found.meta.name, []).append(found)
        if found.infra[1]:
            referrer[found.infra] = found.meta.name
    for found in infra:
        name = referrer.get((found.kind.RESOURCE.kind, found.meta.name)) or _owner(found.meta) or found.meta.name
        machines.setdefault(name, []).append(found)
    return {name: tuple(machines[name]) for name in sorted(machines)}


def plan(holders: Iterable[Holder]) -> Plan:
    """Take our finalizer off, infrastructure first: whatever stops the plan, the object people look at goes last."""
    order = sorted(holders, key=lambda found: (found.kind is mapi.Machine, found.kind is capi.Machine))
    return Plan(
        tuple(
            RemoveFinalizers(
                target=found.target,
                observed=tuple(found.meta.finalizers),
                finalizers=(SYNC_FINALIZER,),
                why="Machine sync lets go of it",
            )
            for found in order
            if found.held
        )
    )


def stays(holders: Iterable[Holder]) -> list[Stay]:
    """Which of the objects of one machine stay paused once nobody synchronizes it."""
    holders = list(holders)
    # Until somebody has said who owns it, the Machine API's controllers act as if they did.
    authority = next((found.authority or "MachineAPI" for found in holders if found.kind is mapi.Machine), "")
    return [_stay(found, authority) for found in holders if found.paused]


def _stay(found: Holder, authority: str) -> Stay:
    if found.kind is mapi.Machine:
        advice = HALFWAY if found.authority == "Migrating" else COPY_OF_CLUSTER_API
        return Stay(found, f"status.authoritativeAPI is {found.authority}", advice)
    why = f"annotation {PAUSED_ANNOTATION}"
    if authority == "Migrating":
        return Stay(found, why, HALFWAY)
    return Stay(found, why, KEEP_COPY_PAUSED if authority == "MachineAPI" else UNPAUSE)


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
