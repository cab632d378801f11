"""Objects and resources for tests of what is shown of them."""

from collections import defaultdict
from typing import Any, Final

from windlass.kube.control.seen import Present, read
from windlass.kube.object import Object
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.resources import LoadBalancer, Server, Volume
from windlass.openstack.constants import CLUSTER_LABEL, MARK_ANNOTATION
from windlass.openstack.overview.tree import Node

Tree = dict[str, Any]

PLACE: Final = "prod"
IDENTITY: Final = {"name": "cloud", "cloudName": "demo"}


def uuid(number: int, *, version: int = 4) -> str:
    return f"00000000-0000-{version}000-8000-{number:012d}"


CLUSTER_MARK, SERVER_MARK, OTHER_MARK = uuid(901), uuid(902), uuid(903)


def held(kind: type[Any], number: int, mark: str = "", **fields: Any) -> Any:
    """A resource with a mark."""
    if kind in (Server, Volume):
        return kind(id=uuid(number), metadata={MARK: mark} if mark else {}, **fields)
    return kind(id=uuid(number), description=described("", mark) if mark else "", **fields)


def project_inventory(*resources: Any, balancers: tuple[Balancer, ...] = ()) -> ProjectInventory:
    by_kind: dict[type[Any], dict[str, Any]] = defaultdict(dict)
    for each in resources:
        by_kind[type(each)][each.id] = each
    for one in balancers:
        by_kind[LoadBalancer][one.balancer.id] = one.balancer
    return ProjectInventory(project="key", resources=by_kind, balancers={one.balancer.id: one for one in balancers})


def tree(kind: type[Any], name: str, *, mark: str = "", status: Tree | None = None, **more: Any) -> Tree:
    metadata = {
        "name": name,
        "namespace": PLACE,
        "labels": {CLUSTER_LABEL: "one"},
        "annotations": {MARK_ANNOTATION: mark} if mark else {},
        **more.pop("metadata", {}),
    }
    resource = kind.RESOURCE
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": status or {}}
    return {**whole, "spec": {"identityRef": IDENTITY, **more.pop("spec", {})}, **more}


def present(kind: type[Any], name: str, **parts: Any) -> Present[Any]:
    found = read(Object.of(kind, tree(kind, name, **parts)))
    assert isinstance(found, Present)
    return found


def owned_by(kind: type[Any], name: str) -> Tree:
    reference = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "name": name, "uid": "u"}
    return {"ownerReferences": [reference]}


def ready(status: str, reason: str = "Ready", message: str = "") -> Tree:
    return {"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message}]}


def outline(node: Node, depth: int = 0) -> list[str]:
    """A line for each node."""
    parts = (node.kind, node.name, node.state, node.detail, *node.notes)
    return ["  " * depth + " | ".join(filter(None, parts))] + [
        line for each in node.children for line in outline(each, depth + 1)
    ]
