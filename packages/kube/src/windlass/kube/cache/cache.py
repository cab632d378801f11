"""Keeps all objects of a kind up to date, own writes included, and notifies listeners of every change.

A `Cache` joins three parts, each usable alone: a `Reflector` follows the server, a `Store` keeps its objects with our
own writes laid over them, and listeners are called with changes. Its guarantees:

* never older than our own writes: `wrote` and `removed` are seen by the next `get`, and stay seen through reconnects
  and lists until the stream has passed them;
* a deleted object stays deleted; one recreated under its name is another object;
* every real change is announced once the stream shows it, and nothing else is: a list after a gap announces only
  what differs. Own writes are announced when their echo comes;
* an object that cannot be read, or a listener that fails, is logged and does not affect the others;
* `health` always names the stage, the last error and the time since the server gave a sign of life. A kind that is
  not served is a state, not an error: whether its objects exist is unknown until it is listed again, and listeners are
  notified when that happens.

    async with Client(config) as client, asyncio.TaskGroup() as tasks:
        machines = Cache(client, Machine, namespace="openshift-machine-api")
        machines.add_index("by-node", lambda machine: [machine.decode().status.node_ref.name])
        machines.subscribe(lambda change: print(change.old, "->", change.new))
        tasks.create_task(machines.run())
        await machines.wait_synced()
        print(machines.get("worker-1"), machines.indexed("by-node", "ip-10-0-0-1"))

Objects are kept as the bytes the server sent (`windlass.kube.object`): 6,000 of 3 KB need about 25 MB.

It belongs to one event loop; all methods but `run`, the waits and `ask` return at once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from random import Random
from typing import Generic, NoReturn, Protocol

from msgspec import structs

from windlass.api.meta import K
from windlass.kube.backoff import Backoff
from windlass.kube.cache.health import FollowStage, Health
from windlass.kube.cache.reflector import RECONNECT, Reflector, Watchable
from windlass.kube.cache.store import STEP, Change, IndexFunction, Steps, Store
from windlass.kube.client.overlay import is_gone, ordinal
from windlass.kube.clock import Clock
from windlass.kube.errors import NotFound
from windlass.kube.logger import Logger
from windlass.kube.object import NamespacedName, Object

log = Logger(__name__)

INACTIVITY = 75.0
"""Seconds of silence after which a watch is restarted. Most API servers send a bookmark each minute."""


class Followable(Watchable, Protocol):
    """The part of a client that a cache needs: following a kind, and reading one object live."""

    async def get(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K]: ...


class Cache(Generic[K]):
    """The objects of `kind` in `namespace` (None: everywhere) that match the selectors.

    `inactivity`: seconds of silence after which a watch is restarted; `page_size`: objects per page where the server
    cannot stream lists. `clock` and `random` are for tests.

    An object that the selectors exclude is shown after a write of ours, until the stream has passed that write.
    """

    def __init__(
        self,
        client: Followable,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        inactivity: float = INACTIVITY,
        page_size: int = 500,
        backoff: Backoff = RECONNECT,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self.label_selector = label_selector
        self.field_selector = field_selector
        self.synced = asyncio.Event()
        """Set when the first list is complete, and never cleared."""
        self.settled = asyncio.Event()
        """Set when the first list is complete or the kind is known not to be served."""
        self.answered = asyncio.Event()
        """The same, but set also when the server has said that the kind may not be listed."""
        self._client = client
        self._inactivity = inactivity
        self._store: Store[K] = Store()
        self._listeners: dict[object, tuple[Callable[[Change[K]], None], Callable[[], None]]] = {}
        self._doubts: dict[NamespacedName, object] = {}
        self._unserved = ""
        self._untold: deque[Change[K]] = deque()
        self._reflector: Reflector[K] = Reflector(
            client,
            kind,
            _Sink(self._store, listed=self._listed, changed=self._announce),
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            inactivity=inactivity,
            page_size=page_size,
            on_stage=self._entered,
            backoff=backoff,
            clock=clock,
            random=random,
        )

    # life

    async def run(self) -> NoReturn:
        """Keep the cache up to date until cancelled. Run it once at a time."""
        await self._reflector.run()

    async def wait_synced(self) -> None:
        """Return when the first list is complete. Waits for ever while the kind is not served."""
        await self.synced.wait()

    async def wait_settled(self) -> None:
        """Return when the first list is complete or the kind is known not to be served."""
        await self.settled.wait()

    @property
    def selected(self) -> bool:
        """Selectors exclude objects: an object that the cache does not show may exist."""
        return bool(self.label_selector or self.field_selector)

    @property
    def served(self) -> bool:
        """False once the API server has said that it does not know the kind, until the kind is listed again."""
        return not self._unserved

    @property
    def unserved(self) -> str:
        """Why the kind is not `served`, for people."""
        return self._unserved

    @property
    def forbidden(self) -> str:
        """Why the kind may not be listed, for people; empty once it was listed."""
        pulse = self._reflector.pulse
        return pulse.error if pulse.forbidden and not self.synced.is_set() else ""

    @property
    def health(self) -> Health:
        return Health(
            kind=str(self.kind.RESOURCE),
            namespace=self.namespace,
            synced=self.synced.is_set(),
            served=self.served,
            objects=len(self._store),
            pending=self._store.pending,
            inactivity=self._inactivity,
            pulse=self._reflector.pulse,
        )

    # reads

    def get(self, name: str, *, namespace: str | None = None) -> Object[K] | None:
        """The object, or None. `namespace` may be omitted if the cache covers only one."""
        return self._store.get(self._key(name, namespace))

    def items(self, namespace: str | None = None) -> Iterator[Object[K]]:
        """All objects, or those of `namespace`, as they are at this moment."""
        return self._store.items(namespace)

    def add_index(self, name: Hashable, values_of: IndexFunction[K]) -> None:
        """Index objects by the values that `values_of` gives for them.

        An object for which `values_of` raises is logged and found under no value. ValueError if `name` is taken.
        """
        self._store.add_index(name, values_of)

    def remove_index(self, name: Hashable) -> None:
        """Remove this index. Raises KeyError, naming the existing ones, if it is unknown."""
        self._store.remove_index(name)

    def indexed(self, name: Hashable, value: str) -> list[Object[K]]:
        """The objects for which index `name` gives `value`. Raises KeyError, naming the existing ones, if unknown."""
        return self._store.indexed(name, value)

    async def ask(self, name: str, *, namespace: str | None = None) -> Object[K] | None:
        """The object as one GET returns it now, or None if it does not exist. The answer is kept like an own write.

        Raises NotServed and other KubeErrors.
        """
        key = self._key(name, namespace)
        before, position, doubt = self._store.get(key), self._store.position, self._doubts.get(key)
        tombstone = self._store.tombstone(key)
        answer: Object[K] | None = None
        try:
            answer = await self._client.get(self.kind, name, namespace=key[0])
        except NotFound:
            # Only the object known before the GET is proved gone: another may have been created since.
            if before is not None:
                self._store.removed(key, uid=before.uid, resource_version=before.resource_version)
        else:
            if self._covers(answer.namespace):
                self._store.wrote(answer, despite=tombstone)
        if doubt is not None and self._doubts.get(key) is doubt:
            del self._doubts[key]
        found = self._store.get(key)
        if answer is not None and found is None and before is None and _left_out(answer, position):
            return answer
        return found

    # own writes

    def wrote(self, answer: Object[K]) -> None:
        """A write was answered with this object: show it until the stream has passed it."""
        if self.namespace is None or answer.namespace == self.namespace:
            self._store.wrote(answer)

    def removed(self, *, name: str, namespace: str | None = None, uid: str = "", resource_version: str = "") -> None:
        """The object `uid`, last known at `resource_version`, is gone.

        Without a uid it is unknown which object is meant; then the next read asks the server.
        """
        if not uid:
            self.doubt(name, namespace)
        elif self._covers(namespace):
            self._store.removed(self._key(name, namespace), uid=uid, resource_version=resource_version)

    def doubt(self, name: str, namespace: str | None = None) -> None:
        """A write of unknown outcome: `doubted` until the next `ask` about the object is answered."""
        if self._covers(namespace):
            self._doubts[self._key(name, namespace)] = object()

    def doubted(self, name: str, *, namespace: str | None = None) -> bool:
        """The cached object may be older than a write of ours."""
        return self._key(name, namespace) in self._doubts

    @property
    def doubts(self) -> tuple[NamespacedName, ...]:
        """The objects that are `doubted` now."""
        return tuple(self._doubts)

    # listeners

    def subscribe(
        self, listener: Callable[[Change[K]], None], /, *, returned: Callable[[], None] = lambda: None
    ) -> Callable[[], None]:
        """Call `listener` with every change from now on. Returns a function that ends the subscription.

        The first list is announced as `initial`; a later subscriber reads `items` for the present state. The cache
        shows the new state already when the listener is called.

        `returned` is called when the kind is served again after it was not: a reader meanwhile could not tell whether
        an object exists, and there may be no change that makes it read again.
        """
        ticket = object()
        self._listeners[ticket] = listener, returned

        def stop() -> None:
            self._listeners.pop(ticket, None)

        return stop

    def _announce(self, changes: Iterable[Change[K]]) -> None:
        for change in changes:
            for listener, _ in list(self._listeners.values()):
                try:
                    listener(change)
                except Exception:
                    self._failed(repr(change))

    def _failed(self, told: str) -> None:
        """Log the exception of a listener that is being handled."""
        log.exception("a listener failed", kind=str(self.kind.RESOURCE), told=told)

    async def _listed(self, steps: Steps[K]) -> None:
        # Kept until announced: a cache that is cancelled meanwhile and run again would no longer find a difference.
        self._untold.extend(await _gradually(steps))
        first, returned = not self.synced.is_set(), not self.served
        self._unserved = ""
        while self._untold:
            told = [self._untold.popleft() for _ in range(min(STEP, len(self._untold)))]
            self._announce([structs.replace(change, initial=True) for change in told] if first else told)
            await asyncio.sleep(0)
        if returned and not first:
            for _, call in list(self._listeners.values()):
                try:
                    call()
                except Exception:
                    self._failed("served again")
        self.synced.set()
        self._settle()

    def _settle(self) -> None:
        self.settled.set()
        self.answered.set()

    def _entered(self, stage: FollowStage) -> None:
        if stage is FollowStage.LISTING:
            self._store.asking()
        elif stage is FollowStage.NOT_SERVED:
            self._unserved = self._reflector.pulse.error
            self._settle()
        elif stage is FollowStage.BACKING_OFF and self._reflector.pulse.forbidden:
            self.answered.set()

    def _covers(self, namespace: str | None) -> bool:
        return self.namespace is None or namespace is None or namespace == self.namespace

    def _key(self, name: str, namespace: str | None) -> NamespacedName:
        return (namespace or self.namespace, name) if self.kind.RESOURCE.namespaced else (None, name)


async def _gradually(steps: Steps[K]) -> list[Change[K]]:
    """Take the steps, and yield to other tasks after each."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            changes: list[Change[K]] = end.value
            return changes
        await asyncio.sleep(0)


def _left_out(answer: Object[K], position: int | None) -> bool:
    """The stream is past this answer and does not show it, so the selectors leave it out (or versions are opaque)."""
    version = ordinal(answer.resource_version)
    return not is_gone(answer) and (version is None or (position is not None and version <= position))


class _Sink(Generic[K]):
    """Passes the reflector's objects to the store, and the resulting changes to the listeners."""

    def __init__(
        self,
        store: Store[K],
        *,
        listed: Callable[[Steps[K]], Awaitable[None]],
        changed: Callable[[list[Change[K]]], None],
    ) -> None:
        self._store = store
        self._listed = listed
        self._changed = changed

    async def replace(self, objects: dict[NamespacedName, Object[K]], version: str, /) -> None:
        await self._listed(self._store.replacing(objects, version))

    async def rewind(self, objects: dict[NamespacedName, Object[K]], version: str, /) -> None:
        await self._listed(self._store.rewinding(objects, version))

    def put(self, new: Object[K], /) -> None:
        self._changed(self._store.put(new))

    def delete(self, last: Object[K], /) -> None:
        self._changed(self._store.delete(last))

    def reach(self, version: str, /) -> None:
        self._store.reach(version)
