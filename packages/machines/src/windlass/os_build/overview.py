"""Says in one row how the image of a pool is doing: by what the pool itself says, or by its MachineOSConfig. Pure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.conditions import find, is_true
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG
from windlass.os_build.machine_os.build import CURRENT
from windlass.os_build.machine_os.conditions import IMAGE_BUILD_DEGRADED, state_of
from windlass.os_build.machine_os.conditions import State as BuildIs
from windlass.os_build.machine_os.request import precedence
from windlass.os_build.pool.conditions import BUILDING, FAILED, PENDING, SUCCESS
from windlass.os_build.request import opted_in


class State(StrEnum):
    """How the image of a pool is doing.

    HELD_BACK  no condition is True: no build is due, and the message says why
    UNSEEN     it asks for an image, and no controller has said anything
    OUT        not opted in, and no MachineOSConfig names it
    """

    PENDING = "pending"
    BUILDING = "building"
    BUILT = "built"
    FAILED = "failed"
    HELD_BACK = "held-back"
    UNSEEN = "unseen"
    OUT = "out"


_OF_BUILDS = {
    BuildIs.INITIAL: State.PENDING,
    BuildIs.PREPARED: State.PENDING,
    BuildIs.BUILDING: State.BUILDING,
    BuildIs.INTERRUPTED: State.PENDING,
    BuildIs.FAILED: State.FAILED,
    BuildIs.SUCCEEDED: State.BUILT,
}
_OF_CONDITION = {"BuildSuccess": State.BUILT, "Building": State.BUILDING, "BuildFailed": State.FAILED}
"""By the reason of `ImageBuildDegraded`."""
_STATES = {PENDING: State.PENDING, BUILDING: State.BUILDING, SUCCESS: State.BUILT, FAILED: State.FAILED}


_UNSEEN = "no controller has said anything about its image: is `windlass run os-build` running?"


class PoolRow(Struct, rename="camel", frozen=True):
    """A pool. `config` is the rendered MachineConfig that it wants, `image_config` that of `image`; `since`: RFC 3339,
    when the state began; `claimed_by`: the MachineOSConfig that names it, or empty."""

    pool: str
    state: State
    config: str = ""
    image: str = ""
    image_config: str = ""
    since: str | None = None
    reason: str = ""
    message: str = ""
    claimed_by: str = ""

    @property
    def up_to_date(self) -> bool:
        """The image is the one that the pool asks for, as far as the pool tells."""
        return self.state is State.BUILT and self.image_config == self.config


def row_of(pool: MachineConfigPool) -> PoolRow:
    """The row of a pool that no MachineOSConfig names."""
    annotations = pool.metadata.annotations
    row = PoolRow(
        pool=pool.metadata.name,
        state=State.OUT,
        config=pool.spec.configuration.name,
        image=annotations.get(IMAGE, ""),
        image_config=annotations.get(IMAGE_CONFIG, ""),
    )
    if not opted_in(pool):
        return row
    conditions = pool.status.conditions
    shown = next((type_ for type_ in _STATES if is_true(conditions, type_)), PENDING)
    found = find(conditions, shown)
    if found is None:
        return replace(row, state=State.UNSEEN, message=_UNSEEN)
    state = _STATES[shown] if is_true(conditions, shown) else State.HELD_BACK
    return replace(row, state=state, since=found.last_transition_time, reason=found.reason, message=found.message)


def current_build(config: MachineOSConfig) -> str:
    """The name of the MachineOSBuild of what is asked for; empty: there was none yet."""
    reference = config.status.machine_os_build
    return config.metadata.annotations.get(CURRENT) or (reference.name if reference is not None else "")


def row_of_claim(
    pool: MachineConfigPool, config: MachineOSConfig, builds: Mapping[str, MachineOSBuild] | None
) -> PoolRow:
    """The row of a pool that a MachineOSConfig names; `builds`: the MachineOSBuilds by name, None if they may not be
    listed: then the pool's `ImageBuildDegraded` tells alone. What keeps a build from its start stands there anyway.
    """
    unknown, builds = builds is None, builds or {}
    build, image = builds.get(current_build(config)), config.status.current_image_pull_spec
    of_image = [each for each in builds.values() if each.status.digested_image_push_spec == image] if image else []
    # A configuration that changes only files has the image of another one.
    of_image.sort(key=lambda each: (each.metadata.name == current_build(config), each.status.build_end or ""))
    wanted = pool.spec.configuration.name
    row = PoolRow(
        pool=pool.metadata.name,
        state=State.UNSEEN,
        config=wanted,
        image=image,
        image_config=of_image[-1].spec.machine_config.name if of_image else "",
        claimed_by=config.metadata.name,
    )
    degraded = find(pool.status.conditions, IMAGE_BUILD_DEGRADED)
    trouble = degraded if degraded is not None and is_true([degraded], IMAGE_BUILD_DEGRADED) else None
    if unknown and degraded is not None:
        state = _OF_CONDITION.get(degraded.reason, State.PENDING)
        since = degraded.last_transition_time
        return replace(row, state=state, since=since, reason=degraded.reason, message=degraded.message)
    if build is None or build.spec.machine_config.name != wanted:
        if trouble is not None:
            return replace(row, state=State.PENDING, reason=trouble.reason, message=trouble.message)
        return replace(row, message=_UNSEEN)
    is_in = state_of(build.status.conditions) or BuildIs.INITIAL
    told = find(build.status.conditions, is_in)
    row = replace(row, state=_OF_BUILDS[is_in], since=build.metadata.creation_timestamp)
    if told is not None:
        row = replace(row, since=told.last_transition_time, reason=told.reason, message=told.message)
    if trouble is not None and not is_in.is_over:
        row = replace(row, reason=trouble.reason, message=trouble.message)
    return row


class Claims(Struct, frozen=True):
    """The MachineOSConfigs by the pools that they name, and all MachineOSBuilds by name; None: they are not known."""

    configs: Mapping[str, MachineOSConfig] = {}
    builds: Mapping[str, MachineOSBuild] | None = None

    @classmethod
    def of(cls, configs: Iterable[MachineOSConfig], builds: Iterable[MachineOSBuild] | None) -> "Claims":
        named: dict[str, MachineOSConfig] = {}
        for each in configs:
            pool = each.spec.machine_config_pool.name
            named[pool] = min(named.get(pool, each), each, key=lambda one: precedence(one.metadata, pool=pool))
        return cls(named, None if builds is None else {each.metadata.name: each for each in builds})

    def row(self, pool: MachineConfigPool) -> PoolRow:
        """The row of a pool, whoever asks for its image."""
        config = self.configs.get(pool.metadata.name)
        return row_of(pool) if config is None else row_of_claim(pool, config, self.builds)
