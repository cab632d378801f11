"""Says in one row how the image of a pool is doing, from what the pool itself says. Pure."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.conditions import find, is_true
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG
from windlass.os_build.pool.conditions import BUILDING, FAILED, PENDING, SUCCESS
from windlass.os_build.request import opted_in


class State(StrEnum):
    """What a pool says about its image.

    HELD_BACK  no condition is True: no build is due, and the message says why
    UNSEEN     opted in, and no controller has written a condition
    CLAIMED    a MachineOSConfig names the pool, so this controller leaves it alone
    OUT        not opted in
    """

    PENDING = "pending"
    BUILDING = "building"
    BUILT = "built"
    FAILED = "failed"
    HELD_BACK = "held-back"
    UNSEEN = "unseen"
    CLAIMED = "claimed"
    OUT = "out"


_STATES = {PENDING: State.PENDING, BUILDING: State.BUILDING, SUCCESS: State.BUILT, FAILED: State.FAILED}


class PoolRow(Struct, rename="camel", frozen=True):
    """A pool. `config` is the rendered MachineConfig that it wants, `image_config` that of `image`; `since`: RFC 3339,
    when the state began."""

    pool: str
    state: State
    config: str = ""
    image: str = ""
    image_config: str = ""
    since: str | None = None
    reason: str = ""
    message: str = ""

    @property
    def up_to_date(self) -> bool:
        """The image is the one that the pool asks for, as far as the pool tells."""
        return self.state is State.BUILT and self.image_config == self.config


def row_of(pool: MachineConfigPool, *, claimed: str = "") -> PoolRow:
    """The row; `claimed`: the MachineOSConfig that names the pool."""
    annotations = pool.metadata.annotations
    row = PoolRow(
        pool=pool.metadata.name,
        state=State.OUT,
        config=pool.spec.configuration.name,
        image=annotations.get(IMAGE, ""),
        image_config=annotations.get(IMAGE_CONFIG, ""),
    )
    if claimed:
        return replace(row, state=State.CLAIMED, message=f"MachineOSConfig {claimed} names the pool")
    if not opted_in(pool):
        return row
    conditions = pool.status.conditions
    shown = next((type_ for type_ in _STATES if is_true(conditions, type_)), PENDING)
    found = find(conditions, shown)
    if found is None:
        text = "no controller has said anything about its image: is `windlass run os-build` running?"
        return replace(row, state=State.UNSEEN, message=text)
    state = _STATES[shown] if is_true(conditions, shown) else State.HELD_BACK
    return replace(row, state=state, since=found.last_transition_time, reason=found.reason, message=found.message)
