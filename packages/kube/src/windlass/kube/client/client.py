"""A client for one Kubernetes API server: a few verbs, on any kind.

    import asyncio
    from msgspec import Struct, field
    from windlass.api.meta import ObjectMeta, Resource
    from windlass.kube import config
    from windlass.kube.client import Client
    from windlass.kube.verbs import PatchType

    class ConfigMap(Struct):
        RESOURCE = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps")
        metadata: ObjectMeta = field(default_factory=ObjectMeta)
        data: dict[str, str] = field(default_factory=dict)

    async def main() -> None:
        async with Client(config.load()) as client:
            place = {"namespace": "default"}
            made = await client.create(ConfigMap, {"metadata": {"name": "hello"}, "data": {"to": "you"}}, **place)
            await client.patch(ConfigMap, "hello", {"data": {"to": "all"}}, type=PatchType.MERGE, **place)
            print((await client.get(ConfigMap, "hello", **place)).tree()["data"])
            await client.delete(ConfigMap, "hello", uid=made.uid, **place)

    asyncio.run(main())

**Kinds** are types with a `RESOURCE` (`windlass.api.meta.Resource`), so a new kind needs five lines and no generator.
The verbs return an `Object`: the JSON as it was sent (less managedFields), decoded on demand.

**Writes** are plain JSON trees, and only creates, patches and deletes: a typed object written back would drop the
fields its type does not know. All have `fieldValidation=Strict` (an unknown or duplicate field is an error, not a
silent loss) and a `fieldManager`, by default the client's.

**Errors** are the leaves of `windlass.kube.errors`; each says what the caller may do. In short: `OutcomeUnknown` means
read before writing again; `transient` means the same request may succeed later; NotFound is raised only when an API
server itself answered it.

**Retries**: `windlass.kube.client.retry` has the table. Time-outs bound a request with all its retries.

**Fencing**: `Client(config, fence=election)` writes only while the process certainly leads. The fence is asked
immediately before a write is sent, at retries too, and raises `Fenced` to hold it back. A write that passes the fence
ends or is cut off within the time that was asked for, at most `fence.longest_write` (`transport` documents the two
limits). A second client without a fence renews Leases; it also sends TokenReviews, which a standby needs too.

**Metrics**: `observer(method, kind, code, seconds)` is called for every attempt; `code` is "200", or "<error>" if there
was no answer; `kind` is `plural.group`.

**Warnings**: `warned(text)` is called with the API server's warnings, such as a deprecated API or an admission policy
that only warns; the same text comes with every answer that it concerns.

**Connections**: each watch has its own; all other requests share `connections` and wait for a free one.

**Cost**: about 0.3 ms of CPU for a PATCH over TLS; one header block per form of request, one pass over the bytes of an
answer.
"""

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Struct

from windlass.api.authentication import TokenRequest, TokenRequestStatus
from windlass.api.meta import K, T
from windlass.kube import decoding
from windlass.kube.client import paths
from windlass.kube.client.fence import Fence
from windlass.kube.client.overlay import is_gone
from windlass.kube.client.reading import METADATA, METADATA_LIST, Page, ReadingVerbs
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.client.server_clock import ServerClock
from windlass.kube.client.transport import JSON, Observer, Transport
from windlass.kube.client.warnings import Warned
from windlass.kube.client.watch import Event, EventType
from windlass.kube.config import ClusterConfig
from windlass.kube.errors import DecodeError
from windlass.kube.nesting import cut
from windlass.kube.object import Object
from windlass.kube.verbs import (
    Api,
    ApiRequest,
    CreateRequest,
    DeleteRequest,
    EvictRequest,
    Listed,
    PatchRequest,
    PatchType,
    ServiceAccountTokenRequest,
)
from windlass.kube.version import VERSION

__all__ = [
    "Client",
    "Event",
    "EventType",
    "Fence",
    "Listed",
    "Observer",
    "Page",
    "PatchType",
    "ReadingVerbs",
    "RetryPolicy",
]

_ENCODE = msgspec.json.Encoder().encode


class _Kind(Struct, frozen=True):
    kind: str = ""


