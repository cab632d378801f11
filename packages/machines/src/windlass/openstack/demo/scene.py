"""An immutable snapshot of the cluster and of the project in OpenStack, which the expectations check."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present
from windlass.machine_sync.constants import MACHINE_API
from windlass.machine_sync.conversion.metadata import INSTANCE_STATE
from windlass.machine_sync.demo.scene import Machines
from windlass.machine_sync.overview import MachineRow

CLUSTER: Final = "demo"
BASTION: Final = "demo-bastion"
WORKERS: Final = "demo-worker"
"""The MachineSet of Cluster API."""
POOL: Final = "demo-pool"
"""The MachineSet of the Machine API."""


class Held(Struct, frozen=True, order=True):
    """Something that the project has, `status` as its service says it: ACTIVE, or empty for what has none.

    `detail`: of a server the name of its flavor, of a floating IP the ID of the server that it leads to.
    """

    kind: str
    name: str
    id: str
    status: str = ""
    detail: str = ""


class Write(Struct, frozen=True, order=True):
    """A request of Windlass that changes something, from the log of the service that got it at `time`.

    `controller` is the one that the User-Agent names.
    """

    time: float
    controller: str
    service: str
    method: str
    path: str

    @property
    def is_mark(self) -> bool:
        """It writes metadata of a server or volume, or the description of a port or trunk."""
        if self.service == "neutron":
            return self.method == "PUT"
        return self.method == "POST" and self.path.endswith("/metadata")


class Scene(Machines, frozen=True, kw_only=True):
    """The objects of the story, by name; empty before the first step.

    `ready` is the answer of both parts of Windlass, `leaders` the holders of their Leases. `project` is what the
    project has, and `at_first` what it had before there was a cluster. `writes` are all of Windlass so far. `printed`
    is the output of the command that the step has begun.
    """

    network: Present[OpenStackCluster] | None = None
    instances: Mapping[str, Present[OpenStackServer]] = field(default_factory=dict)
    project: frozenset[Held] = frozenset()
    at_first: frozenset[Held] = frozenset()
    writes: frozenset[Write] = frozenset()
    leaders: tuple[str, ...] = ()
    printed: str = ""

    def server(self, name: str) -> Held | None:
        """The server of a machine, or the bastion, as Nova lists it."""
        return next((one for one in self.project if (one.kind, one.name) == ("server", name)), None)

    def held(self, kind: str, name: str = "") -> Held | None:
        """What the project has of this kind, and of this name if one is given."""
        return next((one for one in sorted(self.project) if one.kind == kind and name in ("", one.name)), None)

    def lost(self, row: MachineRow) -> bool:
        """Whether a machine had a server, which Nova does not list any more."""
        return bool(row.cluster_api and row.cluster_api.provider_id) and self.server(row.name) is None

    def instance_state(self, name: str) -> str:
        """The state of a machine's server as the Machine API shows it in the column STATE, empty if it does not."""
        mirror = self.mirrors.get(name)
        return mirror.metadata.annotations.get(INSTANCE_STATE, "") if mirror else ""

    def condition(self, name: str, kind: str) -> Mapping[str, Any]:
        """A condition of the OpenStackServer of this name; empty without one."""
        return condition_of(self.instances.get(name), kind)

    def ready_of(self, row: MachineRow) -> Mapping[str, Any]:
        """`Ready` of a machine's server: in its Machine under the Machine API, else in its OpenStackServer."""
        if row.authority == MACHINE_API:
            return condition_of(self.mirrors.get(row.name), "Ready")
        return self.condition(row.name, "Ready")


def condition_of(found: Present[Any] | None, kind: str) -> Mapping[str, Any]:
    """A condition of an object; empty without one."""
    status = (found.tree.get("status") if found else None) or {}
    return find(status.get("conditions") or [], kind) or {}


def told(condition: Mapping[str, Any]) -> str:
    """Status, reason and message of a condition, for people."""
    return "{status} {reason}: {message}".format_map({"status": "(none)", "reason": "", "message": "", **condition})
