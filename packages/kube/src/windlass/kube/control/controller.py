"""Declares controllers: watches, permissions, and the functions that observe and decide.

A controller is a value. It owns no task and no connection, so it can be read, tested, explained and turned into RBAC
without running it:

    from windlass.kube.control.controller import Controller, Watch
    from windlass.kube.control.permissions import writes

    controller = Controller(
        name="widget-status",
        watches=(
            Watch(Widget, lambda widget: [widget.key], namespace="shop"),
            Watch(Order, lambda order: [("shop", order.decode().spec.widget)], namespace="shop"),
        ),
        permissions=(writes(Widget, "patch", subresource="status", namespace="shop"),),
        observe=observe,         # async (key, last outcome) -> Snapshot
        decide=decide,           # pure (Snapshot, *, now) -> Plan
        workers=4,
    )
    await manager.start(controller)

`observe` needs a reader over the watched kinds. A manager creates one for each controller:

    await manager.start(lambda reader: widget_controller(reader, namespace="shop"))

A *key* names what a decision is about, not necessarily one object: `str` and `(namespace, name)` are usual. Every watch
maps its objects, in their old and in their new state, to the keys they concern. For owned objects,
`windlass.kube.control.source.owned_by` is that map.

The result of a reconcile decides when its key comes back:

| result | the key comes back | logged | result in metrics |
|---|---|---|---|
| `Done` | when something changes | info | success |
| `RequeueAfter(seconds)` | then at the latest | info | requeue_after |
| `WaitFor(what, safety)` | after `safety` seconds at the latest | info | requeue_after |
| a conflict, or a create of what exists | soon (`conflict` backoff): another writer was first | info | requeue |
| `Fenced` | soon, if this process still leads then | debug | requeue |
| `Retry(error)`, a Failure | after `backoff`, not before the Retry-After of the other side | warning | error |
| `timeout` seconds passed | after `backoff` | warning | error |
| any other exception | after `backoff`: a bug, with its traceback | error | error |

A controller with `needs_leadership=False` works on every replica as soon as its caches are filled. It may serve data
from caches or query other systems, but it may declare no permission to write, Events included, so replicas cannot write
against each other.

A failing key delays only itself. A watch also declares the reads of its kind. All other reads and writes must be
declared in `permissions`: the reader and the executor refuse the rest.

After a write of unknown outcome, an eviction, and some conflicts, the cache is not trusted about the object before one
GET. So a controller that may change the objects of a watch must be permitted to get them; one that is not is refused.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from itertools import product
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from windlass.api.meta import KubernetesObject
from windlass.kube.backoff import CONFLICT, RECONCILE, Backoff
from windlass.kube.control.asking import Answerer, Asker
from windlass.kube.control.executor import Executor
from windlass.kube.control.pace import Pace
from windlass.kube.control.permissions import (
    READ,
    AskPermission,
    CallPermission,
    Declaration,
    Declared,
    Permission,
    permission,
    reads,
)
from windlass.kube.control.rounds import MAX_ROUNDS, Decide, Ending, Observe, reconcile
from windlass.kube.control.source import Difference, Source, any_difference
from windlass.kube.object import Object

Key = TypeVar("Key", bound=Hashable)
Snapshot = TypeVar("Snapshot")

Index: TypeAlias = Callable[[Object[Any]], Iterable[str]]
"""The index values of an object."""


class Watch(Struct, Generic[Key], frozen=True):
    """Objects of `kind` concern the keys that `map` finds for each of them.

    `namespace` None means all namespaces. The cache keeps `indexes`, by which `observe` looks objects up. Watches of
    equal (kind, namespace, label_selector) share one cache, also between controllers.

    `when(old, new)`: whether a change wakes a key; for objects that often change in irrelevant ways.

    `metadata_only`: for objects whose content must not be cached, such as Secrets. The cache, `map` and `indexes` then
    have only the metadata, and `observe` reads an object by name from the server itself.

    `optional`: the controller works without the kind if it may not be listed; `see_all` says so.

    `cache_only`: only the cache is read (`see` with neither `confirm` nor `live`), so the `get` permission is not
    declared. With a selector, `see` may still ask the server about an object outside the selection. Not for objects
    that the controller writes.
    """

    kind: type[KubernetesObject]
    map: Callable[[Object[Any]], Iterable[Key]]
    namespace: str | None = None
    label_selector: str = ""
    indexes: Mapping[str, Index] = field(default_factory=dict)
    metadata_only: bool = False
    when: Difference = any_difference
    cache_only: bool = False
    optional: bool = False

    def __str__(self) -> str:
        selected = f" ({self.label_selector})" if self.label_selector else ""
        place = f" in {self.namespace}" if self.namespace else ""
        return f"{self.kind.RESOURCE.name}{place}{selected}"


class Controller(Struct, Generic[Key, Snapshot], frozen=True, kw_only=True):
    """A controller; see the module.

    `answerers`: who answers the questions of `decide`, by system. `workers` keys are in work at a time. `timeout`
    bounds one reconcile, all its rounds, in seconds. Every `resync` seconds (0: never) all watched objects are
    reconciled again. `pace`: how long a key rests after a reconcile, while its changes are collected. `key_text` writes
    a key for people. `needs_leadership` False: it works while standing by too, and may only read.
    """

    name: str
    watches: tuple[Watch[Key], ...] = ()
    sources: tuple[Source[Key], ...] = ()
    permissions: tuple[Declaration, ...] = ()
    answerers: Mapping[str, Answerer] = field(default_factory=dict)
    observe: Observe[Key, Snapshot]
    decide: Decide[Snapshot]
    workers: int = 1
    timeout: float = 120.0
    resync: float = 600.0
    pace: Pace = Pace()
    backoff: Backoff = RECONCILE
    conflict: Backoff = CONFLICT
    key_text: Callable[[Key], str] = lambda key: text_of(key)
    needs_leadership: bool = True

    def __post_init__(self) -> None:
        if not self.watches and not self.sources:
            raise ValueError(f"controller {self.name} watches nothing and has no sources: it would never do anything")
        for name, value in (("workers", self.workers), ("timeout", self.timeout)):
            if value <= 0:
                raise ValueError(f"controller {self.name}: {name} must be positive, not {value}")
        self._refuse_ambiguous_indexes()
        self._refuse_writes_without_a_look()
        if not self.needs_leadership:
            self._refuse_writes()

    def _refuse_writes(self) -> None:
        for declared in self.permissions:
            if isinstance(declared, AskPermission):
                continue
            if isinstance(declared, CallPermission):
                written = f"send {', '.join(request.__name__ for request in declared.requests)}"
            elif verbs := sorted(set(declared.verbs) - set(READ)):
                written = f"{', '.join(verbs)} {declared.target}"
            else:
                continue
            raise ValueError(
                f"controller {self.name} works without leading, on every replica, and declares that it may {written}: "
                "let it lead, or leave writing to one that does"
            )

    def _refuse_writes_without_a_look(self) -> None:
        """The reader would refuse such a controller each look at an object that it is in doubt about, for ever."""
        permits = Declared(self.declared)
        written = (each for each in self.permissions if isinstance(each, Permission))
        for right, watch in product(written, self.watches):
            if not _brings_doubt(right, watch):
                continue
            place = right.namespace or watch.namespace
            if not all(permits(watch.kind, "get", namespace=place, name=name) for name in right.names or ("",)):
                raise ValueError(
                    f"controller {self.name} may {right}, but not get {watch.kind.RESOURCE.name} "
                    f"{f'in {place}' if place else 'cluster-wide'}: after a write of unknown outcome it could not look "
                    f"whether that happened; remove cache_only from its Watch of {watch}, or declare the get"
                )

    def _refuse_ambiguous_indexes(self) -> None:
        meant: dict[tuple[type[KubernetesObject], str], Index] = {}
        for watch in self.watches:
            for name, index in watch.indexes.items():
                if meant.setdefault((watch.kind, name), index) is not index:
                    raise ValueError(
                        f"controller {self.name}: two watches of {watch.kind.RESOURCE.name} declare the index {name!r} "
                        "by different functions: share one function or give them different names"
                    )

    @property
    def declared(self) -> tuple[Declaration, ...]:
        """All permissions of the controller: the declared ones, and reading the watched kinds."""
        return (*self.permissions, *map(_reading, self.watches))

    def asker(self, *, now: Callable[[], datetime]) -> Asker:
        """Asks for one term of leadership, or one plan, what `decide` needs and the controller declares."""
        return Asker(self.answerers, permits=Declared(self.declared), now=now)

    async def reconcile(
        self,
        key: Key,
        *,
        executor: Executor,
        now: Callable[[], datetime],
        asker: Asker | None = None,
        wrote: Callable[[Object[Any]], None] | None = None,
        max_rounds: int = MAX_ROUNDS,
    ) -> Ending:
        """One attempt at `key`, to its end whatever the pace: see `windlass.kube.control.rounds`. Without the `asker`
        of earlier attempts it knows none of their answers."""
        return await reconcile(
            key,
            observe=self.observe,
            decide=self.decide,
            executor=executor,
            now=now,
            asker=asker or self.asker(now=now),
            wrote=wrote,
            max_rounds=max_rounds,
        )


def _brings_doubt(right: Permission, watch: Watch[Any]) -> bool:
    """Its writes may leave the cache of `watch` in doubt. Caches of metadata never are: content is always read live."""
    if watch.metadata_only or not right.changes(watch.kind):
        return False
    return None in (right.namespace, watch.namespace) or right.namespace == watch.namespace


def _reading(watch: Watch[Any]) -> Permission:
    if watch.cache_only:
        return permission(watch.kind, "list", "watch", namespace=watch.namespace)
    return reads(watch.kind, namespace=watch.namespace)


def text_of(key: object) -> str:
    """`namespace/name` for a pair, else `str(key)`."""
    if isinstance(key, tuple):
        return "/".join(str(part) for part in key if part is not None)
    return str(key)
