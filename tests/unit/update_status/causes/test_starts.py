"""Which Pods cannot become ready by themselves, and why."""

import pytest

from windlass.api.core import ContainerState, ContainerStateTerminated, ContainerStatus, Pod
from windlass.update_status.causes.starts import PULLS, STARTS, why_not_started
from windlass.update_status.report import CauseKind
from windlass.update_status.times import MINUTE

from .workload import NOW, RUNNING, placed, pod, ready, unready, waiting

PULL, START = CauseKind.IMAGE_PULL, CauseKind.START
ENDED = ContainerStatus(name="app", state=ContainerState(terminated=ContainerStateTerminated(exit_code=1)))


def creating(minutes: float) -> Pod:
    """A Pod that was placed then, and of which no container has been made."""
    conditions = (ready("False", minutes), placed("True", minutes))
    return pod("p", "n9", *conditions, phase="Pending", containers=[waiting("ContainerCreating")])


@pytest.mark.parametrize(
    ("pod", "kind", "text"),
    [
        (pod(), None, ""),
        (unready(), PULL, "Container app: ImagePullBackOff: Back-off pulling image"),
        (unready(reason="CrashLoopBackOff"), START, "Container app: CrashLoopBackOff: Back-off pulling image"),
        (unready(reason="ContainerCreating"), START, "None of its containers has been made on node n9"),
        (pod(starting=[waiting("ErrImagePull", name="init")]), PULL, "Container init: ErrImagePull"),
        (pod(containers=[waiting("CrashLoopBackOff"), waiting("ErrImagePull", name="b")]), PULL, "Container b:"),
        (pod(containers=[RUNNING, waiting("Error")]), None, ""),
        (pod(containers=[ENDED]), None, ""),
        (unready(deleted=0), None, ""),
        (pod(phase="Failed", containers=[waiting("ErrImagePull")]), None, ""),
        (pod("p", "", placed("False", -1, "0/6 nodes"), phase="Pending", containers=[]), START, "0/6 nodes"),
        (pod("p", "", placed("False", -1), phase="Pending", containers=[]), START, "Nothing tells why."),
        (pod("p", "", ready("False"), phase="Pending", containers=[]), None, ""),
        (creating(-5), None, ""),
        (creating(-6), START, "None of its containers"),
        (pod("p", "n9", placed(), phase="Pending", containers=[]), START, "None of its containers"),
        (pod("p", "n9", placed(), phase="Pending", containers=[waiting(""), RUNNING]), None, ""),
    ],
)
def test_a_pod_that_does_not_start_says_why(pod: Pod, kind: CauseKind | None, text: str) -> None:
    found = why_not_started(pod, now=NOW)
    assert (found.kind if found else None) is kind
    assert found is None or found.text.startswith(text)


def test_it_is_dated_by_when_the_pod_stopped_being_ready() -> None:
    found = why_not_started(unready(), now=NOW)
    assert found is not None
    assert found.since == NOW - 30 * MINUTE


@pytest.mark.parametrize(("reasons", "kind"), [(PULLS, PULL), (STARTS, START)])
def test_each_reason_of_the_kubelet_is_of_one_kind(reasons: frozenset[str], kind: CauseKind) -> None:
    assert PULLS.isdisjoint(STARTS)
    for reason in reasons:
        found = why_not_started(unready(reason=reason), now=NOW)
        assert found is not None
        assert found.kind is kind
