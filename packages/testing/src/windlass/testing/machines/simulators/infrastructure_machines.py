"""Simulates the infrastructure provider of machines, and the kubelets that would start on them.

| infrastructure machine | what the simulator does |
|---|---|
| has the annotation cluster.x-k8s.io/paused | lets go of its instance, condition Paused True where providers have one |
| not owned by a Machine yet | waits, as providers do |
| names an instance, or its Machine does by spec.providerID | takes that one over; goes on as below, at once |
| younger than `boot_seconds` | its finalizer |
| older | an instance; spec.providerID; status ready, addresses, state |
| older by `register_seconds` more | a Node with the same provider ID and a Ready condition |
| its instance was deleted behind its back | nothing: providers do not make a second one |
| being deleted | deletes instance and Node, then its finalizer comes off |

The workload cluster is the API server itself: it has both the control plane's objects and the Nodes. A Machine may name
the instance so that OpenStack instances can come from the Machine API; a real provider finds the server by name.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api import capi, core
from windlass.api.meta import ObjectMeta
from windlass.kube.conditions import put
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import permission, writes
from windlass.kube.control.plan import AddFinalizer, Merge, Outcome, Plan, RemoveFinalizers, RequeueAfter, Retry, target
from windlass.kube.control.seen import Absent, Present, Reader, Seen
from windlass.testing.machines.simulators import instances, kubelet
from windlass.testing.machines.simulators.ages import seconds_left
from windlass.testing.machines.simulators.instances import InstanceRecord, Side
from windlass.testing.machines.simulators.platforms import SimulatedPlatform, instance_named_by

NAMESPACE: Final = "openshift-cluster-api"
PAUSED: Final = "cluster.x-k8s.io/paused"

_SIDE: Final[Side] = "ClusterAPI"


class InfrastructureSnapshot(Struct, frozen=True, kw_only=True):
    """An infrastructure machine, its instance, the Node of its name, and how long things take.

    `instance` is the ID of its current or future instance; `named`: an object names this ID, it was not generated.
    """

    platform: SimulatedPlatform
    machine: Seen[Any]
    instance: str = ""
    named: bool = False
    record: Seen[InstanceRecord] = Absent()
    node: Seen[core.Node] = Absent()
    cloud: str = instances.NAMESPACE
    boot_seconds: float = 0.0
    register_seconds: float = 0.0

    @property
    def provider_id(self) -> str:
        return self.platform.provider_id(self.instance)


def infrastructure_machine_simulator(
    reader: Reader,
    *,
    platform: SimulatedPlatform,
    namespace: str = NAMESPACE,
    cloud: str = instances.NAMESPACE,
    boot_seconds: float = 2.0,
    register_seconds: float = 1.0,
) -> Controller[str, InfrastructureSnapshot]:
    """The controller; keys are names of machines.

    `boot_seconds`: from creation until the instance runs; `register_seconds`: from then to a Ready Node. `cloud` is the
    namespace with the records of instances.
    """

    async def observe(name: str, _: Outcome) -> InfrastructureSnapshot:
        machine = await reader.see(platform.machine, name, namespace=namespace)
        if not isinstance(machine, Present):
            return InfrastructureSnapshot(platform=platform, machine=machine)
        named_by = str((machine.tree.get("spec") or {}).get("providerID") or "")
        if not named_by and (owner := _owner(machine.metadata)):
            # Live: a Machine that is seen too late would cost a second instance.
            found = await reader.see(capi.Machine, owner, namespace=namespace)
            named_by = found.object.spec.provider_id if isinstance(found, Present) else ""
        instance = instance_named_by(named_by) or platform.instance(machine.metadata.name, machine.metadata.uid)
        record = await reader.see(InstanceRecord, instance, namespace=cloud)
        if instances.held_by_other(record, _SIDE):
            machine = await reader.see(platform.machine, name, namespace=namespace, live=True)
        return InfrastructureSnapshot(
            platform=platform,
            machine=machine,
            instance=instance,
            named=bool(named_by),
            record=record,
            node=await reader.see(core.Node, name, confirm=True),
            cloud=cloud,
            boot_seconds=boot_seconds,
            register_seconds=register_seconds,
        )

    return Controller(
        name=f"{platform.name.lower()}-machine-simulator",
        watches=(
            Watch(platform.machine, lambda machine: [machine.name], namespace=namespace),
            Watch(core.Node, lambda node: [node.name]),
        ),
        permissions=(
            writes(platform.machine, "patch", namespace=namespace),
            writes(platform.machine, "patch", subresource="status", namespace=namespace),
            permission(capi.Machine, "get", namespace=namespace),
            *instances.record_permissions(cloud),
            *kubelet.NODE_PERMISSIONS,
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
    if not instances.recorded(seen.record):
        return Plan((), Retry("the record of its instance cannot be read"))
    if PAUSED in machine.metadata.annotations:
        return Plan.of(instances.let_go(seen.record, side=_SIDE, now=now), _says_paused(seen, machine, now=now))
    if machine.deleting:
        return _terminate(seen, machine, now=now)
    if not _owner(machine.metadata):
        return Plan.of(_says_paused(seen, machine, now=now))
    if instances.gone(seen.record):
        return Plan.nothing(f"instance {seen.instance} was deleted")
    finalizer = AddFinalizer(
        target=target(machine),
        observed=tuple(machine.metadata.finalizers),
        finalizer=seen.platform.machine_finalizer,
        why="there will be a simulated instance to delete",
    )
    paused = _says_paused(seen, machine, now=now)
    left = 0.0 if seen.named else seconds_left(machine.metadata, seen.boot_seconds, now=now)
    if left > 0:
        return Plan.of(finalizer, paused).then(RequeueAfter(left, "the simulated instance boots"))
    record = instances.record_target(seen.instance, seen.cloud)
    name = machine.metadata.name
    hold = instances.hold(seen.record, record, machine=name, side=_SIDE, named=seen.named, now=now)
    # The finalizer is first: a machine that goes without one would leave an instance that nobody deletes.
    provisioned = (finalizer, hold, *_provisioned(seen, machine, now=now))
    left = seconds_left(machine.metadata, seen.boot_seconds + seen.register_seconds, now=now)
    if left > 0:
        return Plan.of(*provisioned).then(RequeueAfter(left, "the simulated kubelet starts"))
    registers = kubelet.registers(seen.node, name=name, instance=seen.instance, provider_id=seen.provider_id, now=now)
    return Plan.of(*provisioned, registers)


def _provisioned(seen: InfrastructureSnapshot, machine: Present[Any], *, now: datetime) -> tuple[Merge, Merge]:
    observed: dict[str, Any] = dict(machine.tree.get("spec") or {})
    spec = seen.platform.spec(seen.instance)
    return (
        Merge(
            target=target(machine),
            observed={"spec": observed},
            desired={"spec": {**observed, **spec}},
            why="the simulated instance exists",
        ),
        _status(seen, machine, seen.platform.status(seen.instance, machine.metadata.name), now=now),
    )


def _says_paused(seen: InfrastructureSnapshot, machine: Present[Any], *, now: datetime) -> Merge | None:
    """Only the condition, where the provider has one."""
    return _status(seen, machine, {}, now=now) if seen.platform.reports_paused else None


def _status(seen: InfrastructureSnapshot, machine: Present[Any], fields: dict[str, Any], *, now: datetime) -> Merge:
    observed: dict[str, Any] = dict(machine.tree.get("status") or {})
    desired = {**observed, **fields}
    if seen.platform.reports_paused:
        paused = PAUSED in machine.metadata.annotations
        desired["conditions"] = put(observed.get("conditions") or [], _paused_condition(paused), now=now)
    return Merge(
        target=target(machine),
        part="status",
        observed={"status": observed},
        desired={"status": desired},
        why="the simulated instance runs" if fields else "whether the provider stands still",
    )


def _paused_condition(paused: bool) -> dict[str, str]:
    """As the provider of AWS says it, without its lastTransitionTime."""
    if paused:
        return {"type": "Paused", "status": "True", "reason": "Paused", "message": f"annotation {PAUSED} is set"}
    return {"type": "Paused", "status": "False", "severity": "Info", "reason": "NotPaused"}


def _terminate(seen: InfrastructureSnapshot, machine: Present[Any], *, now: datetime) -> Plan:
    return Plan.of(
        instances.delete(seen.record, side=_SIDE, now=now),
        kubelet.is_removed(seen.node, provider_id=seen.provider_id),
        RemoveFinalizers(
            target=target(machine),
            observed=tuple(machine.metadata.finalizers),
            finalizers=(seen.platform.machine_finalizer,),
            why="the simulated instance is gone",
        ),
    )


def _owner(metadata: ObjectMeta) -> str:
    """The name of the Machine that owns it, empty if none does."""
    group = capi.Machine.RESOURCE.group
    owners = (
        owner.name
        for owner in metadata.owner_references
        if owner.kind == "Machine" and owner.api_version.split("/")[0] == group
    )
    return next(owners, "")
