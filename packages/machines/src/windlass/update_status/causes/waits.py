"""Finds the nodes in trouble that operators wait for: one node, and not the five operators that report it.

| a node that no other cause explains, and that an operator names | cause |
|---|---|
| it is degraded, or has been unavailable for more than 5 minutes | Node |
| an operator says that it is not ready, and no pool has it | Node |
| otherwise | none |

An operator waits for a node if it is not well, or is being updated, and its message names the node.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import structs

from windlass.update_status.causes.names import listed, node_reference, operator_reference
from windlass.update_status.report import (
    Cause,
    CauseKind,
    ControlPlane,
    Health,
    Level,
    Node,
    Operator,
    Reference,
    Report,
    State,
)
from windlass.update_status.times import MINUTE, Duration, Moment, moment

TOLERATED: Final[Duration] = 5 * MINUTE
"""So long a node may be unavailable: it restarts."""

_NOT_READY: Final = re.compile(
    r'node "([^"]+)" not ready(?: since (\d{4}-\d\d-\d\d) ([0-2]\d:[0-5]\d:[0-5]\d) \+0000 UTC)?'
)
"""How operators of the control plane report a node. Source: `pkg/operator/staticpod/controller/node` of library-go."""


def with_operators(causes: Iterable[Cause], report: Report) -> tuple[Cause, ...]:
    """The causes with the operators that wait for nodes which they affect."""
    return tuple(
        structs.replace(
            cause,
            affected=tuple(
                dict.fromkeys(
                    (
                        *cause.affected,
                        *(
                            operator_reference(operator.name)
                            for node in cause.affected
                            for operator in _waiting(node.name, report.control_plane)
                        ),
                    )
                )
            ),
        )
        for cause in causes
    )


def node_causes(report: Report, held: Sequence[Cause], *, now: Moment) -> Iterator[Cause]:
    """A cause for each node in trouble that operators wait for, without those that `held` affect."""
    explained = {one.name for cause in held for one in cause.affected if one.resource == "nodes"}
    known = {node.name: node for pool in report.pools for node in pool.nodes}
    for node in known.values():
        if node.name not in explained and _is_in_trouble(node, now):
            yield from _of_node(node, report.control_plane)
    for name, (since, text) in _reported(report.control_plane).items():
        if name not in known:
            yield _of_unknown(name, since, text, _waiting(name, report.control_plane))


def _is_in_trouble(node: Node, now: Moment) -> bool:
    since = node.unavailable_since
    return node.degraded or (node.unavailable and since is not None and now - since > TOLERATED)


def _waiting(node: str, plane: ControlPlane) -> list[Operator]:
    named = re.compile(rf"(?<![\w.-]){re.escape(node)}(?![\w-]|\.\w)")
    return [operator for operator in plane.operators if any(named.search(text) for text in _said(operator))]


def _said(operator: Operator) -> Iterator[str]:
    if operator.health is not Health.HEALTHY:
        yield operator.health_message
    if operator.state is State.PROGRESSING:
        yield operator.message


def _reported(plane: ControlPlane) -> dict[str, tuple[Moment | None, str]]:
    """The nodes that operators call not ready, since when, and how the first of them says it."""
    found: dict[str, tuple[Moment | None, str]] = {}
    for text in (text for operator in plane.operators for text in _said(operator)):
        for one in _NOT_READY.finditer(text):
            name, day, time = one.groups()
            found.setdefault(name, (_moment(day, time), text))
    return found


def _moment(day: str | None, time: str | None) -> Moment | None:
    try:
        return moment(f"{day}T{time}Z") if day else None
    except ValueError:  # 2024-02-30
        return None


def _of_node(node: Node, plane: ControlPlane) -> Iterator[Cause]:
    operators = _waiting(node.name, plane)
    if not operators:
        return
    why = "is degraded" if node.degraded else f"is unavailable ({node.why_unavailable})"
    yield Cause(
        kind=CauseKind.NODE,
        level=Level.WARNING,
        summary=f"Node {node.name} {why}, and {_wait(operators)} for it",
        description=node.why_degraded if node.degraded else "",
        remedy="Correct what its Machine Config Daemon reports; its log says more."
        if node.degraded
        else "See whether the machine of the node runs, and the log of its kubelet.",
        started=node.degraded_since if node.degraded else node.unavailable_since,
        about=(node_reference(node),),
        affected=_references(operators),
    )


def _of_unknown(name: str, since: Moment | None, text: str, operators: Sequence[Operator]) -> Cause:
    return Cause(
        kind=CauseKind.NODE,
        level=Level.WARNING,
        summary=f"Node {name} is not ready, and {_wait(operators)} for it",
        description=f"No pool has such a node: it may have been deleted. Operator {operators[0].name} says: {text}",
        remedy="See whether the machine of the node runs, and the log of its kubelet.",
        started=since,
        about=(Reference("", "nodes", name),),
        affected=_references(operators),
    )


def _wait(operators: Sequence[Operator]) -> str:
    names = listed([operator.name for operator in operators])
    return f"operator {names} waits" if len(operators) == 1 else f"operators {names} wait"


def _references(operators: Iterable[Operator]) -> tuple[Reference, ...]:
    return tuple(operator_reference(operator.name) for operator in operators)
