"""Sources that wake keys: caches, timers, pollers, mailboxes.

A `Source` is attached to a `wake` function and calls it with the keys to reconcile, until it is detached. Several
sources may wake one key: a controller that mirrors a machine watches the machine, its mirror, its infrastructure and
its owner, and all of them wake the same name.

| source | wakes |
|---|---|
| `FromCache(cache, map)` | the keys of `map` for an object that was added, changed or deleted, in its old and new \
state; at first, at low priority, the same for everything that is there |
| `Every(seconds, keys)` | all of `keys()`, at low priority, every so often with jitter: a resync |
| `Poll(name, look)`, `PollEach` | what asking outside finds, at a period that varies: `windlass.kube.control.poll` |
| `Mailbox()` | what is posted to it: by other controllers, informers, signal handlers |

    from windlass.kube.control.queue import Queue
    from windlass.kube.control.source import Every, Mailbox

    queue: Queue[str] = Queue()
    mailbox: Mailbox[str] = Mailbox()
    detach = [source.attach(queue.add) for source in (mailbox, Every(600.0, lambda: ["cluster"]))]
    mailbox.post("cluster")
    ...
    for each in detach:
        each()

`map` is called with unvalidated objects. Its exceptions are logged with the name of the object, and the other objects
are still mapped: one malformed object must not silence a controller.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from random import Random
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from windlass.api.meta import K, KubernetesObject
from windlass.kube.control.queue import Priority
from windlass.kube.logger import Logger
from windlass.kube.object import NamespacedName, Object

AT_ONCE = 500
"""Objects of a resync that are mapped before other tasks get a turn: a few milliseconds."""

Key = TypeVar("Key", bound=Hashable)
KeyIn = TypeVar("KeyIn", contravariant=True)
KeyOut = TypeVar("KeyOut", covariant=True)

Detach: TypeAlias = Callable[[], None]
"""Stop waking; calling it again does nothing."""


Difference: TypeAlias = Callable[[Object[Any] | None, Object[Any] | None], bool]
"""Whether the change from `old` to `new` matters. None: the object did not exist, or does not exist any more."""


def any_difference(_: Object[Any] | None, __: Object[Any] | None) -> bool:
    """Every change matters."""
    return True


def identity_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """The object was added, deleted or recreated, or its deletion began."""
    return old is None or new is None or (old.uid, old.deleting) != (new.uid, new.deleting)


def spec_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """The same, or its spec changed (its generation says so); status and metadata do not count."""
    return old is None or new is None or identity_differs(old, new) or old.generation != new.generation


def owned_by(kind: type[KubernetesObject]) -> Callable[[Object[Any]], tuple[NamespacedName, ...]]:
    """A map for watches: from an object to the key of the `kind` that controls it, if one does.

        Watch(Pod, owned_by(Job), namespace="builds")

    Only the owner reference with `controller: true` counts. Its API version is ignored, since it may be an older one.
    The key is (namespace, name), with the namespace None if `kind` is cluster-scoped.
    """
    resource = kind.RESOURCE

    def controller_of(owned: Object[Any]) -> tuple[NamespacedName, ...]:
        return tuple(
            (owned.namespace if resource.namespaced else None, owner.name)
            for owner in owned.metadata.owner_references
            if owner.controller and owner.kind == resource.kind and _group(owner.api_version) == resource.group
        )

    return controller_of


def _group(api_version: str) -> str:
    """The group in `group/version`; empty for the core group, which has only a version."""
    return api_version.rpartition("/")[0]


class Wake(Protocol[KeyIn]):
    """Asks for a reconcile of `key`. `Queue.add` is one."""

    def __call__(self, key: KeyIn, /, *, priority: Priority = Priority.NORMAL) -> None: ...


class Source(Protocol[KeyOut]):
    def attach(self, wake: Wake[KeyOut]) -> Detach:
        """Wake keys from now on. Needs a running loop; returns a function that detaches the source."""
        ...


class Changed(Protocol):
    """One difference that a cache announces; `initial` if it is part of its first list."""

    @property
    def old(self) -> Object[Any] | None: ...
    @property
    def new(self) -> Object[Any] | None: ...
    @property
    def initial(self) -> bool: ...


class Subscribable(Protocol[K]):
    """The part of `windlass.kube.cache.Cache` that this module needs."""

    def items(self, namespace: str | None = None) -> Iterator[Object[K]]: ...

    def subscribe(self, listener: Callable[[Any], None], /, *, returned: Callable[[], None]) -> Detach: ...


class FromCache(Generic[K, Key]):
    """Wakes the keys that `map` gives for the old and the new state of a changed object of a cache.

    `when(old, new)`: whether the change counts. `holds(key, new)`: whether this state is no reason to wake the key
    (`windlass.kube.control.echoes`).
    """

    def __init__(
        self,
        cache: Subscribable[K],
        map: Callable[[Object[K]], Iterable[Key]],  # noqa: A002
        *,
        when: Difference = any_difference,
        holds: Callable[[Key, Object[K] | None], bool] = lambda *_: False,
    ) -> None:
        self._cache = cache
        self._map = map
        self._when = when
        self._holds = holds
        self._log = Logger(__name__)

    def attach(self, wake: Wake[Key]) -> Detach:
        def on_change(change: Changed) -> None:
            if not self._when(change.old, change.new):
                return
            priority = Priority.LOW if change.initial else Priority.NORMAL
            for key in dict.fromkeys((*self.keys(change.old), *self.keys(change.new))):
                if not self._holds(key, change.new):
                    wake(key, priority=priority)

        attached = True

        def wake_attached(key: Key, /, *, priority: Priority = Priority.NORMAL) -> None:
            if attached:
                wake(key, priority=priority)

        def detach() -> None:
            nonlocal attached
            attached = False
            unsubscribe()

        # Subscribe first: a change while the present state is read is then announced, at worst twice.
        unsubscribe = self._cache.subscribe(on_change, returned=lambda: self.resync(wake_attached))
        self.resync(wake_attached)
        return detach

    def resync(self, wake: Wake[Key]) -> None:
        """Wake the keys of all present objects, at low priority: some in this turn of the loop, some in later ones."""
        left = self._cache.items()

        def go_on() -> None:
            some = list(islice(left, AT_ONCE))
            for found in some:
                for key in self.keys(found):
                    wake(key, priority=Priority.LOW)
            if len(some) == AT_ONCE:
                asyncio.get_running_loop().call_soon(go_on)

        go_on()

    def keys(self, found: Object[K] | None) -> tuple[Key, ...]:
        """The keys of `map` for `found`; none, and a log line, if `map` raises."""
        if found is None:
            return ()
        try:
            return tuple(self._map(found))
        except Exception:
            self._log.exception(
                "an object could not be mapped to what it concerns", object=f"{found.kind.RESOURCE.kind} {found.key}"
            )
            return ()


class Every(Generic[Key]):
    """Wakes all of `keys()` every `seconds`, plus up to the fraction `jitter`, so that replicas are not in step."""

    def __init__(
        self, seconds: float, keys: Callable[[], Iterable[Key]], *, jitter: float = 0.1, random: Random | None = None
    ) -> None:
        if seconds <= 0:
            raise ValueError(f"a period must be positive, not {seconds} s")
        self._seconds = seconds
        self._keys = keys
        self._jitter = jitter
        self._random = random or Random()

    def attach(self, wake: Wake[Key]) -> Detach:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def set_timer() -> None:
            nonlocal timer
            timer = loop.call_later(self._seconds * (1 + self._jitter * self._random.random()), ring)

        def ring() -> None:
            set_timer()
            for key in self._keys():
                wake(key, priority=Priority.LOW)

        set_timer()

        def detach() -> None:
            timer.cancel()

        return detach


class Mailbox(Generic[Key]):
    """Wakes what is posted. Post while nobody is attached, and the next to attach gets it (once, however often)."""

    def __init__(self) -> None:
        self._wakes: dict[object, Wake[Key]] = {}
        self._kept: dict[Key, Priority] = {}

    def post(self, key: Key, *, priority: Priority = Priority.NORMAL) -> None:
        """Ask for a reconcile of `key`. Only from the loop's thread; others use `loop.call_soon_threadsafe`."""
        if not self._wakes:
            self._kept[key] = max(priority, self._kept.get(key, priority))
        for wake in list(self._wakes.values()):
            wake(key, priority=priority)

    def attach(self, wake: Wake[Key]) -> Detach:
        ticket = object()
        self._wakes[ticket] = wake
        kept, self._kept = self._kept, {}
        for key, priority in kept.items():
            wake(key, priority=priority)

        def detach() -> None:
            self._wakes.pop(ticket, None)

        return detach
