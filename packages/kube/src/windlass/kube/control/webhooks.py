"""Remembers which writes admission webhooks stop because they cannot be called, for readiness.

The API server answers such writes with 500 (`windlass.kube.errors.WebhookFailed`), and nothing can be done about
objects of that kind. The executor reports each such refusal here, and each write that passes. A refusal is forgotten
when a write of the same sort passes, or when it was not repeated for longer than any key waits.

No right is needed for that. To look for webhooks in advance, a process would have to list webhook configurations and
endpoints of the whole cluster; `windlass plan` does so with the rights of its user.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from windlass.api.meta import KubernetesObject
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.plan import Action, Call, Create, Delete, Emit, Evict, RequestToken, Result
from windlass.kube.errors import WebhookFailed

FORGOTTEN: Final = 900.0
"""Seconds after the last refusal. Keys that fail come back within 5 minutes, and objects are looked at every 10."""

_Sort: TypeAlias = tuple[type[KubernetesObject], str]


class StoppedWrites:
    """The last refusal of each sort of write: by kind, subresource and verb."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._stopped: dict[_Sort, tuple[float, str]] = {}

    def take_note(self, results: Iterable[Result]) -> None:
        """Of the answers to writes. Calls are none, and Events are best effort."""
        for each in results:
            if isinstance(each.action, Call | Emit):
                continue
            if isinstance(each.error, WebhookFailed):
                self._stopped[_sort(each.action)] = self._clock.monotonic(), f"{each.action.target}: {each.error}"
            elif each.error is None and self._stopped:
                self._stopped.pop(_sort(each.action), None)

    def clear(self) -> None:
        """Another process writes now."""
        self._stopped.clear()

    def report(self) -> str:
        """Which writes are stopped, and by which webhook; empty if none is."""
        now = self._clock.monotonic()
        self._stopped = {sort: last for sort, last in self._stopped.items() if now - last[0] < FORGOTTEN}
        said = (f"cannot {verb} {kind.RESOURCE.name}, as {text}" for (kind, verb), (_, text) in self._stopped.items())
        return "; ".join(said)


def _sort(action: Action) -> _Sort:
    match action:
        case Create():
            verb = "create"
        case Evict():
            verb = "evict"
        case RequestToken():
            verb = "request tokens of"
        case Delete():
            verb = "delete"
        case _:
            verb = f"change the {action.subresource} of" if action.subresource else "change"
    return action.target.kind, verb
