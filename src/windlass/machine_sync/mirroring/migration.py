"""Moving authority from one API to the other, without ever having two, and back at any point.

The user says where to in spec.authoritativeAPI. status.authoritativeAPI says who is authoritative, and goes through
Migrating, while nobody is: both sides are paused then. status.synchronizedAPI keeps the last side that was
authoritative, so that the direction is known whatever spec says meanwhile.

| status.authoritativeAPI | condition | what follows |
|---|---|---|
| as spec | | nothing |
| the other | not synchronized, being deleted, being provisioned, or not yet taken up by its side | the move waits |
| the other | synchronized | status becomes Migrating, synchronizedAPI the side that was authoritative |
| Migrating | spec went back, or the authoritative object changed or lost its mirror | back to synchronizedAPI |
| Migrating, to the Machine API | Cluster API not paused | it is asked to pause: an annotation on its objects |
| Migrating, to the Machine API | not yet paused | wait for its controllers to say so |
| Migrating, to Cluster API | the Machine API not paused | wait for its controllers to say so: status has told them |
| Migrating, to Cluster API | Cluster API still asked to pause | the annotations come off |
| Migrating | the old side stands still, the new one may act | status becomes the target, Synchronized Unknown |

The new side is unpaused before status names it: a crash between the two leaves one that may act and none that thinks
it is the mirror. The generation is reset in the write that leaves Migrating, because the API allows it only there.
A migration that OpenShift's own operator began has no synchronizedAPI: then spec alone decides, as it does there.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.conditions import is_true, put
from windlass.kube.plan import Emit, Merge, Outcome, Plan, WaitFor, target, target_of
from windlass.kube.seen import NotServedKind, Present, Seen, Unreadable, metadata_of
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    EVENT_SOURCE,
    MACHINE_API,
    MIGRATING,
    PAUSED_ANNOTATION,
)
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED, Fault, Verdict, status_fields

AUTHORITY_CHANGED = Verdict(None, "AuthoritativeAPIChanged", "Waiting for resync after change of AuthoritativeAPI")

PAUSED = "Paused"

_EVER = datetime.fromtimestamp(0, UTC)
_PATIENCE = 30.0
"""Seconds after which we look again for somebody else's `Paused` condition, should a watch event be lost."""


class Pausable(Struct, frozen=True):
    """An object of Cluster API that its controllers leave alone while it is annotated.

    `reports`: they say so in a `Paused` condition. Some providers never do; for them the annotation has to be enough.
    """

    kind: type[KubernetesObject]
    seen: Seen[Any]
    reports: bool = True

    @property
    def metadata(self) -> ObjectMeta | None:
        return metadata_of(self.seen)

    @property
    def annotated(self) -> bool:
        meta = self.metadata
        return meta is not None and PAUSED_ANNOTATION in meta.annotations

    @property
    def stands_still(self) -> bool:
        if self.metadata is None:
            return True
        return self.annotated and (not self.reports or _says_paused(self.seen))

    def __str__(self) -> str:
        meta = self.metadata
        return f"{self.kind.RESOURCE.kind} {meta.name if meta else ''}".strip()


class Move(Struct, frozen=True):
    """One object of the Machine API and what it mirrors, or is mirrored by.

    `parts` are the objects of Cluster API that must stand still when the Machine API is authoritative, the Machine or
    MachineSet first.
    """

    machine_api: Present[Any]
    parts: tuple[Pausable, ...]

    @property
    def spec(self) -> str:
        return str(self.machine_api.object.spec.authoritative_api)

    @property
    def status(self) -> str:
        return str(self.machine_api.object.status.authoritative_api)

    @property
    def came_from(self) -> str:
        """The last stable authority; "" if nobody has noted it."""
        noted = str(self.machine_api.object.status.synchronized_api)
        return noted if noted in (MACHINE_API, CLUSTER_API) else ""

    @property
    def requested(self) -> bool:
        """Authority is to move, and has not begun to."""
        return {self.status, self.spec} == {MACHINE_API, CLUSTER_API}


