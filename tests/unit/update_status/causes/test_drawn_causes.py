"""Of whatever cluster: causes agree with the report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.explore import examples
from windlass.update_status.assessment import assess
from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.document import read, write
from windlass.update_status.report import CauseKind, Phase
from windlass.update_status.sources import Sources, Workload

from ..drawn import NOW, clusters
from .workload import LONG, budget, pod, unready

NODES = st.sampled_from([f"node-{number}.example.com" for number in range(6)])
PODS = st.lists(
    st.one_of(
        st.builds(
            pod,
            st.sampled_from(("shop-0", "shop-1", "shop-2")),
            NODES,
            owner=st.sampled_from(("", "ReplicaSet", "DaemonSet")),
            deleted=st.sampled_from((None, -5.0, 5.0)),
            grace=st.just(LONG),
            finalizers=st.sampled_from(((), ("a/b",))),
        ),
        st.just(unready()),
    ),
    max_size=5,
)
BUDGETS = st.lists(
    st.builds(budget, st.sampled_from(("a", "b")), allowed=st.integers(0, 1), expected=st.integers(1, 3)),
    max_size=2,
    unique_by=lambda one: one.metadata.name,
)


@pytest.mark.slow
@examples()
@given(clusters(), PODS, BUDGETS)
def test_each_cause_is_of_something_that_waits(sources: Sources, pods: list, budgets: list) -> None:  # type: ignore[type-arg]
    names = tuple(f"node-{number}.example.com" for number in range(6))
    workload = Workload(nodes=names, pods=tuple(pods), budgets=tuple(budgets))
    report = assess(structs.replace(sources, workload=workload), now=NOW)
    draining = {node.name for pool in report.pools for node in pool.nodes if node.phase is Phase.DRAINING}
    for cause in report.causes:
        assert cause.summary
        assert cause.remedy
        assert cause.about
        nodes = {one.name for one in cause.affected if one.resource == "nodes"}
        if cause.kind in (CauseKind.NODE, CauseKind.PAUSE):
            continue
        assert nodes
        assert nodes <= draining
    for insight in report.insights:
        follows = cause_of(insight, report.causes)
        assert follows is None or follows.kind is CauseKind.PAUSE or follows.level >= insight.level
    again = read(write(report, now=NOW), now=NOW)
    assert [cause.summary for cause in again.causes] == [cause.summary for cause in report.causes]
