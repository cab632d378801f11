"""Tells from an object how far its migration is. Pure functions."""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from windlass.kube.control.seen import Present, Seen, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, MIGRATING
from windlass.machine_sync.mirroring.move import PAUSED
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED
from windlass.machine_sync.preflight.checks import condition


class MigrationStage(StrEnum):
    """In the order of a migration."""

    ASKED = "asked for"
    MIGRATING = "migrating"
    SYNCHRONIZING = "synchronizing"
    THERE = "there"
    LOST = "lost"
    """It will not arrive: the request was withdrawn, or the object deleted."""


class Reached(Struct, frozen=True):
    """The stage of an object, and the condition for the next stage. `stuck`: the controller reports a failure, from
    which it may recover."""

    stage: MigrationStage
    text: str = ""
    stuck: bool = False

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}" if self.text else str(self.stage)


def how_far(seen: Seen[Any], target: str) -> Reached:
    """How far it is on its way to `target`."""
    if isinstance(seen, Unreadable):
        return Reached(MigrationStage.ASKED, f"it cannot be read: {seen.why}", stuck=True)
    if not isinstance(seen, Present):
        return Reached(MigrationStage.LOST, "it was deleted")
    found = seen.object
    if seen.deleting:
        return Reached(MigrationStage.LOST, "it is being deleted")
    if found.spec.authoritative_api != target:
        return Reached(
            MigrationStage.LOST, f"somebody set spec.authoritativeAPI to {found.spec.authoritative_api or 'nothing'}"
        )
    told = condition(found, SYNCHRONIZED)
    failure = f"{told.reason}: {told.message}" if told is not None and told.status == "False" else ""
    match found.status.authoritative_api:
        case authority if authority == target:
            if told is not None and told.status == "True":
                return Reached(MigrationStage.THERE)
            return Reached(MigrationStage.SYNCHRONIZING, failure, stuck=bool(failure))
        case authority if authority == MIGRATING:
            return Reached(MigrationStage.MIGRATING, _waits_for(found, target))
        case _:
            return Reached(MigrationStage.ASKED, failure, stuck=bool(failure))


def _waits_for(found: Any, target: str) -> str:
    if target != CLUSTER_API:
        return "waits until Cluster API has paused"
    paused = condition(found, PAUSED)
    if paused is None or paused.status != "True":
        return "waits until the Machine API has paused"
    return ""