def begin(move: Move) -> Plan:
    """The first step: from here on nobody is authoritative. Only for what is `synchronized` and may move."""
    fields = {"authoritativeAPI": MIGRATING, "synchronizedAPI": move.status}
    return Plan.of(status_fields(move.machine_api, fields, why=f"authority moves from {move.status} to {move.spec}"))


def synchronized(move: Move, *, authority: str) -> bool:
    """The mirror is what the object of `authority` was at its generation of today, as far as has been noted."""
    found = move.machine_api.object
    source = found.metadata if authority == MACHINE_API else move.parts[0].metadata
    if source is None or not is_true(_conditions(move.machine_api), SYNCHRONIZED):
        return False
    return bool(found.status.synchronized_generation >= source.generation)


def taken_up(move: Move) -> bool:
    """The controllers of the authority of today have seen that they are in charge.

    Until they have, their `Paused` is left over from before. A move that began now would take it for the answer to its
    own request, while they have just begun to act.
    """
    if move.status == MACHINE_API:
        return not _says_paused(move.machine_api)
    return not any(part.reports and not part.annotated and _says_paused(part.seen) for part in move.parts)


def proceed(move: Move, *, now: datetime) -> Plan:
    """The next step while status is Migrating."""
    if move.spec not in (MACHINE_API, CLUSTER_API):
        return Plan.nothing(f"spec.authoritativeAPI is {move.spec!r}: there is no such API to move to")
    source = move.came_from or _other(move.spec)
    goal = move.spec
    if goal != source:
        in_step = synchronized(move, authority=source)
        if not move.came_from and not in_step:
            return Plan().then(WaitFor("the mirror to be synchronized: authority was not moved by this controller"))
        if move.came_from and not (in_step and move.parts[0].metadata is not None):
            # Nobody makes or changes a mirror while nobody is authoritative, so the way on leads back.
            goal = source
    return _to_machine_api(move, now=now) if goal == MACHINE_API else _to_cluster_api(move, now=now)


def released(move: Move) -> Plan:
    """Cluster API is authoritative and its object bears the mark of a mirror: take it off, so that somebody acts.

    A move does not leave it so. A controller with old caches can, or a user who makes a Machine API object anew.
    """
    return Plan.of(*_unpause(move))


def _decisive(move: Move) -> bool:
    """The next step would let one side act, trusting that the other stands still. To ask for a pause is none."""
    if move.machine_api.object.status.authoritative_api != MIGRATING:
        return False
    plan = proceed(move, now=_EVER)
    return bool(plan.needed) and not isinstance(plan.next, WaitFor)


def wants_live_look(move: Move, last: Outcome) -> bool:
    """The caches say it well enough to wait by, but not to let one side act.

    What somebody said of an earlier move would pass for his answer. After our own writes to the object of Cluster API
    they are not behind.
    """
    ours = any(result.action.target.kind is move.parts[0].kind for result in last.results)
    return not ours and _decisive(move)


def stuck(found: Present[Any], fault: Fault) -> Plan:
    """A step was refused. `Synchronized` stays as it is: whether the move may go on is decided by it."""
    note = f"Authority is moving and cannot go on: {fault.message}"
    aim = target(found)
    event = Emit(target=aim, type="Warning", reason="SynchronizationWarning", note=note, source=EVENT_SOURCE)
    return Plan.of(event).retry(fault.message)


def _to_machine_api(move: Move, *, now: datetime) -> Plan:
    if move.parts[0].metadata is None and move.came_from != MACHINE_API:
        return Plan().retry(f"failed to get {move.parts[0]}: it is to become the mirror and does not exist")
    if blind := _blind(move):
        return blind
    requests = [*_pause(move)]
    if any(request.needed for request in requests):
        return Plan.of(*requests).then(WaitFor("Cluster API's controllers to pause", _PATIENCE))
    moving = next((part for part in move.parts if not part.stands_still), None)
    if moving is not None:
        return Plan().then(WaitFor(f"the controllers of {moving} to say that it is paused", _PATIENCE))
    return _arrive(move, MACHINE_API, now=now)


