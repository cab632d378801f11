"""What of a Node wakes the controller: its heartbeats do not. How long it rests between writes."""

from typing import Any

import pytest

from windlass.api.core import Node
from windlass.kube.object import Object
from windlass.update_status.controller.declare import pace_of, update_status_controller
from windlass.update_status.document import Settled

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "worker-0",
        "resourceVersion": "1",
        "labels": {"node-role.kubernetes.io/worker": ""},
        "annotations": {"machineconfiguration.openshift.io/state": "Done", "volumes.kubernetes.io/attached": "a"},
    },
    "spec": {"providerID": "x"},
    "status": {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }
        ],
        "images": [{"names": ["a"], "sizeBytes": 1}],
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """NODE with another value at `path`: keys with `~` for a slash, and places in lists."""
    steps = [step.replace("~", "/") for step in path.split("/")]

    def replaced(tree: Any, steps: list[str]) -> Any:
        if not steps:
            return value
        head, *rest = steps
        if isinstance(tree, list):
            return [replaced(each, rest) if number == int(head) else each for number, each in enumerate(tree)]
        return {**tree, head: replaced(tree.get(head, {}), rest)}

    tree: dict[str, Any] = replaced(NODE, steps)
    return tree


(when,) = (watch.when for watch in update_status_controller(object()).watches if watch.kind is Node)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata/labels/node-role.kubernetes.io~infra", ""),
        ("metadata/annotations/machineconfiguration.openshift.io~state", "Working"),
        ("metadata/annotations/machineconfiguration.openshift.io~reason", "drain failed"),
        ("spec/unschedulable", True),
        ("status/conditions/0/status", "False"),
        ("status/conditions/0/message", "disk is full"),
        ("status/conditions/0/lastTransitionTime", "2026-01-01T00:00:09Z"),
        ("status/conditions", "malformed"),
    ],
)
def test_a_change_that_a_report_shows_wakes_it(path: str, value: Any) -> None:
    assert when(Object.of(Node, NODE), Object.of(Node, changed(path, value)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata/resourceVersion", "2"),
        ("metadata/annotations/volumes.kubernetes.io~attached", "b"),
        ("status/conditions/0/lastHeartbeatTime", "2026-01-01T00:05:00Z"),
        ("status/images", []),
    ],
)
def test_another_change_does_not(path: str, value: Any) -> None:
    assert not when(Object.of(Node, NODE), Object.of(Node, changed(path, value)))


def test_a_node_that_comes_or_goes_wakes_it() -> None:
    assert when(None, Object.of(Node, NODE))
    assert when(Object.of(Node, NODE), None)


@pytest.mark.parametrize(("kib", "seconds"), [(0, 1.0), (16, 1.0), (33, 33 / 32), (160, 5.0), (1000, 15.0)])
def test_a_larger_object_is_written_less_often(kib: int, seconds: float) -> None:
    settled = Settled()
    settled.size = kib * 1024
    assert pace_of(settled).rest(0.0) == seconds


def test_a_server_that_is_slow_is_written_to_less_often_whatever_the_size() -> None:
    assert pace_of(Settled()).rest(2.0) == 10.0
