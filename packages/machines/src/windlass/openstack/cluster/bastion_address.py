"""The floating IP of a bastion: which one it is, and how it comes to lead to the server.

| spec | floating IP |
|---|---|
| `bastion.floatingIP` | it belongs to the user: it is used, and never deleted; one of ours loses the mark |
| `disableExternalNetwork`, or no external network exists | none |
| else | the one with the mark that is described as the bastion's |
| there is none | that of an earlier provider, which the status records; it gets the mark |
| there is none either, but an earlier provider made one and nothing records it | `unmarked` |
| there is none either | a new one |

Its address is stored before it leads to the server. While the server is replaced it leads nowhere, and stays. It is
never led away from a port that is not the bastion's, and gets no mark as long as it leads to one. It is deleted with
the bastion, or with the cluster, and only if it has the mark.
"""

from collections.abc import Collection, Iterator
from typing import Final

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import is_true
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.network_requests import CreateFloatingIp
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp, Port
from windlass.openstack.cluster import endpoint, unmarked
from windlass.openstack.cluster.names import of_provider
from windlass.openstack.cluster.part import Ours, Part
from windlass.openstack.cluster.unmarked import leads_elsewhere, own_ports
from windlass.openstack.status import BASTION_READY, NETWORK_READY, ROUTER_READY, Reason

PURPOSE: Final = "Bastion address made"
"""How the description of the floating IP begins."""
ADDRESS: Final = Part(condition=BASTION_READY, reason=Reason.FLOATING_IP_ERROR)
_SUBJECT: Final = "of the bastion"


def pinned(infra: OpenStackCluster) -> str:
    """The address that the user has chosen; empty if there is none."""
    return (infra.spec.bastion.floating_ip or "") if infra.spec.bastion is not None else ""


def addresses_of(infra: OpenStackCluster) -> tuple[str, ...]:
    """Its floating IPs by their address: the user's, and the one that is recorded, as far as they are known."""
    had = infra.status.bastion
    return tuple(each for each in (pinned(infra), had.floating_ip if had is not None else "") if each)


def ports_of(server: OpenStackServer) -> tuple[str, ...]:
    """The IDs of its ports, which the cluster has to know beside its own."""
    resources = server.status.resources
    return tuple(each.id for each in resources.ports) if resources is not None else ()


def port_of(infra: OpenStackCluster, server: OpenStackServer, inventory: NetworkInventory) -> Port | None:
    """The first port on the network of the cluster, else the first; None if it is not known yet."""
    there = {each.id: each for each in inventory.ports}
    found = [there[each] for each in ports_of(server) if each in there]
    network = infra.status.network.id if infra.status.network is not None else ""
    return next((each for each in found if each.network_id == network), found[0] if found else None)


def next_step(
    infra: OpenStackCluster, port: Port | None, ours: Ours, inventory: NetworkInventory, *, ports: Collection[str]
) -> tuple[Part, str]:
    """What comes next for the floating IP of a server that runs, and its address (empty: not known yet, or none).

    `ports` are the IDs of all ports of the server, `port` is the one that it shall lead to."""
    found = _chosen(infra, ours, inventory)
    if off := tuple(_taken_off(found, port, ours, inventory)):
        had = infra.status.bastion
        return ADDRESS.needs(*off, why="another one takes its place"), had.floating_ip if had else ""
    if infra.spec.disable_external_network:
        return released(ours, inventory), ""
    if found is not None:
        address = found.floating_ip_address
        surplus = released(ours, inventory, keep=address)
        return (_lead(infra, found, port, ours, ports) if surplus.is_there else surplus), address
    if (address := pinned(infra)) != "":
        text = f"the project has no floating IP {address}: create it, or leave the field out"
        return ADDRESS.hindered(f"spec.bastion.floatingIP: {text}", Reason.INVALID_CONFIGURATION), ""
    external = infra.status.external_network
    if external is None:
        made = is_true(infra.status.conditions, NETWORK_READY)
        return (ADDRESS if made else ADDRESS.awaits("the external network")), ""
    others = [each for each in inventory.unmarked.floating_ips if not _is_of_endpoint(each, infra, ours, inventory)]
    step = unmarked.floating_ip(
        ADDRESS,
        others,
        leads_to_ours=lambda each: _leads_to_ours(each, ports),
        adopt=lambda each: ours.describe(each, _description(ours)),
    )
    if step is not None:
        return step, ""
    if not inventory.certain:
        return ADDRESS.uncertain(inventory), ""
    body = {"floating_network_id": external.id, "description": _description(ours)}
    return ADDRESS.needs(ours.create(CreateFloatingIp, _SUBJECT, body), why="the bastion is reached by it"), ""


