"""The objects of both clusters by whose they are, and the ways in which all of them are written."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Final

from windlass.api import capi, mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.verbs import PatchType

from .copies import Export, is_of
from .manifests import MIRRORS, Tree, owned_by
from .oracle import KINDS, OWNERS, THINGS, Key, Oracle, Place, Self
from .sites import Site, Sites

OF_SELF: Final[dict[str, tuple[type[Any], ...]]] = {
    "server": (OpenStackServer,),
    "machine": (capi.Machine, OpenStackMachine, OpenStackServer),
    "mapi": (mapi.Machine,),
    "cluster": (capi.Cluster, OpenStackCluster),
    "pool": (OpenStackFloatingIPPool, IPAddressClaim, IPAddress),
}
"""The objects of a Self, owners first."""
ALL: Final[tuple[type[Any], ...]] = tuple(
    dict.fromkeys((*(kind for kinds in OF_SELF.values() for kind in kinds), Secret))
)


class Scene:
    """See the module."""

    def __init__(self) -> None:
        self.oracle = Oracle(self)
        self.sites = Sites(self.oracle)
        for site in self.sites.each:
            site.api.subscribe(partial(self.oracle.appeared, site.number))

    def exists(self, site: int, place: Place) -> bool:
        kind = next(each for each in OWNERS.values() if each.RESOURCE.kind == place[0])
        return self.sites.each[site].api.peek(kind, place[2], namespace=place[1]) is not None

    def has(self, kind: str, which: str) -> bool:
        return which in getattr(self.sites.cloud.services, kind)

    def site(self, one: Self) -> Site:
        return self.sites.each[one.site]

    def main(self, one: Self) -> Any:
        """The object that people know it by; None if it is gone, or if there is another one of its name."""
        return self.its(one, KINDS[one.kind])

    def told_by(self, one: Self) -> Any:
        """The object whose conditions tell of what it has in the cloud."""
        main = self.main(one)
        if one.kind != "mapi" or (main.tree().get("status") or {}).get("authoritativeAPI") != "ClusterAPI":
            return main
        return self.site(one).api.peek(OpenStackMachine, one.key[1], namespace=MIRRORS) or main

    def its(self, one: Self, kind: type[Any]) -> Any:
        found = self.site(one).api.peek(kind, one.key[1], namespace=one.key[0])
        return found if found is not None and self.oracle.of_uid(found.uid) is one else None

    def living(self) -> list[Self]:
        return [each for each in self.oracle.selves if (found := self.main(each)) is not None and not found.deleting]

    def is_free(self, kind: str, site: int, key: Key) -> bool:
        place, name = key
        return all(self.sites.each[site].api.peek(each, name, namespace=place) is None for each in OF_SELF[kind])

    def load(self, one: Self, trees: Sequence[Tree]) -> None:
        api, above = self.site(one).api, list[Any]()
        for given in trees:
            kind = next(each for each in ALL if is_of(given, each))
            new = deepcopy(given)
            meta = new["metadata"]
            meta |= {"creationTimestamp": self.sites.now.strftime("%Y-%m-%dT%H:%M:%SZ"), "generation": 1}
            if kind is not Secret:
                meta["name"], meta["namespace"] = one.key[1], one.key[0]
            if above and kind is not IPAddressClaim:
                meta["ownerReferences"] = owned_by(*(above if kind is IPAddress else above[-1:]))
            api.load(new)
            found = api.peek(kind, meta["name"], namespace=meta["namespace"])
            assert found is not None
            if kind is not Secret:
                above.append(found)
                self.oracle.knows(found.uid, one)

    def export(self, one: Self) -> Export:
        there = (self.its(one, kind) for kind in OF_SELF[one.kind])
        trees = [deepcopy(each.tree()) for each in there if each is not None]
        origin = one.origin if one.of is not None else one.place
        return Export(trees, one, one.identity, one.of, origin, one.confirmed)

    async def annotate(self, one: Self, name: str, value: str | None) -> None:
        for kind in OF_SELF[one.kind]:
            if (found := self.its(one, kind)) is not None and kind is not capi.Machine:
                body = {"metadata": {"annotations": {name: value}}}
                await self.patch(found, body)

    async def lost(self, one: Self) -> None:
        for kind in reversed(OF_SELF[one.kind]):
            if (found := self.its(one, kind)) is not None:
                await self.patch(found, {"metadata": {"finalizers": None}})
                if self.its(one, kind) is not None:
                    await self.site(one).api.delete(kind, found.name, namespace=found.namespace)

    async def patch(self, found: Any, body: Tree) -> None:
        site = next(each for each in self.sites.each if self._has(each, found))
        await site.api.patch(found.kind, found.name, body, type=PatchType.MERGE, namespace=found.namespace)

    @staticmethod
    def _has(site: Site, found: Any) -> bool:
        there = site.api.peek(found.kind, found.name, namespace=found.namespace)
        return there is not None and there.uid == found.uid

    def marked(self) -> Iterator[Tree]:
        """What can have a mark in the cloud."""
        for kind in THINGS:
            yield from getattr(self.sites.cloud.services, kind).values()
