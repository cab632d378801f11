"""The OpenStackServer of an OpenStackMachine: what comes from the machine, its Machine and its cluster."""

from typing import Any

import msgspec
import pytest

from windlass.api.capi import Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.meta import tree
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.server_of import server_spec

from .cases import NETWORK, SPEC, Tree, infra, machine, owner

GROUP = "33333333-8e5f-4d0c-9b0e-3f0a2a1d7c55"
EXTRA = "44444444-8e5f-4d0c-9b0e-3f0a2a1d7c55"
MANAGED = "55555555-8e5f-4d0c-9b0e-3f0a2a1d7c55"
SUBNET, SUBNET_2 = {"id": "66666666-8e5f-4d0c-9b0e-3f0a2a1d7c55"}, {"filter": {"name": "second"}}
ELSEWHERE = {"filter": {"name": "elsewhere"}}
OF_CLUSTER = {"network": {"id": NETWORK}}

MANAGING: Tree = {"managedSecurityGroups": {"allowAllInClusterTraffic": False}}
FOUND: Tree = {
    "network": {"id": NETWORK},
    "workerSecurityGroup": {"id": MANAGED},
    "controlPlaneSecurityGroup": {"id": GROUP},
}


def mapped(own: Tree, of_cluster: Tree, *, control_plane: bool = False) -> Tree | Problem:
    spec = server_spec(
        msgspec.convert(own, OpenStackMachine),
        owner=msgspec.convert(owner(), Machine),
        infra=msgspec.convert(of_cluster, OpenStackCluster),
        control_plane=control_plane,
    )
    return spec if isinstance(spec, Problem) else tree(spec)


def groups(*ids: str) -> list[Tree]:
    return [{"id": each} for each in ids]


@pytest.mark.parametrize(
    ("spec", "cluster", "ports"),
    [
        pytest.param({}, infra(), [OF_CLUSTER], id="minimum"),
        pytest.param(
            {"securityGroups": groups(EXTRA)},
            infra(),
            [{**OF_CLUSTER, "securityGroups": groups(EXTRA)}],
            id="extra security group",
        ),
        pytest.param(
            {},
            infra({"subnets": [SUBNET]}),
            [{**OF_CLUSTER, "fixedIPs": [{"subnet": SUBNET}]}],
            id="subnet",
        ),
        pytest.param(
            {"ports": [{"fixedIPs": [{"ipAddress": "10.0.0.9"}]}]},
            infra({"subnets": [SUBNET, SUBNET_2]}),
            [{**OF_CLUSTER, "fixedIPs": [{"subnet": SUBNET}, {"subnet": SUBNET_2}]}],
            id="several subnets, in place of the port's",
        ),
        pytest.param(
            {},
            infra({"subnets": [SUBNET, SUBNET_2], "primarySubnet": SUBNET_2}),
            [{**OF_CLUSTER, "fixedIPs": [{"subnet": SUBNET_2}]}],
            id="the primary subnet alone",
        ),
        pytest.param(
            {"ports": [{"network": ELSEWHERE, "fixedIPs": [{"ipAddress": "10.0.0.9"}]}, {"nameSuffix": "b"}]},
            infra(),
            [{"network": ELSEWHERE, "fixedIPs": [{"ipAddress": "10.0.0.9"}]}, {**OF_CLUSTER, "nameSuffix": "b"}],
            id="a port with a network keeps it",
        ),
        pytest.param(
            {"ports": [{"network": ELSEWHERE}]}, infra(status={}), [{"network": ELSEWHERE}], id="port's network only"
        ),
        pytest.param(
            {"ports": [{"fixedIPs": [{"subnet": SUBNET}]}]},
            infra(status={}),
            [{"fixedIPs": [{"subnet": SUBNET}]}],
            id="network of the port's subnet",
        ),
        pytest.param(
            {"ports": [{"network": ELSEWHERE}]},
            infra(status={"network": {"id": ""}}),
            [{"network": ELSEWHERE}],
            id="empty network ID in the cluster",
        ),
        pytest.param(
            {},
            infra({"network": ELSEWHERE}, {}),
            [{"network": ELSEWHERE}],
            id="a cluster managed by others, without status",
        ),
        pytest.param(
            {"securityGroups": groups(EXTRA)},
            infra(MANAGING, FOUND),
            [{**OF_CLUSTER, "securityGroups": groups(MANAGED, EXTRA)}],
            id="managed group and that of the machine",
        ),
        pytest.param(
            {"ports": [{"securityGroups": groups(GROUP)}, {}], "securityGroups": groups(EXTRA)},
            infra(MANAGING, FOUND),
            [
                {**OF_CLUSTER, "securityGroups": groups(GROUP, EXTRA)},
                {**OF_CLUSTER, "securityGroups": groups(MANAGED, EXTRA)},
            ],
            id="groups of the port override the managed one",
        ),
        pytest.param(
            {"ports": [{"disablePortSecurity": True}], "securityGroups": groups(EXTRA)},
            infra(MANAGING, FOUND),
            [{**OF_CLUSTER, "disablePortSecurity": True}],
            id="port security off",
        ),
        pytest.param({}, infra(status=FOUND), [OF_CLUSTER], id="groups that are not managed any more"),
    ],
)
def test_ports_of_the_openstackserver(spec: Tree, cluster: Tree, ports: list[Tree]) -> None:
    found = mapped(machine(spec), cluster)
    assert isinstance(found, dict)
    assert found["ports"] == ports


