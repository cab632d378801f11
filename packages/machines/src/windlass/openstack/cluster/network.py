"""The network of an OpenStackCluster, its subnets, its router and the external network, as the cloud has them; and its
failure domains.

| spec | what is taken |
|---|---|
| `network` | the one that matches |
| `subnets` | for each the one that matches, on the network; without any, all subnets of the network |
| no `network` | that of the first of `subnets` |
| `router` | the one that matches |
| `externalNetwork` | the external one that matches; without it, the only external one, if there is one |
| `disableExternalNetwork` | none |

The second question may depend on the first answer, so ask until `queries` has nothing new:

    while wanted := [query for query in queries(spec, answers) if query not in answers]:
        answers |= await project.find(wanted)
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import capo_cluster as api
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.resources import Network, PortAddress, Resource, Router, Subnet, Zone
from windlass.openstack.cluster.part import NETWORK, ROUTER, SUBNET, Obstacle, Part
from windlass.openstack.filters import EXTERNAL, network_query, router_query, subnet_query
from windlass.openstack.status import Reason

T = TypeVar("T", Network, Subnet, Router)

ZONES: Final = Query("zone")


class Found(Struct, frozen=True, kw_only=True):
    """What the cloud has. `zones`: the available ones; None: it did not say. `router_addresses`: those of
    `externalRouterIPs`, as far as their subnets were found."""

    network: Network | None = None
    subnets: tuple[Subnet, ...] = ()
    external: Network | None = None
    router: Router | None = None
    router_addresses: tuple[PortAddress, ...] = ()
    zones: tuple[str, ...] | None = None
    obstacles: tuple[Obstacle, ...] = ()


def queries(spec: api.OpenStackClusterSpec, answers: Answers) -> tuple[Query, ...]:
    """What has to be asked, as far as the answers so far tell."""
    network, subnets = network_query(spec.network), _subnets(spec)
    asked = [network, *subnets, _external(spec), router_query(spec.router), *_router_subnets(spec), ZONES]
    first = network if network is not None else subnets[0] if subnets else None
    answer = answers.get(first, ()) if first is not None else ()
    for each in () if isinstance(answer, CloudFailure) else answer:
        if isinstance(each, Network) and not subnets:
            asked.append(_all_subnets(each))
        elif isinstance(each, Subnet):
            asked.append(Query("network", id=each.network_id))
    return tuple(dict.fromkeys(each for each in asked if each is not None))


def look_up(spec: api.OpenStackClusterSpec, answers: Answers) -> Found:
    """What the answers mean, with all that is in the way."""
    lookup = _Lookup(spec, answers)
    network, subnets = lookup.network()
    external = lookup.external()
    found = Found(
        network=network,
        subnets=subnets,
        external=external,
        router=lookup.router(),
        router_addresses=lookup.router_addresses(external),
        zones=lookup.zones(),
    )
    return replace(found, obstacles=tuple(lookup.obstacles))


def network_status(found: Network, subnets: Sequence[Subnet] = ()) -> dict[str, Any]:
    """The tree of `status.network`, or of `status.externalNetwork`."""
    below = [{"id": each.id, "name": each.name, "cidr": each.cidr, "tags": each.tags} for each in subnets]
    whole: dict[str, Any] = {"id": found.id, "name": found.name, "tags": found.tags, "subnets": below}
    return {name: value for name, value in whole.items() if value}


def router_status(found: Router) -> dict[str, Any]:
    """The tree of `status.router`, with its addresses on the external network."""
    gateway = found.external_gateway_info
    ips = [each.ip_address for each in gateway.external_fixed_ips] if gateway is not None else []
    whole: dict[str, Any] = {"id": found.id, "name": found.name, "tags": found.tags, "ips": ips}
    return {name: value for name, value in whole.items() if value}


def failure_domains(spec: api.OpenStackClusterSpec, zones: Sequence[str]) -> list[dict[str, Any]]:
    """The tree of `status.failureDomains`: the available zones of Nova, and which are for the control plane."""
    chosen = spec.control_plane_availability_zones
    by_default = not spec.control_plane_omit_availability_zone
    return [{"name": zone, "controlPlane": zone in chosen if chosen else by_default} for zone in sorted(zones)]


class Lookup:
    """Reads `answers`. It goes on after an obstacle, and collects all obstacles."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.obstacles: list[Obstacle] = []

    def one(self, query: Query, kind: type[T], of: Part, field: str, *, within: str = "", what: str = "") -> T | None:
        """The only one that matches, on the network `within`; None with an obstacle to the part `of`."""
        answer = self.answer(query, of)
        if answer is None:
            return None
        found = [each for each in answer if isinstance(each, kind)]
        if within:
            found = [each for each in found if isinstance(each, Subnet) and each.network_id == within]
        if len(found) == 1:
            return found[0]
        there = f"no {what}{query} exists" if not found else f"{len(found)} match {what}{query}"
        where = f" on network {within}" if within else ""
        self.add(of, f"{field}: {there}{where}: {'name one by id' if found else 'correct it'}")
        return None

    def answer(self, query: Query, of: Part, doing: str = "") -> "tuple[Resource, ...] | None":
        answer = self._answers.get(query, ())
        if isinstance(answer, CloudFailure):
            doing = doing or f"look up {query}"
            self.obstacles.append(Obstacle(of.condition, Reason.OPENSTACK_ERROR, answer, doing))
            return None
        return answer

    def add(self, of: Part, why: str, reason: Reason | None = None) -> None:
        self.obstacles += of.hindered(why, reason).obstacles


