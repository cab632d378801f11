"""All parts of a cluster's infrastructure, in the order in which they need each other."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.plan import Merge
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cluster import ingress, managed_network
from windlass.openstack.cluster.balancer import balancer, is_wanted, leading, name_of, ports_of
from windlass.openstack.cluster.endpoint import Endpoint, endpoint
from windlass.openstack.cluster.groups import groups, retired
from windlass.openstack.cluster.ingress import is_led
from windlass.openstack.cluster.network import Found, failure_domains, look_up, network_status, router_status
from windlass.openstack.cluster.new_balancer import Place
from windlass.openstack.cluster.part import ENDPOINT, GROUPS, NETWORK, ROUTER, Obstacle, Ours, Part
from windlass.openstack.cluster.snapshot import ClusterCloudFacts, ControlMachine, is_provisioned
from windlass.openstack.cluster.unmarked import held
from windlass.openstack.status import ROUTER_READY

# How the API servers are reached: the load balancer, the endpoint, and the way from there to the machines.


class Reached(Struct, frozen=True, kw_only=True):
    """`where`: host and port of the endpoint, once they are known. `annotations` tell machines that they are led to."""

    parts: tuple[Part, ...]
    where: tuple[str, int] | None
    annotations: tuple[Merge, ...] = ()


def reach(
    infra: OpenStackCluster,
    ours: Ours,
    inventory: NetworkInventory,
    place: Place,
    *,
    machines: Sequence[ControlMachine],
    blockers: Blockers,
) -> Reached:
    """`machines`: the machines of the control plane that wait for the endpoint."""
    balanced = balancer(infra, ours, inventory, place, blockers=blockers) if is_wanted(infra.spec) else None
    found = endpoint(infra, ours, inventory, place, balanced=balanced)
    parts = (*((balanced,) if balanced is not None else ()), found.part)
    where = (found.host, found.port) if found.host else None
    # One request at a time about a load balancer; and a floating IP that is to come is not a given endpoint.
    busy = balanced.requests if balanced is not None else found.floating is None and not found.part.is_there
    if busy or not (machines or balanced is not None):
        return Reached(parts=parts, where=where)
    way = _way(infra, ours, inventory, place, found, machines)
    return Reached(parts=(*parts, way.part), where=where, annotations=way.annotations)


def _way(
    infra: OpenStackCluster,
    ours: Ours,
    inventory: NetworkInventory,
    place: Place,
    found: Endpoint,
    machines: Sequence[ControlMachine],
) -> ingress.Way:
    if is_wanted(infra.spec):
        lb = leading(infra, ours, inventory)
        return ingress.by_balancer(
            ours,
            lb,
            machines,
            name=name_of(ours, lb),
            ports=ports_of(infra.spec),
            subnets=place.subnets,
            network=place.network.id if place.network is not None else "",
        )
    if found.floating is not None:
        return ingress.by_floating_ip(ours, found.floating, machines)
    return ingress.given(machines)


def parts(
    infra: OpenStackCluster,
    cloud: ClusterCloudFacts,
    inventory: NetworkInventory,
    ours: Ours,
    *,
    machines: Sequence[ControlMachine],
    bastion: bool,
) -> tuple[list[Part], Reached]:
    """The parts, and how the `machines` of the control plane are reached. `bastion`: there is one, or shall be one."""
    spec = infra.spec
    seen = managed_network.made(spec, ours, inventory, look_up(spec, cloud.answers))
    made = [
        *_by_condition(seen.obstacles, _fields(infra, seen)),
        *(step(spec, ours, inventory, seen) for step in managed_network.STEPS),
        groups(spec, ours, inventory, seen, bastion=bastion, blockers=cloud.blockers),
    ]
    if is_provisioned(infra):  # else a group that is still in use would hold up the cluster
        made.append(retired(spec, ours, inventory, bastion=bastion))
    if seen.obstacles:  # what is not known now must not look as if it were not there
        return held([*made, ENDPOINT.awaits("what the spec names")]), Reached(parts=(), where=None)
    place = Place(
        network=seen.network,
        subnets=seen.subnets,
        router=seen.router,
        external=seen.external,
        answers=cloud.answers,
        resolved=cloud.resolved,
        routed=all(part.is_there for part in made if part.condition == ROUTER_READY),
        led=any(map(is_led, machines)),
        ports=frozenset(port for each in machines for port in each.ports),
    )
    reached = reach(infra, ours, inventory, place, machines=machines, blockers=cloud.blockers)
    return held([*made, *reached.parts]), reached


def _by_condition(obstacles: Iterable[Obstacle], fields: dict[str, Any]) -> Iterable[Part]:
    for part in (NETWORK, ROUTER, GROUPS):
        own = tuple(each for each in obstacles if each.part == part.condition)
        yield replace(part, obstacles=own, fields=fields if part is NETWORK else {})


def _fields(infra: OpenStackCluster, seen: Found) -> dict[str, Any]:
    """What was found, for the status; what was not found now stays as it was."""
    spec, fields = infra.spec, dict[str, Any]()
    if seen.network is not None:
        fields["network"] = network_status(seen.network, seen.subnets)
    if seen.external is not None or spec.disable_external_network:
        fields["externalNetwork"] = network_status(seen.external) if seen.external is not None else None
    if seen.router is not None:
        fields["router"] = router_status(seen.router)
    if seen.zones is not None:
        fields["failureDomains"] = failure_domains(spec, seen.zones) or None
    return fields