def _chosen(infra: OpenStackCluster, ours: Ours, inventory: NetworkInventory) -> FloatingIp | None:
    there = {each.floating_ip_address: each for each in inventory.floating_ips}
    if address := pinned(infra):
        return there.get(address)
    recorded = [there[each] for each in addresses_of(infra) if each in there]
    kept = [each for each in recorded if _is_ours(each, ours) or _is_earlier(each, ours)]
    return next(iter((*kept, *_ours(ours, inventory))), None)


def _taken_off(
    found: FloatingIp | None, port: Port | None, ours: Ours, inventory: NetworkInventory
) -> Iterator[CloudRequest]:
    """What leads to the server, and is neither `found` nor ours."""
    for each in inventory.floating_ips:
        if port is not None and each.port_id == port.id and each != found and not _is_ours(each, ours):
            yield ours.lead(each, None)


def released(ours: Ours, inventory: NetworkInventory, *, keep: str = "") -> Part:
    """Deletes those that are ours, but for the address to `keep`."""
    gone = (ours.delete(each) for each in _ours(ours, inventory) if each.floating_ip_address != keep)
    return ADDRESS.needs(*gone, why="the bastion does not use it any more")


def _lead(infra: OpenStackCluster, found: FloatingIp, port: Port | None, ours: Ours, ports: Collection[str]) -> Part:
    """Mark and tags, then the way to the server."""
    address, had = found.floating_ip_address, infra.status.bastion
    theirs = address == pinned(infra)
    if requests := tuple(_upkeep(found, ours, theirs=theirs, free=_leads_to_ours(found, ports))):
        return ADDRESS.needs(*requests, why="whose the floating IP of the bastion is")
    if port is None:
        return ADDRESS.awaits("the port of the bastion")
    if had is None or had.floating_ip != address:
        return ADDRESS.awaits(f"floating IP {address} to be stored")
    if found.port_id == port.id:
        return ADDRESS
    if not _leads_to_ours(found, ports):
        text = leads_elsewhere(found)
        text = f"{text}; or name another one in spec.bastion.floatingIP" if theirs else text
        return ADDRESS.hindered(text, Reason.INVALID_CONFIGURATION if theirs else None)
    if not is_true(infra.status.conditions, ROUTER_READY):  # Neutron would refuse it
        return ADDRESS.awaits("the router")
    return ADDRESS.needs(ours.lead(found, port.id), why="the floating IP leads to the bastion")


def _upkeep(found: FloatingIp, ours: Ours, *, theirs: bool, free: bool) -> Iterator[CloudRequest]:
    """`theirs`: the user has chosen it, so it has no mark. `free`: it leads to nothing but the bastion."""
    if theirs and mark_of(found) == ours.mark:
        yield ours.describe(found, ours.description(PURPOSE))
    if not theirs and _is_earlier(found, ours) and free:
        yield ours.describe(found, _description(ours))
    if not theirs and free:
        yield from ours.tag(found)


def _description(ours: Ours) -> str:
    return described(ours.description(PURPOSE), ours.mark)


def _leads_to_ours(found: FloatingIp, ports: Collection[str]) -> bool:
    return not found.port_id or found.port_id in ports


def _is_of_endpoint(found: FloatingIp, infra: OpenStackCluster, ours: Ours, inventory: NetworkInventory) -> bool:
    """It is that of the API servers, which the provider describes in the same way."""
    return found.floating_ip_address == endpoint.address_of(infra) or found.port_id in own_ports(ours, inventory)


def _ours(ours: Ours, inventory: NetworkInventory) -> list[FloatingIp]:
    return [each for each in inventory.floating_ips if _is_ours(each, ours)]


def _is_ours(found: FloatingIp, ours: Ours) -> bool:
    return mark_of(found) == ours.mark and found.description.startswith(PURPOSE)


def _is_earlier(found: FloatingIp, ours: Ours) -> bool:
    """An earlier provider made it for this cluster."""
    return found.description == of_provider(ours.cluster)
