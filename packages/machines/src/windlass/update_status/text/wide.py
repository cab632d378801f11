"""Renders a report in full: what `oc` leaves out, cuts off or does not know, one table for each section.

Texts from the cluster are shown whole. What is not known has a line that says why.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import structs

from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.constants import CONTROL_PLANE_POOLS, MASTER
from windlass.update_status.estimate import progress
from windlass.update_status.report import (
    CauseKind,
    ControlPlane,
    Estimate,
    Health,
    Informed,
    Insight,
    Node,
    Operator,
    Pool,
    Reference,
    Report,
    State,
    Versions,
)
from windlass.update_status.text.control_plane import estimated, in_state, known_target, operator_health
from windlass.update_status.text.health import in_order as insights_in_order
from windlass.update_status.text.nodes import in_order as nodes_in_order
from windlass.update_status.text.nodes import node_estimate, node_version
from windlass.update_status.text.safe import safe_lines, safe_table
from windlass.update_status.times import (
    MINUTE,
    SECOND,
    ZERO,
    Duration,
    Moment,
    rfc3339,
    rounded,
    short,
    since,
    truncated,
)

_STATES: Final = {State.PROGRESSING: "Updating", State.UNKNOWN: "Unknown"}


def render_wide(report: Report, *, now: Moment) -> str:
    """The report as it is at `now`, in whole lines."""
    unknown = _section("Unknown", _unknown(report))
    if not report.updating:
        found = structs.replace(report, insights=tuple(one for one in report.insights if one.remedy))
        needs = _section("Update Health", _health(found, now)) if found.insights else ""
        return "\n".join(filter(None, ["The cluster is not updating.\n", needs, unknown]))
    pools = sorted((pool.without_windows for pool in report.pools), key=_of_control_plane_first)
    operators = report.control_plane.operators
    sections = [
        _section("Control Plane", _control_plane(report.control_plane, now, single=report.single_node)),
        _section("Updating Cluster Operators", _updating(operators, now)),
        _section("Unhealthy Cluster Operators", _unhealthy(operators, now)),
        _section("Pools", _pools(pools, now)),
        _section("Nodes", _nodes(pools, report, now)),
        _section("Causes", _causes(report, now)),
        _section("Update Health", _health(report, now)),
        _section("Informers", _informers(report.informed, now)),
        unknown,
    ]
    return "\n".join(filter(None, sections))


def _section(title: str, text: str) -> str:
    return f"= {title} =\n{text}" if text else ""


def _of_control_plane_first(pool: Pool) -> tuple[bool, bool]:
    return pool.name not in CONTROL_PLANE_POOLS, pool.name != MASTER


def _control_plane(plane: ControlPlane, now: Moment, *, single: bool) -> str:
    found = progress(plane, now)
    left = estimated(plane.versions, found)
    silent = in_state(plane, State.UNKNOWN)
    updating = in_state(plane, State.PROGRESSING)
    waiting = len(in_state(plane, State.PENDING))
    lines = {
        "Assessment": found.assessment,
        "Message": plane.message,
        "Target Version": _target(plane.versions),
        "History": _history(plane.versions),
        "Updating": ", ".join(operator.name for operator in updating),
        "Unknown": ", ".join(operator.name for operator in silent),
        "Completion": f"{found.completion:.0f}% ({plane.updated} operators updated, {len(updating)} updating, "
        f"{waiting} waiting{f', {len(silent)} unknown' if silent else ''})",
        "Started": "" if plane.started == ZERO else rfc3339(plane.started),
        "Completed": _completed(plane),
        "Duration": short(max(0, found.duration)) + (f" (Est. Time Remaining: {left})" if left else ""),
        "Expected End": _expected_end(plane.expected, now),
        "Operator Health": operator_health(plane.operators),
        "Topology": "a single node: nothing of the cluster answers while it restarts" if single else "",
    }
    indent = "\n" + " " * 17
    return "".join(f"{label + ':':17}{indent.join(safe_lines(text))}\n" for label, text in lines.items() if text)


def _target(versions: Versions | None) -> str:
    text = known_target(versions)
    return f"{text}, a rollback" if versions and versions.rollback else text


def _history(versions: Versions | None) -> str:
    """From the last completed update to the target, if others were begun between them."""
    if versions is None or not versions.unfinished:
        return ""
    steps = [f"{version} (never completed)" for version in reversed(versions.unfinished)]
    return " > ".join([versions.completed or "unknown", *steps, versions.target])


def _completed(plane: ControlPlane) -> str:
    if plane.completed is not None:
        return rfc3339(plane.completed)
    waits = plane.all_updated and plane.updating == "True"
    return "not yet: all operators are updated, ClusterVersion is not" if waits else ""


def _updating(operators: Iterable[Operator], now: Moment) -> str:
    """Operators that are being updated, and those that do not say whether they are."""
    rows = [
        (one.name, _STATES[one.state], _age(one.since, now), _reasoned(one.reason, one.message))
        for one in operators
        if one.state in _STATES
    ]
    return safe_table(("NAME", "STATE", "SINCE", "MESSAGE"), rows) if rows else ""


def _unhealthy(operators: Iterable[Operator], now: Moment) -> str:
    rows = [
        (one.name, one.health, _age(one.health_since, now), _reasoned(one.health_reason, one.health_message))
        for one in operators
        if one.health is not Health.HEALTHY
    ]
    return safe_table(("NAME", "HEALTH", "SINCE", "MESSAGE"), rows) if rows else ""


def _reasoned(reason: str, message: str) -> str:
    """Reasons can be so long that a column of their own would push messages out of sight."""
    return ": ".join(filter(None, (reason, message))) or "no message given"


def _expected_end(found: Estimate | None, now: Moment) -> str:
    if found is None:
        return ""
    return f"in {_range(found, now)}, between {rfc3339(found.earliest)} and {rfc3339(found.latest)} ({found.basis})"


def _range(found: Estimate, now: Moment) -> str:
    """`20m to 45m`: in minutes, so that it does not change with each second."""
    first, last = (_in_minutes(since(now, end)) for end in (found.earliest, found.latest))
    return first if first == last else f"{first} to {last}"


def _in_minutes(left: Duration) -> str:
    return "1m" if left < MINUTE else short(rounded(left, MINUTE))


def _pools(pools: Sequence[Pool], now: Moment) -> str:
    if not pools:
        return ""
    header: tuple[str, ...] = ("POOL", "ASSESSMENT", "COMPLETION", "STATUS")
    rows = [_pool(pool) for pool in pools]
    if any(pool.expected for pool in pools):
        header += ("LEFT", "ESTIMATED FROM")
        rows = [(*row, *_left(pool.expected, now)) for row, pool in zip(rows, pools, strict=True)]
    return safe_table(header, rows)


def _left(found: Estimate | None, now: Moment) -> tuple[str, str]:
    return ("-", "") if found is None else (_range(found, now), found.basis)


def _pool(pool: Pool) -> tuple[str, ...]:
    """Nodes that wait because their pool is paused are counted as paused: somebody wants it so.

    `oc` counts nodes without a manager among the waiting nodes.
    """
    summary = pool.summary
    pending, excluded = summary.pending, summary.excluded
    if pool.paused:
        excluded -= summary.unmanaged
    else:
        pending -= summary.unmanaged
    if not summary.total:
        return pool.name, "Empty", "", "0 Total" + (", the pool is paused" if pool.paused else "")
    counts = [
        f"{summary.available} Available",
        f"{summary.progressing} Progressing",
        f"{summary.draining} Draining",
        *(f"{count} {word}" for count, word in ((pending, "Pending"), (summary.degraded, "Degraded")) if count),
    ]
    if pool.paused:
        counts.append(f"{excluded} Paused on purpose" if excluded else "the pool is paused")
    if summary.unmanaged:
        counts.append(f"{summary.unmanaged} not managed yet")
    if summary.degraded:
        assessment = "Degraded"
    else:
        assessment = "Paused" if pool.assessment == "Excluded" else pool.assessment
    share = f"{summary.updated / summary.managed * 100:.0f}% " if summary.managed else ""
    return pool.name, assessment, f"{share}({summary.updated}/{summary.managed})", ", ".join(counts)


def _nodes(pools: Sequence[Pool], report: Report, now: Moment) -> str:
    rows = [_node(node, pool.name, now) for pool in pools for node in nodes_in_order(pool.nodes)]
    outside = [(name, "no pool selects the node") for name in report.unassigned]
    outside += [(name, "Windows: no pool has the node") for name in report.windows]
    rows += [(name, "none", "-", "-", "-", "-", "?", "-", why) for name, why in outside]
    header = ("NAME", "POOL", "ASSESSMENT", "PHASE", "STEP", "SINCE", "VERSION", "EST", "MESSAGE")
    return safe_table(header, rows) if rows else ""


def _node(node: Node, pool: str, now: Moment) -> tuple[str, ...]:
    messages = []
    if node.degraded:
        messages.append(node.why_degraded or "degraded, no reason given")
    if node.unavailable:
        age = _age(node.unavailable_since, now)
        messages.append(node.why_unavailable if age == "-" else f"{node.why_unavailable} (for {age})")
    return (
        node.name,
        pool,
        node.assessment,
        node.phase if node.managed else "not managed",
        node.step or "-",
        _age(node.first_seen if node.since is None else node.since, now),
        node_version(node),
        node_estimate(node),
        "\n".join(messages),
    )


def _health(report: Report, now: Moment) -> str:
    """The insights that are symptoms of no cause; those that only say that a pool is paused come last.

    One that follows the object of another, as the alert of an operator does, stands under that.
    """
    nodes = {node.name: node for pool in report.pools for node in pool.nodes}
    paused = {pool.name for pool in report.pools if pool.paused}
    alone = [insight for insight in report.insights if cause_of(insight, report.causes) is None]
    if not alone:
        return "All of it is told with its causes, above\n" if report.insights else "Update is proceeding well\n"
    owners = {one: insight for insight in alone if insight.follows is None for one in insight.resources}
    insights = insights_in_order(_dated(insight, nodes) for insight in alone if insight.follows not in owners)
    insights.sort(key=lambda insight: _is_intended(insight, paused))
    words = ["Intended" if _is_intended(insight, paused) else insight.level.title for insight in insights]
    counts = ", ".join(_counted(word, count) for word, count in Counter(words).items())
    rows = [
        (
            _age(_since(insight), now),
            word,
            insight.impact,
            "\n".join((*_message(insight), *_under(_followers(insight, alone), now))),
        )
        for word, insight in zip(words, insights, strict=True)
    ]
    return f"{counts}\n" + safe_table(("SINCE", "LEVEL", "IMPACT", "MESSAGE"), rows)


def _informers(found: Sequence[Informed], now: Moment) -> str:
    """The insights of other programs' informers; no section above counts them."""
    rows = []
    for informed in found:
        name = f"{informed.name} in {informed.namespace}"
        if informed.stale_since is not None:
            age = _age(informed.stale_since, now)
            rows.append((name, age, "-", "-", f"No answer since {rfc3339(informed.stale_since)}"))
        told = {id(one.insight): one for one in informed.insights}
        for insight in insights_in_order(one.insight for one in informed.insights):
            finish = told[id(insight)].finish
            end = () if finish is None else (f"Expected to end: {rfc3339(finish)}",)
            message = "\n".join((*_message(insight), *end))
            level = insight.level.title + (" (claimed)" if informed.claims(insight) else "")
            rows.append((name, _age(_since(insight), now), level, insight.impact.value, message))
    return safe_table(("INFORMER", "SINCE", "LEVEL", "IMPACT", "MESSAGE"), rows) if rows else ""


