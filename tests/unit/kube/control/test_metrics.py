"""Metrics: the names that dashboards know, with figures that are true at the moment of the scrape."""

from collections.abc import Iterator
from random import Random

import pytest

from windlass.kube.control.metrics import Metrics
from windlass.kube.control.queue import Priority, Queue
from windlass.kube.process.pool import Figures
from windlass.testing.clock import VirtualLoop

NAMES = [
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_retries_total",
    "workqueue_queue_duration_seconds_bucket",
    "workqueue_work_duration_seconds_bucket",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_reconcile_time_seconds_bucket",
    "controller_runtime_active_workers",
    "controller_runtime_max_concurrent_reconciles",
    "rest_client_requests_total",
    "leader_election_master_status",
    "windlass_decide_seconds_bucket",
    "windlass_watch_age_seconds",
]


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture
def queue(loop: VirtualLoop) -> Queue[str]:
    return Queue(loop=loop, random=Random(0))


def value(metrics: Metrics, series: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(series, labels)


def test_every_promised_series_is_there(queue: Queue[str]) -> None:
    metrics = Metrics(host="10.0.0.1:443")
    metrics.controller("c", queue, workers=2)
    metrics.request("GET", "widgets.example.com", "200", 0.01)
    metrics.leading("windlass", leads=True)
    metrics.caches(lambda: [Figures("widgets.example.com", "shop", True, 3, 1.5)])
    text = metrics.text().decode()
    assert not [name for name in NAMES if f"\n{name}" not in text]
    assert "_created" not in text
    assert 'rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 1.0' in text
    assert 'windlass_watch_age_seconds{kind="widgets.example.com",namespace="shop"} 1.5' in text


def test_a_queue_is_shown_as_it_is_at_the_scrape(loop: VirtualLoop, queue: Queue[str]) -> None:
    metrics = Metrics()
    counts = queue.timings = metrics.controller("c", queue, workers=1)
    labels = {"name": "c", "controller": "c"}
    for key in ("a", "b", "c"):
        queue.add(key)
    queue.add("d", priority=Priority.LOW)
    loop.run_until_complete(queue.take())
    loop.advance(3)
    loop.run_until_complete(queue.take())
    loop.advance(1)
    assert value(metrics, "workqueue_depth", **labels, priority="normal") == 1
    assert value(metrics, "workqueue_depth", **labels, priority="low") == 1
    assert value(metrics, "workqueue_adds_total", **labels) == 4
    assert value(metrics, "workqueue_unfinished_work_seconds", **labels) == pytest.approx(5)
    assert value(metrics, "workqueue_longest_running_processor_seconds", **labels) == pytest.approx(4)
    assert value(metrics, "workqueue_queue_duration_seconds_sum", **labels) == pytest.approx(3)
    queue.done("a")
    assert value(metrics, "workqueue_work_duration_seconds_sum", **labels) == pytest.approx(4)
    counts.close()
    assert value(metrics, "workqueue_depth", **labels, priority="normal") is None


def test_every_result_is_there_before_it_happened(queue: Queue[str]) -> None:
    metrics = Metrics()
    metrics.controller("c", queue, workers=1)
    for result in ("success", "error", "requeue", "requeue_after"):
        assert value(metrics, "controller_runtime_reconcile_total", controller="c", result=result) == 0


def test_two_processes_in_one_do_not_share_figures(queue: Queue[str]) -> None:
    one, other = Metrics(), Metrics()
    one.leading("x", leads=True)
    assert value(other, "leader_election_master_status", name="x") is None
