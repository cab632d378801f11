"""The claim of a MachineOSConfig on a pool, and in which situation it is. Pure; the first row that fits wins:

| the MachineOSBuild of what is asked for | the situation |
|---|---|
| cannot be named | `Problem` |
| is being deleted | `Wait` |
| is there although the annotation `rebuild` asks for another | `Again`: it is deleted |
| succeeded, and its image lacks an architecture of the pool's Nodes | `Again` |
| succeeded, and its image is the current one | `Current` |
| succeeded earlier, and the registry still has its image | `Current` |
| succeeded earlier, and its image is gone | `Again` |
| succeeded earlier, and the registry does not tell | `Silent`; for too long: `Again` |
| was interrupted by somebody else | `Again` |
| failed | `Failed`; its builder says whether that may have passed (`situation`) |
| is missing | `Missing`: it is created |
| was begun by another builder, such as the operator's | `Again`: that build goes with it |
| has not begun, and the current image serves this configuration and all Nodes, as the registry has it | `Reuse` |
| the same, and the registry does not tell | `Silent`; for too long: `Reuse`, since nodes run it already |
| is not over | `Building`: its builder decides |

An image stands for what `rebuild` compares. So a change of files alone takes the image that there is.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.seen import Present
from windlass.os_build.constants import REBUILD
from windlass.os_build.identity import Inputs, is_named_by
from windlass.os_build.machine_os.conditions import State, state_of
from windlass.os_build.registry.answers import Denied, Found, Gone, NotAsked
from windlass.os_build.request import Problem


class Claim(Struct, frozen=True, kw_only=True):
    """A MachineOSConfig, and its MachineOSBuilds.

    name       of the build of what is asked for now
    builds     all builds of the MachineOSConfig
    serves     the current image, if it serves the configuration too that is asked for now; else empty
    registry   whether the registry has the image that is about to be taken; None: it was not asked
    silent     since when it has not told; None: it tells
    lacks      architectures of the pool's Nodes that the image lacks which is current, or about to be taken
    """

    config: Present[MachineOSConfig]
    name: str | Problem
    builds: tuple[Present[MachineOSBuild], ...] = ()
    serves: str = ""
    registry: Found | Gone | Denied | NotAsked | None = None
    silent: datetime | None = None
    lacks: tuple[str, ...] = ()

    @property
    def build(self) -> Present[MachineOSBuild] | None:
        """The build of what is asked for."""
        return next((each for each in self.builds if each.metadata.name == self.name), None)

    @property
    def inputs(self) -> Inputs:
        """The identity of the builder object: another MachineOSBuild of the same name is another build."""
        return Inputs(self.name if isinstance(self.name, str) else "", self.build.metadata.uid if self.build else "")

    @property
    def superseded(self) -> Sequence[Present[MachineOSBuild]]:
        """Builds of something else, less those whose image may serve again."""
        return [each for each in self.builds if each.metadata.name != self.name and state(each) is not State.SUCCEEDED]


class Wait(Struct, frozen=True):
    """`what` is awaited."""

    what: str


class Silent(Struct, frozen=True):
    """The registry does not tell whether it has the image, and `why`; `then` is what is done without its word."""

    build: Present[MachineOSBuild]
    why: str
    then: "Again | Reuse"


class Again(Struct, frozen=True):
    build: Present[MachineOSBuild]
    why: str


class Current(Struct, frozen=True):
    build: Present[MachineOSBuild]


class Failed(Struct, frozen=True):
    """`again`: when it is built anew; None: not by itself."""

    build: Present[MachineOSBuild]
    again: datetime | None = None


class Building(Struct, frozen=True):
    build: Present[MachineOSBuild]


class Reuse(Struct, frozen=True):
    build: Present[MachineOSBuild]
    image: str


class Missing(Struct, frozen=True):
    name: str


Standing: TypeAlias = Problem | Wait | Silent | Again | Current | Failed | Building | Reuse | Missing


def state(build: Present[MachineOSBuild]) -> State:
    return state_of(build.object.status.conditions) or State.INITIAL


def is_current(claim: Claim, build: Present[MachineOSBuild]) -> bool:
    """The image of the build is the one that nodes get already, whichever build that is of."""
    image = build.object.status.digested_image_push_spec
    return bool(image) and image == claim.config.object.status.current_image_pull_spec


def image_of_claim(claim: Claim) -> str:
    """The image that is current, or about to be taken; empty: there is none."""
    build = claim.build
    if build is not None and is_current(claim, build):
        return build.object.status.digested_image_push_spec
    return image_to_take(claim)


def image_to_take(claim: Claim) -> str:
    """The image of which the registry has to be asked whether it is still there; empty if of none."""
    build = claim.build
    if build is None or is_current(claim, build):
        return ""
    if state(build) is State.SUCCEEDED:
        return build.object.status.digested_image_push_spec
    return claim.serves if _may_reuse(build) else ""


def standing(claim: Claim) -> Standing:
    """The table of the module."""
    if isinstance(claim.name, Problem):
        return claim.name
    build = claim.build
    if build is None:
        return Missing(claim.name)
    if build.deleting:
        return Wait(f"MachineOSBuild {build.metadata.name} to be deleted")
    if REBUILD in claim.config.metadata.annotations:
        return Again(build, f"annotation {REBUILD} of MachineOSConfig {claim.config.metadata.name} asks for it")
    match state(build):
        case State.SUCCEEDED:
            return _succeeded(claim, build)
        case State.INTERRUPTED:
            return Again(build, "it was interrupted")
        case State.FAILED:
            return Failed(build)
    if stranger := _stranger(claim, build):
        return Again(build, f"{stranger} builds it, which is not of this builder")
    if claim.serves and not claim.lacks and _may_reuse(build):
        match claim.registry:
            case Found():
                return Reuse(build, claim.serves)
            case Denied(text) | NotAsked(text):
                return Silent(build, text, Reuse(build, claim.serves))
    return Building(build)


def _stranger(claim: Claim, build: Present[MachineOSBuild]) -> str:
    """The Job of another builder; empty if there is none. Jobs of others go with the MachineOSBuild that owns them."""
    builder = build.object.status.builder
    job = builder.job.name if builder and builder.job else ""
    ours = is_named_by(job, claim.config.object.spec.machine_config_pool.name, claim.inputs)
    return f"Job {job}" if job and not ours else ""


def _may_reuse(build: Present[MachineOSBuild]) -> bool:
    """It has not begun, and nobody asked for another image of the same."""
    return state(build) is State.INITIAL and REBUILD not in build.metadata.annotations


def _succeeded(claim: Claim, build: Present[MachineOSBuild]) -> Standing:
    if claim.lacks:
        return Again(build, f"its image is not for {', '.join(claim.lacks)}, and Nodes of the pool are")
    if is_current(claim, build):
        return Current(build)
    match claim.registry:
        case Found():
            return Current(build)
        case Gone(text):
            return Again(build, text)
        case Denied(text) | NotAsked(text):
            return Silent(build, text, Again(build, f"the registry does not tell whether it has the image: {text}"))
    return Wait("the registry to be asked")
