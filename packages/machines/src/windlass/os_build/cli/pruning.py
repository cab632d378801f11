"""Removes images by the rule of the controller, once, and prints what becomes of each."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import click

from windlass.capability.conventions import complaints
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings as CommandSettings
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.capability.planning import ClusterListing
from windlass.capability.planning.decider import about_first_watch, add_indexes
from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Call, Outcome, Plan
from windlass.kube.control.seen import Present
from windlass.kube.control.source import Mailbox
from windlass.kube.process.colour import colourful
from windlass.kube.verbs import Api
from windlass.os_build.backends.every import backends_of
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.cli.look import claims
from windlass.os_build.cli.look import pools as all_pools
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.overview import State
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.registry import Registry
from windlass.os_build.retention.contents import SYSTEM, ImagesCarrier
from windlass.os_build.retention.controller import images_controller
from windlass.os_build.retention.decide import Finding, ImagesSnapshot, finding, forgotten, removals
from windlass.os_build.retention.rule import Fate, Verdict

_SHOWN: Final = {Fate.GOES: "red", Fate.UNKNOWN: "yellow"}
_DIGITS: Final = 12


class PruneRequest(NamedTuple):
    """The pools (none named: all that have images), and how many unused images of each stay."""

    pools: tuple[str, ...]
    keep: int
    dry_run: bool = False
    insecure: tuple[str, ...] = ()
    registry_ca: Path | None = None


class Row(NamedTuple):
    """An image. `fate`: what was done, or would be."""

    pool: str
    verdict: Verdict
    fate: str


async def prune(settings: CommandSettings, request: PruneRequest) -> Exit:
    """`windlass os-build prune`. Raises KubeErrors."""
    async with connect(settings) as client, Registry(insecure=request.insecure) as registry:
        found, claimed = await all_pools(client), await claims(client)
        rows = [claimed.row(each.object) for each in found]
        known = {row.pool for row in rows}
        wanted = request.pools or tuple(row.pool for row in rows if row.state is not State.OUT)
        failed = False
        for name in sorted({*wanted} - known):
            complaints.say("error", f"no MachineConfigPool {name!r}")
            failed = True
        carrier = ImagesCarrier(registry)
        pruning = await Pruning.read(client, carrier, request)
        table = Table[Row](_COLUMNS, colour=colourful(sys.stdout))
        headings = True
        for name in wanted:
            if name not in known:
                continue
            shown, good = await pruning.pool(name)
            failed |= not good
            for line in table.lines(shown, headings=headings and bool(shown)):
                click.echo(line)
            headings = headings and not shown
        if headings:
            click.echo("There are no images of these pools to look at.", err=True)
    return Exit.FAILED if failed else Exit.OK


class Pruning:
    """The controller's view of a cluster, and what is carried out."""

    def __init__(
        self,
        api: Api,
        listing: ClusterListing,
        controller: Controller[str, ImagesSnapshot],
        settings: Settings,
        carrier: ImagesCarrier,
        *,
        dry_run: bool,
    ) -> None:
        self._controller = controller
        self._settings = settings
        self._carrier = carrier
        self._dry_run = dry_run
        self._executor = Executor(api, systems={SYSTEM: carrier})

    @classmethod
    async def read(cls, api: Api, carrier: ImagesCarrier, request: PruneRequest) -> "Pruning":
        """Lists what the controller watches. Raises KubeErrors."""
        listing = ClusterListing(api)
        # Local builds of a controller are on its machine, and not seen from here.
        local = LocalBackend(Builds(Path()), Mailbox())
        backends = backends_of(listing, namespace=NAMESPACE, local=local)
        settings = Settings(keep_images=request.keep, machine_os_configs=True, registry_ca=request.registry_ca)
        controller = images_controller(listing, backends, carrier, settings=settings)
        decider = about_first_watch(controller)
        await listing.take([decider])
        add_indexes([decider], listing)
        return cls(api, listing, controller, settings, carrier, dry_run=request.dry_run)

    async def pool(self, name: str) -> tuple[list[Row], bool]:
        """The images of a pool with what has become of them, and whether all was done."""
        seen, found, calls = await self._judged(name)
        if found.why:
            complaints.say("error", f"MachineConfigPool {name}: {found.why}")
            return [], False
        if self._dry_run:
            return [Row(name, each, f"would {_WOULD[each.fate]}") for each in found.verdicts], True
        outcome = await self._executor.apply(Plan(tuple(calls)))
        gone = {result.action.request.digest for result in outcome.results if result.answer is True}  # type: ignore[attr-defined]
        if refused := self._carrier.unwilling(
            target=str(found.request.target) if found.request else "", versions=found.versions
        ):
            complaints.say("error", f"MachineConfigPool {name}: {refused}")
        if error := outcome.error:
            complaints.say("error", f"MachineConfigPool {name}: {error}")
        missing = {each.digest for each in found.verdicts if each.fate is Fate.GONE}
        assert isinstance(seen.pool, Present)
        left = await self._executor.apply(Plan(tuple(forgotten(seen, seen.pool, gone | missing))))
        if left.error:
            complaints.say("error", f"MachineConfigPool {name}: its record could not be changed: {left.error}")
        rows = [Row(name, each, "removed" if each.digest in gone else _IS[each.fate]) for each in found.verdicts]
        return rows, not refused and not outcome.error and not left.error

    async def _judged(self, name: str) -> tuple[ImagesSnapshot, Finding, list[Call]]:
        found: list[tuple[ImagesSnapshot, Finding, list[Call]]] = []

        def decide(seen: ImagesSnapshot) -> Plan:
            pool = seen.pool
            if not isinstance(pool, Present):
                found.append((seen, Finding(why="it is gone, or cannot be read"), []))
                return Plan()
            result = finding(seen, pool, settings=self._settings)
            found.append((seen, result, [] if result.why else removals(seen, pool, result)))
            return Plan()

        inquiry = self._controller.asker(now=lambda: datetime.now(UTC)).inquiry(name)
        await inquiry.decide(await self._controller.observe(name, Outcome()), decide)
        return found[-1]


_WOULD: Final[Mapping[Fate, str]] = {
    Fate.STAYS: "stay",
    Fate.UNKNOWN: "stay",
    Fate.GONE: "be forgotten",
    Fate.GOES: "go",
}
_IS: Final[Mapping[Fate, str]] = {
    Fate.STAYS: "stays",
    Fate.UNKNOWN: "stays",
    Fate.GONE: "forgotten",
    Fate.GOES: "stays",
}
_COLUMNS: Final[list[Column[Row]]] = [
    Column("POOL", lambda row: Cell(row.pool)),
    Column("IMAGE", lambda row: Cell(row.verdict.digest.partition(":")[2][:_DIGITS])),
    Column("CONFIG", lambda row: Cell(row.verdict.records[0].config or "-")),
    Column("BUILT", lambda row: Cell(row.verdict.records[0].built or "-")),
    Column("FATE", lambda row: Cell(row.fate, _SHOWN.get(row.verdict.fate))),
    Column("WHY", lambda row: Cell(row.verdict.why)),
]
