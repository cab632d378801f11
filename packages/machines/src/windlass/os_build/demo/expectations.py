"""The expectations of the story's steps: each compares what pools say with what the registry and this machine have.

Pure functions of a scene and of the step's beginning: each says what happened, or raises Missing with what is missing.
"""

from typing import Final

from windlass.demo.story import need
from windlass.os_build.builder import Cause
from windlass.os_build.demo.scene import POOLS, Expectation, Moment, Scene, said, shortened
from windlass.os_build.demo.stage import EDITION, MOTD, SOURCE
from windlass.os_build.failure import REMEDIES
from windlass.os_build.overview import State

CHANGED: Final = "worker"
"""The pool whose Containerfile the story changes."""
MOVED: Final = "infra"
"""The pool whose base image goes behind a mirror."""
GREETING: Final = "Welcome to the demo\n"
NEXT_GREETING: Final = "Welcome back\n"
BROKEN_STEP: Final = "RUN cp /opt/agent/setup /usr/setup"
COMPLAINT: Final = "cp: can't stat '/opt/agent/setup'"
BROKEN: Final = f"{BROKEN_STEP}\n"
FIXED: Final = f"RUN echo 'edition 1' > {EDITION}\n"
_SLEEP: Final = "sleep 5"


def slow(edition: int) -> str:
    """A Containerfile whose build takes a few seconds."""
    return f"RUN {_SLEEP} && echo 'edition {edition}' > {EDITION}\n"


def configs_are_rendered(scene: Scene, _: Moment) -> str:
    scene.needs_kinds()
    for name in POOLS:
        need(scene.row(name).config, f"MachineConfigPool {name} has no rendered MachineConfig")
    need(scene.base, "the registry has no base image")
    rendered = f"the operator's controller rendered {_configs(scene)}"
    return f"kube-apiserver {scene.version} runs, {rendered}, and a base is pushed"


def windlass_leaves_pools_alone(scene: Scene, _: Moment) -> str:
    leader = scene.needs_windlass()
    scene.needs_untouched()
    return f"Windlass is ready and leads as {leader}; no pool is opted in, so nothing is built"


def both_pools_are_built(scene: Scene, _: Moment) -> str:
    for name in POOLS:
        scene.needs_built(name)
        count = len(scene.images_of(name))
        need(count == 1, f"{name}: the registry has {count} images of it, not 1")
    return f"2 images are pushed, and each pool names its own; {POOLS[0]}: {scene.row(POOLS[0]).image}"


def file_is_in_the_image(scene: Scene, _: Moment) -> str:
    for name in POOLS:
        scene.needs_built(name).needs_file(MOTD, GREETING)
    return f"{MOTD} in both images is {GREETING.strip()!r}, as MachineConfig 60-motd has it"


def failure_is_told(scene: Scene, moment: Moment) -> str:
    row = scene.row(CHANGED)
    need((row.state, row.reason) == (State.FAILED, Cause.STEP), f"{said(row)}; expected: {Cause.STEP}")
    for part in (BROKEN_STEP, "exit code 1", "attempt 1 of 4", COMPLAINT, REMEDIES[Cause.STEP].partition("{")[0]):
        need(part in row.message, f"{CHANGED}: the message does not have {part!r}: {row.message}")
    same = scene.recorded(CHANGED) == moment.before.recorded(CHANGED)
    need(same, f"{CHANGED}: the image of before is not recorded any more")
    need(scene.images_of(CHANGED) == moment.before.images_of(CHANGED), f"{CHANGED}: something was pushed")
    first, *lines = row.message.splitlines()
    last = [line for line in lines if line.startswith(COMPLAINT)][-1]
    return f"BuildFailed=True {row.reason}: {first} ... {last}"


def one_more_image(edition: int) -> Expectation:
    """The pool has exactly one image more than at the beginning of the step, with the last change in it."""

    def look(scene: Scene, moment: Moment) -> str:
        image = scene.needs_built(CHANGED)
        image.needs_file(EDITION, f"edition {edition}\n")
        new = len(scene.images_of(CHANGED) - moment.before.images_of(CHANGED))
        need(new == 1, f"{CHANGED}: {new} more images were pushed, not 1")
        return f"one more image was pushed: {image.digest[:19]}, and {EDITION} in it is 'edition {edition}'"

    return look


def build_runs(scene: Scene, moment: Moment) -> str:
    """A build of the pool is in the step that takes long."""
    need(scene.row(CHANGED) != moment.before.row(CHANGED), f"{said(scene.row(CHANGED))}, as before")
    _needs_running_build(scene)
    return f"Building=True; its {len(scene.builders)} processes are in the step that takes longer"


def build_of_new_configs_runs(scene: Scene, moment: Moment) -> str:
    """Both pools have a new rendered MachineConfig, and a build is in the step that takes long."""
    for name in POOLS:
        config = scene.row(name).config
        need(config != moment.before.row(name).config, f"{name} still wants {shortened(config)}")
    _needs_running_build(scene)
    return f"the operator rendered {_configs(scene)}; Building=True"


def build_was_resumed(scene: Scene, moment: Moment) -> str:
    """The next process made one image for each pool; nothing of the killed build is left."""
    need(scene.killed, "no build ran when Windlass was killed")
    orphans = scene.killed & scene.builders.keys()
    need(not orphans, f"{len(orphans)} processes of the killed build still run")
    need(scene.needs_windlass() not in moment.before.leaders, "the next process does not lead yet")
    for name in POOLS:
        scene.needs_built(name).needs_file(MOTD, NEXT_GREETING)
        tags = [each.tag for each in scene.images if (each.pool, each.config) == (name, scene.row(name).config)]
        need(len(tags) == 1, f"{name}: {len(tags)} images were pushed for {scene.row(name).config}, not 1")
    scene.needs_tidiness()
    return (
        f"all {len(scene.killed)} processes of the killed build are gone, with their files; the next process "
        "built 1 image for each pool"
    )


def base_is_from_the_mirror(scene: Scene, moment: Moment) -> str:
    """The pool is built on an image that has no address, and the other one is left alone."""
    config = scene.row(MOVED).config
    need(config != moment.before.row(MOVED).config, f"{MOVED} still wants {shortened(config)}")
    image = scene.needs_built(MOVED)
    need(image.base.startswith(f"{SOURCE}@"), f"{MOVED}: its image is made of {image.base or 'an unknown base'}")
    need(scene.mirrored, f"{MOVED}: the mirror {scene.mirror} was asked for nothing")
    need(scene.images_of(CHANGED) == moment.before.images_of(CHANGED), f"{CHANGED}: something was pushed")
    return (
        f"the image of {MOVED} is made of {image.base[: len(SOURCE) + 20]}, which has no address; the mirror "
        f"{scene.mirror} gave it, whose CA only the MachineConfig has"
    )


def nothing_is_left(scene: Scene, moment: Moment) -> str:
    scene.needs_untouched()
    scene.needs_tidiness()
    need(scene.images == moment.before.images, "the registry does not have the images of before")
    return (
        f"no annotation and no condition of Windlass is on a pool, nothing builds, no file is left; the "
        f"{len(scene.images)} images in the registry are the user's"
    )


def _needs_running_build(scene: Scene) -> None:
    row = scene.row(CHANGED)
    need(row.state is State.BUILDING, said(row))
    asleep = any(_SLEEP in command for command in scene.builders.values())
    need(asleep, f"no process of the build of {CHANGED} is in the step {_SLEEP!r}")


def _configs(scene: Scene) -> str:
    return " and ".join(shortened(scene.row(name).config) for name in POOLS)
