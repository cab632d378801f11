"""Declares the controller: its watches, and its rights to read and write."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node, Pod, Taint
from windlass.api.machineconfiguration import GROUP, MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.meta import PlainCondition
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update import UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.api.update_record import UpdateRecord
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.pace import Pace
from windlass.kube.control.permissions import emits_events, permission, writes
from windlass.kube.object import Object
from windlass.update_status.constants import MCO_NAMESPACE
from windlass.update_status.controller.alerts import Alerts, AlertsSettings
from windlass.update_status.controller.decide import decide
from windlass.update_status.controller.drains import Drains
from windlass.update_status.controller.informants import Informants
from windlass.update_status.controller.observe import NAME, UpdateStatusObserver
from windlass.update_status.controller.snapshot import UpdateStatusSnapshot

CONTROLLER: Final = "update-status"

PACE: Final = Pace(floor=1.0, factor=5.0)
"""A large object is expensive to write: the API server validates all of it."""


def update_status_controller(
    reader: Any,
    *,
    alerts: AlertsSettings | None = None,
    informants: Informants | None = None,
    resync: float = 600.0,
    clock: Clock | None = None,
) -> Controller[str, UpdateStatusSnapshot]:
    """Keeps the one object up to date. `informants`: what informers of others tell; None: none is asked."""
    asked = Alerts(alerts or AlertsSettings(), NAME)
    clock = clock or SystemClock()
    return Controller(
        name=CONTROLLER,
        watches=(
            # First: it is what plans are about, since it is there before the UpdateStatus is.
            Watch(ClusterVersion, _the_one, cache_only=True, optional=True),
            Watch(UpdateStatus, _the_one),
            Watch(UpdateRecord, _the_one),
            Watch(ClusterOperator, _the_one, cache_only=True, optional=True),
            Watch(MachineConfigPool, _the_one, cache_only=True, optional=True),
            Watch(MachineConfig, _the_one, cache_only=True, optional=True, metadata_only=True),
            Watch(MachineConfigNode, _the_one, cache_only=True, optional=True),
            Watch(Node, _the_one, cache_only=True, optional=True, when=_node_differs),
            Watch(Deployment, _the_one, namespace=MCO_NAMESPACE, cache_only=True, optional=True),
            *((Watch(UpdateInformer, _the_one, cache_only=True, optional=True),) if informants else ()),
        ),
        sources=(asked.poll, *((informants.feed,) if informants else ())),
        permissions=(
            writes(UpdateStatus, "create"),
            writes(UpdateStatus, "patch", subresource="status"),
            writes(UpdateRecord, "create", "patch", "delete"),
            emits_events(namespace="default"),
            permission(Pod, "list"),
            permission(PodDisruptionBudget, "list"),
        ),
        observe=UpdateStatusObserver(reader, asked, Drains(reader, clock), informants, clock),
        decide=decide,
        workers=1,
        resync=resync,
        pace=PACE,
    )


def _the_one(_: Object[Any]) -> Iterable[str]:
    return (NAME,)


class _Metadata(Struct, frozen=True, gc=False):
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class _Spec(Struct, frozen=True, gc=False):
    unschedulable: bool = False
    taints: list[Taint] = field(default_factory=list)


class _Status(Struct, frozen=True, gc=False):
    conditions: list[PlainCondition] = field(default_factory=list)


class _Seen(Struct, frozen=True, gc=False):
    """The fields of a Node that reports depend on; its heartbeats are in none of them."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def _node_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    if old is None or new is None:
        return True
    before, after = old.glimpse(_Seen), new.glimpse(_Seen)
    if before is None or after is None:
        return True
    return (
        before.metadata.labels != after.metadata.labels
        or before.spec != after.spec
        or before.status != after.status
        or _of_updates(before.metadata.annotations) != _of_updates(after.metadata.annotations)
    )


def _of_updates(annotations: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key.startswith(GROUP)}
