"""Simulates the installer of a cluster: creates the kubeconfig Secret for Cluster API core, and sets
ControlPlaneInitialized.

Cluster API core looks up a Machine's Node only after its Cluster has ControlPlaneInitialized, and then only at the
Machine's next event. On OpenShift other controllers do both before the first Machine exists. A test must do the same:
wait for ControlPlaneInitialized before it creates Machines.
"""

import base64
from datetime import datetime
from typing import Any

from msgspec import Struct

from windlass.api import capi, core
from windlass.api.meta import owner_reference, tree
from windlass.kube.conditions import condition, is_true, put
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import permission, writes
from windlass.kube.control.plan import Create, Merge, Outcome, Plan, Target, target
from windlass.kube.control.seen import Absent, Present, Reader, Seen
from windlass.testing.machines.simulators.infrastructure_machines import NAMESPACE

CONDITION = "ControlPlaneInitialized"
_SUFFIX = "-kubeconfig"


class ClusterBootstrapSnapshot(Struct, frozen=True):
    """A Cluster, the Secret that Cluster API core looks for, and what is to be in it."""

    cluster: Seen[capi.Cluster]
    secret: Seen[core.Secret]
    kubeconfig: bytes


def cluster_bootstrap_simulator(
    reader: Reader, *, kubeconfig: bytes, namespace: str = NAMESPACE
) -> Controller[str, ClusterBootstrapSnapshot]:
    """The controller; keys are names of Clusters. `kubeconfig`: a file that leads to the workload cluster."""

    async def observe(name: str, _: Outcome) -> ClusterBootstrapSnapshot:
        cluster = await reader.see(capi.Cluster, name, namespace=namespace)
        secret: Seen[core.Secret] = Absent()
        if isinstance(cluster, Present):
            secret = await reader.see(core.Secret, secret_name(name), namespace=namespace)
        return ClusterBootstrapSnapshot(cluster, secret, kubeconfig)

    return Controller(
        name="cluster-bootstrap-simulator",
        watches=(Watch(capi.Cluster, lambda cluster: [cluster.name], namespace=namespace),),
        permissions=(
            permission(core.Secret, "get", namespace=namespace),
            writes(core.Secret, "create", namespace=namespace),
            writes(capi.Cluster, "patch", subresource="status", namespace=namespace),
        ),
        observe=observe,
        decide=decide_cluster_bootstrap,
    )


def decide_cluster_bootstrap(seen: ClusterBootstrapSnapshot, *, now: datetime) -> Plan:
    """What the installer would do about one Cluster."""
    cluster = seen.cluster
    if not isinstance(cluster, Present) or cluster.deleting:
        return Plan.nothing("no Cluster to install")
    secret = _secret(cluster, seen.kubeconfig) if isinstance(seen.secret, Absent) else None
    return Plan.of(secret, _initialized(cluster, now=now))


def secret_name(cluster: str) -> str:
    """The name under which Cluster API core looks for the kubeconfig of a cluster."""
    return f"{cluster}{_SUFFIX}"


def cluster_of(secret: str) -> list[str]:
    """The cluster whose kubeconfig a Secret of this name holds; empty if it is another Secret."""
    return [secret.removesuffix(_SUFFIX)] if secret.endswith(_SUFFIX) else []


def _secret(cluster: Present[capi.Cluster], kubeconfig: bytes) -> Create:
    metadata = cluster.metadata
    body = {
        "metadata": {
            "labels": {"cluster.x-k8s.io/cluster-name": metadata.name},
            "ownerReferences": [tree(owner_reference(capi.Cluster, metadata))],
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(kubeconfig).decode()},
    }
    aim = Target(core.Secret, secret_name(metadata.name), metadata.namespace)
    return Create(target=aim, body=body, why="Cluster API core connects to the workload cluster with it")


def _initialized(cluster: Present[capi.Cluster], *, now: datetime) -> Merge | None:
    status: dict[str, Any] = dict(cluster.tree.get("status") or {})
    conditions: list[dict[str, Any]] = [dict(one) for one in status.get("conditions") or []]
    # An existing True is kept: Cluster API core sets the condition with its own reason.
    if not is_true(conditions, CONDITION):
        conditions = put(conditions, tree(condition(CONDITION, True, "SimulatedControlPlane")), now=now)
    initialization = {**(status.get("initialization") or {}), "controlPlaneInitialized": True}
    return Merge(
        target=target(cluster),
        part="status",
        observed={"status": status},
        desired={"status": {**status, "initialization": initialization, "conditions": conditions}},
        why="the simulated control plane answers",
    )
