"""What the provider spec of a Machine asks for, in the terms of the instance core."""

from typing import Any

import msgspec
import pytest

from windlass.api.config import Infrastructure
from windlass.api.mapi import Machine
from windlass.openstack.cloud.query import Query
from windlass.openstack.instance.spec import FixedAddress, InstanceSpec, LocalDisk, PortSpec, VolumeSpec
from windlass.openstack.machine_api.provider_spec import instance_spec, is_ours

NET, SUB, GROUP = (f"0b0a4d2e-5b5e-4b39-a6a5-0f6b6d7c8e0{digit}" for digit in "123")
VIPS = ({"ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.7"})
TAGS = ("cluster-api-provider-openstack", "openshift-machine-api-shop-x7")


def machine(**value: Any) -> Machine:
    given = {
        "flavor": "m1.small",
        "image": "rhcos",
        "networks": [{"uuid": NET, "noAllowedAddressPairs": True}],
        **value,
    }
    labels = {"machine.openshift.io/cluster-api-cluster": "shop-x7"}
    meta = {"name": "worker-0", "namespace": "openshift-machine-api", "labels": labels}
    return msgspec.convert({"metadata": meta, "spec": {"providerSpec": {"value": given}}}, Machine)


def infrastructure(**openstack: Any) -> Infrastructure:
    addresses = {"apiServerInternalIPs": ["10.0.0.5"], "ingressIPs": ["10.0.0.7"], **openstack}
    return msgspec.convert(
        {"status": {"platformStatus": {"type": "OpenStack", "openstack": addresses}}}, Infrastructure
    )


def made(platform: Infrastructure | None = None, **value: Any) -> InstanceSpec:
    result = instance_spec(machine(**value), platform)
    assert isinstance(result, InstanceSpec), result
    return result


def test_a_minimal_machine() -> None:
    assert made() == InstanceSpec(
        name="worker-0",
        image=Query("image", filters=(("name", "rhcos"),)),
        flavor=Query("flavor", filters=(("name", "m1.small"),)),
        ports=(PortSpec(network=Query("network", id=NET)),),
        tags=TAGS,
        cluster="openshift-machine-api-shop-x7",
    )


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        pytest.param({"tags": ["a", TAGS[0]]}, "tags", ("a", *TAGS), id="tags"),
        pytest.param({"keyName": "k"}, "key_name", "k", id="key"),
        pytest.param({"configDrive": True}, "config_drive", True, id="config drive"),
        pytest.param({"trunk": True}, "trunk", True, id="trunk"),
        pytest.param({"availabilityZone": "az1"}, "zone", "az1", id="zone"),
        pytest.param({"serverMetadata": {"a": "b"}}, "metadata", {"a": "b"}, id="metadata"),
        pytest.param(
            {"securityGroups": [{"uuid": GROUP}, {"name": "n"}, {"filter": {"tags": "x,y", "tenantId": "p"}}]},
            "groups",
            (
                Query("security group", id=GROUP),
                Query("security group", filters=(("name", "n"),), own=True),
                Query("security group", filters=(("project_id", "p"), ("tags", "x,y"))),
            ),
            id="security groups",
        ),
        pytest.param(
            {"serverGroupName": "g"},
            "server_group",
            Query("server group", filters=(("name", "g"),)),
            id="group by name",
        ),
        pytest.param(
            {"serverGroupName": "g", "serverGroupID": GROUP},
            "server_group",
            Query("server group", id=GROUP),
            id="the ID of a server group wins",
        ),
        pytest.param(
            {"rootVolume": {"diskSize": 25, "volumeType": "ssd", "sourceUUID": "rhcos-9"}, "availabilityZone": "az1"},
            "root",
            VolumeSpec(name="root", size=25, type="ssd", zone_of_server=True),
            id="root volume in the zone of the server",
        ),
        pytest.param(
            {"rootVolume": {"diskSize": 25, "sourceUUID": "rhcos-9", "availabilityZone": "cz"}},
            "root",
            VolumeSpec(name="root", size=25, zone="cz"),
            id="root volume in its own zone",
        ),
        pytest.param(
            {"rootVolume": {"diskSize": 25, "sourceUUID": "rhcos-9"}},
            "image",
            Query("image", filters=(("name", "rhcos-9"),)),
            id="the image of the root volume",
        ),
        pytest.param(
            {
                "availabilityZone": "az1",
                "additionalBlockDevices": [
                    {"name": "etcd", "sizeGiB": 10, "storage": {"type": "Volume", "volume": {"type": "ssd"}}},
                    {"name": "scratch", "sizeGiB": 5, "storage": {"type": "Local"}},
                ],
            },
            "disks",
            (VolumeSpec(name="etcd", size=10, type="ssd", zone_of_server=True), LocalDisk(name="scratch", size=5)),
            id="additional block devices",
        ),
    ],
)
def test_a_field_of_the_provider_spec(value: dict[str, Any], field: str, expected: Any) -> None:
    assert getattr(made(**value), field) == expected


