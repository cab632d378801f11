"""The objects of an OpenStackCluster beside the resources that they have in the cloud, as a tree. Pure.

    OpenStackCluster
    ├─ network ─ subnet            router, security group
    ├─ load balancer ─ floating IP, listener, pool ─ member
    ├─ OpenStackServer             the bastion, and servers without a machine
    └─ OpenStackMachine ─ OpenStackServer ─ server, volume, port ─ trunk, floating IP

OpenStackMachines and OpenStackServers of no OpenStackCluster that exists have trees of their own.

A resource belongs to an object if its status records the ID, or if it has the object's mark. It should be both.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct, structs

from windlass.api.capo import IdentityReference, OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster, OpenStackClusterStatus
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition
from windlass.kube import decoding
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import mark_of as mark_in_cloud
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.query import Kind, Query
from windlass.openstack.cloud.resources import (
    FloatingIp,
    LoadBalancer,
    Markable,
    Network,
    Port,
    Router,
    SecurityGroup,
    Server,
    Subnet,
    Trunk,
    Volume,
)
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.objects import owner_name
from windlass.openstack.ownership import Claim, claim_of
from windlass.openstack.status import READY

NAMES: Final[Mapping[type[Any], str]] = {
    Server: "server",
    Volume: "volume",
    Port: "port",
    Trunk: "trunk",
    Network: "network",
    Subnet: "subnet",
    Router: "router",
    SecurityGroup: "security group",
    FloatingIp: "floating IP",
    LoadBalancer: "load balancer",
}
GONE: Final = "recorded, but it does not exist"
UNRECORDED: Final = "has the mark of this object, which does not record it"
FOREIGN: Final = "recorded, but it has the mark of another object"
UNKNOWN: Final = "Unknown"
"""The state of what was not asked for."""

_QUERIES: Final[Mapping[type[Any], Kind]] = {
    Network: "network",
    Subnet: "subnet",
    Router: "router",
    SecurityGroup: "security group",
}

Of: TypeAlias = "ProjectInventory | str"
"""What a project has, or why it is not known."""
R = TypeVar("R", bound=Markable)


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object or a resource. `state` is what its service says, `detail` its addresses; of an object, `ready` is its
    condition. `notes`: oddities, in words."""

    kind: str
    name: str
    id: str = ""
    state: str = ""
    detail: str = ""
    ready: Condition | None = None
    notes: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()


class Members(Struct, frozen=True):
    """The objects of a cluster. All have an identity: their own, or that of the cluster."""

    cluster: Present[OpenStackCluster]
    machines: tuple[Present[OpenStackMachine], ...]
    servers: tuple[Present[OpenStackServer], ...]

    @property
    def all(self) -> tuple[Present[Any], ...]:
        return (self.cluster, *self.machines, *self.servers)

    def identity(self, of: Present[Any]) -> IdentityReference | None:
        own: IdentityReference | None = of.object.spec.identity_ref
        return own or self.cluster.object.spec.identity_ref


def members(
    cluster: Present[OpenStackCluster],
    machines: Iterable[Present[OpenStackMachine]],
    servers: Iterable[Present[OpenStackServer]],
) -> Members:
    """Those of the cluster among all `machines` and `servers`."""
    labels = cluster.metadata.labels
    name = owner_name_of(cluster) or labels.get(CLUSTER_LABEL) or cluster.metadata.name

    def belongs(found: Present[Any]) -> bool:
        return found.metadata.namespace == cluster.metadata.namespace and (
            found.metadata.labels.get(CLUSTER_LABEL) == name
            or owner_name(found.metadata, OpenStackCluster) == cluster.metadata.name
        )

    return Members(
        cluster,
        tuple(sorted(filter(belongs, machines), key=lambda each: each.metadata.name)),
        tuple(sorted(filter(belongs, servers), key=lambda each: each.metadata.name)),
    )


