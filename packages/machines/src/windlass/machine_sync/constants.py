"""Names that Machine sync shares with the Machine API, Cluster API and their users.

They must not change, because objects on clusters have them: finalizers, labels, reasons and messages are those of
OpenShift's own sync controller, so that runbooks, dashboards and a change of controller keep working.
"""

from typing import Final, NamedTuple

NAME: Final = "machine-sync"
"""Of the capability."""

MACHINE_API_NAMESPACE = "openshift-machine-api"
CLUSTER_API_NAMESPACE = "openshift-cluster-api"


class Namespaces(NamedTuple):
    """The namespaces of the Machines of each API. Both Machines of a machine have the same name."""

    machine_api: str = MACHINE_API_NAMESPACE
    cluster_api: str = CLUSTER_API_NAMESPACE


MACHINE_API = "MachineAPI"
CLUSTER_API = "ClusterAPI"
MIGRATING = "Migrating"
"""Values of spec.authoritativeAPI (the first two) and status.authoritativeAPI."""

SYNC_FINALIZER = "sync.machine.openshift.io/finalizer"
"""Our finalizer on the MAPI Machine, the CAPI Machine and the infra machine while they are mirrored."""
MACHINE_API_FINALIZER = "machine.machine.openshift.io"
"""The finalizer of the Machine API's machine controller; on a mirror, we remove it."""
CLUSTER_API_FINALIZER = "machine.cluster.x-k8s.io"
"""The finalizer of Cluster API's core controller."""
INFRA_FINALIZER_SUFFIX = ".cluster.x-k8s.io"
"""The suffix of finalizers of infrastructure providers, without their name and a slash, if any."""

PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"

EVENT_SOURCE = "machine-sync-controller"

LEASE_NAME = "machine-api-migration-leader"
"""In the namespace of Cluster API: the Lease of OpenShift's own migration controllers. Machine sync holds it while it
works, so the two never act at the same time."""
HOLDER_PREFIX = "windlass_"
"""The prefix of the Lease's holder if it is Machine sync; OpenShift's begins with the name of its pod."""

AUTHORITY_ANNOTATION = "sync.machine.openshift.io/authoritative-api"
"""`MachineAPI` on a Machine or MachineSet of Cluster API while it is the mirror. Admission policies rely on it."""
MIRRORED_LABELS_ANNOTATION = "sync.machine.openshift.io/mirrored-labels"
"""On a mirror: `key=value,...`, the labels that we copied to it."""
MIRRORED_ANNOTATIONS_ANNOTATION = "sync.machine.openshift.io/mirrored-annotations"
"""On a mirror: `key,...`, the annotations that we copied to it."""
MIRRORED_SPEC_ANNOTATION = "sync.machine.openshift.io/mirrored-spec"
"""On the infra machine or template of a mirror: `item=value,...`, the record of what we wrote
(`mirroring.mirrored_spec`)."""
MACHINE_ANNOTATION = "sync.machine.openshift.io/machine"
"""On the infra machine of a mirror, if its name differs from the machine's: the name of the machine."""
BOOKKEEPING = (
    AUTHORITY_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_SPEC_ANNOTATION,
    MACHINE_ANNOTATION,
)
"""Annotations about the object that they are on; they are not copied to the other API."""
MACHINE_SET_LABEL = "machine.openshift.io/cluster-api-machineset"
"""On Machines of the Machine API, and on infra templates that we created: the MachineSet that they belong to."""
SET_NAME_LABEL = "cluster.x-k8s.io/set-name"
"""On Machines of Cluster API: the MachineSet that owns them."""
