"""The controllers of the capability, in all namespaces or in some."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

from msgspec import structs

from windlass.capability.service import Make
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import CallPermission, Declaration
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cluster.controller import cluster_controller
from windlass.openstack.identity.controller import identity_controller
from windlass.openstack.machine.controller import machine_controller
from windlass.openstack.server.controller import server_controller


class _Maker(Protocol):
    """Makes a controller for `namespace` (None: for all)."""

    def __call__(self, reader: Any, *, namespace: str | None) -> Controller[Any, Any]: ...


def makers(clouds: Clouds, namespaces: Sequence[str] = ()) -> tuple[Make, ...]:
    """All controllers, for objects in `namespaces`; without any: in all."""
    every: Final[tuple[_Maker, ...]] = (
        partial(server_controller, clouds=clouds),
        partial(machine_controller, born=clouds.born),
        partial(cluster_controller, clouds=clouds),
        identity_controller,
    )
    return tuple(partial(_made, make, tuple(dict.fromkeys(namespaces))) for make in every)


def _made(make: _Maker, namespaces: tuple[str, ...], reader: Any) -> Controller[Any, Any]:
    if not namespaces:
        return make(reader, namespace=None)
    first, *others = namespaces
    made = make(reader, namespace=first)
    return structs.replace(
        made,
        watches=tuple(each for watch in made.watches for each in _watches(watch, first, others)),
        permissions=tuple(each for said in made.permissions for each in _permissions(said, first, others)),
    )


def _watches(watch: Watch[Any], first: str, others: Sequence[str]) -> tuple[Watch[Any], ...]:
    """A watch of the first namespace, and the same in the others."""
    if watch.namespace != first:
        return (watch,)
    return (watch, *(structs.replace(watch, namespace=other) for other in others))


def _permissions(declared: Declaration, first: str, others: Sequence[str]) -> tuple[Declaration, ...]:
    if isinstance(declared, CallPermission) or declared.namespace != first:
        return (declared,)
    return (declared, *(structs.replace(declared, namespace=other) for other in others))
