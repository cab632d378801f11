"""How many machines are synchronized, for dashboards and alerts.

| metric | labels | meaning |
|---|---|---|
| `windlass_machines` | `authority`, `synchronized`, `reason` | Machines of the Machine API, by what their status says |

`synchronized` is True, False or Unknown as in the condition, and None while a Machine has no such condition yet.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct, field
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.kube.object import Object
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED


class _Condition(Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Status(Struct, gc=False):
    authority: str = field(default="", name="authoritativeAPI")
    conditions: list[_Condition] = field(default_factory=list)


class _Machine(Struct, gc=False):
    status: _Status = field(default_factory=_Status)


_MACHINE = msgspec.json.Decoder(_Machine)


class MachineFigures(Collector):
    """Counts what `machines` gives at each scrape (5 us a machine), so that nothing has to be kept up to date."""

    def __init__(self, machines: Callable[[], Iterable[Object[Any]]]) -> None:
        self._machines = machines

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "windlass_machines",
            "Machines of the Machine API by authority and Synchronized condition.",
            labels=["authority", "synchronized", "reason"],
        )
        for labels, count in sorted(Counter(map(_labels, self._machines())).items()):
            family.add_metric(list(labels), count)
        yield family


def _labels(machine: Object[Any]) -> tuple[str, str, str]:
    try:
        status = _MACHINE.decode(machine.raw).status
    except msgspec.ValidationError:
        return "", "None", "Unreadable"
    found = next((condition for condition in status.conditions if condition.type == SYNCHRONIZED), None)
    return status.authority, found.status if found else "None", found.reason if found else ""
