"""Releases objects, if no controller runs that would add the finalizers again, and reports what stays paused.

`windlass.machine_sync.release` decides the writes; this module reads, writes and reports. Writes are conditional on
what was read; after a conflict the object is read again.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from windlass.api.coordination import Lease
from windlass.api.meta import KubernetesObject
from windlass.capability.conventions import complaints, terminal
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.kube.client import Client
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Delete, Merge
from windlass.kube.errors import Conflict, Failure, KubeError, NotFound, NotServed
from windlass.kube.process.lease import held
from windlass.kube.together import together
from windlass.machine_sync import release as rules
from windlass.machine_sync.cli.selection import Selection
from windlass.machine_sync.constants import LEASE_NAME, Namespaces
from windlass.machine_sync.holder import held_by
from windlass.machine_sync.release import FAMILIES, Family, Holder, Mirrored

ATTEMPTS = 5
"""The number of attempts for one machine or MachineSet when others write the same objects."""

_HALFWAY = (
    "it is Migrating, so neither side acts on it, and without Machine sync neither would: run Machine sync until the "
    "migration is complete (or --force)"
)

AT_ONCE = 16
"""Machines released at the same time; a cluster has thousands, and a request takes milliseconds."""


class ReleaseRequest(NamedTuple):
    """The Machines and MachineSets (none named: all that have our finalizer or annotations), and how to release
    them."""

    selection: Selection
    dry_run: bool
    ask: bool
    force: bool


class Released(NamedTuple):
    """The outcome for one machine or MachineSet.

    `holders` are its objects: those that were `changed` as they were before, all others as they are now.
    """

    holders: Sequence[Holder]
    changed: Sequence[Holder]
    gone: Sequence[Holder]
    error: Failure | None = None


async def release(settings: Settings, places: Namespaces, request: ReleaseRequest) -> Exit:
    """`windlass release`. Raises KubeErrors of reading; those of writing one machine do not stop the others."""
    async with connect(settings) as client:
        there = await observe(client, places)
        selected = _select(there, request.selection)
        halfway = [] if request.force else [one for one in selected if one.halfway]
        for one in halfway:
            complaints.say("error", f"{one}: {_HALFWAY}")
        chosen = [one for one in selected if one not in halfway]
        missing = request.selection.missing(there)
        for what in missing:
            complaints.say("error", f"no {what} in {places.machine_api} or {places.cluster_api}")
        if not chosen:
            if not (missing or halfway):
                click.echo(f"Nothing to release in {places.machine_api} or {places.cluster_api}.", err=True)
            return Exit.FAILED if missing or halfway else Exit.OK
        if not request.dry_run and not await _may_go_ahead(client, places, chosen, request):
            return Exit.FAILED
        results = await _release_all(client, chosen, dry_run=request.dry_run)
    for result in results:
        _print(result, dry_run=request.dry_run)
    _advise([stay for result in results for stay in rules.stays(result.holders)])
    return Exit.FAILED if missing or halfway or any(result.error for result in results) else Exit.OK


async def observe(client: Client, places: Namespaces) -> list[Mirrored]:
    """All Machines on either side, then all MachineSets. Kinds that are not served have none."""
    families = await together(_observe(client, family, places) for family in FAMILIES)
    return [mirrored for family in families for mirrored in family]


async def _observe(client: Client, family: Family, places: Namespaces) -> list[Mirrored]:
    machine_api, cluster_api, *infra = await together(
        [
            _list(client, family.machine_api, places.machine_api),
            _list(client, family.cluster_api, places.cluster_api),
            *(_list(client.metadata, kind, places.cluster_api) for kind in family.infra),
        ]
    )
    return rules.group(family, machine_api, cluster_api, [found for kind in infra for found in kind])


async def _list(reader: Any, kind: type[KubernetesObject], namespace: str) -> list[Holder]:
    try:
        listed = await reader.list(kind, namespace=namespace)
    except NotServed:
        return []
    return [rules.holder(item) for item in listed.items]


def _select(there: Sequence[Mirrored], selection: Selection) -> list[Mirrored]:
    """The objects that are named, or else all that have our finalizer or annotations."""
    return [one for one in there if (selection.names(one) if selection.wanted else one.held)]


async def _may_go_ahead(
    client: Client, places: Namespaces, chosen: Sequence[Mirrored], request: ReleaseRequest
) -> bool:
    if not request.force and (why := await _running_controller(client, places)):
        complaints.say("error", f"{why}: it would put the finalizers back; stop it first (or --force)")
        return False
    if request.ask and not terminal.agreed(_question(chosen)):
        click.echo("Nothing was changed.", err=True)
        return False
    return True


def _question(chosen: Sequence[Mirrored]) -> str:
    objects = sum(found.held for one in chosen for found in one.holders)
    counts = [(sum(one.kind == family.name for one in chosen), family.name) for family in FAMILIES]
    of = " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in counts if count)
    return f"Release {objects} objects of {of}?"


async def _running_controller(client: Client, places: Namespaces) -> str:
    """The running controller that would add the finalizers again, or ""."""
    try:
        lease = (await client.get(Lease, LEASE_NAME, namespace=places.cluster_api)).decode()
        if not (who := held_by(lease)):
            return ""
        click.echo(f"Checking whether the holder of Lease {places.cluster_api}/{LEASE_NAME} is alive ...", err=True)
        return f"{who} is running" if await held(client, LEASE_NAME, namespace=places.cluster_api) else ""
    except NotFound:
        return ""
    except KubeError as error:
        return f"cannot tell whether Machine sync is running ({complaints.explain(error)})"


async def _release_all(client: Client, chosen: Sequence[Mirrored], *, dry_run: bool) -> list[Released]:
    executor, turn = Executor(client), asyncio.Semaphore(AT_ONCE)

    async def one(holders: Sequence[Holder]) -> Released:
        if dry_run:
            return Released(holders, [found for found in holders if found.held], [])
        async with turn:
            return await let_go(client, executor, holders)

    return await together(one(mirrored.holders) for mirrored in chosen)


async def let_go(client: Client, executor: Executor, holders: Sequence[Holder]) -> Released:
    """Release the objects of one machine or MachineSet. If others changed or deleted some in between, they are read
    again."""
    changed: list[Holder] = []
    gone: list[Holder] = []
    orphaned: set[str] = set()
    error: Failure | None = None
    for _ in range(ATTEMPTS):
        outcome = await executor.apply(rules.plan(holders, orphaned=orphaned))
        made = [result.action for result in outcome.results if result.error is None]
        orphaned |= {action.target.uid for action in made if isinstance(action, Delete)}
        done = {action.target.uid for action in made if isinstance(action, Merge)}
        changed += [found for found in holders if found.meta.uid in done]
        error = outcome.error
        if not isinstance(error, Conflict | NotFound):
            break
        fresh = [(found, await _again(client, found)) for found in holders]
        gone += [found for found, now in fresh if now is None]
        holders = [now for _, now in fresh if now is not None]
    return Released(holders, changed, gone, error)


async def _again(client: Client, found: Holder) -> Holder | None:
    try:
        return rules.holder(await client.get(found.kind, found.meta.name, namespace=found.meta.namespace))
    except NotFound:
        return None


def _print(result: Released, *, dry_run: bool) -> None:
    changed = {found.meta.uid: found for found in result.changed}
    for found in rules.reading_order([*result.holders, *result.gone]):
        if before := changed.get(found.meta.uid):
            became = f"{'would be released' if dry_run else 'released'} ({_what(before)})"
        elif found in result.gone:
            became = "gone"
        else:
            became = f"not released ({_what(found)})" if found.held else "nothing to release"
        paused = [stay.why for stay in rules.stays(result.holders) if stay.holder is found]
        stays = f"; stays paused: {paused[0]}" if paused else ""
        click.echo(f"{found} -n {found.meta.namespace}: {became}{stays}")
    if result.error is not None:
        complaints.say("error", complaints.explain(result.error))


def _what(found: Holder) -> str:
    """Our finalizer and annotations on it, without their common prefix: finalizer, authoritative-api, ... ..."""
    return ", ".join(name.rpartition("/")[2] for name in found.ours)


def _advise(stays: Sequence[rules.Stay]) -> None:
    """Each piece of advice once, with the number of its objects."""
    by_advice: dict[str, int] = {}
    for stay in stays:
        by_advice[stay.advice] = by_advice.get(stay.advice, 0) + 1
    for advice, count in by_advice.items():
        objects = "1 object stays" if count == 1 else f"{count} objects stay"
        complaints.say("note", f"{objects} paused: {advice}")
