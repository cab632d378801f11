"""Of whatever cluster: there is a report or a Problem, and its numbers agree."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.estimate import progress
from windlass.update_status.report import Phase, Report
from windlass.update_status.sources import Sources
from windlass.update_status.times import ZERO, Moment

from ..drawn import NOW, clusters, odd_clusters

UNDER_WAY = {Phase.DRAINING, Phase.UPDATING, Phase.REBOOTING}


def moments(report: Report) -> Iterator[Moment]:
    """All but those of the control plane, where a time that is missing is ZERO."""
    yield from (one.started for one in report.insights if one.started is not None)
    for node in (node for pool in report.pools for node in pool.nodes):
        yield from (when for when in (node.since, node.unavailable_since) if when is not None)


@pytest.mark.slow
@examples(200)
@given(odd_clusters(), st.sampled_from((ZERO, 0, NOW)))
def test_of_odd_sources_there_is_a_report_or_a_problem(sources: Sources, now: Moment) -> None:
    try:
        report = assess(sources, now=now)
    except Problem:
        return
    assert ZERO not in moments(report)
    progress(report.control_plane, now)


@pytest.mark.slow
@examples()
@given(clusters())
def test_the_numbers_of_a_report_agree(sources: Sources) -> None:
    report = assess(sources, now=NOW)
    nodes = [node.name for pool in report.pools for node in pool.nodes]
    assert isinstance(sources.nodes, tuple)
    assert sorted([*nodes, *report.unassigned]) == sorted(node.metadata.name for node in sources.nodes)
    for pool in report.pools:
        summary = pool.summary
        under_way = sum(node.phase in UNDER_WAY for node in pool.nodes)
        assert summary.total == len(pool.nodes) == summary.updated + summary.pending + summary.excluded + under_way
        assert max(summary.draining, summary.progressing) <= under_way
        assert all(node.updating or node.phase not in UNDER_WAY for node in pool.nodes)
    found = progress(report.control_plane, NOW)
    assert 0 <= found.completion <= 100
    assert (found.assessment == "Completed") is report.control_plane.all_updated
