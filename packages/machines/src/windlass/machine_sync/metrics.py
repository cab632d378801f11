"""Metrics: how many Machines and MachineSets are synchronized, and why the process idles.

| metric | labels | meaning |
|---|---|---|
| `windlass_machines` | `authority`, `synchronized`, `reason` | number of Machines of the Machine API, by their status |
| `windlass_machinesets` | the same | number of MachineSets of the Machine API |
| `windlass_idle` | `reason` | 1 while this process idles; absent while it works or stands by |

`authority` is MachineAPI, ClusterAPI or Migrating; empty while it is not set. `synchronized` is True, False or Unknown
as in the condition, and None while there is no such condition yet.

`reason` of `windlass_idle`: FeatureGate, Platform, or LeaseHeld (OpenShift's migration operator works).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, field
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.api import mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.machine_sync.activation import Idle
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED

COUNTED: tuple[type[KubernetesObject], ...] = (mapi.Machine, mapi.MachineSet)
"""The kinds of the Machine API that have a status.authoritativeAPI."""


class _Condition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Status(Struct, gc=False):
    authority: str = field(default="", name="authoritativeAPI")
    conditions: list[_Condition] = field(default_factory=list)


class _Counted(Struct, gc=False):
    status: _Status = field(default_factory=_Status)


class AuthorityFigures(Collector):
    """Counts the objects in the caches (`cached`) at each scrape (5 us for each object), so no counter has to be
    maintained."""

    def __init__(self, cached: Callable[[type[KubernetesObject]], Iterable[Object[Any]]]) -> None:
        self._cached = cached

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for kind in COUNTED:
            resource = kind.RESOURCE
            family = GaugeMetricFamily(
                f"windlass_{resource.plural}",
                f"{resource.kind}s of the Machine API by authority and Synchronized condition.",
                labels=["authority", "synchronized", "reason"],
            )
            for labels, count in sorted(Counter(map(_labels, self._cached(kind))).items()):
                family.add_metric(list(labels), count)
            yield family


class IdleFigures(Collector):
    """Exports why this process idles, from `idle` at each scrape."""

    def __init__(self, idle: Callable[[], Idle | None]) -> None:
        self._idle = idle

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("windlass_idle", "1 while this process idles, by reason.", labels=["reason"])
        if idle := self._idle():
            family.add_metric([idle.reason], 1)
        yield family


def _labels(found: Object[Any]) -> tuple[str, str, str]:
    counted = found.glimpse(_Counted)
    if counted is None:
        return "", "None", "Unreadable"
    status = counted.status
    said = next((condition for condition in status.conditions if condition.type == SYNCHRONIZED), None)
    return status.authority, said.status if said else "None", said.reason if said else ""
