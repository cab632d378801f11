"""What the API server admits of OpenStack's kinds: the provider's CRDs are the judge of ours.

Where ours refuse what the provider's CRD admits, DIFFERENCES has the reason: mostly that the provider's webhooks do.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from windlass.testing.plane.facade import PlaneAccess

from .both import IDENTITY, LEAST, MACHINE, OSC, OSCT, OSM, OSMT, OSS, OURS, UUID, Kinds, kinds_of, theirs, with_paths

pytestmark = pytest.mark.plane

WEBHOOK = "the provider's webhook refuses it"
Row = tuple[str, str, dict[str, Any], bool]

FILTERS = {
    "image": (OSM, "image"),
    "network": (OSM, "ports.0.network"),
    "subnet": (OSM, "ports.0.fixedIPs.0.subnet"),
    "security group": (OSM, "securityGroups.0"),
    "server group": (OSM, "serverGroup"),
    "router": (OSC, "router"),
    "external network": (OSC, "externalNetwork"),
    "primary network": (OSC, "network"),
    "subnet of the cluster": (OSC, "subnets.0"),
    "subnet of the router": (OSC, "externalRouterIPs.0.subnet"),
}
"""Each place that takes an ID or a filter."""
NO_TAGS = ("image", "server group")


def _c13() -> Iterator[Row]:
    for what, (kind, path) in FILTERS.items():
        for said, value, admitted in (
            ("id", {"id": UUID}, True),
            ("filter", {"filter": {"name": "n"}}, True),
            ("id and filter", {"id": UUID, "filter": {"name": "n"}}, False),
            ("nothing", {}, False),
            ("empty filter", {"filter": {}}, False),
            ("id that is no uuid", {"id": "x"}, False),
            ("empty id", {"id": ""}, False),
        ):
            yield f"c13 {what}: {said}", kind, _at(path, value), admitted
        if what not in NO_TAGS:
            for field in ("tags", "tagsAny", "notTags", "notTagsAny"):
                yield f"c13 {what}: {field}", kind, _at(path, {"filter": {field: ["a", "b"]}}), True
                yield f"c13 {what}: comma in {field}", kind, _at(path, {"filter": {field: ["a,b"]}}), False
                yield f"c13 {what}: empty one of {field}", kind, _at(path, {"filter": {field: [""]}}), False
                yield f"c13 {what}: {field} twice", kind, _at(path, {"filter": {field: ["a", "a"]}}), False


def _at(path: str, value: Any) -> dict[str, Any]:
    """The field of the spec that has `value` at `path`, as one change."""
    first, *steps = path.split(".")
    for step in reversed(steps):
        value = [value] if step == "0" else {step: value}
    return {first: value}


DEVICE = {"name": "data", "sizeGiB": 1, "storage": {"type": "Volume"}}
HINT = {"name": "h", "value": {"type": "Bool", "bool": True}}
RULE = {"name": "r", "direction": "ingress"}


def _device(**volume: Any) -> dict[str, Any]:
    return {"additionalBlockDevices": [{**DEVICE, "storage": {"type": "Volume", "volume": volume}}]}


def _hint(**value: Any) -> dict[str, Any]:
    return {"schedulerHintAdditionalProperties": [{"name": "h", "value": value}]}


def _rules(**rule: Any) -> dict[str, Any]:
    return {"managedSecurityGroups": {"allNodesSecurityGroupRules": [{**RULE, **rule}]}}


ROWS: list[Row] = [
    *((f"the least {kind}", kind, {}, True) for kind in LEAST),
    *_c13(),
    # Machines
    ("m9 no flavor", OSM, {"flavor": None}, False),
    ("m9 flavorID", OSM, {"flavor": None, "flavorID": "1"}, True),
    ("m9 flavor and flavorID", OSM, {"flavorID": "1"}, True),
    ("m9 empty flavor", OSM, {"flavor": ""}, False),
    ("m9 no image", OSM, {"image": None}, False),
    ("m9 image of another controller", OSM, {"image": {"imageRef": {"name": "orc"}}}, True),
    ("m9 image by reference and ID", OSM, {"image": {"imageRef": {"name": "o"}, "id": UUID}}, False),
    ("m9 unknown field", OSM, {"flavour": "m1"}, False),
    ("m9 root volume", OSM, {"rootVolume": {"sizeGiB": 1}}, True),
    ("m9 root volume of no size", OSM, {"rootVolume": {"sizeGiB": 0}}, False),
    ("m9 device", OSM, {"additionalBlockDevices": [DEVICE]}, True),
    ("m9 device twice", OSM, {"additionalBlockDevices": [DEVICE, DEVICE]}, False),
    ("m9 device named root", OSM, {"additionalBlockDevices": [{**DEVICE, "name": "root"}]}, True),
    (
        "m9 device named root beside a root volume",
        OSM,
        {"rootVolume": {"sizeGiB": 1}, "additionalBlockDevices": [{**DEVICE, "name": "root"}]},
        False,
    ),
    ("m6 zone by name", OSM, _device(availabilityZone={"name": "z"}), True),
    ("m6 zone of the machine", OSM, _device(availabilityZone={"from": "Machine"}), True),
    ("m6 zone by name without one", OSM, _device(availabilityZone={"from": "Name"}), False),
    ("m6 zone without anything", OSM, _device(availabilityZone={}), False),
    (
        "m6 zone of the machine, by name",
        OSM,
        _device(availabilityZone={"from": "Machine", "name": "z"}),
        False,
    ),
    ("m6 zone with a space", OSM, _device(availabilityZone={"name": "a b"}), False),
    ("m6 zone with an empty name", OSM, _device(availabilityZone={"name": ""}), False),
    (
        "m9 security groups without port security",
        OSM,
        {"ports": [{"disablePortSecurity": True, "securityGroups": [{"id": UUID}]}]},
        False,
    ),
    ("m9 no port security", OSM, {"ports": [{"disablePortSecurity": True, "securityGroups": []}]}, True),
    ("m9 empty port", OSM, {"ports": [{}]}, True),
    ("m9 no ports", OSM, {"ports": []}, True),
    ("m9 30 ports", OSM, {"ports": [{}] * 30}, True),
    ("m9 31 ports", OSM, {"ports": [{}] * 31}, False),
    (
        "m9 value specs twice",
        OSM,
        {"ports": [{"valueSpecs": [{"name": "n", "key": "k", "value": "v"}] * 2}]},
        False,
    ),
    ("m9 tags twice", OSM, {"tags": ["a", "a"]}, False),
    ("m9 long metadata", OSM, {"serverMetadata": [{"key": "k" * 255, "value": "v" * 255}]}, True),
    ("m9 longer metadata", OSM, {"serverMetadata": [{"key": "k" * 256, "value": "v"}]}, False),
    ("m9 metadata twice", OSM, {"serverMetadata": [{"key": "k", "value": "v"}] * 2}, False),
    ("m9 hint", OSM, {"schedulerHintAdditionalProperties": [HINT]}, True),
    ("m9 hint of two types", OSM, _hint(type="Bool", bool=True, string="x"), False),
    ("m9 hint of another type", OSM, _hint(type="Number", string="x"), False),
    ("m9 hint of no type", OSM, _hint(string="x"), False),
    ("m9 large number as a hint", OSM, _hint(type="Number", number=2**40), True),
    ("m9 identity", OSM, {"identityRef": IDENTITY}, True),
    (
        "m9 template with a provider ID",
        OSMT,
        {"template.spec.providerID": "openstack:///x"},
        False,
    ),
    ("m9 template without a template", OSMT, {"template": None}, False),
    # Servers
    ("m9 server without ports", OSS, {"ports": None}, False),
    ("m9 server with an empty list of ports", OSS, {"ports": []}, False),
    ("m9 server with an empty port", OSS, {"ports": [{}]}, False),
    ("m9 server on a subnet", OSS, {"ports": [{"fixedIPs": [{"subnet": {"id": UUID}}]}]}, True),
    ("m9 server at an address", OSS, {"ports": [{"fixedIPs": [{"ipAddress": "10.0.0.1"}]}]}, False),
    ("m9 server without a key", OSS, {"sshKeyName": None}, False),
    ("m9 server without credentials", OSS, {"identityRef": None}, False),
    ("m9 server without a flavor", OSS, {"flavor": None}, False),
    # Clusters
    ("c8 no name", OSC, {"identityRef.name": None}, False),
    ("c8 no cloud", OSC, {"identityRef.cloudName": None}, False),
    ("c8 no credentials", OSC, {"identityRef": None}, False),
    ("c8 shared credentials", OSC, {"identityRef.type": "ClusterIdentity"}, True),
    ("c8 credentials of another type", OSC, {"identityRef.type": "File"}, False),
    ("c8 region", OSC, {"identityRef.region": "r"}, True),
    ("c9 bastion that says nothing", OSC, {"bastion": {}}, False),
    ("c9 bastion", OSC, {"bastion": {"spec": MACHINE}}, True),
    ("c9 bastion, disabled, without a spec", OSC, {"bastion": {"enabled": False}}, True),
    ("c9 IPv4", OSC, {"bastion": {"enabled": False, "floatingIP": "192.0.2.1"}}, True),
    ("c9 IPv6", OSC, {"bastion": {"enabled": False, "floatingIP": "2001:db8::1"}}, False),
    (
        "c9 bastion with an address, without an external network",
        OSC,
        {
            "disableExternalNetwork": True,
            "disableAPIServerFloatingIP": True,
            "bastion": {"enabled": False, "floatingIP": "192.0.2.1"},
        },
        False,
    ),
    ("c9 address without an external network", OSC, {"disableExternalNetwork": True}, False),
    (
        "c9 no external network",
        OSC,
        {"disableExternalNetwork": True, "disableAPIServerFloatingIP": True},
        True,
    ),
    *((f"c10 port {port}", OSC, {"apiServerPort": port}, 0 <= port <= 65535) for port in (-1, 0, 65535, 65536)),
    ("c11 load balancer that says nothing", OSC, {"apiServerLoadBalancer": {}}, True),
    *(
        (f"c11 {field} {value}", OSC, {"apiServerLoadBalancer": {"monitor": {field: value}}}, admitted)
        for field, value, admitted in (
            ("delay", -1, False),
            ("delay", 0, True),
            ("timeout", -1, False),
            ("maxRetries", 0, True),
            ("maxRetries", 11, False),
            ("maxRetriesDown", 0, False),
            ("maxRetriesDown", 10, True),
        )
    ),
    (
        "c12 two managed subnets",
        OSC,
        {"managedSubnets": [{"cidr": "10.0.0.0/24"}, {"cidr": "10.0.1.0/24"}]},
        False,
    ),
    ("c12 three subnets", OSC, {"subnets": [{"id": UUID}] * 3}, False),
    ("c12 endpoint", OSC, {"controlPlaneEndpoint": {"host": "h", "port": 6443}}, True),
    ("c12 endpoint without a port", OSC, {"controlPlaneEndpoint": {"host": "h"}}, False),
    ("c12 rule", OSC, _rules(remoteManagedGroups=["worker"]), True),
    ("c12 rule of another direction", OSC, _rules(direction="up"), False),
    ("c12 rule of an unknown group", OSC, _rules(remoteManagedGroups=["all"]), False),
    (
        "c12 rule of a group and a prefix",
        OSC,
        _rules(remoteGroupID="g", remoteIPPrefix="0.0.0.0/0"),
        False,
    ),
    ("c12 rule of two groups", OSC, _rules(remoteGroupID="g", remoteManagedGroups=["worker"]), False),
    ("m9 cluster template without a template", OSCT, {"template": None}, False),
]

DIFFERENCES = {
    "m9 device named root beside a root volume": WEBHOOK,
    "m9 security groups without port security": WEBHOOK,
    "m9 template with a provider ID": WEBHOOK,
    "c12 rule of a group and a prefix": WEBHOOK,
    "c12 rule of two groups": WEBHOOK,
    "m9 server with an empty list of ports": "the provider's controller crashes at it",
    "m9 server with an empty port": "the provider's controller crashes at it",
    "m9 server at an address": "no subnet says which network it is",
    "m9 31 ports": "the API server wants to know how many ports the rules compare at most",
}
"""What the provider's CRD admits and ours refuse, with the reason."""


