"""The interface to a Kubernetes API server: its typed verbs.

`windlass.kube.client.Client` implements them for a real server, `windlass.model` for a model of one. The
code above (executor, plans, scenarios) uses only this interface.

A verb is written once, here: it makes its request a value and gives it to `send`, the one method that an
implementation has.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from windlass.api.authentication import BoundObjectReference, TokenRequestSpec, TokenRequestStatus
from windlass.api.core import ServiceAccount
from windlass.api.meta import K, KubernetesObject
from windlass.kube.object import Object

A = TypeVar("A")
"""The answer to a request."""


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


class ApiRequest(Struct, Generic[A], frozen=True):
    """One request to the API server; `A` is the type of its answer.

    `name` is empty in a list, and in a create that leaves the name to the server.
    """

    VERB: ClassVar[str]
    WRITES: ClassVar[bool] = True

    kind: type[KubernetesObject]
    name: str
    namespace: str | None

    def __str__(self) -> str:
        return f"{self.VERB} {self.kind.RESOURCE.kind} {self.name}"


class GetRequest(ApiRequest[Object[Any]], frozen=True):
    VERB = "get"
    WRITES = False


class ListRequest(ApiRequest[Listed], frozen=True):
    VERB = "list"
    WRITES = False

    label_selector: str
    field_selector: str


class CreateRequest(ApiRequest[Object[Any]], frozen=True):
    VERB = "create"

    body: Mapping[str, Any]
    field_manager: str


class PatchRequest(ApiRequest[Object[Any]], frozen=True):
    VERB = "patch"

    body: Mapping[str, Any] | Sequence[Any]
    type: PatchType
    subresource: str
    field_manager: str
    force: bool

    def __str__(self) -> str:
        return super().__str__() + (f" ({self.subresource})" if self.subresource else "")


class DeleteRequest(ApiRequest[Object[Any] | None], frozen=True):
    VERB = "delete"

    uid: str
    resource_version: str
    propagation: str


class EvictRequest(ApiRequest[None], frozen=True):
    VERB = "evict"

    uid: str
    grace_seconds: int | None


class ServiceAccountTokenRequest(ApiRequest[TokenRequestStatus], frozen=True):
    VERB = "request_token"

    spec: TokenRequestSpec


class ReadApi(Protocol):
    """The verbs that read, on any kind. Both raise `KubeError` leaves."""

    @abstractmethod
    async def send(self, request: ApiRequest[A], /) -> A:
        """Send one request, and return its answer."""
        ...

    async def get(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K]:
        """The object as it is now. Raises NotFound, NotServed if the server has no such kind, and the general ones.

        `namespace` is required for namespaced kinds.
        """
        return await self.send(GetRequest(kind, name, namespace))

    async def list(
        self, kind: type[K], *, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> Listed:
        """All objects in `namespace` (None: in all namespaces), as of one moment."""
        return await self.send(ListRequest(kind, "", namespace, label_selector, field_selector))


class Api(ReadApi, Protocol):
    """Typed verbs on any kind. All raise `KubeError` leaves; writes raise OutcomeUnknown when no answer came.

    `namespace` is required for namespaced kinds except in `list`. Bodies are plain JSON trees. Writes use
    `fieldValidation=Strict`: an unknown field is an error, not a silent loss.
    """

    async def create(
        self, kind: type[K], body: Mapping[str, Any], *, namespace: str | None = None, field_manager: str = ""
    ) -> Object[K]:
        """Create an object; returns it as stored. A client fills in `apiVersion` and `kind`.

        Raises AlreadyExists; Invalid; NotFound if the namespace does not exist; NotServed if the kind is not served;
        and OutcomeUnknown: look for the object by name before creating it again.
        """
        name = str((body.get("metadata") or {}).get("name", ""))
        return await self.send(CreateRequest(kind, name, namespace, body, field_manager))

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
        force: bool = False,
    ) -> Object[K]:
        """Change an object; returns it as stored afterwards.

        `metadata.resourceVersion` in the body makes a MERGE conditional (Conflict); `metadata.uid` in the body keeps an
        APPLY from creating the object. `force` takes over fields from other managers (APPLY).
        """
        return await self.send(PatchRequest(kind, name, namespace, body, type, subresource, field_manager, force))

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
        """Delete an object if the preconditions hold. Returns the object while finalizers hold it, None once it is
        gone.

        `uid`, `resource_version`: preconditions (Conflict). `propagation`: Background, Foreground or Orphan. Raises
        NotFound if it was gone already.
        """
        return await self.send(DeleteRequest(kind, name, namespace, uid, resource_version, propagation))

    async def evict(
        self, kind: type[K], name: str, *, namespace: str, uid: str = "", grace_seconds: int | None = None
    ) -> None:
        """Evict a Pod (`kind` is a type for Pods): delete it unless a PodDisruptionBudget forbids (Unevictable).

        `uid` is a precondition (Conflict). `grace_seconds`: how long its containers may take to end; None: as its spec
        says. The Pod exists until they have ended. Raises NotFound if it was gone already.
        """
        await self.send(EvictRequest(kind, name, namespace, uid, grace_seconds))

    async def request_token(
        self,
        name: str,
        *,
        namespace: str,
        audiences: Sequence[str] = (),
        seconds: int = 3600,
        bound: BoundObjectReference | None = None,
    ) -> TokenRequestStatus:
        """A new token for the ServiceAccount `name`, and when it expires.

        `audiences`: the services that accept it; none: the API server. `seconds` (at least 600) is the requested
        lifetime; the server may choose another. `bound`: the Pod, Node or Secret with which the token ends. Raises
        NotFound if there is no such ServiceAccount or bound object.
        """
        spec = TokenRequestSpec(audiences=[*audiences], expiration_seconds=seconds, bound_object_ref=bound)
        return await self.send(ServiceAccountTokenRequest(ServiceAccount, name, namespace, spec))
