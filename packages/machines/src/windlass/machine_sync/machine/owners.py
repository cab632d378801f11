"""Owner references of a mirror: the same-named owner in the other API, or why there is none."""

from collections.abc import Sequence
from typing import TypeGuard

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta, OwnerReference, owner_reference
from windlass.kube.control.seen import Present, Seen, metadata_of
from windlass.machine_sync.constants import MACHINE_API, PAUSED_ANNOTATION
from windlass.machine_sync.conversion.field_errors import too_many
from windlass.machine_sync.mirroring.collector import is_going

CONTROL_PLANE_MACHINE_SET = "ControlPlaneMachineSet"


class UnsupportedOwner(Struct, frozen=True):
    """The owners cannot be expressed in the other API; `detail` says why, `remedy` what to do if that does not. Trying
    again does not help until they change."""

    detail: str
    remedy: str = ""


class OwnerNotFound(Struct, frozen=True):
    """The owner does not exist in the other API (yet)."""

    text: str


Owners = list[OwnerReference] | UnsupportedOwner | OwnerNotFound


def to_machine_api(
    owners: Sequence[OwnerReference],
    machine_api_set: Seen[mapi.MachineSet],
    *,
    mirror: ObjectMeta | None = None,
) -> Owners:
    """The owner references of a Machine API mirror, from those of the Cluster API Machine.

    A MachineSet becomes the same-named MachineSet of the Machine API, with its uid; a Cluster is dropped, because the
    Machine API has none. Of a Cluster and a MachineSet that has adopted its machine, the MachineSet counts: it is the
    controller. Versions other than v1beta2 are not converted. A MachineSet that is being deleted gets no more
    machines, and may have released its own: the `mirror` keeps its present owners.

    If a MachineSet that acts has adopted the mirror of a machine without a set, the mirror stays in that set. If it
    were removed, the set would adopt it again, and each time delete Machines that exceed its replicas.
    """
    if len(owners) > 1:
        owners = [owner for owner in owners if owner.controller or not _is_cluster(owner)]
    if not owners:
        return _adopter(mirror, machine_api_set)
    if len(owners) > 1:
        return _too_many(owners)
    (owner,) = owners
    if _is_cluster(owner):
        return _adopter(mirror, machine_api_set)
    if owner.api_version != capi.Machine.RESOURCE.api_version or owner.kind != "MachineSet":
        return UnsupportedOwner("unsupported owner kind for owner reference conversion")
    twin = metadata_of(machine_api_set)
    if twin is None:
        missing = not_found(mapi.MachineSet, owner.name)
        return OwnerNotFound(f"could not find Machine API machine set: {missing}")
    if twin.deletion_timestamp is not None and mirror is not None:
        return list(mirror.owner_references)
    written = mirror if _acts(machine_api_set) else None
    return [_twin(mapi.MachineSet, twin, owner, written)]


def to_cluster_api(
    owners: Sequence[OwnerReference],
    cluster_api_set: Seen[capi.MachineSet],
    cluster: Seen[capi.Cluster],
    *,
    cluster_name: str,
    adoptable: bool,
    machine_api_set: Seen[mapi.MachineSet],
    mirror: ObjectMeta | None = None,
) -> Owners:
    """The owner references of a Cluster API Machine, from those of the Machine API Machine.

    A MachineSet becomes the same-named MachineSet of Cluster API, with its uid. A Machine without an owner belongs to
    the Cluster `cluster_name`. Unless it is `adoptable`, the Cluster is its controller: a MachineSet of Cluster API
    adopts each Machine that its selector matches and that has no controller, paused or not, and deletes Machines that
    exceed its replicas.

    A MachineSet that is being deleted, in either API, gets no more machines, and may have released its own: the
    `mirror` keeps its present owners.
    """
    if not owners:
        found = of_cluster(cluster, cluster_name=cluster_name, controller=not adoptable)
        if isinstance(found, OwnerNotFound):
            return OwnerNotFound(f"failed to get Cluster API cluster: {found.text}")
        return found
    if len(owners) > 1:
        return _too_many(owners)
    (owner,) = owners
    if owner.kind == CONTROL_PLANE_MACHINE_SET:
        return UnsupportedOwner(
            "conversion of control plane machines owned by control plane machine set is currently not supported"
        )
    if owner.api_version != mapi.Machine.RESOURCE.api_version or owner.kind != "MachineSet":
        return UnsupportedOwner("unsupported owner kind for owner reference conversion")
    twin = metadata_of(cluster_api_set)
    goes = is_going(machine_api_set) or is_going(cluster_api_set)
    if mirror is not None and (goes or (twin is None and metadata_of(machine_api_set) is None)):
        return list(mirror.owner_references)
    if goes:
        return OwnerNotFound(f"machine set {owner.name} is being deleted")
    if twin is None:
        missing = not_found(capi.MachineSet, owner.name)
        return OwnerNotFound(f"could not find Cluster API machine set: {missing}")
    written = mirror if PAUSED_ANNOTATION not in twin.annotations else None
    return [_twin(capi.MachineSet, twin, owner, written)]


