"""How far the control plane is at a moment, and how long it will still take.

`oc` fitted the share of time that a share of updated operators takes by polynomials, on one cluster.
"""

from msgspec import Struct

from windlass.update_status.report import ControlPlane
from windlass.update_status.times import MINUTE, SECOND, ZERO, Duration, Moment, rounded, since, truncated, wrapped

LATE = 1.2
"""What is left takes longer than projected; what is overdue is less overdue."""


class Progress(Struct, frozen=True, kw_only=True):
    """The control plane at a moment; durations as `oc` rounds them.

    completion  percent of the operators that are updated
    estimate    what is left, negative if overdue; 0 if nothing is known or left
    expected    how long the whole update was estimated to take
    """

    assessment: str
    completion: float
    duration: Duration
    estimate: Duration = 0
    expected: Duration = 0
    completed: Moment


def progress(control_plane: ControlPlane, now: Moment) -> Progress:
    """How far it is at `now`. Without a history no time has passed, so the usual time is left."""
    total, updated = len(control_plane.operators), control_plane.updated
    completion = updated / total * 100 if total else 100.0
    if control_plane.versions is None:
        completed, passed, to_last_progress = ZERO, 0, 0
    else:
        completed = now if control_plane.completed is None else control_plane.completed
        passed = since(control_plane.started, completed)
        last = now if control_plane.last_progress is None else control_plane.last_progress
        to_last_progress = since(control_plane.started, last)
    if control_plane.all_updated:
        return Progress(assessment="Completed", completion=completion, duration=_readable(passed), completed=completed)
    left = _left(passed, to_last_progress, share=updated / total, baseline=control_plane.baseline)
    estimate = _readable(left)
    if estimate < -10 * MINUTE:
        assessment = "Stalled"
    else:
        assessment = "Progressing - Slow" if estimate < 0 else "Progressing"
    return Progress(
        assessment=assessment,
        completion=completion,
        duration=_readable(passed),
        estimate=estimate,
        expected=truncated(wrapped(passed + estimate), MINUTE),
        completed=completed,
    )


def _left(passed: Duration, to_last_progress: Duration, *, share: float, baseline: Duration) -> Duration:
    """Whole seconds."""
    total = _seconds(baseline)
    in_time = _share_of_time(share)
    if share > 0 and in_time > 0 and to_last_progress > 5 * MINUTE:
        total = _seconds(to_last_progress) / in_time
    left = total - _seconds(passed)
    return wrapped(int(left * LATE if left >= 0 else left / LATE) * SECOND)


def _share_of_time(share: float) -> float:
    """The share of time that this share of operators took when it was measured."""
    x = share
    if x < 0.25:
        return -0.03078788 + 2.62886 * x - 3.823954 * x**2
    if x < 0.9:
        return 0.1851215 + 1.64994 * x - 4.676898 * x**2 + 5.451824 * x**3 - 2.125286 * x**4
    return 25053.32 - 107394.3 * x + 172527.2 * x**2 - 123107 * x**3 + 32921.81 * x**4


def _readable(duration: Duration) -> Duration:
    return rounded(duration, MINUTE if duration > 10 * MINUTE else SECOND)


def _seconds(duration: Duration) -> float:
    whole, rest = divmod(abs(duration), SECOND)
    size = whole + rest / SECOND
    return -size if duration < 0 else size
