"""Moves authority from one API to the other, and back at any point, without ever having two authorities.

spec.authoritativeAPI is the authority that the user wants. status.authoritativeAPI is the present authority; it is
Migrating while there is none, and both sides are paused then. status.synchronizedAPI keeps the last authority, so that
the direction is known even if spec changes meanwhile.

| status.authoritativeAPI | condition | what follows |
|---|---|---|
| as spec | | nothing |
| the other | not synchronized, being deleted, being provisioned, or its controllers still paused | the move waits |
| the other | synchronized, except perhaps for the generation | Migrating, synchronizedAPI the old authority |
| any | the recorded generation is above the authority's: its object was recreated | Migrating, and back |
| Migrating | spec went back, or the authoritative object changed or lost its mirror | back to synchronizedAPI |
| Migrating | the garbage collector deletes the mirror | back to synchronizedAPI |
| Migrating, to the Machine API | Cluster API not asked to pause | its objects are annotated |
| Migrating, to the Machine API | not yet paused | wait until its controllers report it |
| Migrating, to Cluster API | the Machine API not paused | wait until its controllers report it: they follow status |
| Migrating, back to Cluster API | it was not asked to pause yet | do not wait: nothing changed for either side |
| Migrating, to Cluster API | Cluster API still asked to pause | the annotations are removed |
| Migrating | the old side is paused, the new one may act | status becomes the target, Synchronized Unknown |
| as spec, just now | the Machine API's controllers have not reported it | wait up to two seconds before mirroring |

The new side is unpaused before status names it. After a crash between the two writes, one side may act and neither is
treated as a mirror. The generation is reset in the write that leaves Migrating, because the API allows it only there. A
migration that OpenShift's own operator began has no synchronizedAPI: then spec alone decides, as it does there.

The authoritative object has changed if its generation differs from the recorded one (a lower one: it was recreated), or
if its mirror differs from the converted object. The second test finds changes that do not increase the generation
(labels, annotations, the infra machine), and a mirror that a controller with stale caches wrote. It is not made once
Cluster API is unpaused, because then its controllers change the objects.

Caches may be stale. A step writes objects conditionally on what was observed. If the step lets one side act, the
objects that it relies on and does not write are read from the API server first:

| step | written, if unchanged | relied on |
|---|---|---|
| ask Cluster API to pause | the annotated objects | the Machine API: authority still moves; known, if just written |
| unpause Cluster API | the annotated objects | the Machine API: it reports its pause, and authority still moves |
| status becomes ClusterAPI | the Machine API's status | Cluster API: no object is annotated; known, if just written |
| status becomes MachineAPI | the Machine API's status | Cluster API: all of it is paused |
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from math import inf
from typing import Any

from windlass.api import capi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.conditions import find, is_true, put
from windlass.kube.control.plan import Emit, Merge, Outcome, Plan, WaitFor, target, target_of
from windlass.kube.control.seen import NotServedKind, Present, Seen, Unreadable
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    EVENT_SOURCE,
    MACHINE_ANNOTATION,
    MACHINE_API,
    MIGRATING,
    MIRRORED_SPEC_ANNOTATION,
    PAUSED_ANNOTATION,
)
from windlass.machine_sync.mirroring.move import PAUSED, Move, Pausable, conditions_of, says_paused
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED, Fault, Verdict, status_fields

AUTHORITY_CHANGED = Verdict(None, "AuthoritativeAPIChanged", "Waiting for resync after change of AuthoritativeAPI")

_NOTHING = Plan()
_OF_A_MIRROR = (AUTHORITY_ANNOTATION, MIRRORED_SPEC_ANNOTATION, MACHINE_ANNOTATION)
"""Annotations that would be wrong once Cluster API is authoritative."""
_GENERATION = "synchronizedGeneration"
_PATIENCE = 30.0
"""Seconds after which we read the `Paused` condition of other controllers again, in case a watch event was lost."""
_COURTESY = 2.0
"""Seconds to wait for the Machine API's controllers to report the authority; times of conditions are whole seconds."""


def begin(move: Move, plan: Plan = _NOTHING) -> Plan:
    """The first step: after it there is no authority. Only for an object that is `synchronized` and may move.

    `plan` is what else has to be done: Events, and recording the generation (`noted`), which is done in the same write.
    """
    events = (action for action in plan.actions if isinstance(action, Emit))
    return Plan.of(*events, _leave(move, why=f"authority moves from {move.status} to {move.spec}", **_noting(plan)))


def recreated(move: Move) -> Plan | None:
    """The first step of the way through Migrating and back, on which the API allows a lower recorded generation.

    None if that is not needed, or could not be completed. The recorded generation must not stay above the present one:
    the next edits of the new object would look like synchronized ones.
    """
    source = move.metadata_of(move.status)
    if not move.status or source is None or move.noted <= source.generation or _blind(move):
        return None
    why = f"generation {move.noted} is noted, but {move.status}'s object was recreated and is at {source.generation}"
    return Plan.of(_leave(move, why=why))


