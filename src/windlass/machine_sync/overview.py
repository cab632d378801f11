"""One row per machine out of both sides: what `windlass machines` shows, as plain values.

The two mirrors of a machine have the same name in two namespaces, so a name is all it takes to join them:

    from windlass.machine_sync.overview import join

    for row in join(machine_api, cluster_api):           # iterables of Present or Unreadable Machines
        print(row.name, row.authority, row.synchronized and row.synchronized.reason)

Pure: nothing here reads a cluster or a clock.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.seen import Present, Unreadable
from windlass.machine_sync.constants import PAUSED_ANNOTATION, SYNC_FINALIZER

SYNCHRONIZED = "Synchronized"

MachineApiMachine = Present[mapi.Machine] | Unreadable
ClusterApiMachine = Present[capi.Machine] | Unreadable


class Reference(Struct, rename="camel", frozen=True):
    kind: str
    name: str


class Side(Struct, rename="camel", frozen=True):
    """A machine as one side has it.

    `phase` is empty as long as nobody has set one. `node` and `provider_id` are empty until there is an instance.
    `held` is whether it bears the finalizer of machine sync, `paused` whether its controllers are told to leave it
    alone. `unreadable` says why the rest is missing, if the object does not have the shape of a Machine.
    """

    namespace: str
    uid: str
    generation: int
    phase: str = ""
    provider_id: str = field(default="", name="providerID")
    node: str = ""
    infrastructure: Reference | None = None
    deleting: bool = False
    held: bool = False
    paused: bool = False
    unreadable: str = ""


class Synchronized(Struct, rename="camel", frozen=True):
    """The Synchronized condition. `since` is RFC 3339: when `status` last changed."""

    status: str
    reason: str = ""
    message: str = ""
    severity: str = ""
    since: str | None = None


class Generation(Struct, rename="camel", frozen=True):
    """Up to which generation of the source the mirror has been brought, and which one the source is at.

    `synchronized` is 0 before the first time; `source` is None while the source is unknown or does not exist.
    """

    synchronized: int
    source: int | None

    @property
    def behind(self) -> bool:
        return self.source is not None and self.synchronized < self.source


class Row(Struct, rename="camel", frozen=True):
    """One machine. A side on which it does not exist is None.

    `authority` is which side is authoritative now (status.authoritativeAPI: MachineAPI, ClusterAPI or Migrating; empty
    while nobody has said so), `desired_authority` which one shall be (spec.authoritativeAPI). Both, the condition and
    `generation` are kept in the Machine API, so without a Machine there they are empty.
    """

    name: str
    machine_api: Side | None = field(default=None, name="machineAPI")
    cluster_api: Side | None = field(default=None, name="clusterAPI")
    authority: str = ""
    desired_authority: str = ""
    synchronized: Synchronized | None = None
    generation: Generation | None = None

    @property
    def gone(self) -> bool:
        """It exists on neither side (any more)."""
        return self.machine_api is None and self.cluster_api is None


def join(machine_api: Iterable[MachineApiMachine], cluster_api: Iterable[ClusterApiMachine]) -> list[Row]:
    """The rows of all machines on either side, by name."""
    left = {found.metadata.name: found for found in machine_api}
    right = {found.metadata.name: found for found in cluster_api}
    return [row(name, left.get(name), right.get(name)) for name in sorted(left.keys() | right.keys())]


def row(name: str, machine_api: MachineApiMachine | None, cluster_api: ClusterApiMachine | None) -> Row:
    """The row of the machine `name`; None on a side where it does not exist."""
    mirror = machine_api.object if isinstance(machine_api, Present) else None
    right = _cluster_api_side(cluster_api) if cluster_api is not None else None
    left = _machine_api_side(machine_api) if machine_api is not None else None
    if mirror is None:
        return Row(name, left, right)
    status = mirror.status
    source = _source_generation(status.authoritative_api, left, right)
    return Row(
        name,
        left,
        right,
        authority=status.authoritative_api,
        desired_authority=mirror.spec.authoritative_api,
        synchronized=_synchronized(mirror),
        generation=Generation(status.synchronized_generation, source),
    )


def _source_generation(authority: str, machine_api: Side | None, cluster_api: Side | None) -> int | None:
    # While authority migrates there is no source: neither side may be read as the truth about the other.
    source = {"MachineAPI": machine_api, "ClusterAPI": cluster_api}.get(authority)
    return source.generation if source is not None else None


def _synchronized(machine: mapi.Machine) -> Synchronized | None:
    for condition in machine.status.conditions:
        if condition.type == SYNCHRONIZED:
            return Synchronized(
                condition.status,
                condition.reason,
                condition.message,
                condition.severity,
                condition.last_transition_time,
            )
    return None


def _machine_api_side(found: MachineApiMachine) -> Side:
    if isinstance(found, Unreadable):
        return _unreadable(found)
    machine = found.object
    return Side(
        **_identity(machine.metadata),
        phase=machine.status.phase or "",
        provider_id=machine.spec.provider_id or "",
        node=machine.status.node_ref.name if machine.status.node_ref else "",
        # The Machine API's controllers pause by authority; they know no annotation.
        paused=machine.status.authoritative_api in ("ClusterAPI", "Migrating"),
    )


def _cluster_api_side(found: ClusterApiMachine) -> Side:
    if isinstance(found, Unreadable):
        return _unreadable(found)
    machine = found.object
    infra = machine.spec.infrastructure_ref
    return Side(
        **_identity(machine.metadata),
        phase=machine.status.phase,
        provider_id=machine.spec.provider_id,
        node=machine.status.node_ref.name,
        infrastructure=Reference(infra.kind, infra.name) if infra.name else None,
        paused=PAUSED_ANNOTATION in machine.metadata.annotations,
    )


def _unreadable(found: Unreadable) -> Side:
    return Side(**_identity(found.metadata), unreadable=found.why)


def _identity(meta: ObjectMeta) -> dict[str, Any]:
    return {
        "namespace": meta.namespace,
        "uid": meta.uid,
        "generation": meta.generation,
        "deleting": meta.deletion_timestamp is not None,
        "held": SYNC_FINALIZER in meta.finalizers,
    }
