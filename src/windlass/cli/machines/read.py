"""One look at each side: its Machines, or why they cannot be listed."""

import asyncio
from typing import Any, NamedTuple, TypeAlias

from windlass.api import capi, mapi
from windlass.api.meta import K
from windlass.kube.errors import Forbidden, KubeError, NotServed
from windlass.kube.object import Object
from windlass.kube.seen import Present, Unreadable, seen
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import Namespaces

Found: TypeAlias = Present[Any] | Unreadable


class Listing(NamedTuple):
    """One side: its machines, and why they are missing if they could not be listed."""

    resource: str
    items: list[Found]
    trouble: KubeError | None = None


async def both_sides(client: Api, places: Namespaces) -> tuple[Listing, Listing]:
    """The Machine API's side, then Cluster API's. Raises KubeErrors that are not about one side alone."""
    return await asyncio.gather(
        _one_side(client, mapi.Machine, places.machine_api), _one_side(client, capi.Machine, places.cluster_api)
    )


def look(item: Object[Any]) -> Found:
    found = seen(item)
    # Of an object that was sent these are the only two.
    assert isinstance(found, Present | Unreadable)
    return found


async def _one_side(client: Api, kind: type[K], namespace: str) -> Listing:
    try:
        listed = await client.list(kind, namespace=namespace)
    except (NotServed, Forbidden) as error:
        return Listing(kind.RESOURCE.name, [], error)
    return Listing(kind.RESOURCE.name, [look(item) for item in listed.items])
