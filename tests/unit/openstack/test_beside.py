"""Whether Windlass works, by the Lease of the OpenStack provider's own manager."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest

from windlass.api.coordination import Lease
from windlass.api.meta import K
from windlass.kube.control.seen import Seen
from windlass.kube.errors import TransportError
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.beside import (
    MACHINE_API_LEASE,
    PROVIDER_NAMESPACE,
    Beside,
    cluster_api_provider,
    machine_api_provider,
)
from windlass.openstack.constants import LEASE
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE
from windlass.testing.clock import VirtualLoop

HOLDER = "capo-controller-manager-1"


class Provider(MemoryReader):
    """An API server, and the provider's manager, which holds its Lease while it is told to."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__(MemoryApi(Lease, clock=loop.clock.now))
        self.away = False

    async def see(self, kind: type[K], name: str, **how: Any) -> Seen[K]:
        if self.away:
            raise TransportError("connection refused")
        return await super().see(kind, name, **how)

    async def takes(self, holder: str = HOLDER, *, times: int = 0) -> None:
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": times}
        if self.api.peek(Lease, LEASE, namespace=PROVIDER_NAMESPACE) is None:
            body = {"metadata": {"name": LEASE, "namespace": PROVIDER_NAMESPACE}, "spec": spec}
            await self.api.create(Lease, body, namespace=PROVIDER_NAMESPACE)
        else:
            patch = {"spec": spec}
            await self.api.patch(Lease, LEASE, patch, type=PatchType.MERGE, namespace=PROVIDER_NAMESPACE)

    async def works(self, *, seconds: float) -> None:
        """Hold the Lease and renew it every two seconds."""
        for times in range(int(seconds / 2)):
            await self.takes(times=times)
            await asyncio.sleep(2)

    async def leaves(self) -> None:
        await self.takes("")


class Story:
    """A `Beside` in virtual time: when it started and stopped, and what it says."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.provider = Provider(loop)
        self.did: list[tuple[str, int]] = []
        self.beside = Beside(
            self.provider,
            start=self._note("start"),
            stop=self._note("stop"),
            others=(cluster_api_provider(PROVIDER_NAMESPACE), machine_api_provider(MACHINE_API_NAMESPACE)),
            period=1.0,
            clock=loop.clock,
        )

    def tell(self, play: Callable[["Story"], Coroutine[Any, Any, None]]) -> list[tuple[str, int]]:
        """What happened while `play` went on, and when, in whole seconds."""

        async def scenario() -> None:
            task = asyncio.create_task(self.beside.run())
            await play(self)
            await asyncio.sleep(2)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self.loop.run_until_complete(scenario())
        return self.did

    @property
    def trouble(self) -> str:
        return self.beside.report()["openstack-provider"]

    def _note(self, what: str) -> Callable[[], Coroutine[Any, Any, None]]:
        async def note() -> None:
            self.did.append((what, int(self.loop.time())))

        return note


@pytest.fixture
def story() -> Iterator[Story]:
    loop = VirtualLoop()
    yield Story(loop)
    loop.close()


def test_where_there_is_no_provider_it_works_at_once(story: Story) -> None:
    async def play(story: Story) -> None:
        assert story.trouble == "its Lease has not been read yet"

    assert story.tell(play) == [("start", 0)]
    assert story.trouble == ""


def test_beside_a_provider_at_work_it_does_nothing_and_says_who_holds_the_lease(story: Story) -> None:
    async def play(story: Story) -> None:
        await story.provider.works(seconds=60)

    assert story.tell(play) == []
    assert HOLDER in story.trouble
    assert f"{PROVIDER_NAMESPACE}/{LEASE}" in story.trouble


def test_it_starts_as_soon_as_the_provider_releases_its_lease(story: Story) -> None:
    async def play(story: Story) -> None:
        await story.provider.works(seconds=10)
        await story.provider.leaves()

    assert story.tell(play) == [("start", 10)]


def test_it_starts_one_lease_duration_after_a_provider_was_killed(story: Story) -> None:
    async def play(story: Story) -> None:
        await story.provider.takes()
        await asyncio.sleep(30)

    assert story.tell(play) == [("start", 15)]


def test_it_stops_when_the_provider_comes_back_and_goes_on_when_it_has_gone(story: Story) -> None:
    async def play(story: Story) -> None:
        await asyncio.sleep(9.5)
        await story.provider.works(seconds=20)
        assert HOLDER in story.trouble
        await story.provider.leaves()

    assert story.tell(play) == [("start", 0), ("stop", 10), ("start", 30)]


def test_what_it_does_goes_on_while_the_lease_cannot_be_read(story: Story) -> None:
    async def play(story: Story) -> None:
        await asyncio.sleep(5)
        story.provider.away = True
        await asyncio.sleep(60)
        assert story.trouble == ""

    assert story.tell(play) == [("start", 0)]


def test_it_does_not_start_before_the_lease_could_be_read(story: Story) -> None:
    async def play(story: Story) -> None:
        story.provider.away = True
        await asyncio.sleep(9.5)
        assert "connection refused" in story.trouble
        story.provider.away = False

    assert story.tell(play) == [("start", 10)]


def test_a_lease_that_becomes_unreadable_while_the_provider_works_does_not_start_it(story: Story) -> None:
    async def play(story: Story) -> None:
        await story.provider.works(seconds=10)
        story.provider.away = True
        await asyncio.sleep(60)

    assert story.tell(play) == []


def test_beside_the_machine_controller_of_the_machine_api_it_does_nothing_either(story: Story) -> None:
    async def play(story: Story) -> None:
        await asyncio.sleep(4.5)
        place, name = MACHINE_API_NAMESPACE, MACHINE_API_LEASE
        spec = {"holderIdentity": "machine-api-controllers-0", "leaseDurationSeconds": 600}
        body = {"metadata": {"name": name, "namespace": place}, "spec": spec}
        await story.provider.api.create(Lease, body, namespace=place)
        await asyncio.sleep(2)
        assert "machine-api-controllers-0 holds Lease openshift-machine-api/" in story.trouble
        assert story.beside.idle

    assert story.tell(play) == [("start", 0), ("stop", 5)]
