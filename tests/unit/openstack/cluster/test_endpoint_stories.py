"""Load balancers, floating IPs and members of clusters, from the first request to the last."""

from typing import Any

import pytest

from windlass.api.capi import Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.cloud.wire import Http
from windlass.openstack.cluster.control_plane import reached_otherwise
from windlass.openstack.cluster.snapshot import Unresolved
from windlass.testing.crash import Scenario, crash_everywhere

from ..cloud_faults import OF_CREATION
from ..clouded import PROJECT
from .cases import OWN, Process, Tree, World, infra, tree
from .endpoints import BALANCED, FLOATING, INGRESS, LB, WHOLE, ask, control_machine, laid_out, made, members


def server_of(world: World, name: str) -> Tree:
    """The OpenStackServer of a machine, whose port exists."""
    body = {"network_id": world.network, "name": f"{name}-0", "description": "somebody's"}
    port = ask(world, "POST", "/v2.0/ports", {"port": body})["port"]["id"]
    status = {"resources": {"ports": [{"id": port}]}, "resolved": {"ports": [{"networkID": world.network}]}}
    return {**tree(OpenStackServer, name, {}), "status": status}


def ingress(world: World, name: str) -> str | None:
    found = world.api.peek(OpenStackMachine, name, namespace="ns")
    assert found is not None
    return found.metadata.annotations.get(INGRESS)


def delete_machine(world: World, name: str) -> None:
    found = world.api.peek(OpenStackMachine, name, namespace="ns")
    assert found is not None
    whole = dict(found.tree())
    whole["metadata"] = {**whole["metadata"], "deletionTimestamp": "2026-11-22T11:00:00Z"}
    whole["metadata"].pop("resourceVersion")
    world.api.load(whole)


def writes(world: World, since: int = 0) -> list[str]:
    return [f"{each.method} {each.path}" for each in world.cloud.requests[since:] if each.method != "GET"]


async def later(world: World) -> None:
    """The cluster looks again at the cloud, and does what there is to do."""
    world.cloud.pass_time(601.0)
    await world.process.settle()


async def test_a_cluster_gets_a_load_balancer_behind_a_floating_ip_and_goes_without_a_trace() -> None:
    world = await made()
    services = world.cloud.services
    assert world.held() == {**WHOLE, "ports": 2}
    status, spec = world.tree()["status"], world.tree()["spec"]
    (lb,), (floating,) = services.loadbalancers.values(), services.floatingips.values()
    assert lb["description"].endswith(f"windlass-owner={OWN}")
    assert floating["port_id"] == lb["vip_port_id"]
    assert spec["controlPlaneEndpoint"] == {"host": floating["floating_ip_address"], "port": 6443}
    told = status["apiServerLoadBalancer"]
    assert (told["name"], told["id"], told["ip"], told["internalIP"]) == (
        LB,
        lb["id"],
        floating["floating_ip_address"],
        lb["vip_address"],
    )
    assert len(writes(world)) == 6
    before = len(world.cloud.requests)
    world.cloud.pass_time(601.0)
    assert (await world.rest()).writes == 0
    assert len(world.cloud.requests) - before <= 14
    await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert world.held() == {"routers": 1, "ports": 1}
    assert list(world.api.listing(Event)) == []


async def test_what_octavia_is_doing_is_said_and_looked_at_again() -> None:
    world = laid_out()
    world.cloud.services.balance = 30.0
    await world.rest()
    assert world.condition("APIEndpointReady") == (
        "False",
        "Progressing",
        f"Waiting: load balancer {LB}: PENDING_CREATE",
    )
    assert world.condition("Ready")[:2] == ("False", "Progressing")
    assert "initialization" not in world.tree()["status"]
    (lb,) = world.cloud.services.loadbalancers
    before = len(world.cloud.requests)
    for _ in range(10):
        world.cloud.pass_time(2.0)
        await world.rest()
    assert [each.path for each in world.cloud.requests[before:]] == [f"/v2.0/lbaas/loadbalancers/{lb}"] * 10
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"


async def test_an_error_is_said_at_once_and_a_replacement_keeps_the_addresses() -> None:
    world = await made()
    (lb,) = world.cloud.services.loadbalancers.values()
    endpoint, address = world.tree()["spec"]["controlPlaneEndpoint"], lb["vip_address"]
    lb["provisioning_status"] = "ERROR"
    world.cloud.pass_time(601.0)
    await world.rest()
    status, reason, message = world.condition("APIEndpointReady")
    assert (status, reason) == ("False", "APIEndpointConfigFailed")
    assert f"({lb['id']}) is in ERROR" in message
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
    path, cascade = f"/v2.0/lbaas/loadbalancers/{lb['id']}", (("cascade", "true"),)
    world.cloud.services.handle(PROJECT, Http("load-balancer", "DELETE", path, cascade))
    await later(world)
    (new,) = world.cloud.services.loadbalancers.values()
    (floating,) = world.cloud.services.floatingips.values()
    assert new["id"] != lb["id"]
    assert (new["vip_address"], floating["port_id"]) == (address, new["vip_port_id"])
    assert world.tree()["spec"]["controlPlaneEndpoint"] == endpoint
    assert world.condition("Ready")[0] == "True"


