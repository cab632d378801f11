"""The object tells everything that the report told: what is drawn from either is the same."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from tests.unit.update_status.document import parts
from tests.unit.update_status.drawn import NOW, clusters, odd_clusters
from windlass.api.update import UpdateStatusStatus
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.document import NothingWritten, read, write
from windlass.update_status.document.validity import trouble
from windlass.update_status.report import Phase, Report
from windlass.update_status.sources import Sources
from windlass.update_status.text import Details, render
from windlass.update_status.text.wide import render_wide
from windlass.update_status.times import HOUR, MINUTE, SECOND, Moment

reports = clusters().map(lambda sources: assess(sources, now=NOW))


def from_object(report: Report, written_at: Moment, now: Moment, details: Details) -> str:
    return render(read(write(report, now=written_at), now=now), now=now, details=details)


@pytest.mark.slow
@given(reports)
def test_the_report_is_read_as_it_was_written(report: Report) -> None:
    assert parts.unobserved(read(write(report, now=NOW), now=NOW)) == report


@pytest.mark.slow
@given(reports, st.sampled_from(Details), st.integers(0, 3 * 3600))
def test_every_text_is_the_same_at_any_later_time(report: Report, details: Details, later: int) -> None:
    now = NOW + later * SECOND
    assume(not any(insight.started == NOW for insight in report.insights))
    assert from_object(report, NOW, now, details) == render(report, now=now, details=details)


@given(reports)
def test_the_api_server_takes_it_whole(report: Report) -> None:
    status = write(report, now=NOW)
    assert trouble(status) == ""
    assert truncated(status) == ""


@pytest.mark.slow
@given(odd_clusters())
def test_the_api_server_takes_whatever_the_cluster_is_and_what_was_left_out_is_said(sources: Sources) -> None:
    if isinstance(sources.pools, tuple):
        listed = tuple(sorted(sources.pools, key=lambda pool: pool.metadata.name))
        sources = structs.replace(sources, pools=listed)
    try:
        report = assess(sources, now=NOW)
    except Problem:
        return
    status = write(report, now=NOW)
    assert trouble(status) == ""
    if not truncated(status):
        for details in Details:
            assert from_object(report, NOW, NOW, details) == render(report, now=NOW, details=details)


def truncated(status: UpdateStatusStatus) -> str:
    """What was left out, in words."""
    found = next(one for one in status.conditions if one.type == "Truncated")
    return found.message if found.status == "True" else ""


def test_the_object_remembers_when_things_were_first_seen() -> None:
    first = write(of_a_degraded_node(), now=NOW)
    later = read(write(of_a_degraded_node(), now=NOW + HOUR, previous=first), now=NOW + HOUR)
    (pool,) = later.pools
    assert [node.first_seen for node in pool.nodes] == [NOW]
    assert [(one.started, one.first_seen) for one in later.insights] == [(None, NOW)]
    assert "1h" in render_wide(later, now=NOW + HOUR)


def of_a_degraded_node() -> Report:
    return parts.report(parts.degraded_node(), of=parts.node(degraded=True, why_degraded="disk full"))


@pytest.mark.parametrize(("phase", "paused"), [(Phase.PENDING, False), (Phase.PAUSED, True)])
def test_a_node_that_nobody_manages_yet_is_neither_outdated_nor_updated(phase: Phase, paused: bool) -> None:
    plain = parts.report(of=parts.node(phase=phase, managed=False, version=""))
    report = structs.replace(plain, pools=tuple(structs.replace(pool, paused=paused) for pool in plain.pools))
    status = write(report, now=NOW)
    assert trouble(status) == ""
    (pool,) = status.worker_pools
    assert [(one.status, one.reason) for one in pool.conditions] == [("False", "Updated")]
    (node,) = (entry.insight.node for one in pool.informers for entry in one.insights if entry.insight.node)
    updating = node.conditions[0]
    assert (updating.status, updating.reason, node.estimated_seconds_to_complete) == (
        "Unknown",
        "CannotDetermine",
        None,
    )
    assert status.overview
    assert (status.overview.total_workers, status.overview.workers_left) == (0, 0)
    assert parts.unobserved(read(status, now=NOW)) == report


@given(reports)
def test_written_again_it_is_the_same(report: Report) -> None:
    first = write(report, now=NOW)
    assert write(report, now=NOW, previous=first) == first


@pytest.mark.slow
@given(clusters(), st.integers(1, MINUTE))
def test_a_moment_later_only_the_assessment_of_the_control_plane_differs(sources: Sources, later: int) -> None:
    report = assess(sources, now=NOW)
    first = write(report, now=NOW)
    second = write(report, now=NOW + later, previous=first)
    assume(not any(insight.started == NOW for insight in report.insights))
    assert without_assessment(second) == without_assessment(first)


def without_assessment(status: UpdateStatusStatus) -> UpdateStatusStatus:
    """Without ClusterVersion's insight, and the overview, which depend on the present."""
    plane = status.control_plane
    assert plane is not None
    informers = tuple(
        structs.replace(one, insights=tuple(entry for entry in one.insights if entry.uid != "cv-version"))
        for one in plane.informers
    )
    return structs.replace(status, overview=None, control_plane=structs.replace(plane, informers=informers))


def test_an_object_without_a_status_says_so() -> None:
    with pytest.raises(NothingWritten, match="no controller has written it yet"):
        read(UpdateStatusStatus(), now=NOW)
