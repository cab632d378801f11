"""The controllers of the capability, in all namespaces or in some."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import structs

from windlass.capability.service import Make
from windlass.kube.control.controller import Controller
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cluster.controller import cluster_controller
from windlass.openstack.floating.controller import floating_controller
from windlass.openstack.identity.controller import identity_controller
from windlass.openstack.machine.controller import machine_controller
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE
from windlass.openstack.machine_api.controller import machine_api_controller
from windlass.openstack.pool.controller import pool_controller
from windlass.openstack.refused import with_refusals
from windlass.openstack.server.controller import server_controller


def makers(clouds: Clouds, namespaces: Sequence[str] = (), *, machine_api: bool = False) -> tuple[Make, ...]:
    """All controllers, for objects in `namespaces`; without any: in all. `machine_api`: that of its Machines too."""
    every: Final[tuple[Callable[..., Controller[Any, Any]], ...]] = (
        partial(server_controller, clouds=clouds, machine_api=MACHINE_API_NAMESPACE if machine_api else ""),
        partial(machine_controller, born=clouds.born),
        partial(cluster_controller, clouds=clouds),
        partial(pool_controller, clouds=clouds),
        partial(floating_controller, clouds=clouds, machine_api=machine_api),
        identity_controller,
        *((partial(machine_api_controller, clouds=clouds),) if machine_api else ()),
    )
    return tuple(partial(_made, make, tuple(dict.fromkeys(namespaces))) for make in every)


def _made(make: Callable[..., Controller[Any, Any]], namespaces: tuple[str, ...], reader: Any) -> Controller[Any, Any]:
    if not namespaces:
        return with_refusals(make(reader, namespace=None))
    made = with_refusals(make(reader, namespace=namespaces[0]))
    return structs.replace(
        made,
        watches=tuple(each for watch in made.watches for each in _in_each(watch, namespaces)),
        permissions=tuple(each for declared in made.permissions for each in _in_each(declared, namespaces)),
    )


def _in_each(declared: Any, namespaces: tuple[str, ...]) -> tuple[Any, ...]:
    """The watch or permission in each of the namespaces, if it is for the first one."""
    if getattr(declared, "namespace", None) != namespaces[0]:
        return (declared,)
    return tuple(structs.replace(declared, namespace=each) for each in namespaces)
