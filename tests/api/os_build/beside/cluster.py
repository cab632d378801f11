"""A plane on which OpenShift's own controllers render and build, and what tests ask of it as its administrator."""

from typing import Any, TypeVar

import msgspec

from windlass.api.machineconfiguration import GROUP
from windlass.api.meta import KubernetesObject
from windlass.testing import BlockingAccess
from windlass.testing.plane.rest import MERGE_PATCH
from windlass.testing.updates.os_builder import OsBuilder

T = TypeVar("T", bound=KubernetesObject)
Tree = dict[str, Any]


class Cluster:
    """`rendered` is the MachineConfig that each pool had first."""

    def __init__(self, plane: BlockingAccess, real: OsBuilder, rendered: dict[str, str]) -> None:
        self.plane = plane
        self.real = real
        self.rendered = rendered

    def get(self, kind: type[T], name: str) -> T:
        return msgspec.convert(self.tree(kind, name), kind)

    def all(self, kind: type[T]) -> list[T]:
        return [msgspec.convert(tree, kind) for tree in self.plane.rest.request("GET", kind.RESOURCE.path())["items"]]

    def tree(self, kind: type[KubernetesObject], name: str) -> Tree:
        tree: Tree = self.plane.rest.request("GET", kind.RESOURCE.path(name))
        return tree

    def create(self, kind: type[KubernetesObject], tree: Tree) -> None:
        identity = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind}
        self.plane.rest.request("POST", kind.RESOURCE.path(), {**identity, **tree})

    def report(self, kind: type[KubernetesObject], name: str, status: Any) -> None:
        self.patch(kind, name, {"status": msgspec.to_builtins(status)}, status=True)

    def patch(self, kind: type[KubernetesObject], name: str, body: Tree, *, status: bool = False) -> None:
        path = kind.RESOURCE.path(name, subresource="status" if status else "")
        self.plane.rest.request("PATCH", path, body, content_type=MERGE_PATCH)

    def annotate(self, kind: type[KubernetesObject], name: str, **annotations: str) -> None:
        """Set annotations of the Machine Config Operator's, named without their prefix."""
        said = {f"{GROUP}/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.patch(kind, name, {"metadata": {"annotations": said}})
