"""Says in a sentence how the update goes: what is so, and the worst of what needs somebody.

| what is so, the first that applies | the headline | tone |
|---|---|---|
| no update, and a request was refused | The update to 4.16.1 was refused: the reason | bad |
| no update, and a request has no answer yet | The update to 4.16.1 was asked for, and is not accepted yet | busy |
| no update, but something would stop the next one | Not updating, 4.16.0 runs: what it is | bad |
| no update, and ClusterVersion cannot reconcile | Not updating, and 4.16.0 is failing: the operator's message | bad |
| no update | Not updating: 4.16.0 runs | calm |
| ClusterVersion does not tell | Whether the cluster is updating is not known: why | warn |
| ClusterVersion is Failing | The update to 4.16.1 is failing: the operator's message | bad |
| it takes far longer than estimated | The update to 4.16.1 is far behind: 4 of 8 operators updated | bad |
| it takes longer than estimated | Updating to 4.16.1: 4 of 8 operators updated, later than estimated | at least warn |
| operators are being updated | Updating to 4.16.1: 2 of 8 operators updated | that of the worst trouble, or busy |
| nodes are being updated | Control plane updated to 4.16.1; pool worker: 1 of 3 nodes updated | the same |
| a pool stands still | Control plane updated to 4.16.1; pool worker stands still, 3 nodes wait: the trouble | bad |
| all pools that are left are paused | Control plane updated to 4.16.1; pool worker is paused, 3 nodes wait | calm |

An installation is told as one, and a rollback. Of several troubles the worst is told, and how many more there are.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from windlass.kube.shorten import shortened
from windlass.update_status.alike import alike
from windlass.update_status.assessment.insights import is_failing, says_failing
from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.constants import CONTROL_PLANE_POOLS, MASTER
from windlass.update_status.estimate import progress
from windlass.update_status.report import CauseKind, ControlPlane, Impact, Insight, Level, Pool, Report, Summary
from windlass.update_status.times import Moment

LONGEST: Final = 240
"""Characters of a reason; the whole text stands with its trouble."""
_NAMED: Final = 2
"""Pools that are named."""
_RECONCILING: Final = "Error while reconciling"
"""So the Cluster Version Operator begins its message while it keeps a version and fails."""
_NODES_UNKNOWN: Final = ("pools and nodes:", "nodes:")


class Tone(StrEnum):
    """CALM: the update is at rest, or somebody paused the rest. BUSY: the update goes on. BAD: it needs somebody."""

    CALM = "calm"
    BUSY = "busy"
    WARN = "warn"
    BAD = "bad"


_TONES: Final = {Level.CRITICAL: Tone.BAD, Level.ERROR: Tone.BAD, Level.WARNING: Tone.WARN}


class Headline(Struct, frozen=True, kw_only=True):
    """`text`: what is so. `why`: the reason, or the worst trouble, mostly in the cluster's words; "" for none."""

    text: str
    why: str = ""
    tone: Tone


class _Trouble(Struct, frozen=True, kw_only=True):
    """`pool`: which stands still because of it, as a whole."""

    text: str
    level: Level
    stops: bool
    pool: str = ""


def headline(report: Report, *, now: Moment) -> Headline:
    """The headline at `now`."""
    plane = report.control_plane
    troubles = sorted(_troubles(report), key=lambda one: (-one.level, not one.stops, not one.pool))
    if not report.updating:
        return _at_rest(report, troubles)
    failing = next((one for one in report.insights if is_failing(one)), None)
    if failing is not None:
        return Headline(text=_failing(report), why=_short(failing.description) + _more(troubles), tone=Tone.BAD)
    tone = _TONES.get(troubles[0].level, Tone.BUSY) if troubles else Tone.BUSY
    if plane.updating != "True":
        waits = all(_paused(pool) == pool.summary.left for pool in _left(report))
        return Headline(
            text=f"{_plane_updated(plane)}; {_workers(report, troubles)}",
            why=_worst(troubles) or _short(plane.doubt),
            tone=Tone.CALM if waits and tone is Tone.BUSY else tone,
        )
    text, found = _operators(report), "" if _installs(plane) else progress(plane, now).assessment
    if found == "Stalled":
        why = _worst(troubles) or _short(plane.message)
        return Headline(text=f"The {_noun(plane)} {_target(plane)} is far behind: {text}", why=why, tone=Tone.BAD)
    if found == "Progressing - Slow":
        text, tone = f"{text}, later than estimated", Tone.WARN if tone is Tone.BUSY else tone
    return Headline(text=f"{_verb(plane)} {_target(plane)}: {text}", why=_worst(troubles), tone=tone)


def _at_rest(report: Report, troubles: list[_Trouble]) -> Headline:
    plane = report.control_plane
    request, version = plane.request, _target(plane)
    if request is not None and plane.refused:
        what = f"The update to {request.target}" if request.target else "The request to update"
        why = _short(request.message or request.reason)
        return Headline(text=f"{what} was refused", why=why, tone=Tone.BAD)
    if plane.updating not in ("True", "False"):
        why = _short(plane.doubt or plane.message)
        return Headline(text="Whether the cluster is updating is not known", why=why, tone=Tone.WARN)
    if request is not None:
        text = f"The update to {request.target} was asked for, and is not accepted yet"
        others = [one for one in troubles if one.level > Level.INFO]
        return Headline(text=text, why=_worst(others), tone=_TONES[others[0].level] if others else Tone.BUSY)
    if plane.message.startswith(_RECONCILING):
        return Headline(text=f"Not updating, and {version} is failing", why=_short(plane.message), tone=Tone.BAD)
    if plane.doubt:
        return Headline(text=f"Not updating: {version}", why=_short(plane.doubt), tone=Tone.WARN)
    if troubles:
        tone = _TONES.get(troubles[0].level, Tone.CALM)
        return Headline(text=f"Not updating, {version} runs", why=_worst(troubles), tone=tone)
    if any(gap.startswith(_NODES_UNKNOWN) for gap in report.gaps):
        text = f"The control plane is not updating: {version} runs; its nodes could not be read"
        return Headline(text=text, tone=Tone.WARN)
    return Headline(text=f"Not updating: {version} runs", tone=Tone.CALM)