def _leave(move: Move, *, why: str, **fields: Any) -> Merge:
    fields = {"authoritativeAPI": MIGRATING, "synchronizedAPI": move.status, **fields}
    return status_fields(move.machine_api, fields, why=why)


def noted(move: Move, plan: Plan) -> int | None:
    """The recorded generation, or the one that `plan` records; None if `plan` writes anything else.

    A request to move authority is a new generation itself, so there is always one to be recorded first.
    """
    if all(isinstance(action, Emit) for action in plan.needed):
        return move.noted
    return _noting(plan).get(_GENERATION)


def is_synchronized(move: Move, *, authority: str, noted: int | None = None) -> bool:
    """The mirror has the present generation of the object of `authority`, according to the record.

    `noted` is the generation that is about to be recorded, None for that of the status.
    """
    source = move.metadata_of(authority)
    if source is None or not is_true(conditions_of(move.machine_api.tree), SYNCHRONIZED):
        return False
    return (move.noted if noted is None else noted) == source.generation


def up_to_date(copying: Plan) -> bool:
    """`copying`, the plan that updates the mirror, succeeds and changes only status."""
    last = copying.actions[-1] if copying.actions else None
    if not isinstance(last, Merge) or not synchronizes(last):
        return False
    return all(isinstance(action, Emit) or action.subresource == "status" for action in copying.needed)


def synchronizes(last: Merge) -> bool:
    """The last write of a plan says that the mirror is synchronized by then."""
    return is_true(conditions_of(last.desired), SYNCHRONIZED)


def taken_up(move: Move, cluster: Seen[capi.Cluster]) -> bool:
    """The controllers of the present authority have noticed that they may act.

    Until they have, their `Paused` is from before. A move that began now would take it for the answer to its own
    request, although they have just begun to act. While `cluster` is paused, the controllers of Cluster API may not act
    on any object, and their `Paused` is about that.
    """
    if move.status == MACHINE_API:
        return not says_paused(move.machine_api)
    if isinstance(cluster, Present) and cluster.object.spec.paused:
        return True
    return not any(part.reports and not part.annotated and says_paused(part.seen) for part in move.parts)


def proceed(move: Move, *, in_sync: Callable[[], bool], now: datetime) -> Plan:
    """The next step while status is Migrating.

    `in_sync` tells whether the mirror equals the converted object of `move.source` (`up_to_date`).
    """
    if move.spec not in (MACHINE_API, CLUSTER_API):
        return Plan.nothing(f"spec.authoritativeAPI is {move.spec!r}: there is no such API to move to")
    goal = move.spec
    if goal != move.source:
        noted = is_synchronized(move, authority=move.source)
        if not move.came_from and not noted:
            return Plan().then(WaitFor("the mirror to be synchronized: authority was not moved by this controller"))
        if move.came_from and not (noted and move.parts[0].metadata is not None and _unchanged(move, in_sync)):
            # No mirror is created or changed while there is no authority, so authority has to go back.
            goal = move.source
    return _move_to_machine_api(move, now=now) if goal == MACHINE_API else _move_to_cluster_api(move, now=now)


def _unchanged(move: Move, in_sync: Callable[[], bool]) -> bool:
    if move.source == MACHINE_API and not all(part.annotated or part.metadata is None for part in move.parts):
        return True  # Cluster API is unpaused, and changes the objects.
    return in_sync()


def released(move: Move) -> Plan:
    """Cluster API is authoritative and its object has the mark of a mirror: remove the mark.

    | mark and pause | synchronizedGeneration | the pause |
    |---|---|---|
    | with our values | 0: nothing was mirrored from it yet | is the mirror's: removed, so that Cluster API acts |
    | with our values | above 0: it has been the authority for a while | is somebody else's, like the mark: it stays |
    | with other values | any | is somebody else's: it stays |

    A move leaves no mark. The mark stays if a user recreates the Machine API object of a mirror.
    """
    ours = move.noted == 0 and move.parts[0].annotations.get(AUTHORITY_ANNOTATION) == MACHINE_API

    def goes(key: str, value: str) -> bool:
        return key in _OF_A_MIRROR or (ours and (key, value) == (PAUSED_ANNOTATION, ""))

    return Plan.of(*_without(move, goes))


def relied_upon(move: Move, step: Plan, last: Outcome) -> frozenset[type[KubernetesObject]]:
    """The kinds of the objects that have to be read live before `step`, the next one while status is Migrating.

    Caches are good enough for waiting, but not for letting one side act: a report about an earlier move would look like
    the answer to this one. Objects that the step writes are left out, because a stale write is refused; so are those
    that we wrote in the round before, because the API server's answer is known.

    Asking for a pause lets neither side act. But if authority no longer moves, no later step would remove the
    annotation.
    """
    if not step.needed:
        return frozenset()
    kinds: list[type[KubernetesObject]] = [type(move.machine_api.object)]
    if not isinstance(step.next, WaitFor):
        kinds += [part.kind for part in move.parts]
    written = [action.target.kind for action in step.needed]
    answered = [result.action.target.kind for result in last.results if result.error is None]
    return frozenset(kinds).difference(written, answered)


