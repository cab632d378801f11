"""The input of a decision about an OpenStackCluster, and facts that follow from the objects alone."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present, Seen, Unreadable
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.query import Answers
from windlass.openstack.constants import CLUSTER_LABEL, MANAGED_BY_ANNOTATION
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.objects import owner_name
from windlass.openstack.ownership import Facts


class Unresolved(Struct, frozen=True):
    """A name has no address: `why` is a sentence."""

    why: str


class ControlMachine(Struct, frozen=True, kw_only=True):
    """A machine of the control plane, readable or not: one that cannot be read keeps its place.

    `ports` are the IDs of its ports, those on the network of the cluster first.
    """

    found: Present[OpenStackMachine] | Unreadable
    ports: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.found.metadata.name

    @property
    def deleting(self) -> bool:
        return self.found.metadata.deletion_timestamp is not None

    @property
    def addresses(self) -> list[str]:
        """Those inside the cloud; none as long as they are not known."""
        if isinstance(self.found, Unreadable):
            return []
        return [each.address for each in self.found.object.status.addresses if each.type == "InternalIP"]


class ClusterCloudFacts(Struct, frozen=True, kw_only=True):
    """What the cloud answered to what the spec names, when it was asked, and what it has of the cluster.

    `project` is the key of the project, `where` says for people where its credentials are. `extensions` are those of
    Neutron, by alias; asked for only if there are tags. `inventory`: why it is not known, if it is not. `resolved`: the
    address of the host of the endpoint, where that is a name that matters; else empty. `formers`: the marks in
    the cloud that the cluster replaces by its own; `facts`: who else has what.
    """

    answers: Answers
    asked: datetime
    project: str = ""
    where: str = ""
    inventory: NetworkInventory | CloudFailure = NetworkInventory()
    blockers: Blockers = Blockers()
    extensions: frozenset[str] = frozenset()
    resolved: str | Unresolved = ""
    formers: frozenset[str] = frozenset()
    facts: Facts = Facts()


class ClusterSnapshot(Asking, frozen=True, kw_only=True):
    """`cluster` None: no Cluster owns it. `machines`: those of the Cluster, only looked for while it is being deleted.
    `control_plane`: only looked for where the endpoint is led to them. `bastion`: the OpenStackServer of its name.

    What the decision asks for: `facts`, who else has the mark of its annotation; `fresh_mark`, a new mark, in case the
    object has none; `cloud`, or why there is no access to it.
    """

    infra: Seen[OpenStackCluster]
    cluster: Seen[Cluster] | None = None
    cluster_name: str = ""
    machines: tuple[str, ...] = ()
    control_plane: tuple[ControlMachine, ...] = ()
    bastion: Seen[OpenStackServer] | None = None
    last: Outcome = Outcome()
    facts: Facts = Facts()
    fresh_mark: str = ""
    cloud: ClusterCloudFacts | IdentityTrouble | CloudFailure | None = None


def cluster_of(meta: ObjectMeta) -> str:
    """The name of the Cluster that owns the object, or of its label; empty if there is none."""
    return owner_name(meta, Cluster) or meta.labels.get(CLUSTER_LABEL, "")


def recorded(infra: OpenStackCluster) -> tuple[str, ...]:
    """The IDs in the status of what was made for the cluster, by us or by an earlier provider.

    A network that the spec names was not, nor was a router."""
    spec, status = infra.spec, infra.status
    ids: list[str] = []
    if spec.managed_subnets and status.network is not None:
        ids += [status.network.id, *(each.id for each in status.network.subnets)]
        ids += [status.router.id] if status.router is not None and spec.router is None else []
    groups = (status.control_plane_security_group, status.worker_security_group, status.bastion_security_group)
    ids += [each.id for each in groups if each is not None]
    ids += [status.api_server_load_balancer.id] if status.api_server_load_balancer is not None else []
    return tuple(each for each in ids if each)


def is_provisioned(infra: OpenStackCluster) -> bool:
    """All its parts have been there once."""
    done = infra.status.initialization
    return done is not None and bool(done.provisioned)


def is_external(found: Present[OpenStackCluster]) -> bool:
    """Somebody else manages it."""
    return MANAGED_BY_ANNOTATION in found.metadata.annotations
