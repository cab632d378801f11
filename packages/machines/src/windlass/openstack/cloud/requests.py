"""The requests that change something in a cloud, as the values that plans hold (`Call`).

    CreatePort(project=project.key, intent=intent, subject="worker-0-0", body={"name": "worker-0-0", ...})

Creating requests need an `Intent`, which exists only when finalizer, mark and resolved spec were seen persisted. Their
body has the mark already (`windlass.openstack.cloud.marks`), so what they make can always be found.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct
from msgspec.structs import force_setattr

from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import Request
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.kinds import KINDS, NEUTRON
from windlass.openstack.cloud.resources import Markable, Port, Server, Trunk, Volume
from windlass.openstack.cloud.wire import Http, Method, Service

OPENSTACK: Final = "OpenStack"
ATTACHMENTS: Final = "3.27"
"""The microversion of Cinder from which on it has attachments."""


class Intent(Struct, frozen=True):
    """The persisted intent of an owner to have resources with its `mark`."""

    mark: str


class CloudRequest(Request, frozen=True, kw_only=True):
    """`project`: the key of the project that is asked. `mark`: of the owner. `subject`: the resource, for people."""

    SYSTEM = OPENSTACK
    SERVICE: ClassVar[Service] = "network"
    CREATES: ClassVar[bool] = False
    """Whether the request creates a resource that a quota counts."""

    project: str
    mark: str
    subject: str = ""

    @property
    def http(self) -> Http:
        """The request as it is sent."""
        raise NotImplementedError

    def is_done(self, failure: CloudFailure) -> bool:
        """Whether the refusal means that the cloud is already as the request wants it."""
        return False

    def diff(self) -> tuple[FieldChange, ...]:
        return ()

    def _http(self, method: Method, path: str, body: Mapping[str, Any] | None = None, microversion: str = "") -> Http:
        return Http(self.SERVICE, method, path, body=body, microversion=microversion)


class Creation(CloudRequest, frozen=True, kw_only=True):
    """A request that makes something. `body` is the resource as its service takes it, without the envelope."""

    CREATES = True
    OF: ClassVar[type[Markable]]

    intent: Intent
    body: Mapping[str, Any]
    mark: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "mark", self.intent.mark)

    @property
    def http(self) -> Http:
        kind = KINDS[self.OF]
        return self._http("POST", kind.path, {kind.envelope: self.body})

    def diff(self) -> tuple[FieldChange, ...]:
        return tuple(FieldChange(name, None, value) for name, value in self.body.items())


class CreatePort(Creation, frozen=True):
    OF = Port


class CreateTrunk(Creation, frozen=True):
    OF = Trunk


class CreateVolume(Creation, frozen=True):
    SERVICE = "block-storage"
    OF = Volume


class CreateServer(Creation, frozen=True, kw_only=True):
    """`user_data` is base64, as Nova takes it; `hints` are scheduler hints."""

    SERVICE = "compute"
    OF = Server
    SECRET = frozenset({"user_data"})

    user_data: str = ""
    hints: Mapping[str, Any] = {}
    microversion: str

    @property
    def http(self) -> Http:
        server = {**self.body, **({"user_data": self.user_data} if self.user_data else {})}
        hints = {"os:scheduler_hints": self.hints} if self.hints else {}
        return self._http("POST", KINDS[Server].path, {"server": server, **hints}, self.microversion)


class CreateServerGroup(CloudRequest, frozen=True, kw_only=True):
    """A server group of the name `subject`, whose servers Nova keeps apart if it can.

    It has no mark, for Nova has no place for one: it is found by its name, and stays, as servers of others may use it.
    """

    SERVICE = "compute"
    CREATES = True

    @property
    def http(self) -> Http:
        group = {"name": self.subject, "policies": ["soft-anti-affinity"]}
        return self._http("POST", "/os-server-groups", {"server_group": group}, "2.15")

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("name", None, self.subject),)


class Naming(CloudRequest, frozen=True, kw_only=True):
    """A request about an existing resource, by ID."""

    id: str


class SetTags(Naming, frozen=True, kw_only=True):
    """Replace the tags of a Neutron resource; `collection` is `ports`, `security-groups`, ..."""

    collection: str
    before: tuple[str, ...] = ()
    tags: tuple[str, ...]

    @property
    def http(self) -> Http:
        return self._http("PUT", f"/v2.0/{self.collection}/{self.id}/tags", {"tags": list(self.tags)})

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("tags", list(self.before), list(self.tags)),)


class SetAddressPairs(Naming, frozen=True, kw_only=True):
    """Replace the allowed address pairs of a port."""

    before: tuple[Mapping[str, str], ...] = ()
    pairs: tuple[Mapping[str, str], ...]

    @property
    def http(self) -> Http:
        pairs = [dict(each) for each in self.pairs]
        return self._http("PUT", f"{KINDS[Port].path}/{self.id}", {"port": {"allowed_address_pairs": pairs}})

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("allowed_address_pairs", list(self.before), list(self.pairs)),)


class _Mark(Naming, frozen=True):
    """Give an adopted resource the mark of its owner."""

    OF: ClassVar[type[Server | Volume]]

    @property
    def http(self) -> Http:
        return self._http("POST", f"{KINDS[self.OF].path}/{self.id}/metadata", {"metadata": {MARK: self.mark}})


class MarkServer(_Mark, frozen=True, kw_only=True):
    """`before`: the mark that is replaced; the request is not sent for a server that has got another one since."""

    SERVICE = "compute"
    OF = Server

    before: str = ""


class MarkVolume(_Mark, frozen=True):
    SERVICE = "block-storage"
    OF = Volume


class Describe(Naming, frozen=True, kw_only=True):
    """Give an adopted Neutron resource (of `collection`) the description that holds the mark of its owner."""

    collection: str
    before: str = ""
    description: str

    @property
    def http(self) -> Http:
        envelope = KINDS[NEUTRON[self.collection]].envelope
        return self._http("PUT", f"/v2.0/{self.collection}/{self.id}", {envelope: {"description": self.description}})

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("description", self.before, self.description),)


class Deletion(Naming, frozen=True):
    OF: ClassVar[type[Any]]

    @property
    def http(self) -> Http:
        return self._http("DELETE", f"{KINDS[self.OF].path}/{self.id}")


class DeleteServer(Deletion, frozen=True):
    SERVICE = "compute"
    OF = Server


class DeletePort(Deletion, frozen=True):
    OF = Port


class DeleteTrunk(Deletion, frozen=True):
    OF = Trunk


class DeleteVolume(Deletion, frozen=True):
    SERVICE = "block-storage"
    OF = Volume


class ReleaseVolume(Naming, frozen=True, kw_only=True):
    """Take back the reservation `id` of a `volume`, for a server that Nova refused."""

    SERVICE = "block-storage"

    volume: str

    @property
    def http(self) -> Http:
        return self._http("DELETE", f"/attachments/{self.id}", microversion=ATTACHMENTS)


class RemoveSubports(Naming, frozen=True, kw_only=True):
    """Take all subports off a trunk, which Neutron wants before the trunk goes."""

    ports: tuple[str, ...]

    @property
    def http(self) -> Http:
        sub_ports = [{"port_id": port} for port in self.ports]
        return self._http("PUT", f"/v2.0/trunks/{self.id}/remove_subports", {"sub_ports": sub_ports})

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("sub_ports", list(self.ports), None),)


OF_SERVERS: Final = (
    CreatePort,
    CreateTrunk,
    CreateVolume,
    CreateServer,
    SetTags,
    SetAddressPairs,
    MarkServer,
    MarkVolume,
    Describe,
    DeleteServer,
    DeletePort,
    DeleteTrunk,
    DeleteVolume,
    ReleaseVolume,
    RemoveSubports,
)
"""What the controllers of servers send, for their permissions."""
