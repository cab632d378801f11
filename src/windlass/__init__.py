"""Windlass runs the machine lifecycle of OpenShift-style Kubernetes clusters.

| package | what it holds |
|---|---|
| `windlass.api` | Kubernetes types, one module per API group and version; data only |
| `windlass.kube` | the controller runtime; knows nothing of machines |
| `windlass.capability` | what every capability stands on: the process, rights, CRDs, policies |
| `windlass.machine_sync` | Machines mirrored between Cluster API and the Machine API |
| `windlass.update_status` | how the update of a cluster is going, as an API object |
| `windlass.openstack` | servers, networks and load balancers in OpenStack, for Cluster API |
| `windlass.os_build` | OS images of MachineConfigPools |
| `windlass.web` | the web page |
| `windlass.demo` | the demos of `windlass demo`, on a real control plane |
| `windlass.cli` | the commands, in a room for each capability |
| `windlass.testing` | a real control plane for tests, an in-memory model of one, simulators of absent actors |
"""

__version__ = "0.1.0"
