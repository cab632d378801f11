"""What holds drains is read for nodes that have drained for long, and told in the object."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from windlass.api.core import Pod
from windlass.api.machineconfiguration import MachineConfigNode
from windlass.api.policy import PodDisruptionBudget
from windlass.kube.errors import Forbidden, Status
from windlass.model.reader import MemoryReader
from windlass.testing.clock import VirtualLoop
from windlass.update_status.controller.drains import PERIOD, DrainsAnswerer, WhatHolds

from .world import World

TARGET = "4.16.1"
NODE = "worker-0"
Play = Callable[[Callable[[World], Awaitable[None]]], None]


@pytest.fixture
def play() -> Iterator[Play]:
    loop = VirtualLoop()

    def run(story: Callable[[World], Awaitable[None]]) -> None:
        async def main() -> None:
            world = World(loop)
            await world.cluster.install()
            await world.cluster.cvo.start(TARGET)
            await world.cluster.mco.render(TARGET)
            await hold(world)
            await world.settle()
            await story(world)

        loop.run_until_complete(main())

    yield run
    loop.close()


async def hold(world: World) -> None:
    """A node begins to drain, and a budget never allows that."""
    config = world.cluster.layout.pool("worker").rendered(TARGET)
    await world.cluster.mco.node(NODE).prepare(config)
    metadata = {"name": "shop", "namespace": "shop", "labels": {"app": "shop"}}
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pod = {"metadata": metadata, "spec": {"nodeName": NODE}, "status": ready}
    world.api.load({"apiVersion": "v1", "kind": "Pod", **pod})
    counted = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": 0}
    spec = {"selector": {"matchLabels": {"app": "shop"}}}
    envelope = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    world.api.load({**envelope, "metadata": metadata, "spec": spec, "status": counted})


async def causes(world: World) -> list[str]:
    await world.settle()
    return [one.summary for one in (await world.status()).causes]


def test_a_drain_that_lasts_for_more_than_two_minutes_has_a_cause(play: Play) -> None:
    async def story(world: World) -> None:
        assert await causes(world) == []
        await asyncio.sleep(119)
        assert await causes(world) == []
        await asyncio.sleep(2)
        held = f"PodDisruptionBudget shop/shop does not allow the eviction of Pod shop/shop on node {NODE}"
        assert await causes(world) == [held]
        await world.api.delete(PodDisruptionBudget, "shop", namespace="shop")
        assert await causes(world) == [f"Pod shop/shop on node {NODE} has not been evicted"]
        await world.api.delete(Pod, "shop", namespace="shop")
        assert await causes(world) == []

    play(story)


def test_since_when_a_node_drains_the_object_knows_if_nothing_else_does(play: Play) -> None:
    async def story(world: World) -> None:
        assert await causes(world) == []
        await world.api.delete(MachineConfigNode, NODE)
        await asyncio.sleep(119)
        assert await causes(world) == []
        await asyncio.sleep(2)
        assert len(await causes(world)) == 1

    play(story)


@pytest.mark.parametrize("kind", [Pod, PodDisruptionBudget])
def test_what_may_not_be_read_is_a_gap_beside_a_whole_status(play: Play, kind: type[Pod]) -> None:
    async def story(world: World) -> None:
        await asyncio.sleep(121)
        world.api.fail_next("list", kind, Forbidden(Status("Failure", "it is forbidden", "Forbidden", 403)))
        assert await causes(world) == []
        status = await world.status()
        assert status.gaps == (f"what holds the drain of {NODE}: it is forbidden",)
        assert status.overview is not None
        assert status.overview.state == "Updating"
        assert await causes(world) != []

    play(story)


def test_an_answer_counts_for_a_while(play: Play) -> None:
    async def story(world: World) -> None:
        answerer = DrainsAnswerer(MemoryReader(world.api), world.clock)
        first = await answerer.answer(WhatHolds((NODE,)))
        assert [one.metadata.name for one in first.pods] == ["shop"]  # type: ignore[union-attr]
        await world.api.delete(Pod, "shop", namespace="shop")
        await asyncio.sleep(PERIOD - 1)
        assert await answerer.answer(WhatHolds((NODE,))) == first
        await asyncio.sleep(1)
        assert (await answerer.answer(WhatHolds((NODE,)))).pods == ()
        assert (await answerer.answer(WhatHolds(("master-0",)))).nodes == ("master-0",)

    play(story)
