"""Lists a kind once in each API, or says why it cannot be listed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from windlass.api.meta import K
from windlass.kube.control.seen import Present, Unreadable, seen
from windlass.kube.errors import Forbidden, KubeError, NotServed
from windlass.kube.object import Object
from windlass.kube.together import both, together
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.overview import AnyKind, AnyRow, Found


class Listing(NamedTuple):
    """One kind in one API: its objects, or why they could not be listed."""

    resource: str
    items: list[Found]
    trouble: KubeError | None = None


class BothSides(NamedTuple):
    """One kind in both APIs."""

    kind: AnyKind
    machine_api: Listing
    cluster_api: Listing

    @property
    def rows(self) -> list[AnyRow]:
        return self.kind.join(self.machine_api.items, self.cluster_api.items)


async def look_at(client: Api, places: Namespaces, kinds: Sequence[AnyKind]) -> list[BothSides]:
    """Both sides of each kind. Raises KubeErrors that are not about one listing alone."""
    return await together(_both_sides(client, places, kind) for kind in kinds)


def decoded(item: Object[Any]) -> Found:
    found = seen(item)
    # An object from the API server is one of these two.
    assert isinstance(found, Present | Unreadable)
    return found


async def _both_sides(client: Api, places: Namespaces, kind: AnyKind) -> BothSides:
    left, right = await both(
        _listing(client, kind.machine_api, places.machine_api), _listing(client, kind.cluster_api, places.cluster_api)
    )
    return BothSides(kind, left, right)


async def _listing(client: Api, kind: type[K], namespace: str) -> Listing:
    try:
        listed = await client.list(kind, namespace=namespace)
    except (NotServed, Forbidden) as error:
        return Listing(kind.RESOURCE.name, [], error)
    return Listing(kind.RESOURCE.name, [decoded(item) for item in listed.items])
