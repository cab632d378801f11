"""The table of claims, row by row: what a MachineOSConfig and its MachineOSBuilds look like, and what that is."""

from typing import Any

import msgspec
import pytest

from tests.unit.os_build.machine_os.samples import DIGEST, REPOSITORY, machine_os_build, machine_os_config
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.api.meta import K
from windlass.kube.control.seen import Present
from windlass.os_build.constants import REBUILD, SECRETS_ANNOTATION
from windlass.os_build.machine_os.claim import (
    Again,
    Building,
    Claim,
    Current,
    Failed,
    Missing,
    Reuse,
    Wait,
    image_to_take,
    standing,
)
from windlass.os_build.machine_os.conditions import State
from windlass.os_build.registry.answers import Denied, Found, Gone, NotAsked
from windlass.os_build.request import Problem

IMAGE = f"{REPOSITORY}@{DIGEST}"
THERE = Found(DIGEST, "")
PROBLEM = Problem("NotRendered", "nothing is rendered")
NAMED = {"currentImagePullSpec": IMAGE, "machineOSBuild": {"name": "worker-1"}}


def present(found: K, **metadata: Any) -> Present[K]:
    replaced = msgspec.structs.replace(found.metadata, **metadata)
    return Present(msgspec.structs.replace(found, metadata=replaced), b"{}")  # type: ignore[type-var]


def build(state: State = State.SUCCEEDED, *, name: str = "worker-1", **metadata: Any) -> Present[MachineOSBuild]:
    digest = DIGEST if state is State.SUCCEEDED else ""
    return present(machine_os_build(name, state=state, digest=digest, why="no"), **metadata)


def claim(*builds: Present[MachineOSBuild], status: Any = None, asks: dict[str, str] | None = None, **of: Any) -> Claim:
    """`asks`: annotations of the MachineOSConfig."""
    config: Present[MachineOSConfig] = present(machine_os_config(status=status), annotations=asks or {})
    return Claim(config=config, builds=builds, **{"name": "worker-1", "versions": "v1", **of})


NEW = build(State.INITIAL)
GOES = build(State.BUILDING, deletion_timestamp="2026-11-22T12:00:00Z")
REFUSED = build(State.FAILED, annotations={SECRETS_ANNOTATION: "v0"})
BROKEN = build(State.FAILED, annotations={SECRETS_ANNOTATION: "v1"})
ASKED = build(State.INITIAL, annotations={REBUILD: ""})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(claim(name=PROBLEM), PROBLEM, id="cannot be named"),
        pytest.param(claim(GOES), Wait("MachineOSBuild worker-1 to be deleted"), id="C5 is being deleted"),
        pytest.param(claim(build(), status=NAMED), Current(build()), id="current"),
        pytest.param(
            claim(build(), status=NAMED, registry=Gone("")), Current(build()), id="current is never asked for"
        ),
        pytest.param(claim(build(), registry=THERE), Current(build()), id="C10 earlier, and there"),
        pytest.param(claim(build(), registry=Gone("gone")), Again(build(), "gone"), id="C10 earlier, and gone"),
        *(
            pytest.param(
                claim(build(), registry=answer),
                Wait("the registry to tell whether it has the image: away", asks=True),
                id=f"P8 earlier, {type(answer).__name__}",
            )
            for answer in (Denied("away"), NotAsked("away"))
        ),
        pytest.param(claim(build()), Wait("the registry to be asked", asks=True), id="earlier, not asked yet"),
        pytest.param(
            claim(build(State.INTERRUPTED)), Again(build(State.INTERRUPTED), "it was interrupted"), id="interrupted"
        ),
        pytest.param(claim(REFUSED), Again(REFUSED, "the Secrets have changed since it failed"), id="healed"),
        pytest.param(claim(BROKEN), Failed(BROKEN, "no"), id="failed"),
        pytest.param(
            claim(build(State.FAILED)), Failed(build(State.FAILED), "no"), id="B8 failed in the operator's hands"
        ),
        pytest.param(claim(), Missing("worker-1"), id="missing"),
        pytest.param(claim(build(name="worker-2")), Missing("worker-1"), id="only that of something else"),
        pytest.param(
            claim(NEW, serves=IMAGE, registry=THERE), Reuse(NEW, IMAGE), id="B11 C14 the current image serves"
        ),
        pytest.param(claim(NEW, serves=IMAGE, registry=Gone("")), Building(NEW), id="C10 it serves, and is gone"),
        *(
            pytest.param(
                claim(NEW, serves=IMAGE, registry=answer),
                Wait(f"the registry to tell whether it has {IMAGE}: away", asks=True),
                id=f"P8 it serves, {type(answer).__name__}",
            )
            for answer in (Denied("away"), NotAsked("away"))
        ),
        pytest.param(
            claim(ASKED, serves=IMAGE, registry=THERE), Building(ASKED), id="C2 it serves, a build is asked for"
        ),
        pytest.param(
            claim(build(State.BUILDING), serves=IMAGE, registry=THERE),
            Building(build(State.BUILDING)),
            id="it serves, the build runs",
        ),
        pytest.param(claim(NEW), Building(NEW), id="it does not serve"),
    ],
)
def test_the_first_row_that_fits_is_where_a_claim_stands(given: Claim, expected: object) -> None:
    assert standing(given) == expected


@pytest.mark.parametrize("state", [state for state in State if state is not State.INITIAL], ids=str)
def test_c2_a_rebuild_that_is_asked_for_begins_whatever_the_build_is(state: State) -> None:
    found = standing(claim(build(state), status=NAMED, asks={REBUILD: ""}, registry=THERE))
    assert isinstance(found, Again)


@pytest.mark.parametrize(
    ("given", "image"),
    [
        pytest.param(claim(build(), status=NAMED), "", id="current"),
        pytest.param(claim(build()), IMAGE, id="earlier"),
        pytest.param(claim(NEW, serves=IMAGE), IMAGE, id="it serves"),
        pytest.param(claim(ASKED, serves=IMAGE), "", id="it serves, a build is asked for"),
        pytest.param(claim(), "", id="missing"),
    ],
)
def test_the_registry_is_asked_only_for_an_image_that_is_about_to_be_taken(given: Claim, image: str) -> None:
    assert image_to_take(given) == image


def test_builds_of_something_else_go_unless_their_image_may_serve_again() -> None:
    builds = [build(state, name=f"worker-{number}") for number, state in enumerate(State)]
    gone = claim(*builds).superseded
    assert [each.metadata.name for each in builds if each not in gone] == ["worker-1", "worker-5"]
