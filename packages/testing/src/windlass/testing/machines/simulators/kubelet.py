"""Simulates the kubelet of an instance: registers its Node after the boot, and sets it Ready."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeGuard

from windlass.api import core
from windlass.kube.clock import rfc3339
from windlass.kube.conditions import find, put
from windlass.kube.control.permissions import Permission, writes
from windlass.kube.control.plan import Action, Create, Delete, Merge, Target, target
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.testing.machines.simulators.platforms import address

_CONDITIONS: Final = {
    "Ready": ("True", "SimulatedKubeletReady"),
    "MemoryPressure": ("False", "SimulatedKubeletHasSufficientMemory"),
    "DiskPressure": ("False", "SimulatedKubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "SimulatedKubeletHasSufficientPID"),
}

NODE_PERMISSIONS: Final[Sequence[Permission]] = (
    writes(core.Node, "create", "delete"),
    writes(core.Node, "patch", subresource="status"),
)
"""What a simulator that plays the kubelet, too, must declare."""


def registers(node: Seen[core.Node], *, name: str, instance: str, provider_id: str, now: datetime) -> Action | None:
    """What the kubelet of the instance does next; None if its Node is ready, or belongs to another instance."""
    if isinstance(node, Absent):
        body = {"metadata": {"labels": {"kubernetes.io/hostname": name}}, "spec": {"providerID": provider_id}}
        return Create(target=Target(core.Node, name), body=body, why="the simulated kubelet registers")
    if not belongs(node, provider_id) or node.deleting or is_ready(node):
        return None
    return reports(node, [("InternalIP", address(instance))], now=now)


def reports(
    node: Present[core.Node], addresses: Iterable[tuple[str, str]], *, runs: bool = True, now: datetime
) -> Merge:
    """The status that the kubelet reports. `runs` False: it has fallen silent."""
    observed: dict[str, Any] = dict(node.tree.get("status") or {})
    conditions = observed.get("conditions") or []
    for kind, (status, reason) in _CONDITIONS.items():
        if not runs:
            status, reason = "Unknown", "NodeStatusUnknown"
        before = find(conditions, kind)
        if before is None or before["status"] != status:
            said = {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": "written by a simulator: no kubelet runs here",
                "lastHeartbeatTime": rfc3339(now),
            }
            conditions = put(conditions, said, now=now)
    report = {"conditions": conditions, "addresses": [{"type": kind, "address": each} for kind, each in addresses]}
    return Merge(
        target=target(node),
        part="status",
        observed={"status": observed},
        desired={"status": {**observed, **report}},
        why="the simulated kubelet is ready" if runs else "the simulated kubelet is silent",
    )


def is_removed(node: Seen[core.Node], *, provider_id: str) -> Delete | None:
    """The Node goes with its instance; None if there is no Node of it."""
    if not belongs(node, provider_id):
        return None
    return Delete(target=target(node), deleting=node.deleting, why="its instance is gone")


def belongs(node: Seen[core.Node], provider_id: str) -> TypeGuard[Present[core.Node]]:
    """Whether the Node is there, and that of the instance."""
    return isinstance(node, Present) and node.object.spec.provider_id == provider_id


def is_ready(node: Present[core.Node]) -> bool:
    """Whether its kubelet says so."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.object.status.conditions)
