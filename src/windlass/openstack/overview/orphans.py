"""Resources with the mark of an object that does not exist, and the requests that delete them. Pure.

Such an orphan is left when an object was removed without its finalizer, or its whole management cluster. To the cluster
that is asked, the resources of another cluster that uses the same project look the same.

| there is | next |
|---|---|
| servers, trunks, ports, volumes | as their owner would delete them (`windlass.openstack.instance.delete`) |
| load balancers, with all their parts; floating IPs | delete them, at the same time |
| none of those any more, and routers | take the interfaces off, then delete them |
| no routers any more, and networks, security groups | delete them |
"""

import uuid
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from windlass.openstack.cloud.balancer_requests import DeleteLoadBalancer
from windlass.openstack.cloud.estate import Estate
from windlass.openstack.cloud.holdings import Holdings
from windlass.openstack.cloud.inventory import Inventory
from windlass.openstack.cloud.network_requests import (
    DeleteFloatingIp,
    DeleteNetwork,
    DeleteRouter,
    DeleteSecurityGroup,
    RemoveInterface,
)
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp, Markable, Server
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.step import Await, Send, Stuck, Vanished
from windlass.openstack.overview.tree import NAMES

YOUNG: Final = timedelta(hours=1)
_DELETABLE: Final = frozenset({"ACTIVE", "ERROR"})
"""The states in which Octavia takes the request to delete a load balancer."""
_INTERFACES: Final = "network:router_interface", "network:ha_router_replicated_interface"
_OF_OBJECTS: Final = 4
"""The version of the uuids that objects have as marks. Those of `create_instance` have another."""


class Orphan(Struct, frozen=True):
    """A resource. `kind` is its name for people; `created` is as its service tells it."""

    kind: str
    name: str
    id: str
    mark: str
    created: str = ""


class Next(Struct, frozen=True):
    """What can be sent now for a mark; `waits`: what the cloud is doing; `stuck`: why the rest cannot go."""

    requests: tuple[CloudRequest, ...] = ()
    waits: str = ""
    stuck: str = ""


def orphans(holdings: Holdings, known: Collection[str]) -> list[Orphan]:
    """What has a mark that no object has. `known`: the marks of all objects, and all IDs that they name. If an object
    names only one resource of a mark, none of the mark is an orphan: its owner may have lost its annotation."""
    found = [(mark, each) for mark, each in holdings.marked() if is_of_object(mark)]
    owned = {mark for mark, each in found if mark in known or each.id in known}
    return [
        Orphan(NAMES[type(each)], _name(each), each.id, mark, _created(each))
        for mark, each in found
        if mark not in owned
    ]


def is_of_object(mark: str) -> bool:
    """Whether an object of Kubernetes can have this mark."""
    try:
        return uuid.UUID(mark).version == _OF_OBJECTS
    except ValueError:
        return False


def is_young(found: Collection[Orphan], now: datetime) -> bool:
    """Whether something of a mark was made so short a time ago that its owner may be at work, or this is not known."""
    try:
        newest = max(datetime.fromisoformat(each.created) for each in found)
        return now - (newest if newest.tzinfo else newest.replace(tzinfo=now.tzinfo)) < YOUNG
    except ValueError:
        return True


def next_requests(inventory: Inventory, estate: Estate, *, project: str, mark: str) -> Next:
    """The next step for all that has the mark; `project` is the key of the project. Nothing: it is gone."""
    requests: list[CloudRequest] = []
    waits, stuck = [], ""
    match next_deletion(inventory, project=project, mark=mark):
        case Send(requests=some):
            requests += some
        case Await(what=what):
            waits.append(what)
        case Stuck(message=why):
            stuck = why
        case Vanished(note=why):
            stuck = why
    for each in estate.balancers:
        balancer = each.balancer
        if balancer.provisioning_status in _DELETABLE:
            requests.append(DeleteLoadBalancer(project=project, mark=mark, subject=balancer.name or "", id=balancer.id))
        else:
            waits.append(f"load balancer {balancer.name} ({balancer.id}) is {balancer.provisioning_status}")
    for address in estate.floating_ips:
        subject = address.floating_ip_address
        requests.append(DeleteFloatingIp(project=project, mark=mark, subject=subject, id=address.id))
    if not (requests or waits):
        requests += _network(estate, project, mark)
    return Next(tuple(requests), "; ".join(waits), stuck)


def _network(estate: Estate, project: str, mark: str) -> Iterator[CloudRequest]:
    for router in estate.routers:
        ports = [each for each in estate.ports if each.device_id == router.id and each.device_owner in _INTERFACES]
        subnets = dict.fromkeys(address.subnet_id for port in ports for address in port.fixed_ips)
        for subnet in subnets:
            yield RemoveInterface(project=project, mark=mark, subject=router.name, id=router.id, subnet=subnet)
        if not subnets:
            yield DeleteRouter(project=project, mark=mark, subject=router.name, id=router.id)
    if not estate.routers:
        for network in estate.networks:
            yield DeleteNetwork(project=project, mark=mark, subject=network.name, id=network.id)
        for group in estate.groups:
            yield DeleteSecurityGroup(project=project, mark=mark, subject=group.name, id=group.id)


def still_there(holdings: Holdings, found: Collection[Orphan]) -> list[Orphan]:
    """Those of `found` that exist and still have their mark."""
    there = {(each.id, mark) for mark, each in holdings.marked()}
    return [each for each in found if (each.id, each.mark) in there]


def _name(resource: Markable) -> str:
    if isinstance(resource, FloatingIp):
        return resource.floating_ip_address
    return resource.name or ""


def _created(resource: Markable) -> str:
    return resource.created if isinstance(resource, Server) else resource.created_at
