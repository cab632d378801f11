"""Tells whether an object is deleted because its CustomResourceDefinition or its namespace is being deleted.

| the CRD of its kind, its namespace | the deletion was made by |
|---|---|
| both stay | a user, or the garbage collector (`collector`) |
| one of them is being deleted | the API server: no user asked to delete this object |
| one of them cannot be read | unknown |

A user who uninstalls Cluster API, or deletes the namespace of the mirrors, does not ask to delete the machines of the
Machine API. So such a deletion of a mirror must never reach the authority. While the cause is unknown, it must not
either.

The API server deletes the objects after it has marked their CRD or namespace as being deleted. So a GET that is sent
after the deletion of an object was observed always shows the cause.
"""

from msgspec import Struct

from windlass.api import mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Namespace
from windlass.api.meta import KubernetesObject
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.control.plan import Create, Outcome
from windlass.kube.control.question import Asking, LiveIfAllowed
from windlass.kube.control.seen import ForbiddenKind, NotServedKind
from windlass.kube.errors import NotServed
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.mirroring.collector import is_going


class Removal(Struct, frozen=True):
    """Why objects of `kind` are being deleted, None: that was not looked at.

    `cause` names the CRD or namespace that goes, and `state` says how far it is. `unknown` is why they could not be
    read. `cause` and `unknown` are empty if users or the garbage collector delete these objects.
    """

    kind: type[KubernetesObject] | None = None
    cause: str = ""
    state: str = "is being deleted"
    unknown: str = ""

    @property
    def of_machine_api(self) -> bool:
        """The objects are of the Machine API."""
        return self.kind is not None and is_of_machine_api(self.kind)

    @property
    def spares(self) -> bool:
        """It is not known that a user wants the object to be deleted, so its authority stays."""
        return bool(self.cause or self.unknown)

    def remains(self, what: str) -> str:
        """The message on a `what` ("machine") that stays with its authority, and loses its mirror in the other API.

        It says what users can do, because the CRD may be gone for good.
        """
        api = "the Machine API" if self.of_machine_api else "Cluster API"
        if self.unknown:
            return (
                f"the mirror in {api} is being deleted, and it is not known whether a user deleted it or its CRD or "
                f"namespace is being deleted, so the {what} stays: {self.unknown}. Apply the output of `windlass "
                "manifests rbac machine-sync`"
            )
        return (
            f"{self.cause} {self.state}, so there are no mirrors in {api}; the {what} stays, and is not synchronized. "
            f"Create {self.cause} again, or stop Machine sync and run `windlass release --all`"
        )


def is_of_machine_api(kind: type[KubernetesObject]) -> bool:
    return kind.RESOURCE.group == mapi.Machine.RESOURCE.group


def why_deleted(seen: Asking, kind: type[KubernetesObject], *, namespaces: Namespaces, last: Outcome) -> Removal:
    """Ask for the CRD and the namespace of objects of `kind`.

    `last`: if an object could not be created because its kind is not served, that is the answer.
    """
    if created(last) is kind and isinstance(last.error, NotServed):
        return Removal(kind, cause=f"CustomResourceDefinition {kind.RESOURCE.name}", state="does not exist")
    namespace = namespaces.machine_api if is_of_machine_api(kind) else namespaces.cluster_api
    crd, home = seen.need(
        LiveIfAllowed(CustomResourceDefinition, kind.RESOURCE.name),
        LiveIfAllowed(Namespace, namespace),
        this_round=True,
    )
    for found, what in ((home, f"namespace {namespace}"), (crd, f"CustomResourceDefinition {kind.RESOURCE.name}")):
        if isinstance(found, ForbiddenKind | NotServedKind):
            return Removal(kind, unknown=found.why)
        if is_going(found):
            return Removal(kind, cause=what)
    return Removal(kind)


def created(last: Outcome) -> type[KubernetesObject] | None:
    """The kind of the object that the API server refused to create: perhaps because its CRD or namespace goes."""
    failed = last.failed
    return failed.action.target.kind if failed is not None and isinstance(failed.action, Create) else None


def looks_at(namespaces: Namespaces, *kinds: type[KubernetesObject]) -> tuple[Permission, ...]:
    """The rights that `why_deleted` needs for objects of these kinds."""
    names = tuple(sorted(kind.RESOURCE.name for kind in kinds))
    return (
        permission(CustomResourceDefinition, "get", names=names),
        permission(Namespace, "get", names=tuple(sorted({*namespaces}))),
    )
