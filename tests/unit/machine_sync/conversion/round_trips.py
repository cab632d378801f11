"""What can go to the other API and back: specs of infrastructure machines, provider specs, Machines and MachineSets."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.conversion.result import Conversion
from windlass.machine_sync.platforms import AWS, GCP, OPENSTACK, POWERVS, Platform

from .vectors import decode, plain

Tree = dict[str, Any]


class Trip(NamedTuple):
    """There and back: what was said on either way, and what came back, None if nothing did."""

    there: Conversion
    back: Conversion | None
    returned: Tree | None


class Subject(NamedTuple):
    """A type of spec and how it travels; `path` is what its fields have before them in errors and warnings.

    `bases` are least trees in which its fields mean something: each field is set in each of them.
    """

    name: str
    kind: type[Any]
    path: str
    travel: Callable[[Tree], Trip]
    bases: tuple[Tree, ...]


TAINTED: Tree = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
TAINTED_THERE: Tree = {"taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}]}
CLUSTER: dict[str, Tree] = {"AWS": {"spec": {"region": "r"}}, "GCP": {"spec": {"project": "p", "region": "r"}}}
PLACE = {"AWS": {"aws": {"region": "r"}}, "GCP": {"gcp": {"region": "r", "projectID": "p"}}}
MACHINE: dict[str, Tree] = {"GCP": {"spec": {"failureDomain": "r-a", "clusterName": "c"}}}
INFRASTRUCTURES = {
    platform.name: msgspec.convert(
        {
            "status": {
                "infrastructureName": "c",
                "platformStatus": {"type": platform.name, **PLACE.get(platform.name, {})},
            }
        },
        Infrastructure,
    )
    for platform in (AWS, GCP, OPENSTACK, POWERVS)
}
KMS = {"name": "k", "keyRing": "r", "projectID": "p", "location": "l"}
KEY = {"keyType": "Managed", "managedKey": {"kmsKeyName": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}}
ACCOUNT = "a@p.iam.gserviceaccount.com"
OF_CLUSTER = {"kubernetes-io-cluster-c": "owned"}

INFRA_SPECS: dict[str, tuple[Tree, ...]] = {
    "AWS": (
        {"ami": {"id": "a"}},
        {"ami": {"id": "a"}, "hostAffinity": "host", "hostID": "h-01234567"},
        {"ami": {"id": "a"}, "hostAffinity": "host", "dynamicHostAllocation": {}},
        {"ami": {"id": "a"}, "rootVolume": {"size": 9}, "nonRootVolumes": [{"deviceName": "d", "size": 9}]},
    ),
    "GCP": tuple(
        {
            "instanceType": "t",
            "subnet": "s",
            "image": "projects/p/global/images/i",
            "ipForwarding": "Disabled",
            "additionalLabels": OF_CLUSTER,
            "rootDeviceType": "pd-ssd",
            "serviceAccounts": {"email": "e", "scopes": ["s"]},
            **more,
        }
        for more in (
            {},
            {"additionalDisks": [{"deviceType": "pd-ssd", "size": 128}]},
            {
                "rootDiskEncryptionKey": {**KEY, "kmsKeyServiceAccount": ACCOUNT},
                "additionalDisks": [
                    {
                        "deviceType": "pd-ssd",
                        "size": 128,
                        "encryptionKey": {**KEY, "kmsKeyServiceAccount": ACCOUNT},
                    }
                ],
            },
            {"additionalMetadata": [{"key": "k"}], "additionalNetworkTags": ["t"]},
            {"resourceManagerTags": [{"parentID": "p", "key": "k", "value": "v"}]},
            {
                "guestAccelerators": [{"count": 2, "type": "zones/r-a/acceleratorTypes/g"}],
                "onHostMaintenance": "Terminate",
            },
            {"shieldedInstanceConfig": {"secureBoot": "Enabled", "integrityMonitoring": "Disabled"}},
        )
    ),
    "OpenStack": tuple(
        {"image": {"filter": {"name": "i"}}, **more}
        for more in (
            {},
            {"ports": [{"network": {"id": "n"}}]},
            {"ports": [{"network": {"id": "n"}, "fixedIPs": [{"subnet": {"id": "s"}}]}]},
            {"ports": [{"network": {"filter": {"name": "n"}}, "fixedIPs": [{"subnet": {"filter": {"name": "s"}}}]}]},
            {"ports": [{"fixedIPs": [{"subnet": {"id": "s"}}]}]},
            {"securityGroups": [{"id": "g"}], "serverGroup": {"id": "g"}, "rootVolume": {"sizeGiB": 1}},
            {"securityGroups": [{"filter": {"name": "g"}}], "serverGroup": {"filter": {"name": "g"}}},
            {"identityRef": {"type": "Secret", "name": "s", "cloudName": "o"}},
            {"additionalBlockDevices": [{"name": "b", "storage": {"type": "Volume", "volume": {"type": "t"}}}]},
            {"additionalBlockDevices": [{"name": "b", "storage": {"type": "Local"}}]},
        )
    ),
    "PowerVS": (
        {"serviceInstance": {"id": "1"}, "image": {"id": "1"}, "network": {"id": "1"}},
        {"serviceInstance": {"name": "1"}, "image": {"name": "1"}, "network": {"name": "1"}},
        {"serviceInstance": {"regex": "1"}, "image": {"regex": "1"}, "network": {"regex": "1"}},
    ),
}
PROVIDER_SPECS: dict[str, tuple[Tree, ...]] = {
    "AWS": tuple(
        {"ami": {"id": "a"}, "placement": {"region": "r", **placement}, **more}
        for placement, more in (
            ({}, {}),
            ({"host": {"affinity": "DedicatedHost", "dedicatedHost": {"id": "h-01234567"}}}, {}),
            ({"host": {"affinity": "DedicatedHost", "dedicatedHost": {"allocationStrategy": "Dynamic"}}}, {}),
            ({"host": {"affinity": "AnyAvailable"}}, {}),
            ({}, {"blockDevices": [{"ebs": {}}], "subnet": {"id": "s"}, "securityGroups": [{"id": "g"}]}),
            ({}, {"blockDevices": [{"deviceName": "d", "ebs": {"volumeSize": 9}}], "iamInstanceProfile": {"id": "p"}}),
        )
    ),
    "GCP": tuple(
        {
            "kind": "GCPMachineProviderSpec",
            "apiVersion": "machine.openshift.io/v1beta1",
            "disks": [
                {"boot": True, "autoDelete": True, "image": "projects/p/global/images/i", "type": "pd-ssd"},
                *data,
            ],
            "networkInterfaces": [{"network": "default", "subnetwork": "s"}],
            "serviceAccounts": [{"email": "e", "scopes": ["s"]}],
            "credentialsSecret": {"name": "gcp-cloud-credentials"},
            "tags": ["c-node", "c"],
            "machineType": "t",
            "region": "r",
            "zone": "r-a",
            "projectID": "p",
            **more,
        }
        for data, more in (
            ([], {}),
            ([{"autoDelete": True, "sizeGb": 128, "type": "pd-ssd"}], {}),
            ([], {"gcpMetadata": [{"key": "k", "value": None}], "labels": {"k": "v"}}),
            ([], {"resourceManagerTags": [{"parentID": "p", "key": "k", "value": "v"}]}),
            ([], {"gpus": [{"count": 2, "type": "g"}], "onHostMaintenance": "Terminate"}),
            ([], {"shieldedInstanceConfig": {"secureBoot": "Enabled", "integrityMonitoring": "Disabled"}}),
        )
    ),
    "OpenStack": tuple(
        {"image": "i", "flavor": "f", "cloudName": "o", "cloudsSecret": {"name": "s"}, **more}
        for more in (
            {},
            {"networks": [{"uuid": "n", "subnets": [{"filter": {"name": "s"}}]}]},
            {"networks": [{"filter": {"name": "n"}, "subnets": [{"filter": {"name": "s"}}]}]},
            {"networks": [{"subnets": [{"filter": {"name": "s"}}]}]},
            {"networks": [{"subnets": [{"uuid": "s"}]}]},
            {"ports": [{"networkID": "n", "fixedIPs": [{"subnetID": "s"}]}]},
            {"securityGroups": [{"uuid": "g"}], "serverGroupID": "g", "rootVolume": {"diskSize": 1}},
            {"securityGroups": [{"name": "g"}], "serverGroupName": "g"},
            {"additionalBlockDevices": [{"name": "b", "storage": {"type": "Volume", "volume": {"type": "t"}}}]},
            {"additionalBlockDevices": [{"name": "b", "storage": {"type": "Local"}}]},
        )
    ),
    "PowerVS": tuple(
        {field: {"type": kind, chosen: "1"} for field in ("serviceInstance", "image", "network")}
        for kind, chosen in (("ID", "id"), ("Name", "name"), ("RegEx", "regex"))
    ),
}


def infra_spec(platform: Platform) -> Subject:
    kind: Any = platform.infra_machine

    def travel(spec: Tree) -> Trip:
        there = platform.to_machine_api(machine_of(platform), decode(kind, {"spec": spec}), cluster_of(platform))
        if there.machine is None:
            return Trip(there, None, None)
        back = platform.to_cluster_api(
            there.machine, INFRASTRUCTURES[platform.name], infra_cluster=cluster_of(platform)
        )
        return Trip(there, back, _spec_of(back.infra_machine))

    return Subject(kind.RESOURCE.kind, type(kind().spec), "spec", travel, INFRA_SPECS[platform.name])


def provider_spec(platform: Platform) -> Subject:
    def travel(spec: Tree) -> Trip:
        machine = msgspec.convert({"spec": {"providerSpec": {"value": spec}}}, mapi.Machine)
        there = platform.to_cluster_api(machine, INFRASTRUCTURES[platform.name], infra_cluster=cluster_of(platform))
        if there.machine is None:
            return Trip(there, None, None)
        back = platform.to_machine_api(there.machine, there.infra_machine, cluster_of(platform))
        returned = None if back.machine is None else plain(back.machine.spec.provider_spec.value)
        return Trip(there, back, returned)

    kind = platform.provider_spec
    return Subject(kind.__name__, kind, PATH, travel, PROVIDER_SPECS[platform.name])


def _spec_of(made: Any) -> Tree | None:
    return None if made is None else plain(made.spec)


def machine_of(platform: Platform) -> capi.Machine:
    return msgspec.convert(MACHINE.get(platform.name, {}), capi.Machine)


def cluster_of(platform: Platform) -> Any:
    return msgspec.convert(CLUSTER.get(platform.name, {}), platform.infra_cluster)


def machine_of_cluster_api(spec: Tree) -> Trip:
    infra = decode(OPENSTACK.infra_machine, {"spec": INFRA_SPECS["OpenStack"][0]})
    there = OPENSTACK.to_machine_api(decode(capi.Machine, {"spec": spec}), infra, cluster_of(OPENSTACK))
    if there.machine is None:
        return Trip(there, None, None)
    back = OPENSTACK.to_cluster_api(there.machine, INFRASTRUCTURES["OpenStack"])
    return Trip(there, back, _spec_of(back.machine))


def machine_of_machine_api(spec: Tree) -> Trip:
    value = {"providerSpec": {"value": PROVIDER_SPECS["OpenStack"][0]}}
    there = OPENSTACK.to_cluster_api(decode(mapi.Machine, {"spec": spec | value}), INFRASTRUCTURES["OpenStack"])
    if there.machine is None:
        return Trip(there, None, None)
    back = OPENSTACK.to_machine_api(there.machine, there.infra_machine, cluster_of(OPENSTACK))
    return Trip(there, back, _spec_of(back.machine))


def set_of_cluster_api(spec: Tree) -> Trip:
    template = decode(OPENSTACK.infra_template, {"spec": {"template": {"spec": INFRA_SPECS["OpenStack"][0]}}})
    source = decode(capi.MachineSet, {"spec": spec})
    there = machine_api_machine_set(OPENSTACK, source, template, infra_cluster=cluster_of(OPENSTACK))
    if there.machine_set is None:
        return Trip(there, None, None)
    back = cluster_api_machine_set(OPENSTACK, there.machine_set, INFRASTRUCTURES["OpenStack"])
    return Trip(there, back, _spec_of(back.machine_set))


def set_of_machine_api(spec: Tree) -> Trip:
    whole = copy.deepcopy(spec)
    made = whole.setdefault("template", {}).setdefault("spec", {})
    made["providerSpec"] = {"value": PROVIDER_SPECS["OpenStack"][0]}
    there = cluster_api_machine_set(OPENSTACK, decode(mapi.MachineSet, {"spec": whole}), INFRASTRUCTURES["OpenStack"])
    if there.machine_set is None:
        return Trip(there, None, None)
    back = machine_api_machine_set(
        OPENSTACK, there.machine_set, there.infra_template, infra_cluster=cluster_of(OPENSTACK)
    )
    return Trip(there, back, _spec_of(back.machine_set))


SUBJECTS = (
    *(infra_spec(platform) for platform in (AWS, GCP, OPENSTACK, POWERVS)),
    *(provider_spec(platform) for platform in (AWS, GCP, OPENSTACK, POWERVS)),
    Subject("Machine of Cluster API", capi.MachineSpec, "spec", machine_of_cluster_api, ({}, TAINTED_THERE)),
    Subject("Machine of the Machine API", mapi.MachineSpec, "spec", machine_of_machine_api, ({}, TAINTED)),
    Subject(
        "MachineSet of Cluster API",
        capi.MachineSetSpec,
        "spec",
        set_of_cluster_api,
        ({}, {"template": {"spec": TAINTED_THERE}}),
    ),
    Subject(
        "MachineSet of the Machine API",
        mapi.MachineSetSpec,
        "spec",
        set_of_machine_api,
        ({}, {"template": {"spec": TAINTED}}),
    ),
)
