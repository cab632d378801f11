"""Reads a cluster or files, and makes the report."""

from enum import Enum, auto
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from windlass.capability.conventions.settings import Settings
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading import Reading
from windlass.update_status.report import Report
from windlass.update_status.times import Moment

if TYPE_CHECKING:
    from windlass.kube.client import Client


class Origin(Enum):
    """Where the report comes from: the UpdateStatus if its controller lives, else what it is made from; or only one."""

    BEST = auto()
    OBJECT = auto()
    CLUSTER = auto()


class StatusInspection(Struct, frozen=True):
    """A report, and the moment that it is of.

    settled  the cluster has taken notice of the last request to update
    note     why the UpdateStatus was not relied on, or may be out of date; or ""
    """

    report: Report
    now: Moment
    settled: bool = True
    note: str = ""


def of(reading: Reading) -> StatusInspection:
    """The report of a reading. Raises Problem."""
    report = assess(reading.sources, now=reading.now, wall=reading.wall)
    version = reading.sources.cluster_version
    return StatusInspection(report, reading.now, version.metadata.generation == version.status.observed_generation)


async def of_cluster(settings: Settings, *, steps: bool, origin: Origin) -> StatusInspection:
    """The report of the cluster that the options name. Raises Problem and KubeErrors."""
    from windlass.capability.conventions.connection import connect
    from windlass.update_status.reading.thanos import USER_AGENT

    async with connect(settings, user_agent=USER_AGENT) as client:
        return await of_client(client, settings, steps=steps, origin=origin)


async def of_client(client: "Client", settings: Settings, *, steps: bool, origin: Origin) -> StatusInspection:
    """The same, with a client that is kept."""
    if origin is Origin.CLUSTER:
        return await _of_sources(client, settings, steps=steps)
    from windlass.update_status.reading.kept import NotKept, read_kept, read_object, why_silent
    from windlass.update_status.reading.live import server_moments

    clock = server_moments(client)
    try:
        if origin is Origin.OBJECT:
            report, note = await read_object(client, clock=clock), await why_silent(client, clock=clock)
            return StatusInspection(report, clock(), note=note)
        return StatusInspection(await read_kept(client, clock=clock), clock())
    except NotKept as why:
        if origin is Origin.OBJECT:
            raise Problem(str(why)) from None
        seen = await _of_sources(client, settings, steps=steps)
        return structs.replace(seen, note=f"{why}: read from the cluster itself")


async def _of_sources(client: "Client", settings: Settings, *, steps: bool) -> StatusInspection:
    from windlass.capability.conventions.connection import request_timeout
    from windlass.update_status.reading.live import read_cluster

    return of(await read_cluster(client, patience=request_timeout(settings), steps=steps))
