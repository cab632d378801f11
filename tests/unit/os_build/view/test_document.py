"""What the view of OS images publishes of pools, MachineOSConfigs and MachineOSBuilds."""

from typing import Any

import msgspec
import pytest

from tests.unit.web.examples import (
    FAILED,
    LOG,
    RUNNING,
    ago,
    condition,
    kept,
    pool,
    pools_document,
    pools_objects,
    tree,
    vector,
)
from windlass.api.machineosconfig import MachineOSBuild
from windlass.os_build.builder import Cause, Obstacle
from windlass.os_build.failure import LAST_LINES
from windlass.os_build.view import pools
from windlass.os_build.view.document import MOST_BUILDS, document, without_log
from windlass.web.following import Kept


def test_a_pool_tells_its_image_its_nodes_and_why_it_failed() -> None:
    infra = pools_document()["pool/infra"]
    assert (infra.state, infra.tone, infra.reason) == ("Failed", "bad", "StepFailed")
    assert infra.message.endswith("or after `windlass os-build rebuild infra`.")
    assert infra.log == LOG
    assert (infra.nodes, infra.updated, infra.up_to_date) == (3, 0, False)
    worker = pools_document()["pool/worker"]
    assert (worker.state, worker.up_to_date, worker.log) == ("Built", True, "")


def test_the_log_is_what_stands_after_its_heading() -> None:
    for message, expected in (
        (FAILED, (FAILED.partition(f" {LAST_LINES}")[0], LOG)),
        ("no log at all", ("no log at all", "")),
        ("", ("", "")),
        (f"It failed. {LAST_LINES}\n", ("It failed.", "")),
    ):
        assert without_log(message) == expected


@pytest.mark.parametrize(
    ("true", "reason", "state", "tone"),
    [
        ("BuildPending", "Resting", "Waits", "busy"),
        ("BuildPending", "Queued", "Waits", "busy"),
        ("BuildPending", "Retrying", "Waits", "warn"),
        ("BuildPending", "BuildInterrupted", "Waits", "warn"),
        *(("BuildPending", str(obstacle), "Waits", "warn") for obstacle in Obstacle),
        ("Building", "BuildRunning", "Building", "busy"),
        ("BuildSuccess", "BuildSucceeded", "Built", "good"),
        *(("BuildFailed", str(cause), "Failed", "bad") for cause in Cause),
        ("", "PoolDegraded", "Held back", "warn"),
    ],
)
def test_what_hinders_a_build_is_no_mere_waiting(true: str, reason: str, state: str, tone: str) -> None:
    found = pools_document([pool("a", *vector(true, reason, "why", since=ago(minutes=1)), layering_enabled="")])
    assert (found["pool/a"].state, found["pool/a"].tone) == (state, tone)
    needs = found["brief"]["needs"]
    assert [need.tone for need in needs] == ([tone] if tone in ("bad", "warn") else [])


def test_a_pool_that_nobody_has_looked_at_says_so() -> None:
    found = pools_document([pool("a", layering_enabled="")])
    assert found["pool/a"].state == "Not seen yet"
    assert "is `windlass run os-build` running?" in found["pool/a"].message


def test_pools_that_ask_for_nothing_are_named_and_no_more() -> None:
    found = pools_document()
    assert found["out"] == ["master"]
    assert "pool/master" not in found


def test_a_build_tells_its_pool_its_job_and_whether_it_is_current() -> None:
    found = pools_document()
    build = found["build/edge-1a"]
    assert (build.pool, build.state, build.builder, build.current) == ("edge", "Building", "jobs/build-edge-1a", True)
    assert (found["pool/edge"].state, found["pool/edge"].claimed_by) == ("Building", "edge")


def test_of_many_builds_the_newest_are_shown() -> None:
    many = [
        tree(
            MachineOSBuild,
            f"b-{number}",
            meta={"creationTimestamp": ago(minutes=number)},
            spec={},
            status={},
        )
        for number in range(MOST_BUILDS + 10)
    ]
    found = pools_document([*pools_objects(), *many])
    assert sum(key.startswith("build/") for key in found) == MOST_BUILDS


@pytest.mark.parametrize(
    ("objects", "unserved", "line"),
    [
        ([], ("pool", "config", "build"), "The cluster does not serve MachineConfigPools."),
        ([pool("master")], ("config", "build"), "No pool asks for an image."),
        (pools_objects(), (), "Images of 4 pools, 1 built, 2 being built"),
    ],
)
def test_the_first_page_says_what_there_is(objects: list[Any], unserved: tuple[str, ...], line: str) -> None:
    found = document(Kept(kept(pools.KINDS, objects, alive=RUNNING).rows, unserved=unserved))
    assert found["brief"]["line"] == line


def test_a_message_of_a_megabyte_is_cut_and_the_end_of_the_log_stays() -> None:
    huge = f"{'word ' * 2**17}{LAST_LINES}\n{'x' * 2**19}the end"
    annotated: dict[str, Any] = {"layering_enabled": "", "desired_os_image": "y" * 2**18}
    found = pools_document([pool("a", *vector("BuildFailed", "StepFailed", huge, since=ago(minutes=1)), **annotated)])
    assert found["pool/a"].log.endswith("the end")
    assert len(msgspec.json.encode(found)) < 10_000


def test_a_degraded_pool_with_a_claim_and_unknown_builds_is_told_by_its_condition() -> None:
    config = next(each for each in pools_objects() if each["kind"] == "MachineOSConfig")
    degraded = condition("ImageBuildDegraded", "True", "BuildFailed", "Failed to build OS image for pool edge")
    rows = kept(pools.KINDS, [pool("edge", degraded), config], alive=RUNNING).rows
    found = document(Kept(rows, unserved=("build",)))
    assert (found["pool/edge"].state, found["pool/edge"].tone) == ("Failed", "bad")
