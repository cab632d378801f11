"""Declares the controller: its watches, and its rights to read and write."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct, field, structs

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node, Pod, Taint
from windlass.api.machineconfiguration import GROUP, MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import PlainCondition
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update import UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.api.update_record import UpdateRecord
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.pace import Pace
from windlass.kube.control.permissions import asks, emits_events, permission, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.population import Population
from windlass.kube.object import Object
from windlass.update_status.constants import MCO_NAMESPACE
from windlass.update_status.controller.alerts import AlertsAnswerer, AlertsSettings, FiringAlerts
from windlass.update_status.controller.decide import NAME, decide
from windlass.update_status.controller.drains import DrainsAnswerer, WhatHolds
from windlass.update_status.controller.informants import Informants
from windlass.update_status.controller.observe import cached_sources
from windlass.update_status.controller.snapshot import UpdateStatusSnapshot
from windlass.update_status.document import Settled
from windlass.update_status.informers.feed import Feed

CONTROLLER: Final = "update-status"

PACE: Final = Pace(floor=1.0, factor=5.0, most=15.0)
"""A large object is expensive to write: the API server validates all of it. During an update API servers restart, and a
write that hangs must not make the object late by a minute."""

BYTES_A_SECOND: Final = 32 * 1024
"""etcd keeps each version of the object whole until it is compacted, so a larger object is written less often."""


def update_status_controller(
    reader: Any,
    *,
    alerts: AlertsSettings | None = None,
    feed: Feed | None = None,
    namespaces: Sequence[str] = (),
    resync: float = 600.0,
    clock: Clock | None = None,
) -> Controller[str, UpdateStatusSnapshot]:
    """Keeps the one object up to date. `feed`: what informers of others told; None: none is asked. `namespaces`:
    patterns of those whose Services are asked; none: all."""
    firing, settled = AlertsAnswerer(alerts or AlertsSettings(), NAME), Settled()
    drains = DrainsAnswerer(reader, clock or SystemClock())

    async def observe(key: str, last: Outcome) -> UpdateStatusSnapshot:
        informants = None
        if feed is not None:
            found = await reader.see_all(UpdateInformer)
            every = tuple(found.readable) if isinstance(found, Population) else ()
            informants = Informants(every=every, heard=dict(feed.heard), namespaces=namespaces)
        return UpdateStatusSnapshot(
            stored=await reader.see(UpdateStatus, key),
            records=await reader.see_all(UpdateRecord),
            sources=await cached_sources(reader),
            informants=informants,
            settled=settled,
        )

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
            Watch(MachineOSBuild, _the_one, cache_only=True, optional=True),
            Watch(Node, _the_one, cache_only=True, optional=True, when=_node_differs),
            Watch(Deployment, _the_one, namespace=MCO_NAMESPACE, cache_only=True, optional=True),
            *((Watch(UpdateInformer, _the_one, cache_only=True, optional=True),) if feed else ()),
        ),
        sources=(firing.poll, *((feed,) if feed else ())),
        permissions=(
            writes(UpdateStatus, "create"),
            writes(UpdateStatus, "patch", subresource="status"),
            writes(UpdateRecord, "create", "patch", "delete"),
            writes(UpdateRecord, "patch", subresource="status"),
            emits_events(namespace="default"),
            permission(Pod, "list"),
            permission(PodDisruptionBudget, "list"),
            asks(FiringAlerts, WhatHolds),
        ),
        answerers={FiringAlerts.SYSTEM: firing, WhatHolds.SYSTEM: drains},
        observe=observe,
        decide=decide,
        workers=1,
        resync=resync,
        pace=pace_of(settled),
    )


def pace_of(settled: Settled) -> Pace:
    """The pace of an object as large as `settled` wrote it last."""
    return structs.replace(PACE, asked=lambda: settled.size / BYTES_A_SECOND)


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
