"""What a project has under the names of an owner's resources although it has no mark: nobody knows whose it is."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from windlass.openstack.cloud.list_cache import ListCache
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.network_inventory import Unmarked
from windlass.openstack.cloud.resources import (
    FloatingIp,
    LoadBalancer,
    Network,
    Port,
    Router,
    SecurityGroup,
    Subnet,
)

T = TypeVar("T", Network, Subnet, Router, SecurityGroup, FloatingIp, LoadBalancer)


async def unmarked(
    lists: Mapping[type[Any], ListCache[Any]],
    names: Collection[str],
    *,
    description: str = "",
    tag: str = "",
    but: Collection[str] = (),
    since: float,
) -> Unmarked:
    """Of these kinds, from lists that began at `since` or later: what has one of the `names`, and floating IPs, which
    have none, with the `description` or the `tag`; without what is known by the IDs or addresses of `but`. Ports are
    listed only if a router was found, whose interfaces they may be."""
    ports: ListCache[Port] | None = lists.get(Port)
    await asyncio.gather(*(each.since(since) for each in lists.values() if each is not ports))

    def found(kind: type[T]) -> tuple[T, ...]:
        some = (each for each in (lists[kind].all() if kind in lists else ()) if not mark_of(each))
        return tuple(sorted((each for each in some if is_called(each)), key=lambda each: each.id))

    def is_called(each: Any) -> bool:
        if isinstance(each, FloatingIp):
            is_of = tag in each.tags if tag else each.description == description
            return is_of and not {each.id, each.floating_ip_address} & {*but}
        return each.name in names and each.id not in but

    routers = found(Router)
    ids = {each.id for each in routers}
    if ids and ports is not None:
        await ports.since(since)
    return Unmarked(
        networks=found(Network),
        subnets=found(Subnet),
        routers=routers,
        groups=found(SecurityGroup),
        floating_ips=found(FloatingIp),
        balancers=found(LoadBalancer),
        interfaces=tuple(each for each in ports.all() if each.device_id in ids) if ids and ports is not None else (),
    )
