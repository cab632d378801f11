"""Controllers as declarations: what they watch, what they may write, how they observe and how they decide.

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

Who observes needs a reader over what is watched. A manager makes one for each controller:

    await manager.start(lambda reader: widget_controller(reader, namespace="shop"))

A *key* is whatever the decisions are about, not necessarily one object: `str` and `(namespace, name)` are usual.
Every watch maps its objects, in their old and in their new state, to the keys they concern. For objects that a watched
kind owns, `windlass.kube.control.source.owned_by` is that map.

How a key comes back, by what its reconcile came to:

| it came to | the key comes back | logged | result in metrics |
|---|---|---|---|
| `Done` | when something changes | info | success |
| `RequeueAfter(seconds)` | then at the latest | info | requeue_after |
| `WaitFor(what, safety)` | after `safety` seconds at the latest | info | requeue_after |
| a conflict, or a create of what exists | soon (`conflict` backoff): another writer was first | info | requeue |
| `Fenced` | soon, if this process still leads then | debug | requeue |
| `Retry(error)`, a Failure | after `backoff`, not before the Retry-After of the other side | warning | error |
| `timeout` seconds passed | after `backoff` | warning | error |
| any other exception | after `backoff`: a bug, with its traceback | error | error |

A controller with `needs_leadership=False` works on every replica, from the moment when its caches are filled: one that
serves data from caches, or asks something outside for all to see. It may declare no right to write, Events included,
so two replicas cannot write against each other.

A failing key delays only itself. Reads of the watched kinds are declared by watching them; everything else that is
read or written stands in `permissions`, and reader and executor refuse what does not.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from windlass.api.meta import KubernetesObject
from windlass.kube.backoff import CONFLICT, RECONCILE, Backoff
from windlass.kube.control.permissions import READ, CallPermission, Declaration, Permission, permission, reads
from windlass.kube.control.rounds import Decide, Observe
from windlass.kube.control.source import Difference, Source, any_difference
from windlass.kube.object import Object

Key = TypeVar("Key", bound=Hashable)
Snapshot = TypeVar("Snapshot")

Index: TypeAlias = Callable[[Object[Any]], Iterable[str]]
"""The values under which an object is to be found."""


class Watch(Struct, Generic[Key], frozen=True):
    """Objects of `kind` concern the keys that `map` finds for each of them.

    `namespace` None means all namespaces. `indexes` are kept by the cache for `observe` to look things up by.
    Watches of equal (kind, namespace, label_selector) share one cache, whichever controllers they belong to.

    `when(old, new)`: which changes of an object wake at all; for objects that change often in ways that concern nobody.

    `metadata_only`: wake by objects whose content must not be held, such as Secrets. The cache then has only their
    metadata, `map` and `indexes` see no more, and `observe` reads an object by name from the server itself.

    `cache_only`: nobody ever asks the server for one of them (`see` with neither `confirm` nor `live`), so that the
    right to is not declared. With a selector every `see` may ask: what it leaves out is not absent.
    """

    kind: type[KubernetesObject]
    map: Callable[[Object[Any]], Iterable[Key]]
    namespace: str | None = None
    label_selector: str = ""
    indexes: Mapping[str, Index] = field(default_factory=dict)
    metadata_only: bool = False
    when: Difference = any_difference
    cache_only: bool = False

    def __str__(self) -> str:
        selected = f" ({self.label_selector})" if self.label_selector else ""
        place = f" in {self.namespace}" if self.namespace else ""
        return f"{self.kind.RESOURCE.name}{place}{selected}"


class Controller(Struct, Generic[Key, Snapshot], frozen=True, kw_only=True):
    """A controller; see the module.

    `workers` keys are in work at a time. `timeout` bounds one reconcile, all its rounds, in seconds. Every `resync`
    seconds (0: never) everything watched is looked at again. Two reconciles of one key start at least `min_interval`
    seconds apart. `key_text` writes a key for people. `needs_leadership` False: it works while standing by too, and may
    only read.
    """

    name: str
    watches: tuple[Watch[Key], ...] = ()
    sources: tuple[Source[Key], ...] = ()
    permissions: tuple[Declaration, ...] = ()
    observe: Observe[Key, Snapshot]
    decide: Decide[Snapshot]
    workers: int = 1
    timeout: float = 120.0
    resync: float = 600.0
    min_interval: float = 0.0
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
        if not self.needs_leadership:
            self._refuse_writes()

    def _refuse_writes(self) -> None:
        for declared in self.permissions:
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
        """All it may do: what it states, and reading what it watches."""
        return (*self.permissions, *map(_reading, self.watches))


def _reading(watch: Watch[Any]) -> Permission:
    if watch.cache_only:
        return permission(watch.kind, "list", "watch", namespace=watch.namespace)
    return reads(watch.kind, namespace=watch.namespace)


def text_of(key: object) -> str:
    """`namespace/name` for a pair, else `str(key)`."""
    if isinstance(key, tuple):
        return "/".join(str(part) for part in key if part is not None)
    return str(key)
