"""Names in a cluster that reports depend on."""

from typing import Final

from windlass.api.machineconfiguration import GROUP

CLUSTER_VERSION: Final = "version"
MASTER: Final = "master"
WORKER: Final = "worker"
CONTROL_PLANE_POOLS: Final = frozenset({MASTER, "arbiter"})
"""Pools whose nodes the control plane runs on; `oc` takes the nodes of arbiter for workers."""
OS_LABEL: Final = "kubernetes.io/os"
WINDOWS: Final = "windows"
"""The label of nodes, and its value, that the Machine Config Operator leaves to the one of Windows."""

MACHINE_CONFIG_OPERATOR: Final = "machine-config"
"""The ClusterOperator of the Machine Config Operator."""
MCO_NAMESPACE: Final = "openshift-machine-config-operator"
MCO_DEPLOYMENT: Final = "machine-config-operator"
"""The Deployment, and its container, that tells which image the Machine Config Operator runs."""

MONITORING_NAMESPACE: Final = "openshift-monitoring"
THANOS_QUERIER: Final = "thanos-querier"

PAYLOAD_ANNOTATIONS: Final = ("exclude.release.openshift.io/", "include.release.openshift.io/")
"""The start of annotations of objects that a release payload applies; other operators have no part in updates."""

CURRENT_CONFIG: Final = f"{GROUP}/currentConfig"
DESIRED_CONFIG: Final = f"{GROUP}/desiredConfig"
STATE: Final = f"{GROUP}/state"
REASON: Final = f"{GROUP}/reason"
DESIRED_DRAIN: Final = f"{GROUP}/desiredDrain"
LAST_APPLIED_DRAIN: Final = f"{GROUP}/lastAppliedDrain"
CURRENT_IMAGE: Final = f"{GROUP}/currentImage"
DESIRED_IMAGE: Final = f"{GROUP}/desiredImage"
"""Annotations of nodes, by the Machine Config Daemon and its controller."""

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
"""The taint of a node that is cordoned."""

RELEASE_VERSION: Final = f"{GROUP}/release-image-version"
"""The annotation of a rendered MachineConfig with the release that it is of."""
LAYERING_LABEL: Final = f"{GROUP}/layering-enabled"
NEWEST_IMAGE: Final = f"{GROUP}/newestImageEquivalentConfig"
"""Label and annotation of a pool whose nodes run images of their own."""

ALERTS: Final = "alerts"
"""The resource, in the group of ClusterVersion, that insights into alerts name."""
