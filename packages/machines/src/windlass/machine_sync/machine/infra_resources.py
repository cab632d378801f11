"""Why the infra machine or infra cluster of a Cluster API Machine cannot be used."""

from windlass.api import capi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.seen import Absent, NotServedKind, Unreadable, metadata_of
from windlass.machine_sync.machine.owners import not_found
from windlass.machine_sync.machine.reasons import Reason
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.synchronized import Fault


def missing(seen: MachineSnapshot, machine: capi.Machine) -> Fault | None:
    """Why `machine` cannot be mirrored. A missing infra machine is no reason: it may be created later."""
    where = f"machine {machine.metadata.namespace}/{machine.metadata.name}"
    if not machine.spec.cluster_name:
        return _not_fetched(f"{where}: cluster name is empty in Cluster API machine spec", retry=False)
    if not machine.spec.infrastructure_ref.name:
        return _not_fetched(f"{where}: infrastructure machine reference is invalid or incomplete", retry=False)
    kind: type[KubernetesObject] = seen.platform.infra_cluster
    match seen.infra_cluster:
        case Absent():
            text = f"infrastructure cluster: {not_found(kind, machine.spec.cluster_name)}"
            return _not_fetched(f"failed to get Cluster API {text}")
        case Unreadable(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure cluster: {why}", retry=False)
        case NotServedKind(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure cluster: {why}")
    return unreadable(seen)


def unreadable(seen: MachineSnapshot) -> Fault | None:
    """Why the infra machine cannot be used; None if it can, or does not exist."""
    if seen.infra_of_another is not None:
        return _of_another(seen, *seen.infra_of_another)
    match seen.infra_machine:
        case Unreadable(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure machine: {why}", retry=False)
        case NotServedKind(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure machine: {why}")
    return None


def absent(seen: MachineSnapshot, machine: capi.Machine) -> Fault:
    """The infra machine that `machine` refers to does not exist."""
    kind, where = seen.platform.infra_machine.RESOURCE.kind, f"{machine.metadata.namespace}/{machine.metadata.name}"
    return _not_fetched(
        f"{kind} {machine.spec.infrastructure_ref.name}, which Machine {where} refers to, does not exist: create it, "
        "or correct spec.infrastructureRef of that Machine; if its instance is gone, delete that Machine"
    )


def made_otherwise(seen: MachineSnapshot, fields: list[str]) -> Fault:
    """The infra machine was made beforehand, and is not what the Machine would make."""
    infra, kind = metadata_of(seen.infra_machine), seen.platform.infra_machine.RESOURCE.kind
    name = infra.name if infra is not None else seen.name
    return _not_fetched(
        f"{kind} {name} was made beforehand, and differs from what this Machine makes in {', '.join(fields)}: delete "
        "it, or change the Machine or that object until they agree"
    )


def _of_another(seen: MachineSnapshot, infra: str, owner: str) -> Fault:
    kind = seen.platform.infra_machine.RESOURCE.kind
    source = metadata_of(seen.cluster_api)
    remedy = "delete this Machine, and create it with another name"
    if source is not None:
        remedy = (
            f"let spec.infrastructureRef of Machine {source.namespace}/{source.name} name the {kind} of that Machine, "
            f"or correct metadata.ownerReferences of the {kind} if it is that one"
        )
    return _not_fetched(f"{kind} {infra} belongs to Machine {owner} of Cluster API, so it is left alone: {remedy}")


def _not_fetched(text: str, *, retry: bool = True) -> Fault:
    return Fault(Reason.FAILED_TO_GET_INFRA, f"failed to fetch Cluster API infra resources: {text}", retry=retry)