def alone(
    clusters: Iterable[Present[OpenStackCluster]],
    machines: Iterable[Present[OpenStackMachine]],
    servers: Iterable[Present[OpenStackServer]],
) -> list[Present[Any]]:
    """The machines that belong to none of all `clusters`, and the servers that belong to neither a cluster nor a
    machine."""
    machines, servers = list(machines), list(servers)
    groups = [members(each, machines, servers) for each in clusters]
    within = {id(each) for group in groups for each in group.all}
    apart = [each for each in machines if id(each) not in within]
    owners = {(each.metadata.namespace, each.metadata.name) for each in apart}
    return [*apart, *(each for each in servers if id(each) not in within and _made_by(each) not in owners)]


def is_of(server: Present[OpenStackServer], machine: Present[OpenStackMachine]) -> bool:
    """Whether the machine made the server."""
    return _made_by(server) == (machine.metadata.namespace, machine.metadata.name)


def _made_by(server: Present[OpenStackServer]) -> tuple[str, str]:
    """Namespace and name of the machine; the name is empty if no machine made the server."""
    return server.metadata.namespace, owner_name(server.metadata, OpenStackMachine)


def tree_alone(root: Present[Any], server: Present[OpenStackServer] | None, sight: Of) -> Node:
    """Of an OpenStackServer, or of an OpenStackMachine with its `server`, that belong to no cluster."""
    if isinstance(root.object, OpenStackServer):
        return _server(root, sight)
    below = (_server(server, sight),) if server is not None else tuple(_unowned(claim_of(root), sight))
    named = root.metadata.labels.get(CLUSTER_LABEL)
    notes = (f"its cluster {named} has no OpenStackCluster",) if named else ()
    return of_object(root, below, (*notes, *(() if server is not None else blind(sight))))


def owner_name_of(cluster: Present[OpenStackCluster]) -> str:
    """The name of its Cluster; empty if it has none."""
    return next((each.name for each in cluster.metadata.owner_references if each.kind == "Cluster"), "")


def recorded_elsewhere(found: Members) -> tuple[Query, ...]:
    """What the cluster's status records and lists of its own project may lack: networks can be those of others."""
    status = found.cluster.object.status
    queries = [Query(_QUERIES[kind], id=each) for kind in _QUERIES for each in _recorded(status)[kind]]
    return tuple(dict.fromkeys(queries))


def tree(found: Members, sights: Mapping[IdentityReference | None, Of]) -> Node:
    """`sights`: what each identity sees."""
    cluster = found.cluster
    sight = sights[found.identity(cluster)]
    children = [*_of_cluster(cluster, sight)]
    by_machine: dict[str, Present[OpenStackServer]] = {}
    for server in found.servers:
        if owner := owner_name(server.metadata, OpenStackMachine):
            by_machine[owner] = server
        else:
            children.append(_server(server, sights[found.identity(server)]))
    for machine in found.machines:
        own = by_machine.pop(machine.metadata.name, None)
        below = (
            (_server(own, sights[found.identity(own)]),)
            if own
            else tuple(_unowned(claim_of(machine), sights[found.identity(machine)]))
        )
        children.append(of_object(machine, below))
    children += [_server(each, sights[found.identity(each)]) for each in by_machine.values()]
    shown = {each.id for child in children for each in flat(child)}
    children += (each for each in _addresses(claim_of(cluster), sight) if each.id not in shown)
    return of_object(cluster, tuple(children), blind(sight))


