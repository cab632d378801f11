"""Metrics of OS builds, read from the conditions of the cached pools at each scrape.

| metric | labels | meaning |
|---|---|---|
| `ocl_build_state` | `pool`, `state` | 1 for the state that the pool is in, else 0; states: none, pending, building, \
succeeded, failed |
| `ocl_active_builds` | | pools whose image is being built |
| `ocl_build_queue_duration_seconds` | `pool` | for how long the pool has been waiting for its build; 0: it does not |
| `ocl_build_start_timestamp_seconds` | `pool` | when the build that runs began |
| `ocl_build_end_timestamp_seconds` | `pool`, `state` | when the last build ended, and how |

The names are those of the Machine Config Operator's builder. All replicas show them: take `max`, never a sum.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from time import time
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import KubernetesObject, PlainCondition
from windlass.kube.conditions import find, is_true
from windlass.kube.errors import DecodeError
from windlass.kube.object import Object
from windlass.os_build.pool.conditions import BUILDING, FAILED, PENDING, SUCCESS
from windlass.os_build.request import opted_in

STATES: Final = {PENDING: "pending", BUILDING: "building", SUCCESS: "succeeded", FAILED: "failed"}
NONE: Final = "none"


class BuildFigures(Collector):
    """Makes the figures of the pools that `cached` gives. `present`: seconds since 1970."""

    def __init__(
        self,
        cached: Callable[[type[KubernetesObject]], Iterable[Object[Any]]],
        *,
        present: Callable[[], float] = time,
    ) -> None:
        self._cached = cached
        self._present = present

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        state = GaugeMetricFamily("ocl_build_state", "1 for the state of the pool's build.", labels=["pool", "state"])
        waits = GaugeMetricFamily("ocl_build_queue_duration_seconds", "Waiting for a build.", labels=["pool"])
        start = GaugeMetricFamily("ocl_build_start_timestamp_seconds", "Begin of the build.", labels=["pool"])
        end = GaugeMetricFamily("ocl_build_end_timestamp_seconds", "End of the build.", labels=["pool", "state"])
        active = 0
        for name, conditions in self._pools():
            now = next((text for type_, text in STATES.items() if is_true(conditions, type_)), NONE)
            for each in (NONE, *STATES.values()):
                state.add_metric([name, each], each == now)
            since = {type_: _seconds(conditions, type_) for type_ in STATES}
            waits.add_metric([name], max(self._present() - since[PENDING], 0.0) if now == STATES[PENDING] else 0.0)
            if now == STATES[BUILDING]:
                active += 1
                start.add_metric([name], since[BUILDING])
            for ended in (SUCCESS, FAILED):
                if now == STATES[ended]:
                    end.add_metric([name, now], since[ended])
        yield from (state, waits, start, end)
        yield GaugeMetricFamily("ocl_active_builds", "Pools whose image is being built.", value=active)

    def _pools(self) -> Iterator[tuple[str, list[PlainCondition]]]:
        for found in self._cached(MachineConfigPool):
            try:
                pool = found.decode()
            except DecodeError:
                continue
            if opted_in(pool):
                yield found.name, pool.status.conditions


def _seconds(conditions: list[PlainCondition], type_: str) -> float:
    found = find(conditions, type_)
    since = found.last_transition_time if found is not None else None
    return datetime.fromisoformat(since).timestamp() if since else 0.0
