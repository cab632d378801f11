"""Clearing a plane whose last user's CRDs are still on their way out."""

from types import SimpleNamespace
from typing import Any

import pytest

from windlass.testing.plane.errors import Refused
from windlass.testing.plane.pool import clear

GROUPS = [
    {"name": f"{name}.example.org", "preferredVersion": {"groupVersion": f"{name}.example.org/v1"}}
    for name in ("here", "going", "gone")
]
THINGS = {"resources": [{"name": "things", "namespaced": False, "verbs": ["deletecollection"]}]}


class Rest:
    """An API server that still lists a group that it does not serve any more, and one whose kind has just gone."""

    def __init__(self, *, status: int) -> None:
        self.deleted: list[str] = []
        self._status = status

    def request(self, method: str, path: str) -> Any:
        if path == "/apis":
            return {"groups": GROUPS}
        if path.startswith("/apis/gone.") or (method == "DELETE" and path.startswith("/apis/going.")):
            raise Refused(f"{method} {path}", status=self._status, reason="Said", message="no")
        if method == "GET":
            return THINGS
        self.deleted.append(path)
        return {}


def test_groups_and_kinds_that_go_meanwhile_are_cleared() -> None:
    rest: Any = Rest(status=404)
    plane: Any = SimpleNamespace(rest=rest)
    clear(plane)
    assert [path for path in rest.deleted if "example.org" in path] == ["/apis/here.example.org/v1/things"]
    assert "/api/v1/nodes" in rest.deleted


def test_any_other_refusal_is_raised() -> None:
    plane: Any = SimpleNamespace(rest=Rest(status=500))
    with pytest.raises(Refused):
        clear(plane)
