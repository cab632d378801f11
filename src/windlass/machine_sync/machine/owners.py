"""Owner references of a mirror: the same-named owner in the other API, or why there is none."""

from collections.abc import Sequence

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, OwnerReference, Resource
from windlass.kube.seen import Seen
from windlass.machine_sync.machine.snapshot import metadata_of


class UnsupportedOwner(Struct, frozen=True):
    """The owners cannot be expressed in the other API; `detail` says why, and only a change of them helps."""

    detail: str


class OwnerNotFound(Struct, frozen=True):
    """The owner's twin does not exist (yet)."""

    text: str


def to_machine_api(
    owners: Sequence[OwnerReference], mirror_set: Seen[mapi.MachineSet]
) -> list[OwnerReference] | UnsupportedOwner | OwnerNotFound:
    """The owner references of a Machine API mirror, from those of the Cluster API Machine.

    A MachineSet becomes the same-named MachineSet of the Machine API (`mirror_set`), with its uid; a Cluster is
    dropped, because the Machine API has none. Versions other than v1beta2 are not converted.
    """
    if not owners:
        return []
    if len(owners) > 1:
        return UnsupportedOwner("must have at most 1 item")
    (owner,) = owners
    if owner.api_version == capi.Machine.RESOURCE.api_version and owner.kind == "Cluster":
        return []
    if owner.api_version != capi.Machine.RESOURCE.api_version or owner.kind != "MachineSet":
        return UnsupportedOwner("unsupported owner kind for owner reference conversion")
    twin = metadata_of(mirror_set)
    if twin is None:
        missing = not_found(mapi.MachineSet, owner.name)
        return OwnerNotFound(f"could not find Machine API machine set: {missing}")
    resource: Resource = mapi.MachineSet.RESOURCE
    return [
        OwnerReference(
            api_version=resource.api_version,
            kind=resource.kind,
            name=twin.name,
            uid=twin.uid,
            controller=owner.controller,
            block_owner_deletion=owner.block_owner_deletion,
        )
    ]


def not_found(kind: type[KubernetesObject], name: str) -> str:
    """How the API server says that an object is not there."""
    return f'{kind.RESOURCE.name} "{name}" not found'
