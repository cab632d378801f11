"""The change log of the in-memory API server: what a watch would have told, in order."""

from enum import StrEnum

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.model.schema import Tree


class Happened(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class StoredWrite(Struct, frozen=True):
    """One stored write: `tree` is the object after it (its last state if DELETED), `version` the counter then."""

    version: int
    happened: Happened
    kind: type[KubernetesObject]
    tree: Tree

    def __str__(self) -> str:
        meta = self.tree["metadata"]
        place = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{self.version} {self.happened} {self.kind.RESOURCE.kind} {place}{meta['name']}"