async def test_monitor_and_allowed_cidrs_are_changed_live() -> None:
    world = await made()
    before = len(world.cloud.requests)
    spec = {"enabled": True, "monitor": {"delay": 30}, "allowedCIDRs": ["192.0.2.1"]}
    world.change(apiServerLoadBalancer=spec)
    await later(world)
    (monitor,), (listener,) = (getattr(world.cloud.services, each).values() for each in ("healthmonitors", "listeners"))
    assert monitor["delay"] == 30
    assert listener["allowed_cidrs"] == ["10.0.0.0/24", "192.0.2.1/32"]
    assert world.tree()["status"]["apiServerLoadBalancer"]["allowedCIDRs"] == listener["allowed_cidrs"]
    assert [each.partition(" ")[0] for each in writes(world, before)] == ["PUT", "PUT"]


async def test_what_somebody_else_removes_comes_back() -> None:
    world = await made()
    services = world.cloud.services
    (listener,) = services.listeners
    ask(world, "DELETE", f"/v2.0/lbaas/listeners/{listener}")
    world.cloud.pass_time(2.0)
    (floating,) = services.floatingips
    ask(world, "PUT", f"/v2.0/floatingips/{floating}", {"floatingip": {"port_id": None}})
    await later(world)
    (back,) = ask(world, "GET", "/v2.0/lbaas/listeners")["listeners"]
    assert (back["id"] != listener, bool(back["default_pool_id"])) == (True, True)
    assert services.floatingips[floating]["port_id"]


async def test_machines_become_members_and_leave_before_their_server_goes() -> None:
    world = await made()
    (lb,) = world.cloud.services.loadbalancers
    world.api.load(control_machine("cp-0", "10.0.0.21"), control_machine("cp-1"))
    await world.process.settle()
    assert members(world) == {f"{LB}-6443-cp-0": "10.0.0.21"}
    assert (ingress(world, "cp-0"), ingress(world, "cp-1")) == (lb, None)
    world.api.load(control_machine("cp-1", "10.0.0.22"))
    await world.process.settle()
    assert ingress(world, "cp-1") == lb
    assert world.condition("APIEndpointReady")[0] == "True"
    delete_machine(world, "cp-0")
    await world.process.settle()
    assert members(world) == {f"{LB}-6443-cp-1": "10.0.0.22"}
    assert ingress(world, "cp-0") is None


async def test_a_member_that_somebody_else_removes_comes_back() -> None:
    world = await made(None, control_machine("cp-0", "10.0.0.21"))
    (member,) = world.cloud.services.members.values()
    ask(world, "DELETE", f"/v2.0/lbaas/pools/{member['pool_id']}/members/{member['id']}")
    await later(world)
    assert members(world) == {f"{LB}-6443-cp-0": "10.0.0.21"}


async def test_a_member_that_is_refused_is_told_and_the_machine_waits() -> None:
    world = await made()
    world.cloud.fault(method="POST", path="/members$", status=403, body=b'{"faultstring": "no"}', count=100)
    world.api.load(control_machine("cp-0", "10.0.0.21"))
    await world.rest()
    status, reason, message = world.condition("APIEndpointReady")
    assert (status, reason) == ("False", "LoadBalancerMemberError")
    assert f"create member {LB}-6443-cp-0" in message
    assert ingress(world, "cp-0") is None
    assert world.tree()["status"]["initialization"] == {"provisioned": True}


async def test_without_a_load_balancer_the_floating_ip_follows_the_machines() -> None:
    world = await made(FLOATING)
    (floating,) = world.cloud.services.floatingips.values()
    assert world.tree()["spec"]["controlPlaneEndpoint"]["host"] == floating["floating_ip_address"]
    assert floating["port_id"] is None
    servers = {name: server_of(world, name) for name in ("cp-0", "cp-1")}
    ports = {name: each["status"]["resources"]["ports"][0]["id"] for name, each in servers.items()}
    world.api.load(*servers.values(), control_machine("cp-0", "10.0.0.21"), control_machine("cp-1", "10.0.0.22"))
    await world.process.settle()
    assert floating["port_id"] == ports["cp-0"]
    assert (ingress(world, "cp-0"), ingress(world, "cp-1")) == (floating["id"], floating["id"])
    delete_machine(world, "cp-0")
    await world.process.settle()
    assert floating["port_id"] == ports["cp-1"]
    assert ingress(world, "cp-0") is None
    await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert not world.cloud.services.floatingips


