"""Whose resources are: what an object is to the mark in its annotation, and which marks it may replace. Pure.

| annotation | the object | its mark |
|---|---|---|
| none | is new | made up, with a new root |
| of its own place and uid | holds the mark | that one |
| of its own place, another uid | was moved or restored | the same root, its own uid |
| a root alone | was served by an earlier version | the same root, its place and uid |
| of another place, or not one of an object | is a copy | a new root, unless what has the old one is taken over |

An object replaces other marks by its own, first in the cloud and then in its annotation, and creates nothing before:

| mark in the cloud | it is replaced |
|---|---|
| of its root and place, another uid | by an object that was moved or restored, or served by an earlier version |
| its root alone | by the first of the objects here with this root, if it names the server or has its name |
| of its place, on a server that it names | by an object that has not had this server yet |
| of its place and uid, another root | by the object: somebody has changed its annotation |
| of another place | if an annotation confirms it, and no object of that place exists here |

So of two objects with one mark only the one that the cloud names has the resources. An object that held a mark and
finds another holder of its place stops for good: a newer one has taken over, maybe in another management cluster.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine as MachineApiMachine
from windlass.kube.control.seen import Present
from windlass.openstack import constants
from windlass.openstack.cloud import marks

_WORDS: Final[dict[type[Any], str]] = {
    OpenStackServer: "server",
    OpenStackMachine: "server",  # its annotation is that of its OpenStackServer, which has its name
    OpenStackCluster: "cluster",
    OpenStackFloatingIPPool: "pool",
    MachineApiMachine: "machine",
}


SKEW: Final = timedelta(seconds=10)


class Standing(StrEnum):
    NEW = "new"
    HOLDS = "holds"
    MOVED = "moved"
    EARLIER = "earlier"
    COPIED = "copied"


class Claim(Struct, frozen=True):
    """`mark`: the one that the object has, or would have if it took over what has its root; empty if it is new, or its
    annotation is not a mark of an object. `stored`: its annotation."""

    standing: Standing
    mark: str = ""
    stored: str = ""

    @property
    def holds(self) -> bool:
        return self.standing is Standing.HOLDS

    @property
    def is_copied(self) -> bool:
        return self.standing is Standing.COPIED

    @property
    def is_replacing(self) -> bool:
        """Its own mark is not in its annotation yet: what has an earlier one in the cloud gets it first."""
        return bool(self.mark) and not self.holds

    @property
    def place(self) -> str:
        return marks.place_of(self.mark)

    def is_of(self, mark: str) -> bool:
        """Whether a mark in the cloud is the object's: its own, or one that it had before. For overviews."""
        if not self.stored or self.is_copied or marks.root_of(mark) != marks.root_of(self.stored):
            return False
        return marks.place_of(mark) in ("", self.place or marks.place_of(self.stored))


class Facts(Struct, frozen=True):
    """`rival`: the object here that has the mark of the annotation, for people; empty: none. `elder`: the other object
    here that what has the root alone belongs to. `holders`: whose a mark of an earlier version is, for people.
    `absent`: the places of marks in the cloud that no object here has. `confirmed`: the place that an annotation of the
    object names. `adopts`: the object names a server, and does not know yet that it has it."""

    rival: str = ""
    elder: str = ""
    holders: Mapping[str, str] = {}
    absent: frozenset[str] = frozenset()
    confirmed: str = ""
    adopts: bool = False


class Ownership(Struct, frozen=True):
    """What an object may do with what exists in the cloud. `formers`: the marks there that it replaces by its own."""

    claim: Claim = Claim(Standing.NEW)
    facts: Facts = Facts()
    formers: frozenset[str] = frozenset()

    @property
    def mark(self) -> str:
        return self.claim.mark


def may_be_unseen(found: Present[Any], as_of: datetime | None) -> bool:
    """A list of the cloud of this time may lack what the object has: another management cluster made it before the
    object was moved or restored here. Clocks may differ by `SKEW`."""
    if claim_of(found).standing not in (Standing.MOVED, Standing.COPIED) or as_of is None:
        return False
    appeared = found.metadata.creation_timestamp
    return appeared is not None and as_of < datetime.fromisoformat(appeared) + SKEW


