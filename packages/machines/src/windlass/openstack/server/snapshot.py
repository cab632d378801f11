"""The input of a decision about an OpenStackServer, and facts that follow from the object alone."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from windlass.api import capi
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddressClaim
from windlass.api.mapi import Machine
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present, Seen
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import NONE, Blockers, Quota, Recorded, ServerInventory
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import Intent
from windlass.openstack.cloud.resources import Resource, Server
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE, CLUSTER_LABEL, MARK_ANNOTATION
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.instance.address_pairs import with_pairs
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.objects import is_held, machine_of, mark_of
from windlass.openstack.ownership import Facts, Ownership, claim_of
from windlass.openstack.server.resolved import from_status
from windlass.openstack.server.spec import instance_spec
from windlass.openstack.status import FLOATING_READY, INSTANCE_PARTS
from windlass.openstack.trouble import DELAYS, Delays, trouble_since


class Timing(Struct, frozen=True, kw_only=True):
    """Seconds. `lost`: a server is gone if it is missing twice, so far apart. `overdue`: after so long without any
    answer of the cloud nothing is known about a server. `pausing`: the longest that a request may be under way.
    `namesakes`: the greatest age of the list in which servers of the same name are looked for before a first create."""

    delays: Delays = DELAYS
    lost: float = 30.0
    overdue: float = 300.0
    pausing: float = 60.0
    namesakes: float = 60.0


TIMING: Final = Timing()


class ServerCloudFacts(Struct, frozen=True, kw_only=True):
    """What the cloud says about the server.

    `inventory` None: not looked for, because nothing can exist yet. `answers`, of the time `answered`, is empty unless
    something has to be resolved. `extensions` are those of Neutron, by alias. `quotas` only after one was exceeded.
    `where`: the credentials, for people. `formers`: the marks in the cloud that the object replaces by its own;
    `facts`: who else has what. `awaited`: who has the server, and is about to give it up, as a sentence. `namesakes`:
    servers of its name without an owner. `region`: that of the credentials.
    """

    project: str
    where: str = ""
    blockers: Blockers = Blockers()
    inventory: ServerInventory | None = None
    answers: Mapping[Query, "tuple[Resource, ...] | CloudFailure"] = {}
    answered: datetime | None = None
    extensions: frozenset[str] = frozenset()
    quotas: tuple[Quota, ...] = ()
    formers: frozenset[str] = frozenset()
    facts: Facts = Facts()
    awaited: str = ""
    namesakes: tuple[Server, ...] = ()
    region: str = ""


class ServerSnapshot(Asking, frozen=True, kw_only=True):
    """`cluster`, called `cluster_name`, None: the server belongs to none. `unnamed`: the OpenStackMachine that has a
    server, and has not named it here yet; empty: there is none. `machine_api`: the namespace of the Machines of the
    Machine API whose servers we have too; empty: we have none. `mirrors`: the namespace of their OpenStackServers.

    What the decision asks for: `facts`, who else has the mark of its annotation; `fresh_mark`, a new mark, in case the
    server has none; `cloud`, or why there is no access to it; `image`, the ID of the one that an object stands for, or
    why there is none, None: it is not needed, or awaited; `user_data`, base64, or why there is none, None: it is
    not needed now. Only while it is being deleted: `machine` is what has kind and name of the OpenStackMachine that it
    names as owner, `above` the same of the Machine of that one, if it is being deleted too, and `claim` that of its
    floating IP, if it is paused.
    """

    server: Seen[OpenStackServer]
    cluster: Seen[Cluster] | None = None
    cluster_name: str = ""
    unnamed: str = ""
    machine_api: str = ""
    mirrors: str = ""
    last: Outcome = Outcome()
    facts: Facts = Facts()
    fresh_mark: str = ""
    cloud: ServerCloudFacts | IdentityTrouble | CloudFailure | None = None
    image: str | Problem | None = None
    user_data: str | Problem | None = None
    machine: Seen[OpenStackMachine] | None = None
    above: Seen[capi.Machine] | None = None
    claim: Seen[IPAddressClaim] | None = None


class _Seen(Protocol):
    """A snapshot."""

    @property
    def last(self) -> Outcome: ...


S = TypeVar("S", bound=_Seen)
K = TypeVar("K", OpenStackServer, Machine)


class Visit(Struct, Generic[S, K], frozen=True, kw_only=True):
    """A decision with access to the cloud: the snapshot, and what is there in it. The object has a server: it is an
    OpenStackServer, or a Machine of the Machine API."""

    seen: S
    found: Present[K]
    cloud: ServerCloudFacts
    now: datetime
    timing: Timing

    @property
    def inventory(self) -> ServerInventory:
        return self.cloud.inventory or ServerInventory(certain=False)

    @property
    def ownership(self) -> Ownership:
        return ownership(self.found, self.cloud)

    @property
    def mark(self) -> str:
        """The mark that the object has, or has as soon as it has replaced those in the cloud."""
        return self.ownership.mark

    @property
    def since(self) -> datetime | None:
        """When the trouble began, as the condition has it."""
        return trouble_since(self.found.object.status.conditions)


ServerVisit: TypeAlias = Visit[ServerSnapshot, OpenStackServer]


class Made(Struct, frozen=True):
    """What a server should be: its spec and all choices, as far as both are known."""

    spec: InstanceSpec | tuple[Problem, ...]
    resolved: Resolved | None


def made(found: Present[OpenStackServer]) -> Made:
    return found.derived(_made)


def _made(found: Present[OpenStackServer]) -> Made:
    spec = instance_spec(found.object)
    stored = found.object.status.resolved
    return Made(spec, from_status(stored, spec) if isinstance(spec, InstanceSpec) else None)


def current(found: Present[OpenStackServer]) -> Resolved | None:
    """The choices, with what may be changed of a server that stands as the spec has it now."""
    spec, resolved = made(found).spec, made(found).resolved
    return with_pairs(resolved, spec) if isinstance(spec, InstanceSpec) and resolved is not None else resolved


def intent_of(found: Present[OpenStackServer], resolved: Resolved | None) -> Intent | None:
    """The intent, if finalizer, mark and all choices were seen persisted; without it nothing may be created."""
    mark = mark_of(found)
    return Intent(mark) if mark and resolved is not None and is_held(found) and not found.deleting else None


def ownership(found: Present[Any], cloud: ServerCloudFacts) -> Ownership:
    """What the object may do with what it has in the cloud."""
    return Ownership(claim_of(found), cloud.facts, cloud.formers)


def adopted(found: Present[OpenStackServer]) -> str:
    """The ID of the server that the object stands for; empty if it makes its own."""
    named = found.metadata.annotations.get(ADOPT_ANNOTATION, "")
    return "" if named == ADOPT_NONE else named


def namer(found: Present[OpenStackServer]) -> str:
    """The name of the OpenStackMachine that may have to name its server first: a restored object without mark and
    status knows none. Empty if none has."""
    knows = recorded(found) != NONE or MARK_ANNOTATION in found.metadata.annotations
    return "" if knows else machine_of(found)


def adopts(found: Present[OpenStackServer]) -> bool:
    """It names a server, and its status does not have it yet."""
    return bool(adopted(found)) and not found.object.status.instance_id


def may_have_namesakes(found: Present[Any]) -> bool:
    """It makes a server, although the project has one of its name."""
    return found.metadata.annotations.get(ADOPT_ANNOTATION) == ADOPT_NONE


def recorded(found: Present[OpenStackServer]) -> Recorded:
    """The IDs in the status, and that of an adopted server."""
    status = found.object.status
    resources = status.resources
    return Recorded(
        server=status.instance_id or adopted(found),
        ports=tuple(each.id for each in resources.ports if each.id) if resources else (),
        volumes=tuple(each.id for each in resources.volumes if each.id) if resources else (),
        trunks=tuple(each.id for each in resources.trunks if each.id) if resources else (),
    )


def has_recorded(found: Present[OpenStackServer]) -> bool:
    """Whether its status has resources by ID; what an annotation names is not enough."""
    status = found.object.status
    return bool(status.instance_id or status.resources)


def cluster_of(found: Present[OpenStackServer]) -> str:
    return found.metadata.labels.get(CLUSTER_LABEL, "")


def parts_of(server: OpenStackServer) -> tuple[str, ...]:
    """What `Ready` is made from."""
    return (*INSTANCE_PARTS, FLOATING_READY) if server.spec.floating_ip_pool_ref is not None else INSTANCE_PARTS


def uses_volumes(found: Present[OpenStackServer]) -> bool:
    """Whether the server may have volumes that are ours."""
    spec = found.object.spec
    stored, resources = found.object.status.resolved, found.object.status.resources
    return (
        spec.root_volume is not None
        or any(each.storage.type == "Volume" for each in spec.additional_block_devices)
        or bool(stored and stored.volumes)
        or bool(resources and resources.volumes)
        or bool(adopted(found))
    )
