"""A paused machine: its OpenStackServer is paused with it, and `Paused` is True once that one stands still.

The OpenStackServer follows the Cluster by itself. The annotation of the machine is handed down, with a value that says
so: it is taken back with the machine's own, and a pause that somebody else set on the OpenStackServer stays.
"""

from datetime import datetime
from typing import Final

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import condition, is_true
from windlass.kube.control.plan import Merge, Plan, WaitFor, target
from windlass.kube.control.seen import Present
from windlass.openstack.constants import PAUSED_ANNOTATION
from windlass.openstack.machine.conditions import write
from windlass.openstack.machine.existing import own_server
from windlass.openstack.machine.snapshot import HANDED_DOWN, OpenStackMachineSnapshot
from windlass.openstack.status import PAUSED, RESTS, Reason

_WAITS: Final = "Waiting for the OpenStackServer to stand still"


def pause(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], *, now: datetime) -> Plan:
    server = own_server(seen, found)
    if server is None or is_true(server.object.status.conditions, PAUSED):
        handed = None if server is None else _annotated(found, server)
        return Plan.of(handed, write(seen, found, (RESTS,), now=now, awaited="Paused"))
    waits = condition(PAUSED, False, Reason.PAUSING, _WAITS)
    return Plan.of(_annotated(found, server), write(seen, found, (waits,), now=now, awaited=_WAITS)).then(
        WaitFor(f"OpenStackServer {server.metadata.name} to report Paused")
    )


def resume(server: Present[OpenStackServer]) -> Merge | None:
    """Take back the annotation that was handed down; None if there is none."""
    annotations = dict(server.metadata.annotations)
    if annotations.get(PAUSED_ANNOTATION) != HANDED_DOWN:
        return None
    left = {name: value for name, value in annotations.items() if name != PAUSED_ANNOTATION}
    return _merge(server, left, "its machine is not paused any more")


def _annotated(found: Present[OpenStackMachine], server: Present[OpenStackServer]) -> Merge | None:
    annotations = dict(server.metadata.annotations)
    if PAUSED_ANNOTATION not in found.metadata.annotations or PAUSED_ANNOTATION in annotations:
        return None
    return _merge(server, {**annotations, PAUSED_ANNOTATION: HANDED_DOWN}, "its machine is paused")


def _merge(server: Present[OpenStackServer], annotations: dict[str, str], why: str) -> Merge:
    observed = {"metadata": {"annotations": dict(server.metadata.annotations)}}
    return Merge(target=target(server), observed=observed, desired={"metadata": {"annotations": annotations}}, why=why)
