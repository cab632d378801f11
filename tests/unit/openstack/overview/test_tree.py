"""The tree of a cluster: what belongs to it, what is odd about it."""

from typing import Any

import pytest

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import (
    Fault,
    FloatingIp,
    Gateway,
    Listener,
    LoadBalancer,
    Member,
    Network,
    Pool,
    Port,
    PortAddress,
    Router,
    SecurityGroup,
    Server,
    ServerAddress,
    Subnet,
    Trunk,
    Volume,
)
from windlass.openstack.overview.tree import FOREIGN, GONE, UNRECORDED, Members, members, recorded_elsewhere, tree

from .cases import (
    CLUSTER_MARK,
    OTHER_MARK,
    SERVER_MARK,
    held,
    outline,
    owned_by,
    present,
    project_inventory,
    ready,
    uuid,
)

STATUS = {
    "network": {"id": uuid(1), "subnets": [{"id": uuid(2)}]},
    "router": {"id": uuid(3)},
    "workerSecurityGroup": {"id": uuid(4)},
    "apiServerLoadBalancer": {"id": uuid(5)},
}
BALANCER = Balancer(
    held(
        LoadBalancer,
        5,
        CLUSTER_MARK,
        name="api",
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
        vip_address="10.0.0.5",
        vip_port_id="vip",
    ),
    listeners=(Listener(id="l", name="api-6443", protocol_port=6443, provisioning_status="ACTIVE"),),
    pools=(
        Pool(
            id="p",
            name="api-6443",
            provisioning_status="ACTIVE",
            members=[
                Member(
                    name="m",
                    address="10.0.0.9",
                    protocol_port=6443,
                    provisioning_status="ACTIVE",
                    operating_status="ERROR",
                )
            ],
        ),
    ),
)
NETWORKING = (
    held(Network, 1, CLUSTER_MARK, name="net", status="ACTIVE"),
    held(Subnet, 2, CLUSTER_MARK, name="sub", network_id=uuid(1), cidr="10.0.0.0/24"),
    held(
        Router,
        3,
        CLUSTER_MARK,
        name="router",
        status="ACTIVE",
        external_gateway_info=Gateway("public", [PortAddress(ip_address="203.0.113.9")]),
    ),
    held(SecurityGroup, 4, CLUSTER_MARK, name="workers"),
    held(FloatingIp, 6, CLUSTER_MARK, floating_ip_address="203.0.113.5", status="ACTIVE", port_id="vip"),
)
RECORDED = {
    "instanceID": uuid(11),
    "resources": {
        "ports": [{"id": uuid(12)}],
        "volumes": [{"id": uuid(13), "name": "w-root"}],
        "trunks": [{"id": uuid(14), "portID": uuid(12)}],
    },
}
MACHINE = (
    held(
        Server,
        11,
        SERVER_MARK,
        name="w",
        status="ACTIVE",
        task_state="rebooting",
        addresses={"net": [ServerAddress("10.0.0.7")]},
    ),
    held(Port, 12, SERVER_MARK, name="w-0", status="ACTIVE", fixed_ips=[PortAddress(ip_address="10.0.0.7")]),
    held(Volume, 13, SERVER_MARK, name="w-root", status="in-use"),
    held(Trunk, 14, SERVER_MARK, name="w-0", port_id=uuid(12)),
    held(FloatingIp, 15, CLUSTER_MARK, floating_ip_address="203.0.113.7", status="ACTIVE", port_id=uuid(12)),
)


def shown(found: Members, sight: ProjectInventory | str) -> list[str]:
    return outline(tree(found, {found.identity(each): sight for each in found.all}))


def cluster(status: Any = None, **parts: Any) -> Any:
    return present(OpenStackCluster, "one", mark=CLUSTER_MARK, status=status or {}, **parts)


def server(name: str = "w", status: Any = None, **parts: Any) -> Any:
    return present(OpenStackServer, name, mark=SERVER_MARK, status=status or {}, **parts)


def test_a_cluster_has_its_networking_below_it() -> None:
    found = members(cluster(STATUS), (), ())
    assert shown(found, project_inventory(*NETWORKING, balancers=(BALANCER,))) == [
        "OpenStackCluster | prod/one",
        "  network | net | ACTIVE",
        "    subnet | sub | - | 10.0.0.0/24",
        "  router | router | ACTIVE | 203.0.113.9",
        "  security group | workers | -",
        "  load balancer | api | ACTIVE/ONLINE | 10.0.0.5",
        "    floating IP | 203.0.113.5 | ACTIVE",
        "    listener | api-6443 | ACTIVE | port 6443",
        "    pool | api-6443 | ACTIVE",
        "      member | m | ACTIVE/ERROR | 10.0.0.9:6443",
    ]


