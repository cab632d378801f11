"""Networks, routers and security groups of clusters, from the first request to the last."""

from collections import Counter
from typing import Any

import pytest

from windlass.api.core import Event
from windlass.openstack.constants import MARK_ANNOTATION

from ..clouded import PROJECT
from .cases import FINALIZER, GONE, OWN, Process, World, infra, secret
from .managed import CIDR, MANAGED, NAME, WHOLE, ask, made, managed


def methods(world: World, since: int = 0) -> Counter[str]:
    return Counter(each.method for each in world.cloud.requests[since:])


async def test_a_cluster_gets_what_it_needs_and_goes_without_a_trace() -> None:
    world = await made()
    services = world.cloud.services
    assert world.held() == WHOLE
    status = world.tree()["status"]
    assert status["network"]["name"] == status["router"]["name"] == NAME
    assert status["network"]["subnets"][0]["cidr"] == CIDR
    assert status["initialization"] == {"provisioned": True}
    assert status["workerSecurityGroup"]["name"] == "k8s-cluster-ns-one-secgroup-worker"
    for kind in (services.networks, services.subnets, services.routers, services.security_groups):
        for each in kind.values():
            if each["project_id"] == PROJECT and each["name"] != "machines":
                assert each["description"].endswith(f"windlass-owner={OWN}")
                assert each["tags"] == ["blue", "a,b"]
    asked = methods(world)
    assert asked["POST"] == 7
    assert sum(asked.values()) <= 30
    before = len(world.cloud.requests)
    world.cloud.pass_time(601.0)
    ending = await world.rest()
    assert ending.writes == 0
    assert set(methods(world, before)) == {"GET"}
    assert len(world.cloud.requests) - before <= 9
    await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert world.held() == {}
    assert list(world.api.listing(Event)) == []


async def test_on_a_spec_that_cannot_be_nothing_is_sent_and_deletion_works() -> None:
    world = managed(managedSubnets=[{"cidr": CIDR}, {"cidr": "10.7.0.0/24"}], managedSecurityGroups=None)
    await world.process.settle()
    assert world.condition("NetworkReady")[:2] == ("False", "InvalidConfiguration")
    assert set(methods(world)) == {"GET"}
    await world.delete()
    await world.process.settle()
    assert world.is_gone


async def test_nothing_is_created_while_it_is_not_known_whether_there_are_tags() -> None:
    world = managed()
    world.cloud.fault(path="/extensions$", status=503)
    await world.process.step()
    assert set(methods(world)) == {"GET"}
    await world.process.settle()
    assert world.held() == WHOLE


async def test_while_the_external_network_is_not_known_the_router_is_not_said_to_be_there() -> None:
    world = managed()
    world.cloud.services.external_network("other", cidr="198.51.100.0/24")
    await world.process.step()
    status, reason, message = world.condition("NetworkReady")
    assert (status, reason) == ("False", "NetworkCreateFailed")
    assert "there are several external networks (other, public)" in message
    assert world.condition("RouterReady")[0] == "False"
    assert "routers" not in world.held()


async def test_dns_servers_and_rules_are_changed_while_the_cluster_lives() -> None:
    world = await made()
    rule = {"name": "bgp", "direction": "ingress", "protocol": "tcp", "portRangeMin": 179, "portRangeMax": 179}
    world.change(
        managedSubnets=[{"cidr": CIDR, "dnsNameservers": ["10.0.0.2"]}],
        managedSecurityGroups={"workerNodesSecurityGroupRules": [rule]},
    )
    await world.process.settle()
    [subnet] = [each for each in world.cloud.services.subnets.values() if each["name"] == NAME]
    assert subnet["dns_nameservers"] == ["10.0.0.2"]
    assert world.held()["security_group_rules"] == 17
    before = len(world.cloud.requests)
    world.change(managedSecurityGroups={"allowAllInClusterTraffic": True})
    await world.process.settle()
    assert world.held()["security_group_rules"] == 15
    order = [each.method for each in world.cloud.requests[before:] if "security-group-rules" in each.path]
    assert order == ["POST", "POST", *["DELETE"] * 6]


