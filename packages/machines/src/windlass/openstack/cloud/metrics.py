"""Metrics of the requests to clouds, and of the gates in front of services.

    manager.metrics.registry.register(clouds.figures)

| metric | labels | meaning |
|---|---|---|
| `windlass_cloud_requests_total` | `service`, `method`, `code` | requests that were sent; code 0: no answer |
| `windlass_cloud_request_duration_seconds` | `service`, `method` | time to the answer, or to its absence |
| `windlass_cloud_gate_closed` | `cloud`, `gate` | 1 while nothing is sent there, or nothing that needs the quota |

Requests for tokens are not counted. `cloud` says where the credentials are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class CloudFigures(Collector):
    """`gates` gives for each cloud the gates that it has, and whether each is closed now."""

    def __init__(self, gates: Callable[[], Iterable[tuple[str, Mapping[str, bool]]]]) -> None:
        self._gates = gates
        self._requests = Counter(
            "windlass_cloud_requests", "Requests to a cloud.", ["service", "method", "code"], registry=None
        )
        self._seconds = Histogram(
            "windlass_cloud_request_duration_seconds",
            "Time to the answer.",
            ["service", "method"],
            buckets=_BUCKETS,
            registry=None,
        )

    def sent(self, service: str, method: str, *, code: int, seconds: float) -> None:
        """A request ended. `code` 0: there was no answer."""
        self._requests.labels(service, method, str(code)).inc()
        self._seconds.labels(service, method).observe(seconds)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from self._requests.collect()
        yield from self._seconds.collect()
        closed = GaugeMetricFamily("windlass_cloud_gate_closed", "1 while nothing is sent.", labels=["cloud", "gate"])
        shown: dict[tuple[str, str], bool] = {}
        for cloud, gates in self._gates():
            for gate, is_closed in gates.items():
                shown[cloud, gate] = is_closed or shown.get((cloud, gate), False)
        for labels, is_closed in shown.items():
            closed.add_metric(labels, float(is_closed))
        yield closed
