"""Reads which objects of this cluster have the marks that an object or the cloud names: the facts of ownership."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.kube.control.seen import Absent, IndexedReader, Present, read
from windlass.kube.errors import Undeclared
from windlass.openstack.cloud import marks
from windlass.openstack.constants import TAKE_OVER_ANNOTATION
from windlass.openstack.objects import BY_MARK
from windlass.openstack.ownership import Claim, Facts, Standing, claim_of, first_of

_KINDS: Final[dict[str, type[Any]]] = {
    "server": OpenStackServer,
    "cluster": OpenStackCluster,
    "pool": OpenStackFloatingIPPool,
    "machine": Machine,
}


class Owners:
    """`names`: whether an object records resources by ID. The kind of the objects has the index `BY_MARK`."""

    def __init__(self, reader: IndexedReader, *, names: Callable[[Present[Any]], bool]) -> None:
        self._reader = reader
        self._names = names

    async def facts(self, found: Present[Any]) -> Facts:
        """What the annotations of the object need. Raises KubeErrors."""
        claim, facts = claim_of(found), Facts(confirmed=found.metadata.annotations.get(TAKE_OVER_ANNOTATION, ""))
        if claim.standing is Standing.EARLIER:
            return replace(facts, rival=self._first(found, claim))
        if claim.standing is Standing.COPIED:
            if await self._is_absent(found, claim.stored):
                return replace(facts, absent=frozenset({marks.place_of(claim.stored)}))
            return replace(facts, rival=marks.in_words(claim.stored))
        return facts

    async def with_absent(self, facts: Facts, found: Present[Any], there: Iterable[str]) -> Facts:
        """The same, and which owners of the marks `there` in the cloud do not exist here. Raises KubeErrors."""
        own = claim_of(found).place
        absent = {marks.place_of(each) for each in set(there) if await self._is_absent(found, each, but=own)}
        return replace(facts, absent=facts.absent | absent) if absent else facts

    def _first(self, found: Present[Any], claim: Claim) -> str:
        """The other object that has the resources of this root; empty if it is this one."""
        kind, root = type(found.object), marks.root_of(claim.stored)
        known = (read(each) for each in self._reader.known(kind, BY_MARK, root) if each.uid != found.metadata.uid)
        others = [each for each in known if isinstance(each, Present)]
        claims = [each for each in others if claim_of(each).standing is not Standing.COPIED]
        first = first_of(found, claims, names=self._names)
        return "" if first is found else f"{kind.RESOURCE.kind} {first.metadata.namespace}/{first.metadata.name}"

    async def _is_absent(self, found: Present[Any], mark: str, *, but: str = "") -> bool:
        """Whether no object here has this mark. One of another kind, of another namespace than the controller may read,
        or of a name that the mark does not have whole, is taken to exist."""
        at = marks.place_of(mark)
        word, _, rest = at.partition("/")
        namespace, _, name = rest.partition("/")
        kind = _KINDS.get(word)
        if at == but or kind is not type(found.object) or "~" in name:
            return False
        try:
            other = await self._reader.see(kind, name, namespace=namespace, confirm=True)
        except Undeclared:
            return False
        if isinstance(other, Present):
            return marks.root_of(claim_of(other).stored) != marks.root_of(mark)
        return isinstance(other, Absent)
