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


def oldest_recorder(
    reader: IndexedReader, kinds: Iterable[type[Any]], index: str, which: str, *, has: Callable[[Any], bool]
) -> Present[Any] | None:
    """The object that a resource without a mark belongs to: the oldest of these kinds that has recorded it, since a
    copy has the status of the original. `index` may list objects that only name the resource: `has` tells whether an
    object has recorded the resource."""
    known = (read(each) for kind in kinds for each in reader.known(kind, index, which))
    holders = [each for each in known if isinstance(each, Present) and has(each)]
    return first_of(holders, names=lambda _: True) if holders else None


def other_recorder(
    reader: IndexedReader, found: Present[Any], index: str, which: str, *, has: Callable[[Any], bool] = lambda _: True
) -> Present[Any] | None:
    """The same for the kind of `found`; None if the resource belongs to `found` itself."""
    first = oldest_recorder(reader, (type(found.object),), index, which, has=has)
    return None if first is None or first.metadata.uid == found.metadata.uid else first


def in_words(found: Present[Any]) -> str:
    """The object's kind, namespace and name, for people."""
    return f"{type(found.object).RESOURCE.kind} {found.metadata.namespace}/{found.metadata.name}"


class Owners:
    """`names`: whether the status of an object has resources by ID. The kind of the objects has the index `BY_MARK`."""

    def __init__(self, reader: IndexedReader, *, names: Callable[[Present[Any]], bool]) -> None:
        self._reader = reader
        self._names = names

    async def facts(self, found: Present[Any]) -> Facts:
        """What the annotations of the object need. Raises KubeErrors."""
        claim, facts = claim_of(found), Facts(confirmed=found.metadata.annotations.get(TAKE_OVER_ANNOTATION, ""))
        if claim.standing is Standing.EARLIER:
            return replace(facts, rival=self._elder(found, claim))
        if claim.standing in (Standing.HOLDS, Standing.MOVED):
            return replace(facts, elder=self._elder(found, claim))
        if claim.standing is Standing.COPIED:
            if await self._is_absent(found, claim.stored):
                return replace(facts, absent=frozenset({marks.place_of(claim.stored)}))
            return replace(facts, rival=marks.in_words(claim.stored))
        return facts

    async def with_absent(self, facts: Facts, found: Present[Any], there: Iterable[str]) -> Facts:
        """The same, and which owners of the marks `there` in the cloud do not exist here. Raises KubeErrors."""
        own, marks_there = claim_of(found).place, set(there)
        absent = {marks.place_of(each) for each in marks_there if await self._is_absent(found, each, but=own)}
        roots = [each for each in marks_there if each and not marks.place_of(each)]
        firsts = {root: self._first(type(found.object), root) for root in roots}
        # If it is the first itself and may not have it, the owner is in another management cluster.
        others = {root: each for root, each in firsts.items() if each and each.metadata.uid != found.metadata.uid}
        holders = {root: in_words(each) for root, each in others.items()}
        return replace(facts, absent=facts.absent | absent, holders=holders)

    def _elder(self, found: Present[Any], claim: Claim) -> str:
        """The other object that what has the root alone belongs to; empty if it belongs to this one."""
        first = self._first(type(found.object), marks.root_of(claim.stored))
        return "" if first is None or first.metadata.uid == found.metadata.uid else in_words(first)

    def _first(self, kind: type[Any], root: str) -> Present[Any] | None:
        """The object with this root that has what the root alone is on."""
        known = (read(each) for each in self._reader.known(kind, BY_MARK, root))
        alike = [each for each in known if isinstance(each, Present)]
        claims = [each for each in alike if claim_of(each).standing is not Standing.COPIED]
        return first_of(claims, names=self._names) if claims else None

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
