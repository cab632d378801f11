"""The request that creates the load balancer of the API servers: where it stands, and what makes it.

| field | taken from |
|---|---|
| network, subnet | `network` and the first of `subnets`; without them, the first subnet of the cluster |
| address | the recorded one; else `apiServerFixedIP`; else, without a floating IP, that of the endpoint |
| provider, flavor | those of the names; Octavia's default, and a Warning Event, where it has none so called |
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import capo_cluster as api
from windlass.openstack.cloud.balancer_requests import CreateLoadBalancer
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.resources import BalancerFlavor, BalancerProvider, Network, Router, Subnet
from windlass.openstack.cluster import unmarked
from windlass.openstack.cluster.admitted import literal
from windlass.openstack.cluster.network import Lookup
from windlass.openstack.cluster.part import ENDPOINT, News, Ours, Part
from windlass.openstack.cluster.snapshot import Unresolved
from windlass.openstack.filters import network_query, subnet_query

PROVIDERS: Final = Query("load balancer provider")


class Place(Struct, frozen=True, kw_only=True):
    """What the endpoint stands on: the network of the cluster, its router, the external network; answers to `queries`.

    `resolved`: as in `ClusterCloudFacts`. `routed`: the router connects both networks, if there is to be one. `led`: a
    machine has the annotation of the floating IP or load balancer that leads to it. `ports`: those of the machines of
    the control plane.
    """

    network: Network | None = None
    subnets: Sequence[Subnet] = ()
    router: Router | None = None
    external: Network | None = None
    answers: Answers = {}
    resolved: str | Unresolved = ""
    routed: bool = True
    led: bool = False
    ports: frozenset[str] = frozenset()


def queries(infra: api.OpenStackCluster) -> tuple[Query, ...]:
    """What must be asked before a load balancer is created; nothing once one is recorded."""
    wanted, recorded = infra.spec.api_server_load_balancer, infra.status.api_server_load_balancer
    if wanted is None or wanted.enabled is False or (recorded is not None and recorded.id):
        return ()
    asked = [network_query(wanted.network), *map(subnet_query, wanted.subnets[:1])]
    asked += [PROVIDERS if wanted.provider else None, _flavor_query(wanted.flavor)]
    return tuple(each for each in asked if each is not None)


def creation(infra: api.OpenStackCluster, ours: Ours, inventory: NetworkInventory, place: Place, *, name: str) -> Part:
    wanted = infra.spec.api_server_load_balancer
    assert wanted is not None
    if place.network is None:
        return ENDPOINT.awaits("the network of the cluster")
    on = place.network if wanted.network is None else None
    if (step := unmarked.balancer(ours, inventory.unmarked, on)) is not None:
        return step
    if not inventory.certain:
        return ENDPOINT.uncertain(inventory)
    if wanted.network is None and not place.subnets:  # Octavia refuses a network without a subnet
        return ENDPOINT.awaits("the subnet of the cluster")
    lookup = _Lookup(wanted, place)
    vip = {**lookup.network(), **_vip_address(infra, place, lookup)}
    body: dict[str, Any] = {
        "name": name,
        "description": described(ours.description(), ours.mark),
        **vip,
        **lookup.provider(),
        **lookup.flavor(),
        **({"availability_zone": wanted.availability_zone} if wanted.availability_zone else {}),
        **({"tags": list(ours.tags)} if ours.tags else {}),
    }
    if lookup.obstacles:
        return replace(ENDPOINT, obstacles=tuple(lookup.obstacles))
    part = ENDPOINT.needs(ours.create(CreateLoadBalancer, name, body), why="the API servers get a load balancer")
    return replace(part, news=tuple(lookup.news))


class _Lookup(Lookup):
    def __init__(self, wanted: api.LoadBalancer, place: Place) -> None:
        super().__init__(place.answers)
        self._wanted = wanted
        self._place = place
        self.news: list[News] = []

    def network(self) -> dict[str, str]:
        """The network and subnet of the virtual address: those of the spec, else the first subnet of the cluster."""
        asked = network_query(self._wanted.network)
        if asked is None:
            return {"vip_subnet_id": self._place.subnets[0].id}
        network = self.one(asked, Network, ENDPOINT, "spec.apiServerLoadBalancer.network")
        if network is None:
            return {}
        subnets = [query for each in self._wanted.subnets if (query := subnet_query(each)) is not None]
        if not subnets:
            return {"vip_network_id": network.id}
        field = "spec.apiServerLoadBalancer.subnets[0]"
        subnet = self.one(subnets[0], Subnet, ENDPOINT, field, within=network.id)
        return {"vip_network_id": network.id, "vip_subnet_id": subnet.id} if subnet is not None else {}

    def provider(self) -> dict[str, str]:
        if not (name := self._wanted.provider):
            return {}
        known = self.answer(PROVIDERS, ENDPOINT, "look up the providers of load balancers")
        if known is None or any(isinstance(each, BalancerProvider) and each.name == name for each in known):
            return {"provider": name}
        self.news.append(News("OctaviaProviderNotFound", f"Octavia has no provider {name}: its default is used"))
        return {}

    def flavor(self) -> dict[str, str]:
        if (query := _flavor_query(self._wanted.flavor)) is None:
            return {}
        found = self.answer(query, ENDPOINT, "look up the flavors of load balancers")
        for each in found or ():
            if isinstance(each, BalancerFlavor) and each.enabled:
                return {"flavor_id": each.id}
        text = f"Octavia has no flavor {self._wanted.flavor} that is enabled: its default is used"
        self.news.append(News("OctaviaFlavorNotFound", text))
        return {}


def _vip_address(infra: api.OpenStackCluster, place: Place, lookup: _Lookup) -> dict[str, str]:
    """The address that the load balancer had, else that of the spec, else the one that people reach it by."""
    spec, recorded = infra.spec, infra.status.api_server_load_balancer
    address = (recorded.internal_ip if recorded is not None else "") or spec.api_server_fixed_ip or ""
    if not address and spec.disable_api_server_floating_ip:
        if isinstance(place.resolved, Unresolved):
            lookup.add(ENDPOINT, place.resolved.why)
        else:
            given = spec.control_plane_endpoint
            address = place.resolved or literal(given.host if given is not None else "")
    return {"vip_address": address} if address else {}


def _flavor_query(name: str | None) -> Query | None:
    return Query("load balancer flavor", filters=(("name", name),)) if name else None
