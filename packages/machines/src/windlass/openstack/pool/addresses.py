"""Who has which floating IP of a pool, and what is missing. Pure.

A claim is given, oldest first: the next of `preAllocatedFloatingIPs`, else one that the pool has made and nobody has
(a claim that went, or a crash before it was recorded), else a new one, below `maxIPs`. What leads to a port is in use,
and is given to nobody; nor is what another owner has. An address is kept for its claim from the moment it is recorded
until there is neither the claim nor an IPAddress.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec import Struct

from windlass.api.capo_pool import RETAIN, OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.resources import FloatingIp


class Allocation(Struct, frozen=True, kw_only=True):
    """`kept`: addresses by the name of their claim. `missing`: claims for which a floating IP must be created;
    `refused`: those beyond `maxIPs`. `available` can be given, `failed` cannot. `surplus`: made by the pool, and to be
    deleted now."""

    kept: dict[str, str]
    available: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    surplus: tuple[FloatingIp, ...] = ()


def allocate(
    pool: OpenStackFloatingIPPool,
    claims: Sequence[Present[IPAddressClaim]],
    addresses: Sequence[Present[IPAddress]],
    floating_ips: Iterable[FloatingIp],
    *,
    mark: str,
    certain: bool = True,
    unknown: frozenset[str] = frozenset(),
) -> Allocation:
    """`floating_ips`: those with the `mark` of the pool, and those that it names; what has the mark of another owner
    counts as missing. `certain`: what is not among them does not exist. `unknown`: claims whose IPAddress may exist
    although it is not among `addresses`."""
    there = {each.floating_ip_address: each for each in floating_ips if mark_of(each) in ("", mark)}
    alive = sorted((each.metadata.creation_timestamp or "", each.metadata.name) for each in claims if not each.deleting)
    wanting = [name for _, name in alive]
    given = {each.metadata.name: each.object.spec.address for each in addresses}
    kept = {
        each.name: each.address
        for each in pool.status.claims
        if each.name in unknown or (each.name in wanting and (each.address in there or not certain))
    }
    kept |= given
    taken, users = set(kept.values()), pool.spec.pre_allocated_floating_ips
    made = [each.floating_ip_address for each in there.values() if mark_of(each) == mark]
    open_to_all = dict.fromkeys(chain(users, made))
    available = [each for each in open_to_all if each not in taken and each in there and not there[each].port_id]
    waiting = [name for name in wanting if name not in kept]
    kept |= dict(zip(waiting, available, strict=False))
    later = waiting[len(available) :]
    most = pool.spec.max_ips
    room = len(later) if most is None else max(most - len(kept), 0)
    left = available[len(waiting) :]
    released = {each.object.spec.address for each in addresses if each.deleting}
    deletes = pool.spec.reclaim_policy != RETAIN
    surplus = [
        each
        for each in there.values()
        if mark_of(each) == mark
        and each.floating_ip_address not in users
        and (each.floating_ip_address in released or each.floating_ip_address in left)
    ]
    unusable = [each for each in users if each not in taken and each not in available]
    lost = [each for each in given.values() if each not in there]
    return Allocation(
        kept=kept,
        available=tuple(left),
        failed=tuple(dict.fromkeys([*unusable, *lost])) if certain else (),
        missing=tuple(later[:room]),
        refused=tuple(later[room:]),
        surplus=tuple(surplus) if deletes else (),
    )
