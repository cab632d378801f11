"""What dashboards and alerts see of Machines and MachineSets."""

from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from windlass.api import mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.machine_sync.activation import Idle
from windlass.machine_sync.metrics import AuthorityFigures, IdleFigures

KINDS = pytest.mark.parametrize(
    ("kind", "metric"), [(mapi.Machine, "windlass_machines"), (mapi.MachineSet, "windlass_machinesets")]
)


def status(authority: str = "", *conditions: tuple[str, str, str]) -> dict[str, Any]:
    said = [{"type": kind, "status": value, "reason": reason} for kind, value, reason in conditions]
    return {"authoritativeAPI": authority, "conditions": said}


def series(kind: type[KubernetesObject], *statuses: Any) -> list[str]:
    """What is scraped when there is an object of `kind` with each of these statuses, without the comments."""
    found = [Object.of(kind, {"metadata": {"name": f"w-{n}"}, "status": said}) for n, said in enumerate(statuses)]

    def cached(asked: type[KubernetesObject]) -> Iterable[Object[Any]]:
        return found if asked is kind else ()

    registry = CollectorRegistry()
    registry.register(AuthorityFigures(cached))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


@KINDS
def test_objects_are_counted_by_authority_and_condition(kind: type[KubernetesObject], metric: str) -> None:
    good = status("ClusterAPI", ("Paused", "True", "Else"), ("Synchronized", "True", "ResourceSynchronized"))
    bad = status("MachineAPI", ("Synchronized", "False", "FailedToConvertMAPIMachineToCAPI"))

    assert series(kind, good, bad, good) == [
        metric + '{authority="ClusterAPI",reason="ResourceSynchronized",synchronized="True"} 2.0',
        metric + '{authority="MachineAPI",reason="FailedToConvertMAPIMachineToCAPI",synchronized="False"} 1.0',
    ]


@KINDS
def test_what_nobody_has_said_anything_about_is_counted_too(kind: type[KubernetesObject], metric: str) -> None:
    assert series(kind, {}) == [metric + '{authority="",reason="",synchronized="None"} 1.0']


@KINDS
def test_what_cannot_be_read_is_counted_too(kind: type[KubernetesObject], metric: str) -> None:
    assert series(kind, {"conditions": "none"}) == [
        metric + '{authority="",reason="Unreadable",synchronized="None"} 1.0'
    ]


def test_without_objects_there_are_no_series() -> None:
    assert series(mapi.Machine) == []


def idle(why: Idle | None) -> list[str]:
    registry = CollectorRegistry()
    registry.register(IdleFigures(lambda: why))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_while_it_idles_the_reason_is_shown() -> None:
    assert idle(Idle("OpenShift's migration operator works", "LeaseHeld")) == ['windlass_idle{reason="LeaseHeld"} 1.0']
    assert idle(None) == []
