"""The parts of a cluster's infrastructure, each with what it needs next: requests, a wait, or somebody's help.

Every part is a pure function of the spec, of what the cloud has, and of the parts before it:

    def router(spec: OpenStackClusterSpec, ours: Ours, inventory: NetworkInventory, ...) -> Part
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.openstack.cloud import upkeep
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.requests import CloudRequest, Creation, Intent
from windlass.openstack.cloud.resources import FloatingIp, InNeutron, Markable
from windlass.openstack.cloud.upkeep import TAGS
from windlass.openstack.cluster.names import group_name, network_name
from windlass.openstack.status import ENDPOINT_READY, NETWORK_READY, ROUTER_READY, SECURITY_GROUPS_READY, Reason

C = TypeVar("C", bound=Creation)

SOON: Final = 0.2
"""Seconds after the moment at which an absence is certain."""


class Ours(Struct, frozen=True, kw_only=True):
    """What all requests for a cluster share.

    `project` is the key of the project that is asked, `intent` says that mark and finalizer are persisted. `cluster` is
    `namespace-name` of the Cluster, `name` that of its network, subnet and router. `tags` are those of the spec, and
    `extensions` those of Neutron, by alias (empty unless there are tags).
    """

    project: str
    intent: Intent
    cluster: str
    tags: tuple[str, ...] = ()
    extensions: frozenset[str] = frozenset()

    @property
    def mark(self) -> str:
        return self.intent.mark

    @property
    def name(self) -> str:
        return network_name(self.cluster)

    def group(self, role: str) -> str:
        """The name of the security group of `role`."""
        return group_name(self.cluster, role)

    def create(self, kind: type[C], subject: str, body: Mapping[str, Any]) -> C:
        """A request that makes something; `body` has its mark already."""
        return kind(project=self.project, intent=self.intent, subject=subject, body=body)

    def adopt(self, found: Markable) -> CloudRequest:
        return upkeep.adopt(found, project=self.project, mark=self.mark)

    def describe(self, found: InNeutron, text: str) -> CloudRequest:
        return upkeep.describe(found, text, project=self.project, mark=self.mark)

    def tag(self, found: InNeutron) -> Iterator[CloudRequest]:
        """Adds the tags of the spec that are missing. Tags set by others stay."""
        missing = [each for each in self.tags if each not in found.tags]
        if missing and TAGS in self.extensions:
            yield upkeep.tag(found, (*found.tags, *missing), project=self.project, mark=self.mark)

    def lead(self, floating: FloatingIp, port: str | None) -> CloudRequest:
        """Leads the floating IP to the port, or nowhere."""
        return upkeep.lead(floating, port, project=self.project, mark=self.mark)

    def delete(self, found: Markable) -> CloudRequest:
        return upkeep.delete(found, project=self.project, mark=self.mark)

    def description(self, purpose: str = "Created") -> str:
        """For people; what has no name is found by it, together with the mark."""
        return f"{purpose} by Windlass for cluster {self.cluster}"


class Obstacle(Struct, frozen=True):
    """Why `part` is not ready: a sentence, or what the cloud answered while we did `doing`."""

    part: str
    reason: Reason
    why: str | CloudFailure
    doing: str = ""


class News(Struct, frozen=True):
    """An Event about the cluster."""

    reason: str
    note: str
    warning: bool = True


class Part(Struct, frozen=True, kw_only=True):
    """What comes next for a part; it is there if nothing does.

    `condition`: the part of `Ready` that it is. `reason`: when one of its `requests`, which may all be sent at the same
    time, fails. `waits`: what the cloud is doing (`load balancer x is PENDING_CREATE`); it is looked at `again` after
    so many seconds, at first. `obstacles`: what a person must correct, or what the cloud did not answer. `fields`: what
    is known of it, for the status (None removes a field). `news`: told once. `holds`: nothing may be created for the
    cluster before its obstacles are gone.
    """

    condition: str
    reason: Reason
    requests: tuple[CloudRequest, ...] = ()
    why: str = ""
    waits: str = ""
    again: float = 1.0
    obstacles: tuple[Obstacle, ...] = ()
    fields: Mapping[str, Any] = {}
    news: tuple[News, ...] = ()
    holds: bool = False

    @property
    def is_there(self) -> bool:
        return not (self.requests or self.waits or self.obstacles)

    def needs(self, *requests: CloudRequest, why: str = "") -> "Part":
        return replace(self, requests=requests, why=why)

    def awaits(self, what: str) -> "Part":
        return replace(self, waits=what)

    def hindered(self, why: str, reason: Reason | None = None) -> "Part":
        """By something that a person must correct; without a `reason` it is that of failed requests."""
        return replace(self, obstacles=(Obstacle(self.condition, reason or self.reason, why),))

    def uncertain(self, inventory: NetworkInventory) -> "Part":
        """Something is missing, but a request of an earlier leader may still make it."""
        late = f"the answer to an earlier request, which may arrive in the next {inventory.certain_in:.0f} s"
        return replace(self, waits=late, again=inventory.certain_in + SOON)


NETWORK: Final = Part(condition=NETWORK_READY, reason=Reason.NETWORK_CREATE_FAILED)
SUBNET: Final = Part(condition=NETWORK_READY, reason=Reason.SUBNET_CREATE_FAILED)
ROUTER: Final = Part(condition=ROUTER_READY, reason=Reason.ROUTER_CREATE_FAILED)
GROUPS: Final = Part(condition=SECURITY_GROUPS_READY, reason=Reason.SECURITY_GROUP_CREATE_FAILED)
ENDPOINT: Final = Part(condition=ENDPOINT_READY, reason=Reason.API_ENDPOINT_CONFIG_FAILED)
