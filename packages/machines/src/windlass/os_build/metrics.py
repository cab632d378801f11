"""Metrics of OS builds, read at each scrape from the cached pools, MachineOSConfigs and MachineOSBuilds.

| metric | labels | meaning |
|---|---|---|
| `ocl_build_state` | `pool`, `state` | 1 for the state that the pool is in, else 0; states: none, pending, building, \
succeeded, failed |
| `ocl_active_builds` | | pools whose image is being built |
| `ocl_build_queue_duration_seconds` | `pool` | for how long the pool has been waiting for its build; 0: it does not |
| `ocl_build_start_timestamp_seconds` | `pool` | when the build that runs began |
| `ocl_build_end_timestamp_seconds` | `pool`, `state` | when the last build ended, and how |
| `ocl_layered_nodes_count` | `pool` | nodes of a pool that a MachineOSConfig names |
| `ocl_rollout_total_nodes` | `pool` | the same |
| `ocl_rollout_updated_nodes` | `pool` | those of them that have the configuration and the image of the pool |
| `mco_mosc_count` | | MachineOSConfigs that name a pool |

The names are those of the Machine Config Operator's builder. All replicas show them: take `max`, never a sum.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from time import time
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.api.meta import K, KubernetesObject
from windlass.kube.errors import DecodeError
from windlass.kube.object import Object
from windlass.os_build.overview import Claims, State

NONE: Final = "none"
STATES: Final = {
    State.PENDING: "pending",
    State.BUILDING: "building",
    State.BUILT: "succeeded",
    State.FAILED: "failed",
}
_NODES: Final = {
    "ocl_layered_nodes_count": "Nodes of a pool with a MachineOSConfig.",
    "ocl_rollout_total_nodes": "The same.",
    "ocl_rollout_updated_nodes": "Those that have configuration and image of the pool.",
}


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
        nodes = {name: GaugeMetricFamily(name, text, labels=["pool"]) for name, text in _NODES.items()}
        claims = Claims.of(self._readable(MachineOSConfig), self._readable(MachineOSBuild))
        active = 0
        for pool in self._readable(MachineConfigPool):
            row = claims.row(pool)
            if row.state is State.OUT:
                continue
            name, now, since = row.pool, STATES.get(row.state, NONE), _seconds(row.since)
            for each in (NONE, *STATES.values()):
                state.add_metric([name, each], each == now)
            waits.add_metric([name], max(self._present() - since, 0.0) if row.state is State.PENDING and since else 0.0)
            if row.state is State.BUILDING:
                active += 1
                start.add_metric([name], since)
            if row.state in (State.BUILT, State.FAILED):
                end.add_metric([name, now], since)
            if row.claimed_by:
                nodes["ocl_layered_nodes_count"].add_metric([name], pool.status.machine_count)
                nodes["ocl_rollout_total_nodes"].add_metric([name], pool.status.machine_count)
                nodes["ocl_rollout_updated_nodes"].add_metric([name], pool.status.updated_machine_count)
        yield from (state, waits, start, end, *nodes.values())
        yield GaugeMetricFamily("ocl_active_builds", "Pools whose image is being built.", value=active)
        yield GaugeMetricFamily("mco_mosc_count", "MachineOSConfigs.", value=len(claims.configs))

    def _readable(self, kind: type[K]) -> Iterator[K]:
        for found in self._cached(kind):
            with suppress(DecodeError):
                yield found.decode()


def _seconds(since: str | None) -> float:
    return datetime.fromisoformat(since).timestamp() if since else 0.0
