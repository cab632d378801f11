"""What must hold whenever all has come to rest.

* Nobody has asked the cloud for what it may not (`oracle`), and nothing is written any more.
* Everybody has what it wants, or says that another object has it, and which one.
* What is in the cloud is named by an object, or it was left on purpose; then it is told as an orphan.
* No mark is told to people, in conditions, Events or logs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from windlass.api.core import Event
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.overview.orphans import orphans
from windlass.openstack.overview.reading import OWNERS, objects

from .manifests import MIRRORS, Tree
from .oracle import Self, Thing
from .scene import Scene
from .sites import PROJECT, Site

MARK: Final = "windlass-owner"
MARKS: Final = (MARK_ANNOTATION, MACHINE_MARK_ANNOTATION)
_ROOT: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Checks:
    """See the module. `lines` are those of the log."""

    def __init__(self, scene: Scene, lines: Sequence[Any]) -> None:
        self._scene = scene
        self._oracle = scene.oracle
        self._lines = lines
        self._roots: set[str] = set()

    async def faults(self) -> list[str]:
        """What is wrong, as sentences."""
        there = [*self._oracle.faults, *self._of_selves(), *await self._left(), *self._told()]
        return [*there, *await self._unrest()]

    def _of_selves(self) -> Iterator[str]:
        """Everybody has one server, or says who has it."""
        for one in self._oracle.selves:
            main = self._scene.main(one)
            if main is None or self._scene.site(one).life is None:
                continue
            one.free = one.free or (one.of is not None and not self._oracle.is_stray(one))
            one.bare = one.bare and any("/" not in each for each in marks_of(main.tree()))
            if main.deleting:
                yield f"{one} is still being deleted: {_said(main)}"
                continue
            server = self._oracle.server_of(one)
            if server is not None and server.holder is one:
                told = self._scene.told_by(one)
                if _ready(told) != "True Ready" and not one.torn:
                    yield f"{one} has {server.kind} {server.id} and says {_ready(told)}: {_said(told)}"
            elif server is not None:
                yield from self._refused(one, self._scene.told_by(one), server)
            elif not (
                one.names
                or {one.identity, one.of} & self._oracle.ended
                or any(each.forged for each in self._oracle.selves)
            ):
                yield f"{one} has no server, and nobody else has: {_said(main)}"

    def _refused(self, one: Self, main: Any, server: Thing) -> Iterator[str]:
        holder = server.holder
        if one.forged or one.names not in ("", server.id):  # what it names is gone
            return
        may_take = one.identity not in self._oracle.blurred and self._oracle.may_take(one, server)
        if one.identity is not None and may_take and one.place == holder.place:
            yield f"{one} should have taken server {server.id} over from {holder}: {_said(main)}"
        elif one.of is not None and not (one.names or self._oracle.is_stray(one) or self._is_of_earlier(server)):
            yield f"{one} should have a server of its own: {_said(main)}"
        elif may_take and one.confirmed is not None:
            yield f"{one} is confirmed, and has not taken server {server.id} over from {holder}: {_said(main)}"
        elif not self._is_refused(one, _ready(main)) or not self._is_named(server, _said(main)):
            yield f"{one} should say that {holder} has its server, and says {_ready(main)}: {_said(main)}"

    @staticmethod
    def _is_refused(one: Self, ready: str) -> bool:
        """A cluster may have several parts that others have."""
        return ready == "False OwnedByAnother" or (one.kind == "cluster" and ready == "False MultipleIssues")

    def _is_named(self, thing: Thing, text: str) -> bool:
        """The owner is named; an earlier version did not say who it is, and a Machine's may be in the other API."""
        place, name = thing.holder.key
        if self._is_of_earlier(thing):
            return "an earlier version" in text
        return any(f"{each}/{name}" in text for each in (place, MIRRORS))

    def _is_of_earlier(self, thing: Thing) -> bool:
        return "/" not in mark_on(self._resource(thing))

    def _resource(self, thing: Thing) -> Tree:
        return dict(getattr(self._scene.sites.cloud.services, thing.kind)[thing.id])

    async def _left(self) -> list[str]:
        """What is in the cloud is named by an object, or is an orphan."""
        services = self._scene.sites.cloud.services
        there = {which for which, each in services.servers.items() if each["gone"] is None}
        known = {each.id for each in self._oracle.wholes() if each.kind == "servers"}
        faults = [f"server {which} is there or gone, and should not be" for which in there ^ known]
        texts = [each.raw for site in self._scene.sites.each for kind in OWNERS for each in site.api.listing(kind)]
        listed = [await self._orphans(site) for site in self._scene.sites.each]
        for thing in self._oracle.wholes():
            root = mark_on(self._resource(thing)).partition("/")[0]
            if any(thing.id.encode() in text or (root and root.encode() in text) for text in texts):
                continue
            if thing.identity not in self._oracle.excused:
                faults.append(f"{thing.kind} {thing.id} of {thing.holder} is not named by any object")
            if not all(thing.id in each for each in listed):
                faults.append(f"{thing.kind} {thing.id} of {thing.holder} is left, and is not told as an orphan")
        return faults

    async def _orphans(self, site: Site) -> set[str]:
        clouds = Clouds(
            wire=lambda _: self._scene.sites.cloud.wire(PROJECT),
            now=lambda: self._scene.sites.now,
            clock=lambda: self._scene.sites.cloud.services.now,
        )
        account = await clouds.project(Credentials({}, "one"))
        project_inventory = await account.project_inventory(())
        return {each.id for each in orphans(project_inventory, (await objects(site.api, OWNERS)).uuids())}

    async def _unrest(self) -> list[str]:
        """At rest nothing is written."""
        before = [site.api.version for site in self._scene.sites.each], self._scene.sites.writes
        for site in self._scene.sites.each:
            if site.life is not None:
                await site.life.visit()
        after = [site.api.version for site in self._scene.sites.each], self._scene.sites.writes
        return [f"at rest something is written: {before} became {after}"] if before != after else []

    def _told(self) -> Iterator[str]:
        """No mark is shown to people."""
        for each in self._scene.marked():
            self._roots.update(_ROOT.findall(mark_on(each)))
        shown = [str(line) for line in self._lines]
        for site in self._scene.sites.each:
            kinds: tuple[type[Any], ...] = (*OWNERS, Event)
            for kind in kinds:
                for found in site.api.listing(kind):
                    told = found.tree()
                    marks = told["metadata"].get("annotations") or {}
                    self._roots.update(root for name in MARKS for root in _ROOT.findall(marks.get(name, "")))
                    status = told.get("status") or {}
                    shown.append(str(told if kind is Event else (status.get("conditions"), status.get("errorMessage"))))
        for text in shown:
            if found_roots := self._roots.intersection(_ROOT.findall(text)):
                yield f"mark {found_roots} is told: {text}"


def marks_of(tree: Tree) -> list[str]:
    """In the annotations of an object."""
    annotations = tree["metadata"].get("annotations") or {}
    return [annotations[name] for name in MARKS if name in annotations]


def mark_on(resource: Tree) -> str:
    described = resource.get("description") or ""
    return str(resource.get("metadata", {}).get(MARK) or described.partition(f"{MARK}=")[2])


def _conditions(found: Any) -> list[Tree]:
    return (found.tree().get("status") or {}).get("conditions") or []


def _ready(found: Any) -> str:
    return next((f"{each['status']} {each['reason']}" for each in _conditions(found) if each["type"] == "Ready"), "")


def _said(found: Any) -> str:
    return "; ".join(f"{each['type']} {each['status']} {each.get('message', '')}" for each in _conditions(found))
