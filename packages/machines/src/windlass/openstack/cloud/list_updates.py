"""Updates the lists of a project with the effect of an answered request, without listing again."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from windlass.kube.foreign import read_json
from windlass.openstack.cloud import network_requests as networks
from windlass.openstack.cloud import requests
from windlass.openstack.cloud.balancer_requests import DeleteLoadBalancer, DescribeBalancer, PartOfBalancer
from windlass.openstack.cloud.failures import Doubtful
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.kinds import KINDS, NEUTRON
from windlass.openstack.cloud.list_cache import ListCache
from windlass.openstack.cloud.resources import (
    FloatingIp,
    LoadBalancer,
    Markable,
    Port,
    PortAddress,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    Server,
    Subnet,
    Trunk,
    Volume,
)
from windlass.openstack.cloud.wire import UNREADABLE, Answer

GONE = 404
R = TypeVar("R", bound=Markable)
T = TypeVar("T")


def after(request: requests.CloudRequest, answer: Answer, lists: Mapping[type[Any], ListCache[Any]]) -> Any:
    """Lay the effect of `request` over the `lists`; returns the resource that a creating request made."""
    try:
        return _after(request, answer, lists)
    except UNREADABLE as error:
        text = f"the answer to {request.verb} {request.subject} cannot be read: {error}"
        raise Doubtful(request.SERVICE, text, code=answer.status) from None


def _after(request: requests.CloudRequest, answer: Answer, lists: Mapping[type[Any], ListCache[Any]]) -> Any:
    servers, ports, trunks, volumes = (lists[kind] for kind in (Server, Port, Trunk, Volume))
    match request:
        case requests.Creation():
            made = _made(request, answer)
            lists[request.OF].put(made)
            return made
        case DescribeBalancer() | DeleteLoadBalancer() | PartOfBalancer():
            _after_balancing(request, lists[LoadBalancer])
        case requests.SetTags():
            _change(lists[NEUTRON[request.collection]], request.id, tags=list(request.tags))
        case requests.SetAddressPairs():
            _change(ports, request.id, allowed_address_pairs=_decoded(answer, "port", Port).allowed_address_pairs)
        case requests.Describe():
            _change(lists[NEUTRON[request.collection]], request.id, description=request.description)
        case requests.MarkServer():
            _mark(servers, request.id, request.mark)
        case requests.MarkVolume():
            _mark(volumes, request.id, request.mark)
        case requests.RemoveSubports():
            _change(trunks, request.id, sub_ports=[])
            _change_parent(ports, request.id, {"sub_ports": []})
        case requests.ReleaseVolume():
            _change(volumes, request.volume, status="available")
        case requests.DeleteServer() if answer.status != GONE:
            _change(servers, request.id, task_state="deleting")
        case requests.DeleteVolume() if answer.status != GONE:
            _change(volumes, request.id, status="deleting")
        case requests.Deletion():
            lists[request.OF].drop(request.id)
            if isinstance(request, requests.DeleteTrunk):
                _change_parent(ports, request.id, None)
            if isinstance(request, requests.DeletePort):
                port_gone(request.id, lists)
            if isinstance(request, networks.DeleteNetwork):
                for subnet in [each for each in lists[Subnet].all() if each.network_id == request.id]:
                    lists[Subnet].drop(subnet.id)
        case _:
            _after_networking(request, answer, lists)
    return None


def port_gone(which: str, lists: Mapping[type[Any], ListCache[Any]]) -> None:
    """A port is deleted, and Neutron has taken its floating IPs off it."""
    lists[Port].drop(which)
    for floating in [each for each in lists[FloatingIp].all() if which and each.port_id == which]:
        lists[FloatingIp].put(structs.replace(floating, port_id=None))


def _after_balancing(request: requests.CloudRequest, balancers: ListCache[LoadBalancer]) -> None:
    """Any write makes the load balancer busy for a while, until it is listed again."""
    match request:
        case DescribeBalancer():
            _change(balancers, request.id, description=request.description, provisioning_status="PENDING_UPDATE")
        case DeleteLoadBalancer():
            _change(balancers, request.id, provisioning_status="PENDING_DELETE")
        case PartOfBalancer():
            _change(balancers, request.balancer, provisioning_status="PENDING_UPDATE")


def _after_networking(
    request: requests.CloudRequest, answer: Answer, lists: Mapping[type[Any], ListCache[Any]]
) -> None:
    ports = lists[Port]
    match request:
        case networks.ChangeNameservers():
            _change(lists[Subnet], request.id, dns_nameservers=list(request.nameservers))
        case networks.SetGateway():
            _change(
                lists[Router],
                request.id,
                external_gateway_info=_decoded(answer, "router", Router).external_gateway_info,
            )
        case networks.AddInterface():
            made = read_json(answer.body)
            addresses = [PortAddress(subnet_id=request.subnet)]
            ports.put(
                Port(
                    id=made["port_id"],
                    network_id=request.network,
                    device_id=request.id,
                    device_owner="network:router_interface",
                    fixed_ips=addresses,
                )
            )
        case networks.RemoveInterface():
            for port in list(ports.all()):
                if port.device_id == request.id and any(each.subnet_id == request.subnet for each in port.fixed_ips):
                    ports.drop(port.id)
        case networks.CreateRules():
            made = read_json(answer.body, dict[str, msgspec.Raw])
            rules = read_json(made.get("security_group_rules", b"[]"), list[SecurityGroupRule])
            added = rules or [read_json(made["security_group_rule"], SecurityGroupRule)]
            _change_rules(lists, request.id, add=added)
        case networks.DeleteRule():
            _change_rules(lists, request.group, without=request.id)
        case networks.AssociateFloatingIp():
            lists[FloatingIp].put(_decoded(answer, "floatingip", FloatingIp))


def _decoded(answer: Answer, envelope: str, kind: type[T]) -> T:
    found: dict[str, T] = read_json(answer.body, dict[str, kind])  # type: ignore[valid-type]
    return found[envelope]


def _change_rules(
    lists: Mapping[type[Any], ListCache[Any]], group: str, *, add: Sequence[SecurityGroupRule] = (), without: str = ""
) -> None:
    groups: ListCache[SecurityGroup] = lists[SecurityGroup]
    if (found := groups.get(group)) is not None:
        kept = [each for each in found.security_group_rules if each.id != without]
        groups.put(structs.replace(found, security_group_rules=[*kept, *add]))


def _made(request: requests.Creation, answer: Answer) -> Any:
    made = _decoded(answer, KINDS[request.OF].envelope, request.OF)
    if isinstance(made, Server):  # Nova's answer has little more than the ID
        return structs.replace(made, name=request.body.get("name", ""), metadata=dict(request.body.get("metadata", {})))
    return made


def _change(listing: ListCache[R], which: str, **fields: Any) -> None:
    if (item := listing.get(which)) is not None:
        listing.put(structs.replace(item, **fields))


def _change_parent(ports: ListCache[Port], trunk: str, details: Mapping[str, Any] | None) -> None:
    """The parent port of a trunk shows the trunk too."""
    for port in list(ports.all()):
        if port.trunk_details and port.trunk_details.get("trunk_id") == trunk:
            told = {**port.trunk_details, **details} if details is not None else None
            ports.put(structs.replace(port, trunk_details=told))


def _mark(listing: ListCache[R], which: str, mark: str) -> None:
    item = listing.get(which)
    if isinstance(item, Server | Volume):
        listing.put(structs.replace(item, metadata={**item.metadata, MARK: mark}))
