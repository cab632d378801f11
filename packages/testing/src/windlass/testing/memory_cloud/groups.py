"""Neutron of the model: security groups and their rules.

A project of the model has no group `default`, and a port without groups has none.
"""

from collections.abc import Iterable
from typing import Any, Final

from windlass.testing.memory_cloud.services import Answer, Routes, Services, Tree, neutron

_NUMBERS: Final = {"1": "icmp", "6": "tcp", "17": "udp", "58": "ipv6-icmp"}
_SAME: Final = (
    "security_group_id",
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
)
_EVERYWHERE: Final = (None, "0.0.0.0/0", "::/0")


def rendered(cloud: Services, group: Tree) -> Tree:
    rules = [each for each in cloud.security_group_rules.values() if each["security_group_id"] == group["id"]]
    return {**group, "security_group_rules": rules}


def check(cloud: Services, project: str, which: Iterable[str]) -> None:
    """Whether the project has these groups. Raises Refused."""
    for each in which:
        cloud.owned("security_groups", project, each)


def _create_group(cloud: Services, project: str, asked: Any) -> Answer:
    body = asked.body["security_group"]
    cloud.check_quota("security_groups", project)
    state = {"description": "", "stateful": True, "tags": [], **body, "project_id": project}
    which = cloud.add("security_groups", **state, created_at=cloud.time())
    for family in ("IPv4", "IPv6"):
        rule = {"security_group_id": which, "direction": "egress", "ethertype": family, "description": None}
        _add(cloud, project, rule)
    return 201, {"security_group": rendered(cloud, cloud.security_groups[which])}


def _delete_group(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("security_groups", project, which)
    if any(which in port["security_groups"] for port in cloud.ports.values()):
        raise neutron(409, "SecurityGroupInUse", f"Security Group {which} in use.")
    for rule in list(cloud.security_group_rules.values()):
        if which in (rule["security_group_id"], rule["remote_group_id"]):
            del cloud.security_group_rules[rule["id"]]
    del cloud.security_groups[which]
    return 204, None


def _create_rules(cloud: Services, project: str, asked: Any) -> Answer:
    many = asked.body.get("security_group_rules")
    bodies = [_whole(each) for each in ([asked.body["security_group_rule"]] if many is None else many)]
    if not bodies:
        raise neutron(400, "HTTPBadRequest", "Resources required")
    if len({each["security_group_id"] for each in bodies}) > 1:
        text = "Only allowed to update rules for one security profile at a time"
        raise neutron(400, "SecurityGroupNotSingleGroupRules", text)
    for each in bodies:
        _check_rule(cloud, project, each)
    cloud.check_quota("security_group_rules", project, more=len(bodies))
    asked_for = [_identity(each) for each in bodies]
    if len({*asked_for}) < len(asked_for):
        raise neutron(409, "DuplicateSecurityGroupRuleInPost", "Duplicate Security Group Rule in POST.")
    for rule in cloud.security_group_rules.values():
        if _identity(rule) in asked_for:
            text = f"Security group rule already exists. Rule id is {rule['id']}."
            raise neutron(409, "SecurityGroupRuleExists", text)
    made = [_add(cloud, project, each) for each in bodies]
    return 201, {"security_group_rule": made[0]} if many is None else {"security_group_rules": made}


def _check_rule(cloud: Services, project: str, rule: Tree) -> None:
    check(cloud, project, [rule["security_group_id"]])
    if rule["remote_group_id"] is not None:
        check(cloud, project, [rule["remote_group_id"]])
    first, last, prefix = rule["port_range_min"], rule["port_range_max"], rule["remote_ip_prefix"]
    if prefix is not None and rule["remote_group_id"] is not None:
        text = "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided."
        raise neutron(400, "SecurityGroupMultipleRemoteEntites", text)
    if prefix is not None and rule["ethertype"] != ("IPv6" if ":" in prefix else "IPv4"):
        text = f"Conflicting value ethertype {rule['ethertype']} for CIDR {prefix}"
        raise neutron(400, "SecurityGroupRuleParameterConflict", text)
    if first is not None and last is not None and first > last:
        text = "For TCP/UDP protocols, port_range_min must be <= port_range_max"
        raise neutron(400, "SecurityGroupInvalidPortRange", text)


def _whole(rule: Any) -> Tree:
    return {**dict.fromkeys(_SAME), "ethertype": "IPv4", "description": "", **rule}


def _identity(rule: Tree) -> tuple[Any, ...]:
    """What two rules cannot have in common. A prefix counts as it is written, except that all addresses are none."""
    alike = {
        "protocol": _NUMBERS.get(str(rule["protocol"]), rule["protocol"]),
        "remote_ip_prefix": None if rule["remote_ip_prefix"] in _EVERYWHERE else rule["remote_ip_prefix"],
    }
    return tuple(alike.get(name, rule[name]) for name in _SAME)


def _add(cloud: Services, project: str, rule: Tree) -> Tree:
    which = cloud.add("security_group_rules", **_whole(rule), project_id=project)
    return cloud.security_group_rules[which]


def _delete_rule(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("security_group_rules", project, which)
    del cloud.security_group_rules[which]
    return 204, None


ROUTES: Final[Routes] = (
    ("POST", "/v2.0/security-groups", _create_group),
    ("POST", "/v2.0/security-group-rules", _create_rules),
    ("DELETE", "/v2.0/security-groups/([^/]+)", _delete_group),
    ("DELETE", "/v2.0/security-group-rules/([^/]+)", _delete_rule),
)
