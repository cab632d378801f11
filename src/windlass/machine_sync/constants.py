"""Names that Machine sync shares with the Machine API, Cluster API and their users.

They are a contract with what is already on clusters: finalizers, labels, reasons and messages are the ones that
OpenShift's own sync controller writes, so that runbooks, dashboards and a change of controller keep working.
"""

from typing import NamedTuple

MACHINE_API_NAMESPACE = "openshift-machine-api"
CLUSTER_API_NAMESPACE = "openshift-cluster-api"


class Namespaces(NamedTuple):
    """Where the Machines of each API live. Both mirrors of a machine have the same name."""

    machine_api: str = MACHINE_API_NAMESPACE
    cluster_api: str = CLUSTER_API_NAMESPACE


MACHINE_API = "MachineAPI"
CLUSTER_API = "ClusterAPI"
MIGRATING = "Migrating"
"""Values of spec.authoritativeAPI (the first two) and status.authoritativeAPI."""

SYNC_FINALIZER = "sync.machine.openshift.io/finalizer"
"""Held on the MAPI Machine, the CAPI Machine and the infra machine while they mirror each other."""
MACHINE_API_FINALIZER = "machine.machine.openshift.io"
"""The Machine API machine controller's own; taken off a mirror by the side that is authoritative."""
CLUSTER_API_FINALIZER = "machine.cluster.x-k8s.io"
"""The Cluster API core controller's own."""
INFRA_FINALIZER_SUFFIX = ".cluster.x-k8s.io"
"""How finalizers of infrastructure providers end (before a slash, if any, comes their name)."""

PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"

EVENT_SOURCE = "machine-sync-controller"

LEASE_NAME = "machine-api-migration-leader"
"""In the namespace of Cluster API: the Lease of OpenShift's own migration controllers. Machine sync holds it while it
works, so the two never act at the same time."""
HOLDER_PREFIX = "windlass_"
"""How the holder of that Lease begins when it is Machine sync; OpenShift's begins with the name of its pod."""

AUTHORITY_ANNOTATION = "sync.machine.openshift.io/authoritative-api"
"""`MachineAPI` on a Machine or MachineSet of Cluster API while it is only the mirror. Admission policies rely on it."""
MIRRORED_LABELS_ANNOTATION = "sync.machine.openshift.io/mirrored-labels"
"""On a mirror: `key=value,...`, the labels that the sync put there."""
MIRRORED_ANNOTATIONS_ANNOTATION = "sync.machine.openshift.io/mirrored-annotations"
"""On a mirror: `key,...`, the annotations that the sync put there."""
MIRRORED_SPEC_ANNOTATION = "sync.machine.openshift.io/mirrored-spec"
"""On the infra machine of a mirror: `field=digest,...`, the fields of its spec that the sync gave it."""
MACHINE_ANNOTATION = "sync.machine.openshift.io/machine"
"""On the infra machine of a mirror, if it is not called like the machine: what the machine is called."""
BOOKKEEPING = (
    AUTHORITY_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_SPEC_ANNOTATION,
    MACHINE_ANNOTATION,
)
"""Annotations about the object that bears them, which the other API therefore does not get."""
MACHINE_SET_LABEL = "machine.openshift.io/cluster-api-machineset"
"""On Machines of the Machine API, and on infra templates that the sync made: the MachineSet they belong to."""
SET_NAME_LABEL = "cluster.x-k8s.io/set-name"
"""On Machines of Cluster API: the MachineSet that owns them."""
