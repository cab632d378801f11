"""The reading verbs of the client: get, list, pages and watch, for objects of any kind.

    async with Client(config.load()) as client:
        machine = await client.get(Machine, "worker-0", namespace="openshift-cluster-api")
        print(machine.decode().spec.provider_id)

        async for page in client.list_pages(Machine):
            print(len(page.items))

`client.metadata` reads the same objects without their content (`PartialObjectMetadata`): for Secrets, which a cache
must not hold. Such an `Object` has the identity and metadata of the whole one; it decodes to a value with no other
field set.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Generic

import msgspec
from msgspec import Struct, field

from windlass.api.meta import K
from windlass.kube import decoding
from windlass.kube.client import paths
from windlass.kube.client.transport import JSON, Transport
from windlass.kube.client.watch import Event, events
from windlass.kube.errors import DecodeError, Gone, TransportError
from windlass.kube.nesting import DEEPEST, cut
from windlass.kube.object import Object
from windlass.kube.verbs import ApiRequest, GetRequest, Listed, ListRequest, ReadApi

PAGE_SIZE = 500
"""Objects in a page, as kubectl and client-go ask for."""
RESTARTS = 3
"""How often a list is restarted because it took longer than the server keeps its snapshot (5 min by default)."""
INACTIVITY = 75.0
"""Seconds of silence after which a watch with bookmarks is doubted: most servers send one about each minute."""
_AT_ONCE = 100
"""Objects parsed before other tasks get a turn: about 1.5 ms."""

METADATA = f"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
METADATA_LIST = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"


class Page(Struct, Generic[K], frozen=True):
    """A part of a list. `first`: it starts or restarts the list, so forget the pages before it.

    `resource_version` is the same in all pages of one list; a watch can go on from it. `remaining`: about how many
    objects follow, None if the server does not say.
    """

    items: Sequence[Object[K]]
    resource_version: str
    first: bool
    remaining: int | None = None


class _ListMeta(Struct, rename="camel", frozen=True):
    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(Struct, frozen=True):
    """`items` is null of a server that found nothing, and missing in what is no list."""

    items: list[msgspec.Raw] | None
    metadata: _ListMeta = field(default_factory=_ListMeta)


_LIST = decoding.decoder(_List)


class _Name(Struct, frozen=True):
    name: str = ""


class _Named(Struct, frozen=True):
    metadata: _Name = field(default_factory=_Name)


_NAMED = decoding.decoder(_Named)


class ReadingVerbs(ReadApi):
    """The reading verbs over a transport. `accept`, `accept_list`: the media types for objects and for lists."""

    def __init__(self, transport: Transport, *, accept: str = JSON, accept_list: str = JSON) -> None:
        self.transport = transport
        self._accept = accept
        self._accept_list = accept_list

    async def send(self, request: ApiRequest[Any], /) -> Any:
        """Send a get or a list; see `windlass.kube.verbs`. Large lists are fetched in pages and put together."""
        match request:
            case GetRequest():
                path = paths.item(request.kind, request.name, request.namespace)
                answer = await self.transport.exchange(
                    "GET", path, accept=self._accept, kind=request.kind.RESOURCE.name
                )
                return _named(request, answer, path)
            case ListRequest():
                return await self._list(request)
        raise TypeError(f"{type(self).__name__} has no verb for {type(request).__name__}")

    async def _list(self, request: ListRequest) -> Listed:
        items: list[Object[Any]] = []
        version = ""
        pages = self.list_pages(
            request.kind,
            namespace=request.namespace,
            label_selector=request.label_selector,
            field_selector=request.field_selector,
        )
        async with aclosing(pages):
            async for page in pages:
                if page.first:
                    items.clear()
                items.extend(page.items)
                version = page.resource_version
        return Listed(items, version)

    async def list_pages(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = PAGE_SIZE,
        on_unreadable: Callable[[DecodeError], None] | None = None,
    ) -> AsyncGenerator[Page[K], None]:
        """All objects, as of one moment, page by page.

        If the server drops that snapshot while we read (410), the list restarts with a page that has `first`; after
        three restarts Gone is raised. An object whose metadata cannot be read raises DecodeError, or is passed to
        `on_unreadable` and left out.
        """
        more, begun = "", 0
        while True:
            query = paths.query(
                limit=page_size, label_selector=label_selector, field_selector=field_selector, continue_=more
            )
            try:
                answer = await self.transport.exchange(
                    "GET",
                    paths.collection(kind, namespace, query=query),
                    accept=self._accept_list,
                    kind=kind.RESOURCE.name,
                )
            except Gone:
                if not more or begun > RESTARTS:
                    raise
                more = ""
                continue
            try:
                said = _listed(answer)
            except msgspec.MsgspecError as error:
                raise DecodeError(f"{kind.RESOURCE}: the server's answer is not a list: {error}") from error
            items = await _take_in(kind, said.items or [], on_unreadable)
            begun += not more
            yield Page(items, said.metadata.resource_version, not more, said.metadata.remaining_item_count)
            if not said.metadata.continue_:
                return
            if said.metadata.continue_ == more:
                raise TransportError(f"{kind.RESOURCE}: the server gives the same continue token twice")
            more = said.metadata.continue_

    async def watch(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        bookmarks: bool = True,
        send_initial_events: bool = False,
        timeout_seconds: int | None = None,
        inactivity: float = INACTIVITY,
        on_open: Callable[[], None] | None = None,
        on_unreadable: Callable[[DecodeError], None] | None = None,
    ) -> AsyncGenerator[Event[K], None]:
        """Changes after `resource_version` as they happen, until the server ends the stream after `timeout_seconds`.

        `send_initial_events`: first everything that exists, as ADDED, then a bookmark that `ends_initial_events`
        (WatchList; Invalid or BadRequest from servers without it). `inactivity`: after so many silent seconds the watch
        raises Silent. Silence proves nothing without bookmarks, and little with them: the server sends none for a kind
        that has not changed since `resource_version`. `on_open` is called when the server has accepted the watch.

        Raises Gone when `resource_version` is too old, at the start or later: list again. Leave it early only inside
        `contextlib.aclosing(...)`, which returns its connection at once.
        """
        query = paths.query(
            watch=True,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            allow_watch_bookmarks=bookmarks,
            send_initial_events=send_initial_events,
            resource_version_match="NotOlderThan" if send_initial_events else None,
            timeout_seconds=timeout_seconds,
        )
        path = paths.collection(kind, namespace, query=query)
        async with self.transport.stream(
            path, accept=self._accept, kind=kind.RESOURCE.name, inactivity=inactivity
        ) as pieces:
            if on_open is not None:
                on_open()
            async for event in events(pieces, kind, request=f"WATCH {path}", on_unreadable=on_unreadable):
                yield event


def _named(request: GetRequest, answer: bytes, path: str) -> Object[Any]:
    """The object that was asked for. A proxy before the API server may answer 200 with a page of its own.

    Raises TransportError for such an answer, which says nothing about the object; and DecodeError if the answer has the
    object's name, and its metadata cannot be read.
    """
    try:
        found = Object.parse(request.kind, answer)
    except DecodeError as error:
        if _name(answer) == request.name:
            raise
        raise TransportError(f"GET {path}: the answer is none of an API server: {error}") from error
    if found.name != request.name:
        raise TransportError(f"GET {path}: the answer is none of an API server: it has the name {found.name!r}")
    return found


def _name(answer: bytes) -> str:
    try:
        return _NAMED.decode(answer).metadata.name
    except (msgspec.MsgspecError, RecursionError):
        return ""


def _listed(answer: bytes) -> _List:
    try:
        return _LIST.decode(answer)
    except RecursionError:
        return _LIST.decode(cut(answer, deepest=DEEPEST + 2))


async def _take_in(
    kind: type[K], raws: Sequence[msgspec.Raw], on_unreadable: Callable[[DecodeError], None] | None
) -> Sequence[Object[K]]:
    # Items of built-in kinds come without kind and apiVersion, everywhere else they have them.
    head = f'{{"kind":"{kind.RESOURCE.kind}","apiVersion":"{kind.RESOURCE.api_version}",'.encode()
    taken = []
    for count, raw in enumerate(raws, start=1):
        whole = bytes(raw)
        if whole.startswith(b'{"metadata"'):
            whole = head + whole[1:]
        try:
            taken.append(Object.parse(kind, whole))
        except DecodeError as error:
            if on_unreadable is None:
                raise
            on_unreadable(error)
        if count % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return taken
