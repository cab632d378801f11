"""How the API servers are reached: the load balancer, the endpoint, and the way from there to the machines."""

from collections.abc import Sequence

from msgspec import Struct

from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.plan import Merge
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cluster import ingress
from windlass.openstack.cluster.balancer import balancer, is_wanted, leading, name_of, ports_of
from windlass.openstack.cluster.endpoint import Endpoint, endpoint
from windlass.openstack.cluster.new_balancer import Place
from windlass.openstack.cluster.part import Ours, Part
from windlass.openstack.cluster.snapshot import ControlMachine


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
