"""What a decision about one machine may look at."""

from collections.abc import Callable
from typing import Any

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, Seen, metadata_of
from windlass.kube.object import Object
from windlass.machine_sync.mirroring.looking import Looking
from windlass.machine_sync.mirroring.move import Move, Pausable
from windlass.machine_sync.mirroring.removal import Removal
from windlass.machine_sync.platforms import Platform


class MachineSnapshot(Looking, frozen=True, kw_only=True):
    """One machine in both APIs, and the objects that its conversion needs. `looking` completes that of the caches.

    `machine_api` and `cluster_api` are its Machines. `infra_machine` and `infra_cluster` are the objects that
    `cluster_api` refers to; without such a Machine, the infra machine of the machine's name and the infra cluster of
    this cluster.

    `infra_users` are the Machines of Cluster API that name `infra_machine`. `infra_of_another`: the infra machine that
    was found belongs to another Machine; its name, and the name of its owner (`infra_owner`).

    `machine_api_set` and `cluster_api_set` are the two MachineSets called like the one that owns the machine (Absent
    without an owner): the owner of the Cluster API Machine, unless the Machine API is authoritative or has the only
    Machine. While a mirror is being deleted, `cluster_api_set` is the one that the Cluster API Machine belongs to.

    `two_sets`: the name of the MachineSets, if they are not each other's mirror; for decisions both are Absent then.

    `cluster` is the core Cluster of this cluster. It is read only while the Machine API has a Machine without an owner
    to convert, while a mirror that the Cluster owns is being deleted, or if the Cluster may be why Cluster API's
    controllers say that they are paused when authority is to move. `infrastructure` describes this cluster to
    conversion.

    `removal` is why the mirror, or an infra machine without a Machine, is being deleted, or why nothing can be created.
    """

    platform: Platform
    machine_api: Seen[mapi.Machine]
    cluster_api: Seen[capi.Machine]
    infra_machine: Seen[Any] = Absent()
    infra_users: tuple[str, ...] = ()
    infra_of_another: tuple[str, str] | None = None
    infra_cluster: Seen[Any] = Absent()
    machine_api_set: Seen[mapi.MachineSet] = Absent()
    cluster_api_set: Seen[capi.MachineSet] = Absent()
    two_sets: str = ""
    cluster: Seen[capi.Cluster] = Absent()
    infrastructure: Seen[config.Infrastructure] = Absent()
    removal: Removal = Removal()
    last: Outcome = Outcome()

    @property
    def move(self) -> Move:
        """The move of authority. Only while the Machine API has a readable Machine."""
        infra = Pausable(
            self.platform.infra_machine, self.infra_machine, reports=self.platform.infra_machine_reports_pause
        )
        return Move(self.machine_api, (Pausable(capi.Machine, self.cluster_api), infra))  # type: ignore[arg-type]


def infra_machine_name(seen: MachineSnapshot) -> str:
    """The name of the infra machine: from the Cluster API Machine, else the machine's name."""
    meta = metadata_of(seen.infra_machine)
    return meta.name if meta is not None else seen.name


def set_owner(meta: ObjectMeta, api_version: str) -> OwnerReference | None:
    """The first owner that is a MachineSet of exactly this apiVersion."""
    return next(
        (ref for ref in meta.owner_references if ref.kind == "MachineSet" and ref.api_version == api_version), None
    )


def set_names(kind: type[KubernetesObject]) -> Callable[[Object[Any]], tuple[str, ...]]:
    """A map from a Machine to the name of the MachineSet of this `kind` that `set_owner` finds.

    Not `owned_by`: `decide` follows that owner whether it controls the Machine or not.
    """

    def names(machine: Object[Any]) -> tuple[str, ...]:
        owner = set_owner(machine.metadata, kind.RESOURCE.api_version)
        return (owner.name,) if owner else ()

    return names
