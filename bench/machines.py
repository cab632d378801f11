"""Machines of Cluster API on AWS as a cluster has them: owned by a MachineSet with a twin in the Machine API.

Machine and AWSMachine are those of a provisioned worker: provider ID, addresses, Node, finalizers of their own
controllers. Nothing of the Machine API exists but the MachineSet.
"""

import asyncio
from typing import Any

from msgspec import Struct

from bench.arena import with_hands
from windlass.api import capa, capi, mapi
from windlass.api import config as openshift
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType

CLUSTER = "bench-x7k2p"
SET = f"{CLUSTER}-worker-us-east-1a"
CRD_GROUPS = (
    "cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "machine.openshift.io",
    "config.openshift.io",
)

_CLUSTER_LABEL = {"cluster.x-k8s.io/cluster-name": CLUSTER}
_SET_LABELS = {**_CLUSTER_LABEL, "cluster.x-k8s.io/set-name": SET, "machine.openshift.io/cluster-api-machineset": SET}


class Place(Struct, frozen=True):
    """Two namespaces with a MachineSet each, of the same name, and the AWSCluster. The uids are the MachineSets'."""

    machine_api: str
    cluster_api: str
    machine_api_set_uid: str
    cluster_api_set_uid: str


def name(number: int) -> str:
    return f"{CLUSTER}-worker-{number:05d}"


async def configure_cluster(seed: Client) -> None:
    """Platform AWS, feature gate on."""
    gate = {"featureGates": [{"version": "4.21.0", "enabled": [{"name": "MachineAPIMigration"}]}]}
    objects: list[tuple[Any, str, dict[str, Any], dict[str, Any]]] = [
        (openshift.FeatureGate, "cluster", {"featureSet": "TechPreviewNoUpgrade"}, gate),
        (
            openshift.ClusterVersion,
            "version",
            {"clusterID": "11111111-2222-4333-8444-555555555555"},
            {"desired": {"version": "4.21.0", "image": "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64"}},
        ),
        (
            openshift.Infrastructure,
            "cluster",
            {"platformSpec": {"type": "AWS"}},
            {"infrastructureName": CLUSTER, "platform": "AWS", "platformStatus": {"type": "AWS"}},
        ),
    ]
    for kind, named, spec, status in objects:
        await seed.create(kind, {"metadata": {"name": named}, "spec": spec})
        await seed.patch(kind, named, {"status": status}, type=PatchType.MERGE, subresource="status")


async def make_place(seed: Client, *, machine_api: str, cluster_api: str) -> Place:
    """Fill two empty namespaces with what Machines need to be there."""
    await seed.create(capa.AWSCluster, {"metadata": {"name": CLUSTER}, "spec": _AWS_CLUSTER}, namespace=cluster_api)
    ours = await seed.create(
        capi.MachineSet,
        {
            "metadata": {"name": SET, "labels": _CLUSTER_LABEL},
            "spec": {
                "clusterName": CLUSTER,
                "replicas": 0,
                "selector": {"matchLabels": _SET_LABELS},
                "template": {"metadata": {"labels": _SET_LABELS}, "spec": _machine_spec(SET)},
            },
        },
        namespace=cluster_api,
    )
    twin = await seed.create(
        mapi.MachineSet,
        {
            "metadata": {"name": SET},
            "spec": {
                "authoritativeAPI": "ClusterAPI",
                "replicas": 0,
                "selector": {"matchLabels": {"machine.openshift.io/cluster-api-machineset": SET}},
                "template": {"metadata": {"labels": {"machine.openshift.io/cluster-api-machineset": SET}}},
            },
        },
        namespace=machine_api,
    )
    return Place(machine_api, cluster_api, twin.uid, ours.uid)


async def provisioned(seed: Client, place: Place, *, count: int) -> None:
    """Make `count` Machines whose instances run: four writes each."""
    await with_hands(range(count), lambda number: _provision(seed, place, number))


async def scale_up(seed: Client, place: Place, number: int) -> None:
    """Make one Machine as a MachineSet does: the AWSMachine first, no status anywhere yet."""
    named = name(number)
    infra = {"metadata": {"name": named, "labels": _SET_LABELS}, "spec": _infra_spec(number, provisioned=False)}
    await seed.create(capa.AWSMachine, infra, namespace=place.cluster_api)
    await seed.create(capi.Machine, _machine(place, named), namespace=place.cluster_api)


