"""Metrics of OS builds, read at each scrape from the cached pools, MachineOSConfigs and MachineOSBuilds.

| metric | labels | meaning |
|---|---|---|
| `ocl_build_state` | `pool`, `state` | 1 for the state that the pool is in, else 0: none, pending, building, \
succeeded, failed, interrupted |
| `ocl_active_builds` | `pool` | 1 while the image of the pool is being built, else 0 |
| `ocl_build_start_timestamp_seconds` | `pool` | when the build began; of a pool without a MachineOSConfig only while \
it runs |
| `ocl_build_end_timestamp_seconds` | `pool`, `state` | when the last build ended, and how |
| `ocl_layered_nodes_count` | `pool` | nodes of a pool whose MachineOSConfig has an image; 0 before the first image |
| `ocl_rollout_total_nodes` | `pool` | nodes of a pool that a MachineOSConfig names |
| `ocl_rollout_updated_nodes` | `pool` | those of them that have the configuration and the image of the pool |
| `mco_mosc_count` | | MachineOSConfigs |
| `windlass_os_build_waiting_seconds` | `pool` | for how long the pool has been waiting for its build; 0: it does not |

All names but the last are those of the Machine Config Operator's builder. All replicas show these: take `max`, never a
sum. `counters` has the other metrics of that builder, which only the leader shows.
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
from windlass.os_build.overview import Claims, State, current_build
from windlass.os_build.transitions import Is, state_of

_STATES: Final = (Is.NONE, Is.PENDING, Is.BUILDING, Is.SUCCEEDED, Is.FAILED, Is.INTERRUPTED)
_NODES: Final = {
    "ocl_layered_nodes_count": "Nodes of a pool whose MachineOSConfig has an image.",
    "ocl_rollout_total_nodes": "Nodes of a pool with a MachineOSConfig.",
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
        active = GaugeMetricFamily("ocl_active_builds", "1 while the image is being built.", labels=["pool"])
        waits = GaugeMetricFamily("windlass_os_build_waiting_seconds", "Waiting for a build.", labels=["pool"])
        start = GaugeMetricFamily("ocl_build_start_timestamp_seconds", "Begin of the build.", labels=["pool"])
        end = GaugeMetricFamily("ocl_build_end_timestamp_seconds", "End of the build.", labels=["pool", "state"])
        nodes = {name: GaugeMetricFamily(name, text, labels=["pool"]) for name, text in _NODES.items()}
        configs = [*self._readable(MachineOSConfig)]
        claims = Claims.of(configs, self._readable(MachineOSBuild))
        for pool in self._readable(MachineConfigPool):
            row = claims.row(pool)
            if row.state is State.OUT:
                continue
            name, now, since = row.pool, state_of(row), _seconds(row.since)
            config = claims.configs.get(name)
            build = (claims.builds or {}).get(current_build(config)) if config is not None else None
            for each in _STATES:
                state.add_metric([name, each], each is now)
            active.add_metric([name], now is Is.BUILDING)
            waits.add_metric([name], max(self._present() - since, 0.0) if row.state is State.PENDING and since else 0.0)
            if build is not None and build.status.build_start:
                start.add_metric([name], _seconds(build.status.build_start))
            elif now is Is.BUILDING:
                start.add_metric([name], since)
            if now in (Is.SUCCEEDED, Is.FAILED):
                ended = build.status.build_end if build is not None else None
                end.add_metric([name, now], _seconds(ended) or since)
            if config is not None:
                total, image = pool.status.machine_count, config.status.current_image_pull_spec
                nodes["ocl_layered_nodes_count"].add_metric([name], total if image else 0)
                nodes["ocl_rollout_total_nodes"].add_metric([name], total)
                nodes["ocl_rollout_updated_nodes"].add_metric([name], pool.status.updated_machine_count)
        yield from (state, active, waits, start, end, *nodes.values())
        yield GaugeMetricFamily("mco_mosc_count", "MachineOSConfigs.", value=len(configs))

    def _readable(self, kind: type[K]) -> Iterator[K]:
        for found in self._cached(kind):
            with suppress(DecodeError):
                yield found.decode()


def _seconds(since: str | None) -> float:
    return datetime.fromisoformat(since).timestamp() if since else 0.0