def place_of(found: Present[Any]) -> str:
    """The place of the object, as marks have it."""
    return marks.place(_WORDS[type(found.object)], found.metadata.namespace, found.metadata.name)


def annotation_of(kind: type[Any]) -> str:
    return constants.MACHINE_MARK_ANNOTATION if kind is MachineApiMachine else constants.MARK_ANNOTATION


def new_mark(found: Present[Any], root: str) -> str:
    """The mark of the object with this root."""
    return marks.mark_for(root, holder_uid(found), place_of(found))


def holder_uid(found: Present[Any]) -> str:
    """The uid of what holds the mark of the object: the OpenStackMachine of a server, else the object itself."""
    return next(iter(_machines(found)), found.metadata.uid)


def presumed_mark(found: Present[Any]) -> str:
    """Recorded resources that have no mark yet count as marked with this text, so their owner is known."""
    root = marks.root_of(claim_of(found).stored)
    return marks.mark_for(root, found.metadata.uid, place_of(found))


def claim_of(found: Present[Any]) -> Claim:
    """What the object alone says."""
    return found.derived(_claim)


def _claim(found: Present[Any]) -> Claim:
    stored = found.metadata.annotations.get(annotation_of(type(found.object)), "")
    at, root = place_of(found), marks.root_of(stored)
    if not stored:
        return Claim(Standing.NEW)
    if not marks.is_root_of_object(root):
        return Claim(Standing.COPIED, "", stored)
    own = new_mark(found, root)
    if isinstance(found.object, OpenStackMachine):  # it carries the mark of its OpenStackServer, with any holder
        return Claim(Standing.HOLDS if marks.place_of(stored) in ("", at) else Standing.COPIED, stored, stored)
    if stored == root:
        return Claim(Standing.EARLIER, own, stored)
    if marks.place_of(stored) != at:
        return Claim(Standing.COPIED, own, stored)
    if marks.holder_of(stored) in _holders(found, at):
        return Claim(Standing.HOLDS, stored, stored)
    return Claim(Standing.MOVED, own, stored)


def replaced(claim: Claim, there: Iterable[str], facts: Facts) -> frozenset[str]:
    """Those of the marks `there` in the cloud that the object replaces by its own."""
    return frozenset(each for each in there if each not in ("", claim.mark) and _is_replaced(each, claim, facts))


def first_of(found: Sequence[Present[Any]], *, names: Callable[[Present[Any]], bool]) -> Present[Any]:
    """Which of several objects of one kind with the same root has what the root alone is on: one whose status `names`
    resources, else the oldest. The mark in an annotation proves nothing: every user who knows the root can write a
    mark, and earlier versions showed the root to users."""
    return min(found, key=lambda each: (not names(each), *_age(each)))


def _age(found: Present[Any]) -> tuple[str, str, str]:
    meta = found.metadata
    return meta.creation_timestamp or "", meta.namespace, meta.name


def _is_replaced(mark: str, claim: Claim, facts: Facts) -> bool:
    own_root = bool(claim.mark) and marks.root_of(mark) == marks.root_of(claim.mark)
    at = marks.place_of(mark)
    if at and marks.tail_of(mark) == marks.tail_of(claim.mark):
        return True
    if not at:
        return own_root and claim.standing is not Standing.COPIED and not facts.elder
    if at == claim.place:
        return facts.adopts or (own_root and claim.standing in (Standing.MOVED, Standing.EARLIER))
    return at == facts.confirmed and at in facts.absent


def _holders(found: Present[Any], at: str) -> set[str]:
    """The object holds a mark itself, or by the OpenStackMachine that owns it and made up the mark."""
    return {marks.holder(uid, at) for uid in (found.metadata.uid, *_machines(found))}


def _machines(found: Present[Any]) -> list[str]:
    """The uids of the OpenStackMachines that own it."""
    return [each.uid for each in found.metadata.owner_references if each.kind == OpenStackMachine.RESOURCE.kind]
