"""Whether an object of Cluster API stands still, which authority waits for when it moves."""

from typing import Any

import pytest

from windlass.api.capo import OpenStackMachine
from windlass.kube.control.seen import Absent, seen
from windlass.kube.object import Object
from windlass.machine_sync.constants import PAUSED_ANNOTATION
from windlass.machine_sync.mirroring.move import Pausable

Tree = dict[str, Any]

TRUE, FALSE = ({"type": "Paused", "status": each, "reason": "r"} for each in ("True", "False"))
OTHER = {"type": "Ready", "status": "True", "reason": "r"}


def pausable(conditions: list[Tree], *, reports: bool | None, annotated: bool = True) -> Pausable:
    annotations = {PAUSED_ANNOTATION: ""} if annotated else {}
    meta = {"name": "w-0", "namespace": "ns", "annotations": annotations}
    return Pausable(
        OpenStackMachine,
        seen(Object.of(OpenStackMachine, {"metadata": meta, "status": {"conditions": conditions}})),
        reports=reports,
    )


@pytest.mark.parametrize(
    ("reports", "conditions", "still"),
    [
        (True, [TRUE], True),
        (True, [FALSE], False),
        (True, [OTHER], False),
        (False, [OTHER], True),
        (False, [FALSE], True),
        (None, [TRUE], True),
        (None, [FALSE], False),
        (None, [OTHER], True),
        (None, [], True),
    ],
)
def test_an_annotated_object_stands_still_when_its_controllers_say_so_or_never_say_it(
    reports: bool | None, conditions: list[Tree], still: bool
) -> None:
    assert pausable(conditions, reports=reports).stands_still is still
    assert not pausable(conditions, reports=reports, annotated=False).stands_still


def test_what_does_not_exist_stands_still() -> None:
    assert Pausable(OpenStackMachine, Absent(), reports=None).stands_still
