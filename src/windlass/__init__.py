"""Windlass runs the machine lifecycle of OpenShift-style Kubernetes clusters.

| package | what it holds |
|---|---|
| `windlass.api` | Kubernetes types, one module per API group and version; data only |
| `windlass.kube` | the controller runtime; knows nothing of machines |
| `windlass.model` | an API server in memory, for plans and tests |
| `windlass.capability` | what capabilities share: the process, plans, rights, CRDs, policies, commands |
| `windlass.machine_sync` | Machines mirrored between Cluster API and the Machine API |
| `windlass.update_status` | how the update of a cluster is going, as an API object |
| `windlass.openstack` | servers, networks and load balancers in OpenStack, for Cluster API |
| `windlass.os_build` | OS images of MachineConfigPools |
| `windlass.web` | the frame of the web page |
| `windlass.demo` | the frame of `windlass demo`, on a real control plane |
| `windlass.cli` | the frame of the command line, and the list of capabilities |
| `windlass.testing` | a real control plane for tests, an in-memory model of one, simulators of absent actors |

A capability (`machine_sync`, `update_status`, `openstack`, `os_build`) is one package. Beside its rules it has the
modules `capability` (what the frame knows about it) and `installation` (what it is with its options), and the packages
`cli`, `view` and `demo`, as far as there are any. No rule imports one of those.
"""

__version__ = "0.1.0"
