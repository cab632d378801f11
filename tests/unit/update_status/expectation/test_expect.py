"""When the control plane and pools are expected to be updated: tables, and a drawn update or two."""

import statistics
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from bench.drawn_updates import Recorder, draw_cluster, draw_course
from bench.estimate import sights_of
from windlass.api.update_record import NodeTook, Took
from windlass.update_status.assessment.pools import summarize
from windlass.update_status.expectation import expect
from windlass.update_status.history import record_of
from windlass.update_status.record import Record
from windlass.update_status.report import (
    ControlPlane,
    Estimate,
    Health,
    Node,
    Operator,
    Phase,
    Pool,
    Report,
    State,
    Versions,
)
from windlass.update_status.times import HOUR, MINUTE, SECOND, ZERO, moment, rfc3339

START = moment("2026-03-01T12:00:00Z")
NOW = START + 2 * HOUR
COMPLETED = START + HOUR


def operator(name: str, state: State, since: int = ZERO) -> Operator:
    return Operator(name=name, state=state, health=Health.HEALTHY, since=since, health_since=ZERO)


def plane(*operators: Operator, **changes: Any) -> ControlPlane:
    found = ControlPlane(
        updating="True",
        since=START,
        versions=Versions(target="4.16.1", previous="4.16.0"),
        started=START,
        last_progress=max((one.since for one in operators if one.since != ZERO), default=None),
        baseline=HOUR,
        operators=operators,
    )
    return structs.replace(found, **changes)


DONE = plane(operator("etcd", State.UPDATED, COMPLETED), updating="False", completed=COMPLETED)


def pool(name: str, *phases: Phase, **changes: Any) -> Pool:
    nodes = tuple(
        Node(name=f"{name}-{number}", phase=phase, updating=phase in (Phase.DRAINING, Phase.UPDATING))
        for number, phase in enumerate(phases)
    )
    return structs.replace(Pool(name=name, summary=summarize(nodes), nodes=nodes), **changes)


def record_now(found: Report, nodes: Iterable[NodeTook]) -> Record:
    return Record(
        name=record_of(found),
        target="4.16.1",
        state="Progressing",
        started=rfc3339(START),
        nodes=list(nodes),
    )


def earlier(*, nodes: Iterable[NodeTook] = (), operators: Iterable[Took] = ()) -> Record:
    return Record(
        name="earlier",
        target="4.16.0",
        state="Completed",
        started="2026-01-01T12:00:00Z",
        nodes=list(nodes),
        operators=list(operators),
    )


def took(
    name: str, begun: float, drained: float | None = None, ended: float | None = None, *, since: int = START
) -> NodeTook:
    """Minutes since the start."""

    def clock(minutes: float | None) -> str | None:
        return None if minutes is None else rfc3339(since + int(minutes * MINUTE))

    return NodeTook(
        name=name, pool=name.partition("-")[0], started=clock(begun), drained=clock(drained), completed=clock(ended)
    )


def minutes_left(found: Estimate | None, now: int = NOW) -> tuple[int, int, int]:
    assert found is not None
    low, middle, high = (round((one - now) / MINUTE) for one in (found.earliest, found.middle, found.latest))
    return low, middle, high


def of_pool(
    found: Pool, records: Sequence[Record] = (), *, at_a_time: int = 1, control_plane: ControlPlane = DONE
) -> Estimate | None:
    (after,) = expect(
        Report(control_plane=control_plane, pools=(found,)),
        records=records,
        at_a_time={found.name: at_a_time},
        now=NOW,
    ).pools
    return after.expected


def many(count: int, minutes: float) -> list[NodeTook]:
    return [took(f"worker-{number}", minutes * number, None, minutes * (number + 1)) for number in range(count)]


def test_without_records_nodes_take_what_is_usual() -> None:
    found = of_pool(pool("worker", *[Phase.PENDING] * 6))
    assert minutes_left(found) == (31, 78, 174)
    assert found is not None
    assert found.basis == "usual times of nodes, 1 at a time"


