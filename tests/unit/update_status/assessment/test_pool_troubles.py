"""What keeps whole pools from being updated: conditions of pools, builds of OS images, nodes in several pools."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment import assess
from windlass.update_status.report import Impact, Insight, Level, Pool, Report, Scope

from .objects import MASTER, WORKER, after, build, having, node, pool, said, sources, true

NOW = after(60)
DONE = node("m", current="new", desired="new", roles=("master",))
WAITING = (DONE, node("w1"), node("w2"))


def report(
    *conditions: PlainCondition,
    nodes: Sequence[Node] = WAITING,
    builds: Sequence[MachineOSBuild] = (),
    pools: Sequence[MachineConfigPool] | None = None,
) -> Report:
    found = sources(pools=pools or (MASTER, having(WORKER, *conditions)), nodes=nodes)
    return assess(structs.replace(found, builds=tuple(builds)), now=NOW)


def own(found: Report) -> list[Insight]:
    return [insight for insight in found.insights if insight.remedy]


def worker(found: Report) -> Pool:
    return next(one for one in found.pools if one.name == "worker")


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ((said("RenderDegraded", "False"),), []),
        ((said("RenderDegraded", "Unknown"),), []),
        ((true("Updating"), true("Updated")), []),
        ((true("RenderDegraded"), true("Degraded")), [("Pool worker cannot render its configuration", Level.ERROR)]),
        ((true("NodeDegraded"), true("Degraded")), [("Nodes of pool worker are degraded", Level.ERROR)]),
        (
            (true("ImageBuildDegraded"), true("Degraded")),
            [("The OS image of pool worker failed to build", Level.ERROR)],
        ),
        (
            (true("PinnedImageSetsDegraded"), true("Degraded")),
            [("Images that are pinned for pool worker cannot be had", Level.WARNING)],
        ),
        ((true("Degraded"),), [("Pool worker is degraded", Level.ERROR)]),
        (
            (true("RenderDegraded"), true("NodeDegraded")),
            [
                ("Pool worker cannot render its configuration", Level.ERROR),
                ("Nodes of pool worker are degraded", Level.ERROR),
            ],
        ),
    ],
)
def test_a_degraded_pool_is_told_by_the_condition_that_says_most(
    conditions: tuple[PlainCondition, ...], found: list[tuple[str, Level]]
) -> None:
    seen = report(*conditions)
    assert [(one.summary, one.level) for one in own(seen)] == found
    assert (worker(seen).assessment == "Degraded") == bool(found)


def test_the_insight_has_the_message_the_time_and_a_remedy_and_the_pool_no_expected_end() -> None:
    seen = report(true("RenderDegraded", message="could not generate rendered MachineConfig"))
    (one,) = own(seen)
    assert (one.description, one.started) == ("could not generate rendered MachineConfig", after(30))
    assert one.remedy.startswith("Correct or delete the MachineConfig")
    assert (one.scope, one.pool, one.impact) == (Scope.WORKER_POOL, "worker", Impact.UPDATE_STALLED)
    assert worker(report()).expected is not None
    assert worker(seen).expected is None
    assert seen.stands_still


def test_a_condition_without_a_message_is_told_by_its_reason() -> None:
    assert own(report(true("RenderDegraded", reason="Bad", message="")))[0].description == "Bad"
    assert own(report(true("RenderDegraded", message="")))[0].description == (
        "The condition of the pool gives no message."
    )


def test_pinned_images_do_not_keep_nodes_from_being_updated() -> None:
    seen = report(true("PinnedImageSetsDegraded"))
    assert worker(seen).expected is not None
    assert not seen.stands_still


def test_a_node_that_is_degraded_itself_is_not_told_twice() -> None:
    broken = node("w1", state="Degraded", reason="disk full")
    seen = report(true("NodeDegraded"), true("Degraded"), nodes=(DONE, broken, node("w2")))
    assert [one.summary for one in seen.insights] == ["Node w1 is degraded"]


def test_a_degraded_pool_of_the_control_plane_leaves_the_control_plane_without_an_expected_end() -> None:
    waiting = (node("m", roles=("master",)), node("w1"))
    assert report(nodes=waiting).control_plane.expected is not None
    seen = report(nodes=waiting, pools=(having(MASTER, true("RenderDegraded")), WORKER))
    assert seen.control_plane.expected is None
    assert own(seen)[0].scope is Scope.CONTROL_PLANE


def test_a_degraded_pool_is_told_even_while_nothing_is_updated() -> None:
    done = (DONE, node("w1", current="new", desired="new"))
    seen = report(true("RenderDegraded"), nodes=done)
    assert [one.summary for one in own(seen)] == ["Pool worker cannot render its configuration"]


# Builds of OS images.

BUILDING, WAITS = "building the OS image", "waiting for the build of the OS image"


@pytest.mark.parametrize(
    ("builds", "conditions", "step", "failed"),
    [
        ([build("Building")], (), BUILDING, False),
        ([build("Prepared")], (), WAITS, False),
        ([build()], (), WAITS, False),
        ([build("Failed")], (true("ImageBuildDegraded"),), "the OS image failed to build", True),
        ([build("Failed")], (), "the OS image failed to build", True),
        ([build("Succeeded")], (), "", False),
        ([build("Succeeded")], (true("ImageBuildDegraded"),), "", False),
        ([build("Interrupted")], (), "", False),
        ([build("Building", config="old")], (), "", False),
        ([build("Building", of="infra")], (), "", False),
        ([build("Failed", began=1), build("Building", began=2)], (), BUILDING, False),
        ([build("Building", began=2), build("Failed", began=1)], (), BUILDING, False),
        ([build("Prepared")], (true("ImageBuildDegraded"),), "the OS image failed to build", True),
        ([], (said("ImageBuildDegraded", "False", 30, reason="Building"),), BUILDING, False),
        ([], (said("ImageBuildDegraded", "False", 30, reason="BuildSuccess"),), "", False),
        ([], (true("ImageBuildDegraded"),), "the OS image failed to build", True),
        ([], (true("BuildPending"),), WAITS, False),
        ([], (true("Building"),), BUILDING, False),
        ([], (true("BuildFailed"),), "the OS image failed to build", True),
        ([], (true("BuildSuccess"),), "", False),
    ],
)
def test_the_build_of_the_image_is_the_step_of_the_nodes_that_wait(
    builds: list[MachineOSBuild], conditions: tuple[PlainCondition, ...], step: str, *, failed: bool
) -> None:
    seen = report(*conditions, builds=builds)
    assert {one.step for one in worker(seen).nodes} == {step}
    assert [one.summary.startswith("The OS image of pool worker failed to build") for one in own(seen)] == [
        True
    ] * failed
    assert (worker(seen).expected is None) == failed


def test_a_failed_build_is_named_with_its_message_and_what_builds_it_again() -> None:
    (one,) = own(report(builds=[build("Failed", message="dnf: no package htop2")]))
    assert one.summary == "The OS image of pool worker failed to build (MachineOSBuild worker-1)"
    assert (one.description, one.started) == ("dnf: no package htop2", after(30))
    assert one.remedy == (
        "Correct what the message names. To build again without a change, annotate MachineOSConfig worker with "
        "machineconfiguration.openshift.io/rebuild."
    )
    assert [(each.resource, each.name) for each in one.resources] == [
        ("machineconfigpools", "worker"),
        ("machineosbuilds", "worker-1"),
    ]


def test_nodes_that_do_not_wait_have_no_step_of_a_build() -> None:
    updated = node("w1", current="new", desired="new")
    seen = report(builds=[build("Building")], nodes=(DONE, updated, node("w2"), node("w3", current=None)))
    assert [one.step for one in worker(seen).nodes] == ["", BUILDING, ""]


# Nodes in several pools.

INFRA, GPU, EDGE = pool("infra"), pool("gpu"), pool("edge")


@pytest.mark.parametrize(
    ("roles", "found"),
    [
        (("worker",), []),
        (("worker", "infra"), []),
        (("master", "worker", "infra"), []),
        (("infra", "gpu"), ["Node n is in 2 custom pools: infra and gpu"]),
        (("worker", "gpu", "edge"), ["Node n is in 2 custom pools: gpu and edge"]),
        (("master", "infra", "gpu"), ["Node n is in 2 custom pools: infra and gpu"]),
        (("arbiter", "infra"), []),
    ],
)
def test_a_node_in_several_custom_pools_is_in_none(roles: tuple[str, ...], found: list[str]) -> None:
    pools = (MASTER, pool("arbiter"), INFRA, GPU, EDGE, WORKER)
    seen = report(nodes=(DONE, node("n", roles=roles), node("w")), pools=pools)
    assert [one.summary for one in own(seen)] == found


def test_the_pool_of_a_node_in_several_has_no_expected_end_and_the_remedy_names_the_pools() -> None:
    seen = report(nodes=(DONE, node("n", roles=("infra", "gpu")), node("w")), pools=(MASTER, INFRA, GPU, WORKER))
    (one,) = own(seen)
    assert one.remedy == "Remove the labels of node n that all but one of the pools infra and gpu select."
    assert {each.name: each.expected is None for each in seen.pools} == {
        "master": True,
        "infra": True,
        "gpu": True,
        "worker": False,
    }
