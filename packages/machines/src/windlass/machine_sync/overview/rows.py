"""A row shows one object on both sides, its authority, and whether the sides agree."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.seen import Present, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIGRATING, PAUSED_ANNOTATION, SYNC_FINALIZER

SYNCHRONIZED = "Synchronized"

Found: TypeAlias = Present[Any] | Unreadable
"""An object that exists."""


class InfraReference(Struct, rename="camel", frozen=True):
    kind: str
    name: str


class Side(Struct, rename="camel", frozen=True, kw_only=True):
    """An object on one side; subclasses add the fields of their kind.

    `held`: it has the finalizer of machine sync. `paused`: its controllers must not act on it. If the object does not
    match the type of its kind, `unreadable` is the error, and the other fields are missing.
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
    """The Synchronized condition. `since` is the time of the last change of `status`, in RFC 3339."""

    status: str
    reason: str = ""
    message: str = ""
    severity: str = ""
    since: str | None = None


class Generation(Struct, rename="camel", frozen=True):
    """The generation of the source that was mirrored last, and its current generation.

    `synchronized` is 0 before the first synchronization; `source` is None if the source is unknown or does not exist.
    """

    synchronized: int
    source: int | None

    @property
    def behind(self) -> bool:
        return self.source is not None and self.synchronized < self.source


class Row(Struct, Generic[S], rename="camel", frozen=True):
    """One object. A side on which it does not exist is None.

    `authority` is the side that is authoritative now (status.authoritativeAPI: MachineAPI, ClusterAPI or Migrating;
    empty until a controller sets it), `desired_authority` the requested one (spec.authoritativeAPI). Both, the
    condition and `generation` are stored in the Machine API, so without an object there they are empty.
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
        """The sides on which the object exists."""
        return tuple(side for side in (self.machine_api, self.cluster_api) if side is not None)

    @property
    def gone(self) -> bool:
        """The object exists on neither side."""
        return not self.sides

    @property
    def unsynced(self) -> bool:
        """The sides are not known to agree.

        Synchronized is not True, or it is True for an older generation of the source. Or there is no condition, and the
        object exists on both sides or cannot be read. An object on one side that was never mirrored is not unsynced.
        """
        if self.synchronized is None:
            return len(self.sides) > 1 or any(side.unreadable for side in self.sides)
        return self.synchronized.status != "True" or (self.generation is not None and self.generation.behind)


AnyRow: TypeAlias = Row[Any]


class Kind(Struct, Generic[S], frozen=True):
    """A kind that is mirrored: its type on each side, and how a readable object becomes a side.

    `words` are its names for people, singular and plural.
    """

    name: str
    words: tuple[str, str]
    machine_api: type[KubernetesObject]
    cluster_api: type[KubernetesObject]
    side: type[S]
    look: Callable[[Any], dict[str, Any]]
    """The kind's own fields of `side`, by name, from the object of either API."""

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
            # While authority migrates there is no source: neither side is authoritative.
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
        # The Machine API's controllers pause by authority; they do not read the annotation.
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
