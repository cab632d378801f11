"""A plan shows the report that the controller would write, with what holds drains."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.update_status.controller.world import READ, World
from windlass.api.core import Pod
from windlass.api.update import UpdateStatus
from windlass.capability.documents.yaml_dialect import dump_all
from windlass.capability.planning import ClusterListing, plan_of
from windlass.capability.planning.decider import about_first_watch
from windlass.cli import main
from windlass.kube.control.plan import MergeItems
from windlass.testing.clock import VirtualLoop
from windlass.update_status.controller.declare import update_status_controller

TARGET, NODE = "4.16.1", "worker-0"
HELD = f"PodDisruptionBudget shop/shop does not allow the eviction of Pod shop/shop on node {NODE}"


async def update_that_is_held(world: World) -> None:
    """A node has drained for ten minutes, and nobody has told the object."""
    await world.cluster.install()
    await world.settle()
    await world.cluster.cvo.start(TARGET)
    await world.cluster.mco.render(TARGET)
    await world.cluster.mco.node(NODE).prepare(world.cluster.layout.pool("worker").rendered(TARGET))
    metadata = {"name": "shop", "namespace": "shop", "labels": {"app": "shop"}}
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pod = {"metadata": metadata, "spec": {"nodeName": NODE}, "status": ready}
    world.api.load({"apiVersion": "v1", "kind": "Pod", **pod})
    counted = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": 0}
    spec = {"selector": {"matchLabels": {"app": "shop"}}}
    envelope = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    world.api.load({**envelope, "metadata": metadata, "spec": spec, "status": counted})
    await asyncio.sleep(600)


@pytest.fixture
def held() -> Iterator[tuple[World, VirtualLoop]]:
    loop = VirtualLoop()
    world = World(loop)
    loop.run_until_complete(update_that_is_held(world))
    yield world, loop
    loop.close()


async def planned(world: World) -> dict[str, Any]:
    """The status that would be written now."""
    cluster_listing = ClusterListing(world.api)
    decider = about_first_watch(update_status_controller(cluster_listing, clock=world.clock))
    await cluster_listing.take([decider])
    plan = await plan_of(decider, "cluster", cluster_listing, now=world.clock.now())
    (status,) = [one for one in plan.actions if isinstance(one, MergeItems) and one.target.kind is UpdateStatus]
    found: dict[str, Any] = status.desired["status"]
    return found


def test_a_plan_has_the_causes_of_drains_that_the_object_knows_nothing_of(held: tuple[World, VirtualLoop]) -> None:
    world, loop = held
    assert [one["summary"] for one in loop.run_until_complete(planned(world))["causes"]] == [HELD]


def test_the_controller_writes_once_what_was_planned(held: tuple[World, VirtualLoop]) -> None:
    """Also when it was away as the drain began."""
    world, loop = held
    status = loop.run_until_complete(planned(world))
    loop.run_until_complete(world.settle())
    kept = loop.run_until_complete(world.status())
    assert [one.uid for one in kept.causes] == [one["uid"] for one in status["causes"]]


def planned_from_files(world: World, folder: Path, *, but: type[Any] | None = None) -> int:
    """The exit code of the command; `but`: a kind that the files lack."""
    trees = [found.tree() for kind in READ if kind is not but for found in world.api.listing(kind)]
    (folder / "all.yaml").write_text(dump_all(trees), encoding="utf-8")
    return main(["plan", "update-status", "-f", str(folder)])


def test_a_plan_from_files_is_followed_to_its_end_with_the_pods_that_are_there(
    held: tuple[World, VirtualLoop], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    world, _ = held
    assert planned_from_files(world, tmp_path) == 3
    output, errors = capfd.readouterr()
    assert HELD in output
    assert errors == ""


def test_a_plan_from_files_without_pods_says_what_it_lacks(
    held: tuple[World, VirtualLoop], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    world, _ = held
    assert planned_from_files(world, tmp_path, but=Pod) == 3
    output, errors = capfd.readouterr()
    assert "status.causes" not in output
    assert f"what holds the drain of {NODE} is not in the plan: there are no Pods among the files" in errors
