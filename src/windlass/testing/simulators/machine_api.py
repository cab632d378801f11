"""Play the Machine API's own controllers for a Machine or MachineSet: who is in charge, and the life of a machine.

| status.authoritativeAPI | what the simulator does |
|---|---|
| empty | fills it from spec (unless `fills_authority` is off: then somebody else must) |
| ClusterAPI, Migrating | `Paused` True, reason AuthoritativeAPINotMachineAPI, and nothing else, also while deleting |
| MachineAPI | `Paused` False, reason AuthoritativeAPIMachineAPI, severity Info; then, for a Machine: |
| | the finalizer `machine.machine.openshift.io` |
| | phase Provisioning, and after `boot_seconds` Running |
| | being deleted: phase Deleting, then the finalizer comes off |

The rules, reasons and messages are those of `pkg/controller/machine` in github.com/openshift/machine-api-operator.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from msgspec import Struct

from windlass.api import mapi
from windlass.kube.conditions import put
from windlass.kube.controller import Controller, Watch
from windlass.kube.permissions import writes
from windlass.kube.plan import AddFinalizer, Merge, Outcome, Plan, RemoveFinalizers, RequeueAfter, target
from windlass.kube.seen import Present, Reader, Seen
from windlass.testing.simulators.ages import seconds_left

NAMESPACE: Final = "openshift-machine-api"
FINALIZER: Final = "machine.machine.openshift.io"

Authoritative: TypeAlias = Present[mapi.Machine] | Present[mapi.MachineSet]


class MachineApiSnapshot(Struct, frozen=True):
    """A Machine or MachineSet of the Machine API, and how this simulator was told to behave."""

    machine: Seen[Any]
    fills_authority: bool = True
    boot_seconds: float = 0.0


def machine_api_simulator(
    reader: Reader,
    *,
    namespace: str = NAMESPACE,
    fills_authority: bool = True,
    boot_seconds: float = 2.0,
) -> Controller[str, MachineApiSnapshot]:
    """The controller for Machines; keys are their names. `boot_seconds`: from creation to phase Running."""

    async def observe(name: str, _: Outcome) -> MachineApiSnapshot:
        found = await reader.see(mapi.Machine, name, namespace=namespace)
        return MachineApiSnapshot(found, fills_authority, boot_seconds)

    return Controller(
        name="machine-api-simulator",
        watches=(Watch(mapi.Machine, lambda machine: [machine.name], namespace=namespace),),
        permissions=(
            writes(mapi.Machine, "patch", namespace=namespace),
            writes(mapi.Machine, "patch", subresource="status", namespace=namespace),
        ),
        observe=observe,
        decide=decide_machine,
    )


def machine_api_set_simulator(
    reader: Reader, *, namespace: str = NAMESPACE, fills_authority: bool = True
) -> Controller[str, MachineApiSnapshot]:
    """The controller for MachineSets, which says who is in charge of them; it makes no Machines."""

    async def observe(name: str, _: Outcome) -> MachineApiSnapshot:
        return MachineApiSnapshot(await reader.see(mapi.MachineSet, name, namespace=namespace), fills_authority)

    return Controller(
        name="machine-api-set-simulator",
        watches=(Watch(mapi.MachineSet, lambda found: [found.name], namespace=namespace),),
        permissions=(writes(mapi.MachineSet, "patch", subresource="status", namespace=namespace),),
        observe=observe,
        decide=decide_set,
    )


def decide_machine(seen: MachineApiSnapshot, *, now: datetime) -> Plan:
    """What the Machine API operator would do about one Machine."""
    machine = seen.machine
    if not isinstance(machine, Present):
        return Plan.nothing("no Machine to look after")
    if (plan := _in_charge(machine, seen, now=now)) is not None:
        return plan
    if machine.deleting:
        off = RemoveFinalizers(
            target=target(machine),
            observed=tuple(machine.metadata.finalizers),
            finalizers=(FINALIZER,),
            why="the simulated instance is gone",
        )
        return Plan.of(_status(machine, _lively("Deleting"), now=now), off)
    on = AddFinalizer(
        target=target(machine),
        observed=tuple(machine.metadata.finalizers),
        finalizer=FINALIZER,
        why="there will be a simulated instance to delete",
    )
    left = seconds_left(machine.metadata, seen.boot_seconds, now=now)
    if left > 0:
        waiting = RequeueAfter(left, "the simulated instance starts")
        return Plan.of(on, _status(machine, _lively("Provisioning"), now=now)).then(waiting)
    return Plan.of(on, _status(machine, _lively("Running"), now=now))


def decide_set(seen: MachineApiSnapshot, *, now: datetime) -> Plan:
    """What the Machine API operator would say about one MachineSet."""
    if not isinstance(seen.machine, Present):
        return Plan.nothing("no MachineSet to look after")
    plan = _in_charge(seen.machine, seen, now=now)
    return plan if plan is not None else Plan.of(_status(seen.machine, {}, now=now))


def _in_charge(found: Authoritative, seen: MachineApiSnapshot, *, now: datetime) -> Plan | None:
    """The plan while the Machine API is not, or not yet, authoritative; None if it is."""
    authority = found.object.status.authoritative_api
    if authority == "MachineAPI":
        return None
    if authority in ("ClusterAPI", "Migrating"):
        return Plan.of(_status(found, {}, now=now))
    if authority:
        return Plan.nothing(f"status.authoritativeAPI is {authority!r}, which the Machine API does not know")
    asked_for = found.object.spec.authoritative_api
    if not seen.fills_authority or not asked_for:
        return Plan.nothing("nobody has said yet which API is authoritative")
    fill = Merge(
        target=target(found),
        part="status",
        observed={},
        desired={"status": {"authoritativeAPI": asked_for}},
        why="status.authoritativeAPI was empty",
    )
    return Plan.of(fill)


def _status(found: Authoritative, fields: Mapping[str, Any], *, now: datetime) -> Merge:
    """`fields`, and whether the Machine API controllers are paused."""
    observed: dict[str, Any] = dict(found.tree.get("status") or {})
    paused = paused_condition(found.object.status.authoritative_api)
    conditions = put(observed.get("conditions") or [], paused, now=now)
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": {**observed, **fields, "conditions": conditions}},
        why=f"Paused={paused['status']} {paused['reason']}{''.join(f', {key} {fields[key]}' for key in fields)}",
    )


def paused_condition(authority: str) -> dict[str, str]:
    """The `Paused` condition under this authority, without its lastTransitionTime."""
    message = f"The AuthoritativeAPI status is set to '{authority}'"
    if authority == "MachineAPI":
        said = {"status": "False", "severity": "Info", "reason": "AuthoritativeAPIMachineAPI"}
    else:
        said = {"status": "True", "reason": "AuthoritativeAPINotMachineAPI"}
    return {"type": "Paused", **said, "message": message}


def _lively(phase: str) -> dict[str, Any]:
    return {"phase": phase}
