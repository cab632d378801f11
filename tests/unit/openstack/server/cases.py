"""OpenStackServers as decisions see them, and what a plan makes of them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition
from windlass.kube.conditions import find
from windlass.kube.control.plan import Call, Merge, Plan, RemoveFinalizers
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.inventory import MARK, ServerInventory
from windlass.openstack.cloud.marks import described, mark_for
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import Port, Server, ServerAddress, Volume
from windlass.openstack.constants import CLUSTER_LABEL, MARK_ANNOTATION, SERVER_FINALIZER
from windlass.openstack.instance.resolve import resolve
from windlass.openstack.instance.spec import InstanceSpec, Resolved
from windlass.openstack.server.decide import before_the_cloud, decide, in_the_cloud
from windlass.openstack.server.resolved import to_status
from windlass.openstack.server.snapshot import TIMING, ServerCloudFacts, ServerSnapshot, Timing
from windlass.openstack.server.spec import instance_spec
from windlass.openstack.status import INSTANCE, first_visit

NOW = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
TIME = "2026-11-23T02:00:00Z"
FRESH, MARK_A = (mark_for(f"7d3f0d9a-0000-4000-8000-00000000000{each}", "u", "server/shop/a") for each in "fa")
IMAGE, FLAVOR, NETWORK = "image-1", "flavor-1", "network-1"
SERVER = "server-1"
PORT = "port-1"

SPEC: dict[str, Any] = {
    "identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"},
    "image": {"id": IMAGE},
    "flavorID": FLAVOR,
    "sshKeyName": "",
    "ports": [{"network": {"id": NETWORK}}],
}


def _present(kind: type[Any], tree: Mapping[str, Any]) -> Present[Any]:
    raw = msgspec.json.encode(tree)
    return Present(msgspec.json.decode(raw, type=kind), raw)


def visited() -> list[dict[str, Any]]:
    """The conditions after the first visit."""
    return [
        {**msgspec.to_builtins(each), "lastTransitionTime": TIME} for each in first_visit(INSTANCE, awaited="Waiting")
    ]


def server(
    *,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    mark: str = MARK_A,
    finalizers: tuple[str, ...] = (SERVER_FINALIZER,),
    annotations: Mapping[str, str] | None = None,
    cluster: str = "",
    deleting: bool = False,
) -> Present[OpenStackServer]:
    """Visited, with finalizer and mark, unless told otherwise."""
    meta: dict[str, Any] = {
        "name": "a",
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 1,
        "annotations": {**({MARK_ANNOTATION: mark} if mark else {}), **(annotations or {})},
        "finalizers": list(finalizers),
        "labels": {CLUSTER_LABEL: cluster} if cluster else {},
        **({"deletionTimestamp": TIME} if deleting else {}),
    }
    tree = {
        "apiVersion": OpenStackServer.RESOURCE.api_version,
        "kind": "OpenStackServer",
        "metadata": meta,
        "spec": {**SPEC, **(spec or {})},
        "status": {"ready": False, "conditions": visited(), **(status or {})},
    }
    return _present(OpenStackServer, tree)


def choices(**spec: Any) -> dict[str, Any]:
    """`status.resolved` for a server of this spec, which names everything by ID."""
    wanted = instance_spec(server(spec=spec).object)
    assert isinstance(wanted, InstanceSpec), wanted
    resolved = resolve(wanted, {})
    assert isinstance(resolved, Resolved), resolved
    return to_status(resolved)


def intended(*, spec: Mapping[str, Any] | None = None, **more: Any) -> Present[OpenStackServer]:
    """The same, with all choices stored."""
    status = {"resolved": choices(**(spec or {})), **more.pop("status", {})}
    return server(spec=spec, status=status, **more)


def made(state: str = "ACTIVE", **more: Any) -> Present[OpenStackServer]:
    """The same, with a server recorded."""
    told = {
        "instanceID": SERVER,
        "instanceState": state,
        "ready": state == "ACTIVE",
        "resources": {"ports": [{"id": PORT}]},
    }
    return intended(status={**told, **more.pop("status", {})}, **more)


def cluster(*, paused: bool = False) -> Present[Cluster]:
    tree = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "shop", "uid": "c", "resourceVersion": "1"},
        "spec": {"paused": paused},
    }
    return _present(Cluster, tree)


def nova(status: str = "ACTIVE", **more: Any) -> Server:
    """Our server, as Nova shows it."""
    addresses = {"net": [ServerAddress(addr="10.0.0.5", type="fixed")]} if status == "ACTIVE" else {}
    return Server(
        **{"id": SERVER, "name": "a", "status": status, "metadata": {MARK: MARK_A}, "addresses": addresses, **more}
    )


def neutron(**more: Any) -> Port:
    """Our port, as Neutron shows it."""
    return Port(**{"id": PORT, "name": "a-0", "description": described("", MARK_A), **more})


def cinder(name: str = "a-root", status: str = "available", **more: Any) -> Volume:
    return Volume(**{"id": f"volume-{name}", "name": name, "status": status, "metadata": {MARK: MARK_A}, **more})


def asked(inventory: ServerInventory | None = ServerInventory(), **more: Any) -> ServerCloudFacts:  # noqa: B008 - frozen
    return ServerCloudFacts(project="p", inventory=inventory, **more)


def standing(status: str = "ACTIVE", **more: Any) -> ServerCloudFacts:
    """A cloud with our server and its port."""
    return asked(ServerInventory(servers=(nova(status, **more),), ports=(neutron(device_id=SERVER),)))


def seen(found: Any, cloud: Any = None, **more: Any) -> ServerSnapshot:
    return ServerSnapshot(server=found, cloud=cloud, **{"fresh_mark": FRESH, **more})


def decided(seen: ServerSnapshot, *, now: datetime, timing: Timing = TIMING) -> Plan:
    """The plan about a snapshot that has all the answers already."""
    found = seen.server
    if not isinstance(found, Present):
        return decide(seen, now=now)
    plan = before_the_cloud(seen, found, now=now, timing=timing)
    return plan if plan is not None else in_the_cloud(seen, found, now=now, timing=timing)


def requests(plan: Plan) -> list[CloudRequest]:
    return [action.request for action in plan.actions if isinstance(action, Call)]  # type: ignore[misc]


def verbs(plan: Plan) -> list[str]:
    return [request.verb for request in requests(plan)]


def after(found: Present[OpenStackServer], plan: Plan) -> Present[OpenStackServer]:
    """The object as the writes of `plan` leave it."""
    tree: Any = found.tree
    for action in plan.needed:
        match action:
            case Merge():
                tree = _merged(tree, action.patch)
            case RemoveFinalizers():
                tree = _merged(tree, {"metadata": {"finalizers": action.desired}})
    return _present(type(found.object), tree)


def told(plan: Plan, kind: str, found: Present[Any] | None = None) -> Condition:
    """A condition as it is after the plan."""
    here = after(found or server(), plan)
    one = find(here.object.status.conditions, kind)
    assert one is not None, f"there is no condition {kind}"
    return one


def conditions(found: Present[OpenStackServer]) -> dict[str, str]:
    return {each.type: f"{each.status} {each.reason}" for each in found.object.status.conditions}


def _merged(tree: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    result = dict(tree) if isinstance(tree, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
