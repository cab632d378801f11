"""An immutable snapshot of a demo's cluster: the objects of the kinds that the story watches, and Windlass.

The scene of a capability adds what is not in the API server. Its expectations ask with `needs...`, which raise
`Missing` with a sentence of their own.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from windlass.api.meta import K, KubernetesObject
from windlass.demo.story import Missing, need
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present


class Scene(Struct, frozen=True, kw_only=True):
    """The control plane, its objects by kind and name, and Windlass; everything is empty before the first step.

    version    the API server's; empty until it answered
    unwatched  the resources whose first list has not arrived; None before they are watched
    objects    the objects of each kind by name
    ready      the answer of Windlass at /readyz
    leaders    the holder of each Lease of Windlass; empty for a Lease without one
    code       the exit code of the command that a step has begun; None while it runs
    printed    the output of this command
    """

    version: str = ""
    unwatched: tuple[str, ...] | None = None
    objects: Mapping[type[KubernetesObject], Mapping[str, Present[Any]]] = field(default_factory=dict)
    ready: bool = False
    leaders: tuple[str, ...] = ()
    code: int | None = None
    printed: str = ""

    def of(self, kind: type[K]) -> Mapping[str, Present[K]]:
        """The objects of a kind, by name."""
        return self.objects.get(kind, {})

    def get(self, kind: type[K], name: str) -> Present[K] | None:
        """An object; None if it does not exist."""
        return self.of(kind).get(name)

    def condition(self, kind: type[KubernetesObject], name: str, type: str) -> Mapping[str, Any]:  # noqa: A002
        """A condition of an object; empty without one."""
        found = self.get(kind, name)
        return find((found.tree.get("status") or {}).get("conditions") or [], type) or {} if found else {}

    # what expectations ask for

    def needs(self, kind: type[K], name: str) -> Present[K]:
        """An object that has to exist."""
        return need(self.get(kind, name), f"there is no {_named(kind, name)}")

    def needs_condition(
        self,
        kind: type[KubernetesObject],
        name: str,
        type: str,  # noqa: A002 - the word of the field
        status: str = "True",
        reason: str = "",
    ) -> Mapping[str, Any]:
        """A condition that has to have this status, and this reason if one is given."""
        said = self.condition(kind, name, type)
        if said.get("status") != status or reason not in ("", said.get("reason")):
            raise Missing(f"{_named(kind, name)}: {type} is {condition_text(said)}")
        return said

    def needs_api_server(self) -> None:
        """The API server answers."""
        need(self.version, "the API server does not answer")

    def needs_kinds(self) -> None:
        """All kinds of the story are watched."""
        self.needs_api_server()
        if self.unwatched is None:
            raise Missing("nothing can be watched yet")
        need(not self.unwatched, f"{', '.join(self.unwatched)} cannot be watched")

    def needs_windlass(self) -> str:
        """Windlass is ready and holds its Leases; the holder of the first."""
        need(self.ready, "Windlass is not ready")
        need(self.leaders and all(self.leaders), "a Lease of Windlass has no holder")
        return self.leaders[0]


def condition_text(condition: Mapping[str, Any]) -> str:
    """Status, reason and message of a condition, for people."""
    return (
        "{status} {reason}: {message}".format_map({"reason": "", "message": "", **condition})
        if condition
        else "not set"
    )


def _named(kind: type[KubernetesObject], name: str) -> str:
    """`Machine.cluster.x-k8s.io NAME`: two APIs have kinds of the same name."""
    return f"{kind.RESOURCE.kind}{f'.{group}' if (group := kind.RESOURCE.group) else ''} {name}"
