"""Who has a floating IP without a mark: the oldest pool that has recorded it, as with servers (`recorders`).

What Cluster API's provider made for a pool has no mark until the first visit, which waits while the pool is paused. A
copy with the status of that pool, or a backup restored in another namespace, records the same addresses.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present
from windlass.kube.object import Object
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.owners import other_recorders
from windlass.openstack.ownership import presumed_mark

BY_ADDRESS: Final = "address"
"""Index of pools: by the addresses that their status records."""


class _Status(Struct, rename={"claimed": "claimedIPs", "available": "availableIPs"}, gc=False):
    claimed: list[str] = field(default_factory=list)
    available: list[str] = field(default_factory=list)


class _Shown(Struct, gc=False):
    """The fields that say which addresses a pool has, even if others are malformed."""

    status: _Status = field(default_factory=_Status)


def recorded(found: Object[Any]) -> Iterator[str]:
    """The index `BY_ADDRESS`."""
    shown = found.glimpse(_Shown) or _Shown()
    yield from dict.fromkeys((*shown.status.claimed, *shown.status.available))


def counted(seen: Asking, found: Present[OpenStackFloatingIPPool], inventory: NetworkInventory) -> NetworkInventory:
    """The inventory of the pool, in which floating IPs without a mark belong to the pool that has recorded them. The
    floating IPs that the spec names are the user's, and no pool's."""
    users = found.object.spec.pre_allocated_floating_ips
    addresses = [each.floating_ip_address for each in inventory.floating_ips if not mark_of(each)]
    unowned = [each for each in addresses if each not in users]
    others = other_recorders(seen, found, BY_ADDRESS, unowned)

    def with_owner(each: FloatingIp) -> FloatingIp:
        other = others.get(each.floating_ip_address)
        return each if other is None else replace(each, description=described(each.description, presumed_mark(other)))

    return replace(inventory, floating_ips=tuple(map(with_owner, inventory.floating_ips)))