class Client(ReadingVerbs, Api):
    """The verbs of `windlass.kube.verbs.Api`, and more, against a real API server.

    Create it anywhere, use it in one event loop; the first request opens a connection. `timeout`: seconds for a request
    with its retries. `field_manager`: the writer that the API server records, unless a call names another one.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        field_manager: str = "windlass",
        connections: int = 128,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        fence: Fence | None = None,
        observer: Observer | None = None,
        warned: Warned | None = None,
        user_agent: str = "",
        random: Random | None = None,
    ) -> None:
        transport = Transport(
            config,
            connections=connections,
            timeout=timeout,
            retry=retry,
            fence=fence,
            observer=observer,
            warned=warned,
            user_agent=user_agent or _user_agent(),
            random=random,
        )
        super().__init__(transport)
        self.config = config
        self.field_manager = field_manager
        self.metadata = ReadingVerbs(transport, accept=METADATA, accept_list=METADATA_LIST)
        """The reading verbs, of metadata only."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def fence(self) -> Fence | None:
        """The fence that each write must pass, if there is one."""
        return self.transport.fence

    @property
    def server_clock(self) -> ServerClock:
        """The time by the API server's clock, as its last answer told."""
        return self.transport.server_clock

    async def close(self) -> None:
        """Close all connections, for good."""
        await self.transport.close()

    async def send(self, request: ApiRequest[Any], /) -> Any:
        """Send the request of any verb; see `windlass.kube.verbs`. The verbs are the typed way to it."""
        match request:
            case CreateRequest():
                return await self._create(request)
            case PatchRequest():
                return await self._patch(request)
            case DeleteRequest():
                return await self._delete(request)
            case EvictRequest():
                return await self._evict(request)
            case ServiceAccountTokenRequest():
                return await self._request_token(request)
            case _:
                return await super().send(request)

    async def _create(self, request: CreateRequest) -> Object[Any]:
        kind, resource = request.kind, request.kind.RESOURCE
        if resource.namespaced and request.namespace is None:
            raise ValueError(f"{resource.kind} is namespaced: say in which namespace to create it")
        whole = {**request.body, "apiVersion": resource.api_version, "kind": resource.kind}
        path = paths.collection(kind, request.namespace, query=self._writing(request.field_manager))
        answer = await self._post(path, whole, kind=resource.name)
        with _carried_out():
            return Object.parse(kind, answer)

    async def _patch(self, request: PatchRequest) -> Object[Any]:
        query = self._writing(request.field_manager, force=request.force)
        answer = await self.transport.exchange(
            "PATCH",
            paths.item(request.kind, request.name, request.namespace, subresource=request.subresource, query=query),
            body=_ENCODE(request.body),
            content_type=request.type.value,
            kind=request.kind.RESOURCE.name,
        )
        with _carried_out():
            return Object.parse(request.kind, answer)

    async def apply(
        self,
        kind: type[K],
        name: str,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        subresource: str = "",
        field_manager: str = "",
        force: bool = True,
    ) -> Object[K]:
        """Server-side apply: own exactly the fields of `body`. `apiVersion`, `kind` and name are filled in.

        It creates the object if it does not exist, unless the body has a `metadata.uid`.
        """
        resource = kind.RESOURCE
        metadata = {**body.get("metadata", {}), "name": name}
        whole = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return await self.patch(
            kind,
            name,
            whole,
            type=PatchType.APPLY,
            namespace=namespace,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
        )

    async def _delete(self, request: DeleteRequest) -> Object[Any] | None:
        given = (("uid", request.uid), ("resourceVersion", request.resource_version))
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions := {key: value for key, value in given if value}:
            options["preconditions"] = preconditions
        if request.propagation:
            options["propagationPolicy"] = request.propagation
        answer = await self.transport.exchange(
            "DELETE",
            paths.item(request.kind, request.name, request.namespace),
            body=_ENCODE(options),
            content_type=JSON,
            kind=request.kind.RESOURCE.name,
        )
        with _carried_out():
            if _decode(answer, _Kind, "DELETE").kind == "Status":
                return None
            last = Object.parse(request.kind, answer)
        # Some kinds answer with the object although it is gone. An object that stays has a deletionTimestamp and is
        # held by finalizers or by a running grace period (Pods).
        return last if last.deleting and not is_gone(last) else None

    async def _evict(self, request: EvictRequest) -> None:
        options: dict[str, Any] = {}
        if request.uid:
            options["preconditions"] = {"uid": request.uid}
        if request.grace_seconds is not None:
            options["gracePeriodSeconds"] = request.grace_seconds
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": request.name, "namespace": request.namespace},
            "deleteOptions": options,
        }
        path = paths.item(request.kind, request.name, request.namespace, subresource="eviction")
        await self._post(path, body, kind=request.kind.RESOURCE.name)

    async def _request_token(self, request: ServiceAccountTokenRequest) -> TokenRequestStatus:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": request.spec}
        path = paths.item(request.kind, request.name, request.namespace, subresource="token")
        return _decode(await self._post(path, body, kind=request.kind.RESOURCE.name), TokenRequest, path).status

    async def _post(self, path: str, body: Mapping[str, Any], *, kind: str) -> bytes:
        return await self.transport.exchange("POST", path, body=_ENCODE(body), content_type=JSON, kind=kind)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,  # noqa: ASYNC109 - spans repetitions
    ) -> bytes:
        """Send any request that has no verb here: `/version`, `/metrics`, other subresources. Returns the answer.

        `body` is encoded as JSON unless it is bytes. Whatever is not GET, HEAD or OPTIONS counts as a write.
        """
        encoded = body if body is None or isinstance(body, bytes) else _ENCODE(body)
        return await self.transport.exchange(
            method.upper(),
            f"{path}?{paths.encode(query)}" if query else path,
            body=encoded,
            accept=accept,
            content_type=content_type if body is not None else "",
            timeout=timeout,
        )

    def _writing(self, field_manager: str, *, force: bool = False) -> str:
        manager = field_manager or self.field_manager
        return f"fieldManager={paths.text(manager)}&fieldValidation=Strict{'&force=true' if force else ''}"


@contextmanager
def _carried_out() -> Iterator[None]:
    """The server said that it carried out a write; an answer that cannot be read leaves open what it has written."""
    try:
        yield
    except DecodeError as error:
        error.unknown_outcome = True
        raise


def _decode(answer: bytes, shape: type[T], what: str) -> T:
    try:
        try:
            return decoding.decode(answer, shape)
        except RecursionError:
            return decoding.decode(cut(answer), shape)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"{what}: the server's answer is not what the API promises: {error}") from error


def _user_agent() -> str:
    return f"windlass/{VERSION} ({platform.system().lower()}/{platform.machine()}; python {platform.python_version()})"
