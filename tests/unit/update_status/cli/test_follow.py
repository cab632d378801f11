"""`windlass status --watch` and `--wait`: what is shown of one look after the other, and when they end."""

import asyncio
from collections.abc import Iterable, Sequence

import pytest
from msgspec import structs

from windlass.capability.conventions import watch
from windlass.capability.conventions.exit_codes import Exit
from windlass.kube.errors import KubeError, NotServed, Status, TransportError, Unauthorized
from windlass.update_status.assessment import Problem
from windlass.update_status.cli.status import follow
from windlass.update_status.cli.status.follow import changes, facts
from windlass.update_status.cli.status.inspection import StatusInspection
from windlass.update_status.cli.status.show import StatusRequest, rendered
from windlass.update_status.report import (
    ControlPlane,
    Health,
    Impact,
    Insight,
    Level,
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
from windlass.update_status.times import HOUR, moment

START = moment("2024-02-27T15:00:00Z")
NOW = moment("2024-02-27T15:10:00Z")
ETCD = Operator(name="etcd", state=State.PENDING, health=Health.HEALTHY, since=START, health_since=START)
PLANE = ControlPlane(
    updating="True",
    since=START,
    versions=Versions(target="4.15.1", previous="4.15.0"),
    started=START,
    baseline=HOUR,
    operators=(ETCD,),
)
BUSY = Report(control_plane=PLANE)
IDLE = Report(control_plane=structs.replace(PLANE, updating="False"))
TROUBLE = Insight(
    level=Level.ERROR,
    impact=Impact.UPDATE_STALLED,
    summary="Node a is degraded",
    description="disk",
    reference="https://example.com",
    started=START,
    resources=(),
)
SICK = structs.replace(BUSY, insights=(TROUBLE,))


UNKNOWN = Report(control_plane=structs.replace(PLANE, updating="Unknown"))
"""ClusterVersion does not say whether it is updating."""


def pool(*nodes: Node) -> Pool:
    outdated = sum(node.phase is not Phase.UPDATED for node in nodes)
    unmanaged = sum(not node.managed for node in nodes)
    return Pool(name="worker", summary=Summary(total=len(nodes), outdated=outdated, unmanaged=unmanaged), nodes=nodes)


def at(report: Report, *, settled: bool = True, now: int = NOW) -> StatusInspection:
    return StatusInspection(report, now, settled)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "SHORTEST", 0.0)
    monkeypatch.setattr(watch, "SHARE", 0)


def looks(*results: StatusInspection | Exception) -> follow.Look:
    left = list(results)

    async def look() -> StatusInspection:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return look


async def waited(*results: StatusInspection | Exception, level: str | None = None, watch: bool = False) -> Exit:
    request = StatusRequest(form="text", details="none", threshold=level)
    return await follow._follow(looks(*results), request, watch=watch, wait=True)


def lines(before: Report, after: Report) -> Sequence[str]:
    return list(changes(facts(before, now=NOW), facts(after, now=NOW), now=NOW))


async def test_who_waits_gets_the_report_when_the_update_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert await waited(at(BUSY), at(BUSY), at(IDLE)) == Exit.OK

    assert capsys.readouterr().out == "The cluster is not updating.\n"


async def test_a_request_that_the_cluster_has_not_noticed_yet_is_waited_for() -> None:
    assert await waited(at(IDLE, settled=False), at(SICK)) == Exit.NEEDS_SOMEBODY


async def test_an_update_is_not_over_while_clusterversion_does_not_say_so() -> None:
    assert await waited(at(BUSY), at(UNKNOWN), at(SICK)) == Exit.NEEDS_SOMEBODY


async def test_a_node_that_nobody_manages_yet_is_not_waited_for_and_stalls_nothing_else() -> None:
    joined = Node(name="new", phase=Phase.PENDING, managed=False)
    paused = pool(Node(name="a", phase=Phase.PAUSED), joined)
    done = pool(Node(name="a", phase=Phase.UPDATED), joined)

    assert await waited(at(structs.replace(IDLE, pools=(paused,)))) == Exit.NEEDS_SOMEBODY
    assert await waited(at(BUSY), at(structs.replace(IDLE, pools=(done,)))) == Exit.OK


async def test_an_update_that_needs_somebody_ends_the_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    assert await waited(at(BUSY), at(SICK)) == Exit.NEEDS_SOMEBODY

    assert "Node a is degraded" in capsys.readouterr().out