def test_so_many_at_a_time_are_so_much_faster() -> None:
    found = of_pool(pool("worker", *[Phase.PENDING] * 6), at_a_time=3)
    low, middle, high = minutes_left(found)
    assert 25 <= middle <= 35, (low, middle, high)
    assert found is not None
    assert found.basis.endswith("3 at a time")


@pytest.mark.parametrize("minutes", [5, 20, 60])
def test_nodes_of_this_update_tell_most(minutes: int) -> None:
    pending = pool("worker", *[Phase.UPDATED] * 10, *[Phase.PENDING] * 10)
    records = [record_now(Report(control_plane=DONE), many(10, minutes)), earlier(nodes=many(10, 10))]
    found = of_pool(pending, records)
    assert found is not None
    assert found.basis == "10 nodes of this update and 10 nodes of earlier ones, 1 at a time"
    low, middle, high = minutes_left(found)
    assert middle == pytest.approx(10 * minutes, rel=0.3)
    assert low < 10 * minutes < high


def test_nodes_of_other_pools_tell_little() -> None:
    infra = [structs.replace(one, name=f"infra-{number}", pool="infra") for number, one in enumerate(many(10, 60))]
    found = of_pool(pool("worker", *[Phase.PENDING] * 6), [record_now(Report(control_plane=DONE), infra)])
    other = of_pool(pool("worker", *[Phase.PENDING] * 6), [record_now(Report(control_plane=DONE), many(10, 60))])
    assert minutes_left(found)[1] < minutes_left(other)[1] * 0.75
    assert found is not None
    assert found.basis == "usual times of nodes, 1 at a time"


def test_a_drain_that_lasts_widens_the_range_and_never_ends_it() -> None:
    draining = pool("worker", Phase.DRAINING)

    def after(minutes: float) -> tuple[int, int, int]:
        records = [record_now(Report(control_plane=DONE), [took("worker-0", 120 - minutes)])]
        return minutes_left(of_pool(draining, records))

    first, hour, day = after(1), after(60), after(24 * 60)
    assert first[1] < hour[1] < day[1]
    assert first[2] < hour[2] < day[2]
    assert hour[0] < first[2], "it may also be over soon"


def test_after_a_long_drain_the_rest_takes_what_it_takes() -> None:
    updating = pool("worker", Phase.UPDATING)
    slow = of_pool(updating, [record_now(Report(control_plane=DONE), [took("worker-0", 10, 119)])])
    quick = of_pool(updating, [record_now(Report(control_plane=DONE), [took("worker-0", 118, 119)])])
    assert slow == quick


@pytest.mark.parametrize(
    "found",
    [
        pool("worker", Phase.UPDATED),
        pool("worker"),
        pool("worker", Phase.UPDATED, Phase.PAUSED),
        pool("worker", Phase.DRAINING, Phase.PENDING, paused=True),
    ],
)
def test_what_is_updated_or_paused_has_no_expected_end(found: Pool) -> None:
    pending = pool("infra", Phase.PENDING)
    after, _ = expect(Report(control_plane=DONE, pools=(found, pending)), records=(), at_a_time={}, now=NOW).pools
    assert after.expected is None


def test_nothing_is_expected_while_nothing_is_updated() -> None:
    report = Report(control_plane=DONE, pools=(pool("worker", Phase.UPDATED),))
    assert expect(report, records=(), at_a_time={}, now=NOW) is report


def test_nodes_that_are_down_take_a_place() -> None:
    two = pool("worker", *[Phase.PENDING] * 6)
    down = structs.replace(two.nodes[0], unavailable=True)
    lame = structs.replace(two, nodes=(down, *two.nodes[1:]))
    assert minutes_left(of_pool(lame, at_a_time=2)) == minutes_left(of_pool(two, at_a_time=1))


WAITING = plane(
    operator("etcd", State.UPDATED, START + 10 * MINUTE),
    operator("kube-apiserver", State.UPDATED, NOW - MINUTE),
    operator("network", State.PROGRESSING, NOW - MINUTE),
    operator("machine-config", State.PENDING),
)


