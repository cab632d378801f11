"""What a decision about one machine may look at."""

from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from windlass.kube.plan import Outcome, Target
from windlass.kube.seen import Absent, Present, Seen, Unreadable
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.platforms import Platform


class MachineSnapshot(Struct, frozen=True):
    """One machine on both sides, and what its mirror is made from.

    `mirror` is the Machine of the Machine API and `source` that of Cluster API, whoever is authoritative. `infra` and
    `infra_cluster` are what `source` refers to, Absent if it refers to nothing. `mirror_set` and `source_set` are the
    two MachineSets called like the first MachineSet that owns `source` (Absent without one); when only the mirror has
    an owner they are called like that one.
    """

    name: str
    platform: Platform
    mirror: Seen[mapi.Machine]
    source: Seen[capi.Machine]
    infra: Seen[Any] = Absent()
    infra_cluster: Seen[Any] = Absent()
    mirror_set: Seen[mapi.MachineSet] = Absent()
    source_set: Seen[capi.MachineSet] = Absent()
    last: Outcome = Outcome()
    namespaces: Namespaces = Namespaces()


def metadata_of(found: Seen[Any]) -> ObjectMeta | None:
    """The metadata of what is there, readable or not; None if it is not there."""
    return found.metadata if isinstance(found, Present | Unreadable) else None


def target_of(kind: type[KubernetesObject], meta: ObjectMeta) -> Target:
    return Target(kind, meta.name, meta.namespace or None, meta.uid, meta.resource_version)


def set_owner(meta: ObjectMeta, api_version: str) -> OwnerReference | None:
    """The first owner that is a MachineSet of exactly this apiVersion."""
    return next(
        (ref for ref in meta.owner_references if ref.kind == "MachineSet" and ref.api_version == api_version), None
    )
