"""The endpoint of the API servers: the address that Cluster API hands to everybody, and the floating IP behind it.

| spec | host |
|---|---|
| `controlPlaneEndpoint` | that one; it cannot be changed once it is stored |
| a load balancer | its floating IP, or its address where there is none |
| `apiServerFloatingIP`, or an external network and no `disableAPIServerFloatingIP` | a floating IP |
| `apiServerFixedIP` | that address |

| floating IP | |
|---|---|
| `apiServerFloatingIP` | it belongs to the user: it is looked up and used, and never deleted |
| else the one with the mark, recorded or described as ours | it is used, and deleted with the cluster |
| else, where an address is known already: recorded, or that of the endpoint's host | that address, adopted if an \
earlier provider made it, the user's if somebody else did; else it is asked for |
| else, where an earlier provider made one and nothing records it | `unmarked` |
| else | a new one |

A floating IP leads to the load balancer once its address is stored. Without a load balancer it leads to a machine of
the control plane: `windlass.openstack.cluster.ingress`. It is never led away from a port that is not the cluster's, and
as long as it leads to one, it gets no mark.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import capo_cluster as api
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.network_requests import CreateFloatingIp
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp, LoadBalancer
from windlass.openstack.cluster import unmarked
from windlass.openstack.cluster.admitted import literal
from windlass.openstack.cluster.balancer import is_wanted, leading, ports_of
from windlass.openstack.cluster.names import of_provider
from windlass.openstack.cluster.new_balancer import Place
from windlass.openstack.cluster.part import ENDPOINT, Ours, Part
from windlass.openstack.cluster.snapshot import Unresolved
from windlass.openstack.cluster.unmarked import leads_elsewhere, own_ports

PURPOSE: Final = "API endpoint made"
"""How the description of the floating IP begins."""
_NO_ENDPOINT: Final = (
    "unable to determine control plane endpoint: set spec.controlPlaneEndpoint, or spec.apiServerFixedIP and "
    "spec.disableAPIServerFloatingIP to true, or name an external network"
)


class Endpoint(Struct, frozen=True, kw_only=True):
    """`host` is empty as long as it is not known. `floating`: what leads to the control plane, if something does."""

    part: Part
    host: str = ""
    port: int
    floating: FloatingIp | None = None


def address_of(infra: api.OpenStackCluster) -> str:
    """The floating IP by its address, if one is known: the user's, else what is recorded, else the endpoint."""
    spec, recorded = infra.spec, infra.status.api_server_load_balancer
    if spec.api_server_floating_ip:
        return spec.api_server_floating_ip
    return (recorded.ip if recorded is not None else "") or literal(host_of(infra))


def host_of(infra: api.OpenStackCluster) -> str:
    given = infra.spec.control_plane_endpoint
    return given.host if given is not None else ""


def name_to_resolve(infra: api.OpenStackCluster) -> str:
    """The host of the endpoint, if it is a name whose address decides something: that of the load balancer is not
    known yet. Empty if nothing has to be resolved."""
    spec, host = infra.spec, host_of(infra)
    if not host or literal(host) or not is_wanted(spec) or address_of(infra):
        return ""
    recorded = infra.status.api_server_load_balancer
    known = (recorded is not None and recorded.internal_ip) or spec.api_server_fixed_ip
    return "" if spec.disable_api_server_floating_ip and known else host


def endpoint(
    infra: api.OpenStackCluster, ours: Ours, inventory: NetworkInventory, place: Place, *, balanced: Part | None = None
) -> Endpoint:
    """`balanced`: the part that is the load balancer, if one is wanted."""
    found = leading(infra, ours, inventory)
    told = balanced.fields if balanced is not None else {}
    return _Step(infra, ours, inventory, place, found.balancer if found is not None else None, told).endpoint()


