"""Rows: one object as both sides have it, who is authoritative for it, and whether the sides agree."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.seen import Present, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIGRATING, PAUSED_ANNOTATION, SYNC_FINALIZER

SYNCHRONIZED = "Synchronized"

Found: TypeAlias = Present[Any] | Unreadable
"""An object that is there."""


class Reference(Struct, rename="camel", frozen=True):
    kind: str
    name: str


class Side(Struct, rename="camel", frozen=True, kw_only=True):
    """An object as one side has it; subclasses add what is of interest of their kind.

    `held` is whether it bears the finalizer of machine sync, `paused` whether its controllers are told to leave it
    alone. `unreadable` says why the rest is missing, if the object does not have the shape of its kind.
    """

    namespace: str
    uid: str
    generation: int
    deleting: bool = False
    held: bool = False
    paused: bool = False
    unreadable: str = ""


S = TypeVar("S", bound=Side)


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


class Row(Struct, Generic[S], rename="camel", frozen=True):
    """One object. A side on which it does not exist is None.

    `authority` is which side is authoritative now (status.authoritativeAPI: MachineAPI, ClusterAPI or Migrating; empty
    while nobody has said so), `desired_authority` which one shall be (spec.authoritativeAPI). Both, the condition and
    `generation` are kept in the Machine API, so without an object there they are empty.
    """

    kind: str
    name: str
    machine_api: S | None = field(default=None, name="machineAPI")
    cluster_api: S | None = field(default=None, name="clusterAPI")
    authority: str = ""
    desired_authority: str = ""
    synchronized: Synchronized | None = None
    generation: Generation | None = None

    @property
    def sides(self) -> tuple[S, ...]:
        """Those that exist."""
        return tuple(side for side in (self.machine_api, self.cluster_api) if side is not None)

    @property
    def gone(self) -> bool:
        """It exists on neither side (any more)."""
        return not self.sides

    @property
    def unsynced(self) -> bool:
        """The sides are not known to agree.

        Synchronized is not True; or it is, of an older generation of the source; or nobody has said anything about an
        object that is on both sides, or that cannot be read. What is on one side only, and never was mirrored, has
        nothing to agree with.
        """
        if self.synchronized is None:
            return len(self.sides) > 1 or any(side.unreadable for side in self.sides)
        return self.synchronized.status != "True" or (self.generation is not None and self.generation.behind)


AnyRow: TypeAlias = Row[Any]


class Kind(Struct, Generic[S], frozen=True):
    """A kind that is mirrored: its type on each side, and how an object that can be read becomes a side.

    `words` are what people call it, one and many of it.
    """

    name: str
    words: tuple[str, str]
    machine_api: type[KubernetesObject]
    cluster_api: type[KubernetesObject]
    side: type[S]
    look: Callable[[Any], dict[str, Any]]
    """What `side` has beyond identity, by field, out of the object of either API."""

    def join(self, machine_api: Iterable[Found], cluster_api: Iterable[Found]) -> list[Row[S]]:
        """The rows of all objects on either side, by name."""
        left = {found.metadata.name: found for found in machine_api}
        right = {found.metadata.name: found for found in cluster_api}
        return [self.row(name, left.get(name), right.get(name)) for name in sorted(left.keys() | right.keys())]

    def row(self, name: str, machine_api: Found | None, cluster_api: Found | None) -> Row[S]:
        """The row of the object `name`; None on a side where it does not exist."""
        left, right = self._side(machine_api), self._side(cluster_api)
        if not isinstance(machine_api, Present):
            return Row(self.name, name, left, right)
        mirror = machine_api.object
        source = {MACHINE_API: left, CLUSTER_API: right}.get(mirror.status.authoritative_api)
        return Row(
            self.name,
            name,
            left,
            right,
            authority=mirror.status.authoritative_api,
            desired_authority=mirror.spec.authoritative_api,
            synchronized=_synchronized(mirror),
            # While authority migrates there is no source: neither side may be read as the truth about the other.
            generation=Generation(mirror.status.synchronized_generation, source.generation if source else None),
        )

    def _side(self, found: Found | None) -> S | None:
        if found is None:
            return None
        if isinstance(found, Unreadable):
            return self.side(**_identity(found.metadata), unreadable=found.why)
        return self.side(**_identity(found.metadata), paused=self._paused(found.object), **self.look(found.object))

    def _paused(self, found: Any) -> bool:
        if isinstance(found, self.cluster_api):
            return PAUSED_ANNOTATION in found.metadata.annotations
        # The Machine API's controllers pause by authority; they know no annotation.
        return found.status.authoritative_api in (CLUSTER_API, MIGRATING)


AnyKind: TypeAlias = Kind[Any]


def _synchronized(mirror: Any) -> Synchronized | None:
    for condition in mirror.status.conditions:
        if condition.type == SYNCHRONIZED:
            return Synchronized(
                condition.status,
                condition.reason,
                condition.message,
                condition.severity,
                condition.last_transition_time,
            )
    return None


def _identity(meta: ObjectMeta) -> dict[str, Any]:
    return {
        "namespace": meta.namespace,
        "uid": meta.uid,
        "generation": meta.generation,
        "deleting": meta.deletion_timestamp is not None,
        "held": SYNC_FINALIZER in meta.finalizers,
    }