async def test_what_somebody_else_changes_is_put_right() -> None:
    world = await made()
    services = world.cloud.services
    rule = next(each for each in services.security_group_rules.values() if each["port_range_min"] == 6443)
    ask(world, "DELETE", f"/security-group-rules/{rule['id']}")
    [router] = services.routers.values()
    [subnet] = [each for each in services.subnets.values() if each["name"] == NAME]
    ask(world, "PUT", f"/routers/{router['id']}/remove_router_interface", {"subnet_id": subnet["id"]})
    ask(world, "PUT", f"/routers/{router['id']}", {"router": {"external_gateway_info": None}})
    body = {"security_group_id": rule["security_group_id"], "direction": "ingress", "protocol": "tcp"}
    ask(
        world,
        "POST",
        "/security-group-rules",
        {"security_group_rule": {**body, "port_range_min": 1, "port_range_max": 9}},
    )
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert world.held() == WHOLE
    assert router["external_gateway_info"] is not None
    assert not any(each["port_range_min"] == 1 for each in services.security_group_rules.values())


ROUTER_IPS = [{"fixedIP": "203.0.113.77", "subnet": {"filter": {"name": "public"}}}]


async def test_the_router_has_the_external_addresses_of_the_spec_where_the_cloud_allows_it() -> None:
    world = managed(externalRouterIPs=ROUTER_IPS)
    world.cloud.services.may_choose_addresses = True
    await world.process.settle()
    assert world.held() == WHOLE
    assert world.tree()["status"]["router"]["ips"] == ["203.0.113.77"]
    [router] = world.cloud.services.routers.values()
    elsewhere = {"network_id": router["external_gateway_info"]["network_id"]}
    ask(world, "PUT", f"/routers/{router['id']}", {"router": {"external_gateway_info": elsewhere}})
    assert _addresses(router) != ["203.0.113.77"]
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert _addresses(router) == ["203.0.113.77"]
    before = len(world.cloud.requests)
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert set(methods(world, before)) == {"GET"}
    await world.delete()
    await world.process.settle()
    assert world.held() == {}


@pytest.mark.parametrize(
    ("given", "allowed", "text"),
    [
        (ROUTER_IPS, False, f"Failed to create router {NAME}: "),
        (ROUTER_IPS, False, "external_fixed_ips) is disallowed by policy"),
        (
            [{"fixedIP": "10.0.0.77", "subnet": {"filter": {"name": "machines"}}}],
            True,
            "spec.externalRouterIPs[0].subnet: no subnet (name machines) exists on network",
        ),
    ],
    ids=["not allowed: what failed", "not allowed: why", "a subnet of another network"],
)
async def test_external_addresses_that_cannot_be_are_told_and_no_router_is_made_without(
    given: list[Any], allowed: bool, text: str
) -> None:
    world = managed(externalRouterIPs=given)
    world.cloud.services.may_choose_addresses = allowed
    for _ in range(4):
        await world.process.step()
        world.cloud.pass_time(2.0)
    status, reason, message = world.condition("RouterReady")
    assert (status, reason) == ("False", "RouterCreateFailed")
    assert text in message
    assert "routers" not in world.held()


def _addresses(router: Any) -> list[str]:
    return [each["ip_address"] for each in router["external_gateway_info"]["external_fixed_ips"]]


async def test_a_rule_that_somebody_else_has_just_made_is_no_trouble() -> None:
    world = managed()
    process = world.process

    def look(_: Any) -> None:
        """As soon as the worker group is there, somebody else makes one of its rules."""
        groups = [each for each in world.cloud.services.security_groups.values() if each["name"].endswith("worker")]
        rules = world.cloud.services.security_group_rules.values()
        if groups and not any(each["port_range_min"] == 10250 for each in rules):
            body = {"security_group_id": groups[0]["id"], "direction": "ingress", "protocol": "6"}
            body |= {"port_range_min": 10250, "port_range_max": 10250, "remote_group_id": groups[0]["id"]}
            ask(world, "POST", "/security-group-rules", {"security_group_rule": body})

    world.api.subscribe(look)
    await process.settle()
    assert world.held() == WHOLE
    assert world.condition("Ready")[0] == "True"
    assert any(each.status == 409 for each in world.cloud.requests)


async def test_one_name_in_two_namespaces_of_one_project_shares_nothing() -> None:
    world = await made()
    other = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
    for path, kind in (("networks", "network"), ("routers", "router"), ("security-groups", "security_group")):
        name = "k8s-cluster-ns-one-secgroup-worker" if kind == "security_group" else NAME
        ask(world, "POST", f"/{path}", {kind: {"name": name, "description": f"windlass-owner={other}"}})
    world.cloud.pass_time(601.0)
    assert (await world.rest()).writes == 0
    await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert world.held() == {"networks": 1, "routers": 1, "security_groups": 1, "security_group_rules": 2}


