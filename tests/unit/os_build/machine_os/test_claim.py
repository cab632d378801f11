"""The table of claims, row by row: what a MachineOSConfig and its MachineOSBuilds look like, and what that is."""

import pytest

from tests.unit.os_build.machine_os.samples import DIGEST, REPOSITORY, build, claim
from windlass.os_build.constants import REBUILD
from windlass.os_build.machine_os.claim import (
    Again,
    Building,
    Claim,
    Current,
    Failed,
    Missing,
    Reuse,
    Silent,
    Standing,
    Wait,
    image_to_take,
    standing,
)
from windlass.os_build.machine_os.conditions import State
from windlass.os_build.registry.answers import Denied, Found, Gone, NotAsked
from windlass.os_build.request import Problem

IMAGE = f"{REPOSITORY}@{DIGEST}"
THERE = Found(DIGEST)
PROBLEM = Problem("NotRendered", "nothing is rendered")
NAMED = {"currentImagePullSpec": IMAGE, "machineOSBuild": {"name": "worker-1"}}


NEW = build(State.INITIAL)
RUNS = build(State.BUILDING)
GOES = build(State.BUILDING, deletion_timestamp="2026-11-22T12:00:00Z")
LOST = build(State.INTERRUPTED)
DONE = build()
BROKEN = build(State.FAILED)
ASKED = build(State.INITIAL, annotations={REBUILD: ""})

ROWS: dict[str, tuple[Claim, Standing]] = {
    "cannot be named": (claim(name=PROBLEM), PROBLEM),
    "is being deleted": (claim(GOES), Wait("MachineOSBuild worker-1 to be deleted")),
    "current": (claim(DONE, status=NAMED), Current(DONE)),
    "current is never asked for": (claim(DONE, status=NAMED, registry=Gone("")), Current(DONE)),
    "its image is that of another build, which is current": (
        claim(DONE, status={"currentImagePullSpec": IMAGE, "machineOSBuild": {"name": "worker-2"}}),
        Current(DONE),
    ),
    "earlier, and there": (claim(DONE, registry=THERE), Current(DONE)),
    "earlier, and gone": (claim(DONE, registry=Gone("gone")), Again(DONE, "gone")),
    "earlier, not asked yet": (claim(DONE), Wait("the registry to be asked")),
    "interrupted": (claim(LOST), Again(LOST, "it was interrupted")),
    "failed": (claim(BROKEN), Failed(BROKEN)),
    "missing": (claim(), Missing("worker-1")),
    "only that of something else": (claim(build(name="worker-2")), Missing("worker-1")),
    "the current image serves": (claim(NEW, serves=IMAGE, registry=THERE), Reuse(NEW, IMAGE)),
    "it serves, and is gone": (claim(NEW, serves=IMAGE, registry=Gone("")), Building(NEW)),
    "it serves, a build is asked for": (claim(ASKED, serves=IMAGE, registry=THERE), Building(ASKED)),
    "it serves, the build runs": (claim(RUNS, serves=IMAGE, registry=THERE), Building(RUNS)),
    "it does not serve": (claim(NEW), Building(NEW)),
}
for answer in (Denied("away"), NotAsked("away")):
    ROWS[f"P8 it serves, {answer}"] = (
        claim(NEW, serves=IMAGE, registry=answer),
        Silent(NEW, "away", Reuse(NEW, IMAGE)),
    )
    ROWS[f"P8 earlier, {answer}"] = (
        claim(DONE, registry=answer),
        Silent(DONE, "away", Again(DONE, "the registry does not tell whether it has the image: away")),
    )


@pytest.mark.parametrize(("given", "expected"), ROWS.values(), ids=ROWS)
def test_the_first_row_that_fits_is_where_a_claim_stands(given: Claim, expected: Standing) -> None:
    assert standing(given) == expected


@pytest.mark.parametrize("state", [state for state in State if state is not State.INITIAL], ids=str)
def test_a_rebuild_that_is_asked_for_begins_whatever_the_build_is(state: State) -> None:
    found = standing(claim(build(state), status=NAMED, asks={REBUILD: ""}, registry=THERE))
    assert isinstance(found, Again)


@pytest.mark.parametrize(
    ("given", "image"),
    [
        (claim(DONE, status=NAMED), ""),
        (claim(DONE), IMAGE),
        (claim(NEW, serves=IMAGE), IMAGE),
        (claim(ASKED, serves=IMAGE), ""),
        (claim(), ""),
    ],
    ids=["current", "earlier", "it serves", "it serves, a build is asked for", "missing"],
)
def test_the_registry_is_asked_only_for_an_image_that_is_about_to_be_taken(given: Claim, image: str) -> None:
    assert image_to_take(given) == image


def test_builds_of_something_else_go_unless_their_image_may_serve_again() -> None:
    builds = [build(state, name=f"worker-{number}") for number, state in enumerate(State)]
    gone = claim(*builds).superseded
    assert [each.metadata.name for each in builds if each not in gone] == ["worker-1", "worker-5"]