def _troubles(report: Report) -> Iterator[_Trouble]:
    """Causes, and insights that are no symptoms; what somebody wants is none. In the order of the report."""
    for cause in report.causes:
        if cause.kind is not CauseKind.PAUSE:
            yield _Trouble(text=cause.summary, level=cause.level, stops=cause.level >= Level.ERROR)
    alone = [one for one in report.insights if cause_of(one, report.causes) is None]
    owners = {about for one in alone if one.follows is None for about in one.resources}
    for group in alike(one for one in alone if one.follows not in owners and _counts(one)):
        one = group.first
        about = one.resources[0].resource if one.resources else ""
        text = one.description if says_failing(one) else ": ".join(filter(None, (group.summary, group.reason)))
        yield _Trouble(
            text=_short(text),
            level=one.level,
            stops=one.impact is Impact.UPDATE_STALLED,
            pool=(one.pool or MASTER) if one.standstill and about == "machineconfigpools" else "",
        )


def _counts(insight: Insight) -> bool:
    """Whether it keeps or slows something: not that an earlier update was never completed. Failing is told first."""
    return insight.level > Level.INFO and insight.impact is not Impact.NONE and not is_failing(insight)


def _worst(troubles: list[_Trouble]) -> str:
    if not troubles:
        return ""
    return troubles[0].text + _more(troubles[1:])


def _more(troubles: list[_Trouble]) -> str:
    errors = sum(one.level >= Level.ERROR for one in troubles)
    return f" (and {errors} more error{'s' * (errors > 1)})" if errors else ""


def _failing(report: Report) -> str:
    plane = report.control_plane
    if plane.updating == "True":
        return f"The {_noun(plane)} {_target(plane)} is failing"
    return f"{_plane_updated(plane)}, and failing; {_workers(report, [])}"


def _plane_updated(plane: ControlPlane) -> str:
    if plane.updating == "False" and not plane.doubt:
        return f"Control plane updated to {_target(plane)}"
    return f"Whether the control plane is updated to {_target(plane)} is not known"


def _installs(plane: ControlPlane) -> bool:
    return plane.versions is not None and plane.versions.previous is None


def _rolls_back(plane: ControlPlane) -> bool:
    return plane.versions is not None and plane.versions.rollback


def _verb(plane: ControlPlane) -> str:
    if _installs(plane):
        return "Installing"
    return "Rolling back to" if _rolls_back(plane) else "Updating to"


def _noun(plane: ControlPlane) -> str:
    if _installs(plane):
        return "installation of"
    return "rollback to" if _rolls_back(plane) else "update to"


def _target(plane: ControlPlane) -> str:
    return plane.versions.target if plane.versions else "an unknown version"


def _operators(report: Report) -> str:
    plane = report.control_plane
    text = f"{plane.updated} of {len(plane.operators)} operators updated"
    pools = [pool.without_windows for pool in report.pools if pool.name in CONTROL_PLANE_POOLS]
    done, managed = (sum(getattr(pool.summary, name) for pool in pools) for name in ("updated", "managed"))
    paused = [f"pool {pool.name} is paused, {_wait(_paused(pool))}" for pool in pools if _paused(pool)]
    begun = 0 < done < managed or any(pool.summary.progressing for pool in pools)
    if report.single_node and begun:
        text += "; its only node is being updated, and nothing answers while it restarts"
    elif begun:
        text += f", {done} of {managed} control plane nodes"
    return "; ".join((text, *paused))


def _left(report: Report) -> list[Pool]:
    """The pools of workers with something to do."""
    pools = (pool.without_windows for pool in report.pools if pool.name not in CONTROL_PLANE_POOLS)
    left = [pool for pool in pools if pool.summary.left]
    return left or [pool for pool in report.pools if pool.name != MASTER and pool.summary.left]


def _workers(report: Report, troubles: list[_Trouble]) -> str:
    still = {one.pool for one in troubles if one.pool}
    left = sorted(_left(report), key=lambda pool: (pool.name not in still, bool(_paused(pool))))
    texts = [_pool(pool, stands_still=pool.name in still) for pool in left[:_NAMED]]
    more = len(left) - _NAMED
    return "; ".join((*texts, *([f"{more} more pool{'s' * (more > 1)} to go"] if more > 0 else [])))


def _pool(pool: Pool, *, stands_still: bool) -> str:
    summary: Summary = pool.summary
    if stands_still:
        return f"pool {pool.name} stands still, {_wait(summary.left)}"
    if paused := _paused(pool):
        begun = summary.left - paused
        ends = f", {begun} {'is' if begun == 1 else 'are'} being finished" if begun else ""
        return f"pool {pool.name} is paused, {_wait(paused)}{ends}"
    return f"pool {pool.name}: {summary.updated} of {summary.managed} nodes updated"


def _paused(pool: Pool) -> int:
    """Nodes that wait because the pool is paused."""
    return max(0, pool.summary.excluded - pool.summary.unmanaged) if pool.paused else 0


def _wait(nodes: int) -> str:
    return "1 node waits" if nodes == 1 else f"{nodes} nodes wait"


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), LONGEST)
