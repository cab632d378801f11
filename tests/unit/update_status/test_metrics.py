"""Metrics of informers: those of others are healthy as long as they answer."""

from types import SimpleNamespace
from typing import Any

from msgspec import structs

from tests.unit.update_status.document.parts import NOW, report
from windlass.api.update import UpdateStatus
from windlass.update_status.document import write
from windlass.update_status.metrics import UpdateFigures
from windlass.update_status.report import Informed
from windlass.update_status.times import SECOND


def test_an_informer_that_is_silent_is_not_healthy_and_the_others_are() -> None:
    others = (
        Informed(name="fast", namespace="a"),
        Informed(name="silent", namespace="a", stale_since=NOW - SECOND),
    )
    found = UpdateStatus(status=write(structs.replace(report(), informed=others), now=NOW))
    cached: Any = SimpleNamespace(decode=lambda: found)
    figures = {one.name: one for one in UpdateFigures(lambda: [cached], present=lambda: NOW / SECOND).collect()}
    healthy = figures["windlass_update_informer_healthy"].samples
    assert {one.labels["informer"]: one.value for one in healthy} == {"cpi": 1, "ni": 1, "fast": 1, "silent": 0}
