"""Taints on mirrors, and why authority may not move while Cluster API does not have those of the Machine API.

Cluster API puts the taints of a Machine on its Node only with its feature gate MachineTaintPropagation, which is off by
default in 1.14. Its webhooks refuse each write of an object with taints while the gate is off. The gate cannot be read
from the cluster, so `windlass run machine-sync --machine-taint-propagation` says that it is on (`takes_taints` of the
platform):

| the gate | the mirror in Cluster API | authority moves to Cluster API |
|---|---|---|
| off | has no taints, those of earlier times are removed; everything else is mirrored | once the Machine API has none |
| on | has them; a mirror without them gets them in one write | when the mirror has them |
| on here, off there | is refused by the webhook, and the condition has its text | not before it is accepted |

A mirror in the Machine API has the taints of Cluster API in any case.

Of a mirror these stay while the taint itself does, because the authority has no such field: `propagation` in Cluster
API, `timeAdded` in the Machine API. So nothing of a taint is lost when authority comes back.
"""

from collections.abc import Sequence
from typing import Any, Final

from windlass.api import capi
from windlass.api.core import Taint
from windlass.api.meta import tree
from windlass.machine_sync.conversion.field_errors import invalid_json
from windlass.machine_sync.conversion.taints import PATH
from windlass.machine_sync.platforms import Platform

GATE: Final = "MachineTaintPropagation"
OPTION: Final = "--machine-taint-propagation"

_REMEDY: Final = f"turn the gate on and run machine-sync with {OPTION}, or remove the taints"
_NEEDED: Final = f"Cluster API takes taints only with its feature gate {GATE}"


def of_cluster_api(
    platform: Platform, converted: Sequence[capi.Taint], mirror: Sequence[capi.Taint]
) -> list[dict[str, Any]]:
    """The taints that a mirror in Cluster API is to have; `mirror` are those that it has."""
    if not platform.takes_taints:
        return []
    there = {(one.key, one.effect): one.propagation for one in mirror}
    return [{**tree(one), "propagation": there.get((one.key, one.effect)) or one.propagation} for one in converted]


def of_machine_api(converted: Sequence[Taint], mirror: Sequence[Taint]) -> list[dict[str, Any]]:
    """The taints that a mirror in the Machine API is to have; `mirror` are those that it has."""
    there = {_said(one): one for one in mirror}
    return [tree(there.get(_said(one), one)) for one in converted]


def put(spec: dict[str, Any], taints: list[dict[str, Any]]) -> dict[str, Any]:
    """`spec` with these taints. Cluster API refuses an empty list of them."""
    spec.pop("taints", None)
    if taints:
        spec["taints"] = taints
    return spec


def withheld(platform: Platform, taints: Sequence[Taint]) -> list[str]:
    """The warning that the taints of a Machine are not mirrored: one text, or none."""
    if not taints or platform.takes_taints:
        return []
    detail = f"not copied, and authority cannot move to Cluster API: {_NEEDED}: {_REMEDY}"
    return [str(invalid_json(PATH, taints, detail))]


def needs_gate(taints: Sequence[capi.Taint]) -> list[str]:
    """The warning that converted objects can be applied only where the gate is on: one text, or none."""
    return [str(invalid_json(PATH, taints, f"{_NEEDED}, and refuses this object without it"))] if taints else []


def lost(source: Sequence[Taint], mirror: Sequence[capi.Taint]) -> str:
    """Why authority may not move to Cluster API: the mirror lacks taints. Empty if it has all of them."""
    there = {(one.key, one.value, one.effect) for one in mirror}
    firsts = {(one.key, one.effect): one for one in reversed(source)}
    missing = [one for one in source if one is firsts[one.key, one.effect] and _said(one) not in there]
    if not missing:
        return ""
    where = "If its MachineSet acts in Cluster API, they must be in the template there"
    detail = f"not on the object in Cluster API, so its Nodes would lose them. {_NEEDED}: {_REMEDY}. {where}"
    return str(invalid_json(PATH, missing, detail))


def added(source: Sequence[Taint], mirror: Sequence[capi.Taint]) -> str:
    """The warning that Nodes get taints when authority moves to Cluster API. Empty if they get none."""
    there = {_said(one) for one in source}
    new = [one for one in mirror if (one.key, one.value, one.effect) not in there]
    if not new:
        return ""
    return str(invalid_json(PATH, new, "on the object in Cluster API alone: its MachineSet puts them on its Nodes"))


def _said(taint: Taint) -> tuple[str, str, str]:
    return taint.key, taint.value, taint.effect
