"""The runtime's metrics, under controller-runtime's names, so that existing dashboards work.

Each cluster has one `Metrics`, created beside its manager and passed down; there is no global registry.
`windlass.kube.process.figures` joins the metrics of all clusters in one scrape.

    from windlass.kube.control.metrics import Metrics

    metrics = Metrics()
    with metrics.controller("machine-sync", queue, workers=4) as counts:
        counts.reconciled("success", 0.012)
    print(metrics.text().decode())

| name | labels | what |
|---|---|---|
| `workqueue_depth` | name, controller, priority | keys that a worker could take now |
| `workqueue_adds_total` | name, controller | keys that got in line |
| `workqueue_retries_total` | name, controller | keys that came back after a failure |
| `workqueue_queue_duration_seconds` | name, controller | time in line |
| `workqueue_work_duration_seconds` | name, controller | time in work |
| `workqueue_unfinished_work_seconds` | name, controller | age of all work in hand, summed |
| `workqueue_longest_running_processor_seconds` | name, controller | age of the oldest work in hand |
| `controller_runtime_reconcile_total` | controller, result | success, requeue_after, requeue, error |
| `controller_runtime_reconcile_errors_total` | controller | failures |
| `controller_runtime_reconcile_panics_total` | controller | of those, bugs |
| `controller_runtime_reconcile_timeouts_total` | controller | of those, out of time |
| `controller_runtime_reconcile_time_seconds` | controller | one reconcile, all its rounds |
| `controller_runtime_active_workers` | controller | workers that are busy |
| `controller_runtime_max_concurrent_reconciles` | controller | workers that there are |
| `rest_client_requests_total` | code, method, host | answers of the API server; code `<error>` if none came |
| `rest_client_request_duration_seconds` | verb, host | time to the answer |
| `leader_election_master_status` | name | 1 while this process leads |
| `windlass_decide_seconds` | controller | one decision; the budget is 5 ms at p99 |
| `windlass_reconcile_writes_total` | controller | actions carried out |
| `windlass_cache_synced`, `windlass_cache_objects` | kind, namespace | 1 if the cache is complete; its objects |
| `windlass_watch_age_seconds` | kind, namespace | time since the watch last gave a sign of life |
| `windlass_poll_age_seconds` | poll | time since the outside last answered |
| `windlass_poll_failures_total` | poll | questions that failed |

Source of names, labels and buckets: sigs.k8s.io/controller-runtime, the `metrics` packages under pkg/internal.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from windlass.kube.control.poll import Polling
from windlass.kube.control.queue import Queue

RESULTS = ("success", "requeue_after", "requeue", "error")

_QUEUE_BUCKETS = tuple(1e-8 * 10**exponent for exponent in range(12))
_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
_DECIDE_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0)
_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class CacheFigures(Protocol):
    """The metrics of one cache."""

    @property
    def kind(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def synced(self) -> bool: ...
    @property
    def objects(self) -> int: ...
    @property
    def age(self) -> float | None: ...


class Metrics:
    """The metrics of one cluster, in one registry. `host` is its API server, for the label of requests."""

    def __init__(self, registry: CollectorRegistry | None = None, *, host: str = "") -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._host = host
        self._live = _Live()
        self.registry.register(self._live)
        self._queue_seconds = self._histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds a key waits in line before it is taken.",
            ["name", "controller"],
            _QUEUE_BUCKETS,
        )
        self._work_seconds = self._histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds a key is in work.",
            ["name", "controller"],
            _QUEUE_BUCKETS,
        )
        self._reconciles = self._counter(
            "controller_runtime_reconcile", "Reconciles by controller and result.", ["controller", "result"]
        )
        self._errors = self._counter("controller_runtime_reconcile_errors", "Failed reconciles.", ["controller"])
        self._panics = self._counter("controller_runtime_reconcile_panics", "Ended by a bug.", ["controller"])
        self._timeouts = self._counter("controller_runtime_reconcile_timeouts", "Out of time.", ["controller"])
        self._reconcile_seconds = self._histogram(
            "controller_runtime_reconcile_time_seconds", "Length of a reconcile.", ["controller"], _RECONCILE_BUCKETS
        )
        self._active = self._gauge("controller_runtime_active_workers", "Workers that are busy.", ["controller"])
        self._workers = self._gauge("controller_runtime_max_concurrent_reconciles", "Workers.", ["controller"])
        self._decide_seconds = self._histogram(
            "windlass_decide_seconds", "Length of one decision.", ["controller"], _DECIDE_BUCKETS
        )
        self._writes = self._counter("windlass_reconcile_writes", "Actions carried out.", ["controller"])
        self._requests = self._counter("rest_client_requests", "Answers of the API server.", ["code", "method", "host"])
        self._request_seconds = self._histogram(
            "rest_client_request_duration_seconds", "Time to the answer.", ["verb", "host"], _REQUEST_BUCKETS
        )
        self._answers: dict[tuple[str, str], Counter] = {}
        self._durations: dict[str, Histogram] = {}
        self._master = self._gauge("leader_election_master_status", "1 while this process leads.", ["name"])

    def controller(self, name: str, queue: Queue[Any], *, workers: int) -> "ControllerMetrics":
        """Count for the controller `name` until `close()`."""
        return ControllerMetrics(self, name, queue, workers)

    def request(self, method: str, kind: str, code: str, seconds: float) -> None:
        """One request to the API server: `Client(config, observer=metrics.request)`. `code` may be `<error>`."""
        del kind  # a label per kind would multiply the series, and existing dashboards do not know it
        # `labels` costs as much as counting does, so what it returns is kept; there are few methods and codes.
        answers = self._answers.get((code, method))
        if answers is None:
            answers = self._answers[code, method] = self._requests.labels(code, method, self._host)
        durations = self._durations.get(method)
        if durations is None:
            durations = self._durations[method] = self._request_seconds.labels(method, self._host)
        answers.inc()
        durations.observe(seconds)

    def leading(self, name: str, *, leads: bool) -> None:
        self._master.labels(name).set(1 if leads else 0)

    def caches(self, figures: Callable[[], Iterable[CacheFigures]]) -> None:
        """Show these caches, asked for at each scrape."""
        self._live.caches = figures

    def polls(self, polls: Callable[[], Iterable[Polling]]) -> None:
        """Show these polls, asked for at each scrape."""
        self._live.polls = polls

    def text(self) -> bytes:
        """These figures alone, in the text format."""
        return exposition(self.registry)

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: list[str]) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, labels: list[str], buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)


class ControllerMetrics:
    """The figures of one running controller; a context manager, which takes its series away again."""

    def __init__(self, metrics: Metrics, name: str, queue: Queue[Any], workers: int) -> None:
        self._metrics = metrics
        self._name = name
        metrics._live.queues[name] = queue
        self._queue_seconds = metrics._queue_seconds.labels(name, name)
        self._work_seconds = metrics._work_seconds.labels(name, name)
        self._results = {result: metrics._reconciles.labels(name, result) for result in RESULTS}
        self._errors = metrics._errors.labels(name)
        self._panics = metrics._panics.labels(name)
        self._timeouts = metrics._timeouts.labels(name)
        self._seconds = metrics._reconcile_seconds.labels(name)
        self._active = metrics._active.labels(name)
        self._decide_seconds = metrics._decide_seconds.labels(name)
        self._writes = metrics._writes.labels(name)
        metrics._workers.labels(name).set(workers)

    def waited(self, seconds: float) -> None:
        self._queue_seconds.observe(seconds)

    def worked(self, seconds: float) -> None:
        self._work_seconds.observe(seconds)

    def began(self) -> None:
        self._active.inc()

    def ended(self) -> None:
        self._active.dec()

    def reconciled(
        self, result: str, seconds: float, *, writes: int = 0, bug: bool = False, timed_out: bool = False
    ) -> None:
        """`result` is one of RESULTS."""
        self._results[result].inc()
        self._seconds.observe(seconds)
        if writes:
            self._writes.inc(writes)
        if result == "error":
            self._errors.inc()
        if bug:
            self._panics.inc()
        if timed_out:
            self._timeouts.inc()

    def decided(self, seconds: float) -> None:
        self._decide_seconds.observe(seconds)

    def close(self) -> None:
        """Remove the gauges of the controller. Its counters stay, as Prometheus expects."""
        self._metrics._live.queues.pop(self._name, None)
        self._active.set(0)
        self._metrics._workers.labels(self._name).set(0)

    def __enter__(self) -> "ControllerMetrics":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Live(Collector):
    """Figures that are asked for at a scrape instead of being kept up to date."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue[Any]] = {}
        self.caches: Callable[[], Iterable[CacheFigures]] = tuple
        self.polls: Callable[[], Iterable[Polling]] = tuple

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from self._queue_metrics()
        yield from self._cache_metrics()
        yield from self._poll_metrics()

    def _queue_metrics(self) -> Iterator[Metric]:
        labels = ["name", "controller"]
        depth = GaugeMetricFamily("workqueue_depth", "Keys a worker could take now.", labels=[*labels, "priority"])
        adds = CounterMetricFamily("workqueue_adds", "Keys that got in line.", labels=labels)
        retries = CounterMetricFamily("workqueue_retries", "Keys that came back after a failure.", labels=labels)
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds", "Age of all work in hand, summed.", labels=labels
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds", "Age of the oldest work in hand.", labels=labels
        )
        for name, queue in self.queues.items():
            for priority, waiting in queue.depth.items():
                depth.add_metric([name, name, priority.name.lower()], waiting)
            adds.add_metric([name, name], queue.adds)
            retries.add_metric([name, name], queue.retries)
            ages = queue.ages()
            unfinished.add_metric([name, name], sum(ages))
            longest.add_metric([name, name], max(ages, default=0.0))
        yield from (depth, adds, retries, unfinished, longest)

    def _cache_metrics(self) -> Iterator[Metric]:
        labels = ["kind", "namespace"]
        synced = GaugeMetricFamily("windlass_cache_synced", "1 if the cache is complete.", labels=labels)
        objects = GaugeMetricFamily("windlass_cache_objects", "Objects held.", labels=labels)
        age = GaugeMetricFamily(
            "windlass_watch_age_seconds", "Seconds since the watch last gave a sign of life.", labels=labels
        )
        for each in self.caches():
            synced.add_metric([each.kind, each.namespace], 1 if each.synced else 0)
            objects.add_metric([each.kind, each.namespace], each.objects)
            if each.age is not None:
                age.add_metric([each.kind, each.namespace], each.age)
        yield from (synced, objects, age)

    def _poll_metrics(self) -> Iterator[Metric]:
        age = GaugeMetricFamily(
            "windlass_poll_age_seconds", "Seconds since the outside last answered.", labels=["poll"]
        )
        failures = CounterMetricFamily("windlass_poll_failures", "Questions that failed.", labels=["poll"])
        for each in self.polls():
            if each.age is not None:
                age.add_metric([each.name], each.age)
            failures.add_metric([each.name], each.failures)
        yield from (age, failures)


def exposition(collected: Collector) -> bytes:
    """The present samples of `collected`, in the text format."""
    return generate_latest(_WithoutCreated(collected))


class _WithoutCreated:
    """A registry without the `_created` series, which double the output and which no dashboard of ours reads."""

    def __init__(self, registry: Collector) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
