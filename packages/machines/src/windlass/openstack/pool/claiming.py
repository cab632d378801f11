"""Before anything else: whether the floating IPs that a pool finds are its own. Pure.

| there is | the pool |
|---|---|
| one with an earlier mark of the pool (`windlass.openstack.ownership`) | gives it its mark, before anything else |
| one with its root and another owner, which it has recorded, or while it has none | stops, and its deletion leaves it |
| one with its tag, without a mark and not recorded | creates none: the tag has no namespace, so a person has to say |
"""

from itertools import chain

from msgspec.structs import replace

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.kube.control.plan import Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import in_words, mark_of, root_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.objects import dropped, intend
from windlass.openstack.ownership import Ownership
from windlass.openstack.sending import SOON
from windlass.openstack.status import POOL_READY, Reason
from windlass.openstack.taken import stopped
from windlass.openstack.trouble import Trouble, invalid


def stranger(inventory: NetworkInventory, ownership: Ownership) -> FloatingIp | None:
    """The floating IP at which the pool stops; None if there is none."""
    own, root = {ownership.mark, *ownership.formers}, root_of(ownership.mark)
    marks = {each.id: mark_of(each) for each in inventory.floating_ips}
    recorded = (
        each for each in inventory.floating_ips if marks[each.id] not in own and root_of(marks[each.id]) == root
    )
    has_any = not own.isdisjoint(marks.values())
    others = (each for each in inventory.others if isinstance(each, FloatingIp) and not has_any)
    return next(chain(recorded, others), None)


def of_another(found: FloatingIp, ownership: Ownership) -> Trouble:
    return _owned(stopped(found, ownership))


def earlier(inventory: NetworkInventory, ownership: Ownership) -> list[FloatingIp]:
    """Those that get the mark of the pool."""
    return [each for each in inventory.floating_ips if mark_of(each) in ownership.formers]


def held(
    found: Present[OpenStackFloatingIPPool], inventory: NetworkInventory, ownership: Ownership, *, fresh_mark: str
) -> Plan | None:
    """The annotation gets the pool's own mark; None if it has it. A copy of which nothing exists gets a new one."""
    claim = ownership.claim
    if not claim.is_replacing:
        return None
    own = any(mark_of(each) == claim.mark for each in inventory.floating_ips)
    if not own and not inventory.certain:
        return Plan.nothing().then(RequeueAfter(inventory.certain_in + SOON, "an earlier request may still arrive"))
    if claim.is_copied and not own:
        return dropped(found, fresh_mark, in_words(claim.stored))
    return Plan.of(intend(found, claim.mark))


def unclaimed(inventory: NetworkInventory) -> Trouble | None:
    """Why no floating IP is created although claims wait; None if nothing is in the way."""
    if not (found := inventory.unmarked.floating_ips):
        return None
    which = ", ".join(f"{each.floating_ip_address} ({each.id})" for each in found)
    return _owned(
        f"floating IPs have the tag of a pool of this name, and no mark: {which}. Name them in "
        f"spec.preAllocatedFloatingIPs, or delete them; or set the annotation {ADOPT_ANNOTATION} of this pool to "
        f"{ADOPT_NONE}, and others are created"
    )


def _owned(text: str) -> Trouble:
    return replace(invalid(text, part=POOL_READY), reason=Reason.OWNED_BY_ANOTHER)