SUBNET = Query("subnet", id=SUB)
NAMED = Query("subnet", filters=(("name", "s"), ("tags", "x,y")))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            {"networks": [{"uuid": NET, "subnets": [{"uuid": SUB}, {"filter": {"name": "s", "tags": "x,y"}}]}]},
            [PortSpec(network=Query("network", id=NET), addresses=(FixedAddress(SUBNET), FixedAddress(NAMED)))],
            id="a network: one port with an address on each subnet",
        ),
        pytest.param(
            {"networks": [{"subnets": [{"uuid": SUB, "portTags": ["b"]}, {"filter": {"name": "s", "tags": "x,y"}}]}]},
            [PortSpec(addresses=(FixedAddress(SUBNET),), tags=("b",)), PortSpec(addresses=(FixedAddress(NAMED),))],
            id="subnets alone: one port for each",
        ),
        pytest.param(
            {"networks": [{"filter": {"id": NET, "name": "n"}, "portTags": ["a"], "vnicType": "direct"}]},
            [PortSpec(network=Query("network", id=NET), tags=("a",), options={"binding:vnic_type": "direct"})],
            id="the ID in a filter wins",
        ),
        pytest.param(
            {"networks": [{"uuid": NET, "filter": {"id": SUB}}]},
            [PortSpec(network=Query("network", id=NET))],
            id="the ID beside a filter wins",
        ),
        pytest.param(
            {"networks": [{"portSecurity": False, "subnets": [{"uuid": SUB}, {"uuid": SUB, "portSecurity": True}]}]},
            [
                PortSpec(addresses=(FixedAddress(SUBNET),), port_security=False),
                PortSpec(addresses=(FixedAddress(SUBNET),), port_security=True),
            ],
            id="a subnet decides on the security of its port",
        ),
        pytest.param(
            {"networks": [{"uuid": NET, "portSecurity": False, "profile": {"capabilities": '["switchdev"]'}}]},
            [PortSpec(network=Query("network", id=NET), port_security=False, switchdev=True)],
            id="without port security, offloaded",
        ),
        pytest.param(
            {
                "networks": [],
                "ports": [
                    {
                        "networkID": NET,
                        "nameSuffix": "sriov",
                        "fixedIPs": [{"subnetID": SUB, "ipAddress": "10.0.0.9"}],
                        "securityGroups": [GROUP],
                        "profile": {"trusted": "true", "other": "x"},
                        "portSecurity": True,
                        "trunk": True,
                        "allowedAddressPairs": [{"ipAddress": "10.0.0.8", "macAddress": "fa:16"}],
                    }
                ],
            },
            [
                PortSpec(
                    suffix="sriov",
                    network=Query("network", id=NET),
                    addresses=(FixedAddress(SUBNET, "10.0.0.9"),),
                    groups=(Query("security group", id=GROUP),),
                    trusted=True,
                    port_security=True,
                    trunk=True,
                    address_pairs=({"ip_address": "10.0.0.8", "mac_address": "fa:16"},),
                )
            ],
            id="ports",
        ),
    ],
)
def test_ports(value: dict[str, Any], expected: list[PortSpec]) -> None:
    assert list(made(**value).ports) == expected


PAIR = {"networkID": NET, "allowedAddressPairs": [{"ipAddress": "10.0.0.8"}]}


@pytest.mark.parametrize(
    ("platform", "value", "expected"),
    [
        (infrastructure(), {"networks": [{"uuid": NET}]}, [VIPS]),
        (infrastructure(), {"networks": [{"uuid": NET, "noAllowedAddressPairs": True}]}, [()]),
        (infrastructure(), {"ports": [PAIR]}, [(), ({"ip_address": "10.0.0.8"},)]),
        (
            infrastructure(loadBalancer={"type": "UserManaged"}),
            {"networks": [{"uuid": NET}], "ports": [PAIR]},
            [(), ()],
        ),
        (None, {"networks": [{"uuid": NET}]}, [()]),
    ],
    ids=["networks", "switched off", "ports have their own", "a user-managed load balancer", "no OpenShift"],
)
def test_virtual_addresses(platform: Infrastructure | None, value: dict[str, Any], expected: list[Any]) -> None:
    assert [port.address_pairs for port in made(platform, **value).ports] == expected


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"flavor": ""}, "flavor"),
        ({"image": ""}, "image"),
        ({"networks": []}, "networks"),
        ({"networks": [{}]}, "networks[0]"),
        ({"networks": [{"subnets": [{}]}]}, "networks[0].subnets[0]"),
        ({"ports": [{}]}, "ports[0].networkID"),
        ({"securityGroups": [{"filter": {}}]}, "securityGroups[0]"),
        (
            {"additionalBlockDevices": [{"name": "a", "storage": {"type": "Tape"}}]},
            "additionalBlockDevices[0].storage.type",
        ),
        ({"tags": ["blue", "a,b"]}, "tags[1]"),
        ({"cloudsSecret": {"name": "cloud", "namespace": "creds"}}, "cloudsSecret.namespace"),
        ({"userDataSecret": {"name": "worker", "namespace": "creds"}}, "userDataSecret.namespace"),
        ({"tags": "a"}, "spec.providerSpec.value"),
    ],
)
def test_what_is_wrong_whatever_the_cloud_says(value: dict[str, Any], field: str) -> None:
    problems = instance_spec(machine(**value), None)
    assert isinstance(problems, tuple)
    (problem,) = problems
    assert (problem.kind, problem.field) == ("Invalid", field)
    assert problem.message.startswith("spec.providerSpec.value")


@pytest.mark.parametrize("namespace", [{}, {"namespace": ""}, {"namespace": "openshift-machine-api"}])
def test_a_secret_may_be_named_with_the_namespace_of_the_machine(namespace: dict[str, str]) -> None:
    made(cloudsSecret={"name": "cloud", **namespace}, userDataSecret={"name": "worker", **namespace})


def test_a_null_is_an_absent_field_as_go_has_it() -> None:
    assert made(ports=None, rootVolume=None, metadata={"creationTimestamp": None}) == made()


@pytest.mark.parametrize(
    ("kind", "ours"), [("OpenstackProviderSpec", True), ("", True), ("AWSMachineProviderConfig", False)]
)
def test_machines_of_other_platforms_are_somebody_elses(kind: str, ours: bool) -> None:
    assert is_ours(machine(kind=kind)) is ours