def test_machines_have_their_servers_and_those_their_resources() -> None:
    machine = present(OpenStackMachine, "w", mark=SERVER_MARK, status=ready("False", "InstanceNotReady", "Wait"))
    found = members(
        cluster(),
        [machine, present(OpenStackMachine, "elsewhere", metadata={"labels": {}})],
        [
            server(status={**RECORDED, **ready("True")}, metadata=owned_by(OpenStackMachine, "w")),
            present(OpenStackServer, "one-bastion", metadata={"labels": {}, **owned_by(OpenStackCluster, "one")}),
        ],
    )
    whole = tree(found, {found.identity(found.cluster): project_inventory(*MACHINE)})
    assert outline(whole) == [
        "OpenStackCluster | prod/one",
        "  OpenStackServer | prod/one-bastion",
        "  OpenStackMachine | prod/w",
        "    OpenStackServer | prod/w",
        "      server | w | ACTIVE (rebooting) | 10.0.0.7",
        "      volume | w-root | in-use",
        "      port | w-0 | ACTIVE | 10.0.0.7",
        "        trunk | w-0 | -",
        "        floating IP | 203.0.113.7 | ACTIVE",
    ]
    below = whole.children[1]
    assert below.ready is not None
    assert (below.ready.status, below.ready.reason, below.ready.message) == ("False", "InstanceNotReady", "Wait")


ERROR = held(Server, 11, SERVER_MARK, name="w", status="ERROR", fault=Fault(500, "No valid host"))


@pytest.mark.parametrize(
    ("status", "resources", "lines"),
    [
        (RECORDED, (), [f"server | {uuid(11)} | - | {GONE}", f"volume | {uuid(13)} | - | {GONE}"]),
        ({}, MACHINE[:1], [f"server | w | ACTIVE (rebooting) | 10.0.0.7 | {UNRECORDED}"]),
        ({"instanceID": uuid(11)}, (ERROR,), ["server | w | ERROR | No valid host"]),
        ({"instanceID": uuid(11)}, (held(Server, 11, name="w", status="BUILD"),), ["server | w | BUILD"]),
        (
            {"instanceID": uuid(11)},
            (held(Server, 11, OTHER_MARK, name="w", status="ACTIVE"),),
            [f"server | w | ACTIVE | {FOREIGN}"],
        ),
        ({}, (held(Trunk, 14, SERVER_MARK, name="t", port_id="x"),), [f"trunk | t | - | {UNRECORDED}"]),
        ({}, (held(Server, 11, name="w", status="ACTIVE"), held(Port, 12, OTHER_MARK)), []),
    ],
    ids=["gone", "unrecorded", "error", "adopted", "foreign", "loose trunk", "others"],
)
def test_what_is_odd_about_the_resources_of_a_server_is_said(status: Any, resources: Any, lines: list[str]) -> None:
    found = members(cluster(), (), [server(status=status)])
    assert [line.strip() for line in shown(found, project_inventory(*resources))[2:]][: len(lines) or None] == lines


def test_a_machine_without_a_server_object_has_what_bears_its_mark() -> None:
    found = members(cluster(), [present(OpenStackMachine, "w", mark=SERVER_MARK)], ())
    assert shown(found, project_inventory(MACHINE[2]))[1:] == [
        "  OpenStackMachine | prod/w",
        f"    volume | w-root | in-use | {UNRECORDED}",
    ]


def test_an_address_that_leads_nowhere_is_shown_with_its_cluster() -> None:
    loose = held(FloatingIp, 6, CLUSTER_MARK, floating_ip_address="203.0.113.5", status="DOWN")
    assert shown(members(cluster(), (), ()), project_inventory(loose))[1:] == [
        "  floating IP | 203.0.113.5 | DOWN | it leads nowhere"
    ]


def test_without_an_answer_of_the_cloud_the_records_are_shown() -> None:
    found = members(cluster(STATUS), (), [server(status={"instanceID": uuid(11)})])
    assert shown(found, "Keystone is away") == [
        "OpenStackCluster | prod/one | the cloud was not asked: Keystone is away",
        f"  network | {uuid(1)} | Unknown",
        f"  subnet | {uuid(2)} | Unknown",
        f"  router | {uuid(3)} | Unknown",
        f"  security group | {uuid(4)} | Unknown",
        f"  load balancer | {uuid(5)} | Unknown",
        "  OpenStackServer | prod/w | the cloud was not asked: Keystone is away",
        f"    server | {uuid(11)} | Unknown",
    ]


def test_an_object_that_is_being_deleted_says_so() -> None:
    going = server(metadata={"deletionTimestamp": "2026-11-23T12:00:00Z"})
    assert (
        shown(members(cluster(), (), [going]), project_inventory())[1]
        == "  OpenStackServer | prod/w | it is being deleted"
    )


def test_what_may_be_of_another_project_is_asked_for_by_id() -> None:
    status = {**STATUS, "externalNetwork": {"id": uuid(9)}}
    assert recorded_elsewhere(members(cluster(status), (), ())) == (
        Query("network", id=uuid(1)),
        Query("network", id=uuid(9)),
        Query("subnet", id=uuid(2)),
        Query("router", id=uuid(3)),
        Query("security group", id=uuid(4)),
    )


def test_members_are_those_of_the_clusters_own_namespace_and_name() -> None:
    other = present(OpenStackServer, "x", metadata={"namespace": "other"})
    named = present(OpenStackCluster, "one-infra", metadata=owned_by(OpenStackMachine, "ignored"))
    assert members(named, (), [other, server()]).servers == (server(),)
