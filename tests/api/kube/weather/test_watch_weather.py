"""What happens to watches on a bad day, with a real API server: restarts, lost history, dead connections.

Each test writes through a connection of its own, so that the cache can be cut off while the world goes on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from msgspec import Struct, field, structs

from tests.patience import PATIENCE
from tests.waiting import patiently, until
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.cache import Cache
from windlass.kube.cache.store import Change
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.testing.blackhole import BlackHole
from windlass.testing.plane.facade import ControlPlane

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

INACTIVITY = 3.0


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Day:
    """A cache behind a network that can fail, a listener that keeps account, and somebody who writes directly."""

    def __init__(self, network: BlackHole, direct: Client, cache: Cache[ConfigMap], namespace: str) -> None:
        self.network = network
        self.direct = direct
        self.cache = cache
        self.namespace = namespace
        self.told: list[Change[ConfigMap]] = []
        self.account: dict[str, str] = {}
        """What the changes announced so far add up to: version by name."""
        cache.subscribe(self._listen)

    def _listen(self, change: Change[ConfigMap]) -> None:
        self.told.append(change)
        subject = change.new or change.old
        assert subject is not None
        known = self.account.get(subject.name)
        assert known == (change.old.resource_version if change.old else None), "changes must follow on each other"
        if change.new is None:
            del self.account[subject.name]
        else:
            self.account[subject.name] = change.new.resource_version

    async def write(self, name: str, value: str) -> None:
        body = {"data": {"value": value}}
        await self.direct.patch(
            ConfigMap,
            name,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **body},
            type=PatchType.APPLY,
            namespace=self.namespace,
            field_manager="test",
            force=True,
        )

    async def delete(self, name: str) -> None:
        await self.direct.delete(ConfigMap, name, namespace=self.namespace)

    async def truth(self) -> dict[str, str]:
        listed = await self.direct.list(ConfigMap, namespace=self.namespace)
        return {item.name: item.resource_version for item in listed.items}

    async def agrees(self, *, within: float = PATIENCE) -> None:
        """Wait until the cache, and the sum of what it announced, are what the server has."""
        truth = await self.truth()
        try:
            await until(lambda: self._shown() == truth == self.account, within=within)
        except TimeoutError:
            pytest.fail(f"server: {truth}\ncache: {self._shown()}\nannounced: {self.account}\n{self.cache.health}")

    def _shown(self) -> dict[str, str]:
        return {item.name: item.resource_version for item in self.cache.items()}


@asynccontextmanager
async def day(plane: ControlPlane, *, page_size: int = 500) -> AsyncIterator[Day]:
    settings = config.load(kubeconfig=plane.kubeconfig())
    async with (
        BlackHole.before(settings.server) as network,
        Client(settings) as direct,
        Client(structs.replace(settings, server=network.url)) as client,
    ):
        namespace = await plane.create_namespace()
        cache = Cache(client, ConfigMap, namespace=namespace, inactivity=INACTIVITY, page_size=page_size)
        today = Day(network, direct, cache, namespace)
        for name in ("kept", "changed", "deleted"):
            await today.write(name, "1")
        task = asyncio.create_task(cache.run())
        try:
            async with asyncio.timeout(PATIENCE):
                await cache.wait_synced()
            await today.agrees()
            yield today
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_an_api_server_killed_and_restarted_loses_and_invents_nothing(
    windlass_module_plane: ControlPlane,
) -> None:
    async with day(windlass_module_plane) as today:
        await today.write("changed", "2")
        await windlass_module_plane.kill_apiserver()
        await until(lambda: today.cache.health.pulse.failures > 0)
        assert today.cache.get("kept") is not None, "what was known stays readable"
        await windlass_module_plane.restart_apiserver()
        await patiently(lambda: today.write("created", "1"))
        await patiently(lambda: today.delete("deleted"))
        await today.agrees()
        assert [c.old.name for c in today.told if c.old and not c.new] == ["deleted"]
        await until(lambda: today.cache.health.pulse.failures == 0)


async def test_changes_made_while_the_connection_was_cut_are_told_as_they_happened(
    windlass_module_plane: ControlPlane,
) -> None:
    async with day(windlass_module_plane) as today:
        lists = today.cache.health.pulse.lists
        for value in range(2, 6):
            today.network.cut()
            await today.write("changed", str(value))
        await today.delete("deleted")
        await today.agrees()
        values = [c.new.decode().data["value"] for c in today.told if c.new and c.new.name == "changed"]
        assert values == ["1", "2", "3", "4", "5"]
        assert today.cache.health.pulse.lists == lists, "history was there, so nothing had to be listed again"


async def test_lost_history_is_followed_by_a_list_that_tells_only_what_differs(
    windlass_module_plane: ControlPlane,
) -> None:
    async with day(windlass_module_plane) as today:
        lists, told = today.cache.health.pulse.lists, len(today.told)
        today.network.refuse()
        today.network.cut()
        await today.write("changed", "2")
        await today.write("changed", "3")
        await today.delete("deleted")
        await today.write("created", "1")
        await windlass_module_plane.forget_history()
        today.network.heal()
        await patiently(today.truth)
        await today.agrees()
        await until(lambda: today.cache.health.pulse.lists > lists)  # it is counted once all of it is told
        assert today.cache.health.pulse.lists == lists + 1, "410 leads to a list"
        happened = {(c.old and c.old.name, c.new and c.new.name) for c in today.told[told:]}
        assert happened == {("changed", "changed"), ("deleted", None), (None, "created")}
        assert len(today.told) == told + 3


async def test_a_black_holed_watch_is_found_dead_and_replaced(windlass_module_plane: ControlPlane) -> None:
    async with day(windlass_module_plane) as today:
        today.network.swallow()
        await today.write("changed", "2")
        await today.delete("deleted")
        await until(lambda: "changed" in today.account and today.cache.health.pulse.failures > 0)
        assert today.cache.get("deleted") is not None, "nothing came through yet"
        today.network.heal()
        await today.agrees()


async def test_own_writes_stay_visible_while_the_watch_is_dead(windlass_module_plane: ControlPlane) -> None:
    async with day(windlass_module_plane) as today:
        today.network.swallow()
        answer = await today.direct.patch(
            ConfigMap, "changed", {"data": {"value": "ours"}}, type=PatchType.MERGE, namespace=today.namespace
        )
        today.cache.wrote(answer)
        known = today.cache.get("deleted")
        assert known is not None
        await today.delete("deleted")
        today.cache.removed(
            name=known.name, namespace=known.namespace, uid=known.uid, resource_version=known.resource_version
        )
        await until(lambda: today.cache.health.pulse.failures > 0)
        found = today.cache.get("changed")
        assert found is not None
        assert found.decode().data == {"value": "ours"}
        assert today.cache.get("deleted") is None
        today.network.heal()
        await today.agrees()
        assert today.cache.health.pending == 0


async def test_a_storm_of_cuts_while_others_write_converges(windlass_module_plane: ControlPlane) -> None:
    async with day(windlass_module_plane) as today:
        for round_ in range(25):
            if round_ % 3 == 0:
                today.network.cut()
            await today.write(f"storm-{round_ % 7}", str(round_))
            if round_ % 5 == 4:
                await today.delete(f"storm-{round_ % 7}")
        await today.agrees()
