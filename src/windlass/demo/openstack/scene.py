"""An immutable snapshot of the cluster and of the project in OpenStack, which the expectations check."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from windlass.api import capi, mapi
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present
from windlass.machine_sync.conversion.metadata import INSTANCE_STATE
from windlass.machine_sync.overview import MACHINES, MachineRow


class Held(Struct, frozen=True, order=True):
    """Something that the project has, `status` as its service says it: ACTIVE, or empty for what has none."""

    kind: str
    name: str
    id: str
    status: str = ""


class Scene(Struct, frozen=True):
    """The objects of the story, by name; empty before the first step.

    `version` is the API server's, empty until it answered. `unwatched` are the resources whose first list has not
    arrived, None before they are watched. `ready` is the answer of both parts of Windlass at /readyz, `leaders` the
    holders of their Leases. `project` is what the project has, and `at_first` what it had before there were machines.
    """

    version: str = ""
    unwatched: tuple[str, ...] | None = None
    cluster: Present[capi.Cluster] | None = None
    machines: Mapping[str, Present[capi.Machine]] = field(default_factory=dict)
    mirrors: Mapping[str, Present[mapi.Machine]] = field(default_factory=dict)
    infrastructure: Mapping[str, Present[Any]] = field(default_factory=dict)
    instances: Mapping[str, Present[Any]] = field(default_factory=dict)
    project: frozenset[Held] = frozenset()
    at_first: frozenset[Held] = frozenset()
    ready: bool = False
    leaders: tuple[str, ...] = ()

    @property
    def rows(self) -> list[MachineRow]:
        """Each machine of both APIs, by name, as `windlass machines` shows it."""
        return MACHINES.join(self.mirrors.values(), self.machines.values())

    def server(self, name: str) -> Held | None:
        """The server of a machine, as Nova lists it."""
        return next((one for one in self.project if (one.kind, one.name) == ("server", name)), None)

    def lost(self, row: MachineRow) -> bool:
        """Whether a machine had a server, which Nova does not list any more."""
        return bool(row.cluster_api and row.cluster_api.provider_id) and self.server(row.name) is None

    def address(self, name: str) -> str:
        """The first address of a machine in the Machine API, empty if it has none."""
        mirror = self.mirrors.get(name)
        addresses = mirror.object.status.addresses if mirror else []
        return addresses[0].address if addresses else ""

    def instance_state(self, name: str) -> str:
        """The state of a machine's server as the Machine API shows it in the column STATE, empty if it does not."""
        mirror = self.mirrors.get(name)
        return mirror.metadata.annotations.get(INSTANCE_STATE, "") if mirror else ""

    def condition(self, name: str, kind: str) -> Mapping[str, Any]:
        """A condition of the OpenStackServer of this name; empty without one."""
        return condition_of(self.instances.get(name), kind)


def condition_of(found: Present[Any] | None, kind: str) -> Mapping[str, Any]:
    """A condition of an object; empty without one."""
    status = (found.tree.get("status") if found else None) or {}
    return find(status.get("conditions") or [], kind) or {}