def unheard(found: Present[Any], *, now: datetime) -> Plan | None:
    """Wait, if authority has just arrived and the Machine API's controllers have not reported it yet.

    They report it in the object that we write next, and simultaneous writes conflict. None if their `Paused` is not
    about the move (any more), or the time is over: they may not be running.
    """
    conditions = conditions_of(found.tree)
    changed, paused = find(conditions, SYNCHRONIZED), find(conditions, PAUSED)
    if changed is None or paused is None or changed.get("reason") != AUTHORITY_CHANGED.reason:
        return None
    if f"'{MIGRATING}'" not in str(paused.get("message")):
        return None
    left = _COURTESY - _seconds_since(changed.get("lastTransitionTime"), now)
    if not 0 < left <= _COURTESY:
        return None
    return Plan().then(WaitFor("the Machine API's controllers to say that they know of their new authority", left))


def stuck(found: Present[Any], fault: Fault) -> Plan:
    """A step was refused. `Synchronized` stays as it is, because it decides whether the move may go on."""
    note = f"Authority is moving and cannot go on: {fault.message}"
    aim = target(found)
    event = Emit(target=aim, type="Warning", reason="SynchronizationWarning", note=note, source=EVENT_SOURCE)
    return Plan.of(event).retry(fault.message)


def _move_to_machine_api(move: Move, *, now: datetime) -> Plan:
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


def _move_to_cluster_api(move: Move, *, now: datetime) -> Plan:
    never_left = move.came_from == CLUSTER_API and not any(part.annotated for part in move.parts)
    if not never_left and not says_paused(move.machine_api):
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
    conditions = put(conditions_of(move.machine_api.tree), AUTHORITY_CHANGED.condition, now=now)
    fields = {
        "authoritativeAPI": authority,
        "synchronizedAPI": authority,
        _GENERATION: 0,
        "conditions": conditions,
    }
    return Plan.of(status_fields(move.machine_api, fields, why=f"authority has moved to {authority}"))


def _pause(move: Move) -> Iterator[Merge]:
    marks = {PAUSED_ANNOTATION: "", AUTHORITY_ANNOTATION: MACHINE_API}
    for place, part in enumerate(move.parts):
        if (meta := part.metadata) is None:
            continue
        wanted = marks if place == 0 else {PAUSED_ANNOTATION: ""}
        # An object that somebody else has paused already, with any value, stays as it is.
        added = {key: value for key, value in wanted.items() if key not in meta.annotations}
        kept = dict(meta.annotations)
        if not part.annotated:
            kept.pop(MIRRORED_SPEC_ANNOTATION, None)  # Its provider has acted since, or may have.
        yield _annotate(part, meta, {**kept, **added}, why="the Machine API becomes authoritative")


def _unpause(move: Move) -> Iterator[Merge]:
    return _without(move, lambda key, _: key in (PAUSED_ANNOTATION, *_OF_A_MIRROR))


def _without(move: Move, goes: Callable[[str, str], bool]) -> Iterator[Merge]:
    # The Machine last: then its controllers continue.
    for part in reversed(move.parts):
        if (meta := part.metadata) is None:
            continue
        left = {key: value for key, value in meta.annotations.items() if not goes(key, value)}
        yield _annotate(part, meta, left, why="Cluster API is authoritative")


def _annotate(part: Pausable, meta: ObjectMeta, annotations: Mapping[str, str], *, why: str) -> Merge:
    return Merge(
        target=target_of(part.kind, meta),
        observed={"metadata": {"annotations": meta.annotations}},
        desired={"metadata": {"annotations": annotations}},
        why=why,
    )


def _blind(move: Move) -> Plan | None:
    """The plan while it is unknown whether an object has to be paused."""
    for part in move.parts:
        if isinstance(part.seen, NotServedKind):
            return Plan().retry(part.seen.why)
        if isinstance(part.seen, Unreadable) and part.reports:
            return Plan().retry(f"{part} cannot be read, so it is unknown whether it is paused: {part.seen.why}")
    return None


def _noting(plan: Plan) -> dict[str, Any]:
    """The generation as a field of the status, if `plan` writes nothing else; else no field."""
    match [action for action in plan.needed if not isinstance(action, Emit)]:
        case [Merge(part="status", patch={"status": {**fields}})] if [*fields] == [_GENERATION]:
            return {_GENERATION: fields[_GENERATION]}
    return {}


def _seconds_since(time: Any, now: datetime) -> float:
    """Seconds since a time in an object; infinity if it is no time."""
    try:
        return (now - datetime.fromisoformat(time)).total_seconds()
    except (TypeError, ValueError):
        return inf
