"""A paused object: nothing is sent, and `Paused` is True once nothing can be under way any more."""

from datetime import datetime, timedelta

from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import condition, find
from windlass.kube.control.plan import Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.inventory import Inventory
from windlass.openstack.server.building import is_intended
from windlass.openstack.server.snapshot import Cloud, Snapshot, Timing, made, recorded
from windlass.openstack.server.telling import made_of, write
from windlass.openstack.status import INSTANCE, PAUSED, RESTS, Reason, first_visit, unvisited
from windlass.openstack.trouble import trouble_since


def pause(seen: Snapshot, found: Present[OpenStackServer], *, now: datetime, timing: Timing) -> Plan:
    first = first_visit(INSTANCE, awaited="Paused") if unvisited(found, INSTANCE) else ()
    if not is_in_between(found):
        return Plan.of(write(found, (*first, RESTS), now=now))
    since = trouble_since(found.object.status.conditions, PAUSED, "Unknown") or now
    patient = now - since < timedelta(seconds=timing.pausing)
    cloud = seen.cloud
    inventory = cloud.inventory if isinstance(cloud, Cloud) else None
    if patient and (inventory is None or not inventory.certain):
        what = "A request may be under way"
        told = condition(PAUSED, None, Reason.PAUSING, what)
        wait = inventory.certain_in if inventory is not None else timing.pausing
        return Plan.of(write(found, (*first, told), now=now)).then(RequeueAfter(max(wait, 1.0), what))
    fields = made_of(made(found).resolved, inventory or Inventory())
    return Plan.of(write(found, (*first, RESTS), now=now, fields=fields))


def is_in_between(found: Present[OpenStackServer]) -> bool:
    """Something may have been created whose result is not stored."""
    rests = find(found.object.status.conditions, PAUSED)
    if rests is not None and rests.status == "True":
        return False
    return is_intended(found) and not recorded(found).server


def was_paused(found: Present[OpenStackServer]) -> bool:
    said = find(found.object.status.conditions, PAUSED)
    return said is not None and said.reason in (Reason.PAUSED, Reason.PAUSING)
