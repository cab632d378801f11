"""An immutable snapshot of the pools, of the registry and of this machine, which the expectations check."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo import scene, story
from windlass.demo.story import need
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present
from windlass.os_build.constants import IMAGE, IMAGE_ALIAS, IMAGE_CONFIG, RESULT
from windlass.os_build.demo.builders import Process
from windlass.os_build.pool.conditions import SUCCESS, VECTOR, BuildCondition

POOLS = ("worker", "infra")


class Pushed(Struct, frozen=True):
    """An image in the registry: its tag, the pool and the rendered MachineConfig of its labels, some of its files."""

    tag: str
    digest: str
    pool: str
    config: str
    files: Mapping[str, str] = field(default_factory=dict)

    def needs_file(self, path: str, content: str) -> None:
        """A file of the image has this content."""
        found = self.files.get(path)
        need(found == content, f"{self.pool}: {path} in its image is {found!r}, not {content!r}")


class Scene(scene.Scene, frozen=True, kw_only=True):
    """The pools, and what became of their images; empty before the first step.

    `base` is the pullspec of the base image, `images` all others. `builders` are the processes of builds with their
    commands, `killed` those that ran when Windlass was killed, and `left` the files and mounts of builds.
    """

    base: str = ""
    images: tuple[Pushed, ...] = ()
    builders: Mapping[Process, str] = field(default_factory=dict)
    killed: frozenset[Process] = frozenset()
    left: tuple[str, ...] = ()

    @property
    def pools(self) -> Mapping[str, Present[MachineConfigPool]]:
        return self.of(MachineConfigPool)

    def config(self, pool: str) -> str:
        """The rendered MachineConfig that a pool wants; empty if there is none."""
        found = self.pools.get(pool)
        return found.object.spec.configuration.name if found else ""

    def recorded(self, pool: str) -> Mapping[str, str]:
        """The annotations with which Windlass tells the result."""
        annotations = self.pools[pool].metadata.annotations if pool in self.pools else {}
        return {key: annotations[key] for key in RESULT if key in annotations}

    def image(self, pool: str) -> Pushed | None:
        """The image that a pool names, as the registry has it."""
        digest = self.recorded(pool).get(IMAGE, "").rpartition("@")[2]
        return next((each for each in self.images if each.digest == digest and each.pool == pool), None)

    def images_of(self, pool: str) -> frozenset[str]:
        """The tags of all images of a pool."""
        return frozenset(each.tag for each in self.images if each.pool == pool)

    def told(self, pool: str) -> BuildCondition | None:
        """What the four conditions say; None if the pool has none of them."""
        found = self.pools.get(pool)
        conditions = found.object.status.conditions if found else []
        vector = [each for kind in VECTOR if (each := find(conditions, kind)) is not None]
        if not vector:
            return None
        true = next((each for each in vector if each.status == "True"), None)
        return (
            BuildCondition(true.type, true.reason, true.message)
            if true
            else BuildCondition("", vector[0].reason, vector[0].message)
        )

    def said(self, pool: str) -> str:
        """The same for people, in a line."""
        told = self.told(pool)
        if told is None:
            return f"{pool}: no condition tells of its image"
        message = told.message.splitlines() or ["(nothing)"]
        return f"{pool}: {told.true or 'nothing True'} {told.reason}: {message[0]}"

    # what expectations ask for

    def needs_built(self, pool: str) -> Pushed:
        """The image of a pool that is built: by its condition, its annotations and the registry."""
        told, recorded, config = self.told(pool), self.recorded(pool), self.config(pool)
        need(told and told.true == SUCCESS, self.said(pool))
        same = recorded.get(IMAGE_CONFIG) == config and recorded.get(IMAGE_ALIAS) == recorded.get(IMAGE)
        need(same, f"{pool}: its annotations are {dict(recorded)}")
        image = need(self.image(pool), f"{pool}: the registry does not have {recorded.get(IMAGE)}")
        need(image.config == config, f"{pool}: its image is of {image.config or 'no MachineConfig'}")
        return image

    def needs_untouched(self) -> None:
        """No pool has an annotation or a condition of Windlass."""
        for name in POOLS:
            self.needs(MachineConfigPool, name)
            need(not self.recorded(name), f"{name} has the annotations {', '.join(self.recorded(name))}")
            need(self.told(name) is None, self.said(name))

    def needs_tidiness(self) -> None:
        """No build runs, and none has left files or mounts."""
        need(not self.builders, f"{len(self.builders)} processes of builds still run")
        need(not self.left, f"{', '.join(self.left)} is left")


Expectation: TypeAlias = story.Expectation[Scene]
Moment: TypeAlias = story.Moment[Scene]
