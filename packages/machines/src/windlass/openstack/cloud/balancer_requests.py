"""The requests that change load balancers of Octavia.

Each changes the load balancer as a whole: Octavia refuses all others (409) until it is ACTIVE again. So each names its
`balancer`, and nothing is sent while that is not ACTIVE. Source: the API reference of Load Balancing, version 2.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from windlass.kube.control.merge import FieldChange
from windlass.openstack.cloud.requests import CloudRequest, Creation, Deletion, Intent, Naming
from windlass.openstack.cloud.resources import LoadBalancer
from windlass.openstack.cloud.wire import Http

ROOT: Final = "/v2.0/lbaas"


class CreateLoadBalancer(Creation, frozen=True):
    SERVICE = "load-balancer"
    OF = LoadBalancer


class DescribeBalancer(Naming, frozen=True, kw_only=True):
    """Give an adopted load balancer the description that holds the mark of its owner."""

    SERVICE = "load-balancer"

    before: str = ""
    description: str

    @property
    def http(self) -> Http:
        body = {"loadbalancer": {"description": self.description}}
        return self._http("PUT", f"{ROOT}/loadbalancers/{self.id}", body)

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("description", self.before, self.description),)


class DeleteLoadBalancer(Deletion, frozen=True):
    """All its listeners, pools, monitors and members go with it."""

    SERVICE = "load-balancer"
    OF = LoadBalancer

    @property
    def http(self) -> Http:
        return replace(super().http, query=(("cascade", "true"),))


class PartOfBalancer(CloudRequest, frozen=True, kw_only=True):
    """A request about a part of a load balancer. `balancer` is the ID of that one."""

    SERVICE = "load-balancer"

    balancer: str


class CreatePart(PartOfBalancer, frozen=True, kw_only=True):
    """The parts have no mark: they are found by their names, within a load balancer that has one."""

    CREATES = True
    ENVELOPE: ClassVar[str]

    intent: Intent
    body: Mapping[str, Any]

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.ENVELOPE}s"

    @property
    def http(self) -> Http:
        return self._http("POST", self.path, {self.ENVELOPE: self.body})

    def diff(self) -> tuple[FieldChange, ...]:
        return tuple(FieldChange(name, None, value) for name, value in self.body.items())


class CreateListener(CreatePart, frozen=True, kw_only=True):
    ENVELOPE = "listener"


class CreatePool(CreatePart, frozen=True, kw_only=True):
    ENVELOPE = "pool"


class CreateMonitor(CreatePart, frozen=True, kw_only=True):
    ENVELOPE = "healthmonitor"


class CreateMember(CreatePart, frozen=True, kw_only=True):
    """A member of `pool`, an ID."""

    ENVELOPE = "member"

    pool: str

    @property
    def path(self) -> str:
        return f"{ROOT}/pools/{self.pool}/members"


class _ChangePart(PartOfBalancer, frozen=True, kw_only=True):
    """Change some fields of the part `id`: `before` are their values until now."""

    ENVELOPE: ClassVar[str]

    id: str
    before: Mapping[str, Any] = {}
    fields: Mapping[str, Any]

    @property
    def http(self) -> Http:
        return self._http("PUT", f"{ROOT}/{self.ENVELOPE}s/{self.id}", {self.ENVELOPE: self.fields})

    def diff(self) -> tuple[FieldChange, ...]:
        return tuple(FieldChange(name, self.before.get(name), value) for name, value in self.fields.items())


class ChangeListener(_ChangePart, frozen=True, kw_only=True):
    ENVELOPE = "listener"


class ChangeMonitor(_ChangePart, frozen=True, kw_only=True):
    ENVELOPE = "healthmonitor"


class DeleteMember(PartOfBalancer, frozen=True, kw_only=True):
    """Take the member `id` out of `pool`."""

    id: str
    pool: str

    @property
    def http(self) -> Http:
        return self._http("DELETE", f"{ROOT}/pools/{self.pool}/members/{self.id}")


OF_BALANCERS: Final = (
    CreateLoadBalancer,
    DescribeBalancer,
    DeleteLoadBalancer,
    CreateListener,
    CreatePool,
    CreateMonitor,
    ChangeListener,
    ChangeMonitor,
)
OF_MEMBERS: Final = (CreateMember, DeleteMember)
"""For permissions of controllers."""
