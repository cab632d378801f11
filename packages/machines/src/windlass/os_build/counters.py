"""Counts what becomes of builds, for Prometheus.

| metric | labels | meaning |
|---|---|---|
| `ocl_build_total` | `pool`, `state` | builds that ended: succeeded, failed, interrupted |
| `ocl_build_duration_seconds` | `pool`, `state` | how long they took (histogram) |
| `ocl_build_queue_duration_seconds` | `pool` | how long a build waited until it ran (histogram) |
| `ocl_build_retries_total` | `pool` | further attempts of builds |
| `ocl_build_job_state` | `pool`, `state` | 1 for the state of the builder, else 0: none, active, succeeded, failed |
| `ocl_image_push_total` | `pool`, `state` | pushes that ended: succeeded, failed |
| `ocl_image_push_duration_seconds` | `pool`, `state` | from the builder's start to the end of the push (histogram) |
| `ocl_image_push_state` | `pool`, `state` | 1 for the state of the push, else 0: none, pushing, succeeded, failed |
| `ocl_config_change_total` | `pool` | changes of the rendered MachineConfig of a pool that asks for an image |

Names, types, labels and buckets are those of the Machine Config Operator's builder. Only the process that leads counts,
from the snapshots that its controller takes: a sum over replicas is right. A restart begins at zero, as counters do.
`transitions` has the table of what is counted.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.kube.control.plan import Outcome
from windlass.kube.control.rounds import Observe
from windlass.os_build.pool.snapshot import PoolSnapshot
from windlass.os_build.transitions import Count, Counted, Is, Look, counts

_BUILD_SECONDS: Final = (60, 180, 300, 600, 900, 1200, 1800, 2400, 3000, 3600)
_QUEUE_SECONDS: Final = (5, 15, 30, 60, 120, 300, 600)
_PUSH_SECONDS: Final = (10, 30, 60, 120, 180, 300, 600)
_JOB: Final = (Is.NONE, Is.ACTIVE, Is.SUCCEEDED, Is.FAILED)
_PUSH: Final = (Is.NONE, Is.PUSHING, Is.SUCCEEDED, Is.FAILED)


class BuildCounters(Collector):
    """The counters, and the gauges of builder objects.

    `term` is how often this process has begun to lead: what another one did in between is not counted here. `leads`
    tells whether it leads now.
    """

    def __init__(self, *, term: Callable[[], int] = lambda: 1, leads: Callable[[], bool] = lambda: True) -> None:
        self._term = term
        self._leads = leads
        self._looked_in = 0
        self._looks: dict[str, Look] = {}
        self._counters = {
            Counted.CONFIG_CHANGES: _counter(Counted.CONFIG_CHANGES, "Changes of the rendered MachineConfig."),
            Counted.RETRIES: _counter(Counted.RETRIES, "Further attempts of builds."),
            Counted.BUILDS: _counter(Counted.BUILDS, "Builds that ended, by how.", "state"),
            Counted.PUSHES: _counter(Counted.PUSHES, "Pushes of images that ended, by how.", "state"),
        }
        self._histograms = {
            Counted.QUEUE: _histogram(Counted.QUEUE, "From the wish for a build to its start.", _QUEUE_SECONDS),
            Counted.DURATION: _histogram(Counted.DURATION, "Duration of builds.", _BUILD_SECONDS, "state"),
            Counted.PUSH_DURATION: _histogram(Counted.PUSH_DURATION, "Duration of pushes.", _PUSH_SECONDS, "state"),
        }

    def see(self, seen: PoolSnapshot) -> None:
        """Count what has changed since the look before."""
        if (term := self._term()) != self._looked_in:
            self._looked_in = term
            self._looks.clear()
        before, after = self._looks.pop(seen.name, None), Look.at(seen)
        if after is None:
            return
        self._looks[seen.name] = after
        for each in counts(before, after) if before is not None else ():
            self._count(seen.name, each)

    def observing(self, observe: Observe[str, PoolSnapshot]) -> Observe[str, PoolSnapshot]:
        """`observe`, with each snapshot counted."""

        async def observed(key: str, last: Outcome) -> PoolSnapshot:
            seen = await observe(key, last)
            self.see(seen)
            return seen

        return observed

    def _count(self, pool: str, count: Count) -> None:
        labels = {"pool": pool, **({"state": str(count.state)} if count.state else {})}
        if count.seconds is None:
            self._counters[count.what].labels(**labels).inc()
        else:
            self._histograms[count.what].labels(**labels).observe(count.seconds)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for each in (*self._counters.values(), *self._histograms.values()):
            yield from each.collect()
        job = GaugeMetricFamily(
            "ocl_build_job_state", "1 for the state of the pool's builder.", labels=["pool", "state"]
        )
        push = GaugeMetricFamily("ocl_image_push_state", "1 for the state of the push.", labels=["pool", "state"])
        if self._leads():
            for pool, look in sorted(self._looks.items()):
                for state in _JOB:
                    job.add_metric([pool, state], look.job is state)
                for state in _PUSH:
                    push.add_metric([pool, state], look.push is state)
        yield from (job, push)


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(str(name), text, ["pool", *labels], registry=None)


def _histogram(name: str, text: str, buckets: tuple[int, ...], *labels: str) -> Histogram:
    return Histogram(str(name), text, ["pool", *labels], buckets=buckets, registry=None)
