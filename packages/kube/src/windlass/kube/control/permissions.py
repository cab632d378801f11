"""Declares the permissions of a controller once: they are checked at each request and turned into RBAC.

A controller lists `Permission`s. The executor and the reader refuse everything else (`Declared` is their `Permits`), by
verb, kind, namespace and name as RBAC does. `rules` turns the same list into the rules of Roles and a ClusterRole, so
code and RBAC cannot drift apart.

    from windlass.kube.control.permissions import Declared, emits_events, reads, rules, writes

    declared = (
        reads(capi.Machine, namespace="openshift-cluster-api"),
        writes(mapi.Machine, "create", "patch", namespace="openshift-machine-api"),
        writes(mapi.Machine, "patch", subresource="status", namespace="openshift-machine-api"),
        emits_events(namespace="openshift-machine-api"),
    )
    assert Declared(declared)(mapi.Machine, "patch", "status", namespace="openshift-machine-api", name="worker-0")
    assert not Declared(declared)(mapi.Machine, "patch", "status", namespace="default", name="worker-0")
    rules(declared)["openshift-machine-api"]      # the rules of a Role in that namespace
    rules(declared).get(None, [])                 # the rules of a ClusterRole

Each action needs a verb: Create `create`; Merge and the finalizers `patch` (of `status` when they write that);
MergeItems the same and `get`; Delete `delete`; Evict `create` on pods/eviction; RequestToken `create` on
serviceaccounts/token; Emit `create` on events. Wildcards are refused. A Call needs its class of request among
`calls(CreateBucket, DeleteBucket)`; the other system has its own permissions, so it adds no RBAC. The
same holds for a question to it, among `asks(BucketOf)`.

OpenShift turns on OwnerReferencesPermissionEnforcement. It requires two more permissions, which no request names:

* setting `blockOwnerDeletion` requires update of `<owner>/finalizers`: `blocks_deletion_of(owner)`;
* changing the ownerReferences of an existing object requires delete of that object: `changes_owners_of(kind)`.

Source: the admission plugin of that name in kube-apiserver (creating an object with owners needs only the first).
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from windlass.api.core import Event
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Request
from windlass.kube.control.question import KUBERNETES, Question
from windlass.kube.errors import Undeclared

READ = ("get", "list", "watch")
_CHANGE = {"create", "patch", "delete"}
"""What actions on objects need. Other verbs are only asked for by admission."""
_BESIDE = {("", "events", ""), ("", "serviceaccounts", "token")}
"""What Emit and RequestToken create: neither changes an object that may be in a cache."""


class Permission(Struct, frozen=True, order=True):
    """These `verbs` on this resource, in one `namespace` or (None) cluster-wide.

    `names` restricts get, update, patch and delete, and create of a subresource, to objects so called; the API cannot
    restrict the other verbs.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    subresource: str = ""
    namespace: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.verbs:
            raise ValueError(f"a permission on {self.target} without verbs permits nothing: name the verbs")
        if "*" in (*self.verbs, self.group, self.resource, self.subresource):
            raise ValueError(f"a permission on {self.target} has a wildcard: name what is needed")

    @property
    def target(self) -> str:
        """As RBAC and error messages name it: `machines.cluster.x-k8s.io/status`."""
        name = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{name}/{self.subresource}" if self.subresource else name

    def changes(self, kind: type[KubernetesObject]) -> bool:
        """An action that needs it changes an object of `kind`, which then may have to be read live."""
        resource, made = kind.RESOURCE, (self.group, self.resource, self.subresource)
        return made[:2] == (resource.group, resource.plural) and made not in _BESIDE and bool(_CHANGE & set(self.verbs))

    def __str__(self) -> str:
        place = f"in {self.namespace}" if self.namespace else "cluster-wide"
        return f"{', '.join(self.verbs)} {self.target} {place}"


class CallPermission(Struct, frozen=True):
    """Calls with requests of these classes."""

    requests: tuple[type[Request], ...]

    def __str__(self) -> str:
        return f"call {', '.join(f'{each.__name__} ({each.SYSTEM})' for each in self.requests)}"


