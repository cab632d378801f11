"""`windlass migrate` from beginning to end: select, check, report obstacles, migrate, report results."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn

import click

from windlass.api import mapi
from windlass.capability.conventions import complaints, terminal
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.table import Table
from windlass.kube.cache.reflector import Reflector
from windlass.kube.client import Client
from windlass.kube.control.reader import CacheReader
from windlass.kube.process import logs
from windlass.kube.process.colour import colourful
from windlass.kube.together import both, together
from windlass.machine_sync.cli.actors import who_acts
from windlass.machine_sync.cli.migrate import selection, view
from windlass.machine_sync.cli.migrate.last_seen import Following, LastSeen
from windlass.machine_sync.cli.migrate.look import Lists, Looker, try_out
from windlass.machine_sync.cli.migrate.migrator import MigrationOutcome, MigrationResult, Migrator
from windlass.machine_sync.cli.migrate.progress import ProgressView, progress_view
from windlass.machine_sync.cli.migrate.selection import KINDS, ObjectKey
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.preflight import Answer, PreflightReport, PreflightVerdict, preflight
from windlass.machine_sync.preflight.report import SIDE, Kind

MANY = 20
"""From this number of objects on, listing whole kinds is cheaper than getting each object that they refer to."""

AT_ONCE = 16
"""Objects that are read at the same time."""

TROUBLE_AFTER = 2.0
"""Seconds between checks of the watches."""

_AT_REST = {PreflightVerdict.THERE: MigrationOutcome.THERE, PreflightVerdict.REFUSED: MigrationOutcome.REFUSED}


class MigrateRequest(NamedTuple):
    """What to move, where to (`target`), and how. `timeout` in seconds, None means no limit.

    Nothing `wanted`: all objects with the labels of `selector`. `with_machines`: with each MachineSet, the Machines
    that it owns.
    """

    wanted: tuple[str, ...]
    target: str
    selector: str = ""
    with_machines: bool = False
    dry_run: bool = False
    wait: bool = True
    timeout: float | None = None
    in_flight: int = 5
    keep_going: bool = False
    ask: bool = False
    form: str = "table"


async def migrate(settings: Settings, places: Namespaces, request: MigrateRequest) -> Exit:
    """`windlass migrate`. Raises KubeErrors of reading; those of moving one object are its result."""
    # We report problems of the watches ourselves.
    logs.configure(level=settings.log_level or "error", format="console")
    async with connect(settings) as client:
        keys = await _select(client, places, request)
        acting, reports = await both(
            who_acts(client, places, now=datetime.now(UTC)), preflights(client, places, keys, request=request)
        )
        if keys:
            _remark(reports, doubt=acting.doubt)
        else:
            labelled = f" with the labels {request.selector}" if request.selector else ""
            click.echo(f"No Machines or MachineSets{labelled} found in {places.machine_api}.", err=True)
        results: dict[ObjectKey, MigrationResult] = {}
        interrupted = False
        if not request.dry_run:
            moving = _in_order(reports)
            if moving and request.ask and not _agreed(moving, request.target):
                return Exit.FAILED
            results = {view.key_of(report): _at_rest(report) for report in reports if report.verdict in _AT_REST}
            moved, interrupted = await move(client, places, moving, request=request)
            results |= moved
    if request.form == "json":
        click.echo(view.as_json(reports, results, target=request.target, dry_run=request.dry_run, acting=acting))
    elif reports:
        _print(reports, results)
    return exit_code(reports, results, interrupted=interrupted)


def _in_order(reports: Sequence[PreflightReport]) -> list[ObjectKey]:
    """The objects to move. Those of an earlier run come first: they are under way until they have arrived."""
    return [
        view.key_of(report)
        for verdict in (PreflightVerdict.UNDER_WAY, PreflightVerdict.READY)
        for report in reports
        if report.verdict is verdict
    ]


async def _select(client: Client, places: Namespaces, request: MigrateRequest) -> list[ObjectKey]:
    if request.wanted:
        chosen = await _named(client, places, request)
    else:
        chosen = await selection.every(client, places, labels=request.selector)
    if request.with_machines:
        return await selection.with_machines(client, places, chosen)
    return chosen


async def _named(client: Client, places: Namespaces, request: MigrateRequest) -> list[ObjectKey]:
    words = [selection.parse(text) for text in request.wanted]
    looker = Looker(CacheReader(client), places=places, target=request.target)
    bare = list(dict.fromkeys(selection.bare(words)))
    found = await together(map(looker.machine_api, bare))
    return selection.resolve(words, dict(zip(bare, found, strict=True)))


async def preflights(
    client: Client, places: Namespaces, keys: Sequence[ObjectKey], *, request: MigrateRequest
) -> list[PreflightReport]:
    """The pre-flight of each, with a dry run of the change."""
    reader = Lists(client) if len(keys) > MANY else CacheReader(client)
    looker = Looker(reader, places=places, target=request.target, together=keys)
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(key: ObjectKey) -> PreflightReport:
        async with turn:
            return preflight(await try_out(client, await looker(key)))

    return await together(map(one, keys))


async def move(
    client: Client, places: Namespaces, keys: Sequence[ObjectKey], *, request: MigrateRequest
) -> tuple[dict[ObjectKey, MigrationResult], bool]:
    """The outcome of each, and whether the user interrupted."""
    if not keys:
        return {}, False
    last_seen = LastSeen()
    looker = Looker(CacheReader(client), places=places, target=request.target)
    with progress_view(len(keys)) as tell:
        migrator = Migrator(
            client, looker, last_seen, target=request.target, limit=request.timeout, wait=request.wait, tell=tell
        )
        waves = Waves(migrator, migrator.where, size=request.in_flight, keep_going=request.keep_going, tell=tell)
        followed = (
            _following(client, last_seen, places, keys=keys, tell=tell) if request.wait else contextlib.nullcontext()
        )
        async with followed:
            with _interrupts(waves.interrupt):
                return await waves.run(keys), waves.interrupted


@contextlib.asynccontextmanager
async def _following(
    client: Client, last_seen: LastSeen, places: Namespaces, *, keys: Sequence[ObjectKey], tell: ProgressView
) -> AsyncIterator[None]:
    """While the block lasts, `last_seen` gets every change of the kinds of `keys`."""
    reflectors = []
    for kind in KINDS:
        names = [key.name for key in keys if key.kind is kind]
        if names:
            selector = f"metadata.name={names[0]}" if len(names) == 1 else ""
            sink = Following(last_seen, kind)
            reflectors.append(_reflector(client, kind, sink, places=places, selector=selector))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(reflector.run()) for reflector in reflectors]
        running.append(tasks.create_task(_tell_troubles(reflectors, tell)))
        try:
            yield
        finally:
            for task in running:
                task.cancel()


def _reflector(client: Client, kind: Kind, sink: Following, *, places: Namespaces, selector: str) -> Reflector[Any]:
    return Reflector(client, kind, sink, namespace=places.machine_api, field_selector=selector)


async def _tell_troubles(reflectors: Sequence[Reflector[Any]], tell: ProgressView) -> NoReturn:
    told = ""
    while True:
        await asyncio.sleep(TROUBLE_AFTER)
        trouble = next(filter(None, (reflector.pulse.failing for reflector in reflectors)), "")
        if trouble and not told:
            tell.say(f"changes cannot be watched now; trying again: {trouble}")
        elif told and not trouble:
            tell.say("changes are watched again")
        told = trouble


@contextlib.contextmanager
def _interrupts(call: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls `call` while the block lasts."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, call)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _agreed(moving: Sequence[ObjectKey], target: str) -> bool:
    count = f"{len(moving)} object{'' if len(moving) == 1 else 's'}"
    if terminal.agreed(f"Move authority over {count} to {SIDE[target]}?"):
        return True
    click.echo("Nothing was changed.", err=True)
    return False


def _remark(reports: Sequence[PreflightReport], *, doubt: str) -> None:
    for severity, text in view.remarks(reports):
        complaints.say(severity, text)
    if all(report.kind is mapi.MachineSet for report in reports):
        complaints.say("note", "the machines of a MachineSet keep their authority: --with-machines moves them, too")
    if doubt:
        complaints.say("note", doubt)
    complaints.say("info", view.summary(reports))


def _at_rest(report: PreflightReport) -> MigrationResult:
    """The outcome of an object that is not moved. The first reason is the cause; all of them were printed before."""
    reasons = [finding.text for finding in report.findings if finding.answer is Answer.NO]
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return MigrationResult(_AT_REST[report.verdict], f"{reasons[0]}{more}" if reasons else "")


def _print(reports: Sequence[PreflightReport], results: Mapping[ObjectKey, MigrationResult]) -> None:
    colour = colourful(sys.stdout)
    if results:
        endings = [view.Ending(report, results[view.key_of(report)]) for report in reports]
        lines = Table(view.result_columns(), colour=colour).lines(endings)
    else:
        lines = Table(view.report_columns(), colour=colour).lines(reports)
    click.echo("\n".join(lines))


def exit_code(
    reports: Sequence[PreflightReport], results: Mapping[ObjectKey, MigrationResult], *, interrupted: bool
) -> Exit:
    """The exit code: that of the worst outcome."""
    outcomes = {result.outcome for result in results.values()}
    if interrupted:
        return Exit.INTERRUPTED
    if MigrationOutcome.TIMED_OUT in outcomes:
        return Exit.TIMED_OUT
    if outcomes & {MigrationOutcome.FAILED, MigrationOutcome.LEFT, MigrationOutcome.NOT_BEGUN}:
        return Exit.FAILED
    if any(report.verdict is PreflightVerdict.REFUSED for report in reports):
        return Exit.REFUSED
    return Exit.OK


# Migrates a few objects at a time: a wave starts when all objects of the one before have finished.
#
# | what happens | the wave under way | the next ones |
# |---|---|---|
# | one fails or takes too long | continues | do not start, unless `keep_going` |
# | Ctrl-C | continues | do not start |
# | Ctrl-C again | is left to Machine sync | |

_FAILURES = (MigrationOutcome.FAILED, MigrationOutcome.TIMED_OUT)


class Waves:
    """Migrates `size` objects at a time with `migrator`. `where` says how far an object is that was left under way."""

    def __init__(
        self,
        migrator: Callable[[ObjectKey], Awaitable[MigrationResult]],
        where: Callable[[ObjectKey], str],
        *,
        size: int,
        keep_going: bool,
        tell: ProgressView,
    ) -> None:
        self._migrator = migrator
        self._where = where
        self._size = size
        self._keep_going = keep_going
        self._tell = tell
        self._moving: dict[ObjectKey, asyncio.Task[MigrationResult]] = {}
        self._failed = ""
        self.interrupted = False

    async def run(self, keys: Sequence[ObjectKey]) -> dict[ObjectKey, MigrationResult]:
        """The result of each."""
        results: dict[ObjectKey, MigrationResult] = {}
        for wave in _split(keys, self._size):
            if self.interrupted or (self._failed and not self._keep_going):
                why = "interrupted" if self.interrupted else f"{self._failed} failed; --keep-going continues"
                results |= {key: MigrationResult(MigrationOutcome.NOT_BEGUN, why) for key in wave}
                continue
            results |= await self._run(wave)
        return results

    def interrupt(self) -> None:
        """Once: start no more objects. Twice: leave those in progress."""
        under_way = [key for key, task in self._moving.items() if not task.done()]
        if self.interrupted:
            for key in under_way:
                self._moving[key].cancel()
            return
        self.interrupted = True
        self._tell.say(
            f"interrupted: no more objects are started; waiting for {len(under_way)} in progress "
            "(press Ctrl-C again to leave them to Machine sync)"
        )

    async def _run(self, wave: Sequence[ObjectKey]) -> dict[ObjectKey, MigrationResult]:
        self._moving = {key: asyncio.create_task(_as_task(self._migrator(key))) for key in wave}
        await asyncio.wait(self._moving.values())
        results = {}
        for key, task in self._moving.items():
            if task.cancelled():
                results[key] = MigrationResult(MigrationOutcome.LEFT, self._where(key))
                self._tell.finish(key, "warning", f"{MigrationOutcome.LEFT}: {self._where(key)}")
            else:
                results[key] = task.result()
            if not self._failed and results[key].outcome in _FAILURES:
                self._failed = str(key)
        return results


async def _as_task(result: Awaitable[MigrationResult]) -> MigrationResult:
    return await result


def _split(keys: Sequence[ObjectKey], size: int) -> Iterator[Sequence[ObjectKey]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]
