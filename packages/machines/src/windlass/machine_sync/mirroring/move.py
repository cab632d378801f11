"""The objects of a move of authority: one of the Machine API, and those of Cluster API that must be paused."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.conditions import find, is_true
from windlass.kube.control.seen import Present, Seen, metadata_of
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, PAUSED_ANNOTATION

PAUSED = "Paused"


class Pausable(Struct, frozen=True):
    """An object of Cluster API that its controllers leave alone while it is annotated.

    `reports`: they report it in a `Paused` condition. Some providers never do; for them the annotation has to be
    enough. None: some controllers of this kind do, so the object itself says: those that do keep the condition always.
    """

    kind: type[KubernetesObject]
    seen: Seen[Any]
    reports: bool | None = True

    @property
    def metadata(self) -> ObjectMeta | None:
        return metadata_of(self.seen)

    @property
    def annotations(self) -> Mapping[str, str]:
        meta = self.metadata
        return meta.annotations if meta is not None else {}

    @property
    def annotated(self) -> bool:
        return PAUSED_ANNOTATION in self.annotations

    @property
    def stands_still(self) -> bool:
        if self.metadata is None:
            return True
        reports = _reports_pauses(self.seen) if self.reports is None else self.reports
        return self.annotated and (not reports or says_paused(self.seen))

    def __str__(self) -> str:
        meta = self.metadata
        return f"{self.kind.RESOURCE.kind} {meta.name if meta else ''}".strip()


class Move(Struct, frozen=True):
    """One object of the Machine API and what it mirrors, or is mirrored by.

    `parts` are the objects of Cluster API that must be paused when the Machine API is authoritative, the Machine or
    MachineSet first.
    """

    machine_api: Present[Any]
    parts: tuple[Pausable, ...]

    @property
    def spec(self) -> str:
        return str(self.machine_api.object.spec.authoritative_api)

    @property
    def status(self) -> str:
        return str(self.machine_api.object.status.authoritative_api)

    @property
    def came_from(self) -> str:
        """The last stable authority; "" if it is not recorded."""
        noted = str(self.machine_api.object.status.synchronized_api)
        return noted if noted in (MACHINE_API, CLUSTER_API) else ""

    @property
    def source(self) -> str:
        """The API from whose object the mirror was made when the move began. Only while authority moves."""
        return self.came_from or _other(self.spec)

    @property
    def noted(self) -> int:
        """The recorded generation of the authority that the mirror has."""
        return int(self.machine_api.object.status.synchronized_generation)

    @property
    def requested(self) -> bool:
        """Authority is to move, and has not begun to."""
        return {self.status, self.spec} == {MACHINE_API, CLUSTER_API}

    def metadata_of(self, authority: str) -> ObjectMeta | None:
        """The metadata of the object of this API; None if there is none."""
        return self.machine_api.metadata if authority == MACHINE_API else self.parts[0].metadata


def says_paused(found: Seen[Any]) -> bool:
    """The object's controllers report a pause, in any of its lists of conditions."""
    return any(is_true(conditions, PAUSED) for conditions in _lists(found))


def _reports_pauses(found: Seen[Any]) -> bool:
    """The object has the condition, with any status."""
    return any(find(conditions, PAUSED) is not None for conditions in _lists(found))


def _lists(found: Seen[Any]) -> list[list[Any]]:
    if not isinstance(found, Present):
        return []
    status = _map(found.tree.get("status"))
    return [_maps(status.get("conditions")), _maps(_map(status.get("v1beta2")).get("conditions"))]


def conditions_of(tree: Mapping[str, Any]) -> list[Any]:
    """The items of `status.conditions` that have the form of a condition."""
    return _maps(_map(tree.get("status")).get("conditions"))


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _maps(values: Any) -> list[Any]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list) else []


def _other(authority: str) -> str:
    return CLUSTER_API if authority == MACHINE_API else MACHINE_API
