"""The controllers of Machine sync: one for Machines, one for MachineSets."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from windlass.kube.control.controller import Controller
from windlass.kube.control.seen import IndexedReader
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.platforms import Platform

Make: TypeAlias = Callable[[IndexedReader], Controller[str, Any]]
"""A controller, given the reader that it observes with."""


def makers(*, platform: Platform, namespaces: Namespaces, workers: int = 16, resync: float = 600.0) -> tuple[Make, ...]:
    """All controllers; each has `workers`. MachineSets come first, because Machines wait for their set."""
    how: dict[str, Any] = {"platform": platform, "namespaces": namespaces, "resync": resync}
    return (
        partial(machine_set_controller, workers=max(1, workers // 4), **how),
        partial(machine_controller, workers=workers, **how),
    )


def controllers(
    reader: IndexedReader,
    *,
    platform: Platform,
    namespaces: Namespaces,
    workers: int = 16,
    resync: float = 600.0,
) -> tuple[Controller[str, Any], ...]:
    """All controllers with one reader."""
    made = makers(platform=platform, namespaces=namespaces, workers=workers, resync=resync)
    return tuple(make(reader) for make in made)
