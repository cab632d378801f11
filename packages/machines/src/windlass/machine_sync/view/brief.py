"""What the first page says of machines in both APIs: how many there are, and which are not in sync. Pure."""

from collections.abc import Collection
from typing import Any

from windlass.machine_sync.overview import KINDS, AnyRow
from windlass.web.brief import Need, brief, counted, joined


def in_short(rows: Collection[AnyRow]) -> dict[str, Any]:
    """The part for the first page."""
    if not rows:
        return brief("There are no machines in either API.", tone="calm")
    totals = [counted(sum(1 for row in rows if row.kind == kind.name), *kind.words) for kind in KINDS]
    stray = [row for row in rows if row.unsynced]
    said = f"{len(stray)} not known to be in sync" if stray else "all in sync"
    return brief(joined([*totals, said]), map(_need, stray))


def _need(row: AnyRow) -> Need:
    said = row.synchronized
    if said is None or said.status == "True":
        return Need(f"{row.kind} {row.name}: not in sync yet", "warn", said.since if said else None)
    text = ": ".join(filter(None, (f"{row.kind} {row.name}", "not in sync", said.reason, said.message)))
    return Need(text, "bad" if said.status == "False" else "warn", said.since)
