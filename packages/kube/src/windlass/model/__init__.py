"""An API server in memory: plain objects, the server's rules, no network, no watch, no clock of its own.

`MemoryApi` speaks `windlass.kube.verbs.Api`, so executors, rounds and whole controllers run on it unchanged. It holds
what plans depend on; what it holds is compared with a real kube-apiserver, answer by answer.

    api = MemoryApi(Machine, Cluster)
    created = await api.create(Machine, {...}, namespace="default")
    await api.patch(Machine, created.name, {"status": {"phase": "Running"}}, type=PatchType.MERGE,
                    namespace="default", subresource="status")

A kind is registered as its type (open spec and status, conditions keyed by type) or as `Rules`, which may come from
its CRD (`windlass.model.schema`). `load` puts objects as they were recorded, `dump` gives all of them back,
`subscribe` and `changes_since` tell what happened, `fail_next` and its like make things go wrong
(`windlass.model.faults`). `windlass.model.reader` looks at the same store the way caches do.

| rule | proved by (tests/api/test_memory_honesty.py) |
|---|---|
| identity, uid, generation and creationTimestamp are the server's; status is dropped on create | `create` |
| AlreadyExists, NotFound, NotServed, missing namespace, wrong kind, version, name, namespace | `refusals` |
| generation counts spec, not status or metadata; nothing is written when nothing changes | `generation` |
| the status endpoint writes status alone and ignores a wrong uid; the main one ignores status | `status` |
| resourceVersion in a body is a precondition (409), without one an update of a custom kind is refused | `versions` |
| a wrong uid in a body is 422 on the main endpoint | `versions` |
| two-phase delete, no new finalizers while deleting, preconditions, propagation | `deletion` |
| JSON patch: operations, failed tests and paths | `json_patch` |
| JSON patch of items of lists in status, with a test of resourceVersion | `items_of_lists` |
| null: removed by a merge patch, dropped in declared fields, kept as data in open ones | `nulls` |
| unknown fields are refused in declared places | `strictness` |
| list: label and field selectors, order | `listing` |
| Machine API transition rules | `machine_authority` |
| Events stand in the namespace of their object; kinds without generation and status | `core_kinds` |
| tokens of a ServiceAccount that exists; at least ten minutes | `tokens` |
| owners gone: dependents go; foreground and orphan deletion | `garbage` (with a real kube-controller-manager) |

Not modelled: the object that a token is bound to, server-side apply and field ownership (managedFields stay as they
were loaded), admission policies and RBAC, watches, deletecollection, scale, conversion between versions, CEL beyond the
rules given, quantities and formats, pagination, and that a DELETE gives a Pod its grace period.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from windlass.api.authentication import TokenRequestStatus
from windlass.api.meta import K, KubernetesObject, Resource
from windlass.kube.errors import KubeError
from windlass.kube.object import Object
from windlass.kube.verbs import (
    Api,
    ApiRequest,
    CreateRequest,
    DeleteRequest,
    EvictRequest,
    GetRequest,
    Listed,
    ListRequest,
    PatchRequest,
    PatchType,
    ServiceAccountTokenRequest,
)
from windlass.model import refusals as refuse
from windlass.model.changes import Happened, StoredWrite
from windlass.model.faults import Fault, Faults, Happens, no_answer
from windlass.model.schema import Rules, Tree, copied
from windlass.model.selectors import field_selector, label_selector
from windlass.model.writes import Identity, Writer, created, doomed, finished, patched

Key = tuple[Resource, str, str]
"""Kind, namespace (empty for cluster-scoped kinds), name."""


class MemoryApi(Api):
    """The model. `clock` gives the date of timestamps; `namespaces` are those that exist, None means all do."""

    def __init__(
        self,
        *kinds: type[KubernetesObject] | Rules,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        namespaces: Collection[str] | None = None,
    ) -> None:
        self._rules: dict[Resource, Rules] = {}
        self._objects: dict[Key, Tree] = {}
        self._views: dict[Key, Object[Any]] = {}
        self._changes: list[StoredWrite] = []
        self._subscribers: list[Callable[[StoredWrite], None]] = []
        self._faults = Faults()
        self._clock = clock
        self._namespaces = namespaces
        self._version = 0
        self._born = 0
        for kind in kinds:
            self.install(kind)

    # What exists

    def install(self, kind: type[KubernetesObject] | Rules) -> None:
        """Serve a kind from now on, or under other rules."""
        rules = kind if isinstance(kind, Rules) else Rules(kind)
        self._rules[rules.kind.RESOURCE] = rules.resolved()

    def uninstall(self, kind: type[KubernetesObject]) -> None:
        """Remove a kind and all its objects, as deleting its CRD does."""
        for key in [key for key in self._objects if key[0] == kind.RESOURCE]:
            self._remove(key)
        self._rules.pop(kind.RESOURCE, None)

    @property
    def kinds(self) -> tuple[type[KubernetesObject], ...]:
        """What is served."""
        return tuple(rules.kind for rules in self._rules.values())

    @property
    def version(self) -> int:
        """The counter behind resourceVersions: moves with every stored write."""
        return self._version

    def load(self, *trees: Mapping[str, Any]) -> None:
        """Put objects exactly as given: uid, generation, resourceVersion and deletionTimestamp are kept.

        What every stored object has and these lack (uid, resourceVersion) is made up. Nothing is validated. Raises
        ValueError for an object of a kind that is not registered.
        """
        for given in trees:
            tree = copied(dict(given))
            rules = self._rules_named(tree)
            meta = tree.setdefault("metadata", {})
            meta.setdefault("uid", self._identity().uid)
            recorded = str(meta.get("resourceVersion") or "")
            if recorded.isdigit():
                self._version = max(self._version, int(recorded))
            key = (rules.kind.RESOURCE, meta.get("namespace", ""), meta["name"])
            happened = Happened.MODIFIED if key in self._objects else Happened.ADDED
            self._store(key, tree, happened, version=recorded)

    def dump(self) -> list[Tree]:
        """Copies of all objects, by kind, namespace and name."""
        ordered = sorted(self._objects.items(), key=lambda item: (str(item[0][0]), item[0][1:]))
        return [copied(tree) for _, tree in ordered]

    def listing(self, kind: type[K], namespace: str | None = None) -> list[Object[K]]:
        """All objects of a kind, by namespace and name, without a request being made (no faults, no kind check)."""
        found = [key for key in self._objects if key[0] == kind.RESOURCE and namespace in (None, key[1])]
        return [self._shown(kind, key) for key in sorted(found, key=lambda key: key[1:])]

    def peek(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K] | None:
        """One object, without a request being made."""
        key = (kind.RESOURCE, namespace or "", name)
        return self._shown(kind, key) if key in self._objects else None

    def changes_since(self, version: int) -> list[StoredWrite]:
        """Every write after the counter stood at `version`, oldest first."""
        return [change for change in self._changes if change.version > version]

    def subscribe(self, receive: Callable[[StoredWrite], None]) -> Callable[[], None]:
        """Call `receive` with every change from now on, at once. Returns what ends it."""
        self._subscribers.append(receive)
        return lambda: self._subscribers.remove(receive)

    # What goes wrong

    def fail_next(
        self,
        verb: str,
        kind: type[KubernetesObject] | None,
        error: KubeError,
        *,
        times: int = 1,
        name: str | None = None,
    ) -> None:
        """The next `times` requests with `verb` (empty: any write) on `kind` raise `error` and do nothing."""
        self._faults.order(Fault(Happens.FAILS, verb, kind, name, times, error=error))

    def lose_answer_next(
        self,
        verb: str = "",
        kind: type[KubernetesObject] | None = None,
        *,
        stored: bool = True,
        times: int = 1,
        name: str | None = None,
    ) -> None:
        """The next matching write raises OutcomeUnknown, after it was stored or instead."""
        happens = Happens.ANSWER_LOST if stored else Happens.NOT_STORED
        self._faults.order(Fault(happens, verb, kind, name, times))

    def conflict_by(
        self,
        writer: Callable[[], Awaitable[object]],
        verb: str = "",
        kind: type[KubernetesObject] | None = None,
        *,
        times: int = 1,
        name: str | None = None,
    ) -> None:
        """Run `writer` just before the next matching write: what was observed is then no longer so."""
        self._faults.order(Fault(Happens.SOMEBODY_FIRST, verb, kind, name, times, writer=writer))

    @property
    def pending_faults(self) -> list[Fault]:
        """Faults that were ordered and have not happened yet."""
        return self._faults.pending

    # The verbs

    async def send(self, request: ApiRequest[Any], /) -> Any:
        lost = await self._faults.before(request)
        answer = self._answer(request)
        if lost:
            raise no_answer(request)
        return answer

    def _answer(self, request: ApiRequest[Any]) -> Any:
        self._serving(request.kind)
        match request:
            case GetRequest():
                return Object.of(request.kind, self._live(request))
            case ListRequest():
                return self._list(request)
            case CreateRequest():
                return Object.of(request.kind, self._create(request))
            case PatchRequest():
                return Object.of(request.kind, self._patch(request))
            case DeleteRequest():
                left = self._delete(request, version=request.resource_version, propagation=request.propagation)
                return None if left is None else Object.of(request.kind, left)
            case EvictRequest():
                # Nothing here has a grace period, and no budget forbids.
                self._delete(request)
                return None
            case ServiceAccountTokenRequest():
                return self._token(request)
        raise TypeError(f"the in-memory API server has no verb for {type(request).__name__}")

    def _list(self, request: ListRequest) -> Listed:
        labelled = label_selector(request.label_selector)
        placed = field_selector(request.field_selector, request.kind)
        found = self.listing(request.kind, request.namespace)
        items = [each for each in found if labelled(each.metadata.labels) and placed(each)]
        return Listed(items, str(self._version))

    def _create(self, request: CreateRequest) -> Tree:
        kind, namespace = request.kind, request.namespace
        self._require_namespace(kind, namespace)
        tree = created(request.body, self._writer(kind), namespace=namespace, identity=self._identity())
        key = _key(kind, tree["metadata"]["name"], namespace)
        if key in self._objects:
            raise refuse.already_exists(kind.RESOURCE, key[2])
        return self._store(key, tree, Happened.ADDED)

    def _patch(self, request: PatchRequest) -> Tree:
        if request.type is PatchType.APPLY:
            raise NotImplementedError("the in-memory API server knows no server-side apply; use a control plane")
        by = self._writer(request.kind, request.subresource)
        if by.subresource and not (by.subresource == "status" and by.rules.status):
            raise refuse.no_such_subresource(request.kind.RESOURCE, request.name, custom=by.rules.is_custom)
        live = self._live(request)
        new = patched(live, request, by)
        if new == live:
            return live
        if finished(new):
            self._remove(_key_of(request))
            return new
        return self._store(_key_of(request), new, Happened.MODIFIED)

    def _delete(
        self, request: DeleteRequest | EvictRequest, *, version: str = "", propagation: str = ""
    ) -> Tree | None:
        live, rules = self._live(request), self._serving(request.kind)
        left = doomed(live, rules, now=self._now(), uid=request.uid, resource_version=version, propagation=propagation)
        if left is None:
            self._remove(_key_of(request))
            return None
        return live if left == live else self._store(_key_of(request), left, Happened.MODIFIED)

    def _token(self, request: ServiceAccountTokenRequest) -> TokenRequestStatus:
        self._live(request)
        seconds = request.spec.expiration_seconds
        if seconds < 600:
            raise refuse.token_too_short(seconds)
        # The same request gets the same token, so that a scenario has the same end after a crash.
        return TokenRequestStatus(
            token=".".join(["token", request.namespace or "", request.name, *request.spec.audiences]),
            expiration_timestamp=self._clock() + timedelta(seconds=seconds),
        )

    # The store

    def _shown(self, kind: type[K], key: Key) -> Object[K]:
        """The same `Object` until the next write, as in a cache: what is memoised of it need not be decoded again."""
        view = self._views.get(key)
        if view is None or view.kind is not kind:
            view = self._views[key] = Object.of(kind, self._objects[key])
        return view

    def _store(self, key: Key, tree: Tree, happened: Happened, *, version: str = "") -> Tree:
        if not version:
            self._version += 1
        tree["metadata"] = {**tree["metadata"], "resourceVersion": version or str(self._version)}
        self._objects[key] = tree
        self._views.pop(key, None)
        self._announce(StoredWrite(self._version, happened, self._rules[key[0]].kind, copied(tree)))
        return tree

    def _remove(self, key: Key) -> None:
        tree = self._objects.pop(key)
        self._views.pop(key, None)
        self._version += 1
        last = {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(self._version)}}
        self._announce(StoredWrite(self._version, Happened.DELETED, self._rules[key[0]].kind, copied(last)))

    def _announce(self, change: StoredWrite) -> None:
        self._changes.append(change)
        for receive in tuple(self._subscribers):
            receive(change)

    def _live(self, request: ApiRequest[Any]) -> Tree:
        tree = self._objects.get(_key_of(request))
        if tree is None:
            raise refuse.not_found(request.kind.RESOURCE, request.name)
        return tree

    def _serving(self, kind: type[KubernetesObject]) -> Rules:
        rules = self._rules.get(kind.RESOURCE)
        if rules is None:
            raise refuse.not_served()
        return rules

    def _rules_named(self, tree: Mapping[str, Any]) -> Rules:
        for resource, rules in self._rules.items():
            if (resource.api_version, resource.kind) == (tree.get("apiVersion"), tree.get("kind")):
                return rules
        known = ", ".join(str(resource) for resource in self._rules) or "none"
        raise ValueError(f"{tree.get('kind')}.{tree.get('apiVersion')} is not registered; registered: {known}")

    def _require_namespace(self, kind: type[KubernetesObject], namespace: str | None) -> None:
        if kind.RESOURCE.namespaced and self._namespaces is not None and namespace not in self._namespaces:
            raise refuse.namespace_not_found(namespace or "")

    def _writer(self, kind: type[KubernetesObject], subresource: str = "") -> Writer:
        return Writer(self._serving(kind), self._now(), subresource)

    def _identity(self) -> Identity:
        self._born += 1
        number, letters = self._born, "bcdfghjklmnpqrstvwxz2456789"
        suffix = ""
        for _ in range(5):
            number, digit = divmod(number, len(letters))
            suffix = letters[digit] + suffix
        return Identity(uid=f"00000000-0000-4000-8000-{self._born:012x}", suffix=suffix)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _key_of(request: ApiRequest[Any]) -> Key:
    return _key(request.kind, request.name, request.namespace)


def _key(kind: type[KubernetesObject], name: str, namespace: str | None) -> Key:
    """Raises ValueError if the kind is namespaced and no namespace is given."""
    kind.RESOURCE.path(name, namespace=namespace)
    return (kind.RESOURCE, (namespace or "") if kind.RESOURCE.namespaced else "", name)
