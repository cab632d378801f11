"""When a step of the demo of OS builds counts as having come true, and what is said when it has not."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.os_build.pool.snapshots import REQUEST
from tests.unit.scenes import missing, present
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo.story import Moment
from windlass.kube.control.seen import Present
from windlass.os_build.builder import Cause, Failed
from windlass.os_build.constants import IMAGE, IMAGE_ALIAS, IMAGE_CONFIG, IMAGE_INPUTS, LAYERING
from windlass.os_build.demo import COLUMNS
from windlass.os_build.demo import expectations as expect
from windlass.os_build.demo.scene import POOLS, Process, Pushed, Scene, leftovers, processes
from windlass.os_build.demo.stage import EDITION, MOTD, SOURCE, prepare
from windlass.os_build.failure import failure_text
from windlass.os_build.pool.conditions import BUILDING, FAILED, SUCCESS, VECTOR
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.waiting import wait_for

ANCHOR = Process(1, 1)
RUN = {Process(7, 70): "/bin/sh -c sleep 5 && echo"}
BROKEN = Failed(
    cause=Cause.STEP, step=expect.BROKEN_STEP, exit_code=1, tail=f"STEP 2/2\n{expect.COMPLAINT}: no such file"
)
NOBODY = Moment(Scene())


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def rendered(name: str, generation: int = 1) -> str:
    return f"rendered-{name}-{generation:032x}"


def pool(
    name: str,
    true: str = SUCCESS,
    reason: str = "BuildSucceeded",
    message: str = "",
    *,
    number: int = 1,
    generation: int = 1,
    config: str | None = None,
    **annotations: str,
) -> Present[MachineConfigPool]:
    """A pool of this rendered MachineConfig; with `true` empty it has no conditions, with `number` 0 no image."""
    image = f"127.0.0.1:5000/org/os@{digest(number)}"
    recorded = {IMAGE: image, IMAGE_ALIAS: image, IMAGE_CONFIG: rendered(name, generation), IMAGE_INPUTS: "inputs"}
    conditions = [
        {"type": kind, "status": str(kind == true), "reason": reason, "message": message if kind == true else ""}
        for kind in VECTOR
        if true
    ]
    asked = {LAYERING: ""} if true else {}
    metadata = {"annotations": asked | (recorded if number else {}) | annotations}
    spec = {"configuration": {"name": rendered(name, generation) if config is None else config}}
    return present(MachineConfigPool, name, *conditions, metadata=metadata, spec=spec)


def pools(*found: Present[MachineConfigPool]) -> dict[str, Any]:
    """The pools of a scene."""
    return {"objects": {MachineConfigPool: {one.metadata.name: one for one in found}}}


def pushed(name: str, *, number: int = 1, generation: int = 1, edition: int = 0, motd: str = expect.GREETING) -> Pushed:
    files = {MOTD: motd, EDITION: f"edition {edition}\n"}
    return Pushed(f"build-{name}-{number}-{edition}", digest(number), name, rendered(name, generation), files)


def scene(**differently: Any) -> Scene:
    """Both pools are built."""
    fields: dict[str, Any] = {
        "version": "v1.36.3",
        "unwatched": (),
        "base": "127.0.0.1:5000/os/base",
        **pools(*map(pool, POOLS)),
        "images": tuple(pushed(name) for name in POOLS),
        "ready": True,
        "leaders": ("windlass-1",),
    }
    return Scene(**{**fields, **differently})


def untouched(**differently: Any) -> Scene:
    """No pool is opted in."""
    return scene(**pools(*(pool(name, "", number=0) for name in POOLS)), **{"images": (), **differently})


def worker(*arguments: Any, **fields: Any) -> dict[str, Any]:
    return pools(pool("worker", *arguments, **fields), pool("infra"))


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (pools(pool("worker"), pool("infra", config="")), "MachineConfigPool infra has no rendered MachineConfig"),
        ({"base": ""}, "the registry has no base image"),
    ],
)
def test_a_cluster_has_rendered_configs_and_a_base_image(flaw: dict[str, Any], said: str) -> None:
    assert expect.configs_are_rendered(untouched(), NOBODY)
    assert missing(expect.configs_are_rendered, replace(untouched(), **flaw), NOBODY) == said


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (worker("", number=1), "worker has the annotations "),
        (worker(BUILDING, number=0), "worker has the conditions BuildPending, Building"),
    ],
)
def test_windlass_leaves_pools_alone_that_are_not_opted_in(flaw: dict[str, Any], said: str) -> None:
    assert expect.windlass_leaves_pools_alone(untouched(), NOBODY)
    assert said in missing(expect.windlass_leaves_pools_alone, replace(untouched(), **flaw), NOBODY)


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (worker(BUILDING, "BuildRunning", "it runs"), "worker: building BuildRunning, of rendered-worker"),
        (worker("", number=0), "worker: out"),
        (worker(number=2), f"the registry does not have 127.0.0.1:5000/org/os@{digest(2)}"),
        (worker(**{IMAGE_ALIAS: ""}), "its annotations are"),
        (worker(**{IMAGE_CONFIG: rendered("worker", 9)}), "built BuildSucceeded, of rendered-worker-0000000000000"),
        ({"images": (pushed("worker", generation=2), pushed("infra"))}, f"its image is of {rendered('worker', 2)}"),
        ({"images": (pushed("worker"), pushed("worker", number=2), pushed("infra"))}, "2 images of it, not 1"),
        ({"images": (pushed("worker"),)}, "infra: the registry does not have"),
    ],
)
def test_a_pool_is_built_only_if_it_and_the_registry_agree(flaw: dict[str, Any], said: str) -> None:
    assert expect.both_pools_are_built(scene(), NOBODY)
    assert said in missing(expect.both_pools_are_built, scene(**flaw), NOBODY)


def test_the_file_has_to_be_in_the_image_of_each_pool_as_the_machine_config_has_it() -> None:
    assert expect.file_is_in_the_image(scene(), NOBODY)
    other = scene(images=(pushed("worker"), pushed("infra", motd="else")))
    said = f"infra: {MOTD} in its image is 'else', not {expect.GREETING!r}"
    assert missing(expect.file_is_in_the_image, other, NOBODY) == said
    assert missing(expect.file_is_in_the_image, scene(images=()), NOBODY)


def failed(**differently: Any) -> dict[str, Any]:
    """The failure of the story, told on the pool."""
    failure = replace(BROKEN, **differently)
    return worker(FAILED, str(failure.cause), failure_text(failure, REQUEST, attempt=1, attempts=4))


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({}, "worker: built BuildSucceeded"),
        (failed(cause=Cause.PULL_DENIED), "worker: failed PullDenied"),
        (failed(step="RUN true"), expect.BROKEN_STEP),
        (failed(exit_code=2), "exit code 1"),
        (failed(tail="something else"), expect.COMPLAINT),
        (
            worker(FAILED, "StepFailed", f"{expect.BROKEN_STEP} exit code 1 attempt 1 of 4 {expect.COMPLAINT}"),
            "Correct",
        ),
        (
            worker(FAILED, "StepFailed", failure_text(BROKEN, REQUEST, attempt=1, attempts=4), number=0),
            "the image of before is not recorded any more",
        ),
        ({**failed(), "images": (pushed("worker"), pushed("worker", number=2))}, "something was pushed"),
    ],
)
def test_a_failure_is_told_with_step_exit_code_log_attempt_and_remedy(flaw: dict[str, Any], said: str) -> None:
    moment = Moment(scene())
    assert expect.failure_is_told(scene(**failed()), moment)
    assert said in missing(expect.failure_is_told, scene(**flaw), moment)


@pytest.mark.parametrize(
    ("images", "said"),
    [
        ((), "the registry does not have"),
        ((pushed("worker", number=2, edition=3),), "/etc/edition in its image is 'edition 3\\n'"),
        ((pushed("worker"), pushed("worker", number=2, edition=4), pushed("worker", number=3)), "2 more images"),
    ],
)
def test_two_changes_in_a_build_give_one_image_with_the_last_of_them(images: tuple[Pushed, ...], said: str) -> None:
    moment, check = Moment(scene()), expect.one_more_image(4)
    assert check(scene(**worker(number=2), images=(pushed("worker"), pushed("worker", number=2, edition=4))), moment)
    assert said in missing(check, scene(**worker(number=2), images=images), moment)


@pytest.mark.parametrize(
    "flaw",
    [{}, {"builders": RUN}, worker(BUILDING, "BuildRunning"), {**worker(BUILDING), "builders": {ANCHOR: "buildah"}}],
    ids=["built", "not-told", "no-process", "before-the-step"],
)
def test_a_build_runs_only_if_the_pool_says_so_and_its_step_is_a_process(flaw: dict[str, Any]) -> None:
    building = scene(**worker(BUILDING, "BuildRunning"), builders=RUN)
    assert expect.build_runs(building, Moment(scene()))
    assert missing(expect.build_runs, scene(**flaw), Moment(scene()))
    assert missing(expect.build_of_new_configs_runs, building, Moment(scene()))
    renewed = pools(*(pool(name, BUILDING, generation=2) for name in POOLS))
    assert expect.build_of_new_configs_runs(scene(**renewed, builders=RUN), Moment(scene()))


RESUMED: dict[str, Any] = {
    **pools(*(pool(name, number=2, generation=2) for name in POOLS)),
    "images": tuple(pushed(name, number=2, generation=2, motd=expect.NEXT_GREETING) for name in POOLS),
    "killed": frozenset(RUN),
    "leaders": ("windlass-2",),
}


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"killed": frozenset()}, "no build ran when Windlass was killed"),
        ({"builders": RUN}, "1 processes of the killed build still run"),
        ({"builders": {ANCHOR: "buildah"}}, "1 processes of builds still run"),
        ({"left": ("builds/build-worker-1",)}, "builds/build-worker-1 is left"),
        ({"leaders": ("windlass-1",)}, "the next process does not lead yet"),
        (pools(*map(pool, POOLS)), "worker: the registry does not have"),
        (
            {"images": (*RESUMED["images"], pushed("worker", number=3, generation=2))},
            f"worker: 2 images were pushed for {rendered('worker', 2)}, not 1",
        ),
    ],
)
def test_a_build_is_resumed_only_if_nothing_of_the_killed_one_is_left(flaw: dict[str, Any], said: str) -> None:
    assert expect.build_was_resumed(scene(**RESUMED), Moment(scene()))
    assert said in missing(expect.build_was_resumed, scene(**RESUMED | flaw), Moment(scene()))


MIRRORED: dict[str, Any] = {
    **pools(pool("worker"), pool("infra", number=2, generation=2)),
    "images": (
        pushed("worker"),
        pushed("infra"),
        replace(pushed("infra", number=2, generation=2), base=f"{SOURCE}@{digest(7)}"),
    ),
    "mirror": "127.0.0.1:5001",
    "mirrored": 2,
}


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (pools(*map(pool, POOLS)), "infra still wants rendered-infra-0000000"),
        (pools(pool("worker"), pool("infra", BUILDING, generation=2)), "infra: building"),
        ({"images": (pushed("infra", number=2, generation=2),)}, "infra: its image is made of an unknown base"),
        ({"mirrored": 0}, "infra: the mirror 127.0.0.1:5001 was asked for nothing"),
        ({"images": (*MIRRORED["images"], pushed("worker", number=3))}, "worker: something was pushed"),
    ],
)
def test_a_base_is_from_the_mirror_only_if_that_was_asked_and_the_image_names_what_has_no_address(
    flaw: dict[str, Any], said: str
) -> None:
    assert "127.0.0.1:5001" in expect.base_is_from_the_mirror(scene(**MIRRORED), Moment(scene()))
    assert said in missing(expect.base_is_from_the_mirror, scene(**MIRRORED | flaw), Moment(scene()))


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (worker("", number=1), "worker has the annotations "),
        (worker(SUCCESS, number=0), "worker has the conditions BuildPending"),
        ({"builders": RUN}, "1 processes of builds still run"),
        ({"left": ("trash/build",)}, "trash/build is left"),
        ({"images": ()}, "the registry does not have the images of before"),
    ],
)
def test_opting_out_leaves_nothing_but_images(flaw: dict[str, Any], said: str) -> None:
    after = untouched(images=scene().images)
    assert expect.nothing_is_left(after, Moment(scene()))
    assert said in missing(expect.nothing_is_left, replace(after, **flaw), Moment(scene()))


def test_a_row_shows_the_config_what_the_pool_says_and_the_image() -> None:
    (_, line) = COLUMNS.changes(None, scene())
    assert line.plain.split() == [
        *("worker", "rendered-worker-0000000", "built", "BuildSucceeded"),
        *("0" * 12, "rendered-worker-0000000"),
    ]


def test_without_buildah_the_demo_says_so_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlaneError, match=r"missing: buildah and busybox; run tools/install-builder"):
        prepare()


def test_builds_are_found_by_their_keeper_with_all_that_it_started(tmp_path: Path) -> None:
    (tmp_path / "builds" / "build-worker").mkdir(parents=True)
    child = "import subprocess; subprocess.run(['sleep', '977'])"
    argv = [sys.executable, "-c", child, "_keeper.py", str(tmp_path)]
    with subprocess.Popen(argv, start_new_session=True) as keeper:
        try:
            assert wait_for(lambda: "sleep 977 " in processes(tmp_path).values() or None, seconds=60.0)
            assert keeper.pid in {process.pid for process in processes(tmp_path)}
        finally:
            os.killpg(keeper.pid, signal.SIGKILL)
    assert processes(tmp_path) == {}
    assert leftovers(tmp_path) == (str(tmp_path / "builds" / "build-worker"),)
