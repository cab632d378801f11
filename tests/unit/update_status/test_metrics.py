"""Metrics of informers: those of others are healthy as long as they answer."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from tests.unit.update_status.document.parts import NOW, degraded_node, node, report
from windlass.api.update import UpdateStatus
from windlass.update_status.document import write
from windlass.update_status.metrics import UpdateFigures
from windlass.update_status.report import (
    Impact,
    Informed,
    InformerInsight,
    Insight,
    Level,
    Report,
    Request,
    RequestState,
)
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


def value(name: str, seen: Report) -> float:
    cached: Any = SimpleNamespace(decode=lambda: UpdateStatus(status=write(seen, now=NOW)))
    (found,) = [
        one for one in UpdateFigures(lambda: [cached], present=lambda: NOW / SECOND).collect() if one.name == name
    ]
    return float(found.samples[0].value)


STANDS_STILL = degraded_node(summary="Node n1 has drained for longer than nodes do", remedy="See its Pods.")


@pytest.mark.parametrize(
    ("insights", "stalled"),
    [
        ((), 0),
        ((degraded_node(),), 0),
        ((STANDS_STILL,), 1),
        ((structs.replace(STANDS_STILL, level=Level.WARNING),), 0),
        ((structs.replace(STANDS_STILL, impact=Impact.UPDATE_SPEED),), 0),
    ],
)
def test_an_update_has_stalled_when_something_of_it_stands_still(insights: tuple[Insight, ...], stalled: int) -> None:
    assert value("windlass_update_stalled", report(*insights)) == stalled


def test_what_would_keep_the_next_update_has_stalled_nothing() -> None:
    seen = report(STANDS_STILL)
    plane = structs.replace(seen.control_plane, updating="False")
    assert value("windlass_update_stalled", structs.replace(seen, control_plane=plane, pools=())) == 0


@pytest.mark.parametrize(("state", "refused"), [(None, 0), (RequestState.PENDING, 0), (RequestState.REFUSED, 1)])
def test_a_refused_request_is_a_figure(state: RequestState | None, refused: int) -> None:
    seen = report()
    request = None if state is None else Request(target="4.99.0", state=state)
    plane = structs.replace(seen.control_plane, request=request)
    assert value("windlass_update_refused", structs.replace(seen, control_plane=plane)) == refused
