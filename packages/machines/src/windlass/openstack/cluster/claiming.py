"""Before anything else: whether what has the root of a cluster's mark is the cluster's, and gets its mark.

| there is | next |
|---|---|
| something with a mark that the cluster replaces (`windlass.openstack.ownership`) | it gets the mark of the cluster |
| something with another mark of the root | the cluster stops, and its deletion leaves the cloud as it is |
| neither, and the annotation of the cluster is not its own mark yet | the annotation is written |

Nothing is created, changed or deleted before. The cluster does not stop at what it has itself too, under the same name:
that was made by a late request of another holder.
"""

from collections.abc import Iterator

from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.plan import Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import in_words, mark_of, place_of, root_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp, LoadBalancer, Markable
from windlass.openstack.cluster.part import NETWORK, Ours, Part
from windlass.openstack.objects import dropped, intend
from windlass.openstack.ownership import Ownership
from windlass.openstack.sending import SOON
from windlass.openstack.status import Reason
from windlass.openstack.taken import stopped


def claiming(inventory: NetworkInventory, ours: Ours, ownership: Ownership) -> Part:
    """What comes first for the cluster; it is there if its resources have its mark."""
    if (other := stranger(inventory, ownership)) is not None:
        return NETWORK.hindered(stopped(other, ownership), Reason.OWNED_BY_ANOTHER)
    requests, busy = list[CloudRequest](), ""
    for each in inventory.all:
        if mark_of(each) not in ownership.formers:
            continue
        if isinstance(each, LoadBalancer) and each.provisioning_status == "ERROR":
            text = f"load balancer {each.name} ({each.id}) is in ERROR, and cannot be taken over: have it failed over"
            return NETWORK.hindered(f"{text}, or delete it")
        if isinstance(each, LoadBalancer) and each.provisioning_status != "ACTIVE":  # Octavia would refuse
            busy = f"load balancer {each.name}: {each.provisioning_status}"
            continue
        requests.append(ours.adopt(each))
    part = NETWORK.needs(*requests, why="what the cluster had before gets its mark")
    return part.awaits(busy) if busy else part


def stranger(inventory: NetworkInventory, ownership: Ownership) -> Markable | None:
    """What has the root of the cluster's mark, and belongs to another object; None if there is nothing."""
    marks, root = {ownership.mark, *ownership.formers}, root_of(ownership.mark)
    own = {_called(each) for each in inventory.all if mark_of(each) in marks}
    recorded = (each for each in inventory.all if mark_of(each) not in marks and root_of(mark_of(each)) == root)
    at, alone = place_of(ownership.mark), not own
    # A user who can read the object can give its root to another one: beside what is its own, that one does not count.
    others = (each for each in inventory.others if alone or place_of(mark_of(each)) == at)
    return next((each for each in (*recorded, *others) if _called(each) not in own), None)


def held(
    found: Present[OpenStackCluster], inventory: NetworkInventory, ownership: Ownership, *, fresh_mark: str
) -> Plan | None:
    """The annotation gets the cluster's own mark; None if it has it. A copy of which nothing exists gets a new one."""
    claim = ownership.claim
    if not claim.is_replacing:
        return None
    if not any(_own(inventory, ownership)) and not inventory.certain:
        again = "a request of an earlier process may still arrive"
        return Plan.nothing().then(RequeueAfter(inventory.certain_in + SOON, again))
    if claim.is_copied and not any(_own(inventory, ownership)):
        return dropped(found, fresh_mark, in_words(claim.stored))
    return Plan.of(intend(found, claim.mark))


def _own(inventory: NetworkInventory, ownership: Ownership) -> Iterator[Markable]:
    return (each for each in inventory.all if mark_of(each) == ownership.mark)


def _called(found: Markable) -> tuple[str, str]:
    """Its kind, and its name; floating IPs have none, but say what they are for."""
    if isinstance(found, FloatingIp):
        return "floating IP", found.description.partition(" windlass-")[0]
    return KINDS[type(found)].name, found.name or ""
