"""Objects that the provider stored are read, decoded and written on by us, after our CRDs have replaced its own."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from windlass.api import capo, capo_cluster, capo_server
from windlass.testing.plane.facade import PlaneAccess

from .both import IDENTITY, LEAST, MACHINE, OSC, OSCT, OSM, OSMT, OSS, OURS, SERVER, UUID, Kinds, kinds_of, theirs

pytestmark = pytest.mark.plane

Tree = dict[str, Any]

OLD_CONDITIONS = [
    {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"},
    {
        "type": "InstanceReady",
        "status": "False",
        "severity": "Error",
        "reason": "InstanceStateError",
        "message": "m",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    },
]
"""Conditions of Cluster API's older contract: with a severity, and without a reason where all is well."""
RESOLVED_PORT = {"name": "p", "description": "d", "networkID": UUID, "fixedIPs": [{"subnet": UUID}], "tags": ["t"]}
RESOLVED = {"flavorID": "1", "imageID": UUID, "serverGroupID": "g", "ports": [RESOLVED_PORT]}
RESOURCES = {"ports": [{"id": UUID}]}
NETWORK = {"id": UUID, "name": "net", "tags": ["t"]}
SUBNETS = [{"id": UUID, "name": "nodes", "cidr": "10.0.0.0/24"}]
GROUP = {"id": UUID, "name": "g"}

STORED: dict[str, Tree] = {
    OSM: {
        "ready": True,
        "instanceID": UUID,
        "instanceState": "ACTIVE",
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "resolved": RESOLVED,
        "resources": RESOURCES,
        "conditions": OLD_CONDITIONS,
        "failureReason": "CreateError",
        "failureMessage": "m",
    },
    OSS: {
        "ready": True,
        "instanceID": UUID,
        "instanceState": "ACTIVE",
        "resolved": RESOLVED,
        "resources": RESOURCES,
        "conditions": OLD_CONDITIONS,
    },
    OSC: {
        "ready": True,
        "network": {**NETWORK, "subnets": SUBNETS},
        "externalNetwork": NETWORK,
        "router": {"id": UUID, "name": "r", "ips": ["192.0.2.2"]},
        "apiServerLoadBalancer": {"id": "lb", "name": "lb", "ip": "192.0.2.1", "internalIP": "10.0.0.3"},
        "failureDomains": {"nova": {"controlPlane": True}, "edge": {"attributes": {"a": "b"}}},
        "controlPlaneSecurityGroup": GROUP,
        "workerSecurityGroup": GROUP,
        "bastionSecurityGroup": GROUP,
        "bastion": {"id": UUID, "name": "b", "state": "ACTIVE", "resolved": RESOLVED, "resources": RESOURCES},
        "failureReason": "UpdateError",
        "failureMessage": "m",
    },
}
"""What CAPO 0.10 to 0.13 write into the status."""
SPECS: dict[str, Tree] = {
    **LEAST,
    OSM: {**MACHINE, "identityRef": IDENTITY, "ports": [{"nameSuffix": "a"}]},
    OSC: {**LEAST[OSC], "bastion": {"spec": MACHINE}, "controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}},
    # Specs that ours would refuse today.
    OSS: {
        **SERVER,
        "rootVolume": {"sizeGiB": 1},
        "ports": [{}],
        "additionalBlockDevices": [{"name": "root", "sizeGiB": 1, "storage": {"type": "Local"}}],
    },
}
TYPES: dict[str, Any] = {
    OSM: capo.OpenStackMachine,
    OSMT: capo.OpenStackMachineTemplate,
    OSC: capo_cluster.OpenStackCluster,
    OSCT: capo_cluster.OpenStackClusterTemplate,
    OSS: capo_server.OpenStackServer,
}
CONDITION = {
    "type": "Ready",
    "status": "False",
    "reason": "InstanceNotFound",
    "message": "gone",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
OUR_STATUS: dict[str, Tree] = {
    OSM: {"initialization": {"provisioned": True}, "conditions": [CONDITION]},
    OSS: {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "conditions": [CONDITION]},
    OSC: {
        "initialization": {"provisioned": True},
        "failureDomains": [{"name": "nova", "controlPlane": True}],
        "conditions": [CONDITION],
    },
}


@pytest.fixture(scope="module")
def taken_over(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    """Objects that were made under the provider's CRDs, and ours in the place of those."""
    for kinds in kinds_of(windlass_module_plane.blocking, theirs()):
        for kind, spec in SPECS.items():
            kinds.create(kind, "old", {"spec": spec})
            if kind in STORED:
                kinds.write_status(kind, "old", STORED[kind])
        kinds.become({kind: OURS[kind] for kind in LEAST})
        yield kinds


def read(kinds: Kinds, kind: str) -> Tree:
    tree: Tree = kinds.rest.request("GET", kinds.path(kind, "old"))
    return tree


@pytest.mark.parametrize("kind", SPECS)
def test_what_the_provider_stored_is_decoded_whole(taken_over: Kinds, kind: str) -> None:
    tree = read(taken_over, kind)
    decoded = msgspec.convert(tree, TYPES[kind])
    again = msgspec.to_builtins(decoded)["spec"]
    assert {key: again.get(key) for key in tree["spec"]} == tree["spec"]


@pytest.mark.parametrize("kind", STORED)
def test_the_status_that_the_provider_stored_stays_but_for_the_older_contract(taken_over: Kinds, kind: str) -> None:
    status = read(taken_over, kind)["status"]
    former = {"ready", "failureReason", "failureMessage"} if kind != OSS else set()
    assert status.keys() == STORED[kind].keys() - former
    for field in status.keys() - {"conditions"}:
        assert status[field] == STORED[kind][field]
    assert [condition["type"] for condition in status.get("conditions", ())] in ([], ["Ready", "InstanceReady"])


@pytest.mark.parametrize("kind", STORED)
def test_our_first_status_replaces_what_the_provider_stored(taken_over: Kinds, kind: str) -> None:
    before = read(taken_over, kind)
    written = taken_over.write_status(kind, "old", OUR_STATUS[kind])
    assert {field: written["status"][field] for field in OUR_STATUS[kind]} == OUR_STATUS[kind]
    assert written["spec"] == before["spec"]
    assert msgspec.convert(written, TYPES[kind]).status.conditions[0].reason == "InstanceNotFound"


@pytest.mark.parametrize("kind", SPECS)
def test_metadata_of_what_the_provider_stored_may_change(taken_over: Kinds, kind: str) -> None:
    change = {"metadata": {"labels": {"a": "b"}, "finalizers": ["openstack.windlass.dev/x"]}}
    assert taken_over.refusal_of_change(kind, "old", change) == ""