async def _provision(seed: Client, place: Place, number: int) -> None:
    named, there = name(number), place.cluster_api
    machine = await seed.create(capi.Machine, _machine(place, named, number=number), namespace=there)
    owner = _owner(capi.Machine, named, machine.uid)
    infra = {
        "metadata": {
            "name": named,
            "labels": _SET_LABELS,
            "ownerReferences": [owner],
            "finalizers": ["awsmachine.infrastructure.cluster.x-k8s.io"],
        },
        "spec": _infra_spec(number, provisioned=True),
    }
    await seed.create(capa.AWSMachine, infra, namespace=there)
    status = PatchType.MERGE
    await asyncio.gather(
        seed.patch(capi.Machine, named, _machine_status(number), type=status, subresource="status", namespace=there),
        seed.patch(capa.AWSMachine, named, _infra_status(number), type=status, subresource="status", namespace=there),
    )


def _machine(place: Place, named: str, *, number: int | None = None) -> dict[str, Any]:
    provider_id = {} if number is None else {"providerID": _provider_id(number)}
    return {
        "metadata": {
            "name": named,
            "labels": {**_SET_LABELS, "node-role.kubernetes.io/worker": ""},
            "finalizers": ["machine.cluster.x-k8s.io"],
            "ownerReferences": [_owner(capi.MachineSet, SET, place.cluster_api_set_uid)],
        },
        "spec": {**_machine_spec(named), **provider_id},
    }


def _machine_spec(infra: str) -> dict[str, Any]:
    return {
        "clusterName": CLUSTER,
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {"apiGroup": capa.AWSMachine.RESOURCE.group, "kind": "AWSMachine", "name": infra},
        "failureDomain": "us-east-1a",
    }


def _owner(kind: Any, named: str, uid: str) -> dict[str, Any]:
    return {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "name": named,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _provider_id(number: int) -> str:
    return f"aws:///us-east-1a/{_instance(number)}"


def _instance(number: int) -> str:
    return f"i-{number:017x}"


def _addresses(number: int) -> list[dict[str, str]]:
    address = f"10.0.{number // 250}.{number % 250 + 1}"
    dns = f"ip-{address.replace('.', '-')}.ec2.internal"
    return [
        {"type": "InternalIP", "address": address},
        {"type": "InternalDNS", "address": dns},
        {"type": "Hostname", "address": dns},
    ]


def _machine_status(number: int) -> dict[str, Any]:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Ready",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-26T01:30:52Z",
    }
    return {
        "status": {
            "phase": "Running",
            "nodeRef": {"name": _addresses(number)[1]["address"]},
            "lastUpdated": "2026-01-26T01:30:52Z",
            "addresses": _addresses(number),
            "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
            "conditions": [ready],
            "observedGeneration": 1,
        }
    }


def _infra_spec(number: int, *, provisioned: bool) -> dict[str, Any]:
    running = {"providerID": _provider_id(number), "instanceID": _instance(number)} if provisioned else {}
    return {
        **running,
        "instanceMetadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required"},
        "ami": {"id": "ami-0a5bb9b5f1d1e2c3d"},
        "instanceType": "m6i.xlarge",
        "additionalTags": {f"kubernetes.io/cluster/{CLUSTER}": "owned", "team": "platform"},
        "iamInstanceProfile": f"{CLUSTER}-worker-profile",
        "publicIP": False,
        "additionalSecurityGroups": [
            {"filters": [{"name": "tag:Name", "values": [f"{CLUSTER}-node"]}]},
            {"filters": [{"name": "tag:Name", "values": [f"{CLUSTER}-lb"]}]},
        ],
        "subnet": {"filters": [{"name": "tag:Name", "values": [f"{CLUSTER}-subnet-private-us-east-1a"]}]},
        "rootVolume": {"size": 120, "type": "gp3", "encrypted": True},
        "cloudInit": {},
        "ignition": {"version": "3.4", "storageType": "UnencryptedUserData"},
    }


def _infra_status(number: int) -> dict[str, Any]:
    return {"status": {"ready": True, "instanceState": "running", "addresses": _addresses(number)}}


_AWS_CLUSTER: dict[str, Any] = {
    "region": "us-east-1",
    "controlPlaneLoadBalancer": {"name": f"{CLUSTER}-int", "loadBalancerType": "nlb"},
    "controlPlaneEndpoint": {"host": f"api-int.{CLUSTER}.example.org", "port": 6443},
    "network": {"vpc": {"id": "vpc-0123456789abcdef0"}},
}
