"""The parts of a cluster's infrastructure, each with what it needs next: requests, a wait, or somebody's help.

Every part is a pure function of the spec, of what the cloud has, and of the parts before it:

    def router(spec: OpenStackClusterSpec, ours: Ours, estate: Estate, ...) -> Part
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.status import Reason


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
        return f"k8s-clusterapi-cluster-{self.cluster}"

    def group(self, role: str) -> str:
        """The name of the security group of `role`."""
        return f"k8s-cluster-{self.cluster}-secgroup-{role}"

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
    """A Warning Event about the cluster."""

    reason: str
    note: str


class Part(Struct, frozen=True, kw_only=True):
    """What comes next for a part; it is there if nothing does.

    `condition`: the part of `Ready` that it is. `reason`: when one of its `requests`, which may all be sent at the same
    time, fails. `waits`: what the cloud is doing (`load balancer x is PENDING_CREATE`); it is looked at `again` after
    so many seconds, at first. `obstacles`: what a person must correct, or what the cloud did not answer. `fields`: what
    is known of it, for the status (None removes a field). `news`: told once.
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

    @property
    def is_there(self) -> bool:
        return not (self.requests or self.waits or self.obstacles)
