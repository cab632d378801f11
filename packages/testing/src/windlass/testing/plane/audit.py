"""Reads the audit log of a plane: the requests to the API server and their users.

With it a test can prove that a controller uses exactly the permissions that it was granted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
"""Logs the requests without bodies: enough to know the verbs, and cheap enough to be always on."""


@dataclass(frozen=True, order=True)
class Permission:
    """A use of the API in RBAC's words; `resource` has the subresource, as in `machines/status`."""

    verb: str
    group: str
    resource: str


class AuditLog:
    """The audit log in the file `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def events(self, *, user: str | None = None) -> Iterator[dict[str, Any]]:
        """The events so far (`audit.k8s.io/v1 Event`), oldest first, of all users or of one.

        The name of a service account is `system:serviceaccount:<namespace>:<name>`. A watch is logged when it starts
        and again when it ends.
        """
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                # Decoding a log of 100 MB is slow; a search in the text skips most lines of other users.
                if user is not None and json.dumps(user) not in line:
                    continue
                # The server may be in the middle of writing the last one.
                if line.endswith("\n"):
                    event: dict[str, Any] = json.loads(line)
                    if user is None or event["user"]["username"] == user:
                        yield event

    def permissions_used(self, user: str) -> set[Permission]:
        """What `user` did and was allowed to do, on resources."""
        used = set()
        for event in self.events(user=user):
            target = event.get("objectRef", {})
            allowed = event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
            if allowed and "resource" in target:
                resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
                used.add(Permission(event["verb"], target.get("apiGroup", ""), resource))
        return used
