"""Causes of recorded clusters, of which only what `oc` reads was recorded."""

from tests.shared import fixtures
from windlass.update_status.assessment import assess
from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.report import Report


def recorded(name: str) -> Report:
    read = read_mock(str(fixtures("update_status") / f"{name}-cv.yaml"), wall=0)
    return assess(read.sources, now=read.now, wall=read.wall)


def test_four_degraded_operators_are_symptoms_of_the_node_that_they_name() -> None:
    report = recorded("4.14.1-degraded")
    (cause,) = report.causes
    assert (cause.kind, cause.level.title) == ("Node", "Error")
    symptoms = [one.resources[0].name for one in report.insights if cause_of(one, report.causes) is cause]
    assert symptoms == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]


def test_a_paused_pool_is_told_once() -> None:
    report = recorded("v-paused-custom-pool-one-draining")
    assert [cause.kind for cause in report.causes] == ["Pause"]
    paused = [one for one in report.insights if "paused pool" in one.summary]
    assert [cause_of(one, report.causes) for one in paused] == list(report.causes)
