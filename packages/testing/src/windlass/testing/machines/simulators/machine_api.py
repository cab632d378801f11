"""Simulates the Machine API's machine controller: from the creation of an instance to its Node and its deletion.

While the Machine API is not authoritative it lets go of the instance, says so (`Paused`, see `authority`) and does
nothing else, also while the Machine is being deleted. While it is:

| Machine | what the simulator does |
|---|---|
| names no instance and is younger than `boot_seconds` | finalizer `machine.machine.openshift.io`, phase Provisioning |
| names one by spec.providerID | takes that one over; goes on as below, at once |
| older | an instance; spec.providerID, addresses, provider status, annotation with its state; phase Provisioned |
| older by `register_seconds` more | a Node with the same provider ID; when it is ready status.nodeRef, phase Running |
| its instance was deleted behind its back | phase Failed: the Machine API does not make a second one |
| being deleted | phase Deleting; deletes instance and Node; then the finalizer comes off |

Nothing drains, and lifecycle hooks are not waited for.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api import core, mapi
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import writes
from windlass.kube.control.plan import AddFinalizer, Merge, Outcome, Plan, RemoveFinalizers, RequeueAfter, Retry, target
from windlass.kube.control.seen import Absent, Present, Reader, Seen
from windlass.testing.machines.simulators import instances, kubelet
from windlass.testing.machines.simulators.ages import seconds_left
from windlass.testing.machines.simulators.authority import NAMESPACE, in_charge, standing_still, status
from windlass.testing.machines.simulators.instances import InstanceRecord, Side
from windlass.testing.machines.simulators.platforms import SimulatedPlatform, instance_named_by

FINALIZER: Final = "machine.machine.openshift.io"
INSTANCE_STATE: Final = "machine.openshift.io/instance-state"

_SIDE: Final[Side] = "MachineAPI"
_PATIENCE: Final = 0.5
"""Seconds between looks at an instance that the other side still has."""


class MachineApiSnapshot(Struct, frozen=True, kw_only=True):
    """A Machine of the Machine API, its instance, the Node of its name, and how the simulator was told to behave.

    `instance` is the ID of the instance that is its own or would be; `named`: spec.providerID says so.
    """

    platform: SimulatedPlatform
    machine: Seen[mapi.Machine]
    instance: str = ""
    named: bool = False
    record: Seen[InstanceRecord] = Absent()
    node: Seen[core.Node] = Absent()
    cloud: str = instances.NAMESPACE
    fills_authority: bool = True
    boot_seconds: float = 0.0
    register_seconds: float = 0.0

    @property
    def provider_id(self) -> str:
        return self.platform.provider_id(self.instance)


def machine_api_simulator(
    reader: Reader,
    *,
    platform: SimulatedPlatform,
    namespace: str = NAMESPACE,
    cloud: str = instances.NAMESPACE,
    fills_authority: bool = True,
    boot_seconds: float = 2.0,
    register_seconds: float = 1.0,
) -> Controller[str, MachineApiSnapshot]:
    """The controller; keys are names of Machines.

    `boot_seconds`: from creation until the instance runs; `register_seconds`: from then to a Ready Node. `cloud` is the
    namespace with the records of instances.
    """

    async def observe(name: str, _: Outcome) -> MachineApiSnapshot:
        machine = await reader.see(mapi.Machine, name, namespace=namespace)
        if not isinstance(machine, Present):
            return MachineApiSnapshot(platform=platform, machine=machine)
        named_by = machine.object.spec.provider_id or ""
        instance = instance_named_by(named_by) or platform.instance(machine.metadata.name, machine.metadata.uid)
        record = await reader.see(InstanceRecord, instance, namespace=cloud)
        if instances.held_by_other(record, _SIDE):
            machine = await reader.see(mapi.Machine, name, namespace=namespace, live=True)
        return MachineApiSnapshot(
            platform=platform,
            machine=machine,
            instance=instance,
            named=bool(named_by),
            record=record,
            node=await reader.see(core.Node, name, confirm=True),
            cloud=cloud,
            fills_authority=fills_authority,
            boot_seconds=boot_seconds,
            register_seconds=register_seconds,
        )

    return Controller(
        name="machine-api-simulator",
        watches=(
            Watch(mapi.Machine, lambda machine: [machine.name], namespace=namespace),
            Watch(core.Node, lambda node: [node.name]),
        ),
        permissions=(
            writes(mapi.Machine, "patch", namespace=namespace),
            writes(mapi.Machine, "patch", subresource="status", namespace=namespace),
            *instances.record_permissions(cloud),
            *kubelet.NODE_PERMISSIONS,
        ),
        observe=observe,
        decide=decide_machine,
        workers=4,
    )


def decide_machine(seen: MachineApiSnapshot, *, now: datetime) -> Plan:
    """What the Machine API operator would do about one Machine."""
    machine = seen.machine
    if not isinstance(machine, Present):
        return Plan.nothing("no Machine to look after")
    if not instances.recorded(seen.record):
        return Plan((), Retry("the record of its instance cannot be read"))
    if not in_charge(machine):
        still = standing_still(machine, fills_authority=seen.fills_authority, now=now)
        # Before it reports Paused: the other side may act as soon as it sees that.
        return Plan.of(instances.let_go(seen.record, side=_SIDE, now=now), *still.actions).then(still.next)
    if not seen.platform.reports_paused and instances.held_by_other(seen.record, _SIDE):
        held = RequeueAfter(_PATIENCE, "the infrastructure provider has not let go of the instance")
        return Plan.of(status(machine, {}, now=now)).then(held)
    if machine.deleting:
        return _terminate(seen, machine, now=now)
    if instances.gone(seen.record):
        failed = {"phase": "Failed", "errorMessage": f"instance {seen.instance} was deleted"}
        return Plan.of(status(machine, failed, now=now))
    finalizer = AddFinalizer(
        target=target(machine),
        observed=tuple(machine.metadata.finalizers),
        finalizer=FINALIZER,
        why="there will be a simulated instance to delete",
    )
    left = 0.0 if seen.named else seconds_left(machine.metadata, seen.boot_seconds, now=now)
    if left > 0:
        provisioning = status(machine, {"phase": "Provisioning"}, now=now)
        return Plan.of(finalizer, provisioning).then(RequeueAfter(left, "the simulated instance starts"))
    return _runs(seen, machine, finalizer, now=now)


def _runs(seen: MachineApiSnapshot, machine: Present[mapi.Machine], finalizer: AddFinalizer, *, now: datetime) -> Plan:
    """The plan once there is, or ought to be, an instance.

    The finalizer is first: a Machine that goes without one would leave an instance that nobody deletes.
    """
    name, record = machine.metadata.name, instances.record_target(seen.instance, seen.cloud)
    hold = instances.hold(seen.record, record, machine=name, side=_SIDE, named=seen.named, now=now)
    fields: dict[str, Any] = {
        "phase": "Provisioned",
        "addresses": seen.platform.addresses(seen.instance, name),
    }
    if (said := seen.platform.provider_status(seen.instance)) is not None:
        fields["providerStatus"] = {**(machine.tree.get("status") or {}).get("providerStatus", {}), **said}
    left = seconds_left(machine.metadata, seen.boot_seconds + seen.register_seconds, now=now)
    if left > 0:
        provisioned = (finalizer, hold, _named(seen, machine), status(machine, fields, now=now))
        return Plan.of(*provisioned).then(RequeueAfter(left, "the simulated kubelet starts"))
    registers = kubelet.registers(seen.node, name=name, instance=seen.instance, provider_id=seen.provider_id, now=now)
    if kubelet.belongs(seen.node, seen.provider_id) and kubelet.is_ready(seen.node):
        fields["phase"] = "Running"
        fields["nodeRef"] = {"kind": "Node", "name": name, "uid": seen.node.metadata.uid}
    return Plan.of(finalizer, hold, _named(seen, machine), registers, status(machine, fields, now=now))


def _named(seen: MachineApiSnapshot, machine: Present[mapi.Machine]) -> Merge:
    observed = {
        "metadata": {"annotations": machine.metadata.annotations},
        "spec": {"providerID": machine.object.spec.provider_id},
    }
    desired = {
        "metadata": {"annotations": {**machine.metadata.annotations, INSTANCE_STATE: seen.platform.instance_state}},
        "spec": {"providerID": seen.provider_id},
    }
    return Merge(target=target(machine), observed=observed, desired=desired, why="the simulated instance exists")


def _terminate(seen: MachineApiSnapshot, machine: Present[mapi.Machine], *, now: datetime) -> Plan:
    return Plan.of(
        status(machine, {"phase": "Deleting"}, now=now),
        instances.delete(seen.record, side=_SIDE, now=now),
        kubelet.is_removed(seen.node, provider_id=seen.provider_id),
        RemoveFinalizers(
            target=target(machine),
            observed=tuple(machine.metadata.finalizers),
            finalizers=(FINALIZER,),
            why="the simulated instance is gone",
        ),
    )
