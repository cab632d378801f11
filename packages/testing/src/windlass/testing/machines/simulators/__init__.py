"""Simulators of the controllers and the cloud that a test or the demo cannot run.

They are controllers on Windlass's own runtime with pure decisions. They write to the API server what the real
controllers would write. They create no machines, and must never run on a cluster that people use.

| simulator | plays | as far as |
|---|---|---|
| `machine_api_simulator` | Machine API operator, kubelet | authority, Paused, phases, provider ID, a Ready Node |
| `machine_api_set_simulator` | Machine API operator | authority, Paused, as many Machines as replicas, status |
| `infrastructure_machine_simulator` | infrastructure provider, kubelet | provider ID, status, addresses, a Ready Node |
| `infrastructure_cluster_simulator` | infrastructure provider | control plane endpoint, ready |
| `cluster_bootstrap_simulator` | installer | kubeconfig Secret, ControlPlaneInitialized |
| `guest.guest_simulator` | kubelets of the servers of a real OpenStack | a Node for each ACTIVE server |

Nothing drains. The two simulators that create instances take over an instance that a machine already names. They record
each instance (module `instances`), so a test can see whether one was lost, doubled, or used by both sides at once.

    from windlass.testing.machines.simulators import infrastructure_machine_simulator
    from windlass.testing.machines.simulators.platforms import OPENSTACK

    async with Manager(client, field_manager="simulators") as manager:
        await manager.start(
            lambda reader: infrastructure_machine_simulator(
                reader, platform=OPENSTACK, namespace="openshift-cluster-api"
            )
        )
        await manager.run()

All of them as one process, against the plane of a test:

    python -m windlass.testing.machines.simulators --kubeconfig k.yaml --workload-kubeconfig k.yaml --platform OpenStack

The kubelets of a real cloud are a process of their own, beside a real provider:

    python -m windlass.testing.machines.simulators --guest --os-cloud dev --workload-kubeconfig k.yaml

On the in-memory model, where nothing runs by itself, `stepping.step` lets one of them act.
"""

from windlass.testing.machines.simulators.cluster_bootstrap import cluster_bootstrap_simulator
from windlass.testing.machines.simulators.infrastructure_clusters import infrastructure_cluster_simulator
from windlass.testing.machines.simulators.infrastructure_machines import infrastructure_machine_simulator
from windlass.testing.machines.simulators.machine_api import machine_api_simulator
from windlass.testing.machines.simulators.machine_api_sets import machine_api_set_simulator

__all__ = [
    "cluster_bootstrap_simulator",
    "infrastructure_cluster_simulator",
    "infrastructure_machine_simulator",
    "machine_api_set_simulator",
    "machine_api_simulator",
]
