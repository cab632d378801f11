"""The CRDs of OpenStack's kinds: names, columns, and the labels by which Cluster API and clusterctl find them.

| label | who reads it |
|---|---|
| `cluster.x-k8s.io/v1beta2: v1beta1` | Cluster API core: our v1beta1 follows its contract v1beta2 |
| `cluster.x-k8s.io/provider` | people, and `clusterctl` |
| `clusterctl.cluster.x-k8s.io` | `clusterctl move`: without it objects of the kind stay behind |
"""

from collections.abc import Mapping
from typing import Final

from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster, OpenStackClusterTemplate
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import KubernetesObject
from windlass.kube.crd import AGE, Column, Owned

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
