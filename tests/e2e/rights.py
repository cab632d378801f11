"""Compares what a role grants with what its account asked for, as the audit log has it."""

from pathlib import Path
from typing import NamedTuple

from windlass.testing.plane.audit import AuditLog
from windlass.testing.plane.manifests import read_manifests


class Use(NamedTuple):
    """One request, in the words of a grant."""

    namespace: str
    group: str
    resource: str
    verb: str
    name: str


class Grant(NamedTuple):
    """One verb on one resource; `namespace` empty: cluster-wide; `names` empty: all objects."""

    namespace: str
    group: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()

    def covers(self, use: Use) -> bool:
        placed = self.namespace in ("", use.namespace)
        return placed and use[1:4] == self[1:4] and (not self.names or use.name in self.names)


def granted(file: Path, name: str) -> set[Grant]:
    """What the roles of this name in a file of manifests allow."""
    roles = [
        one
        for one in read_manifests([file])
        if one["kind"] in ("Role", "ClusterRole") and one["metadata"]["name"] == name
    ]
    return {
        Grant(role["metadata"].get("namespace", ""), group, resource, verb, tuple(rule.get("resourceNames", ())))
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def uses(audit: AuditLog, user: str, decision: str) -> set[Use]:
    """What `user` asked for and was allowed ("allow") or refused ("forbid")."""
    result = set()
    for event in audit.events(user=user):
        target = event.get("objectRef", {})
        if event.get("annotations", {}).get("authorization.k8s.io/decision") == decision and "resource" in target:
            resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
            place, group = target.get("namespace", ""), target.get("apiGroup", "")
            result.add(Use(place, group, resource, event["verb"], target.get("name", "")))
    return result
