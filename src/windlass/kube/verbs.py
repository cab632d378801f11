"""The interface to a Kubernetes API server: its typed verbs.

`windlass.kube.client.Client` implements them for a real server, `windlass.testing.memory` for a model of one. The
code above (executor, plans, scenarios) uses only this interface.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from windlass.api.meta import K
from windlass.kube.object import Object


class PatchType(StrEnum):
    """How a patch body is to be read; the value is its content type."""

    MERGE = "application/merge-patch+json"
    """RFC 7386: maps are merged, everything else replaced, null removes."""
    JSON = "application/json-patch+json"
    """RFC 6902: a list of operations."""
    APPLY = "application/apply-patch+yaml"
    """Server-side apply: the body is the whole set of fields that its manager wants to own. No plan asks for it."""


class Listed(Struct, frozen=True):
    """A complete list: its objects, and the resource version a watch can go on from."""

    items: list[Any]
    resource_version: str


class Api(Protocol):
    """Typed verbs on any kind. All raise `KubeError` leaves; writes raise OutcomeUnknown when no answer came.

    `namespace` is required for namespaced kinds except in `list` (None: all namespaces). Bodies are plain JSON
    trees. Writes use `fieldValidation=Strict`: an unknown field is an error, not a silent loss.
    """

    async def get(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K]: ...

    async def list(
        self, kind: type[K], *, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> Listed: ...

    async def create(
        self, kind: type[K], body: Mapping[str, Any], *, namespace: str | None = None, field_manager: str = ""
    ) -> Object[K]: ...

    async def patch(
        self,
        kind: type[K],
        name: str,
        body: Mapping[str, Any] | Sequence[Any],
        *,
        type: PatchType,  # noqa: A002 - the word of the field
        namespace: str | None = None,
        subresource: str = "",
        field_manager: str = "",
    ) -> Object[K]: ...

    async def delete(
        self,
        kind: type[K],
        name: str,
        *,
        namespace: str | None = None,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
    ) -> Object[K] | None:
        """Delete it if the preconditions hold. Returns the object if finalizers keep it, None if it is gone."""
        ...

    async def evict(
        self, kind: type[K], name: str, *, namespace: str, uid: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete a Pod unless a PodDisruptionBudget forbids: Unevictable."""
        ...