class AskPermission(Struct, frozen=True):
    """Questions of these classes to another system."""

    questions: tuple[type[Question[Any]], ...]

    def __str__(self) -> str:
        return f"ask {', '.join(f'{each.__name__} ({each.SYSTEM})' for each in self.questions)}"


Declaration: TypeAlias = Permission | CallPermission | AskPermission


def permission(
    kind: type[KubernetesObject],
    *verbs: str,
    subresource: str = "",
    namespace: str | None = None,
    names: tuple[str, ...] = (),
) -> Permission:
    """`verbs` on `kind`. For a cluster-scoped kind `namespace` must be None."""
    resource = kind.RESOURCE
    if namespace is not None and not resource.namespaced:
        raise ValueError(f"{resource.kind} is cluster-scoped: a permission on it cannot be limited to {namespace!r}")
    return Permission(resource.group, resource.plural, tuple(sorted(set(verbs))), subresource, namespace, names)


def reads(kind: type[KubernetesObject], *, namespace: str | None = None) -> Permission:
    """Get, list and watch: what a cache needs."""
    return permission(kind, *READ, namespace=namespace)


def writes(
    kind: type[KubernetesObject],
    *verbs: str,
    subresource: str = "",
    namespace: str | None = None,
    names: tuple[str, ...] = (),
) -> Permission:
    """`verbs` out of create, patch, delete."""
    if odd := set(verbs) - _CHANGE:
        raise ValueError(f"no action needs {', '.join(sorted(odd))}: plans create, patch and delete")
    return permission(kind, *verbs, subresource=subresource, namespace=namespace, names=names)


def emits_events(*, namespace: str | None = None) -> Permission:
    """Events about objects in `namespace` (None: anywhere; those about cluster-scoped objects go to `default`)."""
    return permission(Event, "create", namespace=namespace)


def evicts_pods(*, namespace: str | None = None) -> Permission:
    """Pods may be evicted."""
    return Permission("", "pods", ("create",), "eviction", namespace)


def requests_tokens(*names: str, namespace: str | None = None) -> Permission:
    """Tokens may be requested for the ServiceAccounts `names` (none: for all)."""
    return Permission("", "serviceaccounts", ("create",), "token", namespace, names)


def blocks_deletion_of(owner: type[KubernetesObject], *, namespace: str | None = None) -> Permission:
    """Objects may be given `owner` with blockOwnerDeletion."""
    return permission(owner, "update", subresource="finalizers", namespace=namespace)


def changes_owners_of(kind: type[KubernetesObject], *, namespace: str | None = None) -> Permission:
    """The ownerReferences of existing objects may be changed."""
    return permission(kind, "delete", namespace=namespace)


def calls(*requests: type[Request]) -> CallPermission:
    """Effects outside Kubernetes; see `windlass.kube.control.effects`."""
    return CallPermission(requests)


def asks(*questions: type[Question[Any]]) -> AskPermission:
    """Questions to other systems; see `windlass.kube.control.question`."""
    return AskPermission(questions)


class Permits(Protocol):
    """Does a declaration cover this request? `may_call`, `may_ask`: of another system.

    `namespace` is None for a cluster-scoped object or a list of all namespaces. `name` is empty for requests that have
    none: create, list and watch.
    """

    def __call__(
        self, kind: type[KubernetesObject], verb: str, subresource: str = "", *, namespace: str | None, name: str = ""
    ) -> bool: ...

    def may_call(self, request: Request, /) -> bool: ...

    def may_ask(self, question: Question[Any], /) -> bool: ...


class Declared:
    """The `Permits` of these permissions: it decides as RBAC would for a process that has them."""

    def __init__(self, permissions: Iterable[Declaration]) -> None:
        self._granted: dict[tuple[str, str, str, str], list[Permission]] = defaultdict(list)
        self._calls: set[type[Request]] = set()
        self._asks: set[type[Question[Any]]] = set()
        for each in permissions:
            if isinstance(each, CallPermission):
                self._calls.update(each.requests)
                continue
            if isinstance(each, AskPermission):
                self._asks.update(each.questions)
                continue
            for verb in each.verbs:
                self._granted[each.group, each.resource, each.subresource, verb].append(each)

    def __call__(
        self, kind: type[KubernetesObject], verb: str, subresource: str = "", *, namespace: str | None, name: str = ""
    ) -> bool:
        resource = kind.RESOURCE
        return any(
            each.namespace in (None, namespace) and (not each.names or name in each.names)
            for each in self._granted.get((resource.group, resource.plural, subresource, verb), ())
        )

    def may_call(self, request: Request, /) -> bool:
        return type(request) in self._calls

    def may_ask(self, question: Question[Any], /) -> bool:
        return type(question) in self._asks


