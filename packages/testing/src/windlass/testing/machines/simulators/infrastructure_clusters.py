"""Simulates the infrastructure provider for a cluster: sets the control plane endpoint and the ready status.

| infrastructure cluster | what the simulator does |
|---|---|
| has the annotation cluster.x-k8s.io/paused | nothing |
| else | its finalizer, spec.controlPlaneEndpoint if nobody has set one |
| there is a kubeconfig Secret of the cluster | status ready |
| being deleted | its finalizer comes off |

Cluster API core connects to a workload cluster as soon as its infrastructure is ready. If the kubeconfig Secret comes
later, it tries again only after 30 s.
"""

from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct

from windlass.api import core
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import permission, writes
from windlass.kube.control.plan import AddFinalizer, Merge, Outcome, Plan, RemoveFinalizers, target
from windlass.kube.control.seen import Absent, Present, Reader, Seen
from windlass.testing.machines.simulators.cluster_bootstrap import cluster_of, secret_name
from windlass.testing.machines.simulators.infrastructure_machines import NAMESPACE, PAUSED
from windlass.testing.machines.simulators.platforms import SimulatedPlatform


class Endpoint(NamedTuple):
    """Where the API server of the workload cluster is."""

    host: str
    port: int


class InfrastructureClusterSnapshot(Struct, frozen=True):
    """An infrastructure cluster, the endpoint that it shall have, and the kubeconfig Secret of its Cluster."""

    platform: SimulatedPlatform
    cluster: Seen[Any]
    endpoint: Endpoint
    secret: Seen[core.Secret] = Absent()


def infrastructure_cluster_simulator(
    reader: Reader, *, platform: SimulatedPlatform, endpoint: Endpoint, namespace: str = NAMESPACE
) -> Controller[str, InfrastructureClusterSnapshot]:
    """The controller; keys are names of infrastructure clusters."""

    async def observe(name: str, _: Outcome) -> InfrastructureClusterSnapshot:
        found = await reader.see(platform.cluster, name, namespace=namespace)
        secret = await reader.see(core.Secret, secret_name(name), namespace=namespace)
        return InfrastructureClusterSnapshot(platform, found, endpoint, secret)

    return Controller(
        name=f"{platform.name.lower()}-cluster-simulator",
        watches=(
            Watch(platform.cluster, lambda cluster: [cluster.name], namespace=namespace),
            Watch(core.Secret, lambda secret: cluster_of(secret.name), namespace=namespace, metadata_only=True),
        ),
        permissions=(
            permission(core.Secret, "get", namespace=namespace),
            writes(platform.cluster, "patch", namespace=namespace),
            writes(platform.cluster, "patch", subresource="status", namespace=namespace),
        ),
        observe=observe,
        decide=decide_infrastructure_cluster,
    )


def decide_infrastructure_cluster(seen: InfrastructureClusterSnapshot, *, now: datetime) -> Plan:
    """What the provider would do about one cluster."""
    cluster = seen.cluster
    if not isinstance(cluster, Present):
        return Plan.nothing("no cluster to look after")
    if PAUSED in cluster.metadata.annotations:
        return Plan.nothing("the cluster is paused")
    finalizers, finalizer = tuple(cluster.metadata.finalizers), seen.platform.cluster_finalizer
    if cluster.deleting:
        why = "there is nothing left to delete"
        return Plan.of(RemoveFinalizers(target=target(cluster), observed=finalizers, finalizers=(finalizer,), why=why))
    spec: dict[str, Any] = dict(cluster.tree.get("spec") or {})
    status: dict[str, Any] = dict(cluster.tree.get("status") or {})
    has_endpoint = bool((spec.get("controlPlaneEndpoint") or {}).get("host"))
    endpoint = spec.get("controlPlaneEndpoint") if has_endpoint else seen.endpoint._asdict()
    ready = seen.platform.cluster_status if isinstance(seen.secret, Present) else {}
    return Plan.of(
        AddFinalizer(target=target(cluster), observed=finalizers, finalizer=finalizer),
        Merge(
            target=target(cluster),
            observed={"spec": spec},
            desired={"spec": {**spec, "controlPlaneEndpoint": endpoint}},
            why="the simulated load balancer exists",
        ),
        Merge(
            target=target(cluster),
            part="status",
            observed={"status": status},
            desired={"status": {**status, **ready}},
            why="the simulated network is ready",
        ),
    )
