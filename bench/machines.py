"""Machines on AWS as a cluster has them, in the API that is authoritative: owned by a MachineSet, provisioned.

| authority | MachineSets | each Machine |
|---|---|---|
| Cluster API | both, that of Cluster API with its template | Machine and AWSMachine |
| Machine API | that of the Machine API | Machine |

They are those of a running worker: provider ID, addresses, Node, finalizers of their own controllers. The objects of
the other side do not exist yet: Windlass creates them.
"""

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from bench.arena import with_hands
from windlass.api import capa, capi, mapi
from windlass.api import config as openshift
from windlass.api.meta import tree
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MACHINE_API_FINALIZER
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.platforms import AWS

CLUSTER = "bench-x7k2p"
SET = f"{CLUSTER}-worker-us-east-1a"

_CLUSTER_LABEL = {"cluster.x-k8s.io/cluster-name": CLUSTER}
Tree = dict[str, Any]


class Place(Struct, frozen=True):
    """Two namespaces with a MachineSet each, both called `set_name`, and which of the two is authoritative.

    The uids are the MachineSets'; `cluster_api_set_uid` is empty where the Machine API is authoritative, since that
    MachineSet is made by Windlass.
    """

    machine_api: str
    cluster_api: str
    machine_api_set_uid: str
    cluster_api_set_uid: str = ""
    set_name: str = SET
    authority: str = CLUSTER_API


def name(number: int) -> str:
    return f"{CLUSTER}-worker-{number:05d}"


