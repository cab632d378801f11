"""Joins the metrics of a process with those of every cluster that it works on, in one scrape.

| name | what |
|---|---|
| `process_*` | CPU, memory and files, as every Prometheus client names them |
| `windlass_loop_lag_seconds` | how late the event loop ran a timer |

The scrape also has the metrics of each cluster (`windlass.kube.control.metrics.Metrics`). Those of a named cluster have
the label `cluster`; a process for one cluster does not need it.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from windlass.kube.control.metrics import exposition

_LAG_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ProcessMetrics:
    """All metrics of a process. `registry` holds those of the process itself; `prefix` begins the name of the lag."""

    def __init__(self, *, prefix: str = "windlass") -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._lag = Histogram(
            f"{prefix}_loop_lag_seconds",
            "How late the event loop ran a timer.",
            buckets=_LAG_BUCKETS,
            registry=self.registry,
        )
        self._parts: list[tuple[str, CollectorRegistry]] = [("", self.registry)]

    def add(self, registry: CollectorRegistry, *, cluster: str = "") -> None:
        """Show what is in `registry` too, with the label `cluster` unless that is empty."""
        self._parts.append((cluster, registry))

    def lag(self, seconds: float) -> None:
        self._lag.observe(seconds)

    def text(self) -> bytes:
        """The answer to a scrape, in the text format."""
        return exposition(_Joined(self._parts))


class _Joined(Collector):
    """Several registries as one: the text format wants all samples of a name together."""

    def __init__(self, parts: Iterable[tuple[str, CollectorRegistry]]) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        joined: dict[str, Metric] = {}
        for cluster, registry in self._parts:
            for metric in registry.collect():
                known = joined.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                label = {"cluster": cluster} if cluster else {}
                known.samples += [sample._replace(labels={**sample.labels, **label}) for sample in metric.samples]
        yield from joined.values()
