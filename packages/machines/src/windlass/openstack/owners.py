"""Which objects of this cluster have the marks that an object or the cloud names: the facts of ownership."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.kube.control.question import Asking, ConfirmedIfAllowed, Indexed
from windlass.kube.control.seen import Absent, Present
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


def oldest_recorders(
    seen: Asking,
    kinds: Collection[type[Any]],
    index: str,
    which: Iterable[str],
    *,
    has: Callable[[Any, str], bool] = lambda _, which: True,
) -> dict[str, Present[Any]]:
    """For each of these resources the object that it belongs to if it has no mark: the oldest of these kinds that has
    recorded it, since a copy has the status of the original. `index` may list objects that only name the resource:
    `has` tells whether an object has recorded it."""
    resources = tuple(dict.fromkeys(which))
    asked = {(each, kind): Indexed(kind, index, each) for each in resources for kind in kinds}
    if not asked:
        return {}
    seen.need_all(asked.values())
    first = {}
    for each in resources:
        known = (one for kind in kinds for one in seen.need(asked[each, kind]))
        if holders := [one for one in known if isinstance(one, Present) and has(one, each)]:
            first[each] = first_of(holders, names=lambda _: True)
    return first


def other_recorders(
    seen: Asking,
    found: Present[Any],
    index: str,
    which: Iterable[str],
    *,
    has: Callable[[Any, str], bool] = lambda _, which: True,
) -> dict[str, Present[Any]]:
    """The same for the kind of `found`, without the resources that belong to `found` itself."""
    first = oldest_recorders(seen, (type(found.object),), index, which, has=has)
    return {each: one for each, one in first.items() if one.metadata.uid != found.metadata.uid}


def in_words(found: Present[Any]) -> str:
    """The object's kind, namespace and name, for people."""
    return f"{type(found.object).RESOURCE.kind} {found.metadata.namespace}/{found.metadata.name}"


class Owners(Struct, frozen=True):
    """`names`: whether the status of an object has resources by ID. The kind of the objects has the index `BY_MARK`."""

    seen: Asking
    names: Callable[[Present[Any]], bool]

    def facts(self, found: Present[Any]) -> Facts:
        """What the annotations of the object need."""
        claim, facts = claim_of(found), Facts(confirmed=found.metadata.annotations.get(TAKE_OVER_ANNOTATION, ""))
        if claim.standing is Standing.EARLIER:
            return replace(facts, rival=self._elder(found, claim))
        if claim.standing in (Standing.HOLDS, Standing.MOVED):
            return replace(facts, elder=self._elder(found, claim))
        if claim.standing is Standing.COPIED:
            if self._absent(found, [claim.stored]):
                return replace(facts, absent=frozenset({marks.place_of(claim.stored)}))
            return replace(facts, rival=marks.in_words(claim.stored))
        return facts

    def with_absent(self, facts: Facts, found: Present[Any], there: Iterable[str]) -> Facts:
        """The same, and which owners of the marks `there` in the cloud do not exist here."""
        own, marks_there = claim_of(found).place, sorted(set(there))
        absent = {marks.place_of(each) for each in self._absent(found, marks_there, but=own)}
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
        alike = [each for each in self.seen.need(Indexed(kind, BY_MARK, root)) if isinstance(each, Present)]
        claims = [each for each in alike if claim_of(each).standing is not Standing.COPIED]
        return first_of(claims, names=self.names) if claims else None

    def _absent(self, found: Present[Any], there: Iterable[str], *, but: str = "") -> list[str]:
        """Those of the marks that no object here has. One of another kind, of another namespace than the controller may
        read, or of a name that the mark does not have whole, is taken to exist."""
        questions = {}
        for mark in there:
            at = marks.place_of(mark)
            word, _, rest = at.partition("/")
            namespace, _, name = rest.partition("/")
            kind = _KINDS.get(word)
            if at != but and kind is type(found.object) and "~" not in name:
                questions[mark] = ConfirmedIfAllowed(kind, name, namespace)
        self.seen.need_all(questions.values())
        return [mark for mark, question in questions.items() if _has_not(self.seen.need(question), mark)]


def _has_not(other: Any, mark: str) -> bool:
    if isinstance(other, Present):
        return marks.root_of(claim_of(other).stored) != marks.root_of(mark)
    return isinstance(other, Absent)
