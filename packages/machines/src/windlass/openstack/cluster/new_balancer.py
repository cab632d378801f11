"""The request that creates the load balancer of the API servers: where it stands, and what makes it.

| field | taken from |
|---|---|
| network, subnet | `network` and one of `subnets`; without them, a subnet of the cluster: `vip_subnet` says which |
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
from windlass.openstack.cluster.vip_subnet import NO_IPV4, vip_subnet
from windlass.openstack.filters import network_query, subnet_query
from windlass.openstack.status import Reason

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
    primary = subnet_query(infra.spec.primary_subnet) if wanted.network is None else None
    asked = [network_query(wanted.network), *map(subnet_query, wanted.subnets), primary]
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
    address = _vip_address(infra, place, lookup)
    floats = bool(infra.spec.api_server_floating_ip) or (
        place.external is not None and not infra.spec.disable_api_server_floating_ip
    )
    vip = lookup.network(infra.spec, address, floats=floats) | ({"vip_address": address} if address else {})
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

    def network(self, spec: api.OpenStackClusterSpec, address: str, *, floats: bool) -> dict[str, str]:
        """The network and subnet of the virtual address: those of the spec, else a subnet of the cluster."""
        asked = network_query(self._wanted.network)
        if asked is None:
            primary = None
            if (query := subnet_query(spec.primary_subnet)) is not None and self._place.network is not None:
                primary = self.one(query, Subnet, ENDPOINT, "spec.primarySubnet", within=self._place.network.id)
                if primary is None:
                    return {}
            listed = bool(spec.subnets)
            return self._subnet(
                vip_subnet(self._place.subnets, address=address, primary=primary, floats=floats, listed=listed)
            )
        network = self.one(asked, Network, ENDPOINT, "spec.apiServerLoadBalancer.network")
        if network is None:
            return {}
        subnets = [query for each in self._wanted.subnets if (query := subnet_query(each)) is not None]
        if not subnets:
            return {"vip_network_id": network.id}
        found = []
        for place, query in enumerate(subnets):
            field = f"spec.apiServerLoadBalancer.subnets[{place}]"
            subnet = self.one(query, Subnet, ENDPOINT, field, within=network.id)
            if subnet is None:
                return {}
            found.append(subnet)
        chosen = self._subnet(vip_subnet(found, address=address, floats=floats, listed=True))
        return {"vip_network_id": network.id, **chosen} if chosen else {}

    def _subnet(self, chosen: Subnet | None) -> dict[str, str]:
        if chosen is None:
            self.add(ENDPOINT, NO_IPV4, Reason.INVALID_CONFIGURATION)
            return {}
        return {"vip_subnet_id": chosen.id}

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


def _vip_address(infra: api.OpenStackCluster, place: Place, lookup: _Lookup) -> str:
    """The address that it had, else that of the spec, else the one that people reach it by; empty if none is known."""
    spec, recorded = infra.spec, infra.status.api_server_load_balancer
    address = (recorded.internal_ip if recorded is not None else "") or spec.api_server_fixed_ip or ""
    if not address and spec.disable_api_server_floating_ip:
        if isinstance(place.resolved, Unresolved):
            lookup.add(ENDPOINT, place.resolved.why)
        else:
            given = spec.control_plane_endpoint
            address = place.resolved or literal(given.host if given is not None else "")
    return address


def _flavor_query(name: str | None) -> Query | None:
    return Query("load balancer flavor", filters=(("name", name),)) if name else None
