"""Names that the Machine API's controllers, its OpenStack provider and their users share."""

from typing import Final

MACHINE_API: Final = "MachineAPI"
"""The authority under which the Machine API's controllers act."""
MACHINE_API_NAMESPACE: Final = "openshift-machine-api"
"""Where OpenShift has its Machines."""
CLUSTER_API_NAMESPACE: Final = "openshift-cluster-api"
"""Where OpenShift has the objects of Cluster API that mirror them."""
REGION_LABEL: Final = "machine.openshift.io/region"
ZONE_LABEL: Final = "machine.openshift.io/zone"
INSTANCE_TYPE_LABEL: Final = "machine.openshift.io/instance-type"
STATE_ANNOTATION: Final = "machine.openshift.io/instance-state"
ID_ANNOTATION: Final = "openstack-resourceId"
LEGACY_ANNOTATION: Final = "instance-status"
"""The OpenStack provider had its state there, long ago."""
NO_DRAIN_ANNOTATION: Final = "machine.openshift.io/exclude-node-draining"