def test_pools_begin_after_the_operators() -> None:
    begun = of_pool(pool("worker", Phase.PENDING, Phase.PENDING))
    later = of_pool(pool("worker", Phase.PENDING, Phase.PENDING), control_plane=WAITING)
    assert minutes_left(later)[1] > minutes_left(begun)[1] + 5
    rolling = pool("worker", Phase.UPDATED, Phase.PENDING)
    assert minutes_left(of_pool(rolling, control_plane=WAITING)) == minutes_left(of_pool(rolling))


def test_the_control_plane_ends_with_its_nodes() -> None:
    masters = pool("master", Phase.PENDING, Phase.PENDING, Phase.PENDING)
    found = expect(Report(control_plane=WAITING, pools=(masters,)), records=(), at_a_time={}, now=NOW)
    alone = expect(Report(control_plane=WAITING), records=(), at_a_time={}, now=NOW)
    (after,) = found.pools
    assert after.expected is not None
    assert found.control_plane.expected is not None
    assert after.expected.middle < found.control_plane.expected.middle
    assert minutes_left(found.control_plane.expected)[1] > minutes_left(alone.control_plane.expected)[1] + 20
    assert found.control_plane.expected.basis == "usual times of operators; usual times of nodes, 1 at a time"


def test_a_control_plane_whose_nodes_are_paused_has_no_expected_end() -> None:
    masters = pool("master", Phase.PAUSED, Phase.UPDATED)
    found = expect(Report(control_plane=WAITING, pools=(masters,)), records=(), at_a_time={}, now=NOW)
    assert found.control_plane.expected is None


def test_operators_take_what_they_took_before() -> None:
    def ends(minutes: Iterable[float]) -> list[Took]:
        names = ("etcd", "kube-apiserver", "network", "machine-config")
        before = moment("2026-01-01T12:00:00Z")
        return [
            Took(name=name, completed=rfc3339(before + int(end * MINUTE)))
            for name, end in zip(names, minutes, strict=True)
        ]

    slow = expect(
        Report(control_plane=WAITING), records=[earlier(operators=ends([10, 119, 239, 300]))], at_a_time={}, now=NOW
    )
    quick = expect(
        Report(control_plane=WAITING), records=[earlier(operators=ends([10, 119, 120, 300]))], at_a_time={}, now=NOW
    )
    assert minutes_left(slow.control_plane.expected)[1] > 90
    assert minutes_left(quick.control_plane.expected)[1] < 15
    assert slow.control_plane.expected is not None
    assert slow.control_plane.expected.basis == "operators of 1 earlier update"


def test_when_all_operators_are_updated_only_the_end_is_missing() -> None:
    whole = plane(operator("etcd", State.UPDATED, NOW - SECOND))
    found = expect(Report(control_plane=whole), records=(), at_a_time={}, now=NOW).control_plane.expected
    assert minutes_left(found)[2] <= 3
    assert found is not None
    assert found.basis == "all operators are updated"


def test_times_that_are_missing_or_in_the_future_do_no_harm() -> None:
    for changes in ({"started": ZERO}, {"started": NOW + HOUR}, {"last_progress": ZERO}):
        found = expect(Report(control_plane=structs.replace(WAITING, **changes)), records=(), at_a_time={}, now=NOW)
        low, middle, high = minutes_left(found.control_plane.expected)
        assert 0 <= low <= middle <= high


def test_a_record_of_another_update_is_not_of_this_one() -> None:
    other = structs.replace(record_now(Report(control_plane=DONE), many(4, 60)), target="x", name="x")
    found = of_pool(pool("worker", Phase.PENDING), [other])
    assert found is not None
    assert found.basis == "4 nodes of earlier ones, 1 at a time"


@settings(deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 1))
def test_the_middle_does_not_jump_while_nothing_happens(seed: int, share: float) -> None:
    chance = Random(seed)
    cluster = draw_cluster(chance)
    course = draw_course(cluster, 0, chance)
    occasion = [*course.occasions][int(share * (len(course.occasions) - 2))]
    recorder = Recorder(cluster)
    seen = recorder.look(course, occasion)
    # Nothing else happens from here on, for hours.
    for later in (0, 1, 30, 600, 5000, 40_000):
        now, places = (
            course.start + int((occasion + later) * SECOND),
            {one.name: one.at_a_time for one in cluster.pools},
        )
        before, after = (expect(seen, records=recorder.records, at_a_time=places, now=now + s) for s in (0, SECOND))
        for one, next_one in zip(ends(before), ends(after), strict=True):
            if one is not None and next_one is not None:
                assert abs(next_one.middle - one.middle) < 0.1 * (one.middle - now)
            assert (one is None) == (next_one is None)


