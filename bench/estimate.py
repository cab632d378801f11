"""Measures how often the end of an update lies in the range that is expected, over drawn updates. It takes no times."""

import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec import Struct

from bench.drawn_updates import Course, DrawnCluster, Recorder, draw_cluster, draw_course
from bench.recorded_updates import looks, recordings
from bench.tables import Table, against
from windlass.update_status.estimate import progress
from windlass.update_status.expectation import expect
from windlass.update_status.report import Estimate, Report
from windlass.update_status.times import SECOND, Moment

STEP: Final = 60
"""Seconds between two looks."""
TARGET: Final = 80
"""Percent of the looks at which the end has to be inside."""
PLANE: Final = "control plane"


class Sight(Struct, frozen=True, kw_only=True):
    """One look at one part: seconds that were left, and those that were expected. `settled`: two of its nodes are done.

    `by_oc`: what `oc` would have said, for the control plane.
    """

    part: str
    earlier: int
    settled: bool
    left: float
    low: float
    middle: float
    high: float
    by_oc: float | None = None

    @property
    def inside(self) -> bool:
        return self.low <= self.left <= self.high


async def measure(_: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects` updates; `rounds` has no meaning."""
    sights = [sight for number in range(objects) for sight in sights_of(number)]
    by_part = defaultdict(list)
    for sight in sights:
        by_part["pools" if sight.part != PLANE else PLANE, "history" if sight.earlier else "none"].append(sight)
    rows = [_row(part, history, found) for (part, history), found in sorted(by_part.items())]
    rows.append(_row("all", "", sights))
    columns = list(rows[0])
    drawn = Table(f"Expected ends of {objects} drawn updates", columns, rows, _NOTES)
    recorded = [_recorded(path, as_update=as_update) for path in recordings() for as_update in (False, True)]
    if not recorded:
        return [drawn]
    return [drawn, Table("Expected ends in recordings", list(recorded[0]), recorded, _RECORDED)]


_NOTES: Final = (
    f"a look every {STEP} s; settled: after the first two nodes of the part (of the control plane: two of its nodes)",
    "width: the median of (latest - earliest) / what is left; error: the median of |middle - end| / what is left",
    "inside by oc: the end lies within 20 % of what `oc` prints as the remaining time of the control plane",
)


_RECORDED: Final = (
    "recordings are installations: no end is told of one. As an update: the same looks, with an earlier release in the "
    "history; all of its operators begin at once and are unavailable for most of the time",
    "early: even the latest end that was told is before the real one",
)


def _recorded(path: Path, *, as_update: bool) -> dict[str, Any]:
    found = looks(path, as_update=as_update)
    return {
        "recording": path.name.partition(".")[0],
        "seen as": "an update" if as_update else "an installation",
        "looks": len(found),
        "told": sum(look.told is not None for look in found),
        "inside": sum(look.inside for look in found),
        "early": sum(look.early for look in found),
    }


def _row(part: str, history: str, sights: list[Sight]) -> dict[str, Any]:
    settled = [one for one in sights if one.settled]
    inside = 100 * statistics.fmean(one.inside for one in settled)
    by_oc = [abs(one.by_oc - one.left) <= 0.2 * one.left for one in settled if one.by_oc is not None]
    return {
        "part": part,
        "earlier updates": history,
        "looks": len(sights),
        "inside, all": 100 * statistics.fmean(one.inside for one in sights),
        "settled": len(settled),
        "inside, settled": inside,
        "target": against(inside, TARGET, at_least=True, unit="%"),
        "width": statistics.median((one.high - one.low) / one.left for one in settled),
        "error": statistics.median(abs(one.middle - one.left) / one.left for one in settled),
        "inside by oc": 100 * statistics.fmean(by_oc) if by_oc else None,
    }


def sights_of(seed: int, *, step: int = STEP) -> list[Sight]:
    """Looks, `step` seconds apart, at one update of a drawn cluster, which has had some before."""
    chance = Random(seed)
    cluster = draw_cluster(chance)
    recorder = Recorder(cluster)
    earlier = chance.choice([0, 0, 1, 2, 4])
    for number in range(earlier):
        recorder.whole(draw_course(cluster, number, chance))
    return list(_sights(cluster, draw_course(cluster, earlier, chance), recorder, earlier, step))


def _sights(cluster: DrawnCluster, course: Course, recorder: Recorder, earlier: int, step: int) -> Iterator[Sight]:
    at_a_time = {pool.name: pool.at_a_time for pool in cluster.pools}
    occasions = course.occasions
    done = 0
    for time in range(step, int(course.end), step):
        while done < len(occasions) and occasions[done] <= time:
            recorder.look(course, occasions[done])
            done += 1
        now = course.start + time * SECOND
        report = expect(recorder.look(course, time), records=recorder.records, at_a_time=at_a_time, now=now)
        yield from _parts(course, report, time, now, earlier)


def _parts(course: Course, report: Report, time: float, now: Moment, earlier: int) -> Iterator[Sight]:
    def sight(part: str, found: Estimate, end: float, updated: int, by_oc: float | None = None) -> Sight:
        low, middle, high = ((one - now) / SECOND for one in (found.earliest, found.middle, found.latest))
        left, settled = end - time, updated >= 2
        return Sight(
            part=part, earlier=earlier, settled=settled, left=left, low=low, middle=middle, high=high, by_oc=by_oc
        )

    masters = next(pool for pool in report.pools if pool.name == "master")
    plane = report.control_plane
    if plane.expected is not None and time < course.plane_ended:
        by_oc = progress(plane, now).estimate / SECOND
        yield sight(PLANE, plane.expected, course.plane_ended, masters.summary.updated, by_oc)
    for pool in report.pools:
        if pool.expected is not None and time < course.ended_pool(pool.name):
            yield sight(pool.name, pool.expected, course.ended_pool(pool.name), pool.summary.updated)