class _Lookup(Lookup):
    def __init__(self, spec: api.OpenStackClusterSpec, answers: Answers) -> None:
        super().__init__(answers)
        self._spec = spec

    def network(self) -> tuple[Network | None, tuple[Subnet, ...]]:
        query, subnets = network_query(self._spec.network), _subnets(self._spec)
        if query is None and not subnets:
            if not self._spec.managed_subnets:
                text = "no network is named: set spec.network, spec.subnets or both"
                self.add(NETWORK, text, Reason.INVALID_CONFIGURATION)
            return None, ()
        network = None
        if query is not None:
            network = self.one(query, Network, NETWORK, "spec.network")
            if network is None:
                return None, ()
        found: list[Subnet] = []
        for place, asked in enumerate(subnets):
            field = f"spec.subnets[{place}]"
            within = network.id if network is not None else found[0].network_id if found else ""
            one = self.one(asked, Subnet, SUBNET, field, within=within)
            if one is None:
                return network, tuple(found)
            found.append(one)
        if network is None:
            asked_network = Query("network", id=found[0].network_id)
            network = self.one(asked_network, Network, NETWORK, "the network of spec.subnets[0]")
        if network is not None and not subnets:
            every = self.answer(_all_subnets(network), NETWORK)
            found = [each for each in every or () if isinstance(each, Subnet)]
            if every == ():
                text = f"network {network.name or network.id} has no subnets: add one to it"
                self.add(SUBNET, text)
        return network, tuple(found)

    def external(self) -> Network | None:
        query = _external(self._spec)
        if query is None:
            return None
        if self._spec.external_network is not None:
            field = "spec.externalNetwork"
            return self.one(query, Network, NETWORK, field, what="external ")
        found = [each for each in self.answer(query, NETWORK) or () if isinstance(each, Network)]
        if len(found) > 1:
            names = ", ".join(sorted(each.name or each.id for each in found))
            text = f"there are several external networks ({names}): name one in spec.externalNetwork"
            self.add(NETWORK, text)
            return None
        return found[0] if found else None

    def router(self) -> Router | None:
        query = router_query(self._spec.router)
        if query is None:
            return None
        return self.one(query, Router, ROUTER, "spec.router")

    def router_addresses(self, external: Network | None) -> tuple[PortAddress, ...]:
        """What of `externalRouterIPs` is on the external network."""
        found = []
        for place, query in enumerate(_router_subnets(self._spec)) if external is not None else ():
            field, within = f"spec.externalRouterIPs[{place}].subnet", external.id if external is not None else ""
            one = self.one(query, Subnet, ROUTER, field, within=within)
            if one is not None:
                found.append(PortAddress(one.id, self._spec.external_router_ips[place].fixed_ip))
        return tuple(found)

    def zones(self) -> tuple[str, ...] | None:
        answer = self.answer(ZONES, NETWORK)
        if answer is None:
            return None
        return tuple(sorted(each.name for each in answer if isinstance(each, Zone) and each.state.available))


def _subnets(spec: api.OpenStackClusterSpec) -> list[Query]:
    return [query for each in spec.subnets if (query := subnet_query(each)) is not None]


def _router_subnets(spec: api.OpenStackClusterSpec) -> list[Query]:
    """Those of `externalRouterIPs`, which say something only where the cluster has a network of its own."""
    wanted = spec.external_router_ips if spec.managed_subnets else []
    return [subnet_query(each.subnet) or Query("subnet") for each in wanted]


def _all_subnets(network: Network) -> Query:
    return Query("subnet", filters=(("network_id", network.id),))


def _external(spec: api.OpenStackClusterSpec) -> Query | None:
    """Networks by their ID are asked for with the others: Neutron takes both filters."""
    if spec.disable_external_network:
        return None
    query = network_query(spec.external_network) or Query("network")
    return replace(query, filters=(*query.filters, EXTERNAL))
