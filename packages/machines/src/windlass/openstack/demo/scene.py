"""An immutable snapshot of the cluster and of the project in OpenStack, which the expectations check."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from windlass.api import mapi
from windlass.api.capo_server import OpenStackServer
from windlass.demo import story
from windlass.demo.story import need
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
    """The objects of the story and the project; empty before the first step.

    `project` is what the project has, and `at_first` what it had before there was a cluster. `writes` are all of
    Windlass so far.
    """

    project: frozenset[Held] = frozenset()
    at_first: frozenset[Held] = frozenset()
    writes: frozenset[Write] = frozenset()

    @property
    def servers(self) -> dict[str, Held]:
        """The servers by name, as Nova lists them."""
        return {one.name: one for one in self.project if one.kind == "server"}

    def server(self, name: str) -> Held | None:
        """The server of a machine, or the bastion, as Nova lists it."""
        return self.servers.get(name)

    def held(self, kind: str, name: str = "") -> Held | None:
        """What the project has of this kind, and of this name if one is given."""
        return next((one for one in sorted(self.project) if one.kind == kind and name in ("", one.name)), None)

    def lost(self, row: MachineRow) -> bool:
        """Whether a machine had a server, which Nova does not list any more."""
        return bool(row.cluster_api and row.cluster_api.provider_id) and self.server(row.name) is None

    def instance_state(self, name: str) -> str:
        """The state of a machine's server as the Machine API shows it in the column STATE, empty if it does not."""
        mirror = self.get(mapi.Machine, name)
        return mirror.metadata.annotations.get(INSTANCE_STATE, "") if mirror else ""

    def ready_of(self, row: MachineRow) -> Mapping[str, Any]:
        """`Ready` of a machine's server: in its Machine under the Machine API, else in its OpenStackServer."""
        return self.condition(mapi.Machine if row.authority == MACHINE_API else OpenStackServer, row.name, "Ready")

    # what expectations ask for

    def needs_active(self, kind: str, name: str = "") -> Held:
        """Something that the project has to have; ACTIVE."""
        found = need(self.held(kind, name), f"the project has no {kind} {name}".rstrip())
        need(found.status == "ACTIVE", f"the {kind} {found.name} is {found.status}")
        return found

    def needs_machine(self, row: MachineRow, authority: str) -> Held:
        """A machine that runs under this authority, on its ACTIVE server."""
        self.needs_running(row, authority)
        server = self.needs_active("server", row.name)
        self.needs_condition(mapi.Machine if authority == MACHINE_API else OpenStackServer, row.name, "Ready")
        for side in row.sides:
            need(
                side.provider_id.endswith(server.id),
                f"{row.name} has provider ID {side.provider_id!r}, but its server is {server.id}",
            )
        return server


Expectation: TypeAlias = story.Expectation[Scene]
Moment: TypeAlias = story.Moment[Scene]