def require(
    permits: Permits | None,
    kind: type[KubernetesObject],
    verb: str,
    subresource: str = "",
    *,
    namespace: str | None,
    name: str = "",
    what: object = "",
) -> None:
    """Raise Undeclared unless `permits` covers the request. None covers everything. `what` begins the message."""
    if permits is None or permits(kind, verb, subresource, namespace=namespace, name=name):
        return
    target = f"{kind.RESOURCE.name}/{subresource}" if subresource else kind.RESOURCE.name
    place = f"in {namespace}" if namespace else "cluster-wide"
    called = f" {name!r}" if name else ""
    said = f"{what}: " if what else ""
    raise Undeclared(f"{said}this controller does not declare that it may {verb} {target}{called} {place}")


def require_call(permits: Permits | None, request: Request, *, what: object) -> None:
    """Raise Undeclared unless `permits` covers a Call with this request. None covers everything."""
    if permits is not None and not permits.may_call(request):
        raise Undeclared(f"{what}: this controller does not declare calls({type(request).__name__})")


def require_question(permits: Permits | None, question: Question[Any]) -> None:
    """Raise Undeclared unless `permits` covers the question to another system. What it reads of objects, the reader
    checks."""
    if question.SYSTEM != KUBERNETES and permits is not None and not permits.may_ask(question):
        raise Undeclared(f"{question}: this controller does not declare asks({type(question).__name__})")


def not_watched(controller: str, kind: type[KubernetesObject], *, metadata_only: bool = False) -> Undeclared:
    """The error of a controller that looks at all objects of a kind that it does not watch."""
    looked_at = f"{'the metadata of ' if metadata_only else ''}all {kind.RESOURCE.name}"
    remedy = " with metadata_only" if metadata_only else ""
    return Undeclared(
        f"controller {controller or '(without a name)'} looks at {looked_at}, which it does not watch: "
        f"add a Watch of them{remedy}"
    )


def not_indexed(controller: str, kind: type[KubernetesObject], index: str) -> Undeclared:
    """The error of a controller that looks objects up by an index that none of its watches has."""
    return Undeclared(
        f"controller {controller or '(without a name)'} looks {kind.RESOURCE.name} up by {index!r}, "
        "which none of its watches declares: add it to the `indexes` of its Watch of them"
    )


def rules(permissions: Iterable[Declaration]) -> dict[str | None, list[dict[str, Any]]]:
    """RBAC rules by namespace (None: cluster-wide), each verb granted once, in a stable order.

    A verb that is granted cluster-wide is not granted again in a namespace.
    """
    verbs: dict[tuple[str | None, str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for each in permissions:
        if not isinstance(each, Permission):
            continue
        name = f"{each.resource}/{each.subresource}" if each.subresource else each.resource
        verbs[each.namespace, each.group, name, each.names].update(each.verbs)
    result: dict[str | None, list[dict[str, Any]]] = {}
    for (namespace, group, resource, names), wanted in sorted(verbs.items(), key=lambda entry: _order(entry[0])):
        covered = verbs.get((None, group, resource, ()), set()) if namespace or names else set()
        if left := sorted(wanted - covered):
            rule: dict[str, Any] = {"apiGroups": [group], "resources": [resource], "verbs": left}
            if names:
                rule["resourceNames"] = list(names)
            result.setdefault(namespace, []).append(rule)
    return result


def _order(key: tuple[str | None, str, str, tuple[str, ...]]) -> tuple[str, str, str, tuple[str, ...]]:
    return (key[0] or "", *key[1:])