async def test_what_is_not_bad_enough_does_not_end_the_waiting() -> None:
    assert await waited(at(SICK), at(IDLE), level="critical") == Exit.OK

    mild = structs.replace(BUSY, insights=(structs.replace(TROUBLE, level=Level.WARNING),))
    assert await waited(at(mild), at(IDLE)) == Exit.OK
    assert await waited(at(mild), at(IDLE), level="warning") == Exit.NEEDS_SOMEBODY


STILL = structs.replace(TROUBLE, summary="Pool worker makes no progress", remedy="See its nodes.", pool="worker")
ASKED = structs.replace(
    IDLE,
    control_plane=structs.replace(IDLE.control_plane, request=Request(target="4.15.2", state=RequestState.PENDING)),
)


def refused(found: Report) -> Report:
    request = Request(target="4.15.2", state=RequestState.REFUSED, message="cannot be verified")
    insight = structs.replace(
        STILL, summary="The update to 4.15.2 was refused", description="cannot be verified", pool=""
    )
    plane = structs.replace(found.control_plane, request=request)
    return structs.replace(found, control_plane=plane, insights=(*found.insights, insight))


@pytest.mark.parametrize("before", [IDLE, BUSY])
async def test_a_refused_request_ends_the_waiting_with_its_reason(
    before: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await waited(at(refused(before))) == Exit.NEEDS_SOMEBODY

    said = capsys.readouterr()
    assert "error: The update to 4.15.2 was refused: cannot be verified; to do: See its nodes." in said.err
    assert "refused" not in said.out


async def test_an_update_is_not_over_while_a_request_waits_for_its_answer() -> None:
    assert await waited(at(ASKED), at(BUSY), at(IDLE)) == Exit.OK
    assert await waited(at(ASKED), at(refused(IDLE))) == Exit.NEEDS_SOMEBODY


async def test_nodes_that_stand_still_end_the_waiting_whatever_the_level_is(capsys: pytest.CaptureFixture[str]) -> None:
    standing = structs.replace(BUSY, insights=(STILL,))
    assert await waited(at(BUSY), at(standing), level="critical") == Exit.NEEDS_SOMEBODY
    assert await waited(at(BUSY), at(standing)) == Exit.NEEDS_SOMEBODY

    assert "error: Pool worker makes no progress: disk; to do: See its nodes." in capsys.readouterr().err


def test_a_request_and_its_answer_are_lines() -> None:
    assert lines(IDLE, ASKED) == ["2024-02-27T15:10:00Z request: Pending to update to 4.15.2"]
    assert lines(ASKED, refused(IDLE))[0] == (
        "2024-02-27T15:10:00Z request: Pending to update to 4.15.2 -> Refused to update to 4.15.2"
    )


async def test_an_update_that_has_stalled_ends_the_waiting() -> None:
    assert await waited(at(BUSY, now=START + 5 * HOUR)) == Exit.NEEDS_SOMEBODY


async def test_an_update_of_which_only_paused_nodes_are_left_ends_the_waiting() -> None:
    paused = structs.replace(
        IDLE, pools=(pool(Node(name="a", phase=Phase.PAUSED), Node(name="b", phase=Phase.UPDATED)),)
    )
    pending = structs.replace(
        IDLE, pools=(pool(Node(name="a", phase=Phase.PAUSED), Node(name="b", phase=Phase.PENDING)),)
    )

    assert await waited(at(paused)) == Exit.NEEDS_SOMEBODY
    assert await waited(at(pending), at(IDLE)) == Exit.OK


async def test_an_api_server_that_is_away_is_waited_for_with_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    gone = TransportError("no answer")

    assert (
        await waited(at(BUSY), gone, gone, at(BUSY), NotServed(Status(code=404)), Problem("none"), at(IDLE)) == Exit.OK
    )

    said = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in said] == ["warning", "info", "warning", "info"]


async def test_why_the_update_status_was_not_relied_on_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    silent = [structs.replace(at(BUSY), note=f"its controller is silent for {seconds} s") for seconds in (40, 42, 44)]

    assert await waited(*silent, at(BUSY), silent[0], at(IDLE)) == Exit.OK

    assert capsys.readouterr().err == "note: its controller is silent for 40 s\n" * 2


@pytest.mark.parametrize("error", [TransportError("no answer"), Problem("none")])
async def test_the_first_look_must_succeed(error: Exception) -> None:
    with pytest.raises(type(error)):
        await waited(error, at(IDLE))


