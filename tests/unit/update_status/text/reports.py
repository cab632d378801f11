"""Reports made by hand: an update that began at START and is looked at 14 minutes later."""

from textwrap import dedent

from windlass.update_status.assessment.pools import summarize
from windlass.update_status.report import (
    ControlPlane,
    Health,
    Impact,
    Insight,
    Level,
    Node,
    Operator,
    Phase,
    Pool,
    Reference,
    Report,
    State,
    Versions,
)
from windlass.update_status.times import HOUR, MINUTE, Moment, moment

START = moment("2024-02-27T12:00:00Z")
NOW = START + 14 * MINUTE

VERSIONS = Versions(target="4.16.1", previous="4.16.0")


def operator(
    name: str,
    state: State = State.UPDATED,
    *,
    health: Health = Health.HEALTHY,
    since: Moment = START,
    reason: str = "",
    message: str = "",
    why: tuple[str, str] = ("", ""),
) -> Operator:
    """`why`: reason and message of its health."""
    return Operator(
        name=name,
        state=state,
        health=health,
        since=since,
        reason=reason,
        message=message,
        health_since=START,
        health_reason=why[0],
        health_message=why[1],
    )


UPDATED = operator("dns")
PENDING = operator("network", State.PENDING)


def control_plane(
    *operators: Operator,
    versions: Versions | None = VERSIONS,
    updating: str = "True",
    completed: Moment | None = None,
    last_progress: Moment | None = None,
) -> ControlPlane:
    return ControlPlane(
        updating=updating,
        since=START,
        versions=versions,
        started=START,
        completed=completed,
        last_progress=last_progress,
        baseline=HOUR,
        operators=operators,
    )


def node(name: str, phase: Phase = Phase.PENDING, *, degraded: str | None = None, unavailable: str = "") -> Node:
    """`degraded` and `unavailable` say why it is."""
    return Node(
        name=name,
        phase=phase,
        updating=phase in (Phase.DRAINING, Phase.UPDATING, Phase.REBOOTING),
        version="4.16.1" if phase is Phase.UPDATED else "4.16.0",
        unavailable=bool(unavailable),
        why_unavailable=unavailable,
        degraded=degraded is not None,
        why_degraded=degraded or "",
    )


def pool(name: str, *nodes: Node, paused: bool = False) -> Pool:
    return Pool(name=name, paused=paused, nodes=nodes, summary=summarize(nodes))


def insight(
    summary: str,
    level: Level = Level.WARNING,
    *,
    started: Moment | None = START,
    description: str = "What it is.",
    reference: str = "https://example.com/runbook",
    resources: tuple[Reference, ...] = (),
) -> Insight:
    return Insight(
        level=level,
        impact=Impact.UPDATE_STALLED,
        summary=summary,
        description=description,
        reference=reference,
        started=started,
        resources=resources,
    )


def report(
    plane: ControlPlane | None = None,
    *pools: Pool,
    insights: tuple[Insight, ...] = (),
    alerts: str = "",
    unassigned: tuple[str, ...] = (),
    gaps: tuple[str, ...] = (),
) -> Report:
    plane = control_plane(UPDATED, PENDING) if plane is None else plane
    return Report(control_plane=plane, pools=pools, insights=insights, alerts=alerts, unassigned=unassigned, gaps=gaps)


def lines(text: str) -> str:
    """The text without its indentation; `$` stands for the end of a line that ends in spaces."""
    return dedent(text).lstrip("\n").replace("$\n", "\n")
