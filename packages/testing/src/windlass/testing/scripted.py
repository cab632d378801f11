"""An in-memory API server for one kind, with faults that a test triggers.

It keeps the history of its objects as etcd does (one counter, compaction) and serves get, paged lists, watches and
streaming lists from it, as `windlass.kube.client.reading.ReadingVerbs` does over HTTP. Each fault is a method; a test
calls it when the fault should happen.

    server = ScriptedServer(Widget)
    server.put("a", {"size": 1})
    cache = Cache(server, Widget, clock=clock)
    ...
    server.cut(TransportError("connection reset"))      # every open watch ends with this error
    server.compact()                                    # versions before now are Gone
    server.mute()                                       # open watches deliver nothing, not even an end

For writes, validation and subresources see `windlass.model`; for the real behaviour, use a control plane.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import K, KubernetesObject, ObjectMeta, Resource
from windlass.kube.client.reading import Page
from windlass.kube.client.watch import INITIAL_EVENTS_END, Event, EventType
from windlass.kube.errors import DecodeError, Gone, Invalid, KubeError, NotFound, Silent, Status
from windlass.kube.object import Object


class Widget(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A kind for tests."""

    RESOURCE: ClassVar[Resource] = Resource("example.com", "v1", "Widget", "widgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: dict[str, int] = field(default_factory=dict)


class ScriptedServer:
    """The objects of `kind` in namespace `namespace`, their history, and the faults between it and its readers.

    `version` is the last one assigned. `requests` counts requests by verb.
    """

    def __init__(self, kind: type[KubernetesObject], *, namespace: str = "default") -> None:
        self.kind = kind
        self.namespace = namespace
        self.version = 100
        self.requests: dict[str, int] = {"get": 0, "list": 0, "watch": 0, "stream": 0}
        self.streams_lists = True
        self.page_size: int | None = None
        """Pages are this small even if larger ones are asked for."""
        self._objects: dict[str, Object[Any]] = {}
        self._log: list[Event[Any]] = []
        self._compacted = 0
        self._uids = 0
        self._refusals: list[KubeError] = []
        self._refused: tuple[int, KubeError, bool] | None = None
        self._readers: set[_Reader] = set()
        self._muted = False

    # what happens to the objects

    def put(self, name: str, spec: Mapping[str, Any] | None = None, **metadata: Any) -> Object[Any]:
        """Create or change an object; metadata as keywords in the spelling of JSON."""
        known = self._objects.get(name)
        if known is None:
            self._uids += 1
        uid = known.uid if known else f"uid-{self._uids}"
        stored = self._object(name, spec or {}, uid=uid, **metadata)
        self._objects[name] = stored
        self._happened(Event(EventType.MODIFIED if known else EventType.ADDED, stored))
        return stored

    def delete(self, name: str) -> Object[Any]:
        """Remove an object; the returned object has the version of its deletion."""
        known = self._objects.pop(name)
        tree = known.tree()
        last = self._object(name, tree.get("spec", {}), uid=known.uid)
        self._happened(Event(EventType.DELETED, last))
        return last

    @property
    def objects(self) -> dict[str, Object[Any]]:
        """What exists now, by name."""
        return dict(self._objects)

    # faults

    def fail(self, *errors: KubeError) -> None:
        """Answer the next requests with these errors, one each."""
        self._refusals.extend(errors)

    def refuse_watches(self, error: KubeError, *, opened: bool = False) -> None:
        """Answer watches from the present version, or one before, with `error`; `opened`: after they have opened."""
        self._refused = (self.version, error, opened)

    def cut(self, error: KubeError | None = None) -> None:
        """End all open watches: normally, or with `error`. They lose the events that they have not delivered yet."""
        for reader in list(self._readers):
            reader.end(error)

    def compact(self) -> None:
        """Forget history: watches from before now are Gone. Open watches go on."""
        self._compacted = self.version

    def bookmark(self) -> None:
        """Tell open watches which version they have seen."""
        self._send(self._bookmark())

    def repeat(self, count: int = 1) -> None:
        """Send the last `count` events to open watches again."""
        for event in self._log[-count:]:
            self._send(event)

    def mute(self) -> None:
        """Deliver nothing more through open and new connections: a black hole."""
        self._muted = True

    def unmute(self) -> None:
        """Deliver again through new connections; those opened before stay dead."""
        self._muted = False

    def restore(self, *, version: int) -> None:
        """Go back to an earlier version, as after restoring etcd from a backup."""
        self.version = version
        self._objects = {n: o for n, o in self._objects.items() if int(o.resource_version) <= version}
        self._log = [event for event in self._log if int(event.object.resource_version) <= version]

    # what readers ask

    async def get(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K]:
        self._asked("get")
        found = self._objects.get(name)
        if found is None:
            raise NotFound(Status("Failure", f'{kind.RESOURCE.plural} "{name}" not found', "NotFound", 404))
        return found

    async def list_pages(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        on_unreadable: Callable[[DecodeError], None] | None = None,
    ) -> AsyncGenerator[Page[K], None]:
        self._asked("list")
        version, items = str(self.version), list(self._objects.values())
        size = min(page_size, self.page_size or page_size)
        for start in range(0, len(items) or 1, size):
            yield Page(items[start : start + size], version, start == 0)
            await asyncio.sleep(0)

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
        inactivity: float = 75.0,
        on_open: Callable[[], None] | None = None,
        on_unreadable: Callable[[DecodeError], None] | None = None,
    ) -> AsyncGenerator[Event[K], None]:
        self._asked("stream" if send_initial_events else "watch")
        if send_initial_events and not self.streams_lists:
            raise Invalid(Status("Failure", "sendInitialEvents is forbidden for watch", "Invalid", 422))
        reader: _Reader = _Reader(deaf=self._muted)
        for event in self._beginning(resource_version, whole=send_initial_events):
            reader.send(event)
        last, error, opened = self._refused or (-1, None, False)
        refused = error is not None and not send_initial_events and int(resource_version) <= last
        if on_open is not None and (opened or not refused):
            on_open()
        if error is not None and refused:
            raise error
        self._readers.add(reader)
        loop = asyncio.get_running_loop()
        over = loop.time() + (timeout_seconds or 3600)
        try:
            while (left := over - loop.time()) > 0:
                try:
                    async with asyncio.timeout(min(inactivity, left)):
                        said = await reader.next()
                except TimeoutError:
                    if left <= inactivity and not reader.deaf:
                        return
                    raise Silent(f"nothing came for {inactivity:.0f} s") from None
                if said is None:
                    return
                yield said
        finally:
            self._readers.discard(reader)

    def _beginning(self, resource_version: str, *, whole: bool) -> list[Event[Any]]:
        if whole:
            return [*(Event(EventType.ADDED, found) for found in self._objects.values()), self._bookmark(end=True)]
        if int(resource_version) < self._compacted:
            raise Gone(Status("Failure", f"too old resource version: {resource_version}", "Expired", 410))
        return [event for event in self._log if int(event.object.resource_version) > int(resource_version)]

    def _asked(self, verb: str) -> None:
        self.requests[verb] += 1
        if self._refusals:
            raise self._refusals.pop(0)

    def _happened(self, event: Event[Any]) -> None:
        self._log.append(event)
        self._send(event)

    def _send(self, event: Event[Any]) -> None:
        for reader in self._readers:
            reader.deaf = reader.deaf or self._muted
            reader.send(event)

    def _bookmark(self, *, end: bool = False) -> Event[Any]:
        metadata: dict[str, Any] = {"resourceVersion": str(self.version)}
        if end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        return Event(EventType.BOOKMARK, Object.of(self.kind, {"metadata": metadata}))

    def _object(self, name: str, spec: Mapping[str, Any], *, uid: str, **metadata: Any) -> Object[Any]:
        self.version += 1
        resource = self.kind.RESOURCE
        identity = {
            "name": name,
            **({"namespace": self.namespace} if resource.namespaced else {}),
            "uid": uid,
            "resourceVersion": str(self.version),
        }
        return Object.of(
            self.kind,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {**identity, **metadata},
                "spec": dict(spec),
            },
        )


class _Reader:
    """One open watch: the events still to deliver."""

    def __init__(self, *, deaf: bool) -> None:
        self.deaf = deaf
        self._queue: asyncio.Queue[Event[Any] | KubeError | None] = asyncio.Queue()

    def send(self, event: Event[Any]) -> None:
        if not self.deaf:
            self._queue.put_nowait(event)

    def end(self, error: KubeError | None) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(error)

    async def next(self) -> Event[Any] | None:
        said = await self._queue.get()
        if isinstance(said, KubeError):
            raise said
        return said