def test_a_machine_of_the_control_plane_gets_the_managed_group_of_the_control_plane() -> None:
    found = mapped(machine(), infra(MANAGING, FOUND), control_plane=True)
    assert isinstance(found, dict)
    assert found["ports"][0]["securityGroups"] == groups(GROUP)


def test_without_any_network_and_ports_that_name_one_the_spec_is_wrong() -> None:
    problem = mapped(machine(), infra(status={}))
    assert isinstance(problem, Problem)
    assert "no network configured" in problem.message


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"flavor": "big", "flavorID": "7"}, {"flavor": "big", "flavorID": "7"}, id="flavor and ID"),
        pytest.param({"flavor": None, "flavorID": "7"}, {"flavorID": "7"}, id="ID only"),
    ],
)
def test_the_flavor_is_taken_over(given: Tree, expected: Tree) -> None:
    found = mapped(machine(given), infra())
    assert isinstance(found, dict)
    assert {key: found[key] for key in ("flavor", "flavorID") if key in found} == expected


@pytest.mark.parametrize(
    ("own", "of_cluster", "expected"),
    [
        pytest.param([], [], None, id="none"),
        pytest.param(["a"], [], ["a"], id="machine"),
        pytest.param([], ["b"], ["b"], id="cluster"),
        pytest.param(["a"], ["b"], ["a", "b"], id="both"),
        pytest.param(["b", "a", "b"], ["a", "c"], ["b", "a", "c"], id="duplicates"),
    ],
)
def test_tags_are_those_of_the_machine_and_then_of_its_cluster(
    own: list[str], of_cluster: list[str], expected: list[str] | None
) -> None:
    found = mapped(machine({"tags": own}), infra({"tags": of_cluster}))
    assert isinstance(found, dict)
    assert found.get("tags") == expected


def test_zone_user_data_credentials_and_the_rest() -> None:
    rest: Tree = {
        "configDrive": True,
        "rootVolume": {"sizeGiB": 20, "availabilityZone": {"from": "Machine"}},
        "additionalBlockDevices": [{"name": "etcd", "sizeGiB": 5, "storage": {"type": "Local"}}],
        "serverGroup": {"filter": {"name": "g"}},
        "serverMetadata": [{"key": "k", "value": "v"}],
        "schedulerHintAdditionalProperties": [{"name": "h", "value": {"type": "Bool", "bool": True}}],
    }
    found = mapped(machine(rest), infra())
    assert found == {
        **SPEC,
        **rest,
        "ports": [OF_CLUSTER],
        "availabilityZone": "az-1",
        "userDataRef": {"name": "w-0-data"},
    }


@pytest.mark.parametrize(("given", "expected"), [(True, True), (False, None)])
def test_trunk_is_set_only_if_it_is_wanted(given: bool, expected: bool | None) -> None:
    found = mapped(machine({"trunk": given}), infra())
    assert isinstance(found, dict)
    assert found.get("trunk") is expected


def test_credentials_are_those_of_the_cluster_if_the_machine_names_none() -> None:
    found: Any = mapped(machine({"identityRef": None}), infra())
    assert found["identityRef"]["name"] == "cluster-cloud"
