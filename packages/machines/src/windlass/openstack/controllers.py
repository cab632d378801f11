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
from windlass.openstack.machine_api.controller import machine_api_controller
from windlass.openstack.pool.controller import pool_controller
from windlass.openstack.refused import with_refusals
from windlass.openstack.server.controller import server_controller
from windlass.openstack.template.controller import template_controller

_EACH: Final = "*"
"""Stands for each of several namespaces. No namespace has this name, so none that is named is taken for it."""


def makers(clouds: Clouds, namespaces: Sequence[str] = (), *, machine_api: str = "") -> tuple[Make, ...]:
    """All controllers, for objects in `namespaces`; without any: in all. `machine_api`: the one namespace whose
    Machines of the Machine API are served too; empty: none are."""
    every: Final[tuple[Callable[..., Controller[Any, Any]], ...]] = (
        partial(server_controller, clouds=clouds, machine_api=machine_api),
        partial(machine_controller, born=clouds.born),
        partial(cluster_controller, clouds=clouds),
        partial(pool_controller, clouds=clouds),
        partial(floating_controller, clouds=clouds, machine_api=machine_api),
        partial(template_controller, clouds=clouds),
        identity_controller,
    )

    def of_machines(reader: Any) -> Controller[Any, Any]:
        return with_refusals(
            machine_api_controller(reader, clouds=clouds, namespace=machine_api, cluster_api=namespaces)
        )

    made = (partial(_made, make, tuple(dict.fromkeys(namespaces))) for make in every)
    return (*made, *((of_machines,) if machine_api else ()))


def _made(make: Callable[..., Controller[Any, Any]], namespaces: tuple[str, ...], reader: Any) -> Controller[Any, Any]:
    if not namespaces:
        return with_refusals(make(reader, namespace=None))
    made = with_refusals(make(reader, namespace=_EACH))
    return structs.replace(
        made,
        watches=tuple(each for watch in made.watches for each in _in_each(watch, namespaces)),
        permissions=tuple(each for declared in made.permissions for each in _in_each(declared, namespaces)),
    )


def _in_each(declared: Any, namespaces: tuple[str, ...]) -> tuple[Any, ...]:
    """The watch or permission in each of the namespaces, if it is for each of them."""
    if getattr(declared, "namespace", None) != _EACH:
        return (declared,)
    return tuple(structs.replace(declared, namespace=each) for each in namespaces)
