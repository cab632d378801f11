"""The `Synchronized` condition of a Machine or MachineSet of the Machine API, and the one status write that carries it.

| outcome | status | severity | synchronizedGeneration |
|---|---|---|---|
| synchronized | True | | generation of the authoritative object |
| failed | False | Error | kept |
| the infra machine is being recreated | Unknown | Info | kept |
| authority has moved | Unknown | Info | 0 |

lastTransitionTime changes with the status, not with reason or message alone. The whole status is written in one merge
patch with the observed resourceVersion, so that it is never True before everything else is written, and nothing is sent
if nothing changed.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct

from windlass.api import mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.conditions import find, put
from windlass.kube.control.plan import Action, Emit, Merge, Plan, Target, target, target_of
from windlass.kube.control.seen import Present, Seen, Unreadable
from windlass.kube.shorten import shortened
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, EVENT_SOURCE, MACHINE_API, MIGRATING

SYNCHRONIZED = "Synchronized"

MachineApiObject: TypeAlias = mapi.Machine | mapi.MachineSet

MESSAGE_LIMIT = 32_768
"""The length of a condition's message that Kubernetes accepts in its own type of condition.

The Machine API has no limit, so a message of megabytes would be stored with every machine.
"""

KEPT = ("conditions", "lastOperation", "authoritativeAPI", "synchronizedAPI", "synchronizedGeneration")
"""Status fields that conversion does not set."""


class Verdict(Struct, frozen=True):
    """The content of the condition: `ok` True, False, or None for Unknown."""

    ok: bool | None
    reason: str
    message: str

    @property
    def condition(self) -> dict[str, Any]:
        status, severity = {True: ("True", ""), False: ("False", "Error"), None: ("Unknown", "Info")}[self.ok]
        return {
            "type": SYNCHRONIZED,
            "status": status,
            **({"severity": severity} if severity else {}),
            "reason": str(self.reason),
            "message": shortened(self.message, MESSAGE_LIMIT),
        }


class Fault(Struct, frozen=True):
    """Why the mirror cannot be made. `retry`: the cause may disappear without a change that wakes us.

    `remedy` is what users can do, if the message does not say it. Events have it; the condition has OpenShift's
    message.
    """

    reason: str
    message: str
    retry: bool = True
    remedy: str = ""

    @property
    def verdict(self) -> Verdict:
        return Verdict(False, str(self.reason), self.message)


def authority(found: MachineApiObject) -> str:
    """The authority: from status, or from spec while status is empty."""
    return found.status.authoritative_api or found.spec.authoritative_api


def disagree(machine_api: Seen[Any], cluster_api: ObjectMeta) -> bool:
    """The mark on the object of Cluster API and the status of the Machine API's name different authorities.

    So authority has moved, and one of two caches has not seen all of it; or nothing has been mirrored yet.
    """
    if not isinstance(machine_api, Present):
        return False
    said = authority(machine_api.object)
    return said != MIGRATING and (said == MACHINE_API) != (AUTHORITY_ANNOTATION in cluster_api.annotations)


def behind(machine_api: Seen[Any], cluster_api: ObjectMeta) -> bool:
    """The recorded generation of the Cluster API object, the authority, is higher than the observed one.

    So the cache is stale, or the object was recreated.
    """
    if not isinstance(machine_api, Present):
        return False
    return bool(machine_api.object.status.synchronized_generation > cluster_api.generation)


def failed(fault: Fault, machine_api: Seen[Any], *, source: Target | None, now: datetime) -> Plan:
    """Report the fault as a condition of the Machine API object, and as an Event when the condition changes.

    Without a Machine API object there is an Event of `source`.
    """
    if isinstance(machine_api, Present):
        write = verdict_write(machine_api, fault.verdict, now=now)
        before = find(machine_api.object.status.conditions, SYNCHRONIZED)  # a fault that was gone may occur again
        event = _event(target(machine_api), fault, occasion=(before and before.last_transition_time) or "")
        plan = Plan.of(event, write) if write.needed else Plan.nothing(fault.message)
    elif source is not None:
        plan = Plan.of(_event(source, fault))
    else:
        plan = Plan.nothing(fault.message)
    return plan.retry(fault.message) if fault.retry else plan


def report_only(fault: Fault, found: Present[Any], *, now: datetime) -> Plan:
    """Report the fault, and leave an empty status.authoritativeAPI empty: then no controller acts on the object."""
    observed = (found.tree.get("status") or {}).get("conditions") or []
    write = status_fields(found, {"conditions": put(observed, fault.verdict.condition, now=now)}, why=fault.reason)
    return Plan.of(_event(target(found), fault), write) if write.needed else Plan.nothing(fault.message)


def unreadable(kind: type[MachineApiObject], found: Unreadable) -> Plan:
    """The Event of a Machine API object that cannot be read: its status cannot be written either."""
    name = kind.RESOURCE.kind
    note = f"This {name} cannot be read, so it is not synchronized: {found.why}. Fix the field or delete the {name}."
    aim = target_of(kind, found.metadata)
    return Plan.of(Emit(target=aim, type="Warning", reason="SynchronizationError", note=note, source=EVENT_SOURCE))


def left_behind(kind: type[KubernetesObject], mirror: ObjectMeta) -> Plan:
    """The Event of a mirror in Cluster API, of this `kind`, whose authority was deleted by force."""
    name = kind.RESOURCE.kind
    note = (
        f"This is the copy of {name} {mirror.name} of the Machine API, which is gone: it was deleted without its "
        f"finalizers. The copy stays paused. Delete it, or create that {name} again in the Machine API."
    )
    aim = target_of(kind, mirror)
    return Plan.of(Emit(target=aim, type="Warning", reason="SynchronizationError", note=note, source=EVENT_SOURCE))


def _event(about: Target, fault: Fault, *, occasion: str = "") -> Emit:
    reason = "SynchronizationWarning" if fault.retry else "SynchronizationError"
    note = f"{fault.message}. {fault.remedy}" if fault.remedy else fault.message
    return Emit(target=about, type="Warning", reason=reason, note=note, source=EVENT_SOURCE, occasion=occasion)


def change(what: str, *, of: str, copied_to: str) -> str:
    """The remedy for a field that cannot be converted: change it in the object `what` of the authority."""
    return f"Change what is named here in the {what} of {of}; until then it is not copied to {copied_to}."


def with_warnings(found: Present[Any], warnings: Iterable[str], *actions: Action | None) -> Plan:
    """The plan of `actions`, preceded by Events on `found` about the fields that conversion dropped.

    The Events are added only if there is something to write. Otherwise nothing has changed since they were emitted, and
    a fleet in sync would emit all of them after every restart.
    """
    plan = Plan.of(*actions)
    if not plan.needed:
        return plan
    events = (
        Emit(target=target(found), type="Warning", reason="ConversionWarning", note=warning, source=EVENT_SOURCE)
        for warning in warnings
    )
    return Plan((*events, *plan.actions))


def fill_authority(found: Present[Any], note: str) -> Plan:
    """Fill an empty status.authoritativeAPI from spec; do nothing if it is filled. `note` is for people."""
    write = status_fields(found, {"authoritativeAPI": authority(found.object)}, why="status.authoritativeAPI was empty")
    return Plan.of(write) if write.needed else Plan.nothing(note)


def status_fields(found: Present[Any], fields: Mapping[str, Any], *, why: str) -> Merge:
    """The status with these fields changed."""
    observed: dict[str, Any] = dict(found.tree.get("status") or {})
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": {**observed, **fields}},
        why=why,
    )


def verdict_write(found: Present[Any], verdict: Verdict, *, now: datetime) -> Merge:
    """The condition alone; the rest of the status stays as it is."""
    return status_write(found, None, verdict=verdict, generation=None, now=now)


def status_write(
    found: Present[Any],
    status: Mapping[str, Any] | None,
    *,
    verdict: Verdict,
    generation: int | None,
    now: datetime,
) -> Merge:
    """The one status write of a pass.

    `status` is the whole converted status, None to leave it as it is; conditions and the fields of the two APIs' own
    controllers (`KEPT`) stay. An empty authoritativeAPI is filled from spec: no controller acts until it is filled.

    `generation` is that of the authoritative object, None to keep the recorded one. The API refuses one below the
    recorded one; `migration.recreated` resets it first.
    """
    observed: dict[str, Any] = dict(found.tree.get("status") or {})
    if status is None:
        desired = dict(observed)
    else:
        desired = {**status, **{key: observed[key] for key in KEPT if key in observed}}
    desired["authoritativeAPI"] = authority(found.object)
    desired["conditions"] = put(observed.get("conditions") or [], verdict.condition, now=now)
    if generation is not None:
        desired["synchronizedGeneration"] = generation
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": desired},
        why=f"{SYNCHRONIZED}={verdict.condition['status']} {verdict.reason}",
    )
