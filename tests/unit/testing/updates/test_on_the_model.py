"""A played update on the in-memory API server, in virtual time."""

from collections.abc import Iterator

import pytest

from windlass.api import apps, config, core, machineconfiguration
from windlass.kube.clock import Clock
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualLoop
from windlass.testing.updates import PlayedCluster
from windlass.testing.updates.drain import Pod

KINDS = (
    apps.Deployment,
    config.ClusterOperator,
    config.ClusterVersion,
    core.Namespace,
    core.Node,
    machineconfiguration.MachineConfig,
    machineconfiguration.MachineConfigNode,
    machineconfiguration.MachineConfigPool,
    Pod,
)


async def updated(clock: Clock) -> config.ClusterVersion:
    api = MemoryApi(*KINDS, clock=clock.now)
    cluster = PlayedCluster(api, pace=1.0, clock=clock)
    await cluster.install()
    for step in cluster.healthy_update("4.16.1"):
        await step.play()
    return (await api.get(config.ClusterVersion, "version")).decode()


async def rolled_back(clock: Clock) -> tuple[float, list[str]]:
    """How long the roll back of an update took that had reached the pool infra alone, and the history."""
    api = MemoryApi(*KINDS, clock=clock.now)
    cluster = PlayedCluster(api, pace=1.0, clock=clock)
    await cluster.install()
    await cluster.cvo.start("4.16.1")
    await cluster.mco.render("4.16.1")
    await cluster.mco.roll("infra")
    before = clock.monotonic()
    for step in cluster.healthy_update("4.16.0"):
        await step.play()
    status = (await api.get(config.ClusterVersion, "version")).decode().status
    return clock.monotonic() - before, [f"{one.version} {one.state}" for one in status.history]


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def test_a_healthy_update_of_nine_nodes_takes_twenty_paces_and_says_when_it_began_and_ended(loop: VirtualLoop) -> None:
    status = loop.run_until_complete(updated(loop.clock)).status
    assert loop.time() == 20, "four operators, and four nodes of the largest pool with four pauses each"
    newest = status.history[0]
    assert (newest.started_time, newest.completion_time) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:16Z")
    since = {one.type: one.last_transition_time for one in status.conditions}
    assert since["Progressing"] == "2026-01-01T00:00:16Z"
    assert since["Available"] == "2026-01-01T00:00:00Z", "it was available all the time"


def test_nodes_that_an_update_had_not_reached_need_nothing_when_it_is_rolled_back(loop: VirtualLoop) -> None:
    seconds, history = loop.run_until_complete(rolled_back(loop.clock))
    assert seconds == 12, "four operators, and two nodes with four pauses each"
    assert history == ["4.16.0 Completed", "4.16.1 Partial", "4.16.0 Completed"]
