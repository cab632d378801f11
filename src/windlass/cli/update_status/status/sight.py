"""Reads a cluster or files, and makes the report."""

import time
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.cli.conventions.settings import Settings
from windlass.update_status.assessment import assess
from windlass.update_status.reading import Reading
from windlass.update_status.report import Report
from windlass.update_status.times import Moment

if TYPE_CHECKING:
    from windlass.kube.client import Client


class Sight(Struct, frozen=True):
    """A report, and the moment that it is of. `settled`: the cluster has taken notice of the last request to update."""

    report: Report
    now: Moment
    settled: bool = True


def of(reading: Reading) -> Sight:
    """The report of a reading. Raises Problem."""
    report = assess(reading.sources, now=reading.now, wall=reading.wall)
    version = reading.sources.cluster_version
    return Sight(report, reading.now, version.metadata.generation == version.status.observed_generation)


async def of_cluster(settings: Settings, *, steps: bool) -> Sight:
    """The report of the cluster that the options name. Raises Problem and KubeErrors."""
    from windlass.cli.conventions.connection import connect
    from windlass.update_status.reading.thanos import USER_AGENT

    async with connect(settings, user_agent=USER_AGENT) as client:
        return await of_client(client, settings, steps=steps)


async def of_client(client: "Client", settings: Settings, *, steps: bool) -> Sight:
    """The same, with a client that is kept."""
    from windlass.cli.conventions.connection import request_timeout
    from windlass.update_status.reading.live import read_live
    from windlass.update_status.reading.thanos import AlertsService

    service = AlertsService(client.config, timeout=request_timeout(settings))
    reading = await read_live(client, metadata=client.metadata, alerts=service.alerts, clock=time.time_ns, steps=steps)
    return of(reading)