class _Step(Struct, frozen=True):
    infra: api.OpenStackCluster
    ours: Ours
    inventory: NetworkInventory
    place: Place
    lb: LoadBalancer | None
    told: Mapping[str, Any]

    def endpoint(self) -> Endpoint:
        spec = self.infra.spec
        floating = self._floating() if self._floats else None
        if isinstance(floating, Part):
            return self._reported(floating)
        host = host_of(self.infra)
        if is_wanted(spec):
            return self._balanced(floating, host)
        host = host or (floating.floating_ip_address if floating is not None else spec.api_server_fixed_ip or "")
        if not host:
            return self._reported(ENDPOINT.hindered(_NO_ENDPOINT))
        requests = self._upkeep(floating) if floating is not None else ()
        return self._reported(ENDPOINT.needs(*requests, why="the floating IP of the API servers"), host, floating)

    @property
    def _floats(self) -> bool:
        """There is a floating IP, or there is to be one. Without a load balancer, an endpoint that was given is left
        alone, unless it is the floating IP of an earlier provider or of ours, or was one until somebody deleted it."""
        spec = self.infra.spec
        if spec.api_server_floating_ip:
            return True
        if spec.disable_api_server_floating_ip or self.place.external is None:
            return False
        return is_wanted(spec) or not host_of(self.infra) or self.place.led or self._known() is not None

    def _balanced(self, floating: FloatingIp | None, host: str) -> Endpoint:
        if self.lb is None:
            return self._reported(ENDPOINT, host, floating)
        if floating is None:
            return self._reported(ENDPOINT, host or self.lb.vip_address or "")
        address, requests = floating.floating_ip_address, self._upkeep(floating)
        recorded = self.infra.status.api_server_load_balancer
        stored = recorded is not None and recorded.ip == address
        if floating.port_id != self.lb.vip_port_id and stored:
            if not self._leads_to_ours(floating):
                return self._reported(self._elsewhere(floating), host or address)
            if not self.place.routed:  # Neutron would refuse it
                return self._reported(ENDPOINT.awaits("the router"), host or address)
            requests.append(self.ours.lead(floating, self.lb.vip_port_id))
        fields = {"apiServerLoadBalancer": {**self.told.get("apiServerLoadBalancer", {}), "ip": address}}
        part = replace(ENDPOINT, fields=fields).needs(*requests, why="the load balancer gets its floating IP")
        part = part if stored else part.awaits(f"floating IP {address} to be stored")
        return self._reported(part, host or address, floating)

    def _elsewhere(self, floating: FloatingIp) -> Part:
        text = leads_elsewhere(floating)
        if self.infra.spec.api_server_floating_ip:
            text = f"{text}; or name another one in spec.apiServerFloatingIP"
        return ENDPOINT.hindered(text)

    def _leads_to_ours(self, floating: FloatingIp) -> bool:
        """It leads nowhere, or to the load balancer or a machine of the cluster."""
        return not floating.port_id or floating.port_id in self.place.ports | own_ports(self.ours, self.inventory)

    def _known(self) -> FloatingIp | None:
        """The floating IP as it exists; one of somebody else only where there is a load balancer for it."""
        address = address_of(self.infra) or (self.place.resolved if isinstance(self.place.resolved, str) else "")
        found = [each for each in self.inventory.floating_ips if each.floating_ip_address == address]
        if found and (self._is_ours(found[0]) or self._is_earlier(found[0]) or self._is_used):
            return found[0]
        mine = (
            each for each in self.inventory.floating_ips if self._is_ours(each) and each.description.startswith(PURPOSE)
        )
        return None if self.infra.spec.api_server_floating_ip else next(mine, None)

    @property
    def _is_used(self) -> bool:
        return bool(self.infra.spec.api_server_floating_ip) or is_wanted(self.infra.spec)

    def _floating(self) -> FloatingIp | Part:
        """The floating IP, or what comes before it."""
        if (found := self._known()) is not None:
            return found
        spec, resolved = self.infra.spec, self.place.resolved
        if spec.api_server_floating_ip:
            text = (
                f"spec.apiServerFloatingIP: the project has no floating IP {spec.api_server_floating_ip}: create it, "
                "or leave the field out"
            )
            return ENDPOINT.hindered(text)
        if isinstance(resolved, Unresolved):
            return ENDPOINT.hindered(resolved.why)
        address = address_of(self.infra) or resolved
        if not address and (step := self._unmarked()) is not None:
            return step
        if not self.inventory.certain:
            return ENDPOINT.uncertain(self.inventory)
        assert self.place.external is not None
        body = {
            "floating_network_id": self.place.external.id,
            "description": described(self.ours.description(PURPOSE), self.ours.mark),
            **({"floating_ip_address": address} if address else {}),
        }
        create = self.ours.create(CreateFloatingIp, "of the API servers", body)
        return ENDPOINT.needs(create, why="the API servers are reached by it")

    def _unmarked(self) -> Part | None:
        found = self.inventory.unmarked.floating_ips
        return unmarked.floating_ip(ENDPOINT, found, leads_to_ours=self._leads_to_ours, adopt=self._adopt)

    def _adopt(self, floating: FloatingIp) -> CloudRequest:
        return self.ours.describe(floating, described(self.ours.description(PURPOSE), self.ours.mark))

    def _upkeep(self, floating: FloatingIp) -> list[CloudRequest]:
        """Mark and tags of one that is ours, or was an earlier provider's; neither on one that the user has pinned."""
        pinned, ours = self.infra.spec.api_server_floating_ip, self._is_ours(floating)
        requests = list[CloudRequest]()
        if ours and pinned:
            requests.append(self.ours.describe(floating, self.ours.description(PURPOSE)))
        elif not ours and not pinned and self._is_earlier(floating) and self._leads_to_ours(floating):
            requests.append(self._adopt(floating))
        if ours and not pinned:
            requests += self.ours.tag(floating)
        return requests

    def _is_ours(self, floating: FloatingIp) -> bool:
        return mark_of(floating) == self.ours.mark

    def _is_earlier(self, floating: FloatingIp) -> bool:
        """An earlier provider made it for this cluster."""
        return floating.description == of_provider(self.ours.cluster)

    def _reported(self, part: Part, host: str = "", floating: FloatingIp | None = None) -> Endpoint:
        return Endpoint(part=part, host=host, port=ports_of(self.infra.spec)[0], floating=floating)