def flat(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for child in node.children:
        yield from flat(child)


def blind(sight: Of) -> tuple[str, ...]:
    """The note that the resources of an object are not known, and why."""
    return (f"the cloud was not asked: {sight}",) if isinstance(sight, str) else ()


def of_object(
    found: Present[Any],
    children: tuple[Node, ...],
    notes: tuple[str, ...] = (),
    *,
    state: str = "",
) -> Node:
    meta, ready = found.metadata, find(found.object.status.conditions, READY)
    return Node(
        kind=found.object.RESOURCE.kind,
        name=f"{meta.namespace}/{meta.name}",
        state=state,
        ready=decoding.convert(ready, Condition, from_attributes=True) if ready is not None else None,
        notes=(*notes, *(("it is being deleted",) if meta.deletion_timestamp else ())),
        children=children,
    )


def _recorded(status: OpenStackClusterStatus) -> Mapping[type[Any], tuple[str, ...]]:
    """The IDs in the status of a cluster."""
    networks = [each for each in (status.network, status.external_network) if each is not None]
    groups = (status.control_plane_security_group, status.worker_security_group, status.bastion_security_group)
    return {
        Network: tuple(each.id for each in networks if each.id),
        Subnet: tuple(subnet.id for each in networks for subnet in each.subnets if subnet.id),
        Router: (status.router.id,) if status.router and status.router.id else (),
        SecurityGroup: tuple(each.id for each in groups if each and each.id),
        LoadBalancer: tuple(each.id for each in (status.api_server_load_balancer,) if each is not None and each.id),
    }


def _of_cluster(cluster: Present[OpenStackCluster], sight: Of) -> Iterator[Node]:
    claim, recorded = claim_of(cluster), _recorded(cluster.object.status)
    subnets = [*_resources(Subnet, recorded[Subnet], claim, sight)]
    networks = [*_resources(Network, recorded[Network], claim, sight)]
    for network in networks:
        below = tuple(each for each in subnets if _network_of(each, sight) == network.id)
        subnets = [each for each in subnets if each not in below]
        yield structs.replace(network, children=below)
    yield from subnets
    yield from _resources(Router, recorded[Router], claim, sight)
    yield from _resources(SecurityGroup, recorded[SecurityGroup], claim, sight)
    for balancer in _resources(LoadBalancer, recorded[LoadBalancer], claim, sight):
        yield structs.replace(balancer, children=(*_parts(balancer.id, sight),))
    yield from _resources(Port, (), claim, sight)


def _addresses(claim: Claim, sight: Of) -> Iterator[Node]:
    """All floating IPs of a cluster. A floating IP of one of the cluster's ports is shown below the port."""
    if isinstance(sight, ProjectInventory):
        yield from (_node(each) for each in sight.all(FloatingIp) if claim.is_of(mark_in_cloud(each)))


def _network_of(subnet: Node, sight: Of) -> str:
    found = sight.get(Subnet, subnet.id) if isinstance(sight, ProjectInventory) else None
    return found.network_id if found else ""


def _parts(which: str, sight: Of) -> Iterator[Node]:
    """The addresses, listeners, pools and members of a load balancer."""
    found = sight.get(LoadBalancer, which) if isinstance(sight, ProjectInventory) else None
    if found is None or isinstance(sight, str):
        return
    yield from (_node(each) for each in sight.all(FloatingIp) if each.port_id and each.port_id == found.vip_port_id)
    if (whole := sight.balancers.get(which)) is None:
        return
    for listener in whole.listeners:
        name, state = listener.name or listener.id, listener.provisioning_status
        yield Node(kind="listener", name=name, id=listener.id, state=state, detail=f"port {listener.protocol_port}")
    for pool in whole.pools:
        below = tuple(
            Node(
                kind="member",
                name=each.name or each.id,
                id=each.id,
                state="/".join(filter(None, (each.provisioning_status, each.operating_status))),
                detail=f"{each.address}:{each.protocol_port}",
            )
            for each in pool.members
        )
        state = pool.provisioning_status
        yield Node(kind="pool", name=pool.name or pool.id, id=pool.id, state=state, children=below)


def _server(server: Present[OpenStackServer], sight: Of) -> Node:
    status = server.object.status
    resources = status.resources
    ports = [each.id for each in resources.ports] if resources else []
    volumes = [each.id for each in resources.volumes if each.id] if resources else []
    trunks = [each.id for each in resources.trunks if each.id] if resources else []
    below = instance(status.instance_id, volumes, ports, trunks, claim=claim_of(server), sight=sight)
    return of_object(server, tuple(below), blind(sight))


def instance(
    server: str | None, volumes: Sequence[str], ports: Sequence[str], trunks: Sequence[str], *, claim: Claim, sight: Of
) -> list[Node]:
    """A server with all that belongs to it: what is recorded by ID, and what has the mark."""
    below = [*_resources(Server, [server] if server else [], claim, sight)]
    below += _resources(Volume, volumes, claim, sight)
    on_ports = [*_resources(Trunk, trunks, claim, sight)]
    for port in _resources(Port, ports, claim, sight):
        mine = [each for each in on_ports if _port_of(each, sight) == port.id]
        on_ports = [each for each in on_ports if each not in mine]
        if isinstance(sight, ProjectInventory):
            mine += [_node(each) for each in sight.all(FloatingIp) if each.port_id == port.id]
        below.append(structs.replace(port, children=tuple(mine)))
    return [*below, *on_ports]


def _port_of(trunk: Node, sight: Of) -> str:
    found = sight.get(Trunk, trunk.id) if isinstance(sight, ProjectInventory) else None
    return found.port_id if found else ""


def _unowned(claim: Claim, sight: Of) -> Iterator[Node]:
    """What a machine without an OpenStackServer has."""
    for kind in (Server, Volume, Port, Trunk):
        yield from _resources(kind, (), claim, sight)


def _resources(kind: type[R], recorded: Sequence[str], claim: Claim, sight: Of) -> Iterator[Node]:
    """The resources of an object: recorded in its status, or with its mark."""
    for which in recorded:
        if isinstance(sight, str):
            yield Node(kind=NAMES[kind], name=which, id=which, state=UNKNOWN)
        elif (found := sight.get(kind, which)) is None:
            yield Node(kind=NAMES[kind], name=which, id=which, state="-", notes=(GONE,))
        else:
            other = bool(mark_in_cloud(found)) and not claim.is_of(mark_in_cloud(found))
            yield _node(found, (FOREIGN,) if other and _is_own(kind) else ())
    if isinstance(sight, ProjectInventory):
        for found in sight.all(kind):
            if claim.is_of(mark_in_cloud(found)) and found.id not in recorded:
                yield _node(found, (UNRECORDED,))


def _is_own(kind: type[Any]) -> bool:
    """Networks and routers may be shared by clusters; all else has one owner."""
    return kind not in (Network, Subnet, Router)


def _node(found: Markable, notes: Collection[str] = ()) -> Node:
    state, detail = "-", ""
    match found:
        case Server():
            state = " ".join(filter(None, (found.status, found.task_state and f"({found.task_state})")))
            detail = ", ".join(each.addr for every in found.addresses.values() for each in every)
            if found.fault is not None:
                notes = (*notes, found.fault.message)
        case Port():
            state, detail = found.status, ", ".join(each.ip_address for each in found.fixed_ips)
        case Volume() | Network():
            state = found.status
        case Subnet():
            detail = found.cidr
        case Router():
            gateway = found.external_gateway_info
            state = found.status
            detail = ", ".join(each.ip_address for each in gateway.external_fixed_ips) if gateway else ""
        case FloatingIp():
            return Node(
                kind=NAMES[FloatingIp],
                name=found.floating_ip_address,
                id=found.id,
                state=found.status,
                notes=(*notes, *(() if found.port_id else ("it leads nowhere",))),
            )
        case LoadBalancer():
            state = "/".join(filter(None, (found.provisioning_status, found.operating_status)))
            detail = found.vip_address or ""
    name = found.name or found.id
    return Node(kind=NAMES[type(found)], name=name, id=found.id, state=state or "-", detail=detail, notes=tuple(notes))