def _causes(report: Report, now: Moment) -> str:
    """The worst first, each with what waits for it and what is reported because of it."""
    rows = []
    for cause in sorted(report.causes, key=lambda cause: -cause.level):
        symptoms = [insight for insight in report.insights if cause_of(insight, report.causes) is cause]
        lines = [cause.summary, *filter(None, (cause.description,)), f"To do: {cause.remedy}"]
        if cause.affected:
            lines.append(f"Waiting: {_waiting(cause.affected)}")
        word = "Intended" if cause.kind is CauseKind.PAUSE else cause.level.title
        since = cause.first_seen if cause.started is None else cause.started
        message = "\n".join((*lines, *_under(insights_in_order(symptoms), now)))
        rows.append((_age(since, now), word, cause.kind.value, message))
    return safe_table(("SINCE", "LEVEL", "CAUSE", "MESSAGE"), rows) if rows else ""


def _waiting(objects: Sequence[Reference]) -> str:
    """`nodes n1, n2; clusteroperators etcd`."""
    kinds = dict.fromkeys(one.resource for one in objects)
    return "; ".join(f"{kind} {', '.join(one.name for one in objects if one.resource == kind)}" for kind in kinds)


def _under(insights: Iterable[Insight], now: Moment) -> Iterator[str]:
    """The symptoms of a cause, as list items."""
    for insight in insights:
        first, *rest = _message(insight)
        yield f"- {insight.level.title}, {insight.impact}, since {_age(_since(insight), now)}: {first}"
        yield from (f"  {line}" for text in rest for line in text.split("\n"))