async def configure_cluster(seed: Client) -> None:
    """Platform AWS, feature gate on."""
    gate = {"featureGates": [{"version": "4.21.0", "enabled": [{"name": "MachineAPIMigration"}]}]}
    objects: list[tuple[Any, str, Tree, Tree]] = [
        (openshift.FeatureGate, "cluster", {"featureSet": "TechPreviewNoUpgrade"}, gate),
        (
            openshift.ClusterVersion,
            "version",
            {"clusterID": "11111111-2222-4333-8444-555555555555"},
            {
                "desired": {"version": "4.21.0", "image": "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64"},
                "availableUpdates": [],
                "observedGeneration": 1,
                "versionHash": "",
            },
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
    """Fill two empty namespaces with what Machines of Cluster API need to be there."""
    await make_cluster(seed, namespace=cluster_api)
    return await make_set(seed, machine_api=machine_api, cluster_api=cluster_api)


async def make_cluster(seed: Client, *, namespace: str) -> None:
    """What is there once, beside all Machines of Cluster API."""
    await seed.create(capa.AWSCluster, {"metadata": {"name": CLUSTER}, "spec": _AWS_CLUSTER}, namespace=namespace)
    infra = {"apiGroup": capa.AWSCluster.RESOURCE.group, "kind": "AWSCluster", "name": CLUSTER}
    body = {"metadata": {"name": CLUSTER}, "spec": {"infrastructureRef": infra}}
    await seed.create(capi.Cluster, body, namespace=namespace)


async def make_set(
    seed: Client, *, machine_api: str, cluster_api: str, set_name: str = SET, authority: str = CLUSTER_API
) -> Place:
    """A MachineSet, with its twin in the Machine API if Cluster API is authoritative."""
    ours, template = _set(set_name), _template(set_name)
    made = machine_api_machine_set(
        AWS,
        msgspec.convert(ours, capi.MachineSet),
        msgspec.convert(template, capa.AWSMachineTemplate),
        infra_cluster=_described_cluster(),
    ).machine_set
    assert made is not None
    spec = tree(made.spec)
    spec["authoritativeAPI"] = spec["template"]["spec"]["authoritativeAPI"] = authority
    twin = await seed.create(mapi.MachineSet, {"metadata": {"name": set_name}, "spec": spec}, namespace=machine_api)
    if authority == MACHINE_API:
        return Place(machine_api, cluster_api, twin.uid, "", set_name, authority)
    await seed.create(capa.AWSMachineTemplate, template, namespace=cluster_api)
    owning = await seed.create(capi.MachineSet, ours, namespace=cluster_api)
    return Place(machine_api, cluster_api, twin.uid, owning.uid, set_name, authority)


async def provisioned(seed: Client, place: Place, *, count: int, first: int = 0) -> None:
    """Make `count` Machines whose instances run, in the API that is authoritative; at most four writes each."""
    provision = _provision if place.authority == CLUSTER_API else _provision_machine_api
    await with_hands(range(first, first + count), lambda number: provision(seed, place, number))


async def scale_up(seed: Client, place: Place, number: int) -> None:
    """Make one Machine as a MachineSet does: the AWSMachine first, no status anywhere yet."""
    named = name(number)
    labels = _set_labels(place.set_name)
    infra = {"metadata": {"name": named, "labels": labels}, "spec": _infra_spec(number, provisioned=False)}
    await seed.create(capa.AWSMachine, infra, namespace=place.cluster_api)
    await seed.create(capi.Machine, _machine(place, named), namespace=place.cluster_api)


def particulars(number: int) -> list[str]:
    """What no other Machine says of itself, in an order that is the same for all."""
    address, dns, _ = _addresses(number)
    return [name(number), _instance(number), address["address"], dns["address"]]


async def _provision(seed: Client, place: Place, number: int) -> None:
    named, there = name(number), place.cluster_api
    machine = await seed.create(capi.Machine, _machine(place, named, number=number), namespace=there)
    infra = _infra(place, number, owner=_owner(capi.Machine, named, machine.uid))
    await seed.create(capa.AWSMachine, infra, namespace=there)
    status = PatchType.MERGE
    await asyncio.gather(
        seed.patch(capi.Machine, named, _machine_status(number), type=status, subresource="status", namespace=there),
        seed.patch(capa.AWSMachine, named, _infra_status(number), type=status, subresource="status", namespace=there),
    )


async def _provision_machine_api(seed: Client, place: Place, number: int) -> None:
    """The Machine that Windlass makes of those of Cluster API, as if it had been there first."""
    named, here = name(number), place.machine_api
    machine = msgspec.convert({**_machine(place, named, number=number), **_machine_status(number)}, capi.Machine)
    infra = msgspec.convert({**_infra(place, number, owner=None), **_infra_status(number)}, capa.AWSMachine)
    converted = AWS.to_machine_api(machine, infra, _described_cluster()).machine
    assert converted is not None
    made = tree(converted)
    metadata = {
        "name": named,
        "labels": made["metadata"]["labels"],
        "finalizers": [MACHINE_API_FINALIZER],
        "ownerReferences": [_owner(mapi.MachineSet, place.set_name, place.machine_api_set_uid)],
    }
    body = {"metadata": metadata, "spec": {**made["spec"], "authoritativeAPI": MACHINE_API}}
    await seed.create(mapi.Machine, body, namespace=here)
    status = {"status": {**made["status"], "authoritativeAPI": MACHINE_API}}
    await seed.patch(mapi.Machine, named, status, type=PatchType.MERGE, subresource="status", namespace=here)


def _described_cluster() -> capa.AWSCluster:
    return msgspec.convert({"metadata": {"name": CLUSTER}, "spec": _AWS_CLUSTER}, capa.AWSCluster)


def _set_labels(set_name: str) -> dict[str, str]:
    return {
        **_CLUSTER_LABEL,
        "cluster.x-k8s.io/set-name": set_name,
        "machine.openshift.io/cluster-api-machineset": set_name,
    }


def _set(set_name: str) -> Tree:
    labels = _set_labels(set_name)
    spec = _machine_spec(set_name)
    spec["infrastructureRef"] = {**spec["infrastructureRef"], "kind": "AWSMachineTemplate"}
    return {
        "metadata": {"name": set_name, "labels": _CLUSTER_LABEL},
        "spec": {
            "clusterName": CLUSTER,
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _template(set_name: str) -> Tree:
    spec = _infra_spec(0, provisioned=False)
    return {"metadata": {"name": set_name}, "spec": {"template": {"spec": spec}}}


def _machine(place: Place, named: str, *, number: int | None = None) -> Tree:
    provider_id = {} if number is None else {"providerID": _provider_id(number)}
    return {
        "metadata": {
            "name": named,
            "labels": {**_set_labels(place.set_name), "node-role.kubernetes.io/worker": ""},
            "finalizers": ["machine.cluster.x-k8s.io"],
            "ownerReferences": [_owner(capi.MachineSet, place.set_name, place.cluster_api_set_uid)],
        },
        "spec": {**_machine_spec(named), **provider_id},
    }


def _infra(place: Place, number: int, *, owner: Tree | None) -> Tree:
    return {
        "metadata": {
            "name": name(number),
            "labels": _set_labels(place.set_name),
            "ownerReferences": [owner] if owner else [],
            "finalizers": ["awsmachine.infrastructure.cluster.x-k8s.io"],
        },
        "spec": _infra_spec(number, provisioned=True),
    }


def _machine_spec(infra: str) -> Tree:
    return {
        "clusterName": CLUSTER,
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {"apiGroup": capa.AWSMachine.RESOURCE.group, "kind": "AWSMachine", "name": infra},
        "failureDomain": "us-east-1a",
    }


def _owner(kind: Any, named: str, uid: str) -> Tree:
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


def _machine_status(number: int) -> Tree:
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


def _infra_spec(number: int, *, provisioned: bool) -> Tree:
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
        "ignition": {"storageType": "UnencryptedUserData"},
    }


def _infra_status(number: int) -> Tree:
    return {"status": {"ready": True, "instanceState": "running", "addresses": _addresses(number)}}


_AWS_CLUSTER: Tree = {
    "region": "us-east-1",
    "controlPlaneLoadBalancer": {"name": f"{CLUSTER}-int", "loadBalancerType": "nlb"},
    "controlPlaneEndpoint": {"host": f"api-int.{CLUSTER}.example.org", "port": 6443},
    "network": {"vpc": {"id": "vpc-0123456789abcdef0"}},
}
