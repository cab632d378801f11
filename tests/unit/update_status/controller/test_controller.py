"""The controller on a model of an API server, while the update of a cluster is played there."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from windlass.api import core
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.update import UpdateStatus
from windlass.api.update_record import FORMER, UpdateRecord
from windlass.kube.conditions import find
from windlass.kube.control.plan import Done, RequeueAfter
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.model.schema import Rules, Shape
from windlass.testing.clock import VirtualLoop
from windlass.testing.crash import Scenario, crash_everywhere
from windlass.update_status.controller.observe import cached_sources
from windlass.update_status.document import read
from windlass.update_status.history import KEPT, RUNNING
from windlass.update_status.record import Record
from windlass.update_status.report import Level
from windlass.update_status.sources import Sources, Unknown
from windlass.update_status.times import of_datetime

from .world import OWNED, READ, World, settled

TARGET = "4.16.1"


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture
def play(loop: VirtualLoop) -> Callable[[Callable[[World], Awaitable[None]]], None]:
    def run(story: Callable[[World], Awaitable[None]]) -> None:
        async def main() -> None:
            world = World(loop)
            await world.cluster.install()
            await story(world)

        loop.run_until_complete(main())

    return run


ENVELOPE = {"apiVersion": UpdateRecord.RESOURCE.api_version, "kind": UpdateRecord.RESOURCE.kind}
Play = Callable[[Callable[[World], Awaitable[None]]], None]


def test_it_makes_the_object_and_fills_it(play: Play) -> None:
    async def story(world: World) -> None:
        ending = await world.settle()
        assert (ending.writes, ending.failed) == (2, False)
        status = await world.status()
        assert status.overview
        assert (status.overview.state, status.overview.total_operators) == ("Idle", 5)
        assert (status.overview.operators_left, status.overview.completion_percent) == (0, 100)
        assert {one.type: one.status for one in status.conditions} == {
            "Available": "True",
            "Degraded": "False",
            "Truncated": "False",
        }
        assert world.records() == []

    play(story)


def test_at_rest_nothing_is_written(play: Play) -> None:
    async def story(world: World) -> None:
        await world.settle()
        await asyncio.sleep(3600)
        assert (await world.settle()).writes == 0

    play(story)


def test_a_healthy_update_from_its_beginning_to_its_record(play: Play) -> None:
    async def story(world: World) -> None:
        await world.settle()
        phases: dict[str, list[str]] = {}
        for step in world.cluster.healthy_update(TARGET):
            playing = asyncio.ensure_future(step.play())
            while not playing.done():
                await asyncio.sleep(0.5)
                await world.settle()
                report = read(await world.status(), now=of_datetime(world.clock.now()))
                assert [one.summary for one in report.insights if one.level > Level.INFO] == []
                for pool in report.pools:
                    for node in pool.nodes:
                        seen = phases.setdefault(node.name, [])
                        if seen[-1:] != [node.phase]:
                            seen.append(node.phase)
            await playing
        await world.settle()
        order = ["Pending", "Draining", "Updating", "Rebooting", "Updated"]
        for name, seen in phases.items():
            # Before the update a node is up to date with the release that it was installed with.
            after = seen[1:] if seen[:1] == ["Updated"] and len(seen) > 1 else seen
            assert after == sorted(set(after), key=order.index), name
        (record,) = world.records()
        assert (record.previous, record.target, record.state) == ("4.16.0", TARGET, "Completed")
        assert {one.name for one in record.pools} == {"master", "worker", "infra"}
        assert len(record.nodes) == 9
        assert all(one.started and one.completed for one in record.nodes)
        assert all(one.started and one.completed for one in record.pools)
        assert sorted(world.events()) == sorted(
            ["UpdateStarted", "ControlPlaneUpdated", *["PoolUpdated"] * 3, "UpdateCompleted"]
        )

    play(story)


async def updated(world: World) -> Record:
    """The record of an update that has been played to its end."""
    for step in world.cluster.healthy_update(TARGET):
        playing = asyncio.ensure_future(step.play())
        while not playing.done():
            await asyncio.sleep(0.5)
            await world.settle()
        await playing
    await world.settle()
    (record,) = world.records()
    assert record.state == "Completed"
    return record


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_a_worker_that_joins_after_an_update_changes_nothing_about_it(play: Play, system: str) -> None:
    """One of Windows has no Machine Config Daemon, so it stays so."""

    async def story(world: World) -> None:
        record, told = await updated(world), world.events()
        labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/os": system}
        await world.api.create(Node, {"metadata": {"name": "worker-new", "labels": labels}})
        await asyncio.sleep(3600)
        assert (await world.settle()).writes == 1
        status = await world.status()
        assert status.overview
        assert (status.overview.state, status.overview.total_workers) == ("Idle", 6)
        assert status.overview.workers_left == 0
        assert world.records() == [record]
        assert world.events() == told
        await world.cluster.cvo.start("4.16.2")
        await world.settle()
        assert sorted(one.state for one in world.records()) == ["Completed", "Progressing"]
        assert "UpdateSuperseded" not in world.events()

    play(story)


@pytest.mark.parametrize("kind", [MachineConfigPool, Node])
def test_an_update_is_not_over_while_its_nodes_are_not_served(play: Play, kind: type[MachineConfigPool | Node]) -> None:
    async def story(world: World) -> None:
        await world.cluster.cvo.start(TARGET)
        await world.settle()
        for found in world.api.listing(ClusterOperator):
            await world.cluster.cvo.finish(found.name)
        await world.cluster.cvo.complete()
        world.api.uninstall(kind)
        await world.settle()
        (record,) = world.records()
        assert (record.state, record.pools) == ("Progressing", [])

    play(story)


def test_what_goes_wrong_is_an_insight_an_event_and_a_line_of_the_record(play: Play) -> None:
    async def story(world: World) -> None:
        await world.cluster.cvo.start(TARGET)
        await world.settle()
        await world.cluster.cvo.degrade("etcd", reason="EtcdMembers_Unhealthy", message="one of three does not answer")
        await asyncio.sleep(41 * 60)
        await world.settle()
        (found,) = (
            one
            for one in read(await world.status(), now=of_datetime(world.clock.now())).insights
            if "etcd" in one.summary
        )
        assert found.level is Level.ERROR
        await world.cluster.cvo.recover("etcd")
        await world.settle()
        (record,) = world.records()
        assert [one.resolved is not None for one in record.troubles if "etcd" in one.summary] == [True]
        assert {"InsightAppeared", "InsightResolved"} <= set(world.events())

    play(story)


@pytest.mark.slow
def test_an_expected_end_is_written_when_it_moves_and_not_at_each_look(play: Play) -> None:
    async def story(world: World) -> None:
        begin, *_, pools, _ = world.cluster.healthy_update(TARGET)
        await begin.play()
        await pools.play()
        node = world.cluster.mco.node("worker-0")
        await node.prepare((await world.api.get(MachineConfigPool, "worker")).decode().spec.configuration.name)
        await world.settle()
        ends, writes = set[str](), 0
        for _ in range(55):
            await asyncio.sleep(60)
            writes += (await world.settle()).writes
            (worker,) = (pool for pool in (await world.status()).worker_pools if pool.name == "worker")
            pool = worker.informers[0].insights[0].insight.machine_config_pool
            assert pool
            assert pool.expected_end
            ends.add(pool.expected_end.middle)
        assert 2 <= len(ends) <= writes <= 28, (len(ends), writes)

    play(story)


def test_expected_ends_follow_from_the_records_of_the_cluster(play: Play) -> None:
    async def story(world: World) -> None:
        for step in world.cluster.healthy_update("4.16.1"):
            playing = asyncio.ensure_future(step.play())
            while not playing.done():
                await asyncio.sleep(0.5)
                await world.settle()
        for step in world.cluster.healthy_update("4.16.2")[:2]:
            await step.play()
        await world.settle()
        report = read(await world.status(), now=of_datetime(world.clock.now()))
        assert report.control_plane.expected
        assert "operators of 1 earlier update;" in report.control_plane.expected.basis
        assert report.control_plane.expected.basis.endswith("3 nodes of earlier ones, 1 at a time")

    play(story)


def test_time_alone_raises_an_insight_and_its_level(play: Play) -> None:
    async def story(world: World) -> None:
        await world.cluster.cvo.start(TARGET)
        await world.cluster.cvo.degrade("etcd", reason="Bad", message="message")
        levels = []
        for minutes in (4, 2, 36):
            await asyncio.sleep(minutes * 60)
            await world.settle()
            report = read(await world.status(), now=of_datetime(world.clock.now()))
            levels.append([one.level for one in report.insights if "etcd" in one.summary])
        assert levels == [[], [Level.WARNING], [Level.ERROR]]

    play(story)


@pytest.mark.parametrize(
    ("kind", "gap"),
    [(MachineConfigPool, "pools and nodes"), (Node, "nodes")],
)
def test_a_source_that_is_not_served_is_a_gap_and_the_rest_is_reported(
    play: Play, kind: type[MachineConfigPool | Node], gap: str
) -> None:
    async def story(world: World) -> None:
        await world.cluster.cvo.start(TARGET)
        world.api.uninstall(kind)
        await world.settle()
        status = await world.status()
        assert [one.partition(":")[0] for one in status.gaps] == [gap]
        assert status.overview
        assert (status.overview.total_operators, status.overview.operators_left) == (5, 5)
        degraded = find(status.conditions, "Degraded")
        assert degraded
        assert (degraded.status, degraded.reason) == ("True", "SourcesMissing")

    play(story)


def test_a_machine_config_that_a_node_names_and_that_is_gone_is_a_gap(play: Play) -> None:
    async def story(world: World) -> None:
        (gone,) = {found.name for found in world.api.listing(MachineConfig) if "infra" in found.name}
        await world.api.delete(MachineConfig, gone)
        await world.settle()
        assert (await world.status()).gaps == (f"MachineConfig {gone}: there is none",)

    play(story)


@pytest.mark.parametrize("kind", [ClusterVersion, ClusterOperator])
def test_without_the_main_sources_what_was_known_stays_and_is_not_to_be_relied_on(
    play: Play, kind: type[ClusterVersion | ClusterOperator]
) -> None:
    async def story(world: World) -> None:
        await world.settle()
        before = await world.status()
        world.api.uninstall(kind)
        assert not (await world.settle()).failed
        status = await world.status()
        assert status.control_plane == before.control_plane
        available = find(status.conditions, "Available")
        assert available
        assert (available.status, available.reason) == ("False", "SourcesMissing")
        assert "no report" in available.message

    play(story)


def test_only_during_an_update_it_looks_again_by_itself(play: Play) -> None:
    async def story(world: World) -> None:
        await world.settle()
        assert isinstance((await world.settle()).next, Done)
        await world.cluster.cvo.start(TARGET)
        assert isinstance((await world.settle()).next, RequeueAfter)

    play(story)


def test_a_record_that_is_refused_does_not_keep_the_status_from_being_written(play: Play) -> None:
    async def story(world: World) -> None:
        await world.settle()
        world.api.install(Rules(UpdateRecord, shape=Shape(type="object"), status=False))
        await world.cluster.cvo.start(TARGET)
        assert (await world.settle()).failed
        status = await world.status()
        assert status.overview
        assert status.overview.state == "Updating"

    play(story)


def test_records_beyond_those_that_are_kept_are_deleted(play: Play) -> None:
    async def story(world: World) -> None:
        for number in range(KEPT):
            name, spec = f"old-{number}", {"target": f"4.{number}.0", "startedAt": f"2020-01-{number + 1:02}T00:00:00Z"}
            await world.api.create(UpdateRecord, {**ENVELOPE, "metadata": {"name": name}, "spec": spec})
            ended = {"status": {"state": "Completed"}}
            await world.api.patch(UpdateRecord, name, ended, type=PatchType.MERGE, subresource="status")
        await world.cluster.cvo.start(TARGET)
        await world.settle()
        assert len(world.records()) == KEPT
        assert "old-0" not in {record.name for record in world.records()}

    play(story)


def test_without_its_crd_it_rests(play: Play) -> None:
    async def story(world: World) -> None:
        world.api.uninstall(UpdateStatus)
        ending = await world.settle()
        assert (ending.writes, ending.failed) == (0, False)

    play(story)


def test_an_object_that_it_cannot_read_is_left_alone(play: Play) -> None:
    async def story(world: World) -> None:
        await world.settle()
        broken = {"status": {"workerPools": "none"}}
        world.api.install(UpdateStatus)
        await world.api.patch(UpdateStatus, "cluster", broken, type=PatchType.MERGE, subresource="status")
        ending = await world.settle()
        assert ending.failed
        assert (await world.api.get(UpdateStatus, "cluster")).tree()["status"]["workerPools"] == "none"

    play(story)


STEPS = ("beginning", "operators", "pools", "all")


@pytest.mark.parametrize("until", range(len(STEPS)), ids=STEPS)
def test_a_crash_anywhere_is_harmless(loop: VirtualLoop, until: int) -> None:
    async def before(world: World) -> None:
        """Our controller saw the cluster as it was before the last steps."""
        await world.cluster.install()
        await world.settle()
        steps = world.cluster.healthy_update(TARGET)
        count = (1, 3, len(steps) - 1, len(steps))[until]
        for number, step in enumerate(steps[:count]):
            await step.play()
            if number < count - 1:
                await world.settle()

    async def main() -> None:
        start = World(loop)
        await before(start)
        moment = start.clock.now()

        def scenario() -> Scenario:
            async def settle(api: object, reader: MemoryReader) -> None:
                await settled(api, reader, moment)  # type: ignore[arg-type]

            return Scenario(copied(start.api), settle=settle)

        report = await crash_everywhere(scenario)
        assert report.points > 0

    loop.run_until_complete(main())


def copied(api: MemoryApi) -> MemoryApi:
    another = MemoryApi(*READ, core.Event, *OWNED)
    another.load(*api.dump())
    return another


def test_a_drain_of_more_than_an_hour_stands_still_and_its_pool_has_no_expected_end(play: Play) -> None:
    async def story(world: World) -> None:
        begin, *_, pools, _ = world.cluster.healthy_update(TARGET)
        await begin.play()
        await pools.play()
        node = world.cluster.mco.node("worker-0")
        await node.prepare((await world.api.get(MachineConfigPool, "worker")).decode().spec.configuration.name)
        await world.settle()
        await asyncio.sleep(3500)
        await world.settle()
        before = read(await world.status(), now=of_datetime(world.clock.now()))
        assert not before.stands_still
        await asyncio.sleep(200)
        await world.settle()
        after = read(await world.status(), now=of_datetime(world.clock.now()))
        assert after.stands_still
        assert "Node worker-0 has drained for longer than nodes do" in [one.summary for one in after.insights]
        assert [pool.expected is None for pool in after.pools if pool.name == "worker"] == [True]
        assert "InsightAppeared" in world.events()

    play(story)


AT = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
REFUSAL = {
    "type": "ReleaseAccepted",
    "status": "False",
    "reason": "PreconditionChecks",
    "message": f'Preconditions failed for payload loaded version="{TARGET}" image="i": not upgradeable',
    **AT,
}


def test_a_refused_request_is_in_the_object_a_record_and_an_event_once(play: Play) -> None:
    async def story(world: World) -> None:
        await world.settle()
        asked = {"spec": {"desiredUpdate": {"version": TARGET}}}
        await world.api.patch(ClusterVersion, "version", asked, type=PatchType.MERGE)
        await world.settle()
        found = read(await world.status(), now=of_datetime(world.clock.now()))
        assert found.control_plane.request is not None
        assert not found.control_plane.refused
        assert world.records() == []
        said = (await world.api.get(ClusterVersion, "version")).tree()["status"]
        others = [one for one in said["conditions"] if one["type"] != "ReleaseAccepted"]
        for minute in range(3):
            await asyncio.sleep(60)
            told = {**REFUSAL, "lastTransitionTime": f"2026-01-01T00:0{minute}:00Z"}
            status = {"status": {**said, "conditions": [*others, told]}}
            await world.api.patch(ClusterVersion, "version", status, type=PatchType.MERGE, subresource="status")
            await world.settle()
        status_now = await world.status()
        assert read(status_now, now=of_datetime(world.clock.now())).control_plane.refused
        assert status_now.overview
        assert status_now.overview.error_insights == 1
        assert [(one.target, one.state, one.previous) for one in world.records()] == [(TARGET, "Refused", "4.16.0")]
        assert world.events() == ["UpdateRefused"]

    play(story)


def test_the_failed_build_of_an_image_is_told_with_its_name(play: Play) -> None:
    async def story(world: World) -> None:
        begin, *_, pools, _ = world.cluster.healthy_update(TARGET)
        await begin.play()
        await pools.play()
        config = (await world.api.get(MachineConfigPool, "worker")).decode().spec.configuration.name
        spec = {"machineConfig": {"name": config}, "machineOSConfig": {"name": "worker"}}
        kind = {"apiVersion": MachineOSBuild.RESOURCE.api_version, "kind": "MachineOSBuild"}
        await world.api.create(MachineOSBuild, {**kind, "metadata": {"name": "worker-1"}, "spec": spec})
        failed = {"type": "Failed", "status": "True", "reason": "Failed", "message": "no package", **AT}
        status = {"status": {"conditions": [failed]}}
        await world.api.patch(MachineOSBuild, "worker-1", status, type=PatchType.MERGE, subresource="status")
        await world.settle()
        found = read(await world.status(), now=of_datetime(world.clock.now()))
        assert [(one.summary, one.description) for one in found.insights] == [
            ("The OS image of pool worker failed to build (MachineOSBuild worker-1)", "no package")
        ]

    play(story)


def test_a_cluster_without_the_kind_of_pools_is_called_hosted(loop: VirtualLoop) -> None:
    async def story() -> None:
        api = MemoryApi(*(kind for kind in READ if kind is not MachineConfigPool), clock=loop.clock.now)
        kind = {"apiVersion": ClusterVersion.RESOURCE.api_version, "kind": "ClusterVersion"}
        await api.create(ClusterVersion, {**kind, "metadata": {"name": "version"}, "spec": {}})
        found = await cached_sources(MemoryReader(api))
        assert isinstance(found, Sources)
        assert isinstance(found.pools, Unknown)
        assert "this cluster has a hosted control plane, whose update is not supported" in found.pools.reason

    loop.run_until_complete(story())


STORED = Path(__file__).parents[3] / "data" / "update_status_stored"


@pytest.mark.parametrize("stored", ["under-way", "ended", "begun-again"])
def test_records_of_earlier_versions_get_spec_and_status_and_lose_nothing(play: Play, stored: str) -> None:
    async def story(world: World) -> None:
        for tree in json.loads((STORED / f"{stored}.json").read_text(encoding="utf-8"))["records"]:
            world.api.load(tree)
        before = {one.name: one for one in world.records()}
        await world.settle()
        assert [found.tree().keys() & set(FORMER) for found in world.api.listing(UpdateRecord)] == [set()] * len(before)
        after = {one.name: one for one in world.records()}
        ended = {name: one for name, one in before.items() if one.state not in RUNNING}
        assert {name: after[name] for name in ended} == ended
        # What was under way is followed from where it stood.
        for name in before.keys() - ended.keys():
            assert after[name].started == before[name].started
            assert after[name].operators[: len(before[name].operators)] == before[name].operators

    play(story)
