"""What an OpenStackCluster says of its parts, and when it is looked at again.

| a part | its condition |
|---|---|
| is there | True |
| has requests, or waits for the cloud | False, `Progressing`, with what is awaited; one that was there stays True |
| is in the way of itself: a field, an answer, a refusal | False, with the cause |
| was there, and only the cloud's answer is missing | True for five minutes: services are restarted |
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.meta import Condition
from windlass.kube.conditions import condition, is_true
from windlass.kube.control.plan import Merge, Outcome, Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.kube.errors import Failure
from windlass.openstack import status
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cluster.part import Obstacle, Part
from windlass.openstack.cluster.snapshot import ClusterCloudFacts
from windlass.openstack.sending import RequestGate, at
from windlass.openstack.status import (
    AUTHENTICATED,
    BASTION_READY,
    CLUSTER,
    CLUSTER_PARTS,
    NOT_DELETING,
    NOT_PAUSED,
    PROGRESSING,
    Reason,
    first_visit,
    unvisited,
)
from windlass.openstack.trouble import Trouble, invalid, lasting_since, trouble_of, trouble_since, unmet

OVERDUE: Final = 300.0
"""Seconds without an answer of the cloud after which a part that was there counts as missing."""
_SLOWLY: Final = 20.0
"""The part of the time since the cluster began to change after which it is looked at again. A load balancer is made in
a dozen steps, and each has to be waited for."""
_LONGEST: Final = 10.0
"""Seconds between two looks at what the cloud is doing."""


class PartTrouble(Struct, frozen=True):
    """A trouble with a part, and when it is tried again."""

    trouble: Trouble
    until: datetime


def write(
    found: Present[OpenStackCluster],
    conditions: Iterable[Condition],
    *,
    now: datetime,
    fields: Mapping[str, Any] | None = None,
    awaited: str = "Waiting for the cloud",
) -> Merge:
    """The one status write; conditions that are missing are added, Unknown."""
    first = first_visit(unvisited(found, CLUSTER), awaited=awaited)
    return status.write(found, (*first, *conditions), parts=(*CLUSTER_PARTS, BASTION_READY), now=now, fields=fields)


def troubled(
    found: Present[OpenStackCluster],
    troubles: Sequence[PartTrouble],
    *,
    now: datetime,
    good: Sequence[Condition] = (NOT_PAUSED, NOT_DELETING),
    fields: Mapping[str, Any] | None = None,
) -> Plan:
    """Each trouble in its condition; the first that is tried again tells when."""
    if locked_out := [each for each in troubles if each.trouble.type == AUTHENTICATED]:
        troubles, good = locked_out[:1], (NOT_PAUSED, NOT_DELETING)
    first = min(troubles, key=lambda each: each.until)
    worst = next((each for each in troubles if not each.trouble.by_itself), first).trouble
    firsts: dict[str, Trouble] = {}
    for each in troubles:
        firsts.setdefault(each.trouble.type, each.trouble)
    bad = [each.condition for each in firsts.values() if not _stays(found, each, now=now)]
    merge = write(found, (*good, *bad, worst.progress(first.until)), now=now, fields=fields)
    return Plan.of(merge).then(at(first.until, worst.message, now=now))


def obstacle_trouble(found: Present[OpenStackCluster], obstacle: Obstacle, asked: datetime) -> PartTrouble:
    """`asked`: when the cloud said so."""
    if isinstance(obstacle.why, CloudFailure):
        about = trouble_of(obstacle.why, doing=obstacle.doing, part=obstacle.part, reason=obstacle.reason)
    elif obstacle.reason in (Reason.INVALID_CONFIGURATION, Reason.OWNED_BY_ANOTHER):
        about = replace(invalid(obstacle.why, part=obstacle.part), reason=obstacle.reason)
    else:
        about = unmet(obstacle.why, part=obstacle.part, reason=obstacle.reason)
    return part_trouble(found, about, asked)


def part_trouble(found: Present[OpenStackCluster], about: Trouble, failed: datetime) -> PartTrouble:
    return PartTrouble(about, about.due(failed, since=lasting_since(found.object.status.conditions, about.type)))


def gate_of(
    found: Present[OpenStackCluster], cloud: ClusterCloudFacts, parts: Sequence[Part], *, last: Outcome, now: datetime
) -> RequestGate:
    """What decides which requests of `parts` are sent."""

    def explain(request: CloudRequest, failure: Failure) -> Trouble:
        part = next(part for part in parts if request in part.requests)
        doing = f"{request.verb} {request.subject}".strip()
        return trouble_of(failure, doing=doing, part=part.condition, reason=part.reason, where=cloud.where)

    conditions = found.object.status.conditions
    return RequestGate(
        blockers=cloud.blockers, last=last, now=now, since=lambda part: lasting_since(conditions, part), explain=explain
    )


def conditions_of(
    found: Present[OpenStackCluster], parts: Iterable[Part], *, without: Iterable[str] = ()
) -> list[Condition]:
    """Those of parts `without` trouble, and what is awaited."""
    bad, awaited = set(without), dict[str, list[str]]()
    for part in parts:
        if what := part.waits or ", ".join(f"{each.verb} {each.subject}" for each in part.requests):
            awaited.setdefault(part.condition, []).append(what)
    good = []
    for name in CLUSTER_PARTS:
        if name in bad:
            continue
        if name in awaited and not is_true(found.object.status.conditions, name):
            good.append(condition(name, False, Reason.PROGRESSING, f"Waiting: {'; '.join(awaited[name])}"))
        else:
            good.append(condition(name, True, Reason.READY))
    return [*good, NOT_PAUSED, NOT_DELETING]


def pause(found: Present[OpenStackCluster], parts: Iterable[Part], *, now: datetime) -> RequeueAfter | None:
    """The next look at what the cloud is doing: the longer it lasts, the later. None: nothing is awaited."""
    waiting = [part for part in parts if part.waits]
    if not waiting:
        return None
    began = trouble_since(found.object.status.conditions, PROGRESSING, "True") or now
    seconds = min(max((now - began).total_seconds() / _SLOWLY, min(part.again for part in waiting)), _LONGEST)
    return RequeueAfter(seconds, "; ".join(part.waits for part in waiting))


def _stays(found: Present[OpenStackCluster], about: Trouble, *, now: datetime) -> bool:
    """The part was ready, and only the cloud's answer is missing, for not too long."""
    if about.reason != Reason.OPENSTACK_ERROR or not about.by_itself:
        return False
    conditions = found.object.status.conditions
    if not is_true(conditions, about.type):
        return False
    since = lasting_since(conditions, about.type)
    return since is None or (now - since).total_seconds() < OVERDUE