async def test_an_error_that_stays_ends_the_waiting() -> None:
    with pytest.raises(KubeError):
        await waited(at(BUSY), Unauthorized(Status(code=401)), at(IDLE))


async def test_an_end_that_is_seen_with_half_an_eye_is_looked_at_again() -> None:
    half = structs.replace(IDLE, gaps=("nodes: busy",))

    assert await waited(at(BUSY), at(half), at(IDLE)) == Exit.OK
    assert await waited(at(half)) == Exit.FAILED


async def test_what_cannot_be_read_for_a_moment_is_a_warning_and_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    whole = structs.replace(BUSY, pools=(pool(Node(name="a", phase=Phase.PENDING)),))
    half = structs.replace(BUSY, gaps=("nodes: busy",))

    await waited(at(whole), at(half), at(whole), at(half), at(half), at(IDLE), watch=True)

    said = capsys.readouterr()
    assert said.err == "warning: nodes: busy\n" * 2
    assert [line for line in said.out.splitlines() if "node a" in line] == ["2024-02-27T15:10:00Z node a: gone"]


async def test_a_watch_shows_the_report_and_then_only_changes(capsys: pytest.CaptureFixture[str]) -> None:
    await waited(at(BUSY), at(BUSY), at(structs.replace(BUSY, insights=())), at(IDLE), watch=True)

    said = capsys.readouterr().out
    assert said.count("= Control Plane =") == 1
    assert said.splitlines()[-1] == "2024-02-27T15:10:00Z cluster: updating to 4.15.1 -> not updating"


@pytest.mark.parametrize("form", ["text", "wide"])
def test_the_report_on_a_terminal_is_the_one_that_is_printed(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    request = StatusRequest(form=form, details="health")
    seen = at(structs.replace(SICK, insights=(structs.replace(TROUBLE, description="a\tb\x1b[2J\r\u202e\u2028c"),)))
    live = follow._Live(request)
    live.show(seen)
    live.close()
    shown = capsys.readouterr().out
    printed = rendered(seen, request, now=NOW)
    assert r"\x1b[2J\r\u202e" in printed
    assert "\x1b" not in shown
    assert [line.split() for line in shown.splitlines() if r"\x1b" in line] == [
        line.split() for line in printed.splitlines() if r"\x1b" in line
    ]


@pytest.mark.parametrize(("form", "begins"), [("json", "{"), ("yaml", "---")])
async def test_a_watch_for_programs_repeats_nothing(form: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    request = StatusRequest(form=form, details="none")
    seen = looks(at(BUSY), at(BUSY, now=NOW + HOUR // 60), at(IDLE))

    await follow._follow(seen, request, watch=True, wait=True)

    assert sum(line.startswith(begins) for line in capsys.readouterr().out.splitlines()) == 2


def test_phases_and_insights_that_come_change_and_go_are_lines() -> None:
    draining = structs.replace(BUSY, pools=(pool(Node(name="a", phase=Phase.DRAINING)),), insights=(TROUBLE,))
    degraded = Node(name="a", phase=Phase.DRAINING, degraded=True, why_degraded="disk\nfull\x1b")
    worse = structs.replace(
        draining, pools=(pool(degraded),), insights=(structs.replace(TROUBLE, level=Level.CRITICAL),)
    )

    assert _said(lines(BUSY, draining)) == [
        "pool worker: Progressing, 0 of 1 updated",
        "node a: Draining",
        "insight Node a is degraded: Error, impact Update Stalled",
    ]
    assert _said(lines(draining, worse)) == [
        "node a: Draining -> Draining, Degraded: disk full\\x1b",
        "insight Node a is degraded: Error, impact Update Stalled -> Critical, impact Update Stalled",
    ]
    assert _said(lines(worse, BUSY)) == ["pool worker: gone", "node a: gone", "insight Node a is degraded: gone"]


def test_a_report_that_only_grew_older_has_no_lines() -> None:
    assert list(changes(facts(SICK, now=NOW), facts(SICK, now=NOW + 1), now=NOW)) == []


async def test_there_is_some_time_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "SHORTEST", 30.0)
    found = follow.sights(looks(at(BUSY), at(IDLE)))

    await anext(found)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(found), timeout=0.01)


def _said(found: Iterable[str]) -> list[str]:
    return [line.removeprefix("2024-02-27T15:10:00Z ") for line in found]
