"""The status of a Machine as its readers in OpenShift expect it: phase, error, addresses, conditions with a severity.

| condition | whose | says |
|---|---|---|
| `Paused` | of the Machine API's machine controller | the authority is not MachineAPI |
| `InstanceExists` | | there is a server; why not |
| `Drainable`, `Terminable` | | no hook holds the drain, or the deletion of the server |
| `Drained` | | how far the drain is |
| `Ready`, `InstanceReady`, `OpenStackAuthenticationSucceeded`, `Progressing` | ours | as those of an OpenStackServer |

Reasons and messages of the first ones are those of the Machine API, word for word.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from windlass.api.mapi import LifecycleHook, Machine
from windlass.api.meta import Condition
from windlass.kube.clock import rfc3339
from windlass.kube.conditions import FALSE, condition, find
from windlass.kube.control.plan import Emit, Merge, target
from windlass.kube.control.seen import Present
from windlass.kube.shorten import shortened
from windlass.openstack.machine_api.constants import MACHINE_API
from windlass.openstack.server.conditions import news_of
from windlass.openstack.status import INSTANCE_PARTS, MESSAGE_LIMIT, PAUSED, ready

INSTANCE_EXISTS: Final = "InstanceExists"
DRAINED: Final = "Drained"

EXISTS: Final = {"type": INSTANCE_EXISTS, "status": "True"}
NOT_CREATED: Final = condition(INSTANCE_EXISTS, False, "InstanceNotCreated", "Instance has not been created")
MISSING: Final = condition(INSTANCE_EXISTS, False, "InstanceMissing", "Instance not found on provider")

Tree = Mapping[str, Any]


def write(
    found: Present[Machine],
    told: Iterable[Condition | Tree],
    *,
    now: datetime,
    phase: str | None = None,
    fields: Mapping[str, Any] | None = None,
    why: str = "",
) -> Merge:
    """The one status write: the conditions `told` and those that follow from the object, the `phase` (None: as it is),
    and `fields` (None removes one)."""
    observed: dict[str, Any] = dict(found.tree.get("status") or {})
    conditions: list[dict[str, Any]] = [dict(each) for each in observed.get("conditions") or []]
    for each in (*_paused(found), *_hooks(found.object), *told):
        conditions = _put(conditions, _tree(each), now=now)
    if any(find(conditions, part) for part in INSTANCE_PARTS):
        conditions = _put(conditions, _tree(ready(conditions, INSTANCE_PARTS)), now=now)
    status = {**observed, **(fields or {}), **({"phase": phase} if phase else {}), "conditions": conditions}
    status = {name: value for name, value in status.items() if value is not None}
    if status != observed:
        status["lastUpdated"] = rfc3339(now)
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": status},
        why=why or f"phase {status.get('phase', 'unknown')}",
    )


def exists_unknown(message: str) -> Condition:
    return condition(INSTANCE_EXISTS, None, "ErrorCheckingProvider", f"Failed to check if machine exists: {message}")


def drained(message: str) -> Tree:
    return {"type": DRAINED, "status": "True", "message": message}


def not_drained(what: str) -> Condition:
    return condition(DRAINED, False, "DrainError", f"could not drain machine: {what}")


def failure_event(found: Present[Machine], action: str, told: Condition) -> Emit | None:
    """`FailedCreate`, `FailedUpdate` or `FailedDelete`, when the trouble is new."""
    return news_of(found, f"Failed{action}", told)


def _paused(found: Present[Machine]) -> Iterator[Tree]:
    authority = found.object.status.authoritative_api
    if authority == MACHINE_API:
        yield {
            "type": PAUSED,
            "status": "False",
            "severity": "Info",
            "reason": "AuthoritativeAPIMachineAPI",
            "message": f"The AuthoritativeAPI status is set to '{authority}'",
        }


def paused(found: Present[Machine]) -> Condition:
    text = f"The AuthoritativeAPI status is set to '{found.object.status.authoritative_api}'"
    return condition(PAUSED, True, "AuthoritativeAPINotMachineAPI", text)


def _hooks(machine: Machine) -> Iterator[Tree | Condition]:
    if machine.status.authoritative_api not in ("", MACHINE_API):
        return
    hooks = machine.spec.lifecycle_hooks
    for kind, what, holding in (
        ("Drainable", "Drain", hooks.pre_drain),
        ("Terminable", "Terminate", hooks.pre_terminate),
    ):
        if holding:
            text = f"{what} operation currently blocked by: {_listed(holding)}"
            yield condition(kind, False, "HookPresent", text)
        else:
            yield {"type": kind, "status": "True"}


def _listed(hooks: Sequence[LifecycleHook]) -> str:
    """As Go prints a list of them."""
    return f"[{' '.join(f'{{Name:{each.name} Owner:{each.owner}}}' for each in hooks)}]"


def _tree(one: Condition | Tree) -> dict[str, Any]:
    """A condition of the Machine API: it has a severity if it is False."""
    if not isinstance(one, Condition):
        return dict(one)
    severity = {"severity": "Warning"} if one.status == FALSE else {}
    message = {"message": shortened(one.message, MESSAGE_LIMIT)} if one.message else {}
    return {"type": one.type, "status": one.status, **severity, "reason": str(one.reason), **message}


def _put(conditions: list[dict[str, Any]], new: dict[str, Any], *, now: datetime) -> list[dict[str, Any]]:
    """`new` in the place of the one of its type; its time is that of the last change of `status`.

    `windlass.kube.conditions.put` does not do: here a condition that is True need not have a reason.
    """
    old = find(conditions, new["type"])
    if old is None:
        return [*conditions, {**new, "lastTransitionTime": rfc3339(now)}]
    since = old.get("lastTransitionTime") if old["status"] == new["status"] else None
    changed = {**new, "lastTransitionTime": since or rfc3339(now)}
    return [changed if each is old else each for each in conditions]
