"""Machines on OpenStack as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster, OpenStackClusterTemplate
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import KubernetesObject
from windlass.capability.extras import require
from windlass.capability.installation import Installation, account, permissions_of
from windlass.capability.manifests.rights import ServiceAccount, Unread
from windlass.kube.control.controller import Controller
from windlass.kube.control.permissions import Declaration
from windlass.kube.crd import AGE, Column, Owned
from windlass.openstack.beside import PROVIDER_NAMESPACE, beside_permissions
from windlass.openstack.cloud.clouds import Clouds, PollTimes
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.service import OWN_LEASE

if TYPE_CHECKING:
    from windlass.capability.manifests.policy import Policy
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame


NAME: Final = "openstack"
HOME: Final = "windlass-openstack"
"""The namespace of the ServiceAccount, the Deployment and the Lease."""


def installation(
    *,
    home: str = HOME,
    namespaces: Sequence[str] = (),
    provider_namespace: str = PROVIDER_NAMESPACE,
    polls: PollTimes | None = None,
    credentials: Callable[[], Credentials] | None = None,
    machine_api: str = "",
    allow_loopback: bool = False,
) -> Installation:
    """For objects in `namespaces` (none: in all namespaces). The provider of Cluster API is looked for in
    `provider_namespace`. Plans from files ask the cloud of `credentials`, if there are any. `machine_api`: the one
    namespace whose Machines of the Machine API get their servers here too; empty: none do. `allow_loopback`: clouds of
    Secrets may have addresses of this machine and of metadata services."""

    def controllers(reader: Any, clouds: Clouds) -> tuple[Controller[Any, Any], ...]:
        from windlass.openstack.controllers import makers

        return tuple(make(reader) for make in makers(clouds, namespaces, machine_api=machine_api))

    def permissions() -> tuple[Declaration, ...]:
        declared = permissions_of(controllers(Unread(), Clouds()), lease=OWN_LEASE, namespace=home)
        return (*declared, *beside_permissions(machine_api=machine_api))

    def frame() -> "Frame":
        require("openstack")
        from windlass.openstack.service import frame

        return frame(
            home=home,
            namespaces=namespaces,
            provider_namespace=provider_namespace,
            polls=polls or PollTimes(),
            machine_api=machine_api,
            allow_loopback=allow_loopback,
        )

    def planner() -> "Planner":
        require("openstack")
        from windlass.openstack.planning.planner import planner

        made = planner(controllers, reader=Unread(), credentials=credentials, machine_api=machine_api)
        return structs.replace(made, owned=tuple(each.kind for each in OWNED))

    def policies(service_account: ServiceAccount, exempt: Sequence[str]) -> "Sequence[Policy]":
        from windlass.openstack.policies import policies

        return policies(exempt)

    return Installation(
        name=NAME,
        service_account=account(NAME, home),
        permissions=permissions,
        frame=frame,
        planner=planner,
        owned=OWNED,
        policies=policies,
        theirs=(machine_api,) if machine_api else (),
    )


# The CRDs of OpenStack's kinds: names, columns, and the labels by which Cluster API and clusterctl find them.
#
# | label | who reads it |
# |---|---|
# | `cluster.x-k8s.io/v1beta2: v1beta1` | Cluster API core: our v1beta1 follows its contract v1beta2 |
# | `cluster.x-k8s.io/provider` | people, and `clusterctl` |
# | `clusterctl.cluster.x-k8s.io` | `clusterctl move`: without it objects of the kind stay behind |

_FOUND: Final = {"cluster.x-k8s.io/provider": "infrastructure-openstack", "clusterctl.cluster.x-k8s.io": ""}
_IN_CONTRACT: Final = {**_FOUND, "cluster.x-k8s.io/v1beta2": "v1beta1"}
_CLUSTER: Final = Column("Cluster", r".metadata.labels.cluster\.x-k8s\.io/cluster-name", description="Its cluster")
_READY: Final = Column("Ready", '.status.conditions[?(@.type=="Ready")].status', description="All of it is there")
_REASON: Final = Column(
    "Reason", '.status.conditions[?(@.type=="Ready")].reason', description="Why it is not ready", priority=1
)


def _owned(kind: type[KubernetesObject], short: str, *columns: Column, labels: Mapping[str, str]) -> Owned:
    return Owned(kind=kind, short_names=(short,), categories=("cluster-api",), labels=labels, columns=columns or (AGE,))


OWNED: Final = (
    _owned(
        OpenStackMachine,
        "osm",
        _CLUSTER,
        Column("InstanceState", ".status.instanceState", description="What Nova says of its server"),
        _READY,
        Column("ProviderID", ".spec.providerID", description="The server"),
        Column("Machine", '.metadata.ownerReferences[?(@.kind=="Machine")].name', description="Its Machine"),
        _REASON,
        AGE,
        labels=_IN_CONTRACT,
    ),
    _owned(OpenStackMachineTemplate, "osmt", labels=_IN_CONTRACT),
    _owned(
        OpenStackCluster,
        "osc",
        _CLUSTER,
        _READY,
        Column("Network", ".status.network.id", description="The network of its machines"),
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", description="Its API servers", priority=1),
        Column("Bastion IP", ".status.bastion.floatingIP", description="The way in by SSH"),
        _REASON,
        AGE,
        labels=_IN_CONTRACT,
    ),
    _owned(OpenStackClusterTemplate, "osct", labels=_IN_CONTRACT),
    _owned(
        OpenStackServer,
        "oss",
        Column("InstanceState", ".status.instanceState", description="What Nova says of the server"),
        Column("Ready", ".status.ready", type="boolean", description="It is ACTIVE"),
        Column("InstanceID", ".status.instanceID", description="The server"),
        _REASON,
        AGE,
        labels=_FOUND,
    ),
    _owned(
        OpenStackFloatingIPPool,
        "osfip",
        _READY,
        Column("Claimed", ".status.claimedIPs", description="Floating IPs that are claimed"),
        _REASON,
        AGE,
        labels=_FOUND,
    ),
    _owned(
        OpenStackClusterIdentity,
        "osci",
        Column("Namespace", ".spec.secretRef.namespace", description="Where the Secret with the credentials is"),
        Column("Secret", ".spec.secretRef.name"),
        AGE,
        labels=_FOUND,
    ),
)
"""In the order in which they are printed."""
