"""An immutable snapshot of the cluster and of the project in OpenStack, which the expectations check."""

from typing import Final, TypeAlias

from msgspec import Struct

from windlass.api import mapi
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import KubernetesObject
from windlass.demo import story
from windlass.demo.story import need
from windlass.machine_sync.constants import MACHINE_API
from windlass.machine_sync.demo.scene import Machines
from windlass.machine_sync.overview import MachineRow

CLUSTER: Final = "demo"
BASTION: Final = "demo-bastion"
WORKERS: Final = "demo-worker"
"""The MachineSet of Cluster API."""
POOL: Final = "demo-pool"
"""The MachineSet of the Machine API."""


class CloudResource(Struct, frozen=True, order=True):
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
    """The objects of the story and the project; empty before the first step.

    `project` is what the project has, and `at_first` what it had before there was a cluster. `writes` are all of
    Windlass so far.
    """

    project: frozenset[CloudResource] = frozenset()
    at_first: frozenset[CloudResource] = frozenset()
    writes: frozenset[Write] = frozenset()

    @property
    def servers(self) -> dict[str, CloudResource]:
        """The servers by name, as Nova lists them."""
        return {one.name: one for one in self.project if one.kind == "server"}

    def held(self, kind: str, name: str = "") -> CloudResource | None:
        """What the project has of this kind, and of this name if one is given."""
        return next((one for one in sorted(self.project) if one.kind == kind and name in ("", one.name)), None)

    def lost(self, row: MachineRow) -> bool:
        """Whether a machine had a server, which Nova does not list any more."""
        return bool(row.cluster_api and row.cluster_api.provider_id) and row.name not in self.servers

    def ready_kind(self, row: MachineRow) -> type[KubernetesObject]:
        """The kind whose `Ready` is about a machine's server: Machine under the Machine API, else OpenStackServer."""
        return mapi.Machine if row.authority == MACHINE_API else OpenStackServer

    # what expectations ask for

    def needs_active(self, kind: str, name: str = "") -> CloudResource:
        """Something ACTIVE that the project has to have."""
        found = need(self.held(kind, name), f"the project has no {kind} {name}".rstrip())
        need(found.status == "ACTIVE", f"the {kind} {found.name} is {found.status}")
        return found

    def needs_machine(self, row: MachineRow, authority: str) -> CloudResource:
        """A machine that runs under this authority, on its ACTIVE server."""
        self.needs_running(row, authority)
        server = self.needs_active("server", row.name)
        self.needs_condition(self.ready_kind(row), row.name, "Ready")
        for side in row.sides:
            need(
                side.provider_id.endswith(server.id),
                f"{row.name} has provider ID {side.provider_id!r}, but its server is {server.id}",
            )
        return server


Expectation: TypeAlias = story.Expectation[Scene]
Moment: TypeAlias = story.Moment[Scene]
