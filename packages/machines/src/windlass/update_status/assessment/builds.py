"""Finds the build of the OS image that the nodes of a pool wait for.

| seen | the build |
|---|---|
| a MachineOSBuild of the pool's MachineConfig: Succeeded | none: the image is there |
| the same: Failed | failed |
| the pool's `ImageBuildDegraded` is True | failed |
| a MachineOSBuild of the pool's MachineConfig: Interrupted | none: another build comes |
| the same: Building, or none of these | it runs, or waits |
| the pool's `ImageBuildDegraded` is False because of Building | it runs |
| the pool's `BuildFailed`, `Building` or `BuildPending` is True | failed, it runs, or it waits |
| otherwise | none |

`ImageBuildDegraded` is the Machine Config Operator's, and the conditions of the last but one row are those of OS builds
without a MachineOSConfig.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import Condition, PlainCondition
from windlass.update_status.conditions import find
from windlass.update_status.times import Moment, known_moment


class Stage(StrEnum):
    """How far a build is; the value is the step of the nodes that wait for it."""

    WAITING = "waiting for the build of the OS image"
    BUILDING = "building the OS image"
    FAILED = "the OS image failed to build"


class Build(Struct, frozen=True, kw_only=True):
    """`about`: the name of the MachineOSBuild, "" if the pool itself reports. `since`: when the stage began."""

    stage: Stage
    about: str = ""
    since: Moment | None = None
    message: str = ""


_OWN: Final = (("BuildFailed", Stage.FAILED), ("Building", Stage.BUILDING), ("BuildPending", Stage.WAITING))


def build_of(pool: MachineConfigPool, builds: Iterable[MachineOSBuild]) -> Build | None:
    """The build that the pool waits for; None: there is none."""
    wanted, found = pool.spec.configuration.name, None
    for one in builds:
        # A MachineOSConfig has the name of its pool.
        if one.spec.machine_os_config.name == pool.metadata.name and one.spec.machine_config.name == wanted:
            found = one if found is None or _began(found) < _began(one) else found
    of_object = None if found is None else {one.type: one for one in found.status.conditions if one.status == "True"}
    about = "" if found is None else found.metadata.name
    if of_object is not None and "Succeeded" in of_object:
        return None
    if of_object is not None and (failed := of_object.get("Failed")) is not None:
        return _said(Stage.FAILED, failed, about)
    degraded = find(pool.status.conditions, "ImageBuildDegraded")
    if degraded is not None and degraded.status == "True":
        return _said(Stage.FAILED, degraded, about)
    if found is not None and of_object is not None:
        if "Interrupted" in of_object:
            return None
        if (building := of_object.get("Building")) is not None:
            return _said(Stage.BUILDING, building, about)
        return Build(stage=Stage.WAITING, about=about, since=known_moment(found.metadata.creation_timestamp))
    if degraded is not None and degraded.status == "False" and degraded.reason == "Building":
        return _said(Stage.BUILDING, degraded)
    true = {one.type: one for one in pool.status.conditions if one.status == "True"}
    return next((_said(stage, true[kind]) for kind, stage in _OWN if kind in true), None)


def _began(build: MachineOSBuild) -> str:
    return build.status.build_start or build.metadata.creation_timestamp or ""


def _said(stage: Stage, said: Condition | PlainCondition, about: str = "") -> Build:
    return Build(stage=stage, about=about, since=known_moment(said.last_transition_time), message=said.message)
