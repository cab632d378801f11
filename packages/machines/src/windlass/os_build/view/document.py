"""Makes the document of the view from pools, MachineOSConfigs and MachineOSBuilds. Pure.

| part | what |
|---|---|
| `pool/NAME` | a pool that asks for an image: its row of `windlass.os_build.overview`, its nodes, the end of the log |
| `build/NAME` | a MachineOSBuild |
| `out` | the pools that ask for none |
| `unserved` | the kinds that the cluster does not serve |

The end of the log is that of the condition's message: this page reads no Pod.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.conditions import find
from windlass.kube.shorten import shortened
from windlass.os_build.builder import Cause, Obstacle
from windlass.os_build.failure import LAST_LINES
from windlass.os_build.machine_os.conditions import State as BuildIs
from windlass.os_build.machine_os.conditions import state_of
from windlass.os_build.overview import Claims, PoolRow, State
from windlass.web.brief import Need, Tone, brief, counted, joined
from windlass.web.following import Kept
from windlass.web.view import BRIEF

POOLS: Final = "pool"
CONFIGS: Final = "config"
BUILDS: Final = "build"
MOST_BUILDS: Final = 50
"""MachineOSBuilds that are shown, the newest; the operator keeps all of them."""
LONGEST: Final = 1000
"""Characters of a message in a row; the details have the whole."""
LONGEST_LOG: Final = 4000

_STATES: Final[dict[State, tuple[str, Tone]]] = {
    State.PENDING: ("Waits", "busy"),
    State.BUILDING: ("Building", "busy"),
    State.BUILT: ("Built", "good"),
    State.FAILED: ("Failed", "bad"),
    State.HELD_BACK: ("Held back", "warn"),
    State.UNSEEN: ("Not seen yet", "warn"),
}
_BUILD_STATES: Final[dict[BuildIs, tuple[str, Tone]]] = {
    BuildIs.INITIAL: ("Waits", "busy"),
    BuildIs.PREPARED: ("Waits", "busy"),
    BuildIs.BUILDING: ("Building", "busy"),
    BuildIs.INTERRUPTED: ("Interrupted", "warn"),
    BuildIs.FAILED: ("Failed", "bad"),
    BuildIs.SUCCEEDED: ("Built", "good"),
}
_HINDERED: Final = frozenset({*map(str, Obstacle), *map(str, Cause), "Retrying", "BuildInterrupted"})
"""Reasons of a build that waits, and not only for its turn."""


class Pool(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A pool that asks for an image.

    config    the rendered MachineConfig that it wants; `image_config`: that of the image that it has
    image     with its digest; empty: there is none
    nodes     how many it has, and how many of them run what the pool asks for
    log       the last lines of the log of a build that failed
    claimed_by  the MachineOSConfig that asks in the pool's place
    """

    name: str
    state: str
    tone: Tone
    config: str = ""
    image: str = ""
    image_config: str = ""
    up_to_date: bool = False
    since: str | None = None
    reason: str = ""
    message: str = ""
    log: str = ""
    nodes: int = 0
    updated: int = 0
    paused: bool = False
    claimed_by: str = ""


