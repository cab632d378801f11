"""What people do with objects that own something in the cloud, and with both clusters.

    play([("create", 0, 0, 0), ("copy", 0, 1, 0), ("delete", 1, 0, 0)])

Each event is a name and three small numbers: which object (of those that there are), how, and where. So any list of
events is a story, and a short one remains a story when one is left out.
"""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.verbs import PatchType
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, PAUSED_ANNOTATION
from windlass.testing.crash import CrashPoint, When
from windlass.testing.logs import captured

from . import manifests
from .checks import MARK, MARKS, Checks, mark_on, marks_of
from .copies import Export, is_of, named, renamed, stripped, user_data
from .manifests import MACHINES, TEAMS
from .oracle import KINDS, Key, Self
from .scene import ALL, OF_SELF, Scene

Act = tuple[str, int, int, int]
TAKE_OVER: Final = "openstack.windlass.dev/take-over"
WORDS: Final = {**{kind: kind for kind in KINDS}, "machine": "server", "mapi": "machine"}
"""How the annotation that confirms calls the owners."""
MAKE: Final = {
    "server": manifests.server,
    "machine": manifests.machine,
    "mapi": manifests.machine_of_machine_api,
    "cluster": manifests.managed_cluster,
    "pool": manifests.pool,
}
_SINCE: Final = re.compile(rf"(?<={MARK}=.{{36}})/.*$")
"""What marks of today have more than those of an earlier version."""


def play(acts: Sequence[Act]) -> None:
    """Play a story from its beginning; raises AssertionError if something happens that must not."""
    asyncio.run(Story().play(acts))


