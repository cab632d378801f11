"""The security groups that are made for a cluster (`managedSecurityGroups`), and how they get their rules.

| there is | next |
|---|---|
| a group that the status records, without the mark | mark it, before anything else |
| one of its name, without a mark and not recorded | `unmarked` |
| not every group | create the missing ones, at the same time: rules name other groups |
| missing rules | create those of each group, all in one request |
| that refused, because one exists already | create them one by one; one that exists counts as created |
| nothing missing in a group | delete its surplus rules |

Rules are added before others are deleted, so traffic that both allow never stops. What the rules are is in `rules`.
There is a group for the bastion while there is a bastion, or shall be one.
"""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capo_cluster import OpenStackClusterSpec
from windlass.openstack.cloud.failures import InConflict
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.network_requests import CreateRules, CreateSecurityGroup, DeleteRule
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import SecurityGroup
from windlass.openstack.cluster import unmarked
from windlass.openstack.cluster.names import BASTION, CONTROL_PLANE, WORKER, role_of
from windlass.openstack.cluster.network import Found
from windlass.openstack.cluster.ownership import ADOPTS, adoption, owned, strange
from windlass.openstack.cluster.part import GROUPS, Ours, Part
from windlass.openstack.cluster.rules import Rule, desired, rule_of
from windlass.openstack.status import NETWORK_READY

_FIELDS: Final = {
    CONTROL_PLANE: "controlPlaneSecurityGroup",
    WORKER: "workerSecurityGroup",
    BASTION: "bastionSecurityGroup",
}
"""Where the status has the group of each role."""


def groups(
    spec: OpenStackClusterSpec,
    ours: Ours,
    inventory: NetworkInventory,
    found: Found,
    *,
    bastion: bool,
    blockers: Blockers,
) -> Part:
    """The groups and their rules. `found`: the network; `bastion`: there is one, or shall be one. `blockers`: what was
    refused."""
    if spec.managed_security_groups is None:
        return GROUPS
    if marks := adoption(inventory.groups, ours):
        return GROUPS.needs(*marks, why=ADOPTS)
    if lost := strange(inventory.groups, ours, GROUPS):
        return replace(GROUPS, obstacles=lost)
    there = by_role(ours, inventory)
    roles = (CONTROL_PLANE, WORKER, *((BASTION,) if bastion else ()))
    fields = {_FIELDS[role]: {"id": each.id, "name": each.name} for role, each in there.items()}
    part = replace(GROUPS, fields={**dict.fromkeys(_FIELDS.values()), **fields})
    missing = [role for role in roles if role not in there]
    if (step := unmarked.groups(ours, inventory.unmarked, [ours.group(role) for role in missing])) is not None:
        return replace(step, fields=part.fields)
    if missing and not inventory.certain:
        return part.uncertain(inventory)
    if missing:
        return part.needs(*(_create(role, ours) for role in missing), why="groups that are not there")
    cidrs = _cidrs(spec, found)
    if not cidrs:
        return part.awaits("the subnets of the cluster")
    ids = {role: there[role].id for role in roles}
    wanted, obstacles = desired(spec, cidrs, ids)
    requests: list[CloudRequest] = []
    for role in roles:
        requests += ours.tag(there[role])
        requests += _difference(there[role], wanted[role], ours, inventory, blockers, complete=not obstacles)
    return replace(part, requests=tuple(requests), why="groups differ from the spec", obstacles=obstacles)


def retired(spec: OpenStackClusterSpec, ours: Ours, inventory: NetworkInventory, *, bastion: bool) -> Part:
    """The group of a bastion that is gone. It is apart from the others, which must not wait until nobody uses it."""
    there = by_role(ours, inventory)
    if spec.managed_security_groups is None or bastion or BASTION not in there:
        return GROUPS
    gone = there[BASTION]
    others = (each for role, each in there.items() if role != BASTION)
    if any(rule.remote_group_id == gone.id for each in others for rule in each.security_group_rules):
        return GROUPS  # Neutron would delete those rules too, and perhaps before `groups` has made what is missing
    return GROUPS.needs(ours.delete(gone), why="there is no bastion any more")


def by_role(ours: Ours, inventory: NetworkInventory) -> Mapping[str, SecurityGroup]:
    """The groups of the cluster that exist. Those that were made for it in another namespace are called otherwise."""
    found: dict[str, SecurityGroup] = {}
    for each in owned(inventory.groups, ours):
        if (role := role_of(each.name)) in _FIELDS:
            found.setdefault(role, each)
    return found


def _cidrs(spec: OpenStackClusterSpec, found: Found) -> list[str]:
    """Those of the subnets; none if they are not all known, or if one is no CIDR: rules for it would be deleted."""
    if not spec.managed_subnets and any(each.part == NETWORK_READY for each in found.obstacles):
        return []
    try:
        return [str(ip_network(each.cidr, strict=False)) for each in spec.managed_subnets or found.subnets]
    except ValueError:
        return []


def _create(role: str, ours: Ours) -> CreateSecurityGroup:
    name = ours.group(role)
    body = {"name": name, "description": described(ours.description(), ours.mark)}
    return ours.create(CreateSecurityGroup, name, body)


def _difference(
    group: SecurityGroup,
    wanted: Mapping[Rule, str],
    ours: Ours,
    inventory: NetworkInventory,
    blockers: Blockers,
    *,
    complete: bool,
) -> Iterator[CloudRequest]:
    """`wanted`: rules and their descriptions; `complete`: these are all, so others may be deleted."""
    observed = {rule_of(each): each for each in group.security_group_rules}
    missing = [rule for rule in wanted if rule not in observed]
    if missing:
        bodies = {rule: {**rule.body, **({"description": wanted[rule]} if wanted[rule] else {})} for rule in missing}
        bulk = _create_rules(group, ours, group.name, *bodies.values())
        if _existed(bulk, inventory, blockers):
            for rule, body in bodies.items():
                yield _create_rules(group, ours, f"{group.name}: {rule}", body)
        else:
            yield bulk
        return
    for rule, each in observed.items() if complete else ():
        if rule not in wanted:
            yield DeleteRule(
                project=ours.project,
                mark=ours.mark,
                subject=f"{group.name}: {rule}",
                id=each.id,
                group=group.id,
                rule=rule.body,
            )


def _create_rules(group: SecurityGroup, ours: Ours, subject: str, *rules: Mapping[str, Any]) -> CreateRules:
    return CreateRules(
        project=ours.project, mark=ours.mark, intent=ours.intent, subject=subject, id=group.id, rules=rules
    )


def _existed(request: CreateRules, inventory: NetworkInventory, blockers: Blockers) -> bool:
    """Whether it was refused because of a rule that exists, and the list of rules is older than that."""
    return any(
        isinstance(each.failure, InConflict) and (inventory.as_of is None or each.at >= inventory.as_of)
        for each in blockers.refusals
        if (each.what, each.subject) == (request.verb, request.subject)
    )
