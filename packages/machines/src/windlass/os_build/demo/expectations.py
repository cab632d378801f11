"""The expectations of the story's steps: each compares what pools say with what the registry and this machine have.

Pure functions: each takes the scene and the step's beginning, and returns either what happened or what is missing.
"""

from typing import Final, TypeAlias

from windlass.demo import story
from windlass.demo.story import Moment, Observed, met, missing
from windlass.os_build.builder import Cause
from windlass.os_build.constants import IMAGE, IMAGE_ALIAS, IMAGE_CONFIG
from windlass.os_build.demo.columns import shortened
from windlass.os_build.demo.scene import POOLS, Pushed, Scene
from windlass.os_build.demo.stage import EDITION, MOTD
from windlass.os_build.failure import REMEDIES
from windlass.os_build.pool.conditions import BUILDING, FAILED, SUCCESS

Expectation: TypeAlias = story.Expectation[Scene]

CHANGED: Final = "worker"
"""The pool whose Containerfile the story changes."""
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


def configs_are_rendered(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.unserved:
        return missing(why)
    for name in POOLS:
        if not scene.config(name):
            return missing(f"MachineConfigPool {name} has no rendered MachineConfig")
    if not scene.base:
        return missing("the registry has no base image")
    names = " and ".join(shortened(scene.config(name)) for name in POOLS)
    return met(f"kube-apiserver {scene.version} runs, the operator's controller rendered {names}, and a base is pushed")


def windlass_leaves_pools_alone(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.idle:
        return missing(why)
    if touched := _touched(scene):
        return missing(touched)
    return met(f"Windlass is ready and leads as {scene.leader}; no pool is opted in, so nothing is built")


def both_pools_are_built(scene: Scene, _: Moment[Scene]) -> Observed:
    for name in POOLS:
        if problem := _not_built(scene, name):
            return missing(f"{name}: {problem}")
        if len(scene.images_of(name)) != 1:
            return missing(f"{name}: the registry has {len(scene.images_of(name))} images of it, not 1")
    image = scene.recorded(POOLS[0])[IMAGE]
    return met(f"2 images are pushed, and each pool names its own; {POOLS[0]}: {image}")


def file_is_in_the_image(scene: Scene, _: Moment[Scene]) -> Observed:
    for name in POOLS:
        if problem := _lacks(scene.image(name), MOTD, GREETING):
            return missing(f"{name}: {problem}")
    return met(f"{MOTD} in both images is {GREETING.strip()!r}, as MachineConfig 60-motd has it")


def failure_is_told(scene: Scene, moment: Moment[Scene]) -> Observed:
    told = scene.told(CHANGED)
    if told is None or told.true != FAILED:
        return missing(f"{CHANGED}: {_said(scene, CHANGED)}")
    if told.reason != Cause.STEP:
        return missing(f"{CHANGED}: the reason is {told.reason}, not {Cause.STEP}")
    for part in (BROKEN_STEP, "exit code 1", "attempt 1 of 4", COMPLAINT, REMEDIES[Cause.STEP]):
        if part not in told.message:
            return missing(f"{CHANGED}: the message does not have {part!r}: {told.message}")
    if scene.recorded(CHANGED) != moment.before.recorded(CHANGED):
        return missing(f"{CHANGED}: the image of before is not recorded any more")
    if scene.images_of(CHANGED) != moment.before.images_of(CHANGED):
        return missing(f"{CHANGED}: something was pushed")
    said = [line for line in told.message.splitlines() if line.startswith(COMPLAINT)]
    return met(f"BuildFailed=True {told.reason}: {told.message.splitlines()[0]} ... {said[-1]}")


def one_more_image(edition: int) -> Expectation:
    """The pool has exactly one image more than at the beginning of the step, with the last change in it."""

    def look(scene: Scene, moment: Moment[Scene]) -> Observed:
        image = scene.image(CHANGED)
        if problem := _not_built(scene, CHANGED) or _lacks(image, EDITION, f"edition {edition}\n"):
            return missing(f"{CHANGED}: {problem}")
        if (new := len(scene.images_of(CHANGED) - moment.before.images_of(CHANGED))) != 1:
            return missing(f"{CHANGED}: {new} more images were pushed, not 1")
        digest = scene.recorded(CHANGED)[IMAGE].rpartition("@")[2][:19]
        return met(f"one more image was pushed: {digest}, and {EDITION} in it is 'edition {edition}'")

    return look


def build_runs(scene: Scene, moment: Moment[Scene]) -> Observed:
    """A build of the pool is in the step that takes long."""
    if scene.told(CHANGED) == moment.before.told(CHANGED) or not _is_building(scene):
        return missing(f"{CHANGED}: {_said(scene, CHANGED)}")
    return met(f"Building=True; its {len(scene.builders)} processes are in the step that takes longer")


def build_of_new_configs_runs(scene: Scene, moment: Moment[Scene]) -> Observed:
    """Both pools have a new rendered MachineConfig, and a build is in the step that takes long."""
    for name in POOLS:
        if scene.config(name) == moment.before.config(name):
            return missing(f"{name} still wants {shortened(scene.config(name))}")
    if not _is_building(scene):
        return missing(f"{CHANGED}: {_said(scene, CHANGED)}")
    return met(f"the operator rendered {' and '.join(shortened(scene.config(name)) for name in POOLS)}; Building=True")


def build_was_resumed(scene: Scene, moment: Moment[Scene]) -> Observed:
    """The next process made one image for each pool; nothing of the killed build is left."""
    if not scene.killed:
        return missing("no build ran when Windlass was killed")
    if orphans := scene.killed & scene.builders.keys():
        return missing(f"{len(orphans)} processes of the killed build still run")
    if not scene.leader or scene.leader == moment.before.leader:
        return missing("the next process does not lead yet")
    for name in POOLS:
        if problem := _not_built(scene, name) or _lacks(scene.image(name), MOTD, NEXT_GREETING):
            return missing(f"{name}: {problem}")
        tags = [each.tag for each in scene.images if (each.pool, each.config) == (name, scene.config(name))]
        if len(tags) != 1:
            return missing(f"{name}: {len(tags)} images were pushed for {scene.config(name)}, not 1")
    if litter := _litter(scene):
        return missing(litter)
    return met(
        f"all {len(scene.killed)} processes of the killed build are gone, with their files; the next process "
        "built 1 image for each pool"
    )


def nothing_is_left(scene: Scene, moment: Moment[Scene]) -> Observed:
    if problem := _touched(scene) or _litter(scene):
        return missing(problem)
    if scene.images != moment.before.images:
        return missing("the registry does not have the images of before")
    return met(
        f"no annotation and no condition of Windlass is on a pool, nothing builds, no file is left; the "
        f"{len(scene.images)} images in the registry are the user's"
    )


def _not_built(scene: Scene, name: str) -> str:
    """What a pool lacks to be built; empty if nothing."""
    told, recorded, image = scene.told(name), scene.recorded(name), scene.image(name)
    if told is None or told.true != SUCCESS:
        return _said(scene, name)
    if recorded.get(IMAGE_CONFIG) != scene.config(name) or recorded.get(IMAGE_ALIAS) != recorded.get(IMAGE):
        return f"its annotations are {dict(recorded)}"
    if image is None:
        return f"the registry does not have {recorded.get(IMAGE)}"
    if image.config != scene.config(name):
        return f"its image is of {image.config or 'no MachineConfig'}"
    return ""


def _lacks(image: Pushed | None, path: str, content: str) -> str:
    """How a file of the image differs; empty if it does not."""
    found = image.files.get(path) if image else None
    return "" if found == content else f"{path} in its image is {found!r}, not {content!r}"


def _is_building(scene: Scene) -> bool:
    told = scene.told(CHANGED)
    asleep = any(_SLEEP in command for command in scene.builders.values())
    return told is not None and told.true == BUILDING and asleep


def _touched(scene: Scene) -> str:
    for name in POOLS:
        if name not in scene.pools:
            return f"there is no MachineConfigPool {name}"
        if recorded := scene.recorded(name):
            return f"{name} has the annotation {min(recorded)}"
        if scene.told(name) is not None:
            return f"{name}: {_said(scene, name)}"
    return ""


def _litter(scene: Scene) -> str:
    if scene.builders:
        return f"{len(scene.builders)} processes of builds still run"
    return f"{scene.left[0]} is left" if scene.left else ""


def _said(scene: Scene, name: str) -> str:
    told = scene.told(name)
    if told is None:
        return "no condition tells of its image"
    message = told.message.splitlines()
    return f"{told.true or 'nothing True'} {told.reason}: {message[0] if message else '(nothing)'}"
