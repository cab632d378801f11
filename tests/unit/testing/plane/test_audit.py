import json
from pathlib import Path
from typing import Any

from windlass.testing.plane.audit import AuditLog, Permission


def event(user: str, verb: str, *, decision: str = "allow", **target: str) -> dict[str, Any]:
    return {
        "user": {"username": user},
        "verb": verb,
        "objectRef": target,
        "annotations": {"authorization.k8s.io/decision": decision},
    }


def write(path: Path, *events: dict[str, Any], end: str = "\n") -> AuditLog:
    path.write_text("\n".join(json.dumps(one) for one in events) + end)
    return AuditLog(path)


def test_the_permissions_of_one_user_are_collected_with_their_subresources(tmp_path: Path) -> None:
    log = write(
        tmp_path / "audit.log",
        event("me", "patch", apiGroup="x.io", resource="things", subresource="status"),
        event("me", "list", resource="secrets"),
        event("me", "get", resource="pods", decision="forbid"),
        event("me", "get"),
        event("other", "delete", resource="pods"),
    )
    assert log.permissions_used("me") == {
        Permission("patch", "x.io", "things/status"),
        Permission("list", "", "secrets"),
    }


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    log = write(
        tmp_path / "audit.log", event("me", "get", resource="pods"), event("me", "list", resource="pods"), end=""
    )
    assert [one["verb"] for one in log.events()] == ["get"]
