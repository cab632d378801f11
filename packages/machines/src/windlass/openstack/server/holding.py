"""The annotation of an object gets the mark that what it has in the cloud has by now."""

from typing import Any

from windlass.kube.control.plan import Plan
from windlass.openstack.cloud.marks import in_words
from windlass.openstack.objects import dropped, intend
from windlass.openstack.server.sending import look_again
from windlass.openstack.server.snapshot import Visit


def hold(visit: Visit[Any, Any]) -> Plan:
    """A copy of which nothing exists gets a new mark. Without a server, requests of an earlier process may still
    arrive."""
    found, inventory, claim = visit.found, visit.inventory, visit.ownership.claim
    if not inventory.servers and not inventory.certain:
        return Plan.nothing().then(look_again(visit, "a request of an earlier process may still arrive"))
    if claim.is_copied and not inventory.all:
        return dropped(found, visit.seen.fresh_mark, in_words(claim.stored))
    return Plan.of(intend(found, claim.mark))