class Story(Scene):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.exports: list[Export] = []
        self._names = 0
        self._turns: int | None = None

    async def play(self, acts: Sequence[Act]) -> None:
        """Raises AssertionError if something happens that must not."""
        with captured() as lines:
            checks = Checks(self, lines)
            for name, who, how, where in acts:
                turns, self._turns = self._turns, None
                await getattr(self, name)(who, how, where)
                if turns is None:
                    await self._rest(checks)
                for _ in range(turns or 0):
                    await self.sites.turn()
            await self._rest(checks)

    async def _rest(self, checks: Checks) -> None:
        await self.sites.settle()
        faults = await checks.faults()
        assert not faults, "\n".join(faults)

    def _who(self, number: int, *, alone: bool = False) -> Self | None:
        """`alone`: no Machine that has a mirror in the other API."""
        mirrored = alone and any(site.synchronizes for site in self.sites.each)
        there = [each for each in self.living() if not (mirrored and each.kind == "mapi")]
        return there[number % len(there)] if there else None

    def _new_key(self, kind: str, where: int) -> Key:
        self._names += 1
        return (MACHINES if kind == "mapi" else TEAMS[where % 2], f"w-{self._names}")

    async def create(self, who: int, how: int, where: int) -> None:
        kind = [*KINDS][how]
        key = self._new_key(kind, where)
        one = self.oracle.somebody(kind, where // 2 % 2, key)
        self.load(one, MAKE[kind](self.sites.network, key[1], key[0]))

    async def copy(self, who: int, how: int, where: int) -> None:
        """With `kubectl get -o yaml`, another name, and what one knows to leave out. how: 1 it names the server; 2 the
        OpenStackServer of a machine alone. where: 1 another namespace, 2 the other cluster."""
        if (one := self._who(who)) is not None:
            self._copy(one, how, where)

    async def rename(self, who: int, how: int, where: int) -> None:
        """A copy, and at once the deletion of the original."""
        if (one := self._who(who, alone=True)) is not None:
            self._copy(one, how, where)
            await self._delete(one)

    async def move(self, who: int, how: int, where: int) -> None:
        """As `clusterctl move`: paused, made in the other cluster without status, lost in this one, not paused. how: 1
        it waits until all is paused."""
        one = self._who(who, alone=True)
        if one is None or not self.is_free(one.kind, 1 - one.site, one.key):
            return
        await self.annotate(one, PAUSED_ANNOTATION, "")
        if how % 2:
            await self.sites.settle()
        moved = self._put(self.export(one), 1 - one.site, one.key, status=False)
        await self.lost(one)
        await self.annotate(moved, PAUSED_ANNOTATION, None)

    async def backup(self, who: int, how: int, where: int) -> None:
        if (one := self._who(who)) is not None:
            self.exports.append(self.export(one))

    async def lose(self, who: int, how: int, where: int) -> None:
        """Its objects are gone with their finalizers, after a backup. how: 1 without one."""
        if (one := self._who(who, alone=True)) is not None:
            if not how % 2:
                self.exports.append(self.export(one))
            await self.lost(one)
            self._excuse(one)

    async def restore(self, who: int, how: int, where: int) -> None:
        """From a backup; over a living object, as GitOps does. how: 1 with status. where: as for copies. Without a mark
        it would be a manifest, which makes somebody new."""
        marked = [each for each in self.exports if any(map(marks_of, each.trees))]
        if not marked:
            return
        export = marked[who % len(marked)]
        assert export.whose is not None
        if export.whose.kind == "mapi" and any(site.synchronizes for site in self.sites.each):
            return
        site = export.whose.site ^ (where // 2 % 2)
        place, name = export.whose.key
        key = (TEAMS[1 - TEAMS.index(place)], name) if where % 2 and place in TEAMS else export.whose.key
        if self.is_free(export.whose.kind, site, key):
            self._put(export, site, key, status=bool(how % 2))
        elif key == export.whose.key:
            await self._apply(export, site, key)

    async def confirm(self, who: int, how: int, where: int) -> None:
        """That a restored object is to have the server of the one that its message names. Nobody annotates a Machine
        whose server is told of by Cluster API's objects."""
        strays = [
            each
            for each in self.living()
            if each.of is not None
            and self.oracle.server_of(each) is not None
            and self.told_by(each).uid == self.main(each).uid
        ]
        if strays:
            one = strays[who % len(strays)]
            server = self.oracle.server_of(one)
            assert server is not None
            one.confirmed = server.holder.place
            await self.annotate(one, TAKE_OVER, "/".join((WORDS[server.holder.kind], *server.holder.key)))

    async def unmark(self, who: int, how: int, where: int) -> None:
        """That a restored object is not the one that its mark says."""
        strays = [each for each in self.living() if each.of is not None]
        if strays:
            one = strays[who % len(strays)]
            one.origin, one.of = None, one.of if one.names or one.torn else None
            if one.of is None:
                one.identity = self.oracle.somebody(one.kind, one.site, one.key).identity
            await self.annotate(one, MARKS[one.kind == "mapi"], None)

    async def delete(self, who: int, how: int, where: int) -> None:
        if (one := self._who(who)) is not None:
            await self._delete(one)

    async def force(self, who: int, how: int, where: int) -> None:
        """Deleted, and its finalizers removed by hand."""
        if (one := self._who(who, alone=True)) is not None:
            await self._delete(one)
            await self.lost(one)
            self._excuse(one)

    async def uninstall(self, who: int, how: int, where: int) -> None:
        self.sites.each[where % 2].stop()

    async def install(self, who: int, how: int, where: int) -> None:
        """Or restart."""
        for site in self.sites.each if how % 2 else [self.sites.each[where % 2]]:
            site.start()

    async def kill(self, who: int, how: int, where: int) -> None:
        """The process will die at a write, and another one begins."""
        site = self.sites.each[where % 2]
        if site.life is not None:
            site.start(CrashPoint(1 + who, [*When][how % 2]))

    async def hurry(self, who: int, how: int, where: int) -> None:
        """What comes next happens a moment before what follows it."""
        self._turns = how

    async def earlier(self, who: int, how: int, where: int) -> None:
        """All this was done by an earlier version, whose marks were roots alone. how: 1 the next one is there at once,
        2 something is done meanwhile. What was forged, or taken over from another object, before would share its mark
        with the other's."""
        if any(each.forged or each.confirmed for each in self.oracle.selves):
            return
        for site in self.sites.each:
            site.stop()
        for each in self.marked():
            if "metadata" in each:
                each["metadata"] = {name: value.partition("/")[0] for name, value in each["metadata"].items()}
            else:
                each["description"] = _SINCE.sub("", each.get("description") or "")
        for one in self.living():
            for kind in OF_SELF[one.kind]:
                if (found := self.its(one, kind)) is not None:
                    has = found.tree()["metadata"].get("annotations") or {}
                    given = {name: has[name].partition("/")[0] for name in MARKS if name in has}
                    await self.patch(found, {"metadata": {"annotations": given}})
            self.oracle.was_of_an_earlier_version(one)
        if how % 2:
            for site in self.sites.each:
                site.start()

    async def forge(self, who: int, how: int, where: int) -> None:
        """A tenant writes what it has read of another's object. how: 0 its mark, 1 the root alone, 2 the root and
        holder with the own place, 3 the ID of its server."""
        victim = self._who(who)
        if victim is None or (server := self.oracle.server_of(victim)) is None:
            return
        if how == 3 and where % 2 and server.kind == "servers" and victim.kind != "mapi":
            self._forge_machine(victim, server.id, where // 2 % 2)
            return
        mark = mark_on(getattr(self.sites.cloud.services, server.kind)[server.id])
        key = self._new_key("server", 1)
        root, holder, *_ = [*mark.split("/"), ""]
        own = f"{root}/{holder or '0' * 16}/server/{key[0]}/{key[1]}"
        text = (mark, root, own, server.id)[how]
        one = self.oracle.somebody("server", where // 2 % 2, key, names=server.id if how == 3 else "", forged=True)
        (made,) = manifests.server(self.sites.network, key[1], key[0])
        made["metadata"]["annotations"] = {ADOPT_ANNOTATION if how == 3 else MARK_ANNOTATION: text}
        self.load(one, [made])

    def _forge_machine(self, victim: Self, server: str, site: int) -> None:
        """A Machine of the Machine API with the victim's name names its server."""
        key = (MACHINES, victim.key[1])
        if self.is_free("mapi", site, key):
            (made,) = manifests.machine_of_machine_api(self.sites.network, key[1], key[0])
            made["spec"]["providerID"] = f"openstack:///{server}"
            self.load(self.oracle.somebody("mapi", site, key, names=server, forged=True), [made])

    async def part(self, who: int, how: int, where: int) -> None:
        """The OpenStackServer of a machine is lost, and the machine lives."""
        one = self._who(who)
        if one is not None and one.kind == "machine" and (found := self.its(one, OpenStackServer)) is not None:
            await self.patch(found, {"metadata": {"finalizers": None}})
            await self.site(one).api.delete(OpenStackServer, found.name, namespace=found.namespace)

    async def hand(self, who: int, how: int, where: int) -> None:
        """A Machine of the Machine API gets its server from the other API."""
        machines = [each for each in self.living() if each.kind == "mapi"]
        if not machines:
            return
        one = machines[who % len(machines)]
        if one.identity is not None:
            self.oracle.handed.add(one.identity)
        for site in self.sites.each:
            if not site.synchronizes:
                site.synchronizes = True
                if site.life is not None:
                    site.start()
        found = self.main(one)
        other = {"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[found.tree()["spec"]["authoritativeAPI"]]
        await self.patch(found, {"spec": {"authoritativeAPI": other}})

    # how they do it

    def _put(self, export: Export, site: int, key: Key, *, status: bool) -> Self:
        """Restored objects. Under another name than theirs they may be copies."""
        assert export.whose is not None
        kind = export.whose.kind
        same = export.identity is not None and key == export.whose.key
        its, child = (named(trees, status=status) for trees in (export.trees, export.trees[2:]))
        one = self.oracle.somebody(
            kind,
            site,
            key,
            identity=export.identity if same else None,
            of=None if same else export.of if export.of is not None else export.identity,
            origin=None if same else export.origin,
            names=export.whose.names if same else child if kind == "machine" and export.trees[2:] else its,
            forged=export.whose.forged,
            free=export.whose.free or (kind == "machine" and not export.trees[2:]),
            torn=kind == "machine" and its != child,
            confirmed=export.confirmed,
        )
        trees = [stripped(each, status=status, held=True) for each in export.trees]
        self.load(one, [*user_data(key[0], trees), *trees])
        return one

    def _copy(self, one: Self, how: int, where: int) -> None:
        kind, export = one.kind, self.export(one)
        trees = export.trees
        if how // 2 % 2 and kind == "machine":
            kind, trees = "server", [each for each in trees if is_of(each, OpenStackServer)]
        trees = [each for each in trees if kind == "server" or not is_of(each, OpenStackServer)]
        trees = [each for each in trees if not is_of(each, IPAddress)]
        if not trees:
            return
        key = self._new_key(kind, TEAMS.index(one.key[0]) + where % 2 if kind != "mapi" else 0)
        server = self.oracle.server_of(one)
        which = server.id if server is not None and server.kind == "servers" and how % 2 else ""
        made = [renamed(stripped(each, status=False), key[1], which) for each in trees]
        of = export.of if export.of is not None else export.identity
        names = which or (made[-1]["metadata"].get("annotations") or {}).get(ADOPT_ANNOTATION, "")
        new = self.oracle.somebody(kind, one.site ^ (where // 2 % 2), key, of=of, origin=export.origin, names=names)
        new.forged, new.bare = one.forged, one.bare
        new.free = (kind == "machine" and not one.bare) or one.free  # a root alone may be of a restored one
        new.confirmed = export.confirmed if kind != "machine" else None
        self.load(new, [*user_data(new.key[0], made), *made])

    async def _apply(self, export: Export, site: int, key: Key) -> None:
        """What GitOps does with exported objects: what they say of metadata and spec is so again."""
        api, (place, name) = self.sites.each[site].api, key
        for given in export.trees:
            kind = next(each for each in ALL if is_of(given, each))
            found = api.peek(kind, name, namespace=place)
            one = self.oracle.of_uid(found.uid) if found is not None else None
            if found is None or one is None or one.identity is None or one.identity != export.identity:
                continue
            one.birth = self.oracle.somebody(one.kind, one.site, one.key, identity=one.identity).birth
            self.oracle.selves.pop()
            body = {"metadata": {"annotations": given["metadata"].get("annotations")}, "spec": given["spec"]}
            await api.patch(kind, name, body, type=PatchType.MERGE, namespace=place)

    async def _delete(self, one: Self) -> None:
        one.wished = True
        server = self.oracle.server_of(one)
        if server is not None and server.holder is not one:
            self._excuse(one)
        kinds = (IPAddressClaim, OpenStackFloatingIPPool) if one.kind == "pool" else OF_SELF[one.kind][:1]
        there = [each for each in map(partial(self.its, one), kinds) if each is not None] or [self.main(one)]
        for found in there:
            await self.site(one).api.delete(found.kind, found.name, namespace=found.namespace)

    def _excuse(self, one: Self) -> None:
        self.oracle.excused.update({each for each in (one.identity, one.of) if each is not None})