async def test_the_floating_ip_stays_where_somebody_has_led_it_since_the_last_list() -> None:
    world = await made(FLOATING)
    (floating,) = world.cloud.services.floatingips.values()
    body = {"network_id": world.network, "name": "somebody's"}
    elsewhere = ask(world, "POST", "/v2.0/ports", {"port": body})["port"]["id"]
    ask(world, "PUT", f"/v2.0/floatingips/{floating['id']}", {"floatingip": {"port_id": elsewhere}})
    world.api.load(server_of(world, "cp-0"), control_machine("cp-0", "10.0.0.21"))
    await world.rest()
    assert floating["port_id"] == elsewhere
    status, _, message = world.condition("APIEndpointReady")
    assert (status, f"leads to port {elsewhere}, which is not this cluster's" in message) == ("False", True)


async def test_the_floating_ip_leads_to_the_port_on_the_network_of_the_cluster() -> None:
    world = laid_out(FLOATING, control_machine("cp-0", "10.0.0.21"))
    storage = world.cloud.services.network("storage")
    other = ask(world, "POST", "/v2.0/ports", {"port": {"network_id": storage}})["port"]["id"]
    server = server_of(world, "cp-0")
    (own,) = server["status"]["resources"]["ports"]
    networks = [{"networkID": storage}, {"networkID": world.network}]
    server["status"] = {"resources": {"ports": [{"id": other}, own]}, "resolved": {"ports": networks}}
    world.api.load(server)
    await world.process.settle()
    (floating,) = world.cloud.services.floatingips.values()
    assert floating["port_id"] == own["id"]


async def test_a_machine_whose_owner_is_of_the_control_plane_is_of_it_too() -> None:
    by = {"apiVersion": Machine.RESOURCE.api_version, "kind": "Machine", "name": "cp-0", "uid": "m"}
    labels = {"cluster.x-k8s.io/cluster-name": "one"}
    own = control_machine("cp-0", "10.0.0.21", labels=labels, ownerReferences=[by])
    owner = tree(Machine, "cp-0", {"clusterName": "one"}, labels={**labels, "cluster.x-k8s.io/control-plane": ""})
    world = laid_out(FLOATING, own, owner)
    world.api.load(server_of(world, "cp-0"))
    await world.process.settle()
    assert ingress(world, "cp-0")


async def test_a_machine_wakes_its_cluster_when_its_addresses_or_our_annotation_change() -> None:
    world = laid_out(FLOATING, control_machine("cp-0", "10.0.0.21"))

    async def changed(body: Tree, part: Any = "") -> bool:
        before = world.api.peek(OpenStackMachine, "cp-0", namespace="ns")
        await world.api.patch(OpenStackMachine, "cp-0", body, type=PatchType.MERGE, namespace="ns", subresource=part)
        return reached_otherwise(before, world.api.peek(OpenStackMachine, "cp-0", namespace="ns"))

    address = {"type": "InternalIP", "address": "10.0.0.22"}
    assert await changed({"status": {"addresses": [address]}}, "status")
    assert await changed({"metadata": {"annotations": {INGRESS: "somebody's"}}})
    assert not await changed({"metadata": {"annotations": {"other": "x"}}})
    assert not await changed({"status": {"instanceState": "ACTIVE"}}, "status")


@pytest.mark.parametrize("may_choose", [True, False], ids=["administrator", "member"])
async def test_a_floating_ip_that_somebody_deletes_comes_back_with_its_address_or_is_told(may_choose: bool) -> None:
    world = laid_out(FLOATING, control_machine("cp-0", "10.0.0.21"))
    world.api.load(server_of(world, "cp-0"))
    await world.process.settle()
    world.cloud.services.may_choose_addresses = may_choose
    (floating,) = world.cloud.services.floatingips.values()
    ask(world, "DELETE", f"/v2.0/floatingips/{floating['id']}")
    world.cloud.pass_time(601.0)
    await world.process.step()
    assert world.condition("APIEndpointReady")[0] == str(may_choose)
    found = [each["floating_ip_address"] for each in world.cloud.services.floatingips.values()]
    assert found == ([floating["floating_ip_address"]] if may_choose else [])


async def test_a_given_endpoint_needs_nothing_of_the_cloud_and_machines_hear_of_it() -> None:
    given = {"controlPlaneEndpoint": {"host": "api.example", "port": 6443}}
    world = await made({**FLOATING, **given}, control_machine("cp-0", "10.0.0.21"))
    assert not world.cloud.services.floatingips
    assert ingress(world, "cp-0") == "given"


