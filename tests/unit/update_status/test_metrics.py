"""Metrics of informers: those of others are healthy as long as they answer."""

from types import SimpleNamespace
from typing import Any

from msgspec import structs

from tests.unit.update_status.document.parts import NOW, node, report
from windlass.api.update import UpdateStatus
from windlass.update_status.document import write
from windlass.update_status.metrics import UpdateFigures
from windlass.update_status.report import Impact, Informed, InformerInsight, Insight, Level
from windlass.update_status.times import SECOND


def figures(*others: Informed) -> dict[str, Any]:
    found = UpdateStatus(status=write(structs.replace(report(), informed=others), now=NOW))
    cached: Any = SimpleNamespace(decode=lambda: found)
    return {one.name: one for one in UpdateFigures(lambda: [cached], present=lambda: NOW / SECOND).collect()}


def test_an_informer_that_is_silent_is_not_healthy_and_the_others_are() -> None:
    silent = Informed(name="silent", namespace="a", stale_since=NOW - SECOND)
    found = figures(Informed(name="fast", namespace="a"), silent)
    healthy = found["windlass_update_informer_healthy"].samples
    assert {one.labels["informer"]: one.value for one in healthy} == {"cpi": 1, "ni": 1, "fast": 1, "silent": 0}


def test_control_11_no_text_of_an_informer_is_in_a_metric() -> None:
    """Its name is: administrators choose that, and there are few."""
    insight = Insight(
        level=Level.ERROR,
        impact=Impact.NONE,
        summary="secret words",
        description="more words",
        reference="https://words.example.com",
        started=NOW,
        resources=(),
    )
    found = figures(Informed(name="fast", namespace="a", insights=(InformerInsight(uid="words", insight=insight),)))
    labels = [sample.labels for each in found.values() for sample in each.samples]
    assert {"level": "Error", "informer": "fast"} in labels
    assert not any("words" in value for each in labels for value in each.values())


def test_a_node_that_nobody_manages_yet_waits_for_no_update() -> None:
    found = UpdateStatus(status=write(report(of=node(managed=False)), now=NOW))
    cached: Any = SimpleNamespace(decode=lambda: found)
    every = {one.name: one for one in UpdateFigures(lambda: [cached], present=lambda: NOW / SECOND).collect()}
    assert [one.labels for one in every["windlass_update_nodes"].samples] == [{"pool": "worker", "phase": "Unmanaged"}]
