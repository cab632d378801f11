"""What comes next when a Node is drained, as a table, and who is evicted."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.openstack.machine_api.cases import node, pod
from windlass.api.core import Node, Pod
from windlass.api.mapi import Machine
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Evict, Merge
from windlass.kube.control.seen import Absent, Present, Unreadable
from windlass.model.refusals import unevictable
from windlass.openstack.machine_api.drain import Blocked, Drained, Draining, NodeView, Skipped, next_drain, why_refused

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
CONTROL_PLANE = {"node-role.kubernetes.io/master": ""}
CORDONED: dict[str, Any] = {"unschedulable": True}


def machine(*, hooks: int = 0, linked: bool = True, **annotations: str) -> Machine:
    tree: dict[str, Any] = {
        "metadata": {
            "annotations": {
                f"machine.openshift.io/{name.replace('_', '-')}": text for name, text in annotations.items()
            }
        },
        "spec": {"lifecycleHooks": {"preDrain": [{"name": f"hook-{at}", "owner": "me"} for at in range(hooks)]}},
        "status": {"nodeRef": {"kind": "Node", "name": "node-0"}} if linked else {},
    }
    return msgspec.convert(tree, Machine)


def present(kind: Any, tree: dict[str, Any]) -> Present[Any]:
    tree["metadata"].setdefault("uid", tree["metadata"]["name"])
    return Present(msgspec.convert(tree, kind), msgspec.json.encode(tree))


def view(*pods: dict[str, Any], on: dict[str, Any] | None = None, **more: Any) -> NodeView:
    found = present(Node, on or node(**CORDONED))
    return NodeView(node=found, pods=tuple(present(Pod, each) for each in pods), **more)


def owned(kind: str) -> dict[str, Any]:
    return {"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": True}]}


ENDING: dict[str, Any] = {"deletionTimestamp": "2026-11-22T11:59:50Z"}
MIRROR: dict[str, Any] = {"annotations": {"kubernetes.io/config.mirror": "x"}}


@pytest.mark.parametrize(
    ("about", "seen", "expected"),
    [
        pytest.param(machine(linked=False), None, Skipped(), id="without a Node"),
        pytest.param(machine(exclude_node_draining=""), view(pod("p")), Skipped(), id="excluded"),
        pytest.param(machine(linked=False, hooks=1), None, Skipped(), id="a hook does not hold what is skipped"),
        pytest.param(machine(hooks=2), view(pod("p")), Blocked(("hook-0", "hook-1")), id="a hook"),
        pytest.param(machine(), NodeView(node=Absent(confirmed=True)), Drained(), id="the Node is gone"),
        pytest.param(machine(), view(), Drained("node-0"), id="no Pod"),
        pytest.param(machine(), view(pod("p", **owned("DaemonSet"))), Drained("node-0"), id="a DaemonSet"),
        pytest.param(machine(), view(pod("p", **MIRROR)), Drained("node-0"), id="a mirror of a static Pod"),
        pytest.param(
            machine(),
            view(pod("p", **ENDING), pod("q")),
            Draining(waits="Pod shop/q cannot be evicted: budget; Pods end: shop/p"),
            id="a budget, and a Pod that ends",
        ),
        pytest.param(
            machine(), view(pod("p", **ENDING), on=node(ready="Unknown", **CORDONED)), Drained("node-0"), id="silent"
        ),
        pytest.param(
            machine(),
            view(on=node(labels=CONTROL_PLANE), cordoned=("node-1",)),
            Draining(waits="drain not permitted: Node node-1 of the control plane is being drained"),
            id="another Node of the control plane is cordoned",
        ),
        pytest.param(
            machine(),
            view(on=node(labels=CONTROL_PLANE), earlier=("node-2",)),
            Draining(waits="drain not permitted: Node node-2 of the control plane is being drained"),
            id="another Machine of the control plane was deleted before",
        ),
        pytest.param(
            machine(),
            view(on=node(labels=CONTROL_PLANE, **CORDONED), cordoned=("node-1",)),
            Drained("node-0"),
            id="goes on",
        ),
        pytest.param(
            machine(),
            NodeView(
                node=present(Node, node(**CORDONED)), pods=(Unreadable(ObjectMeta(name="p", namespace="shop"), "odd"),)
            ),
            Draining(waits="Pod shop/p cannot be read"),
            id="a Pod that cannot be read may not have gone",
        ),
    ],
)
def test_drain_what_comes_next(about: Machine, seen: NodeView | None, expected: Any) -> None:
    if isinstance(expected, Draining) and "budget" in expected.waits and seen is not None:
        seen = msgspec.structs.replace(seen, refused={"q": "budget"})
    assert next_drain(about, seen, now=NOW) == expected


def test_drain_of_a_worker_waits_for_no_control_plane() -> None:
    found = next_drain(machine(), view(cordoned=("node-1",), on=node()), now=NOW)
    assert isinstance(found, Draining)
    assert [type(each) for each in found.actions] == [Merge]


@pytest.mark.parametrize("labels", [{}, CONTROL_PLANE])
def test_drain_begins_with_a_cordon(labels: dict[str, str]) -> None:
    step = next_drain(machine(), view(pod("p"), on=node(labels=labels)), now=NOW)
    assert isinstance(step, Draining)
    (cordon,) = step.actions
    assert isinstance(cordon, Merge)
    assert cordon.patch == {"spec": {"unschedulable": True}}


@pytest.mark.parametrize(
    ("pods", "ready", "evicted"),
    [
        pytest.param([pod("p"), pod("q", **owned("ReplicaSet"))], "True", {"p": None, "q": None}, id="owned or not"),
        pytest.param([pod("p", phase="Succeeded")], "True", {"p": None}, id="finished"),
        pytest.param(
            [pod("p", phase="Failed", **owned("DaemonSet"))], "True", {"p": None}, id="finished, of a DaemonSet"
        ),
        pytest.param([pod("p"), pod("q", **ENDING)], "True", {"p": None}, id="one that ends is left"),
        pytest.param([pod("p")], "Unknown", {"p": 1}, id="with little grace if the kubelet is silent"),
        pytest.param([pod("p"), pod("q")], "False", {"p": None, "q": None}, id="with its own if the Node is not ready"),
    ],
)
def test_drain_who_is_evicted(pods: list[dict[str, Any]], ready: str, evicted: dict[str, int | None]) -> None:
    step = next_drain(machine(), view(*pods, on=node(ready=ready, **CORDONED)), now=NOW)
    assert isinstance(step, Draining)
    sent = [each for each in step.actions if isinstance(each, Evict)]
    assert {each.target.name: each.grace_seconds for each in sent} == evicted
    assert not step.waits


def test_drain_names_three_of_many_pods() -> None:
    seen = view(*(pod(f"p-{at}") for at in range(5)), refused={f"p-{at}": "budget" for at in range(5)})
    step = next_drain(machine(), seen, now=NOW)
    assert isinstance(step, Draining)
    assert step.waits.count("cannot be evicted: budget") == 3
    assert "2 more Pods cannot be evicted" in step.waits


def test_drain_names_the_budget_that_refuses() -> None:
    assert "disruption budget shop needs" in why_refused(unevictable("shop"))
