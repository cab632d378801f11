"""Machines and sets that may be moved to the other API, as trees that tests change where a case differs."""

from typing import Any

from msgspec import structs

from windlass.api import capi, capo, capo_cluster, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject, tree
from windlass.kube.control.seen import Absent, seen
from windlass.kube.object import Object
from windlass.machine_sync.conversion import machine_set_to_cluster_api, to_cluster_api
from windlass.machine_sync.preflight import Candidate, Look, Trial, Tried

# Tests have these from here, like the rest.
from .trees import Tree as Tree
from .trees import changed as changed

PAUSED = "cluster.x-k8s.io/paused"
SINCE = "2026-01-02T03:04:05Z"
PROVIDER_SPEC: Tree = {
    "apiVersion": "machine.openshift.io/v1alpha1",
    "kind": "OpenstackProviderSpec",
    "cloudName": "openstack",
    "cloudsSecret": {"name": "openstack-cloud-credentials", "namespace": "openshift-machine-api"},
    "flavor": "m1.xlarge",
    "image": "rhcos",
    "userDataSecret": {"name": "worker-user-data"},
}
INFRASTRUCTURE: Tree = {
    "metadata": {"name": "cluster"},
    "status": {"infrastructureName": "c", "platformStatus": {"type": "OpenStack"}},
}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Tree:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "severity": "",
        "lastTransitionTime": SINCE,
    }


IN_SYNC = condition("Synchronized", "True", "ResourceSynchronized")
OUT_OF_SYNC = condition("Synchronized", "False", "FailedToConvertMAPIMachineToCAPI", "spec.taints: no")
RESYNC = condition("Synchronized", "Unknown", "AuthoritativeAPIChanged", "Waiting for resync")
MACHINE_API_ACTS = condition("Paused", "False", "AuthoritativeAPIMachineAPI")
MACHINE_API_PAUSED = condition("Paused", "True", "AuthoritativeAPINotMachineAPI")


def meta(name: str, namespace: str, **more: Any) -> Tree:
    return {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "resourceVersion": "7", **more}


def machine_api(authority: str = "MachineAPI", **changes: Any) -> Tree:
    """A Machine of the Machine API, in sync; `authority` is both asked for and given."""
    result: Tree = {
        "metadata": meta("w-0", "openshift-machine-api", generation=3),
        "spec": {"authoritativeAPI": authority, "providerSpec": {"value": PROVIDER_SPEC}},
        "status": {
            "authoritativeAPI": authority,
            "synchronizedAPI": authority,
            "synchronizedGeneration": 3,
            "phase": "Running",
            "conditions": [IN_SYNC, MACHINE_API_ACTS if authority == "MachineAPI" else MACHINE_API_PAUSED],
        },
    }
    return changed(result, **changes)


def cluster_api(authority: str = "MachineAPI", **changes: Any) -> tuple[Tree, Tree]:
    """Its twin and the infrastructure machine, as converted."""
    converted = to_cluster_api(decoded(mapi.Machine, machine_api()), decoded(Infrastructure, INFRASTRUCTURE))
    twin, infra = tree(converted.machine), tree(converted.infra_machine)
    mirror = {PAUSED: ""} if authority == "MachineAPI" else {}
    twin["metadata"] |= meta("w-0", "openshift-cluster-api", generation=3, annotations=mirror)
    twin["status"] |= {
        "initialization": {"infrastructureProvisioned": True},
        "conditions": [condition("Paused", "True" if mirror else "False")],
    }
    return changed(twin, **changes), infra


def machine_set(authority: str = "MachineAPI", **changes: Any) -> Tree:
    result: Tree = {
        "metadata": meta("workers", "openshift-machine-api", generation=3),
        "spec": {
            "authoritativeAPI": authority,
            "replicas": 2,
            "selector": {"matchLabels": {"set": "workers"}},
            "template": {
                "metadata": {"labels": {"set": "workers"}},
                "spec": {"authoritativeAPI": authority, "providerSpec": {"value": PROVIDER_SPEC}},
            },
        },
        "status": {
            "replicas": 2,
            "authoritativeAPI": authority,
            "synchronizedAPI": authority,
            "synchronizedGeneration": 3,
            "conditions": [IN_SYNC, MACHINE_API_ACTS if authority == "MachineAPI" else MACHINE_API_PAUSED],
        },
    }
    return changed(result, **changes)


def decoded(kind: type[Any], of: Tree) -> Any:
    return Object.of(kind, of).decode()


def look(kind: type[KubernetesObject], of: Tree | None) -> Look[Any]:
    return Absent(confirmed=True) if of is None else seen(Object.of(kind, of))


def candidate(
    target: str = "ClusterAPI", *, mapi_changes: Tree | None = None, capi_changes: Tree | None = None, **more: Any
) -> Candidate:
    """A Machine that may be moved to `target`, unless something is changed."""
    source = "MachineAPI" if target == "ClusterAPI" else "ClusterAPI"
    twin, infra = cluster_api(source, **(capi_changes or {}))
    ready = Candidate(
        kind=mapi.Machine,
        name="w-0",
        target=target,
        machine_api=look(mapi.Machine, machine_api(source, **(mapi_changes or {}))),
        cluster_api=look(capi.Machine, twin),
        infra=look(capo.OpenStackMachine, infra),
        infra_cluster=look(capo_cluster.OpenStackCluster, {"metadata": meta("c", "openshift-cluster-api")}),
        infrastructure=look(Infrastructure, INFRASTRUCTURE),
        trial=Trial(Tried.ACCEPTED),
    )
    return structs.replace(ready, **more)


def cluster_api_set(authority: str = "MachineAPI") -> tuple[Tree, Tree]:
    """Its twin and the infrastructure template, as converted."""
    infrastructure = decoded(Infrastructure, INFRASTRUCTURE)
    converted = machine_set_to_cluster_api(decoded(mapi.MachineSet, machine_set()), infrastructure)
    twin = tree(converted.machine_set)
    mirror = {PAUSED: ""} if authority == "MachineAPI" else {}
    twin["metadata"] |= meta("workers", "openshift-cluster-api", generation=3, annotations=mirror)
    twin["status"] |= {"conditions": [condition("Paused", "True" if mirror else "False")]}
    return twin, tree(converted.infra_template)


def set_candidate(target: str = "ClusterAPI", *, mapi_changes: Tree | None = None, **more: Any) -> Candidate:
    """A MachineSet that may be moved to `target`, unless something is changed."""
    source = "MachineAPI" if target == "ClusterAPI" else "ClusterAPI"
    twin, infra = cluster_api_set(source)
    ready = Candidate(
        kind=mapi.MachineSet,
        name="workers",
        target=target,
        machine_api=look(mapi.MachineSet, machine_set(source, **(mapi_changes or {}))),
        cluster_api=look(capi.MachineSet, twin),
        infra=look(capo.OpenStackMachineTemplate, infra),
        infra_cluster=look(capo_cluster.OpenStackCluster, {"metadata": meta("c", "openshift-cluster-api")}),
        infrastructure=look(Infrastructure, INFRASTRUCTURE),
        trial=Trial(Tried.ACCEPTED),
    )
    return structs.replace(ready, **more)


def set_owner(name: str = "workers", kind: str = "MachineSet", version: str = "machine.openshift.io/v1beta1") -> Tree:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": "1", "controller": True}
