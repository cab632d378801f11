"""The security groups of a cluster: what comes next, whatever is there."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.openstack.cluster.networked import FOREIGN, MARKED, OURS, TAGGED, bodies, sent, spec
from windlass.openstack.cloud.failures import CloudFailure, InConflict, OverQuota
from windlass.openstack.cloud.inventory import Blockers, Refusal
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.resources import SecurityGroup, SecurityGroupRule, Subnet
from windlass.openstack.cluster.groups import groups, retired
from windlass.openstack.cluster.network import Found
from windlass.openstack.cluster.part import Obstacle, Ours, Part
from windlass.openstack.cluster.rules import desired
from windlass.openstack.status import Reason

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
CIDR = "10.0.0.0/24"
PREFIX = "k8s-cluster-ns-one-secgroup"
FOUND = Found(subnets=(Subnet(id="s", cidr=CIDR),))
SPEC: dict[str, Any] = {"managedSecurityGroups": {}}
IDS = {"controlplane": "CP", "worker": "W", "bastion": "B"}
SURPLUS = SecurityGroupRule(id="old", protocol="tcp", port_range_min=8080, port_range_max=8080)


def group(role: str, *rules: SecurityGroupRule, **meta: Any) -> SecurityGroup:
    whole = {**MARKED, "name": f"{PREFIX}-{role}", **meta}
    return SecurityGroup(id=IDS[role], security_group_rules=list(rules), **whole)


def ruled(role: str, *, without: int = 0, more: tuple[SecurityGroupRule, ...] = (), roles: int = 2) -> SecurityGroup:
    """The group with the rules that it should have, less the last `without`."""
    wanted = list(desired(spec(**SPEC), [CIDR], dict(list(IDS.items())[:roles]))[0][role])
    rules = [SecurityGroupRule(id=f"{role}-{place}", **each.body) for place, each in enumerate(wanted)]
    return group(role, *rules[: len(rules) - without], *more)


def part(
    *there: SecurityGroup,
    bastion: bool = False,
    ours: Ours = OURS,
    found: Found = FOUND,
    blockers: Blockers = Blockers(),  # noqa: B008
    certain: bool = True,
    fields: dict[str, Any] = SPEC,
) -> Part:
    inventory = NetworkInventory(groups=there, certain=certain, certain_in=3.0, as_of=NOW)
    return groups(spec(**fields), ours, inventory, found, bastion=bastion, blockers=blockers)


def test_groups_that_nobody_asks_for_are_left_alone() -> None:
    assert part(group("worker"), fields={}).is_there


def test_the_groups_are_created_at_the_same_time_and_then_their_rules() -> None:
    made = part()
    assert [each["name"] for each in bodies(made)] == [f"{PREFIX}-controlplane", f"{PREFIX}-worker"]
    assert all(each["description"] == MARKED["description"] for each in bodies(made))
    assert len(part(bastion=True).requests) == 3
    both = part(group("controlplane"), group("worker"))
    assert sent(both) == ["POST /v2.0/security-group-rules"] * 2
    assert both.fields["controlPlaneSecurityGroup"] == {"id": "CP", "name": f"{PREFIX}-controlplane"}


def test_neutrons_own_two_rules_are_not_asked_for_again() -> None:
    own = (
        SecurityGroupRule(id="4", direction="egress"),
        SecurityGroupRule(id="6", direction="egress", ethertype="IPv6"),
    )
    both = part(group("controlplane", *own), group("worker", *own))
    assert [len(each) for each in bodies(both)] == [4, 8]
    assert all(rule["direction"] == "ingress" for each in bodies(both) for rule in each)


def test_what_is_there_needs_nothing() -> None:
    assert part(ruled("controlplane"), ruled("worker")).is_there
    every = [ruled(role, roles=3) for role in IDS]
    assert part(*every, bastion=True).is_there


def test_missing_rules_are_created_before_others_are_deleted() -> None:
    half = part(ruled("controlplane", without=1, more=(SURPLUS,)), ruled("worker", more=(SURPLUS,)))
    assert sent(half) == ["POST /v2.0/security-group-rules", "DELETE /v2.0/security-group-rules/old"]
    assert [each.group for each in half.requests if hasattr(each, "group")] == ["W"]
    assert sent(part(ruled("controlplane", more=(SURPLUS,)), ruled("worker"))) == [
        "DELETE /v2.0/security-group-rules/old"
    ]


def test_nothing_is_deleted_while_a_rule_of_the_user_says_nothing_possible() -> None:
    wrong = {"allNodesSecurityGroupRules": [{"name": "r", "direction": "ingress", "remoteIPPrefix": "x"}]}
    found = part(ruled("controlplane", more=(SURPLUS,)), ruled("worker"), fields={"managedSecurityGroups": wrong})
    assert found.requests == ()
    assert len(found.obstacles) == 1


@pytest.mark.parametrize(
    ("failure", "seconds", "single"),
    [
        (InConflict("network", "Security group rule already exists.", code=409), 1, True),
        (InConflict("network", "Security group rule already exists.", code=409), -1, False),
        (OverQuota("network", "Quota exceeded", code=409), 1, False),
    ],
    ids=["refused since the list", "listed since", "another refusal"],
)
def test_rules_that_were_refused_together_are_sent_one_by_one(
    failure: CloudFailure, seconds: int, single: bool
) -> None:
    refusal = Refusal("create rules", f"{PREFIX}-worker", failure, NOW.replace(second=30 + seconds))
    inventory = NetworkInventory(
        groups=(ruled("controlplane"), ruled("worker", without=3)), as_of=NOW.replace(second=30)
    )
    found = groups(spec(**SPEC), OURS, inventory, FOUND, bastion=False, blockers=Blockers(refusals=(refusal,)))
    assert len(found.requests) == (3 if single else 1)
    assert len({each.subject for each in found.requests}) == len(found.requests)
    assert found.requests[0].is_done(failure) is (single and isinstance(failure, InConflict))


def test_the_group_of_a_bastion_that_is_gone_goes_after_the_rules_that_name_it() -> None:
    ssh = SecurityGroupRule(id="ssh", protocol="tcp", port_range_min=22, port_range_max=22, remote_group_id="B")
    there = (ruled("controlplane", more=(ssh,)), ruled("worker"), group("bastion"))
    assert sent(part(*there)) == ["DELETE /v2.0/security-group-rules/ssh"]

    def goes(*found: SecurityGroup, bastion: bool = False) -> list[str]:
        return sent(retired(spec(**SPEC), OURS, NetworkInventory(groups=found), bastion=bastion))

    assert goes(*there) == []
    there = (ruled("controlplane"), ruled("worker"), group("bastion"))
    assert part(*there).is_there
    assert goes(*there) == ["DELETE /v2.0/security-groups/B"]
    assert goes(*there, bastion=True) == []
    assert goes(*there[:2]) == []
    assert part(*there[:2]).fields["bastionSecurityGroup"] is None


def test_groups_that_an_earlier_provider_recorded_are_marked_and_used() -> None:
    old = {"description": "Cluster API managed group"}
    found = part(group("controlplane", **old), group("worker", **old))
    assert sent(found) == ["PUT /v2.0/security-groups/CP", "PUT /v2.0/security-groups/W"]
    assert bodies(found)[0] == {"description": "Cluster API managed group windlass-owner=m"}


@pytest.mark.parametrize("meta", [FOREIGN, {"name": "mine", "description": "mine"}], ids=["marked", "another name"])
def test_groups_that_the_status_records_and_others_have_are_not_taken_and_not_doubled(meta: dict[str, str]) -> None:
    found = part(ruled("controlplane"), group("worker", **meta))
    assert found.requests == ()
    assert "which the status records" in str(found.obstacles[0].why)


def test_tags_are_added_where_neutron_has_them() -> None:
    there = (ruled("controlplane"), replace(ruled("worker"), tags=["x", "a", "b"]))
    assert bodies(part(*there, ours=TAGGED)) == [["a", "b"]]
    assert part(*there, ours=replace(TAGGED, extensions=frozenset())).is_there


def test_groups_wait_for_what_they_need() -> None:
    assert "may arrive in the next 3 s" in part(certain=False).waits
    both = (group("controlplane"), group("worker"))
    assert part(*both, found=Found()).waits == "the subnets of the cluster"
    assert part(*both, found=Found(), fields={**SPEC, "managedSubnets": [{"cidr": "x"}]}).waits
    half = replace(FOUND, obstacles=(Obstacle("NetworkReady", Reason.OPENSTACK_ERROR, "no answer"),))
    assert part(ruled("controlplane"), ruled("worker"), found=half).waits == "the subnets of the cluster"
    planned = part(*both, found=Found(), fields={**SPEC, "managedSubnets": [{"cidr": "10.6.0.0/24"}]})
    prefixes = {rule.get("remote_ip_prefix") for each in bodies(planned) for rule in each}
    assert prefixes == {None, "10.6.0.0/24"}