@pytest.mark.parametrize("spec", [BALANCED, FLOATING], ids=["load balancer", "no load balancer"])
async def test_the_users_floating_ip_is_used_and_stays(spec: Tree) -> None:
    world = laid_out(spec)
    (public,) = [each["id"] for each in world.cloud.services.networks.values() if each["router:external"]]
    body = {"floating_network_id": public, "description": "mine"}
    mine = ask(world, "POST", "/v2.0/floatingips", {"floatingip": body})["floatingip"]
    world.change(apiServerFloatingIP=mine["floating_ip_address"])
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert world.tree()["spec"]["controlPlaneEndpoint"]["host"] == mine["floating_ip_address"]
    (floating,) = world.cloud.services.floatingips.values()
    assert bool(floating["port_id"]) is ("apiServerLoadBalancer" in world.tree()["spec"])
    world.cloud.pass_time(60.0)
    await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert world.held() == {"routers": 1, "ports": 1, "floatingips": 1}
    assert (floating["description"], floating["port_id"]) == ("mine", None)


async def test_a_name_that_has_no_address_is_said_and_looked_up_again() -> None:
    given = {"controlPlaneEndpoint": {"host": "api.example", "port": 6443}}
    world = laid_out(given)
    answers: list[str | Unresolved] = [Unresolved("host api.example has no address")]

    async def resolve(host: str) -> str | Unresolved:
        assert host == "api.example"
        return answers[-1]

    process = Process(world, resolve=resolve)
    await process.step()
    assert world.condition("APIEndpointReady")[1:] == ("APIEndpointConfigFailed", "host api.example has no address")
    (public,) = [each["id"] for each in world.cloud.services.networks.values() if each["router:external"]]
    mine = ask(world, "POST", "/v2.0/floatingips", {"floatingip": {"floating_network_id": public}})["floatingip"]
    answers.append(mine["floating_ip_address"])
    world.cloud.pass_time(601.0)
    await process.settle()
    assert world.condition("Ready")[0] == "True"
    assert world.tree()["spec"]["controlPlaneEndpoint"]["host"] == "api.example"
    assert world.tree()["status"]["apiServerLoadBalancer"]["ip"] == mine["floating_ip_address"]
    assert len(world.cloud.services.floatingips) == 1


async def test_a_moved_cluster_finds_its_load_balancer() -> None:
    world = await made()
    moved = {name: value for name, value in world.tree().items() if name != "status"}
    moved["metadata"].pop("resourceVersion")
    world.api.load(moved)
    before = len(world.cloud.requests)
    await Process(world).settle()
    assert writes(world, before) == []
    assert world.condition("Ready")[0] == "True"
    assert world.tree()["status"]["apiServerLoadBalancer"]["ip"]


POSTS = ("loadbalancers", "listeners", "pools", "healthmonitors", "pools/[^/]+/members")


@pytest.mark.parametrize("fault", OF_CREATION.values(), ids=OF_CREATION.keys())
async def test_every_creating_request_meets_a_fault_and_there_is_one_of_each(fault: dict[str, Any]) -> None:
    world = laid_out(None, control_machine("cp-0", "10.0.0.21"))
    faults = [world.cloud.fault(method="POST", path=f"^/v2.0/lbaas/{path}$", **fault) for path in POSTS]
    faults.append(world.cloud.fault(method="POST", path="^/v2.0/floatingips$", **fault))
    await world.process.settle()
    assert [each.hits for each in faults] == [1, 1, 1, 1, 1, 1]
    assert world.held() == {**WHOLE, "ports": 2, "members": 1}
    assert world.condition("Ready")[0] == "True"
    assert ingress(world, "cp-0")


@pytest.mark.parametrize("spec", [BALANCED, FLOATING], ids=["load balancer", "no load balancer"])
@pytest.mark.parametrize("deleted", [False, True], ids=["created", "created and deleted"])
async def test_a_crash_at_any_write_leaves_one_of_each(spec: Tree, deleted: bool) -> None:
    def make() -> Scenario:
        world = laid_out(spec, control_machine("cp-0", "10.0.0.21"))
        world.api.load(server_of(world, "cp-0"))

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await Process(world, api=api, clouds=systems[OPENSTACK]).settle()

        async def delete(api: MemoryApi) -> None:
            if not world.is_gone and "deletionTimestamp" not in world.tree()["metadata"]:
                await world.delete()

        def unowned(trees: Any) -> list[str]:
            left = {"routers": 1, "ports": 2}
            whole = {**left, "floatingips": 1}
            if "apiServerLoadBalancer" in infra(spec)["spec"]:
                whole = {**WHOLE, "members": 1}
            expected = whole if any(each["kind"] == "OpenStackCluster" for each in trees) else left
            held = dict(world.held())
            return [] if held == expected else [f"the project has {held}, not {expected}"]

        return Scenario(
            world.api,
            settle,
            actors=[delete] if deleted else [],
            systems={OPENSTACK: world.clouds},
            unowned=unowned,
        )

    report = await crash_everywhere(make)
    assert report.points >= 10