def of_cluster(
    cluster: Seen[capi.Cluster], *, cluster_name: str, controller: bool = False
) -> list[OwnerReference] | OwnerNotFound:
    """The Cluster as the owner of objects without another owner."""
    found = metadata_of(cluster)
    if found is None:
        return OwnerNotFound(not_found(capi.Cluster, cluster_name))
    if found.deletion_timestamp is not None:
        return OwnerNotFound(f'{capi.Cluster.RESOURCE.name} "{cluster_name}" is being deleted')
    return [owner_reference(capi.Cluster, found, controller=controller, block_owner_deletion=True)]


def cluster_owner(meta: ObjectMeta) -> OwnerReference | None:
    """The first owner that is a Cluster."""
    return next(filter(_is_cluster, meta.owner_references), None)


def of_two_sets(name: str) -> str:
    """Why a machine has no mirror: the sets of its set's name are not each other's mirror."""
    return (
        f"MachineSet {name} of the Machine API and MachineSet {name} of Cluster API are two sets, so a machine of one "
        "of them gets no mirror that belongs to the other: condition Synchronized of the one in the Machine API says "
        "what to do"
    )


def not_found(kind: type[KubernetesObject], name: str) -> str:
    """The API server's message for an object that does not exist."""
    return f'{kind.RESOURCE.name} "{name}" not found'


def _is_cluster(owner: OwnerReference) -> bool:
    kind = capi.Cluster.RESOURCE
    return (owner.kind, owner.api_version) == (kind.kind, kind.api_version)


def _too_many(owners: Sequence[OwnerReference]) -> UnsupportedOwner:
    error = too_many("metadata.ownerReferences", len(owners), 1)
    return UnsupportedOwner(str(error), remedy="Remove the owner references of the Machine except its controller's.")


def _adopter(mirror: ObjectMeta | None, machine_api_set: Seen[mapi.MachineSet]) -> list[OwnerReference]:
    if mirror is None or not _acts(machine_api_set):
        return []  # Its controller is paused, and adopts nothing.
    return [owner for owner in mirror.owner_references if owner.uid == machine_api_set.metadata.uid]


def _acts(machine_api_set: Seen[mapi.MachineSet]) -> TypeGuard[Present[mapi.MachineSet]]:
    """The Machine API's controller of the set works, and is not paused."""
    if not isinstance(machine_api_set, Present):
        return False
    return machine_api_set.object.status.authoritative_api == MACHINE_API


def _twin(
    kind: type[KubernetesObject], twin: ObjectMeta, owner: OwnerReference, mirror: ObjectMeta | None
) -> OwnerReference:
    """The owner reference to `twin`. A reference that `mirror` has already stays as it is, for a set that acts would
    overwrite another one in each pass. `mirror` None: the set does not act."""
    found = (one for one in (mirror.owner_references if mirror is not None else ()) if one.uid == twin.uid)
    made = owner_reference(kind, twin, controller=owner.controller, block_owner_deletion=owner.block_owner_deletion)
    return next(found, made)
