"""What the frame adds to the document of a view that follows objects."""

from typing import Any

import pytest

from windlass.web.following import framed
from windlass.web.running import Alive, Runs

EMPTY: dict[str, Any] = {"brief": {}, "unserved": []}
THERE: dict[str, Any] = {**EMPTY, "thing/a": 1}


@pytest.mark.parametrize(
    ("state", "document", "stale", "troubles"),
    [
        (Runs.RUNS, THERE, None, 0),
        (Runs.OTHER, THERE, None, 0),
        (Runs.UNKNOWN, THERE, None, 0),
        (Runs.STOPPED, THERE, "it has ended. What is shown may be old", 0),
        (Runs.STOPPED, EMPTY, None, 0),
        (Runs.ABSENT, THERE, None, 1),
        (Runs.ABSENT, EMPTY, None, 0),
    ],
)
def test_that_nobody_keeps_objects_is_told_where_objects_are_shown(
    state: Runs, document: dict[str, Any], stale: str | None, troubles: int
) -> None:
    alive = Alive(state, "it has ended")
    found = framed(document, alive, ["old"])
    assert found.get("stale") == stale
    assert len(found["troubles"]) == 1 + troubles
    assert found["runs"] is alive
    assert document.items() <= found.items()


def test_without_a_look_at_leases_nothing_is_said_of_a_controller() -> None:
    assert framed(THERE, Alive(), []) == {**THERE, "troubles": []}
