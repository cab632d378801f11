"""A cluster on OpenStack in documents: a machine that has no mirror yet, one that never gets one, and all they need."""

from typing import Final

INFRASTRUCTURE: Final = """
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
status: {infrastructureName: c, platformStatus: {type: OpenStack}}
"""
MACHINE: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata:
  name: worker-0
  namespace: openshift-cluster-api
  uid: 00000000-0000-4000-8000-0000000000a0
  resourceVersion: "70"
  generation: 1
  creationTimestamp: null
  labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/set-name: workers, role: worker}
  ownerReferences:
  - apiVersion: cluster.x-k8s.io/v1beta2
    kind: MachineSet
    name: workers
    uid: 00000000-0000-4000-8000-0000000000a1
    controller: true
    blockOwnerDeletion: true
spec:
  clusterName: c
  bootstrap: {dataSecretName: worker-user-data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: worker-0}
  providerID: openstack:///1
status: {phase: Running, nodeRef: {name: node-0}}
"""
INFRA_MACHINE: Final = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: worker-0, namespace: openshift-cluster-api, uid: infra-uid, resourceVersion: "20", generation: 1}
spec: {flavor: m1.large, image: {filter: {name: rhcos}}}
"""
INFRA_CLUSTER: Final = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: c, namespace: openshift-cluster-api}
spec: {}
"""
SETS: Final = """
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata:
  name: workers
  namespace: openshift-machine-api
  uid: 00000000-0000-4000-8000-0000000000b1
  resourceVersion: "30"
spec: {authoritativeAPI: ClusterAPI, replicas: 1, selector: {matchLabels: {role: worker}}, template: {spec: {}}}
status: {authoritativeAPI: ClusterAPI}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineSet
metadata:
  name: workers
  namespace: openshift-cluster-api
  uid: 00000000-0000-4000-8000-0000000000a1
  resourceVersion: "31"
spec:
  clusterName: c
  replicas: 1
  selector: {matchLabels: {role: worker}}
  template:
    metadata: {labels: {role: worker}}
    spec:
      clusterName: c
      bootstrap: {dataSecretName: worker-user-data}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: workers}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: workers, namespace: openshift-cluster-api}
spec: {template: {spec: {flavor: m1.large, image: {filter: {name: rhcos}}}}}
"""
ALONE: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: alone, namespace: openshift-cluster-api}
spec:
  clusterName: c
  bootstrap: {dataSecretName: worker-user-data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: alone}
"""

UNMIRRORED: Final = "---".join([INFRASTRUCTURE, MACHINE, INFRA_MACHINE, INFRA_CLUSTER, SETS, ALONE])
"""Everything."""
AT_REST: Final = "---".join([INFRASTRUCTURE, INFRA_CLUSTER, ALONE])
"""Only what nothing needs to be done about."""
