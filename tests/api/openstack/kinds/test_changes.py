"""What of OpenStack's kinds may be changed after creation: our CRDs have the rules of the provider's webhooks."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from windlass.testing.plane.facade import PlaneAccess

from .both import (
    IDENTITY,
    LEAST,
    MACHINE,
    OSC,
    OSCT,
    OSM,
    OSMT,
    OSS,
    OTHER_UUID,
    OURS,
    UUID,
    Kinds,
    kinds_of,
    with_paths,
)

pytestmark = pytest.mark.plane

Tree = dict[str, Any]
Row = tuple[str, str, Tree, Tree, bool]
_names = itertools.count()

PORT = {"network": {"id": UUID}, "tags": ["t"], "allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}
NET = {"network": {"filter": {"name": "net"}}}
NODES = {"subnets": [{"filter": {"name": "nodes"}}]}
BALANCER = {"enabled": True, "allowedCIDRs": ["10.0.0.0/8"], "monitor": {"delay": 5}, "provider": "ovn"}
MANAGED = {"cidr": "10.0.0.0/24", "dnsNameservers": ["10.0.0.2"], "allocationPools": [{"start": "1", "end": "2"}]}
RULE = {"name": "r", "direction": "ingress"}
NO_FLOATING_IP = {"disableAPIServerFloatingIP": True}
IN_USE = {
    "network": {"id": UUID, "name": "net", "subnets": [{"id": OTHER_UUID, "name": "nodes", "cidr": "10.0.0.0/24"}]},
    "apiServerLoadBalancer": {"ip": "192.0.2.1", "id": "lb", "name": "lb", "internalIP": "10.0.0.3"},
}
"""The status of a cluster that stands."""

MACHINES: list[Row] = [
    ("m9 provider ID, first", OSM, {}, {"providerID": "openstack:///1"}, True),
    ("m9 provider ID, another", OSM, {"providerID": "openstack:///1"}, {"providerID": "openstack:///2"}, False),
    ("m9 provider ID, none", OSM, {"providerID": "openstack:///1"}, {"providerID": None}, False),
    ("m9 identity, first", OSM, {}, {"identityRef": IDENTITY}, True),
    (
        "m9 identity, another",
        OSM,
        {"identityRef": IDENTITY},
        {"identityRef.name": "rotated", "identityRef.cloudName": "c"},
        True,
    ),
    ("m9 identity, none", OSM, {"identityRef": IDENTITY}, {"identityRef": None}, True),
    ("m9 identity with a region, first", OSM, {}, {"identityRef": {**IDENTITY, "region": "r"}}, False),
    (
        "m9 identity with a region, none",
        OSM,
        {"identityRef": {**IDENTITY, "region": "r"}},
        {"identityRef": None},
        False,
    ),
    ("m9 region, first", OSM, {"identityRef": IDENTITY}, {"identityRef.region": "r"}, False),
    ("m9 region, another", OSM, {"identityRef": {**IDENTITY, "region": "r"}}, {"identityRef.region": "s"}, False),
    ("m9 region, none", OSM, {"identityRef": {**IDENTITY, "region": "r"}}, {"identityRef.region": None}, False),
    ("m9 pairs, others", OSM, {"ports": [PORT]}, {"ports.0.allowedAddressPairs": [{"ipAddress": "10.0.0.9"}]}, True),
    ("m9 pairs, first", OSM, {"ports": [{}]}, {"ports.0.allowedAddressPairs": [{"ipAddress": "10.0.0.9"}]}, True),
    ("m9 pairs, none", OSM, {"ports": [PORT]}, {"ports.0.allowedAddressPairs": None}, True),
    ("m9 pairs and a tag", OSM, {"ports": [PORT]}, {"ports.0.allowedAddressPairs": None, "ports.0.tags": ["u"]}, False),
    ("m9 port, added", OSM, {"ports": [PORT]}, {"ports": [PORT, PORT]}, False),
    ("m9 port, first", OSM, {}, {"ports": [PORT]}, False),
    ("m9 port, removed", OSM, {"ports": [PORT, PORT]}, {"ports": [PORT]}, False),
    ("m9 ports, none", OSM, {"ports": [PORT]}, {"ports": None}, False),
    ("m9 ports, the other way round", OSM, {"ports": [PORT, {}]}, {"ports": [{}, PORT]}, False),
    ("m9 flavor", OSM, {}, {"flavor": "m1.small"}, False),
    ("m9 flavor to its ID", OSM, {}, {"flavor": None, "flavorID": "1"}, False),
    ("m9 image to its ID", OSM, {}, {"image": {"id": UUID}}, False),
    ("m9 tag", OSM, {"tags": ["a"]}, {"tags": ["a", "b"]}, False),
    ("m9 tag, first", OSM, {}, {"tags": ["a"]}, False),
    ("m9 trunk, said", OSM, {}, {"trunk": False}, False),
    ("m9 key", OSM, {}, {"sshKeyName": None}, False),
    ("m9 metadata", OSM, {"serverMetadata": [{"key": "k", "value": "v"}]}, {"serverMetadata": None}, False),
    ("m9 root volume", OSM, {"rootVolume": {"sizeGiB": 1}}, {"rootVolume.sizeGiB": 2}, False),
    ("m9 server's cloud", OSS, {}, {"identityRef.name": "rotated", "identityRef.cloudName": "c"}, True),
    ("m9 server's sort of credentials", OSS, {}, {"identityRef.type": "ClusterIdentity"}, False),
    ("m9 server's region", OSS, {}, {"identityRef.region": "r"}, False),
    ("m9 server's flavor", OSS, {}, {"flavor": "m1.small"}, False),
    ("m9 server's pairs", OSS, {"ports": [PORT]}, {"ports.0.allowedAddressPairs": None}, True),
    ("m9 server's ports", OSS, {"ports": [PORT]}, {"ports.0.description": "another"}, False),
    ("m9 one port more of a server", OSS, {"ports": [PORT]}, {"ports": [PORT, PORT]}, False),
    ("m9 server's user data", OSS, {"userDataRef": {"name": "a"}}, {"userDataRef.name": "b"}, False),
    ("m9 template, labels", OSMT, {}, {}, True),
]

FIXED: dict[str, tuple[Any, Any]] = {
    "router": ({"id": UUID}, {"id": OTHER_UUID}),
    "networkMTU": (1500, 9000),
    "externalRouterIPs": ([{"subnet": {"id": UUID}}], [{"subnet": {"id": OTHER_UUID}}]),
    "externalNetwork": ({"id": UUID}, {"id": OTHER_UUID}),
    "disableAPIServerFloatingIP": (True, False),
    "disablePortSecurity": (True, False),
    "tags": (["a"], ["b"]),
    "apiServerFixedIP": ("10.0.0.1", "10.0.0.2"),
    "apiServerFloatingIP": ("192.0.2.8", "192.0.2.9"),
    "apiServerPort": (6443, 443),
    "network": ({"id": OTHER_UUID}, {"filter": {"name": "x"}}),
    "subnets": ([{"id": UUID}], [{"id": OTHER_UUID}]),
    "apiServerLoadBalancer": ({"enabled": True}, {"enabled": False}),
    "managedSubnets": ([{"cidr": "10.0.0.0/24"}], [{"cidr": "10.0.1.0/24"}]),
}
"""Fields of a cluster with two values, of which neither can be set, changed or removed."""

CLUSTERS: list[Row] = [
    *((f"c12 {field}, first", OSC, {}, {field: one}, False) for field, (one, _) in FIXED.items()),
    *((f"c12 {field}, another", OSC, {field: one}, {field: other}, False) for field, (one, other) in FIXED.items()),
    *((f"c12 {field}, none", OSC, {field: one}, {field: None}, False) for field, (one, _) in FIXED.items()),
    ("c12 credentials", OSC, {}, {"identityRef.name": "rotated"}, True),
    ("c12 sort of credentials", OSC, {}, {"identityRef.type": "ClusterIdentity"}, True),
    ("c8 region, first", OSC, {}, {"identityRef.region": "r"}, False),
    ("c8 region, another", OSC, {"identityRef.region": "r"}, {"identityRef.region": "s"}, False),
    ("c12 name servers", OSC, {"managedSubnets": [MANAGED]}, {"managedSubnets.0.dnsNameservers": ["10.0.0.4"]}, True),
    ("c12 name servers, none", OSC, {"managedSubnets": [MANAGED]}, {"managedSubnets.0.dnsNameservers": None}, True),
    ("c12 pools", OSC, {"managedSubnets": [MANAGED]}, {"managedSubnets.0.allocationPools": None}, False),
    ("c12 network to the ID in use", OSC, NET, {"network": {"id": UUID}}, True),
    ("c12 network to another ID", OSC, NET, {"network": {"id": OTHER_UUID}}, False),
    ("c12 subnet to the ID in use", OSC, NODES, {"subnets": [{"id": OTHER_UUID}]}, True),
    ("c12 subnet to another ID", OSC, NODES, {"subnets": [{"id": UUID}]}, False),
    (
        "c12 another subnet to an ID in use",
        OSC,
        {"subnets": [{"filter": {"name": "x"}}]},
        {"subnets": [{"id": OTHER_UUID}]},
        False,
    ),
    ("c12 subnet from an ID", OSC, {"subnets": [{"id": OTHER_UUID}]}, NODES, False),
    ("c12 subnet and another one", OSC, NODES, {"subnets": [{"id": OTHER_UUID}, {"id": UUID}]}, False),
    ("c12 address in use", OSC, {}, {"apiServerFloatingIP": "192.0.2.1"}, True),
    ("c12 fixed address, without a floating one", OSC, NO_FLOATING_IP, {"apiServerFixedIP": "10.0.0.1"}, True),
    ("c12 port, without a floating address", OSC, NO_FLOATING_IP, {"apiServerPort": 443}, True),
    ("c12 port, again", OSC, {**NO_FLOATING_IP, "apiServerPort": 443}, {"apiServerPort": 444}, False),
    ("c12 fixed address, again", OSC, {**NO_FLOATING_IP, "apiServerFixedIP": "a"}, {"apiServerFixedIP": "b"}, False),
    ("c12 allowed CIDRs", OSC, {"apiServerLoadBalancer": BALANCER}, {"apiServerLoadBalancer.allowedCIDRs": None}, True),
    ("c12 monitor", OSC, {"apiServerLoadBalancer": BALANCER}, {"apiServerLoadBalancer.monitor": {"delay": 9}}, True),
    ("c12 provider", OSC, {"apiServerLoadBalancer": BALANCER}, {"apiServerLoadBalancer.provider": "amphora"}, False),
    (
        "c12 zone, first",
        OSC,
        {"apiServerLoadBalancer": BALANCER},
        {"apiServerLoadBalancer.availabilityZone": "z"},
        False,
    ),
    ("c12 security groups, later", OSC, {}, {"managedSecurityGroups": {}}, True),
    ("c12 security groups, none", OSC, {"managedSecurityGroups": {}}, {"managedSecurityGroups": None}, False),
    (
        "c12 rules",
        OSC,
        {"managedSecurityGroups": {"allNodesSecurityGroupRules": [RULE]}},
        {"managedSecurityGroups": {"workerNodesSecurityGroupRules": [RULE], "allowAllInClusterTraffic": True}},
        True,
    ),
    ("c12 endpoint, first", OSC, {}, {"controlPlaneEndpoint": {"host": "h", "port": 6443}}, True),
    (
        "c12 endpoint without a host",
        OSC,
        {"controlPlaneEndpoint": {"host": "", "port": 0}},
        {"controlPlaneEndpoint": {"host": "h", "port": 6443}},
        True,
    ),
    (
        "c12 endpoint, another",
        OSC,
        {"controlPlaneEndpoint": {"host": "h", "port": 6443}},
        {"controlPlaneEndpoint.port": 443},
        False,
    ),
    ("c12 zones", OSC, {"controlPlaneAvailabilityZones": ["a"]}, {"controlPlaneAvailabilityZones": ["b"]}, True),
    ("c12 no zones", OSC, {}, {"controlPlaneOmitAvailabilityZone": True}, True),
    ("c12 bastion, later", OSC, {}, {"bastion": {"spec": MACHINE}}, True),
    ("c12 bastion, another flavor", OSC, {"bastion": {"spec": MACHINE}}, {"bastion.spec.flavor": "m1.small"}, True),
    ("c12 bastion, disabled", OSC, {"bastion": {"spec": MACHINE}}, {"bastion.enabled": False}, True),
    ("c12 bastion, removed while enabled", OSC, {"bastion": {"spec": MACHINE}}, {"bastion": None}, False),
    ("c12 bastion, removed", OSC, {"bastion": {"enabled": False}}, {"bastion": None}, True),
    ("c12 no external network", OSC, NO_FLOATING_IP, {"disableExternalNetwork": True}, False),
]
ROWS = [*MACHINES, *CLUSTERS]


@pytest.fixture(scope="module")
def ours(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    yield from kinds_of(windlass_module_plane.blocking, {kind: OURS[kind] for kind in LEAST})


@pytest.mark.parametrize(
    ("kind", "before", "changes", "admitted"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_of_a_spec_may_change_what_the_webhooks_let_change(
    ours: Kinds, kind: str, before: Tree, changes: Tree, admitted: bool
) -> None:
    name = f"change-{next(_names)}"
    spec = with_paths(LEAST[kind], before)
    ours.create(kind, name, {"spec": spec})
    if kind == OSC:
        ours.write_status(kind, name, IN_USE)
    refused = ours.refusal_of_change(kind, name, {"spec": merge_patch(spec, with_paths(spec, changes))})
    assert (refused == "") is admitted, refused
    assert admitted or "Forbidden" in refused or "immutable" in refused


def merge_patch(before: Any, after: Any) -> Any:
    """The merge patch that makes one tree of the other."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    changed = {key for key in before | after if before.get(key) != after.get(key)}
    return {key: merge_patch(before.get(key), after.get(key)) for key in changed}


def test_everything_else_of_an_object_may_change(ours: Kinds) -> None:
    for kind in (OSM, OSS, OSC, OSCT, OSMT):
        ours.create(kind, "labelled", {"spec": LEAST[kind]})
        assert ours.refusal_of_change(kind, "labelled", {"metadata": {"labels": {"a": "b"}}}) == "", kind
