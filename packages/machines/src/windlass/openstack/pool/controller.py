"""The controller of OpenStackFloatingIPPools: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct, field

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.meta import K
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, emits_events, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import IndexedReader, Present, seen
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.network_requests import CreateFloatingIp, DeleteFloatingIp
from windlass.openstack.cloud.requests import Describe, SetTags
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_MARK, marked
from windlass.openstack.pool.decide import decide
from windlass.openstack.pool.recorded import BY_ADDRESS, recorded
from windlass.openstack.pool.snapshot import FloatingIPPoolSnapshot
from windlass.openstack.questions import Extensions, Find, LookAtNetworks, LookForUnmarked, answerers, asks_clouds

NAME: Final = "openstack-floating-ip-pool"
BY_POOL: Final = "pool"
"""Index of IPAddressClaims and IPAddresses: by `namespace/name` of their pool, if it is one of ours."""


def pool_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
) -> Controller[NamespacedName, FloatingIPPoolSnapshot]:
    """The controller, of pools in `namespace` (None: all). Keys are namespace and name."""

    async def observe(key: NamespacedName, last: Outcome) -> FloatingIPPoolSnapshot:
        """What the caches say."""
        namespace, name = key
        found = await reader.see(OpenStackFloatingIPPool, name, namespace=namespace)
        if not isinstance(found, Present):
            return FloatingIPPoolSnapshot(pool=found, last=last)
        claims, _ = of_pool(IPAddressClaim, key)
        addresses, malformed = of_pool(IPAddress, key)
        return FloatingIPPoolSnapshot(pool=found, claims=claims, addresses=addresses, unknown=malformed, last=last)

    def of_pool(kind: type[K], key: NamespacedName) -> tuple[tuple[Present[K], ...], frozenset[str]]:
        """The objects of the pool, and the names of those that cannot be read."""
        listed = reader.indexed(kind, BY_POOL, f"{key[0]}/{key[1]}")
        read = [(each.name, seen(each)) for each in listed]
        there = tuple(each for _, each in read if isinstance(each, Present))
        return there, frozenset(name for name, each in read if not isinstance(each, Present))

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
            asks_clouds(LookAtNetworks, LookForUnmarked, Extensions, Find),
        ),
        answerers=answerers(reader, clouds, now=now, new_mark=new_mark),
        observe=observe,
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