def _followers(insight: Insight, insights: Iterable[Insight]) -> list[Insight]:
    return [one for one in insights if one.follows is not None and one.follows in insight.resources]


def _since(insight: Insight) -> Moment | None:
    return insight.first_seen if insight.started is None else insight.started


def _counted(word: str, count: int) -> str:
    plural = "s" if count > 1 and word in ("Error", "Warning") else ""
    return f"{count} {word.lower()}{plural}"


def _dated(insight: Insight, nodes: Mapping[str, Node]) -> Insight:
    """The insight with its start, if it is about a degraded node whose MachineConfigNode tells."""
    if insight.started is not None or len(insight.resources) != 1 or insight.resources[0].resource != "nodes":
        return insight
    node = nodes.get(insight.resources[0].name)
    return structs.replace(insight, started=node.degraded_since) if node else insight


def _is_intended(insight: Insight, paused: set[str]) -> bool:
    """Whether all that it says is that pools are paused."""
    return bool(insight.resources) and all(
        one.resource == "machineconfigpools" and one.name in paused for one in insight.resources
    )


def _message(insight: Insight) -> Iterator[str]:
    yield insight.summary or "no summary given"
    yield insight.description or "no description given"
    if insight.remedy:
        yield f"To do: {insight.remedy}"
    about = ", ".join(_name(one) for one in insight.resources if one.namespace or one.name not in insight.summary)
    if about:
        yield f"About: {about}"
    if insight.reference:
        yield f"See: {insight.reference}"


def _name(one: Reference) -> str:
    return f"{one.resource} {one.namespace}/{one.name}" if one.namespace else f"{one.resource} {one.name}"


def _unknown(report: Report) -> str:
    gaps = [(what, why) for what, _, why in (gap.partition(": ") for gap in report.gaps)]
    texts = [f"{what}: unknown because {why}" if why else what for what, why in gaps]
    if report.alerts:
        texts.append(report.alerts)
    return "".join("\n  ".join(safe_lines(text)) + "\n" for text in texts)


def _age(start: Moment | None, now: Moment) -> str:
    """How long ago; a start that is later than now is now: clocks differ."""
    if start is None or start == ZERO:
        return "-"
    return short(max(0, truncated(since(start, now), SECOND)))
