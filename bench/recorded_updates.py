"""Replays recordings of real clusters look by look: what is told of their ends, and what would be if they were updates.

A recording is a JSON object of moments, each a List of what `windlass status --from` reads, packed with xz. They lie
beside the checkout, in `../shared/fixtures/update_recordings`, and are installations: no public recording of an update
is known. Seen as an update, an installation is harder than any: all operators begin at once, and are unavailable for
most of the time.
"""

import io
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from windlass.api.config import UpdateHistory
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading import Reading
from windlass.update_status.reading.dump import read_dump
from windlass.update_status.report import Estimate
from windlass.update_status.times import Moment, moment

FOLDER = Path(__file__).parents[2] / "shared" / "fixtures" / "update_recordings"
BEFORE = UpdateHistory(
    version="4.0.0",
    state="Completed",
    image="",
    started_time="2020-01-01T00:00:00Z",
    completion_time="2020-01-01T01:00:00Z",
)
"""Makes an update of an installation."""


class Look(Struct, frozen=True):
    """One look before the end: the end that was told, None if none was, and the real one."""

    now: Moment
    told: Estimate | None
    end: Moment

    @property
    def inside(self) -> bool:
        return self.told is not None and self.told.earliest <= self.end <= self.told.latest

    @property
    def early(self) -> bool:
        """The latest end that was told is before the real one."""
        return self.told is not None and self.told.latest < self.end


def recordings() -> list[Path]:
    return sorted(FOLDER.glob("*.json.xz"))


def looks(path: Path, *, as_update: bool) -> list[Look]:
    """All looks before the control plane was done."""
    readings = list(_readings(json.loads(lzma.decompress(path.read_bytes()))))
    done = readings[-1].sources.cluster_version.status.history[0].completion_time
    end = moment(done)
    found = []
    for reading in readings:
        if reading.now < end:
            sources = reading.sources
            if as_update:
                version = sources.cluster_version
                status = structs.replace(version.status, history=[*version.status.history, BEFORE])
                sources = structs.replace(sources, cluster_version=structs.replace(version, status=status))
            report = assess(sources, now=reading.now)
            found.append(Look(reading.now, report.control_plane.expected, end))
    return found


def _readings(recording: dict[str, Any]) -> Iterator[Reading]:
    for name in sorted(recording):
        try:
            yield read_dump(["-"], stdin=io.BytesIO(json.dumps(recording[name]).encode()), wall=0)
        except Problem:
            continue  # the cluster has no ClusterVersion yet
