"""Names that the OpenStack capability shares with Cluster API, its OpenStack provider and their users."""

import re
from typing import Final

SERVER_FINALIZER: Final = "openstackserver.infrastructure.cluster.x-k8s.io"
MACHINE_FINALIZER: Final = "openstackmachine.infrastructure.cluster.x-k8s.io"
CLUSTER_FINALIZER: Final = "openstackcluster.infrastructure.cluster.x-k8s.io"
POOL_FINALIZER: Final = "openstackfloatingippool.infrastructure.cluster.x-k8s.io"
ADDRESS_FINALIZER: Final = "openstackfloatingippool.infrastructure.cluster.x-k8s.io/delete-floating-ip"
CLAIM_FINALIZER: Final = "openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim"
"""The finalizers of the provider: objects that it had can be taken over, and given back."""
MACHINE_API_FINALIZER: Final = "machine.machine.openshift.io"
"""That of the Machine API's machine controller, on its Machines."""
SECRET_FINALIZER: Final = "openstack.windlass.dev/credentials"
"""Ours, on a Secret with credentials while an object needs it."""

MARK_ANNOTATION: Final = "openstack.windlass.dev/mark"
"""On an OpenStackServer and its OpenStackMachine: the mark that all its resources in the cloud have
(`windlass.openstack.cloud.marks`). It moves with the object to another cluster, which the uid does not."""
MACHINE_MARK_ANNOTATION: Final = "openstack.windlass.dev/machine-mark"
"""On a Machine of the Machine API: its mark. Machine sync copies annotations of Machines to their OpenStackMachines,
whose servers have a mark of their own: it says which of the two has a server now."""
ADOPT_ANNOTATION: Final = "openstack.windlass.dev/adopt"
"""On an OpenStackServer: the ID of the existing server that it stands for. It never creates one then."""
ADOPT_NONE: Final = "none"
"""The value of `ADOPT_ANNOTATION` on an object that makes its server although the project has one of its name, also on
a Machine of the Machine API; on an OpenStackCluster or a pool, that nothing without a mark which is called like its own
is its own."""
TAKE_OVER_ANNOTATION: Final = "openstack.windlass.dev/take-over"
"""Kind, namespace and name (`server/team-a/web-0`) of an object that does not exist any more: the object that has this
annotation takes over what that one had."""
KEPT_ANNOTATION: Final = "openstack.windlass.dev/kept-for"
"""On an IPAddressClaim whose OpenStackServer is gone: the mark of the Machine of the Machine API with its server."""
INGRESS_ANNOTATION: Final = "openstack.windlass.dev/ingress"
"""On an OpenStackMachine of the control plane: the ID of the load balancer or floating IP through which the endpoint
reaches the control plane. The cluster's controller sets it, and takes it away before the server is deleted."""

PROVIDER_ID: Final = re.compile(r"openstack://([^/]*)/([0-9a-fA-F-]{32,36})")
"""`spec.providerID` of a machine: its groups are the region and the ID of the server."""

CLUSTER_LABEL: Final = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"
CLAIM_SUFFIX: Final = "-floating-ip-address"
"""The name of an IPAddressClaim is that of its OpenStackServer, and this."""
PAUSED_ANNOTATION: Final = "cluster.x-k8s.io/paused"
MANAGED_BY_ANNOTATION: Final = "cluster.x-k8s.io/managed-by"

EVENT_SOURCE: Final = "windlass-openstack"
LEASE: Final = "controller-leader-election-capo"
"""The Lease of the provider's own manager, which must not work beside ours."""
