"""Objects of machines on an API server, for tests that block: by kind and name, each kind in its namespace.

`tests.api.machine_sync.stage.Stage` has the same verbs for tests with an event loop.
"""

from typing import Any

from windlass.api import mapi
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import Namespaces
from windlass.testing import BlockingAccess
from windlass.testing.plane.access import found
from windlass.testing.plane.rest import MERGE_PATCH

Tree = dict[str, Any]
Kind = type[KubernetesObject]


def new_namespaces(plane: BlockingAccess) -> Namespaces:
    """Two namespaces for one test. They stay when it is over, and go with the plane.

    Deleting hundreds of them keeps the controller manager busy for longer than all tests together, and for ever where
    something has a finalizer that nobody removes.
    """
    return Namespaces(plane.create_namespace("mapi-"), plane.create_namespace("capi-"))


def usual_namespaces(plane: BlockingAccess) -> Namespaces:
    """Those that a cluster has. Objects of earlier tests may be there."""
    for name in (usual := Namespaces()):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return usual


def identity(kind: Kind) -> Tree:
    """The fields that say what an object is."""
    return {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind}


def home(kind: Kind, namespaces: Namespaces) -> str | None:
    """The namespace of objects of `kind`; None if they have none."""
    if not kind.RESOURCE.namespaced:
        return None
    ours = kind.RESOURCE.group == mapi.Machine.RESOURCE.group
    return namespaces.machine_api if ours else namespaces.cluster_api


class Objects:
    """What an administrator asks of the API server about the objects in `namespaces`, and without a namespace."""

    def __init__(self, plane: BlockingAccess, namespaces: Namespaces) -> None:
        self.plane = plane
        self.rest = plane.rest
        self.namespaces = namespaces

    def path(self, kind: Kind, name: str = "", *, part: str = "") -> str:
        return kind.RESOURCE.path(name or None, namespace=home(kind, self.namespaces), subresource=part)

    def make(self, kind: Kind, name: str, spec: Any, *, status: Tree | None = None, **metadata: Any) -> Tree:
        body = {**identity(kind), "metadata": {"name": name, **metadata}, "spec": spec}
        made: Tree = self.rest.request("POST", self.path(kind), body)
        return made if status is None else self.patch(kind, name, {"status": status}, part="status")

    def patch(self, kind: Kind, name: str, body: Tree, *, part: str = "") -> Tree:
        """Merge `body` into an object, or into its subresource `part`."""
        path = self.path(kind, name, part=part)
        patched: Tree = self.rest.request("PATCH", path, body, content_type=MERGE_PATCH)
        return patched

    def delete(self, kind: Kind, name: str) -> None:
        self.rest.request("DELETE", self.path(kind, name))

    def get(self, kind: Kind, name: str) -> Tree | None:
        return found(self.rest, self.path(kind, name))

    def there(self, kind: Kind, name: str) -> Tree:
        """The object, which must exist."""
        found = self.get(kind, name)
        assert found is not None, f"{kind.RESOURCE.kind} {name} is gone, or was never made"
        return found

    def all(self, kind: Kind) -> list[Tree]:
        items: list[Tree] = self.rest.request("GET", self.path(kind))["items"]
        return items

    def reference(self, kind: Kind, name: str, **more: Any) -> Tree:
        """An owner reference to an object that exists."""
        return {**identity(kind), "name": name, "uid": self.there(kind, name)["metadata"]["uid"], **more}
