"""Leaders on a bad day: killed, cut off, told to go. Two real processes, one real API server."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.patience import PATIENCE, Stalls
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.cache import Cache
from windlass.kube.client import Client
from windlass.testing.plane.facade import ControlPlane

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

REPLICA = Path(__file__).with_name("replica.py")


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Replica:
    """One process, and what it said last."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []
        self._heard = asyncio.Condition()
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            text = line.decode().strip()
            if text in ("leading", "standing by"):
                async with self._heard:
                    self.said.append(text)
                    self._heard.notify_all()

    async def says(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE), self._heard:
            await self._heard.wait_for(lambda: bool(self.said) and self.said[-1] == text)

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await self._listening


class Stage:
    """A plane, a register that leaders sign, the signatures in the order in which the server took them."""

    def __init__(self, plane: ControlPlane, client: Client, namespace: str) -> None:
        self.plane, self.client, self.namespace = plane, client, namespace
        self.signatures: list[tuple[str, float]] = []
        self._signed = asyncio.Event()

    def note(self, change: Any) -> None:
        if change.new and change.new.name == "register" and (by := change.new.decode().data.get("by")):
            self.signatures.append((by, time.monotonic()))
            self._signed.set()

    async def signed_by(self, identity: str) -> float:
        """Wait for a signature of `identity`; returns when it came."""
        async with asyncio.timeout(PATIENCE):
            while not self.signatures or self.signatures[-1][0] != identity:
                self._signed.clear()
                await self._signed.wait()
        return self.signatures[-1][1]

    async def more_than(self, count: int) -> None:
        """Wait until there are more signatures than that."""
        async with asyncio.timeout(PATIENCE):
            while len(self.signatures) <= count:
                self._signed.clear()
                await self._signed.wait()

    def reigns(self) -> list[str]:
        """Who signed, each uninterrupted series once."""
        names = [by for by, _ in self.signatures]
        return [by for number, by in enumerate(names) if number == 0 or names[number - 1] != by]

    @asynccontextmanager
    async def replica(self, identity: str) -> AsyncIterator[Replica]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(REPLICA), str(self.plane.kubeconfig()), self.namespace, identity),
            stdout=asyncio.subprocess.PIPE,
        )
        replica = Replica(process)
        try:
            yield replica
        finally:
            await replica.end()


@pytest.fixture
async def stage(windlass_module_plane: ControlPlane) -> AsyncIterator[Stage]:
    namespace = await windlass_module_plane.create_namespace()
    async with Client(config.load(kubeconfig=windlass_module_plane.kubeconfig())) as client:
        stage = Stage(windlass_module_plane, client, namespace)
        cache = Cache(client, ConfigMap, namespace=namespace)
        cache.subscribe(stage.note)
        watching = asyncio.create_task(cache.run())
        await cache.wait_synced()
        await client.create(ConfigMap, {"metadata": {"name": "register"}}, namespace=namespace)
        yield stage
        watching.cancel()
        await asyncio.wait([watching])


async def test_when_the_leader_is_killed_the_standby_goes_on_within_twenty_seconds(stage: Stage) -> None:
    async with stage.replica("one") as one:
        await stage.signed_by("one")
        async with stage.replica("two") as two:
            await two.says("standing by")
            async with Stalls() as stalls:
                one.process.kill()
                killed = time.monotonic()
                gap = await stage.signed_by("two") - killed
            assert gap <= 20 + stalls.seconds
            assert stage.reigns() == ["one", "two"]


async def test_when_the_leader_is_told_to_go_the_standby_goes_on_at_once(stage: Stage) -> None:
    async with stage.replica("one") as one:
        await stage.signed_by("one")
        async with stage.replica("two") as two:
            await two.says("standing by")
            async with Stalls() as stalls:
                one.process.send_signal(signal.SIGTERM)
                told = time.monotonic()
                assert await asyncio.wait_for(one.process.wait(), PATIENCE) == 0
                gap = await stage.signed_by("two") - told
            # Without a word from its holder it would take the 15 s of a lease, less the 2 s between two renewals.
            assert gap < 13 + stalls.seconds
            assert stage.reigns() == ["one", "two"]


async def test_a_leader_that_was_frozen_writes_nothing_when_it_thaws(stage: Stage) -> None:
    async with stage.replica("one") as one:
        await stage.signed_by("one")
        await one.says("leading")
        async with stage.replica("two") as two:
            await two.says("standing by")
            one.process.send_signal(signal.SIGSTOP)
            await stage.signed_by("two")
            one.process.send_signal(signal.SIGCONT)
            await one.says("standing by")
            await stage.more_than(len(stage.signatures) + 10)
            assert stage.reigns() == ["one", "two"]


async def test_a_leader_without_api_server_steps_down_and_leads_again(stage: Stage) -> None:
    async with stage.replica("one") as one:
        await stage.signed_by("one")
        await one.says("leading")
        await stage.plane.kill_apiserver()
        await one.says("standing by")
        assert one.process.returncode is None
        await stage.plane.restart_apiserver()
        before = len(stage.signatures)
        await one.says("leading")
        await stage.more_than(before)
