"""What tests and the demo need to play the update of an OpenShift cluster on a bare API server.

Nothing is updated: the real objects say what they would say if something were.

| module | what it plays |
|---|---|
| `script` | a whole update, as steps to await: the place to start |
| `layout` | what the cluster consists of |
| `cvo` | the Cluster Version Operator: ClusterVersion, ClusterOperators |
| `mco` | the Machine Config Operator: pools and their MachineConfigs |
| `machine_config` | nothing: it runs that operator's own controller in the place of `mco` |
| `os_builder` | nothing, either: it also runs that operator's own builder of OS images |
| `nodes` | one Node on its way to another MachineConfig, its kubelet and its MachineConfigNode |
| `drain` | the drain of a Node, by the real Eviction API |
| `thanos` | the service that has the alerts, over TLS |
| `objects` | the reads and writes of all of them |

They speak `windlass.kube.verbs.Api`: the API server of a plane (with `windlass.testing.crds.UPDATES`) and
`windlass.model` both do. On a plane, the simulators need sole use of its cluster-scoped objects.
"""

from windlass.testing.updates.layout import Layout, Pool
from windlass.testing.updates.script import PlayedCluster, Step

__all__ = ["Layout", "PlayedCluster", "Pool", "Step"]
