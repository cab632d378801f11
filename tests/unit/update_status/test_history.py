"""Records of updates: what they hold after a story of reports, also if the controller was away in between."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from windlass.api.config import UpdateHistory
from windlass.api.update_insights import HealthInsight, InsightImpact, InsightScope
from windlass.api.update_record import MOST_IMAGE, MOST_RISKS, NodeTook, Took, Trouble
from windlass.update_status.history import KEPT, LARGEST, followed, kept, record_name
from windlass.update_status.record import Record
from windlass.update_status.report import (
    ControlPlane,
    Health,
    Node,
    Operator,
    Phase,
    Pool,
    Report,
    Request,
    RequestState,
    State,
    Summary,
    Versions,
)
from windlass.update_status.times import HOUR, MINUTE, moment, rfc3339

START = moment("2026-03-01T12:00:00Z")


def at(minutes: float) -> int:
    return START + int(minutes * MINUTE)


def clock(minutes: float) -> str:
    return rfc3339(at(minutes))


def operator(name: str, state: State, since: int = START - HOUR) -> Operator:
    return Operator(name=name, state=state, since=since, health=Health.HEALTHY, health_since=START)


def pool(name: str, *phases: Phase) -> Pool:
    nodes = tuple(Node(name=f"{name}-{number}", phase=phase) for number, phase in enumerate(phases))
    outdated = sum(phase is not Phase.UPDATED for phase in phases)
    return Pool(name=name, summary=Summary(total=len(nodes), outdated=outdated), nodes=nodes)


def report(
    *operators: Operator,
    pools: Sequence[Pool] = (),
    target: str = "4.16.1",
    updating: bool = True,
    completed: int | None = None,
) -> Report:
    plane = ControlPlane(
        updating=str(updating),
        since=START,
        versions=Versions(target=target, previous="4.15.9"),
        started=START if target == "4.16.1" else START + HOUR,
        completed=completed,
        baseline=HOUR,
        operators=operators,
    )
    return Report(control_plane=plane, pools=tuple(pools))


def insight(summary: str) -> HealthInsight:
    return HealthInsight(
        first_seen_at=clock(1),
        scope=InsightScope(type="ControlPlane"),
        impact=InsightImpact(level="Error", type="Unknown", summary=summary),
    )


def play(*steps: tuple[float, Report, dict[str, HealthInsight]]) -> list[Record]:
    """The records after all steps."""
    records: dict[str, Record] = {}
    for minutes, each, insights in steps:
        for record in followed(records.values(), each, insights, now=at(minutes)):
            records[record.name] = record
    return list(records.values())


def test_an_idle_cluster_has_no_record() -> None:
    assert play((0, report(operator("etcd", State.UPDATED), updating=False), {})) == []


def test_an_operator_took_from_its_own_transitions_not_from_when_they_were_noticed() -> None:
    (record,) = play(
        (5, report(operator("etcd", State.PROGRESSING, at(2))), {}),
        (9, report(operator("etcd", State.UPDATED, at(8))), {}),
    )
    assert record.operators == [Took(name="etcd", started=clock(2), completed=clock(8))]


def test_an_operator_that_progressed_before_the_update_began_with_it_when_it_was_noticed() -> None:
    (record,) = play((5, report(operator("etcd", State.PROGRESSING, START - HOUR)), {}))
    assert record.operators == [Took(name="etcd", started=clock(5))]


def test_an_operator_that_was_updated_unseen_has_no_beginning() -> None:
    (record,) = play((9, report(operator("dns", State.UPDATED, at(8)), operator("old", State.UPDATED)), {}))
    assert record.operators == [Took(name="dns", completed=clock(8))]


def test_nodes_and_pools_took_from_their_first_phase_to_updated() -> None:
    (record,) = play(
        (1, report(pools=[pool("worker", Phase.PENDING, Phase.PENDING)]), {}),
        (2, report(pools=[pool("worker", Phase.DRAINING, Phase.PENDING)]), {}),
        (3, report(pools=[pool("worker", Phase.REBOOTING, Phase.PENDING)]), {}),
        (4, report(pools=[pool("worker", Phase.UPDATED, Phase.UPDATING)]), {}),
        (6, report(pools=[pool("worker", Phase.UPDATED, Phase.UPDATED)]), {}),
    )
    assert record.nodes == [
        NodeTook(name="worker-0", pool="worker", started=clock(2), drained=clock(3), completed=clock(4)),
        NodeTook(name="worker-1", pool="worker", started=clock(4), drained=clock(4), completed=clock(6)),
    ]
    assert record.pools == [Took(name="worker", started=clock(2), completed=clock(6))]


def test_a_trouble_is_resolved_when_it_is_gone_and_open_again_when_it_comes_back() -> None:
    seen = {"health-1": insight("Cluster Operator etcd is degraded (Bad)")}
    steps = [(1.0, report(), seen), (2.0, report(), seen), (3.0, report(), {})]
    (record,) = play(*steps)
    assert [(one.first_seen, one.resolved) for one in record.troubles] == [(clock(1), clock(3))]
    (record,) = play(*steps, (4, report(), seen))
    assert [(one.first_seen, one.last_seen, one.resolved) for one in record.troubles] == [(clock(1), clock(4), None)]


def test_nothing_is_written_while_nothing_begins_or_ends() -> None:
    seen = {"health-1": insight("slow")}
    running = report(operator("etcd", State.PROGRESSING, at(2)), pools=[pool("worker", Phase.DRAINING)])
    (record,) = play((5, running, seen))
    assert followed([record], running, seen, now=at(50)) == []


def test_an_update_is_over_when_neither_operators_nor_pools_have_something_to_do() -> None:
    done = operator("etcd", State.UPDATED, at(8))
    (record,) = play(
        (1, report(operator("etcd", State.PROGRESSING, at(1)), pools=[pool("worker", Phase.PENDING)]), {}),
        (9, report(done, pools=[pool("worker", Phase.DRAINING)], updating=False, completed=at(8)), {}),
        (20, report(done, pools=[pool("worker", Phase.UPDATED)], updating=False, completed=at(8)), {}),
    )
    assert (record.state, record.control_plane_completed, record.completed) == ("Completed", clock(8), clock(20))


def completed() -> Record:
    """The record of an update that is over."""
    done = operator("etcd", State.UPDATED, at(8))
    (record,) = play(
        (1, report(operator("etcd", State.PROGRESSING, at(1)), pools=[pool("worker", Phase.DRAINING)]), {}),
        (20, report(done, pools=[pool("worker", Phase.UPDATED)], updating=False, completed=at(8)), {}),
    )
    assert record.state == "Completed"
    return record


@pytest.mark.parametrize("state", ["Completed", "Superseded"])
@pytest.mark.parametrize("progressing", [True, False])
def test_a_record_that_has_ended_stays_although_a_node_goes_back(state: str, progressing: bool) -> None:
    ended = structs.replace(completed(), state=state)
    back = report(
        operator("etcd", State.UPDATED, at(8)),
        pools=[pool("worker", Phase.UPDATED, Phase.DRAINING)],
        updating=progressing,
        completed=at(8),
    )
    assert followed([ended], back, {"health-1": insight("slow")}, now=at(3000)) == []


def test_the_next_update_has_a_record_of_its_own_and_supersedes_none_that_was_completed() -> None:
    (begun,) = followed([completed()], report(target="4.16.2"), {}, now=at(3000))
    assert (begun.target, begun.state) == ("4.16.2", "Progressing")


def test_a_worker_that_joins_and_that_nobody_manages_yet_ends_the_update_as_if_it_were_not_there() -> None:
    done, joined = operator("etcd", State.UPDATED, at(8)), Node(name="new", phase=Phase.PENDING, managed=False)
    workers = Pool(
        name="worker",
        summary=Summary(total=2, outdated=1, pending=1, unmanaged=1),
        nodes=(Node(name="worker-0", phase=Phase.UPDATED), joined),
    )
    (record,) = play(
        (1, report(operator("etcd", State.PROGRESSING, at(1)), pools=[pool("worker", Phase.DRAINING)]), {}),
        (9, report(done, pools=[workers], completed=at(8)), {}),
        (20, report(done, pools=[workers], updating=False, completed=at(8)), {}),
    )
    assert (record.state, record.completed) == ("Completed", clock(20))
    assert record.pools == [Took(name="worker", started=clock(1), completed=clock(9))]
    assert [one.name for one in record.nodes] == ["worker-0"]


def unknown_history(found: Report) -> Report:
    return structs.replace(found, control_plane=structs.replace(found.control_plane, versions=None))


@pytest.mark.parametrize(("updating", "completed"), [("Unknown", at(8)), ("", at(8)), ("False", None)])
def test_an_update_is_not_over_while_its_clusterversion_does_not_say_so(updating: str, completed: int | None) -> None:
    (running,) = play((1, report(operator("etcd", State.PROGRESSING, at(1))), {}))
    quiet = report(operator("etcd", State.UPDATED, at(8)), updating=False, completed=completed)
    quiet = structs.replace(quiet, control_plane=structs.replace(quiet.control_plane, updating=updating))
    assert followed([running], quiet, {}, now=at(20)) == []
    assert followed([running], unknown_history(quiet), {}, now=at(20)) == []


def test_an_update_is_not_over_while_its_nodes_cannot_be_read() -> None:
    (running,) = play((1, report(pools=[pool("worker", Phase.DRAINING)]), {}))
    unread = report(operator("etcd", State.UPDATED, at(8)), updating=False, completed=at(8))
    assert followed([running], unread, {}, now=at(20), nodes_known=False) == []
    (ended,) = followed([running], report(target="4.16.2", updating=False), {}, now=at(20), nodes_known=False)
    assert ended.state == "Superseded"


def test_a_pool_is_not_updated_while_its_nodes_cannot_be_read() -> None:
    (running,) = play((1, report(pools=[pool("worker", Phase.DRAINING)]), {}))
    assert followed([running], report(pools=[pool("worker")]), {}, now=at(20), nodes_known=False) == []


def test_a_new_target_supersedes_the_update() -> None:
    first, second = play(
        (1, report(operator("etcd", State.PROGRESSING, at(1))), {"health-1": insight("slow")}),
        (61, report(operator("etcd", State.PROGRESSING, at(61)), target="4.16.2"), {}),
    )
    assert (first.state, first.completed) == ("Superseded", clock(61))
    assert [one.resolved for one in first.troubles] == [clock(61)]
    assert (second.state, second.target) == ("Progressing", "4.16.2")


@pytest.mark.parametrize(
    ("target", "readable"),
    [("4.16.1", "4.16.1"), ("4.16.0-EC.2", "4.16.0-ec.2"), ("4.16.1+build_5", "4.16.1-build-5"), ("", ""), ("..", "")],
)
def test_the_name_of_a_record_has_the_version(target: str, readable: str) -> None:
    name = record_name(target, clock(0))
    assert name.rpartition("-")[0] == readable
    assert name != record_name(target, clock(1))


def old(number: int, *, nodes: int, troubles: int = 0) -> Record:
    return Record(
        name=f"r{number}",
        target=f"4.16.{number}",
        state="Completed",
        started=clock(number * 60),
        nodes=[NodeTook(name=f"node-{each}", pool="worker", started=clock(0)) for each in range(nodes)],
        troubles=[Trouble(uid=f"t{each}", summary="x" * 1000) for each in range(troubles)],
    )


def test_the_oldest_records_go() -> None:
    changed, gone = kept([old(number, nodes=1) for number in range(KEPT + 2)])
    assert changed == []
    assert sorted(record.name for record in gone) == ["r0", "r1"]


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 256)), max_size=12))
def test_all_records_are_small_enough_and_the_newest_is_whole(sizes: Any) -> None:
    records = [old(number, nodes=nodes, troubles=troubles) for number, (nodes, troubles) in enumerate(sizes)]
    changed, gone = kept(records)
    lighter = {record.name: record for record in changed}
    left = [lighter.get(record.name, record) for record in records if record not in gone]
    total = sum(len(msgspec.json.encode(record)) for record in left)
    assert total <= LARGEST + (len(msgspec.json.encode(records[-1])) if records else 0)
    assert len(left) <= KEPT
    if records:
        assert records[-1] in left
    for record in changed:
        whole = next(one for one in records if one.name == record.name)
        assert record.omitted
        assert structs.replace(record, omitted="", nodes=whole.nodes, troubles=whole.troubles) == whole


def item(**fields: Any) -> UpdateHistory:
    usual: dict[str, Any] = {"version": "4.16.1", "started_time": clock(0), "state": "Partial", "image": "quay.io/x"}
    return UpdateHistory(**{**usual, **fields})


def test_a_record_has_what_the_history_of_cluster_version_says_of_its_release() -> None:
    older = item(started_time=clock(-60), image="other", verified=True)
    forced = item(verified=False, accepted_risks="Forced")
    (begun,) = followed([], report(), {}, now=at(1), history=[forced, older])
    assert (begun.image, begun.verified, begun.accepted_risks) == ("quay.io/x", False, "Forced")

    (checked,) = followed([begun], report(), {}, now=at(2), history=[item(verified=True), older])
    assert (checked.verified, checked.accepted_risks) == (True, "")
    assert followed([checked], report(), {}, now=at(3), history=[older]) == []


def test_texts_of_the_history_that_are_too_long_are_shortened() -> None:
    (begun,) = followed([], report(), {}, now=at(1), history=[item(image="i" * 5000, accepted_risks="risk " * 5000)])
    assert len(begun.image) == MOST_IMAGE
    assert len(begun.accepted_risks) <= MOST_RISKS


def test_a_superseded_update_ends_when_the_history_says_that_it_ended() -> None:
    (begun,) = followed([], report(), {}, now=at(1))
    ended = item(completion_time=clock(10))
    told, _ = followed([begun], report(target="4.16.2"), {}, now=at(3000), history=[ended])
    assert (told.state, told.completed) == ("Superseded", clock(10))

    unknown, _ = followed([begun], report(target="4.16.2"), {}, now=at(3000))
    assert (unknown.state, unknown.completed) == ("Superseded", clock(3000))


# Requests that were refused.


def refused(target: str = "4.16.2", *, since: float | None = 300, message: str = "cannot be verified") -> Report:
    """At rest, after the update to 4.16.1."""
    request = Request(
        target=target,
        state=RequestState.REFUSED,
        reason="RetrievePayload",
        message=message,
        since=None if since is None else at(since),
    )
    found = report(operator("etcd", State.UPDATED, at(8)), updating=False, completed=at(8))
    return structs.replace(found, control_plane=structs.replace(found.control_plane, request=request))


def test_a_refused_request_has_a_record_with_the_reason() -> None:
    (record,) = play((310, refused(), {}))
    assert record == Record(
        name=record_name("4.16.2", clock(300)),
        previous="4.16.1",
        target="4.16.2",
        state="Refused",
        started=clock(300),
        completed=clock(300),
        troubles=[
            Trouble(
                uid="request",
                level="Error",
                summary="cannot be verified",
                first_seen=clock(300),
                last_seen=clock(300),
                resolved=clock(300),
            )
        ],
    )


@pytest.mark.parametrize(
    ("steps", "states"),
    [
        # The operator tries it again and again: it is one refusal.
        ([(310, refused(since=300)), (330, refused(since=320)), (350, refused(since=340))], ["Refused"]),
        ([(310, refused("4.16.2")), (330, refused("4.16.3", since=320))], ["Refused", "Refused"]),
        ([(310, refused(since=None))], ["Refused"]),
        ([(310, refused(target=""))], []),
    ],
)
def test_a_refusal_is_recorded_once_for_each_release(steps: list[tuple[float, Report]], states: list[str]) -> None:
    assert [one.state for one in play(*((minutes, each, {}) for minutes, each in steps))] == states


def test_a_request_that_waits_for_its_answer_has_no_record() -> None:
    found = refused()
    request = Request(target="4.16.2", state=RequestState.PENDING)
    assert (
        play((310, structs.replace(found, control_plane=structs.replace(found.control_plane, request=request)), {}))
        == []
    )


def test_an_update_that_is_accepted_later_has_a_record_beside_that_of_the_refusal() -> None:
    (before,) = play((10, refused(since=10), {}))
    after = followed([before], report(operator("etcd", State.PROGRESSING), target="4.16.2"), {}, now=at(70))
    assert [(one.target, one.state) for one in after] == [("4.16.2", "Progressing")]
    assert after[0].name != before.name


def test_a_refusal_during_an_update_leaves_the_record_of_that_as_it_is() -> None:
    found = report(operator("etcd", State.PROGRESSING, at(1)))
    asked = structs.replace(found.control_plane, request=refused(since=2).control_plane.request)
    records = play((1, found, {}), (3, structs.replace(found, control_plane=asked), {}))
    assert [(one.target, one.state) for one in records] == [("4.16.1", "Progressing"), ("4.16.2", "Refused")]


def test_a_long_reason_and_the_name_of_an_image_fit_into_a_record() -> None:
    (record,) = play((310, refused("quay.io/" + "r" * 200, message="m" * 3000), {}))
    assert (len(record.target), len(record.troubles[0].summary)) == (128, 1024)


def blank(record: Record) -> Record:
    """The record as it is created: with nothing but its name."""
    return Record(name=record.name, previous=record.previous, target=record.target, state="", started=record.started)


@pytest.mark.parametrize("since", [300, None])
def test_a_refusal_that_was_created_gets_its_status_and_is_superseded_by_nothing(since: float | None) -> None:
    (record,) = play((310, refused(since=since), {}))
    assert followed([blank(record)], refused(since=since), {}, now=at(311)) == [record]


def test_a_record_that_was_created_goes_on_as_the_update_does() -> None:
    found = report(operator("etcd", State.PROGRESSING, at(1)))
    (record,) = play((1, found, {}))
    assert followed([blank(record)], found, {}, now=at(1)) == [record]


def test_an_update_that_was_refused_at_first_is_not_taken_for_the_refusal() -> None:
    found = report(operator("etcd", State.PROGRESSING, at(1)))
    (record,) = play((1, found, {}))
    asked = structs.replace(found.control_plane, request=refused(target=record.target, since=2).control_plane.request)
    after = followed([blank(record)], structs.replace(found, control_plane=asked), {}, now=at(3))
    assert {one.name: one.state for one in after}[record.name] == "Progressing"


def test_a_trouble_whose_start_is_reported_began_then() -> None:
    reported = structs.replace(insight("a node is degraded"), started_at=clock(0))
    (record,) = play((2, report(operator("etcd", State.PROGRESSING, at(1))), {"a": reported}))
    assert [one.first_seen for one in record.troubles] == [clock(0)]
