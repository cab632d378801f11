"""The controller of OpenStackFloatingIPPools: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.meta import K
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, emits_events, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, Present, seen
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.network_requests import CreateFloatingIp, DeleteFloatingIp
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import Describe, SetTags
from windlass.openstack.cloud.resources import FloatingIp, Network
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.filters import EXTERNAL, network_query
from windlass.openstack.identity.find import IdentityTrouble, credentials_of
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_MARK, FreshMarks, is_held, marked
from windlass.openstack.owners import Owners, other_recorder
from windlass.openstack.ownership import claim_of, presumed_mark, replaced
from windlass.openstack.pool.decide import decide, without_cloud
from windlass.openstack.pool.snapshot import TAG, External, FloatingIPPoolCloudFacts, FloatingIPPoolSnapshot
from windlass.openstack.taken import is_stopped

NAME: Final = "openstack-floating-ip-pool"
BY_POOL: Final = "pool"
"""Index of IPAddressClaims and IPAddresses: by `namespace/name` of their pool, if it is one of ours."""
RECENT: Final = 30.0
JUST_NOW: Final = 1.0
"""The greatest age in seconds of the list of floating IPs: usually; after a refusal or a stop, and during deletion."""


class FloatingIPPoolObserver:
    """Takes snapshots of pools."""

    def __init__(self, reader: IndexedReader, clouds: Clouds, *, now: Any, new_mark: Callable[[], str]) -> None:
        self._reader = reader
        self._clouds = clouds
        self._now = now
        self._fresh = FreshMarks(new_mark)
        self._owners = Owners(reader, names=lambda each: bool(each.object.status.claimed_ips))

    async def __call__(self, key: NamespacedName, last: Outcome) -> FloatingIPPoolSnapshot:
        namespace, name = key
        found = await self._reader.see(OpenStackFloatingIPPool, name, namespace=namespace)
        if not isinstance(found, Present):
            self._fresh.forget(key)
            return FloatingIPPoolSnapshot(pool=found, last=last)
        status = found.object.status
        exists = status.claimed_ips or status.available_ips or is_held(found) or claim_of(found).stored
        born = None if exists else self._clouds.born
        mark = self._fresh.of(key, found, born=born)
        claims, _ = self._of_pool(IPAddressClaim, key)
        addresses, malformed = self._of_pool(IPAddress, key)
        shot = FloatingIPPoolSnapshot(pool=found, claims=claims, addresses=addresses, fresh_mark=mark, last=last)
        shot = replace(shot, facts=await self._owners.facts(found))
        if without_cloud(shot, found, now=self._now()) is not None:
            return shot
        if isinstance(last.unread, CloudFailure):
            return replace(shot, cloud=last.unread)
        unknown = malformed | await self._unconfirmed(shot, found)
        return replace(shot, unknown=unknown, cloud=await self._cloud(shot, found, last))

    def _of_pool(self, kind: type[K], key: NamespacedName) -> tuple[tuple[Present[K], ...], frozenset[str]]:
        """The objects of the pool, and the names of those that cannot be read."""
        listed = self._reader.indexed(kind, BY_POOL, f"{key[0]}/{key[1]}")
        read = [(each.name, seen(each)) for each in listed]
        there = tuple(each for _, each in read if isinstance(each, Present))
        return there, frozenset(name for name, each in read if not isinstance(each, Present))

    async def _unconfirmed(
        self, shot: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool]
    ) -> frozenset[str]:
        """Recorded claims that are gone, whose IPAddress the cache does not show (yet) although it exists."""
        alive = {each.metadata.name for each in shot.claims if not each.deleting}
        shown = {each.metadata.name for each in shot.addresses}
        late = set()
        for each in found.object.status.claims:
            if each.name not in shown and (found.deleting or each.name not in alive):
                address = await self._reader.see(IPAddress, each.name, namespace=found.metadata.namespace, confirm=True)
                if not isinstance(address, Absent):
                    late.add(each.name)
        return frozenset(late)

    async def _cloud(
        self, shot: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool], last: Outcome
    ) -> FloatingIPPoolCloudFacts | IdentityTrouble:
        spec, status, claim = found.object.spec, found.object.status, claim_of(found)
        mark = claim.mark
        credentials = await credentials_of(self._reader, spec.identity_ref, namespace=found.metadata.namespace)
        if isinstance(credentials, IdentityTrouble):
            return credentials
        project = await self._clouds.project(credentials)
        given = (each.object.spec.address for each in shot.addresses)
        named = (*spec.pre_allocated_floating_ips, *status.claimed_ips, *status.available_ips, *given)
        age = JUST_NOW if project.blockers(mark).refusals or found.deleting or is_stopped(found) else RECENT
        if last.results and not named:  # what the pool has made in this attempt is known
            age = inf
        inventory = counted(
            self._reader, found, await project.network_inventory(mark, named, kinds=(FloatingIp,), age=age)
        )
        there = {mark_on(each) for each in (*inventory.all, *inventory.others)} - {"", mark}
        facts = await self._owners.with_absent(shot.facts, found, there)
        formers = replaced(claim, there, facts)
        inventory = inventory.with_others(lambda each: mark_on(each) in formers)
        if not found.deleting and found.metadata.annotations.get(ADOPT_ANNOTATION) != ADOPT_NONE:
            tag = TAG.format(found.metadata.name)
            kinds, age = (FloatingIp,), min(age, RECENT)
            unmarked = await project.unmarked((), tag=tag, but=named, kinds=kinds, age=age)
            inventory = replace(inventory, unmarked=unmarked)
        return FloatingIPPoolCloudFacts(
            project=project.key,
            where=credentials.where,
            inventory=inventory,
            formers=formers,
            facts=facts,
            external=() if found.deleting else await _external(project, found.object),
            extensions=await project.extensions(),
            blockers=project.blockers(mark),
        )


async def _external(project: Account, pool: OpenStackFloatingIPPool) -> External:
    query = network_query(pool.spec.floating_ip_network) or Query("network")
    query = replace(query, filters=(*query.filters, EXTERNAL))
    answer = (await project.find([query]))[query]
    if isinstance(answer, CloudFailure):
        return answer
    return tuple(each for each in answer if isinstance(each, Network))


def pool_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
) -> Controller[NamespacedName, FloatingIPPoolSnapshot]:
    """The controller, of pools in `namespace` (None: all). Keys are namespace and name."""
    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    indexes = {BY_IDENTITY: identities, BY_MARK: marked, BY_ADDRESS: recorded}
    return Controller(
        name=NAME,
        watches=(
            watch(OpenStackFloatingIPPool, lambda pool: [pool.key], indexes=indexes),
            watch(IPAddressClaim, _pool, indexes={BY_POOL: _by_pool}),
            watch(IPAddress, _pool, indexes={BY_POOL: _by_pool}),
            *identity_watches(reader, OpenStackFloatingIPPool, namespace=namespace),
        ),
        permissions=(
            emits_events(namespace=namespace),
            may_write(OpenStackFloatingIPPool, "patch"),
            may_write(OpenStackFloatingIPPool, "patch", subresource="status"),
            may_write(IPAddressClaim, "patch", subresource="status"),
            may_write(IPAddress, "create", "patch"),
            calls(CreateFloatingIp, DeleteFloatingIp, Describe, SetTags),
        ),
        observe=FloatingIPPoolObserver(reader, clouds, now=now, new_mark=new_mark),
        decide=decide,
        workers=4,
    )


class _Reference(Struct, rename="camel", gc=False):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class _Spec(Struct, rename="camel", gc=False):
    pool_ref: _Reference = field(default_factory=_Reference)


class _References(Struct, gc=False):
    """The field that names the pool, even if others are malformed."""

    spec: _Spec = field(default_factory=_Spec)


def _pool(found: Object[Any]) -> Iterable[NamespacedName]:
    shown, resource = found.glimpse(_References), OpenStackFloatingIPPool.RESOURCE
    ref = shown.spec.pool_ref if shown is not None else _Reference()
    return ((found.namespace, ref.name),) if (ref.api_group, ref.kind) == (resource.group, resource.kind) else ()


def _by_pool(found: Object[Any]) -> Iterable[str]:
    return (f"{namespace}/{name}" for namespace, name in _pool(found))


# Who has a floating IP without a mark: the oldest pool that has recorded it, as with servers (`recorders`).
#
# What Cluster API's provider made for a pool has no mark until the first visit, which waits while the pool is paused. A
# copy with the status of that pool, or a backup restored in another namespace, records the same addresses.

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


def counted(
    reader: IndexedReader, found: Present[OpenStackFloatingIPPool], inventory: NetworkInventory
) -> NetworkInventory:
    """The inventory of the pool, in which floating IPs without a mark belong to the pool that has recorded them. The
    floating IPs that the spec names are the user's, and no pool's."""
    users = found.object.spec.pre_allocated_floating_ips

    def with_owner(each: FloatingIp) -> FloatingIp:
        if mark_of(each) or each.floating_ip_address in users:
            return each
        other = other_recorder(reader, found, BY_ADDRESS, each.floating_ip_address)
        return each if other is None else replace(each, description=described(each.description, presumed_mark(other)))

    return replace(inventory, floating_ips=tuple(map(with_owner, inventory.floating_ips)))
