"""Metrics: how many objects on OpenStack are ready, and whether the process idles.

| metric | labels | meaning |
|---|---|---|
| `windlass_openstack_objects` | `kind`, `ready`, `reason` | number of objects by their condition `Ready` |
| `windlass_idle` | `reason` | 1 while this process idles; absent while it works or stands by |

Objects are OpenStackClusters, OpenStackMachines, OpenStackServers and OpenStackFloatingIPPools, and Machines of the
Machine API where they are served. `ready` is None while there is no such condition. `reason` of `windlass_idle` is
ProviderWorks: another OpenStack provider holds its Lease.

Polls of clouds are `windlass_poll_age_seconds` and `windlass_poll_failures_total`, of the runtime.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import Struct, field
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.openstack.status import READY

COUNTED: Final[tuple[type[KubernetesObject], ...]] = (
    OpenStackCluster,
    OpenStackMachine,
    OpenStackServer,
    OpenStackFloatingIPPool,
)
COUNTED_IN_CACHES: Final[tuple[type[KubernetesObject], ...]] = (*COUNTED, Machine)
"""Machines are in a cache only with `--machine-api`."""


class _Condition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Status(Struct, gc=False):
    conditions: list[_Condition] = field(default_factory=list)


class _Counted(Struct, gc=False):
    status: _Status = field(default_factory=_Status)


class OpenStackFigures(Collector):
    """Counts the objects in the caches (`cached`), and asks whether the process is `idle`, at each scrape."""

    def __init__(
        self, cached: Callable[[type[KubernetesObject]], Iterable[Object[Any]]], idle: Callable[[], bool]
    ) -> None:
        self._cached = cached
        self._idle = idle

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        objects = GaugeMetricFamily(
            "windlass_openstack_objects",
            "Objects on OpenStack by their Ready condition.",
            labels=["kind", "ready", "reason"],
        )
        for kind in COUNTED_IN_CACHES:
            for labels, count in sorted(Counter(map(_labels, self._cached(kind))).items()):
                objects.add_metric([kind.RESOURCE.kind, *labels], count)
        yield objects
        idle = GaugeMetricFamily("windlass_idle", "1 while this process idles, by reason.", labels=["reason"])
        if self._idle():
            idle.add_metric(["ProviderWorks"], 1)
        yield idle


def _labels(found: Object[Any]) -> tuple[str, str]:
    counted = found.glimpse(_Counted)
    if counted is None:
        return "None", "Unreadable"
    ready = next((each for each in counted.status.conditions if each.type == READY), None)
    return (ready.status, ready.reason) if ready else ("None", "")
