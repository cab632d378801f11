"""Play the infrastructure provider for one machine, and the kubelet that would start on it.

| infrastructure machine | what the simulator does |
|---|---|
| has the annotation cluster.x-k8s.io/paused | nothing |
| not owned by a Machine yet | waits, as providers do |
| younger than `boot_seconds` | its finalizer |
| older | spec.providerID; status ready, addresses, state |
| older by `register_seconds` more | a Node with the same provider ID and a Ready condition |
| being deleted | deletes that Node, then its finalizer comes off |

The workload cluster is the API server itself: control plane and Nodes live in one.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api import capi, core
from windlass.api.meta import ObjectMeta
from windlass.kube.clock import rfc3339
from windlass.kube.controller import Controller, Watch
from windlass.kube.permissions import writes
from windlass.kube.plan import (
    Action,
    AddFinalizer,
    Create,
    Delete,
    Merge,
    Outcome,
    Plan,
    RemoveFinalizers,
    RequeueAfter,
    Target,
    target,
)
from windlass.kube.seen import Absent, Present, Reader, Seen
from windlass.testing.simulators.ages import seconds_left
from windlass.testing.simulators.platforms import SimulatedPlatform, address

NAMESPACE: Final = "openshift-cluster-api"
PAUSED: Final = "cluster.x-k8s.io/paused"

_NODE_CONDITIONS: Final = {
    "Ready": ("True", "SimulatedKubeletReady"),
    "MemoryPressure": ("False", "SimulatedKubeletHasSufficientMemory"),
    "DiskPressure": ("False", "SimulatedKubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "SimulatedKubeletHasSufficientPID"),
}


class InfrastructureSnapshot(Struct, frozen=True):
    """An infrastructure machine, the Node of its name, and how long things take."""

    platform: SimulatedPlatform
    machine: Seen[Any]
    node: Seen[core.Node]
    boot_seconds: float = 0.0
    register_seconds: float = 0.0


def infrastructure_machine_simulator(
    reader: Reader,
    *,
    platform: SimulatedPlatform,
    namespace: str = NAMESPACE,
    boot_seconds: float = 2.0,
    register_seconds: float = 1.0,
) -> Controller[str, InfrastructureSnapshot]:
    """The controller; keys are names of machines.

    `boot_seconds`: from creation until the instance runs; `register_seconds`: from then to a Ready Node.
    """

    async def observe(name: str, _: Outcome) -> InfrastructureSnapshot:
        machine = await reader.see(platform.machine, name, namespace=namespace)
        node = await reader.see(core.Node, name, confirm=True) if isinstance(machine, Present) else Absent()
        return InfrastructureSnapshot(platform, machine, node, boot_seconds, register_seconds)

    return Controller(
        name=f"{platform.name.lower()}-machine-simulator",
        watches=(
            Watch(platform.machine, lambda machine: [machine.name], namespace=namespace),
            Watch(core.Node, lambda node: [node.name]),
        ),
        permissions=(
            writes(platform.machine, "patch", namespace=namespace),
            writes(platform.machine, "patch", subresource="status", namespace=namespace),
            writes(core.Node, "create", "delete"),
            writes(core.Node, "patch", subresource="status"),
        ),
        observe=observe,
        decide=decide_infrastructure_machine,
        workers=4,
    )


def decide_infrastructure_machine(seen: InfrastructureSnapshot, *, now: datetime) -> Plan:
    """What the provider would do about one machine."""
    machine = seen.machine
    if not isinstance(machine, Present):
        return Plan.nothing("no machine to look after")
    if PAUSED in machine.metadata.annotations:
        return Plan.nothing("the machine is paused")
    if machine.deleting:
        return _terminate(seen, machine)
    if not _owned_by_machine(machine.metadata):
        return Plan.nothing("no Machine owns it yet")
    hold = AddFinalizer(
        target=target(machine),
        observed=tuple(machine.metadata.finalizers),
        finalizer=seen.platform.machine_finalizer,
        why="there will be a simulated instance to delete",
    )
    left = seconds_left(machine.metadata, seen.boot_seconds, now=now)
    if left > 0:
        return Plan.of(hold).then(RequeueAfter(left, "the simulated instance boots"))
    provisioned = _provisioned(seen.platform, machine)
    left = seconds_left(machine.metadata, seen.boot_seconds + seen.register_seconds, now=now)
    if left > 0:
        return Plan.of(hold, *provisioned).then(RequeueAfter(left, "the simulated kubelet starts"))
    return Plan.of(hold, *provisioned, _node(seen, machine, now=now))


def _provisioned(platform: SimulatedPlatform, machine: Present[Any]) -> tuple[Merge, Merge]:
    observed_spec: dict[str, Any] = dict(machine.tree.get("spec") or {})
    observed_status: dict[str, Any] = dict(machine.tree.get("status") or {})
    spec, status = platform.spec(machine.metadata), platform.status(machine.metadata)
    return (
        Merge(
            target=target(machine),
            observed={"spec": observed_spec},
            desired={"spec": {**observed_spec, **spec}},
            why="the simulated instance exists",
        ),
        Merge(
            target=target(machine),
            part="status",
            observed={"status": observed_status},
            desired={"status": {**observed_status, **status}},
            why="the simulated instance runs",
        ),
    )


def _node(seen: InfrastructureSnapshot, machine: Present[Any], *, now: datetime) -> Action | None:
    provider_id = seen.platform.spec(machine.metadata)["providerID"]
    node = seen.node
    if isinstance(node, Absent):
        body = {
            "metadata": {"labels": {"kubernetes.io/hostname": machine.metadata.name}},
            "spec": {"providerID": provider_id},
        }
        return Create(target=Target(core.Node, machine.metadata.name), body=body, why="the simulated kubelet registers")
    if not isinstance(node, Present) or node.deleting or node.object.spec.provider_id != provider_id:
        return None
    observed: dict[str, Any] = dict(node.tree.get("status") or {})
    if any(condition.type == "Ready" and condition.status == "True" for condition in node.object.status.conditions):
        return None
    report = {
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": "written by a simulator: no kubelet runs here",
                "lastHeartbeatTime": rfc3339(now),
                "lastTransitionTime": rfc3339(now),
            }
            for kind, (status, reason) in _NODE_CONDITIONS.items()
        ],
        "addresses": [{"type": "InternalIP", "address": address(machine.metadata)}],
    }
    return Merge(
        target=target(node),
        part="status",
        observed={"status": observed},
        desired={"status": {**observed, **report}},
        why="the simulated kubelet is ready",
    )


def _terminate(seen: InfrastructureSnapshot, machine: Present[Any]) -> Plan:
    provider_id = seen.platform.spec(machine.metadata)["providerID"]
    delete = None
    if isinstance(seen.node, Present) and seen.node.object.spec.provider_id == provider_id:
        delete = Delete(target=target(seen.node), deleting=seen.node.deleting, why="its instance is gone")
    let_go = RemoveFinalizers(
        target=target(machine),
        observed=tuple(machine.metadata.finalizers),
        finalizers=(seen.platform.machine_finalizer,),
        why="the simulated instance is gone",
    )
    return Plan.of(delete, let_go)


def _owned_by_machine(metadata: ObjectMeta) -> bool:
    group = capi.Machine.RESOURCE.group
    return any(
        owner.kind == "Machine" and owner.api_version.split("/")[0] == group for owner in metadata.owner_references
    )
