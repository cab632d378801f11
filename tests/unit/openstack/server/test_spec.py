"""What an OpenStackServer asks for, in the terms of the instance core."""

from typing import Any

import msgspec
import pytest

from windlass.api.capo_server import OpenStackServer
from windlass.openstack.cloud.query import Query
from windlass.openstack.instance.spec import FixedAddress, InstanceSpec, LocalDisk, PortSpec, Problem, VolumeSpec
from windlass.openstack.server.spec import instance_spec

IMAGE = "0b0a4d2e-5b5e-4b39-a6a5-0f6b6d7c8e01"
NET = "0b0a4d2e-5b5e-4b39-a6a5-0f6b6d7c8e02"


def server(**spec: Any) -> OpenStackServer:
    tree = {
        "metadata": {"name": "worker-0", "namespace": "shop", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
        "spec": {
            "image": {"filter": {"name": "rhcos"}},
            "flavor": "m1.small",
            "sshKeyName": "key",
            "ports": [{"network": {"id": NET}}],
            **spec,
        },
    }
    return msgspec.convert(tree, OpenStackServer)


def made(**spec: Any) -> InstanceSpec:
    result = instance_spec(server(**spec))
    assert isinstance(result, InstanceSpec), result
    return result


def test_a_minimal_server() -> None:
    assert made() == InstanceSpec(
        name="worker-0",
        image=Query("image", filters=(("name", "rhcos"),)),
        flavor=Query("flavor", filters=(("name", "m1.small"),)),
        ports=(PortSpec(network=Query("network", id=NET)),),
        key_name="key",
        cluster="c",
    )


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        pytest.param({"image": {"id": IMAGE}}, "image", Query("image", id=IMAGE), id="image by id"),
        pytest.param(
            {"image": {"filter": {"name": "a", "tags": ["x", "y"]}}},
            "image",
            Query("image", filters=(("name", "a"), ("tag", "x"), ("tag", "y"))),
            id="image by tags",
        ),
        pytest.param({"flavorID": "7"}, "flavor", Query("flavor", id="7"), id="the ID of a flavor wins"),
        pytest.param(
            {"serverGroup": {"filter": {"name": "g"}}},
            "server_group",
            Query("server group", filters=(("name", "g"),)),
            id="server group by name",
        ),
        pytest.param(
            {"securityGroups": [{"filter": {"name": "a"}}, {"filter": {"name": "b", "projectID": "p"}}]},
            "groups",
            (
                Query("security group", filters=(("name", "a"),), own=True),
                Query("security group", filters=(("name", "b"), ("project_id", "p"))),
            ),
            id="security groups are those of the own project, unless another is named",
        ),
        pytest.param({"tags": ["a", "b"]}, "tags", ("a", "b"), id="tags"),
        pytest.param({"trunk": True}, "trunk", True, id="trunk"),
        pytest.param({"configDrive": True}, "config_drive", True, id="config drive"),
        pytest.param({"availabilityZone": "az1"}, "zone", "az1", id="zone"),
        pytest.param({"serverMetadata": [{"key": "a", "value": "b"}]}, "metadata", {"a": "b"}, id="metadata"),
        pytest.param(
            {"rootVolume": {"sizeGiB": 20, "type": "fast", "availabilityZone": {"from": "Machine"}}},
            "root",
            VolumeSpec(name="root", size=20, type="fast", zone_of_server=True),
            id="root volume in the zone of the server",
        ),
        pytest.param(
            {"rootVolume": {"sizeGiB": 20, "availabilityZone": {"from": "Name", "name": "az2"}}},
            "root",
            VolumeSpec(name="root", size=20, zone="az2"),
            id="root volume in a zone of its own",
        ),
        pytest.param(
            {
                "additionalBlockDevices": [
                    {"name": "etcd", "sizeGiB": 5, "storage": {"type": "Volume", "volume": {"type": "ssd"}}},
                    {"name": "scratch", "sizeGiB": 9, "storage": {"type": "Local"}},
                ]
            },
            "disks",
            (VolumeSpec(name="etcd", size=5, type="ssd"), LocalDisk(name="scratch", size=9)),
            id="a volume and a local disk",
        ),
        pytest.param(
            {
                "schedulerHintAdditionalProperties": [
                    {"name": "a", "value": {"type": "Bool", "bool": False}},
                    {"name": "b", "value": {"type": "Number", "number": 3}},
                    {"name": "c", "value": {"type": "String", "string": "x"}},
                ]
            },
            "hints",
            {"a": False, "b": 3, "c": "x"},
            id="hints of each type",
        ),
    ],
)
def test_each_field_arrives(spec: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(made(**spec), field) == value


def test_a_port_with_all_its_options() -> None:
    port = {
        "network": {"filter": {"name": "n", "tags": ["a", "b"], "notTagsAny": ["c"]}},
        "nameSuffix": "api",
        "description": "d",
        "fixedIPs": [{"subnet": {"filter": {"cidr": "10.0.0.0/24", "ipVersion": 4}}, "ipAddress": "10.0.0.9"}],
        "securityGroups": [{"id": IMAGE}],
        "tags": ["t"],
        "trunk": False,
        "adminStateUp": False,
        "macAddress": "fa:16:3e:00:00:01",
        "hostID": "h",
        "vnicType": "direct",
        "propagateUplinkStatus": True,
        "allowedAddressPairs": [{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.6", "macAddress": "m"}],
        "profile": {"ovsHWOffload": True, "trustedVF": True},
        "valueSpecs": [{"name": "x", "key": "qos_policy_id", "value": "q"}],
    }
    assert made(ports=[port]).ports == (
        PortSpec(
            suffix="api",
            network=Query("network", filters=(("name", "n"), ("tags", "a,b"), ("not-tags-any", "c"))),
            addresses=(
                FixedAddress(Query("subnet", filters=(("ip_version", "4"), ("cidr", "10.0.0.0/24"))), "10.0.0.9"),
            ),
            groups=(Query("security group", id=IMAGE),),
            description="d",
            tags=("t",),
            trunk=False,
            address_pairs=({"ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.6", "mac_address": "m"}),
            switchdev=True,
            trusted=True,
            options={
                "qos_policy_id": "q",
                "admin_state_up": False,
                "mac_address": "fa:16:3e:00:00:01",
                "binding:host_id": "h",
                "binding:vnic_type": "direct",
                "propagate_uplink_status": True,
            },
        ),
    )


def test_port_security_is_as_the_network_has_it_unless_the_port_says_so() -> None:
    ports = made(ports=[{}, {"disablePortSecurity": True}, {"disablePortSecurity": False}]).ports
    assert [port.port_security for port in ports] == [None, False, True]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(
            {"floatingIPPoolRef": {"kind": "K", "name": "n"}}, "floatingIPPoolRef.apiGroup", id="pool without a group"
        ),
        pytest.param({"image": {"imageRef": {"name": ""}}}, "image", id="image by an empty reference"),
        pytest.param({"image": {}}, "image", id="no image"),
        pytest.param({"flavor": ""}, "flavor", id="no flavor"),
        pytest.param({"securityGroups": [{}]}, "securityGroups[0]", id="no security group"),
        pytest.param({"ports": [{"securityGroups": [{"filter": {}}]}]}, "ports[0].securityGroups[0]", id="of a port"),
        pytest.param({"tags": ["blue", "a,b"]}, "tags[1]", id="a tag with a comma"),
        pytest.param({"tags": ["a/b"]}, "tags[0]", id="a tag with a slash"),
        pytest.param({"tags": ["a" * 61]}, "tags[0]", id="a tag that is too long"),
        pytest.param({"serverGroup": {"filter": {}}}, "serverGroup", id="no server group"),
        pytest.param(
            {"additionalBlockDevices": [{"name": "a", "sizeGiB": 1, "storage": {"type": "Tape"}}]},
            "additionalBlockDevices[0].storage.type",
            id="a device of another type",
        ),
    ],
)
def test_what_cannot_be_done_is_told_with_field_and_remedy(spec: dict[str, Any], field: str) -> None:
    problems = instance_spec(server(**spec))
    assert isinstance(problems, tuple)
    (problem,) = problems
    assert isinstance(problem, Problem)
    assert (problem.kind, problem.field) == ("Invalid", field)
    assert problem.message.startswith(f"spec.{field} ")


def test_all_that_is_wrong_is_told_at_once() -> None:
    problems = instance_spec(server(flavor="", image={}))
    assert isinstance(problems, tuple)
    assert len(problems) == 2
