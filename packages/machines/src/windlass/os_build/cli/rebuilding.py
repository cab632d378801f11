"""Writes the annotation `rebuild` to pools, and waits until their images are built."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click

from windlass.api.machineconfiguration import MachineConfigPool
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
from windlass.os_build.overview import PoolRow, State, row_of

PERIOD: Final = 2.0
"""Seconds between two looks at a pool that is waited for."""
_CAUSES: Final = frozenset(map(str, Cause))


async def rebuild(settings: Settings, names: Sequence[str], *, wait: bool, within: float | None) -> Exit:
    """`windlass os-build rebuild`. `within`: seconds, None without a limit."""
    async with connect(settings) as client:
        claimed = await claims(client)
        value = rfc3339(datetime.now(UTC))
        asked = {name: await _ask(client, name, claimed.get(name, ""), value=value) for name in dict.fromkeys(names)}
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


async def _ask(api: Api, name: str, claimed: str, *, value: str) -> PoolRow | None:
    """Writes the annotation, and prints what was done; the pool as it was before. None: nothing was written."""
    try:
        row = row_of((await api.get(MachineConfigPool, name)).decode(), claimed=claimed)
        if refusal := _refusal(row, claimed):
            complaints.say("error", refusal)
            return None
        patch = {"metadata": {"annotations": {REBUILD: value}}}
        await api.patch(MachineConfigPool, name, patch, type=PatchType.MERGE)
    except NotFound:
        complaints.say("error", f"no MachineConfigPool {name!r}")
        return None
    except KubeError as error:
        complaints.say("error", f"MachineConfigPool {name}: {complaints.explain(error)}")
        return None
    click.echo(f"machineconfigpool/{name}: asked for another build of {row.config}")
    return row


def _refusal(row: PoolRow, claimed: str) -> str:
    """Why a request would have no effect, with the remedy; empty if it has one."""
    name = row.pool
    if row.state is State.CLAIMED:
        remedy = f"kubectl annotate machineosconfig {claimed} {REBUILD}="
        return f"MachineConfigPool {name}: MachineOSConfig {claimed} names it, so its builder rebuilds it: {remedy}"
    if row.state is State.OUT:
        remedy = f"kubectl annotate machineconfigpool {name} {LAYERING}="
        return f"MachineConfigPool {name} is not opted in, so nothing is built for it: {remedy}"
    return ""


async def _built(api: Api, before: PoolRow, *, asked: str) -> bool:
    """Waits for the end of the build, and prints it."""
    name = before.pool
    while True:
        try:
            pool = (await api.get(MachineConfigPool, name)).decode()
        except NotFound:
            complaints.say("error", f"MachineConfigPool {name} is gone")
            return False
        except Failure as error:
            if not error.transient:
                raise
        else:
            if (ended := verdict(pool, asked=asked, before=before)) is not None:
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