def ends(report: Report) -> list[Estimate | None]:
    return [report.control_plane.expected, *(one.expected for one in report.pools)]


def test_the_end_of_drawn_updates_is_mostly_in_the_range() -> None:
    settled = [sight for seed in range(12) for sight in sights_of(seed, step=300) if sight.settled]
    assert len(settled) > 300
    assert statistics.fmean(one.inside for one in settled) >= 0.8
    assert statistics.median((one.high - one.low) / one.left for one in settled) < 1.2, "true, and of no use"


def test_an_installation_has_no_expected_end() -> None:
    first = plane(operator("etcd", State.PROGRESSING, START), versions=Versions(target="4.16.0"))
    unknown = plane(operator("etcd", State.PROGRESSING, START), versions=None)
    for installing in (first, unknown):
        found = Report(control_plane=installing, pools=(pool("worker", Phase.UPDATING),))
        assert expect(found, records=(), at_a_time={}, now=NOW) == found


def unavailable(name: str, since: int) -> Operator:
    return structs.replace(operator(name, State.UPDATED, START), health=Health.UNAVAILABLE, health_since=since)


def of_plane(*operators: Operator) -> tuple[int, int, int]:
    found = expect(Report(control_plane=plane(*operators)), records=(), at_a_time={}, now=NOW)
    return minutes_left(found.control_plane.expected)


def test_an_operator_that_has_its_version_and_is_unavailable_is_not_done() -> None:
    done = [operator(f"operator-{number}", State.UPDATED, NOW - MINUTE) for number in range(20)]
    ended = of_plane(*done, operator("dns", State.UPDATED, NOW - MINUTE))
    broken = of_plane(*done, unavailable("dns", NOW - MINUTE))
    assert all(later > sooner for later, sooner in zip(broken, ended, strict=True))


def test_the_longer_an_operator_is_unavailable_the_later_is_the_end() -> None:
    done = [operator(f"operator-{number}", State.UPDATED, NOW - MINUTE) for number in range(20)]
    ends = [of_plane(*done, unavailable("dns", NOW - minutes * MINUTE)) for minutes in (1, 10, 30, 90)]
    assert ends == sorted(ends)
    assert ends[-1][2] > 60


def test_an_operator_that_was_unavailable_before_the_update_is_not_older_than_the_update() -> None:
    long_ago = of_plane(unavailable("dns", START - 100 * HOUR))
    assert long_ago == of_plane(unavailable("dns", START))


def test_the_control_plane_ends_with_the_last_of_its_pools() -> None:
    operators = (operator("machine-config", State.PROGRESSING, START), operator("etcd", State.UPDATED, START))

    def middle(*pools: Pool) -> int:
        found = expect(Report(control_plane=plane(*operators), pools=pools), records=(), at_a_time={}, now=NOW)
        assert found.control_plane.expected is not None
        return found.control_plane.expected.middle

    short, long = pool("master", Phase.PENDING), pool("arbiter", *[Phase.PENDING] * 3)
    assert middle(short, long) > middle(short)
    assert middle(long, short) > middle(short)
    assert middle(short, pool("worker", *[Phase.PENDING] * 9)) == middle(short)


def test_the_control_plane_has_no_expected_end_while_its_arbiter_is_paused() -> None:
    operators = (operator("machine-config", State.PROGRESSING, START),)
    paused = pool("arbiter", Phase.PAUSED, paused=True)
    found = expect(
        Report(control_plane=plane(*operators), pools=(pool("master", Phase.PENDING), paused)),
        records=(),
        at_a_time={},
        now=NOW,
    )
    assert found.control_plane.expected is None
