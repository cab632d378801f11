"""Simulators: small stand-ins for the actors that a test or the demo cannot have.

There is no package of the Machine API operator to run, and no cloud. What these actors would write into the API server
is played here, by controllers on Windlass's own runtime whose decisions are pure. None of them is the real thing, none
makes a machine anywhere, and none belongs on a cluster that people use.

| simulator | plays | as far as |
|---|---|---|
| `machine_api_simulator` | Machine API operator, kubelet | authority, Paused, phases, provider ID, a Ready Node |
| `machine_api_set_simulator` | Machine API operator | authority, Paused, as many Machines as replicas, status |
| `infrastructure_machine_simulator` | infrastructure provider, kubelet | provider ID, status, addresses, a Ready Node |
| `infrastructure_cluster_simulator` | infrastructure provider | control plane endpoint, ready |
| `cluster_bootstrap_simulator` | installer | kubeconfig Secret, ControlPlaneInitialized |

Nothing drains. Both who make instances take over one that a machine names already, and keep a record of each
(`windlass.testing.simulators.instances`), by which a test sees whether one was lost, doubled, or fought over.

    from windlass.testing.simulators import infrastructure_machine_simulator
    from windlass.testing.simulators.platforms import OPENSTACK

    async with Manager(client, field_manager="simulators") as manager:
        await manager.start(
            lambda reader: infrastructure_machine_simulator(
                reader, platform=OPENSTACK, namespace="openshift-cluster-api"
            )
        )
        await manager.run()

All of them as one process, against the plane of a test:

    python -m windlass.testing.simulators --kubeconfig admin.yaml --workload-kubeconfig admin.yaml --platform OpenStack

On the in-memory model, where nothing runs by itself, `windlass.testing.simulators.stepping.step` lets one of them act.
"""

from windlass.testing.simulators.cluster_bootstrap import cluster_bootstrap_simulator
from windlass.testing.simulators.infrastructure_clusters import infrastructure_cluster_simulator
from windlass.testing.simulators.infrastructure_machines import infrastructure_machine_simulator
from windlass.testing.simulators.machine_api import machine_api_simulator
from windlass.testing.simulators.machine_api_sets import machine_api_set_simulator

__all__ = [
    "cluster_bootstrap_simulator",
    "infrastructure_cluster_simulator",
    "infrastructure_machine_simulator",
    "machine_api_set_simulator",
    "machine_api_simulator",
]