def _to_cluster_api(move: Move, *, now: datetime) -> Plan:
    if not _says_paused(move.machine_api):
        return Plan().then(WaitFor("the Machine API's controllers to say that they are paused", _PATIENCE))
    if blind := _blind(move):
        return blind
    if move.parts[0].metadata is None and move.came_from != CLUSTER_API:
        text = f"unable to ensure the new AuthoritativeAPI has been un-paused: {move.parts[0]} does not exist"
        return Plan().retry(text)
    releases = [*_unpause(move)]
    if any(release.needed for release in releases):
        return Plan.of(*releases)
    return _arrive(move, CLUSTER_API, now=now)


def _arrive(move: Move, authority: str, *, now: datetime) -> Plan:
    conditions = put(_conditions(move.machine_api), AUTHORITY_CHANGED.condition, now=now)
    fields = {
        "authoritativeAPI": authority,
        "synchronizedAPI": authority,
        "synchronizedGeneration": 0,
        "conditions": conditions,
    }
    return Plan.of(status_fields(move.machine_api, fields, why=f"authority has moved to {authority}"))


def _pause(move: Move) -> Iterator[Merge]:
    marks = {PAUSED_ANNOTATION: "", AUTHORITY_ANNOTATION: MACHINE_API}
    for place, part in enumerate(move.parts):
        if (meta := part.metadata) is None:
            continue
        wanted = marks if place == 0 else {PAUSED_ANNOTATION: ""}
        # One that somebody else has paused already, in whatever words, is left as it is.
        added = {key: value for key, value in wanted.items() if key not in meta.annotations}
        yield _annotate(part, meta, {**meta.annotations, **added}, why="the Machine API becomes authoritative")


def _unpause(move: Move) -> Iterator[Merge]:
    # The Machine last: its controllers go on from there.
    for part in reversed(move.parts):
        if (meta := part.metadata) is None:
            continue
        left = {
            key: value
            for key, value in meta.annotations.items()
            if key not in (PAUSED_ANNOTATION, AUTHORITY_ANNOTATION)
        }
        yield _annotate(part, meta, left, why="Cluster API becomes authoritative")


def _annotate(part: Pausable, meta: ObjectMeta, annotations: Mapping[str, str], *, why: str) -> Merge:
    return Merge(
        target=target_of(part.kind, meta),
        observed={"metadata": {"annotations": meta.annotations}},
        desired={"metadata": {"annotations": annotations}},
        why=why,
    )


def _blind(move: Move) -> Plan | None:
    """What to do while it cannot be told whether something would have to stand still."""
    for part in move.parts:
        if isinstance(part.seen, NotServedKind):
            return Plan().retry(part.seen.why)
        if isinstance(part.seen, Unreadable) and part.reports:
            return Plan().retry(f"{part} cannot be read, so nobody knows whether it is paused: {part.seen.why}")
    return None


def _says_paused(found: Seen[Any]) -> bool:
    if not isinstance(found, Present):
        return False
    status = found.tree.get("status") or {}
    v1beta2 = status.get("v1beta2") if isinstance(status, Mapping) else None
    lists = (status, v1beta2) if isinstance(v1beta2, Mapping) else (status,)
    return any(is_true(_list(conditions.get("conditions")), PAUSED) for conditions in lists)


def _conditions(found: Present[Any]) -> list[Any]:
    return _list((found.tree.get("status") or {}).get("conditions"))


def _list(conditions: Any) -> list[Any]:
    if not isinstance(conditions, list):
        return []
    return [condition for condition in conditions if isinstance(condition, Mapping)]


def _other(authority: str) -> str:
    return CLUSTER_API if authority == MACHINE_API else MACHINE_API
