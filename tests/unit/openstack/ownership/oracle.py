"""Who may do what to which resource of the cloud, as the story knows it, without a look at any mark.

A `Self` is an object as people think of it: what they copy is another one, what they move or restore goes on to be the
same *identity*, as a later Self. A resource belongs to the identity for which it was made, and is held by one Self: by
the one that made it, then by later ones that took it over and may do so.

| what the cloud is asked for | who may |
|---|---|
| to create something | the Self of an identity that has none; a copy that names no server and is somebody else |
| to change something | its holder, and who may take it over: a later Self of the identity, and one that is confirmed |
| to delete something | its holder, if a person deleted that Self |
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.model.changes import StoredWrite
from windlass.testing.memory_cloud import Reply

from .manifests import MIRRORS

Key = tuple[str, str]
"""Namespace and name."""
Place = tuple[str, str, str]
"""What the owner of a resource is called: kind, namespace, name."""

KINDS: Final[dict[str, type[Any]]] = {
    "server": OpenStackServer,
    "machine": OpenStackMachine,
    "mapi": mapi.Machine,
    "cluster": OpenStackCluster,
    "pool": OpenStackFloatingIPPool,
}
"""The objects of a Self, by what it is: that which people copy."""
OWNERS: Final[dict[str, type[Any]]] = {**KINDS, "machine": OpenStackServer}
"""The objects that own what it has in the cloud."""
HAS: Final = {**dict.fromkeys(KINDS, "servers"), "cluster": "networks", "pool": "floatingips"}
"""What each has one of in the cloud."""
THINGS: Final = ("servers", "volumes", "ports", "networks", "subnets", "routers", "floatingips")
"""What can have a mark in the cloud."""
_THING: Final = re.compile(rf"(?:/v2\.0)?/({'|'.join(THINGS)})(?:/([^/]+))?(/.*)?")


class Self(Struct, eq=False):
    """See the module.

    of          the identity of the one that it is a copy of, until it is somebody itself
    origin      the place of that one
    names       the server that its spec or status names
    wished      a person deleted it
    confirmed   the place whose resources it is to take over
    forged      somebody wrote it who wants another's server
    bare        it has the mark of an earlier version
    free        nothing relates it to the original any more: it got a mark of its own, or has no OpenStackServer
    torn        its OpenStackMachine names another server than its OpenStackServer
    birth       says which of two is later
    """

    kind: str
    site: int
    key: Key
    birth: int
    identity: int | None = None
    of: int | None = None
    origin: Place | None = None
    names: str = ""
    wished: bool = False
    forged: bool = False
    bare: bool = False
    free: bool = False
    torn: bool = False
    confirmed: Place | None = None

    @property
    def place(self) -> Place:
        return (OWNERS[self.kind].RESOURCE.kind, *self.key)

    def __str__(self) -> str:
        who = self.identity if self.identity is not None else f"a copy of {self.of}"
        return f"{'AB'[self.site]} {self.kind} {'/'.join(self.key)} ({who})"


class Thing(Struct, eq=False):
    """A resource of the cloud."""

    kind: str
    id: str
    identity: int
    holder: Self


class Objects(Protocol):
    """What the management clusters and the cloud have."""

    def exists(self, site: int, place: Place, /) -> bool: ...

    def has(self, kind: str, which: str, /) -> bool:
        """Whether the cloud has this resource."""


class Oracle:
    """See the module. What should not have been is in `faults`."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.selves: list[Self] = []
        self.things: dict[str, Thing] = {}
        self.faults: list[str] = []
        self.handed: set[int] = set()
        """Identities of Machines that were in the other API, from where they come back with another root."""
        self.ended: set[int] = set()
        """Identities of which somebody deleted what they had."""
        self.excused: set[int] = set()
        """Identities whose server may be left without an object."""
        self.blurred: set[int] = set()
        """Identities of several objects of an earlier version: nobody can tell any more which of them is the latest."""
        self._births, self._identities = count(), count()
        self._by_uid: dict[str, Self] = {}

    # who there is

    def somebody(self, kind: str, site: int, key: Key, **more: Any) -> Self:
        """A new Self; without an identity and without `of`, it is somebody new."""
        made = Self(kind, site, key, next(self._births), **more)
        if made.identity is None and made.of is None:
            made.identity = next(self._identities)
        self.selves.append(made)
        return made

    def knows(self, uid: str, self_: Self) -> None:
        """The object with this uid is of that Self."""
        self._by_uid[uid] = self_

    def appeared(self, site: int, change: StoredWrite) -> None:
        """A controller has made an object: it is of the Self of its owner, or of the Machine that it mirrors."""
        meta = change.tree["metadata"]
        if meta.get("namespace") == MIRRORS:
            for one in reversed(self.selves):
                if (one.kind, one.site, one.key[1]) == ("mapi", site, meta["name"]):
                    self._by_uid.setdefault(meta["uid"], one)
                    return
        for owner in meta.get("ownerReferences") or ():
            if (known := self._by_uid.get(owner["uid"])) is not None and meta["uid"] not in self._by_uid:
                self._by_uid[meta["uid"]] = known
                if change.kind is OpenStackServer:  # who loses it by force gets a new one, which counts as restored
                    known.birth = next(self._births)

    def of_uid(self, uid: str) -> Self | None:
        return self._by_uid.get(uid)

    def is_stray(self, one: Self) -> bool:
        """It is a copy that has no right to be somebody: what it is a copy of exists in the cloud, and that one's owner
        does not exist where it is, so that it may be that one after a restore."""
        return bool(
            one.of is not None
            and not one.free
            and one.of not in self.handed
            and self.of_identity(one.of)
            and not self._is_elsewhere(one)
            and not self._is_one_of_several(one)
        )

    def _is_elsewhere(self, one: Self) -> bool:
        """The original is another object of the same cluster."""
        return one.origin is not None and self.objects.exists(one.site, one.origin)

    def _is_one_of_several(self, one: Self) -> bool:
        """Of several objects here with the root that an earlier version wrote, one may be the original, and the others
        are copies."""
        alike = (each for each in self.selves if each is not one and each.bare and one.of in (each.identity, each.of))
        return one.bare and any(
            each.place[0] == one.place[0] and each.site == one.site and self.objects.exists(each.site, each.place)
            for each in alike
        )

    def of_identity(self, identity: int | None, kind: str = "") -> list[Thing]:
        return [each for each in self.things.values() if each.identity == identity and kind in ("", each.kind)]

    def server_of(self, one: Self) -> Thing | None:
        """The server of its identity, or of the one that it is a copy of."""
        which = one.identity if one.identity is not None else one.of
        return next(iter(self.of_identity(which, HAS[one.kind])), None)

    def was_of_an_earlier_version(self, one: Self) -> None:
        one.bare = True
        if one.identity is not None and sum(each.identity == one.identity for each in self.selves) > 1:
            self.blurred.add(one.identity)

    # what is asked

    def wrote(self, asking: Any, asked: Any, reply: Reply) -> None:
        form = _THING.fullmatch(asked.path)
        assert form is not None, asked.path
        kind, which, _ = form.groups()
        one = self._by_uid.get(asking.uid)
        if one is None:
            self.faults.append(f"{asking} asks for {asked.method} {asked.path}, and nobody knows it")
        elif which is None:
            made = next(iter(msgspec.json.decode(reply.body).values()))["id"]
            self._creates(one, kind, made)
        elif (thing := self.things.get(which)) is None:
            self.faults.append(f"{one} asks for {asked.method} {asked.path}, which is gone")
        elif asked.method == "DELETE":
            self._deletes(one, thing)
        else:
            self._changes(one, thing)

    def _creates(self, one: Self, kind: str, which: str) -> None:
        if one.names and (one.kind != "cluster" or one.names in self.things):
            self.faults.append(f"{one} names server {one.names}, and makes {kind} {which}")
        if one.of is not None:
            if self.is_stray(one):
                self.faults.append(f"{one} makes {kind} {which}, although its original may be restored as this object")
            one.identity, one.of, one.origin, one.free = next(self._identities), None, None, False
        assert one.identity is not None
        if had := self.of_identity(one.identity, kind):
            self.faults.append(f"{one} makes {kind} {which}, and has {had[0].id} by {had[0].holder}")
        self.things[which] = Thing(kind, which, one.identity, one)

    def _changes(self, one: Self, thing: Thing) -> None:
        if thing.holder is one:
            return
        if not self.may_take(one, thing):
            self.faults.append(f"{one} changes {thing.kind} {thing.id} of {thing.holder}")
        former, before = thing.holder, thing.identity
        if one.identity != before and not one.bare:  # confirmed: what the other had is this one's now
            self.ended.add(before)
            one.identity = one.identity if one.identity is not None else next(self._identities)
        else:
            one.identity = before
        one.of, one.names, one.free = None, "", False
        for each in self.of_identity(before):
            if each.holder is former:
                each.holder, each.identity = one, one.identity

    def _deletes(self, one: Self, thing: Thing) -> None:
        if thing.holder is not one:
            self.faults.append(f"{one} deletes {thing.kind} {thing.id} of {thing.holder}")
        elif not one.wished:
            self.faults.append(f"{one} deletes {thing.kind} {thing.id}, and nobody has deleted it")
        self.ended.add(thing.identity)
        del self.things[thing.id]
        # With a network its subnets go.
        self.things = {which: each for which, each in self.things.items() if self.objects.has(each.kind, which)}

    def may_take(self, one: Self, thing: Thing) -> bool:
        """Whether it may take the resource over from its holder."""
        if one.identity == thing.identity and one.place == thing.holder.place:
            return one.birth > thing.holder.birth or (one.bare and one.identity in self.blurred)
        if one.bare and (one.names or one.torn) and one.of == thing.identity:
            return True  # it names the server, and with the root of that, nothing says any more that it is a copy
        if one.place == thing.holder.confirmed and one.birth > thing.holder.birth:
            return True  # it was moved while somebody confirmed another one in its old place: both may have it
        confirmed = one.confirmed is not None and one.confirmed == thing.holder.place
        return confirmed and not self.objects.exists(one.site, thing.holder.place)

    # what is found

    def wholes(self) -> Iterator[Thing]:
        """Those of which a Self has one."""
        return (each for each in self.things.values() if each.kind in HAS.values())
