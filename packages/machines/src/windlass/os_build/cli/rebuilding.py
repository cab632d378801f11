"""Writes the annotation `rebuild` to pools or to their MachineOSConfigs, and waits until their images are built."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSConfig
from windlass.capability.conventions import complaints
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.kube.clock import rfc3339
from windlass.kube.errors import Failure, KubeError, NotFound
from windlass.kube.together import together
from windlass.kube.verbs import Api, PatchType
from windlass.os_build.builder import Cause
from windlass.os_build.cli.look import claims
from windlass.os_build.constants import IMAGE_INPUTS, LAYERING, REBUILD
from windlass.os_build.identity import rebuild_of
from windlass.os_build.overview import Claims, PoolRow, State, current_build, row_of

PERIOD: Final = 2.0
"""Seconds between two looks at a pool that is waited for."""
_CAUSES: Final = frozenset(map(str, Cause))


async def rebuild(settings: Settings, names: Sequence[str], *, wait: bool, within: float | None) -> Exit:
    """`windlass os-build rebuild`. `within`: seconds, None without a limit."""
    async with connect(settings) as client:
        claimed = await claims(client)
        value = rfc3339(datetime.now(UTC))
        asked = {name: await _ask(client, name, claimed, value=value) for name in dict.fromkeys(names)}
        before = {name: row for name, row in asked.items() if row is not None}
        code = Exit.OK if len(before) == len(asked) else Exit.FAILED
        if not wait or not before:
            return code
        try:
            async with asyncio.timeout(within):
                built = await together(_built(client, row, asked=value) for row in before.values())
        except TimeoutError:
            complaints.say(
                "error",
                f"not all images were built after {within:g} s: builds go on if `windlass run os-build` runs; "
                "`windlass os-build list` shows them",
            )
            return Exit.TIMED_OUT
    return code if all(built) else Exit.FAILED


async def _ask(api: Api, name: str, claimed: Claims, *, value: str) -> PoolRow | None:
    """Writes the annotation, and prints what was done; the pool as it was before. None: nothing was written."""
    try:
        row = claimed.row((await api.get(MachineConfigPool, name)).decode())
        if row.state is State.OUT:
            remedy = f"kubectl annotate machineconfigpool {name} {LAYERING}="
            complaints.say("error", f"MachineConfigPool {name} is not opted in, so nothing is built for it: {remedy}")
            return None
        patch = {"metadata": {"annotations": {REBUILD: value}}}
        kind: type[Any] = MachineOSConfig if row.claimed_by else MachineConfigPool
        await api.patch(kind, row.claimed_by or name, patch, type=PatchType.MERGE)
    except NotFound:
        complaints.say("error", f"no MachineConfigPool {name!r}")
        return None
    except KubeError as error:
        complaints.say("error", f"MachineConfigPool {name}: {complaints.explain(error)}")
        return None
    click.echo(f"machineconfigpool/{name}: asked for another build of {row.config}")
    return row


async def _built(api: Api, before: PoolRow, *, asked: str) -> bool:
    """Waits for the end of the build, and prints it."""
    name = before.pool
    while True:
        try:
            pool = (await api.get(MachineConfigPool, name)).decode()
            claimed = await claims(api) if before.claimed_by else Claims()
        except NotFound:
            complaints.say("error", f"MachineConfigPool {name} is gone")
            return False
        except Failure as error:
            if not error.transient:
                raise
        else:
            ended = (
                verdict_of_claim(pool, claimed, asked=asked)
                if before.claimed_by
                else verdict(pool, asked=asked, before=before)
            )
            if ended is not None:
                text, good = ended
                if good:
                    click.echo(f"machineconfigpool/{name}: {text}")
                else:
                    complaints.say("error", f"MachineConfigPool {name}: {text}")
                return good
        await asyncio.sleep(PERIOD)


def verdict(pool: MachineConfigPool, *, asked: str, before: PoolRow) -> tuple[str, bool] | None:
    """How the build that was asked for with this value of the annotation ended, and whether well; None: not yet.

    `before`: the pool before it was asked for.
    """
    now_asked = pool.metadata.annotations.get(REBUILD, "")
    if now_asked != asked:
        return f"the annotation rebuild is now {now_asked!r}: somebody else has changed it, so nobody waits here", False
    row = row_of(pool)
    if row.state is State.OUT:
        return "the pool was opted out", False
    recorded = pool.metadata.annotations.get(IMAGE_INPUTS, "").partition(".")[2]
    if recorded == rebuild_of(asked):
        return f"built {row.image}", True
    # A failure that no build can change is not said again after the request.
    old = before.state is State.FAILED and row.since == before.since and row.reason in _CAUSES
    if row.state is State.FAILED and not old:
        return row.message, False
    return None


def verdict_of_claim(pool: MachineConfigPool, claimed: Claims, *, asked: str) -> tuple[str, bool] | None:
    """The same of a pool that a MachineOSConfig names: its builder moves the annotation to the MachineOSBuild."""
    row = claimed.row(pool)
    if not row.claimed_by:
        return "no MachineOSConfig names the pool any more", False
    config = claimed.configs[row.pool]
    build = (claimed.builds or {}).get(current_build(config))
    if REBUILD in config.metadata.annotations or build is None:
        return None
    if (now_asked := build.metadata.annotations.get(REBUILD, "")) != asked:
        return f"the annotation rebuild is now {now_asked!r}: somebody else has changed it, so nobody waits here", False
    if row.state is State.FAILED:
        return row.message, False
    return (f"built {row.image}", True) if row.state is State.BUILT and row.up_to_date else None
