"""The `Synchronized` condition, and the one write of a mirror's status that carries it.

| outcome | status | severity | synchronizedGeneration |
|---|---|---|---|
| synchronized | True | | generation of the authoritative object |
| failed | False | Error | kept |

lastTransitionTime moves when the status does, not when only reason or message change. The whole status goes out in
one merge patch with the resourceVersion that was observed, so that it is never True before phase, addresses and
provider status are there, and so that nothing is sent when nothing changed.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.kube.conditions import put
from windlass.kube.plan import AddFinalizer, Create, Emit, Merge, Plan, RemoveFinalizers, Result, target
from windlass.kube.seen import Present
from windlass.machine_sync.constants import EVENT_SOURCE
from windlass.machine_sync.machine.snapshot import MachineSnapshot, metadata_of, target_of

SYNCHRONIZED = "Synchronized"


class Reason(StrEnum):
    """Reasons of the `Synchronized` condition of a Machine."""

    RESOURCE_SYNCHRONIZED = "ResourceSynchronized"
    CAPI_MACHINE_NOT_FOUND = "CAPIMachineNotFound"
    FAILED_TO_CONVERT = "FailedToConvertCAPIMachineToMAPI"
    FAILED_TO_CREATE_MIRROR = "FailedToCreateMAPIMachine"
    FAILED_TO_UPDATE_MIRROR = "FailedToUpdateMAPIMachine"
    FAILED_TO_UPDATE_SOURCE = "FailedToUpdateCAPIMachine"
    FAILED_TO_UPDATE_INFRA = "FailedToUpdateCAPIInfraMachine"
    FAILED_TO_GET_INFRA = "FailedToGetCAPIInfraResources"


SUCCESS = "Successfully synchronized CAPI Machine to MAPI"


class Fault(Struct, frozen=True):
    """Why the mirror cannot be made. `retry`: it may heal without a change that would wake us."""

    reason: Reason
    message: str
    retry: bool = True


def failed(seen: MachineSnapshot, fault: Fault, *, now: datetime) -> Plan:
    """Say so where people look: on the mirror as a condition, or, without a mirror, on the source as an Event."""
    mirror, source = seen.mirror, metadata_of(seen.source)
    if isinstance(mirror, Present):
        plan = Plan.of(status_write(mirror, None, condition=_condition(False, fault), generation=None, now=now))
    elif source is not None:
        plan = Plan.of(
            Emit(
                target=target_of(capi.Machine, source),
                type="Warning",
                reason="SynchronizationWarning" if fault.retry else "SynchronizationError",
                note=fault.message,
                source=EVENT_SOURCE,
            )
        )
    else:
        plan = Plan.nothing(fault.message)
    return plan.retry(fault.message) if fault.retry else plan


def refused(seen: MachineSnapshot, result: Result, *, now: datetime) -> Plan:
    """The API server refused a write of the last round for good: report which, and come back later."""
    reason, prefix = _blame(seen, result)
    return failed(seen, Fault(reason, f"{prefix}: {result.error}"), now=now)


def success() -> dict[str, Any]:
    return _condition(True, Fault(Reason.RESOURCE_SYNCHRONIZED, SUCCESS))


def authority(mirror: mapi.Machine) -> str:
    """Who is authoritative: status says so; until anybody has filled it, what spec asks for."""
    return mirror.status.authoritative_api or mirror.spec.authoritative_api


def fill_authority(mirror: Present[mapi.Machine], note: str) -> Plan:
    """Make an empty status.authoritativeAPI what spec says; nothing if it is filled. `note` is for people."""
    observed: dict[str, Any] = dict(mirror.tree.get("status") or {})
    desired = {**observed, "authoritativeAPI": authority(mirror.object)}
    write = Merge(
        target=target(mirror),
        part="status",
        observed={"status": observed},
        desired={"status": desired},
        why="status.authoritativeAPI was empty",
    )
    return Plan.of(write) if write.needed else Plan.nothing(note)


def status_write(
    mirror: Present[mapi.Machine],
    status: Mapping[str, Any] | None,
    *,
    condition: Mapping[str, Any],
    generation: int | None,
    now: datetime,
) -> Merge:
    """The one status write of a pass.

    `status` is the whole converted status, None to leave it as it is; conditions and what the two APIs' own machinery
    keeps there (`KEPT`) stay. An empty authoritativeAPI is filled from spec: until somebody does, nobody acts.

    `generation` never goes down: the API refuses that outside of a migration. A lower one means that the source was
    deleted and made anew, or that the other side was authoritative in between.
    """
    observed: dict[str, Any] = dict(mirror.tree.get("status") or {})
    if status is None:
        desired = dict(observed)
    else:
        desired = {**status, **{key: observed[key] for key in KEPT if key in observed}}
    desired["authoritativeAPI"] = authority(mirror.object)
    desired["conditions"] = put(observed.get("conditions") or [], condition, now=now)
    if generation is not None:
        desired["synchronizedGeneration"] = max(generation, mirror.object.status.synchronized_generation)
    return Merge(
        target=target(mirror),
        part="status",
        observed={"status": observed},
        desired={"status": desired},
        why=f"{condition['type']}={condition['status']} {condition['reason']}",
    )


KEPT = ("conditions", "lastOperation", "authoritativeAPI", "synchronizedAPI", "synchronizedGeneration")
"""Status fields of a Machine that conversion does not decide."""


def _condition(ok: bool, fault: Fault) -> dict[str, Any]:
    severity = {} if ok else {"severity": "Error"}
    status = "True" if ok else "False"
    return {"type": SYNCHRONIZED, "status": status, **severity, "reason": str(fault.reason), "message": fault.message}


def _blame(seen: MachineSnapshot, result: Result) -> tuple[Reason, str]:
    action = result.action
    on_mirror = action.target.kind is mapi.Machine
    if isinstance(action, Create):
        what = "unable to ensure Machine API machine: failed to create Machine API machine"
        return Reason.FAILED_TO_CREATE_MIRROR, what
    if on_mirror:
        reason = Reason.FAILED_TO_UPDATE_MIRROR
    elif action.target.kind is capi.Machine:
        reason = Reason.FAILED_TO_UPDATE_SOURCE
    else:
        reason = Reason.FAILED_TO_UPDATE_INFRA
    if isinstance(action, AddFinalizer):
        return reason, f"failed to ensure sync finalizer on {action.target}"
    if isinstance(action, Merge):
        part = "failed to update status" if action.part else "failed to update Machine API machine"
        return reason, f"unable to ensure Machine API machine: {part}"
    verb = "remove finalizers from" if isinstance(action, RemoveFinalizers) else action.verb
    return reason, f"failed to reconcile Cluster API to Machine API machine deletion: failed to {verb} {action.target}"
