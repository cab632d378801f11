"""Formats pre-flight checks and results: tables, JSON, and messages on standard error."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windlass.capability.conventions.table import Cell, Column
from windlass.kube.foreign import json_text
from windlass.machine_sync.cli.actors import Acting
from windlass.machine_sync.cli.migrate.migrator import MigrationOutcome, MigrationResult
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.preflight import Answer, Check, PreflightReport, PreflightVerdict

NOTHING = "-"
_NAMED = 3

_ANSWER_COLOURS = {Answer.YES: "green", Answer.NO: "red", Answer.WARNING: "yellow", Answer.UNKNOWN: "yellow"}
_VERDICT_COLOURS = {
    PreflightVerdict.READY: "green",
    PreflightVerdict.REFUSED: "red",
    PreflightVerdict.UNDER_WAY: "yellow",
}
_OUTCOME_COLOURS = {
    MigrationOutcome.MIGRATED: "green",
    MigrationOutcome.REFUSED: "red",
    MigrationOutcome.FAILED: "red",
    MigrationOutcome.TIMED_OUT: "red",
    MigrationOutcome.LEFT: "yellow",
    MigrationOutcome.NOT_BEGUN: "yellow",
}
_SEVERITIES = {Answer.NO: "error", Answer.UNKNOWN: "warning", Answer.WARNING: "warning", Answer.NOTE: "note"}


class Ending(NamedTuple):
    """One object at the end of the command."""

    report: PreflightReport
    result: MigrationResult


def key_of(report: PreflightReport) -> ObjectKey:
    return ObjectKey(report.kind, report.name)


def report_columns() -> list[Column[PreflightReport]]:
    """The pre-flight of `--dry-run`."""
    return [
        Column("NAME", lambda report: Cell(str(report))),
        Column("AUTHORITY", lambda report: Cell(report.authority or NOTHING)),
        Column("PHASE", lambda report: Cell(report.phase or NOTHING)),
        Column("OWNER", lambda report: Cell(report.owner or NOTHING)),
        Column("PAUSED", lambda report: Cell(report.paused or NOTHING)),
        Column("CONVERTIBLE", lambda report: _answer(report, Check.CONVERTIBLE)),
        Column("SYNCHRONIZED", lambda report: _answer(report, Check.SYNCHRONIZED)),
        Column("POLICIES", lambda report: _answer(report, Check.POLICIES)),
        Column("VERDICT", lambda report: Cell(report.verdict, _VERDICT_COLOURS.get(report.verdict))),
    ]


def result_columns() -> list[Column[Ending]]:
    """The outcome of each."""
    return [
        Column("NAME", lambda ending: Cell(str(ending.report))),
        Column("FROM", lambda ending: Cell(ending.report.authority or NOTHING)),
        Column("TO", lambda ending: Cell(ending.report.target)),
        Column("RESULT", lambda ending: Cell(ending.result.outcome, _OUTCOME_COLOURS.get(ending.result.outcome))),
        Column("TOOK", lambda ending: Cell(_seconds(ending.result))),
        Column("REASON", lambda ending: Cell(" ".join(ending.result.reason.split()) or NOTHING)),
    ]


def remarks(reports: Sequence[PreflightReport]) -> list[tuple[str, str]]:
    """All findings with a text, as (severity, text), the worst first. A finding that many objects share appears
    once."""
    shared: dict[tuple[str, str], list[str]] = {}
    for answer, severity in _SEVERITIES.items():
        for report in reports:
            for finding in report.findings:
                if finding.answer is answer and finding.text:
                    shared.setdefault((severity, f"{finding.check}: {finding.text}"), []).append(str(report))
    return [(severity, f"{_some(names)}: {text}") for (severity, text), names in shared.items()]


def summary(reports: Sequence[PreflightReport]) -> str:
    """The number of objects with each verdict."""
    counts = [(sum(report.verdict is verdict for report in reports), verdict) for verdict in PreflightVerdict]
    return ", ".join(f"{count} {verdict}" for count, verdict in counts if count)


def as_json(
    reports: Sequence[PreflightReport],
    results: Mapping[ObjectKey, MigrationResult],
    *,
    target: str,
    dry_run: bool,
    acting: Acting,
) -> str:
    """The one object of `-o json`. `results` is empty in a dry run."""
    whole = {
        "target": target,
        "dryRun": dry_run,
        "controller": acting.who,
        "items": [_item(report, results.get(key_of(report))) for report in reports],
    }
    return json_text(whole, indent=2)


def _item(report: PreflightReport, result: MigrationResult | None) -> dict[str, Any]:
    return {
        "kind": report.kind.RESOURCE.kind,
        "name": report.name,
        "authority": report.authority,
        "desiredAuthority": report.desired,
        "phase": report.phase,
        "owner": report.owner,
        "paused": report.paused,
        "verdict": report.verdict,
        "checks": {str(check): answer for check in Check if (answer := report.answer(check)) is not None},
        "findings": [
            {"check": finding.check, "answer": finding.answer, "text": finding.text}
            for finding in report.findings
            if finding.text
        ],
        "result": None
        if result is None
        else {"outcome": result.outcome, "reason": result.reason, "seconds": _rounded(result)},
    }


def _answer(report: PreflightReport, check: Check) -> Cell:
    answer = report.answer(check)
    return Cell(answer or NOTHING, _ANSWER_COLOURS.get(answer) if answer else None)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _seconds(result: MigrationResult) -> str:
    return NOTHING if result.seconds is None else f"{result.seconds:.1f}s"


def _rounded(result: MigrationResult) -> float | None:
    return None if result.seconds is None else round(result.seconds, 3)
