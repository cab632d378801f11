"""An immutable snapshot of the pools, of the registry and of this machine, which the expectations check."""

from collections.abc import Mapping

from msgspec import Struct, field

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo import story
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present
from windlass.os_build.constants import IMAGE, RESULT
from windlass.os_build.demo.builders import Process
from windlass.os_build.pool.conditions import VECTOR, BuildCondition

POOLS = ("worker", "infra")


class Pushed(Struct, frozen=True):
    """An image in the registry: its tag, the pool and the rendered MachineConfig of its labels, some of its files."""

    tag: str
    digest: str
    pool: str
    config: str
    files: Mapping[str, str] = field(default_factory=dict)


class Scene(story.Scene, frozen=True, kw_only=True):
    """The pools by name, and what became of their images; empty before the first step.

    `base` is the pullspec of the base image, `images` all others. `builders` are the processes of builds with their
    commands, `killed` those that ran when Windlass was killed, and `left` the files and mounts of builds.
    """

    base: str = ""
    pools: Mapping[str, Present[MachineConfigPool]] = field(default_factory=dict)
    images: tuple[Pushed, ...] = ()
    builders: Mapping[Process, str] = field(default_factory=dict)
    killed: frozenset[Process] = frozenset()
    left: tuple[str, ...] = ()

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
