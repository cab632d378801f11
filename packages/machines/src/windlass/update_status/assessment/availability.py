"""Says whether a node can take Pods, and if not, why: in short, for a title, and in full."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.capability.goquote import quote
from windlass.update_status.constants import (
    CURRENT_CONFIG,
    CURRENT_IMAGE,
    DESIRED_CONFIG,
    DESIRED_IMAGE,
    LAYERING_LABEL,
    NEWEST_IMAGE,
    STATE,
)
from windlass.update_status.times import MINUTE, ZERO, Duration, Moment, known_moment, moment

DEGRADED_STATES: Final = frozenset({"Degraded", "Unreconcilable"})


class Cause(Struct, frozen=True, kw_only=True):
    """One reason why a node takes no Pods. `patience`: so long it is normal; None: it always is."""

    short: str
    title: str
    text: str
    since: Moment = ZERO
    patience: Duration | None = None


class _Bad(Struct, frozen=True):
    good: str
    short: str
    title: str
    patience: Duration


_BAD: Final = {
    "Ready": _Bad("True", "Not ready", "Node {} is not ready", 5 * MINUTE),
    "DiskPressure": _Bad("False", "Disk pressure", "Node {} has disk pressure", MINUTE),
    "NetworkUnavailable": _Bad("False", "Network unavailable", "Node {} has unavailable network", MINUTE),
}


class Unavailability(Struct, frozen=True):
    """Why a node is unavailable."""

    causes: tuple[Cause, ...]

    @property
    def short(self) -> str:
        return " | ".join(cause.short for cause in self.causes)

    @property
    def title(self) -> str:
        return " | ".join(cause.title for cause in self.causes)

    @property
    def text(self) -> str:
        return " | ".join(cause.text for cause in self.causes)

    @property
    def since(self) -> Moment | None:
        return min((cause.since for cause in self.causes if cause.since != ZERO), default=None)

    def is_serious(self, wall: Moment) -> bool:
        """Whether a cause is not normal during an update, or has been there for too long."""
        return any(cause.patience is not None and not cause.since > wall - cause.patience for cause in self.causes)


def unavailability(node: Node, pool: MachineConfigPool) -> Unavailability | None:
    """Why the node is unavailable. None also if it does not have the image that its pool has."""
    causes = tuple(_causes(node))
    return Unavailability(causes) if causes and _has_image_of(pool, node) else None


def not_ready_since(node: Node) -> Moment | None:
    """Since when the node is not ready; None: it is, or that is not known."""
    said = (one for one in node.status.conditions if one.type == "Ready" and one.status != "True")
    return next((known_moment(one.last_transition_time) for one in said), None)


def _causes(node: Node) -> Iterator[Cause]:
    found = False
    for condition in node.status.conditions:
        bad = _BAD.get(condition.type)
        if bad is None or condition.status == bad.good:
            continue
        found = True
        yield Cause(
            short=bad.short,
            title=bad.title.format(node.metadata.name),
            text=f'Node has a {condition.type}!={bad.good} condition with Reason "{bad.short}" and message '
            + quote(condition.message),
            since=moment(condition.last_transition_time),
            patience=bad.patience,
        )
    if node.spec.unschedulable:
        found = True
        yield _always("Node is marked unschedulable")
    if not found and not (_is_done(node) or node.metadata.annotations.get(STATE) in DEGRADED_STATES):
        yield _always("Machine Config Daemon is processing the node")


def _always(text: str) -> Cause:
    return Cause(short=text, title=text, text=text)


def _is_done(node: Node) -> bool:
    said = node.metadata.annotations
    config = said.get(CURRENT_CONFIG, "")
    if not config or config != said.get(DESIRED_CONFIG) or said.get(STATE) != "Done":
        return False
    if CURRENT_IMAGE not in said and DESIRED_IMAGE not in said:
        return True
    image = said.get(CURRENT_IMAGE, "")
    return bool(image) and image == said.get(DESIRED_IMAGE)


def _has_image_of(pool: MachineConfigPool, node: Node) -> bool:
    layered = LAYERING_LABEL in pool.metadata.labels
    newest = pool.metadata.annotations.get(NEWEST_IMAGE, "") if layered else ""
    return node.metadata.annotations.get(DESIRED_IMAGE, "") == newest
