"""Conditions of the authoritative object merged into those that its mirror has.

Types that conversion does not make stay as they are: the mirror's own controllers, even paused, set some (`Paused`),
and others may too. If nothing changed, the result is the observed list in its order, so nothing is written.

| list | lastTransitionTime moves with | order |
|---|---|---|
| `status.conditions` of Cluster API v1beta2 | status | Available, Ready, ..., Paused, Deleting |
| `status.deprecated.v1beta1.conditions`, those of infra machines | status, severity, reason, message | Ready first |
| those of provider statuses | status, reason, message | as they came |

Source: the setters and sorters of `sigs.k8s.io/cluster-api/util/conditions`, which CAPI's own controllers use.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from windlass.kube.clock import rfc3339
from windlass.kube.control.plan import Merge, target
from windlass.kube.control.seen import Present

Tree = Mapping[str, Any]

_ORDER = (
    "Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "NodeReady",
    "HealthCheckSucceeded", "OwnerRemediated", "Remediating", "ScalingDown", "ScalingUp", "MachinesReady",
    "MachinesUpToDate", "", "Paused", "Deleting",
)  # fmt: skip
_RANK = {condition: rank for rank, condition in enumerate(_ORDER)}
_OTHERS = _RANK[""]


def merged(observed: Any, converted: Sequence[Tree], *, now: datetime, generation: int) -> list[Any]:
    """Conditions of v1beta2. `generation` is that of the mirror, for their `observedGeneration`."""
    wanted = [{**condition, "observedGeneration": generation} for condition in converted]
    found = _merge(observed, wanted, moved_by=("status",), now=now)
    if found is not observed:
        found.sort(key=_rank)
    return found


def merged_v1beta1(observed: Any, converted: Sequence[Tree], *, now: datetime) -> list[Any]:
    """Conditions of the older kind."""
    found = _merge(observed, converted, moved_by=("status", "severity", "reason", "message"), now=now)
    if found is not observed:
        found.sort(key=lambda condition: (condition["type"] != "Ready", condition["type"]))
    return found


def merged_provider(observed: Any, converted: Sequence[Tree], *, now: datetime) -> list[Any]:
    """Conditions of the older kind in a provider status, where new ones come last."""
    return _merge(observed, converted, moved_by=("status", "reason", "message"), now=now)


def status_write(mirror: Present[Any], status: Mapping[str, Any], *, generation: int, now: datetime, why: str) -> Merge:
    """The write of a Cluster API mirror's status: the converted `status`, with the conditions that stay.

    `generation` is the `observedGeneration` of the status and of its conditions.
    """
    observed: dict[str, Any] = dict(mirror.tree.get("status") or {})
    old = ((observed.get("deprecated") or {}).get("v1beta1") or {}).get("conditions")
    v1beta1 = dict((status.get("deprecated") or {}).get("v1beta1") or {})
    v1beta1["conditions"] = merged_v1beta1(old, v1beta1.get("conditions") or [], now=now)
    new = merged(observed.get("conditions"), status.get("conditions") or [], now=now, generation=generation)
    desired = {**status, "conditions": new, "deprecated": {"v1beta1": v1beta1}, "observedGeneration": generation}
    return Merge(
        target=target(mirror), part="status", observed={"status": observed}, desired={"status": desired}, why=why
    )


def _rank(condition: Tree) -> tuple[int, str]:
    return _RANK.get(condition["type"], _OTHERS), condition["type"]


def _merge(observed: Any, converted: Sequence[Tree], *, moved_by: tuple[str, ...], now: datetime) -> list[Any]:
    """`observed` unchanged, if it contains all conditions of `converted`."""
    before = {
        condition["type"]: condition
        for condition in (observed if isinstance(observed, list) else ())
        if isinstance(condition, Mapping) and isinstance(condition.get("type"), str)
    }
    after = dict(before)
    for condition in converted:
        old = before.get(condition["type"])
        said = {key: value for key, value in condition.items() if key != "lastTransitionTime"}
        if old is not None and _said(old) == _said(said):
            continue
        same = old is not None and all((old.get(key) or "") == (said.get(key) or "") for key in moved_by)
        since = old.get("lastTransitionTime") if same and old is not None else None
        after[condition["type"]] = {**said, "lastTransitionTime": since or rfc3339(now)}
    if isinstance(observed, list) and after == before:
        return observed
    return list(after.values())


def _said(condition: Tree) -> dict[str, Any]:
    return {key: value for key, value in condition.items() if value and key != "lastTransitionTime"}
