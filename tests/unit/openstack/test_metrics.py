"""What dashboards and alerts see of machines on OpenStack."""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.openstack.metrics import OpenStackFigures


def series(*statuses: Any, idle: bool = False, of: type[KubernetesObject] = OpenStackServer) -> list[str]:
    """What is scraped when there is an object with each of these statuses, without the comments."""
    found = [Object.of(of, {"metadata": {"name": f"s-{n}"}, "status": said}) for n, said in enumerate(statuses)]

    def cached(kind: type[KubernetesObject]) -> Iterable[Object[Any]]:
        return found if kind is of else ()

    registry = CollectorRegistry()
    registry.register(OpenStackFigures(cached, lambda: idle))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def ready(status: str, reason: str) -> dict[str, Any]:
    other = {"type": "Paused", "status": "False", "reason": "NotPaused"}
    return {"conditions": [other, {"type": "Ready", "status": status, "reason": reason}]}


def test_objects_are_counted_by_their_ready_condition() -> None:
    full = ready("False", "QuotaExceeded")
    assert series(ready("True", "Ready"), full, full) == [
        'windlass_openstack_objects{kind="OpenStackServer",ready="False",reason="QuotaExceeded"} 2.0',
        'windlass_openstack_objects{kind="OpenStackServer",ready="True",reason="Ready"} 1.0',
    ]


def test_machines_of_the_machine_api_are_counted_where_they_are_served() -> None:
    counted = 'windlass_openstack_objects{kind="Machine",ready="True",reason="Ready"} 1.0'
    assert series(ready("True", "Ready"), of=Machine) == [counted]


def test_objects_that_say_nothing_or_cannot_be_read_are_counted_too() -> None:
    assert series({}, {"conditions": "none"}) == [
        'windlass_openstack_objects{kind="OpenStackServer",ready="None",reason=""} 1.0',
        'windlass_openstack_objects{kind="OpenStackServer",ready="None",reason="Unreadable"} 1.0',
    ]


def test_beside_a_provider_at_work_it_idles() -> None:
    assert series(idle=True) == ['windlass_idle{reason="ProviderWorks"} 1.0']
    assert series() == []