@pytest.fixture(scope="module")
def provider(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    yield from kinds_of(windlass_module_plane.blocking, theirs())


@pytest.fixture(scope="module")
def ours(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    yield from kinds_of(windlass_module_plane.blocking, {kind: OURS[kind] for kind in LEAST})


@pytest.mark.parametrize(("name", "kind", "changes", "admitted"), ROWS, ids=[row[0] for row in ROWS])
def test_ours_admits_what_the_provider_s_crd_admits(
    provider: Kinds, ours: Kinds, name: str, kind: str, changes: dict[str, Any], admitted: bool
) -> None:
    spec = with_paths(LEAST[kind], changes)
    refused = ours.refusal(kind, spec)
    assert (refused == "") is admitted, refused
    judged = provider.refusal(kind, spec)
    assert (judged == "") is (admitted or name in DIFFERENCES), judged


def test_defaults_are_those_of_the_provider(provider: Kinds, ours: Kinds) -> None:
    bastion = {"enabled": None, "spec": {**MACHINE, "rootVolume": {"sizeGiB": 1, "availabilityZone": {"name": "z"}}}}
    spec = {
        "identityRef": IDENTITY,
        "bastion": {key: value for key, value in bastion.items() if value},
        "apiServerLoadBalancer": {},
        "managedSecurityGroups": {},
    }
    made = ours.create(OSC, "defaults", {"spec": spec})["spec"]
    assert made == provider.create(OSC, "defaults", {"spec": spec})["spec"]
    assert made["identityRef"]["type"] == "Secret"
    assert made["bastion"]["enabled"] is made["apiServerLoadBalancer"]["enabled"] is True
    assert "apiServerLoadBalancer" not in ours.create(OSC, "none", {"spec": LEAST[OSC]})["spec"]
