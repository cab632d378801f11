"""How many workers wait for clouds that do not answer."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

import pytest

from tests.unit.openstack.cloud.scripted_wire import ScriptedWire, clock, now, virtual
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import NotSent, Unavailable
from windlass.openstack.cloud.session import Reply
from windlass.openstack.cloud.waiting import FAILED, FRESH, OF_TENANT, PARTLY, WAITERS, WORKERS, Place, Waiting
from windlass.openstack.cloud.wire import Http

NEVER = 10_000.0


def credentials(cloud: str, *, tenant: str = "") -> Credentials:
    auth = {"auth_url": f"https://{cloud}.example/v3"}
    return Credentials({"auth": auth}, "c", where=f"Secret {tenant or cloud}/cloud", tenant=tenant or cloud)


class World:
    """Workers that ask clouds. `within` and `refused` are the names of the clouds."""

    def __init__(self) -> None:
        self.waiting = Waiting(clock)
        self.within: list[str] = []
        self.refused: list[tuple[str, float]] = []
        self.tasks: list[asyncio.Task[None]] = []

    def place(self, cloud: str, *, tenant: str = "") -> Place:
        return self.waiting.of(credentials(cloud, tenant=tenant))

    def ask(self, cloud: str, *, tenant: str = "", service: str = "compute", seconds: float = NEVER) -> None:
        """A worker gets a token and asks a service; both answer after so long."""

        async def work() -> None:
            place = self.place(cloud, tenant=tenant)
            try:
                async with place.turn():
                    self.within.append(cloud)
                    place.asks(service)
                    try:
                        await asyncio.sleep(seconds)
                        place.heard("identity", answered=True)
                        place.heard(service, answered=True)
                    finally:
                        self.within.remove(cloud)
            except NotSent as refused:
                self.refused.append((cloud, refused.retry_after or 0.0))
            except Unavailable:
                self.refused.append((cloud, -1.0))

        self.tasks.append(asyncio.create_task(work()))

    def fail(self, cloud: str, *, times: int = 1) -> None:
        for _ in range(times):
            self.place(cloud).heard("identity", answered=False)

    def end(self) -> None:
        for task in self.tasks:
            task.cancel()


def in_a_world(test: Callable[[World], "asyncio.Future[None] | object"]) -> Callable[[], None]:
    @virtual
    async def run() -> None:
        world = World()
        await test(world)  # type: ignore[misc]
        world.end()
        await asyncio.gather(*world.tasks, return_exceptions=True)

    run.__name__ = test.__name__
    return run


@in_a_world
async def test_a_cloud_that_has_answered_is_asked_by_all(world: World) -> None:
    world.ask("good", seconds=0.1)
    await asyncio.sleep(1)
    for _ in range(100):
        world.ask("good")
    await asyncio.sleep(0.1)
    assert world.within == ["good"] * 100


@in_a_world
async def test_of_many_who_ask_a_new_cloud_one_enters_and_its_answer_lets_the_others_in(world: World) -> None:
    for _ in range(10):
        world.ask("new", seconds=0.5)
    await asyncio.sleep(0.1)
    assert world.within == ["new"]
    await asyncio.sleep(0.5)
    assert world.within == ["new"] * 9
    assert world.refused == []


@in_a_world
async def test_who_waits_in_vain_comes_back_the_later_the_longer_the_cloud_is_silent(world: World) -> None:
    world.fail("dead", times=3)
    world.ask("dead")
    pauses = []
    for _ in range(4):
        world.ask("dead")
        await asyncio.sleep(10)
        pauses.append(world.refused.pop())
    assert pauses == [("dead", 2.0), ("dead", 12.0), ("dead", 22.0), ("dead", 30.0)]
    assert world.within == ["dead"]


@in_a_world
async def test_fifty_projects_of_one_dead_cloud_hold_one_worker(world: World) -> None:
    for number in range(50):
        world.ask("dead", tenant=f"team-{number}")
    await asyncio.sleep(0.1)
    assert world.within == ["dead"]
    assert len(world.refused) == 49 - WAITERS
    await asyncio.sleep(3)
    assert len(world.refused) == 49


@in_a_world
async def test_dead_clouds_together_leave_all_other_workers_free(world: World) -> None:
    for number in range(200):
        world.ask(f"fresh-{number}")
        world.fail(f"failed-{number}", times=5)
        world.ask(f"failed-{number}")
    await asyncio.sleep(0.1)
    assert len(world.within) == FRESH + FAILED < WORKERS
    assert sum(name.startswith("failed") for name in world.within) == FAILED


@in_a_world
async def test_a_tenant_with_many_dead_clouds_leaves_room_for_new_clouds_of_others(world: World) -> None:
    for number in range(50):
        world.ask(f"dead-{number}", tenant="evil")
    world.ask("new", tenant="team", seconds=1.0)
    await asyncio.sleep(0.1)
    assert world.within.count("new") == 1
    assert len(world.within) == OF_TENANT + 1


@in_a_world
async def test_who_asks_a_cloud_that_has_never_answered_gives_up_after_5_10_and_20_seconds(world: World) -> None:
    ended = []
    for _ in range(3):
        began = clock()
        world.ask("new")
        await asyncio.wait(world.tasks)
        ended.append(clock() - began)
    assert ended == [5.0, 10.0, 20.0]
    world.ask("new")
    await asyncio.sleep(300)
    assert world.within == ["new"]


@virtual
async def test_an_answer_in_time_gives_all_the_time_to_the_rest() -> None:
    place = World().place("slow")
    async with place.turn():
        await asyncio.sleep(4)
        place.heard("identity", answered=True)
        await asyncio.sleep(60)
    assert clock() == 64


@in_a_world
async def test_new_clouds_have_their_turn_beside_a_hundred_silent_ones(world: World) -> None:
    for number in range(100):
        world.ask(f"dead-{number}")
    for _ in range(60):
        world.ask("new", seconds=0.5)
        await asyncio.sleep(1)
        if "new" in world.within or world.waiting.cloud("https://new.example:None").answers.get("identity"):
            break
    assert clock() < 10


@in_a_world
async def test_a_service_that_does_not_answer_keeps_most_workers_from_its_cloud(world: World) -> None:
    """Keystone answers, so the cloud is not dead."""
    world.place("half").heard("identity", answered=True)
    for _ in range(50):
        world.ask("half")
    await asyncio.sleep(0.1)
    assert world.within == ["half"] * PARTLY
    world.place("half").heard("compute", answered=True)
    await asyncio.sleep(0.1)
    assert len(world.within) == PARTLY + WAITERS


@virtual
async def test_a_service_that_nobody_asks_any_more_keeps_nobody_away() -> None:
    place = World().place("half")
    place.asks("load-balancer")
    place.heard("load-balancer", answered=False)
    place.asks("compute")
    place.heard("compute", answered=True)
    room = []
    for _ in range(2):
        async with AsyncExitStack() as turns:
            with suppress(NotSent):
                for _ in range(PARTLY + 1):
                    await turns.enter_async_context(place.turn())
                room.append("all")
        await asyncio.sleep(700)
        place.asks("compute")
        place.heard("compute", answered=True)
    assert room == ["all"]


@in_a_world
async def test_a_cloud_that_failed_is_free_again_with_its_next_answer(world: World) -> None:
    world.ask("good", seconds=0.1)
    await asyncio.sleep(1)
    world.fail("good")
    for _ in range(3):
        world.ask("good", seconds=1.0)
    await asyncio.sleep(0.1)
    assert len(world.within) == 1
    await asyncio.sleep(1)
    assert len(world.within) == 2


class Hanging(ScriptedWire):
    """These services never answer."""

    def __init__(self, *services: str) -> None:
        super().__init__()
        self._hanging = services

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Reply:
        self.seconds = NEVER if request.service in self._hanging else 0.1
        return await super().send(request, seconds=seconds, agent=agent)


@pytest.mark.parametrize("hanging", [("compute", "network"), ("compute",)], ids=["tokens alone", "all but Nova"])
@virtual
async def test_projects_of_a_cloud_that_answers_in_part_hold_a_few_workers(hanging: tuple[str, ...]) -> None:
    wires: list[ScriptedWire] = []

    def wire(_: Credentials) -> ScriptedWire:
        wires.append(Hanging(*hanging))
        return wires[-1]

    clouds = Clouds(wire=wire, now=now, clock=clock, waiting=Waiting(clock))

    async def look(number: int) -> None:
        auth = {"auth_url": "https://half.example/v3", "username": f"u-{number}"}
        of = Credentials({"auth": auth}, "c", where=f"Secret team-{number}/cloud", tenant=f"team-{number}")
        while True:
            try:
                async with clouds.turn(of):
                    await (await clouds.project(of)).look("mark")
            except NotSent as refused:
                await asyncio.sleep(refused.retry_after or 0.0)

    looks = [asyncio.create_task(look(number)) for number in range(100)]
    await asyncio.sleep(20)
    assert PARTLY <= sum(bool(each.asked) for each in wires) <= PARTLY + WAITERS
    for each in looks:
        each.cancel()


@virtual
async def test_a_request_that_is_not_sent_says_why() -> None:
    world = World()
    world.fail("dead")
    world.ask("dead")
    await asyncio.sleep(0)
    with pytest.raises(NotSent, match="identity: not asked now: earlier requests to this cloud are without an answer"):
        async with world.place("dead").turn():
            pass
    world.end()
