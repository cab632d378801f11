"""Metrics of the update, read from the cached UpdateStatus at each scrape.

| metric | labels | meaning |
|---|---|---|
| `windlass_update_in_progress` | | 1 while the control plane or a pool of workers is being updated, else 0 |
| `windlass_update_stalled` | | 1 while the control plane is late by more than 10 minutes, or nodes stand still |
| `windlass_update_refused` | | 1 while the last request to update is refused, else 0 |
| `windlass_update_completion_ratio` | | operators that are updated, from 0 to 1 |
| `windlass_update_estimated_seconds` | | what is left for the control plane, negative if late; absent if unknown |
| `windlass_update_nodes` | `pool`, `phase` | number of nodes |
| `windlass_update_insights` | `level`, `informer` | number of health insights |
| `windlass_update_informer_healthy` | `informer` | 1 if all sources could be read, else 0; of others: 1 if it answers |

Both replicas show them: take `max`, never a sum over replicas.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from time import time
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.api.update import OWN_INFORMERS
from windlass.kube.errors import DecodeError
from windlass.kube.object import Object
from windlass.update_status.document.reading import NothingWritten, read
from windlass.update_status.estimate import progress
from windlass.update_status.report import Report
from windlass.update_status.times import SECOND


class UpdateFigures(Collector):
    """Makes the figures of the object that `cached` gives."""

    def __init__(self, cached: Callable[[], Iterable[Object[Any]]], *, present: Callable[[], float] = time) -> None:
        self._cached = cached
        self._present = present

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for found in self._cached():
            try:
                status = found.decode().status
            except DecodeError:
                continue
            now = int(self._present() * SECOND)
            try:
                report = read(status, now=now)
            except NothingWritten:
                continue
            yield from _of_report(report, now=now)
            yield from _of_informers(status)


def _of_report(report: Report, *, now: int) -> Iterator[Metric]:
    found = progress(report.control_plane, now)
    late = report.updating and found.assessment == "Stalled"
    updating, stalled = report.updating, late or report.stands_still
    yield _gauge("windlass_update_in_progress", "1 while something is being updated.", updating)
    yield _gauge("windlass_update_stalled", "1 while the control plane is late, or nodes stand still.", stalled)
    yield _gauge("windlass_update_refused", "1 while a request to update is refused.", report.control_plane.refused)
    yield _gauge("windlass_update_completion_ratio", "Share of operators that are updated.", found.completion / 100)
    if report.updating and found.estimate:
        text = "What is left for the control plane."
        yield _gauge("windlass_update_estimated_seconds", text, found.estimate / SECOND)
    nodes = GaugeMetricFamily("windlass_update_nodes", "Nodes by pool and phase.", labels=["pool", "phase"])
    phases = Counter(
        (pool.name, str(node.phase) if node.managed else "Unmanaged") for pool in report.pools for node in pool.nodes
    )
    for key, count in sorted(phases.items()):
        nodes.add_metric(key, count)
    yield nodes


def _of_informers(status: Any) -> Iterator[Metric]:
    counted: Counter[tuple[str, str]] = Counter()
    names: set[str] = set()
    silent: set[str] = set()
    for place in (status.control_plane, *status.worker_pools):
        for informer in place.informers:
            names.add(informer.name)
            if informer.stale_since is not None:
                silent.add(informer.name)
            healths = (entry.insight.health for entry in informer.insights)
            counted.update((health.impact.level, informer.name) for health in healths if health is not None)
    insights = GaugeMetricFamily("windlass_update_insights", "Health insights.", labels=["level", "informer"])
    for key, count in sorted(counted.items()):
        insights.add_metric(key, count)
    yield insights
    conditions = {one.type: one.status for one in status.conditions}
    whole = conditions.get("Available") == "True" and conditions.get("Degraded") != "True"
    healthy = GaugeMetricFamily(
        "windlass_update_informer_healthy", "1 if its sources were read, or it answers.", labels=["informer"]
    )
    for name in sorted(names):
        healthy.add_metric([name], whole if name in OWN_INFORMERS else name not in silent)
    yield healthy


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)