class Build(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A MachineOSBuild. `current`: the MachineOSConfig names this build; `builder`: the Job of the build."""

    name: str
    pool: str
    state: str
    tone: Tone
    config: str = ""
    current: bool = False
    image: str = ""
    builder: str = ""
    created: str | None = None
    started: str | None = None
    ended: str | None = None
    message: str = ""
    log: str = ""


def document(kept: Kept) -> dict[str, Any]:
    """All parts but those of the frame, and the line of the first page."""
    builds: list[MachineOSBuild] = kept.rows[BUILDS]
    known = BUILDS not in kept.unserved
    claims = Claims.of(kept.rows[CONFIGS], builds if known else None)
    pools: list[MachineConfigPool] = kept.rows[POOLS]
    rows = [(each, claims.row(each)) for each in pools]
    shown = [pool(each, row) for each, row in rows if row.state is not State.OUT]
    found: dict[str, Any] = {f"{POOLS}/{each.name}": each for each in shown}
    found |= {f"{BUILDS}/{each.name}": each for each in newest(builds, claims)}
    found["out"] = [row.pool for _, row in rows if row.state is State.OUT]
    found["unserved"] = [name for name in (POOLS,) if name in kept.unserved]
    found[BRIEF] = _brief(kept, shown)
    return found


def pool(found: MachineConfigPool, row: PoolRow) -> Pool:
    """The part of a pool that asks for an image."""
    state, tone = _STATES[row.state]
    if row.state is State.PENDING and row.reason in _HINDERED:
        tone = "warn"
    message, log = without_log(row.message)
    return Pool(
        name=row.pool,
        state=state,
        tone=tone,
        config=row.config,
        image=shortened(row.image, LONGEST),
        image_config=shortened(row.image_config, LONGEST),
        up_to_date=row.up_to_date,
        since=row.since,
        reason=shortened(row.reason, 100),
        message=shortened(message, LONGEST),
        log=log,
        nodes=found.status.machine_count,
        updated=found.status.updated_machine_count,
        paused=found.spec.paused,
        claimed_by=row.claimed_by,
    )


def newest(builds: Iterable[MachineOSBuild], claims: Claims) -> list[Build]:
    """The newest builds, newest first."""
    latest = sorted(builds, key=lambda each: each.metadata.creation_timestamp or "", reverse=True)[:MOST_BUILDS]
    pools = {config.metadata.name: config for config in claims.configs.values()}
    return [_build(each, pools) for each in latest]


def _build(found: MachineOSBuild, configs: dict[str, Any]) -> Build:
    is_in = state_of(found.status.conditions) or BuildIs.INITIAL
    state, tone = _BUILD_STATES[is_in]
    told = find(found.status.conditions, is_in)
    message, log = without_log(told.message if told else "")
    config = configs.get(found.spec.machine_os_config.name)
    current = config.status.machine_os_build if config is not None else None
    job = found.status.builder.job if found.status.builder else None
    return Build(
        name=found.metadata.name,
        pool=config.spec.machine_config_pool.name if config is not None else "",
        state=state,
        tone=tone,
        config=found.spec.machine_config.name,
        current=current is not None and current.name == found.metadata.name,
        image=shortened(found.status.digested_image_push_spec or found.spec.rendered_image_push_spec, LONGEST),
        builder=f"{job.resource}/{job.name}" if job is not None else "",
        created=found.metadata.creation_timestamp,
        started=found.status.build_start,
        ended=found.status.build_end,
        message=shortened(message, LONGEST),
        log=log,
    )


def without_log(message: str) -> tuple[str, str]:
    """The text of a condition, and the last lines of the log that stand at its end."""
    text, mark, log = message.partition(LAST_LINES)
    return (text.rstrip(), log.strip("\n")[-LONGEST_LOG:]) if mark else (message, "")


def _brief(kept: Kept, shown: list[Pool]) -> dict[str, Any]:
    if POOLS in kept.unserved:
        return brief("The cluster does not serve MachineConfigPools.", tone="calm")
    if not shown:
        return brief("No pool asks for an image.", tone="calm")
    numbers = {state: sum(1 for each in shown if each.state == state) for state in ("Built", "Building", "Waits")}
    words = {"Built": "built", "Building": "being built", "Waits": "waiting"}
    line = joined(
        [f"images of {counted(len(shown), 'pool')}", *(f"{n} {words[state]}" for state, n in numbers.items() if n)]
    )
    needs = [_need(each) for each in shown if each.tone in ("bad", "warn")]
    return brief(f"{line[:1].upper()}{line[1:]}", needs, tone="busy" if numbers["Building"] else "good")


def _need(found: Pool) -> Need:
    text = ": ".join(filter(None, (f"Pool {found.name}", found.state, found.reason, found.message)))
    return Need(text, found.tone, found.since)
