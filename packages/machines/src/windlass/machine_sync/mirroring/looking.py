"""Looks of a decision at objects: in what `observe` found in the caches, and by questions where that is not enough.

| a rule relies on | it calls | what is asked |
|---|---|---|
| a presence | `see(kind, name)` | nothing, or the cache, of a name that `observe` did not know |
| an absence | `see(kind, name, confirm=True)` | the API server, if the cache does not have the object |
| the present content | `see(kind, name, live=True)` | the API server |
| all that name something | `indexed(kind, index, value)` | nothing, or the cache |

What the API server has said in this round counts more than what the caches said before.
"""

from collections.abc import Mapping
from typing import Any

from windlass.api import config
from windlass.api.meta import K, KubernetesObject
from windlass.kube.control.question import Asking, Cached, Confirmed, Indexed, Live, Question
from windlass.kube.control.seen import Absent, NotServedKind, Seen
from windlass.kube.errors import NotServed, Status
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.mirroring.removal import is_of_machine_api

INFRASTRUCTURE = "cluster"
"""The name of the one Infrastructure object."""


class Looking(Asking, frozen=True, kw_only=True):
    """The part of a snapshot by which its decision looks at objects. `name`: that of the machine or MachineSet.

    `caches`: what `observe` found in the caches, by question.
    """

    name: str
    namespaces: Namespaces = Namespaces()
    caches: Mapping[Question[Any], Any] = {}

    def see(self, kind: type[K], name: str, *, confirm: bool = False, live: bool = False) -> Seen[K]:
        """The object, as sure as the rule needs it; in the namespace of its API."""
        place = home(kind, self.namespaces)
        asked, confirmed = Live(kind, name, place), Confirmed(kind, name, place)
        if live:
            return self.need(asked, this_round=True)
        told = self.answers.get(asked, this_round=True) or self.answers.get(confirmed, this_round=True)
        if told is not None:
            return told.value
        found: Seen[K] = self._cached(Cached(kind, name, place))
        unsure = confirm and isinstance(found, Absent) and not found.confirmed
        return self.need(confirmed, this_round=True) if unsure else found

    def last_known(self, kind: type[K], index: str, value: str) -> tuple[Seen[K], ...]:
        """The cached objects for which `index` gives `value`; the last known ones while the kind is not served."""
        found: tuple[Seen[K], ...] = self._cached(Indexed(kind, index, value))
        return found

    def indexed(self, kind: type[K], index: str, value: str) -> tuple[Seen[K], ...]:
        """The same. Raises NotServed while the kind is not served: its objects are unknown then."""
        served = self.see(kind, self.name)
        if isinstance(served, NotServedKind):
            raise NotServed(Status("Failure", served.why, "NotFound", 404))
        return self.last_known(kind, index, value)

    def ask(self, *objects: tuple[type[KubernetesObject], str]) -> None:
        """Get what the API server has of these objects, all at the same time, for rules that `see` them live."""
        self.need(*(Live(kind, name, home(kind, self.namespaces)) for kind, name in objects), this_round=True)

    def confirm(self, *objects: tuple[type[KubernetesObject], str]) -> None:
        """Get whether the API server has those of these objects that are absent, all at the same time."""
        looks = ((kind, name, self.see(kind, name)) for kind, name in objects)
        unsure = [(kind, name) for kind, name, found in looks if isinstance(found, Absent) and not found.confirmed]
        self.need(*(Confirmed(kind, name, home(kind, self.namespaces)) for kind, name in unsure), this_round=True)

    def _cached(self, question: Question[Any]) -> Any:
        return self.caches[question] if question in self.caches else self.need(question, this_round=True)


def home(kind: type[KubernetesObject], namespaces: Namespaces) -> str | None:
    """The namespace in which objects of the kind are mirrored."""
    if kind is config.Infrastructure:
        return None
    return namespaces.machine_api if is_of_machine_api(kind) else namespaces.cluster_api