@pytest.mark.parametrize("deleted", [False, True], ids=["taken over", "deleted at once"])
async def test_what_an_earlier_provider_made_is_taken_over_and_goes_with_the_cluster(deleted: bool) -> None:
    world = managed()
    text = "Created by cluster-api-provider-openstack cluster ns-one"
    network = ask(world, "POST", "/networks", {"network": {"name": NAME, "description": text}})["network"]["id"]
    place = {"network_id": network, "cidr": CIDR, "ip_version": 4, "name": NAME, "description": text}
    subnet = ask(world, "POST", "/subnets", {"subnet": place})["subnet"]["id"]
    router = ask(world, "POST", "/routers", {"router": {"name": NAME, "description": text}})["router"]["id"]
    ask(world, "PUT", f"/routers/{router}/add_router_interface", {"subnet_id": subnet})
    groups = {
        role: ask(
            world,
            "POST",
            "/security-groups",
            {
                "security_group": {
                    "name": f"k8s-cluster-ns-one-secgroup-{role}",
                    "description": "Cluster API managed group",
                }
            },
        )["security_group"]["id"]
        for role in ("controlplane", "worker")
    }
    user = ask(world, "POST", "/security-groups", {"security_group": {"name": "mine"}})["security_group"]["id"]
    status = {
        "network": {"id": network, "subnets": [{"id": subnet}]},
        "router": {"id": router},
        "controlPlaneSecurityGroup": {"id": groups["controlplane"]},
        "workerSecurityGroup": {"id": groups["worker"]},
        **({"bastionSecurityGroup": {"id": user}} if deleted else {}),
        "ready": True,
    }
    meta = {"finalizers": [FINALIZER], **({"deletionTimestamp": GONE} if deleted else {})}
    world.api.load(infra(MANAGED, status, **meta))
    if not deleted:
        await world.process.settle()
        assert world.condition("Ready")[0] == "True"
        assert world.held() == {**WHOLE, "security_groups": 3, "security_group_rules": 18}
        assert world.tree()["status"]["network"]["id"] == network
        world.cloud.pass_time(60.0)
        await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert world.held() == {"security_groups": 1, "security_group_rules": 2}
    if deleted:
        (event,) = (found.decode() for found in world.api.listing(Event))
        assert event.reason == "LeftInCloud"
        assert f"security group {user}" in event.message


async def test_a_port_that_was_left_goes_and_one_of_others_is_waited_for() -> None:
    world = await made()
    [network] = [each["id"] for each in world.cloud.services.networks.values() if each["name"] == NAME]
    ask(world, "POST", "/ports", {"port": {"network_id": network, "name": "one-infra-workers-x-0"}})
    other = ask(world, "POST", "/ports", {"port": {"network_id": network, "name": "somebody's"}})["port"]["id"]
    world.cloud.pass_time(1.0)
    await world.delete()
    await world.rest()
    status, reason, message = world.condition("Deleting")
    assert (status, reason) == ("True", "DeletingNetwork")
    assert f"somebody's ({other}) of no device" in message
    assert world.condition("Ready")[:2] == ("False", "DeletingNetwork")
    assert world.condition("Progressing")[:2] == ("True", "TransientError")
    assert world.held()["ports"] == 1
    ask(world, "DELETE", f"/ports/{other}")
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert world.is_gone
    assert world.held() == {}


async def test_without_credentials_the_finalizer_stays_and_says_why() -> None:
    world = await made()
    await world.delete()
    broken = secret()
    broken["data"] = {}
    world.api.load(broken)
    await Process(world).settle()
    assert world.condition("Deleting")[:2] == ("True", "DeletingNetwork")
    assert "restore them" in world.condition("Deleting")[2]
    assert world.condition("OpenStackAuthenticationSucceeded")[0] == "False"
    world.api.load(secret())
    await Process(world).settle()
    assert world.is_gone
    assert world.held() == {}


async def test_a_moved_cluster_finds_what_it_has() -> None:
    world = await made()
    moved = {name: value for name, value in world.tree().items() if name != "status"}
    moved["metadata"].pop("resourceVersion")
    assert moved["metadata"]["annotations"][MARK_ANNOTATION] == OWN
    world.api.load(moved)
    await Process(world).settle()
    assert world.held() == WHOLE
    assert world.condition("Ready")[0] == "True"
    assert world.tree()["status"]["network"]["name"] == NAME
