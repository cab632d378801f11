"""Renders how far the control plane is, and the operators that are being updated."""

from collections.abc import Iterable, Iterator

from windlass.update_status.estimate import Progress, progress
from windlass.update_status.report import ControlPlane, Health, Operator, State, Versions
from windlass.update_status.text.table import table
from windlass.update_status.times import MINUTE, Moment, rfc3339, short, since

LONGEST_REASON = 20


def control_plane(plane: ControlPlane, now: Moment) -> str:
    """The summary; of a control plane whose operators are all updated, one sentence."""
    found = progress(plane, now)
    if plane.all_updated:
        target = plane.versions.target if plane.versions else "unknown"
        return (
            f"= Control Plane =\nUpdate to {target} successfully completed at {rfc3339(found.completed)} "
            f"(duration: {short(found.duration)})\n"
        )
    names = ", ".join(operator.name for operator in in_state(plane, State.PROGRESSING))
    lines = {
        "Assessment": found.assessment,
        "Target Version": target_version(plane.versions),
        "Updating": names,
        "Completion": _completion(plane, found),
        "Duration": short(found.duration) + _estimate(plane, found),
        "Operator Health": operator_health(plane.operators),
    }
    return "= Control Plane =\n" + "".join(f"{label + ':':17}{text}\n" for label, text in lines.items() if text)


def updating_operators(plane: ControlPlane, now: Moment) -> str:
    """The table of the operators that are being updated, or "" without one."""
    rows = [row for operator in in_state(plane, State.PROGRESSING) for row in _rows(operator, now)]
    return "Updating Cluster Operators\n" + table(("NAME", "SINCE", "REASON", "MESSAGE"), *rows) if rows else ""


def known_target(versions: Versions | None) -> str:
    """The same, without what `oc` guesses of architectures."""
    if versions is not None and versions.same_arch:
        return f"{versions.target}, another image of the same version"
    return target_version(versions)


def target_version(versions: Versions | None) -> str:
    """What is updated to what."""
    if versions is None:
        return "unknown (from unknown)"
    if versions.previous is None:
        return f"{versions.target} (a new install)"
    if versions.incomplete:
        return f"{versions.target} (from incomplete {versions.previous})"
    return (
        f"{versions.target} to Multi-Architecture"
        if versions.multi_arch
        else (f"{versions.target} (from {versions.previous})")
    )


def operator_health(operators: Iterable[Operator]) -> str:
    """How many operators are healthy, unavailable and degraded."""
    found = [operator.health for operator in operators]
    unavailable, degraded = found.count(Health.UNAVAILABLE), found.count(Health.DEGRADED)
    text = f"{len(found) - unavailable - degraded} Healthy"
    if unavailable:
        text += f", {unavailable} Unavailable"
    return f"{text}, {degraded} Available but degraded" if degraded else text


def in_state(plane: ControlPlane, state: State) -> list[Operator]:
    return [operator for operator in plane.operators if operator.state is state]


def estimated(versions: Versions | None, found: Progress) -> str:
    """How long the update still takes, vaguely; "" if it is not known."""
    if not found.estimate:
        return ""
    if versions and versions.multi_arch:
        return "N/A for Multi-Architecture Migration"
    if found.estimate < -10 * MINUTE:
        return f"N/A; estimate duration was {short(found.expected)}"
    return "<10m" if found.estimate < 10 * MINUTE else short(found.estimate)


def _completion(plane: ControlPlane, found: Progress) -> str:
    updating, waiting = len(in_state(plane, State.PROGRESSING)), len(in_state(plane, State.PENDING))
    return f"{found.completion:.0f}% ({plane.updated} operators updated, {updating} updating, {waiting} waiting)"


def _estimate(plane: ControlPlane, found: Progress) -> str:
    text = estimated(plane.versions, found)
    return f" (Est. Time Remaining: {text})" if text else ""


def _rows(operator: Operator, now: Moment) -> Iterator[tuple[str, ...]]:
    first, *more = operator.message.split("\n")
    yield operator.name, short(since(operator.since, now)), _shortened(operator.reason) or "-", first
    for line in more:
        yield "", "", "", line


def _shortened(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 3] + "..."
