"""The rules of the security groups of a cluster, in a form in which equal rules are equal.

| group | what comes in | from |
|---|---|---|
| `controlplane` | TCP 6443, `apiServerPort`, and all ports of the load balancer | anywhere |
| | etcd: TCP 2379-2380 | itself |
| | kubelet: TCP 10250 | itself, `worker` |
| `worker` | node ports: TCP and UDP 30000-32767 | the subnets, itself, `controlplane` |
| | kubelet: TCP 10250 | itself, `controlplane` |
| both, with `allowAllInClusterTraffic` | everything, instead of etcd and kubelet | itself and the other |
| both, with a bastion | SSH: TCP 22 | `bastion` |
| `bastion` | SSH: TCP 22 | anywhere |

All let everything out, and both have the rules of the user. The rules are for IPv4, and for IPv6 too if a subnet is.
Neutron makes those for traffic out itself, with the group.

Sources: `securitygroups.go` of Cluster API's OpenStack provider; what Neutron takes for equal is `_rule_to_key` in its
`securitygroups_db.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any, Final, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from windlass.api import capo_cluster as api
from windlass.openstack.cloud.resources import SecurityGroupRule
from windlass.openstack.cluster.balancer import API_PORT, is_wanted, ports_of
from windlass.openstack.cluster.names import BASTION, CONTROL_PLANE, WORKER
from windlass.openstack.cluster.part import Obstacle
from windlass.openstack.status import SECURITY_GROUPS_READY, Reason

SELF: Final = "self"
"""As `remoteGroupID` of a user's rule: the group that has the rule."""

_ANYWHERE: Final = ("0.0.0.0/0", "::/0")
_ICMP_6: Final = ("icmp", "icmpv6", "1", "58")
_PROTOCOLS: Final = {
    "0": "ip",
    "1": "icmp",
    "2": "igmp",
    "4": "ipip",
    "6": "tcp",
    "8": "egp",
    "17": "udp",
    "33": "dccp",
    "41": "ipv6-encap",
    "43": "ipv6-route",
    "44": "ipv6-frag",
    "46": "rsvp",
    "47": "gre",
    "50": "esp",
    "51": "ah",
    "58": "ipv6-icmp",
    "59": "ipv6-nonxt",
    "60": "ipv6-opts",
    "89": "ospf",
    "112": "vrrp",
    "113": "pgm",
    "132": "sctp",
    "136": "udplite",
}
"""The names that Neutron has for numbers."""
_WITH_PORTS: Final = frozenset({"tcp", "udp", "dccp", "sctp", "udplite"})
_ICMP: Final = frozenset({"icmp", "ipv6-icmp"})
"""Their type and code are where others have ports."""


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule without its description. None: any. Compare those that `canonical` returns."""

    direction: str
    ethertype: str | None = None
    protocol: str | None = None
    low: int | None = field(default=None, name="port_range_min")
    high: int | None = field(default=None, name="port_range_max")
    prefix: str | None = field(default=None, name="remote_ip_prefix")
    group: str | None = field(default=None, name="remote_group_id")
    addresses: str | None = field(default=None, name="remote_address_group_id")

    @property
    def body(self) -> dict[str, Any]:
        """As Neutron takes it."""
        body: dict[str, Any] = to_builtins(self)
        return body

    def __str__(self) -> str:
        ports = "" if self.low is None else f" {self.low}" if self.low == self.high else f" {self.low}-{self.high}"
        remote = self.prefix or self.group or self.addresses or "anywhere"
        to = "from" if self.direction == "ingress" else "to"
        return f"{self.direction} {self.ethertype} {self.protocol or 'any'}{ports} {to} {remote}"


Rules: TypeAlias = dict[Rule, str]
"""Rules, and their descriptions."""


def canonical(rule: Rule) -> Rule:
    """Raises ValueError if `prefix` is no CIDR. Without `ethertype` it is that of `prefix`, or IPv4."""
    network = ip_network(rule.prefix, strict=False) if rule.prefix else None
    ethertype = rule.ethertype or ("IPv6" if network is not None and network.version == 6 else "IPv4")
    protocol = (rule.protocol or "any").lower()
    if ethertype == "IPv6" and protocol in _ICMP_6:
        protocol = "ipv6-icmp"
    protocol = "ipv6-icmp" if protocol == "icmpv6" else _PROTOCOLS.get(protocol, protocol)
    return replace(
        rule,
        ethertype=ethertype,
        protocol=None if protocol == "any" else protocol,
        prefix=None if network is None or str(network) in _ANYWHERE else str(network),
        group=rule.group or None,
        addresses=rule.addresses or None,
    )


def rule_of(found: SecurityGroupRule) -> Rule:
    """A rule that the cloud has."""
    rule = Rule(
        direction=found.direction,
        ethertype=found.ethertype,
        protocol=found.protocol,
        low=found.port_range_min,
        high=found.port_range_max,
        prefix=found.remote_ip_prefix,
        group=found.remote_group_id,
        addresses=found.remote_address_group_id,
    )
    return canonical(rule)


def desired(
    spec: api.OpenStackClusterSpec, cidrs: Sequence[str], ids: Mapping[str, str]
) -> tuple[Mapping[str, Rules], tuple[Obstacle, ...]]:
    """The rules of each group in `ids` (by role), and the rules of the user that say nothing possible. `cidrs` are
    those of the cluster's subnets."""
    managed = spec.managed_security_groups or api.ManagedSecurityGroups()
    wanted: dict[str, Rules] = {role: dict.fromkeys(_of_cluster(role, spec, cidrs, ids), "") for role in ids}
    obstacles = []
    for name, roles, rules in (
        ("allNodesSecurityGroupRules", (CONTROL_PLANE, WORKER), managed.all_nodes_security_group_rules),
        ("controlPlaneNodesSecurityGroupRules", (CONTROL_PLANE,), managed.control_plane_nodes_security_group_rules),
        ("workerNodesSecurityGroupRules", (WORKER,), managed.worker_nodes_security_group_rules),
    ):
        for rule in rules:
            for role in roles:
                try:
                    wanted[role] |= dict.fromkeys(_of_user(rule, role, ids), rule.description or "")
                except ValueError as error:
                    text = f"spec.managedSecurityGroups.{name}, rule {rule.name}: {error}: correct it"
                    obstacles.append(Obstacle(SECURITY_GROUPS_READY, Reason.INVALID_CONFIGURATION, text))
    return wanted, tuple(dict.fromkeys(obstacles))


