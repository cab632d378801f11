"""Simulates the first step of the Machine API's controllers: check whether they are authoritative for an object.

| status.authoritativeAPI | what they do |
|---|---|
| empty | fill it from spec (unless `fills_authority` is off: then another program must), and nothing else |
| ClusterAPI, Migrating | condition `Paused` True, reason AuthoritativeAPINotMachineAPI, and nothing else |
| MachineAPI | condition `Paused` False, reason AuthoritativeAPIMachineAPI, severity Info; then their work |

The rules, reasons and messages are those of `pkg/controller/machine` in github.com/openshift/machine-api-operator.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from windlass.api import mapi
from windlass.kube.conditions import put
from windlass.kube.control.plan import Merge, Plan, target
from windlass.kube.control.seen import Present

NAMESPACE: Final = "openshift-machine-api"

Authoritative: TypeAlias = Present[mapi.Machine] | Present[mapi.MachineSet]


def in_charge(found: Authoritative) -> bool:
    """Whether the Machine API's controllers may act."""
    return found.object.status.authoritative_api == "MachineAPI"


def standing_still(found: Authoritative, *, fills_authority: bool, now: datetime) -> Plan:
    """The plan while they are not in charge."""
    authority = found.object.status.authoritative_api
    if authority in ("ClusterAPI", "Migrating"):
        return Plan.of(status(found, {}, now=now))
    if authority:
        return Plan.nothing(f"status.authoritativeAPI is {authority!r}, which the Machine API does not know")
    asked_for = found.object.spec.authoritative_api
    if not fills_authority or not asked_for:
        return Plan.nothing("nobody has said yet which API is authoritative")
    fill = Merge(
        target=target(found),
        part="status",
        observed={},
        desired={"status": {"authoritativeAPI": asked_for}},
        why="status.authoritativeAPI was empty",
    )
    return Plan.of(fill)


def status(found: Authoritative, fields: Mapping[str, Any], *, now: datetime) -> Merge:
    """`fields`, and whether the Machine API's controllers are paused. A field that is None is removed."""
    observed: dict[str, Any] = dict(found.tree.get("status") or {})
    paused = paused_condition(found.object.status.authoritative_api)
    conditions = put(observed.get("conditions") or [], paused, now=now)
    desired = {**observed, **fields, "conditions": conditions}
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": {key: value for key, value in desired.items() if value is not None}},
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
