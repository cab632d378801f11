"""Resources with the mark of an object that does not exist, and the requests that delete them. Pure.

Such an orphan is left when an object was removed without its finalizer, or its whole management cluster. To the cluster
that is asked, the resources of another cluster that uses the same project look the same.

They go as their owners would delete them: first servers with all that they have (`windlass.openstack.instance.delete`),
then load balancers, addresses and networks (`windlass.openstack.cluster.removal`).
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from windlass.kube.clock import rfc3339
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import is_root_of_object, root_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cloud.resources import FloatingIp, Markable, Server
from windlass.openstack.cluster import balancer
from windlass.openstack.cluster.part import Ours
from windlass.openstack.cluster.removal import removal
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.step import Await, Send, Stuck, Vanished

YOUNG: Final = timedelta(hours=1)


class Orphan(Struct, frozen=True):
    """A resource. `kind` is its name for people; `created`: RFC 3339; empty if that is not known."""

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


def orphans(inventory: ProjectInventory, known: Collection[str]) -> list[Orphan]:
    """What has a mark that no object has. `known`: roots of the marks of all objects, and all IDs that they name. If an
    object names only one resource of a mark, none of the mark is an orphan: its owner may have lost its annotation."""
    found = [(mark, each) for mark, each in inventory.marked() if is_root_of_object(root_of(mark))]
    owned = {mark for mark, each in found if root_of(mark) in known or each.id in known}
    return [
        Orphan(KINDS[type(each)].name, _name(each), each.id, mark, _created(each))
        for mark, each in found
        if mark not in owned
    ]


def is_young(found: Collection[Orphan], now: datetime) -> bool:
    """Whether something of a mark was made so short a time ago that its owner may be at work, or this is not known."""
    try:
        return now - max(datetime.fromisoformat(each.created) for each in found) < YOUNG
    except ValueError:
        return True


def next_requests(inventory: ServerInventory, network: NetworkInventory, *, project: str, mark: str) -> Next:
    """The next step for all that has the mark, as its owner would take it; `project` is the key of the project. With
    neither requests nor waits, nothing more can be done."""
    stuck = ""
    match next_deletion(inventory, project=project, mark=mark):
        case Send(requests=requests):
            return Next(requests)
        case Await(what=what):
            return Next(waits=what)
        case Stuck(message=why) | Vanished(note=why):
            stuck = why
    ours = Ours(project=project, intent=Intent(mark), cluster="")
    part = removal(ours, network, names=(), balancer=balancer.removal(ours, network))
    obstacles = (str(each.why) for each in part.obstacles)
    return Next(part.requests, part.waits, "; ".join(filter(None, (stuck, *obstacles))))


def still_there(inventory: ProjectInventory, found: Collection[Orphan]) -> list[Orphan]:
    """Those of `found` that exist and still have their mark."""
    there = {(each.id, mark) for mark, each in inventory.marked()}
    return [each for each in found if (each.id, each.mark) in there]


def _name(resource: Markable) -> str:
    if isinstance(resource, FloatingIp):
        return resource.floating_ip_address
    return resource.name or ""


def _created(resource: Markable) -> str:
    """RFC 3339. Cinder and Octavia leave out the zone, which is UTC."""
    told = resource.created if isinstance(resource, Server) else resource.created_at
    try:
        time = datetime.fromisoformat(told)
    except ValueError:
        return ""
    return rfc3339(time if time.tzinfo else time.replace(tzinfo=UTC))