def _of_cluster(
    role: str, spec: api.OpenStackClusterSpec, cidrs: Sequence[str], ids: Mapping[str, str]
) -> Iterator[Rule]:
    managed = spec.managed_security_groups
    everything = managed is not None and managed.allow_all_in_cluster_traffic
    versions = {"IPv4", *("IPv6" for each in cidrs if ip_network(each, strict=False).version == 6)}
    for version in ("IPv4", "IPv6"):
        yield canonical(Rule(direction="egress", ethertype=version))
    for version in sorted(versions):
        if role == BASTION:
            yield _in(version, "tcp", 22)
            continue
        if BASTION in ids:
            yield _in(version, "tcp", 22, group=ids[BASTION])
        nodes = (ids[role], ids[WORKER if role == CONTROL_PLANE else CONTROL_PLANE])
        if role == CONTROL_PLANE:
            for port in dict.fromkeys((API_PORT, spec.api_server_port or API_PORT, *_balanced(spec))):
                yield _in(version, "tcp", port)
        if role == WORKER:
            for protocol in ("tcp", "udp"):
                yield from (_in(version, protocol, 30000, 32767, group=each) for each in nodes)
        if everything:
            yield from (_in(version, group=each) for each in nodes)
            continue
        if role == CONTROL_PLANE:
            yield _in(version, "tcp", 2379, 2380, group=ids[role])
        yield from (_in(version, "tcp", 10250, group=each) for each in nodes)
    for cidr in cidrs if role == WORKER else ():
        for protocol in ("tcp", "udp"):
            yield canonical(Rule(direction="ingress", protocol=protocol, low=30000, high=32767, prefix=cidr))


def _in(
    version: str, protocol: str | None = None, low: int | None = None, high: int | None = None, *, group: str = ""
) -> Rule:
    rule = Rule(direction="ingress", ethertype=version, protocol=protocol, low=low, high=high or low, group=group)
    return canonical(rule)


def _balanced(spec: api.OpenStackClusterSpec) -> Sequence[int]:
    """The ports of the load balancer. An endpoint that is not ours may have another port than the API servers."""
    return ports_of(spec) if is_wanted(spec) else ()


def _of_user(rule: api.SecurityGroupRule, role: str, ids: Mapping[str, str]) -> Iterable[Rule]:
    remotes: list[str | None] = [ids[role] if rule.remote_group_id == SELF else rule.remote_group_id]
    if rule.remote_managed_groups:
        if absent := [each for each in rule.remote_managed_groups if each not in ids]:
            raise ValueError(f"remoteManagedGroups names {', '.join(absent)}, which the cluster does not have")
        remotes = [ids[each] for each in rule.remote_managed_groups]
    common = Rule(
        direction=rule.direction,
        ethertype=rule.ether_type,
        protocol=rule.protocol,
        low=rule.port_range_min,
        high=rule.port_range_max,
        prefix=rule.remote_ip_prefix,
    )
    _check(common)
    return [canonical(replace(common, group=remote)) for remote in remotes]


def _check(rule: Rule) -> None:
    """Raises ValueError if Neutron would refuse the rule, and with it all others of the same request."""
    exact = canonical(rule)
    if rule.prefix and exact.ethertype != f"IPv{ip_network(rule.prefix, strict=False).version}":
        raise ValueError(f"etherType {rule.ethertype} does not fit remoteIPPrefix {rule.prefix}")
    low, high = exact.low, exact.high
    if (low is None and high is None) or exact.protocol in _ICMP:
        return
    if exact.protocol not in _WITH_PORTS:
        raise ValueError(f"protocol {rule.protocol or 'any'} has no ports, but there is a port range")
    if low is None or high is None or not 1 <= low <= high <= 65535:
        given = ", ".join(
            f"portRange{name} {'missing' if port is None else port}" for name, port in (("Min", low), ("Max", high))
        )
        raise ValueError(f"no port range: {given}")
