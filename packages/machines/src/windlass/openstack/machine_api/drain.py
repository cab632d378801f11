"""Drains the Node of a Machine that is being deleted: what comes next, from the Node and its Pods.

| situation | next |
|---|---|
| the Machine has no Node, or the annotation `machine.openshift.io/exclude-node-draining` | skipped |
| a preDrain hook | wait |
| its Node does not exist | drained |
| it is of the control plane, and another Node of that is cordoned, or its Machine was deleted earlier | wait |
| the Node is not cordoned | cordon it |
| Pods that may be evicted | evict them; a PodDisruptionBudget may refuse |
| Pods that end | wait |
| none of these | drained |

Some Pods are not evicted: those of DaemonSets, which ignore the cordon, and mirrors of static Pods. All others are,
also finished ones and those without an owner. When the kubelet is silent (`Ready` is Unknown), Pods are evicted with
one second of grace, and those that ought to have ended are not waited for: nobody would report their end.

Control plane Nodes are drained one by one. Machines that are deleted at the same moment are ordered by name.

Source: `pkg/controller/machine/drain_controller.go` of openshift/machine-api-operator, and `k8s.io/kubectl/pkg/drain`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from msgspec import Struct

from windlass.api.core import Node, Pod
from windlass.api.mapi import Machine
from windlass.api.meta import ObjectMeta
from windlass.kube.conditions import find
from windlass.kube.control.plan import Action, Evict, Merge, target
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen, Unreadable
from windlass.kube.errors import ApiError
from windlass.openstack.machine_api.constants import NO_DRAIN_ANNOTATION

CONTROL_PLANE_LABELS: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_MIRROR: Final = "kubernetes.io/config.mirror"
_SILENT_GRACE: Final = 1
"""Seconds that a Pod has to end when nobody can report that it has."""
_SHOWN: Final = 3
"""Pods that a message names; of the others it has the number."""


class NodeView(Struct, frozen=True, kw_only=True):
    """The `node` of the Machine with its `pods`, read now. Of the control plane: `cordoned` has the names of the other
    Nodes that are, and `earlier` those whose Machines are being drained and were deleted before this one.

    `refused`: the Pods, by uid, whose eviction was refused in this attempt, and why.
    """

    node: Seen[Node]
    pods: tuple[Seen[Pod], ...] = ()
    cordoned: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


class Skipped(Struct, frozen=True):
    """There is nothing to drain."""


class Blocked(Struct, frozen=True):
    """Hooks, by name, say when it may begin."""

    hooks: tuple[str, ...]


class Drained(Struct, frozen=True):
    """Nothing is left to evict; `node` is empty if it does not exist."""

    node: str = ""


class Draining(Struct, frozen=True):
    """Send `actions`; `waits` says what it waits for, empty while it goes on."""

    actions: tuple[Action, ...] = ()
    waits: str = ""


Step: TypeAlias = Skipped | Blocked | Drained | Draining


def is_skipped(machine: Machine) -> bool:
    return machine.status.node_ref is None or NO_DRAIN_ANNOTATION in machine.metadata.annotations


def next_drain(machine: Machine, view: NodeView | None, *, now: datetime) -> Step:
    """What comes next. `view` None: the Node was not looked at, because it is skipped or a hook blocks it."""
    if is_skipped(machine):
        return Skipped()
    if hooks := machine.spec.lifecycle_hooks.pre_drain:
        return Blocked(tuple(hook.name for hook in hooks))
    if view is None:
        return Draining(waits="its Node has not been read yet")
    match view.node:
        case Absent():
            return Drained()
        case Unreadable(why=why) | NotServedKind(why=why):
            return Draining(waits=f"its Node cannot be read: {why}")
        case Present() as node:
            return _drain(node, view, now=now)


def is_control_plane(meta: ObjectMeta) -> bool:
    return any(label in meta.labels for label in CONTROL_PLANE_LABELS)


def why_refused(error: ApiError) -> str:
    """The refusal of an eviction for people, with the PodDisruptionBudget that forbids it."""
    causes = [cause.message for cause in error.status.details.causes if cause.message]
    return " ".join((str(error), *causes))


def _drain(node: Present[Node], view: NodeView, *, now: datetime) -> Step:
    name = node.metadata.name
    if not node.object.spec.unschedulable:
        before = view.cordoned or view.earlier
        if is_control_plane(node.metadata) and before:
            others = " and ".join(before)
            return Draining(waits=f"drain not permitted: Node {others} of the control plane is being drained")
        cordon = Merge(
            target=target(node),
            observed={"spec": {}},
            desired={"spec": {"unschedulable": True}},
            why="no Pod may come while it is drained",
        )
        return Draining((cordon,))
    silent = _is_silent(node)
    if odd := [each.metadata for each in view.pods if isinstance(each, Unreadable)]:
        return Draining(waits=f"Pod {odd[0].namespace}/{odd[0].name} cannot be read")
    left = list(_to_go(view.pods, silent=silent, now=now))
    if not left:
        return Drained(name)
    grace = _SILENT_GRACE if silent else None
    evictions = tuple(
        Evict(target=target(pod), grace_seconds=grace, why=f"Node {name} is drained")
        for pod in left
        if not pod.deleting and pod.metadata.uid not in view.refused
    )
    return Draining(evictions, waits="" if evictions else "; ".join(_waits(left, view)))


def _to_go(pods: Sequence[Seen[Pod]], *, silent: bool, now: datetime) -> Iterator[Present[Pod]]:
    for pod in pods:
        if not isinstance(pod, Present):
            continue
        if _MIRROR in pod.metadata.annotations or _is_of_daemon_set(pod):
            continue
        if silent and _ought_to_have_ended(pod, now=now):
            continue
        yield pod


def _is_of_daemon_set(pod: Present[Pod]) -> bool:
    finished = pod.object.status.phase in ("Succeeded", "Failed")
    return not finished and any(each.controller and each.kind == "DaemonSet" for each in pod.metadata.owner_references)


def _ought_to_have_ended(pod: Present[Pod], *, now: datetime) -> bool:
    since = pod.metadata.deletion_timestamp
    return since is not None and (now - datetime.fromisoformat(since)).total_seconds() > _SILENT_GRACE


def _is_silent(node: Present[Node]) -> bool:
    ready = find(node.object.status.conditions, "Ready")
    return ready is not None and ready.status == "Unknown"


def _waits(left: Sequence[Present[Pod]], view: NodeView) -> Iterator[str]:
    """The reasons why the drain waits, in a stable order: Pods kept by budgets, then ending Pods."""
    refused = sorted((_name(pod), view.refused[pod.metadata.uid]) for pod in left if pod.metadata.uid in view.refused)
    for name, why in refused[:_SHOWN]:
        yield f"Pod {name} cannot be evicted: {why}"
    if len(refused) > _SHOWN:
        yield f"{len(refused) - _SHOWN} more Pods cannot be evicted"
    if ending := sorted(_name(pod) for pod in left if pod.deleting):
        others = f" and {len(ending) - _SHOWN} more" if len(ending) > _SHOWN else ""
        yield f"Pods end: {', '.join(ending[:_SHOWN])}{others}"


def _name(pod: Present[Pod]) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
