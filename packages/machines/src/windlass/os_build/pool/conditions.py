"""Writes what a pool says about its image: four conditions, always all of them, and the record of the result.

| condition | True while |
|---|---|
| `BuildPending` | a build waits: to rest, for its builder, for the next attempt |
| `Building` | a build runs |
| `BuildSuccess` | the image that the pool asks for is recorded |
| `BuildFailed` | there will be no image until somebody changes something |

At most one is True. With none True no build is due, and their reason says why. The vector is written whole, so no jump
between phases leaves an old True behind. `Degraded` and its kin belong to the Machine Config Operator.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import tree
from windlass.kube.conditions import condition, put
from windlass.kube.control.plan import Merge, target
from windlass.kube.control.seen import Present
from windlass.os_build.constants import IMAGE, IMAGE_ALIAS, IMAGE_CONFIG, IMAGE_INPUTS, RESULT

PENDING: Final = "BuildPending"
BUILDING: Final = "Building"
SUCCESS: Final = "BuildSuccess"
FAILED: Final = "BuildFailed"
VECTOR: Final = (PENDING, BUILDING, SUCCESS, FAILED)


class BuildCondition(Struct, frozen=True):
    """What the pool says: `true` is the condition that is True (empty: none), with this reason and message."""

    true: str
    reason: str
    message: str


def write(found: Present[MachineConfigPool], build_condition: BuildCondition, *, now: datetime) -> Merge:
    """Write the vector. A condition that is False has the reason too, and the message if none is True."""
    conditions = list((found.tree.get("status") or {}).get("conditions") or [])
    new: list[Any] = conditions
    for each in VECTOR:
        message = build_condition.message if each == build_condition.true or not build_condition.true else ""
        new = put(new, tree(condition(each, each == build_condition.true, build_condition.reason, message)), now=now)
    return _status(found, conditions, new)


def remove_conditions(found: Present[MachineConfigPool]) -> Merge:
    """Remove the vector."""
    conditions = list((found.tree.get("status") or {}).get("conditions") or [])
    return _status(found, conditions, [each for each in conditions if each.get("type") not in VECTOR])


def record(found: Present[MachineConfigPool], *, image: str, config: str, inputs: str) -> Merge:
    """Write the result, in one write."""
    given = {IMAGE: image, IMAGE_CONFIG: config, IMAGE_INPUTS: inputs, IMAGE_ALIAS: image}
    return _annotations(found, given, why="its image is built")


def unrecord(found: Present[MachineConfigPool]) -> Merge:
    """Remove the result. The alias stays if the Machine Config Operator wrote it, and not we."""
    here = found.metadata.annotations
    theirs = here.get(IMAGE_ALIAS, "")
    kept = {IMAGE_ALIAS: theirs} if theirs and theirs != here.get(IMAGE) else {}
    return _annotations(found, kept, why="it asks for no image any more")


def _annotations(found: Present[MachineConfigPool], given: dict[str, str], *, why: str) -> Merge:
    here = found.metadata.annotations
    return Merge(
        target=target(found),
        observed={"metadata": {"annotations": {key: here[key] for key in RESULT if key in here}}},
        desired={"metadata": {"annotations": given}},
        why=why,
    )


def _status(found: Present[MachineConfigPool], old: list[Any], new: list[Any]) -> Merge:
    return Merge(
        target=target(found),
        part="status",
        observed={"status": {"conditions": old}},
        desired={"status": {"conditions": new}},
        why="people read the state of its image there",
    )
