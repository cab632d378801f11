"""Fields that the Machine API cannot express, on a real API server."""

from typing import Any

import pytest

from windlass.api import capi
from windlass.machine_sync.constants import SYNC_FINALIZER
from windlass.machine_sync.platforms import AWS, OPENSTACK

from .policed import Kind, Policed, Tree, change_of, spec_of

UUID = "0e3f5d2a-6f1c-4c0b-9d53-2f7b8f5f7a11"
OTHER_UUID = "7a9b1c3d-2e4f-4a6b-8c0d-1e2f3a4b5c6d"
CORE: dict[str, Any] = {
    "version": "v1.31.0",
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "deletion.nodeDrainTimeoutSeconds": 0,
    "deletion.nodeVolumeDetachTimeoutSeconds": 300,
    "bootstrap.configRef": {"kind": "KubeadmConfig", "name": "x", "apiGroup": "bootstrap.cluster.x-k8s.io"},
}
ON_AWS: dict[str, Any] = {
    "ami.eksLookupType": "AmazonLinux",
    "imageLookupFormat": "x",
    "imageLookupOrg": "x",
    "imageLookupBaseOS": "x",
    "networkInterfaces": ["eni-1"],
    "uncompressedUserData": False,
    "ignition.proxy": {"httpProxy": "http://proxy"},
    "ignition.tls": {"certificateAuthorities": ["https://ca"]},
    "securityGroupOverrides": {"node": "sg-1"},
    "cloudInit.secretCount": 1,
    "cloudInit.secretPrefix": "x",
    "cloudInit.insecureSkipSecretsManager": True,
    "cloudInit.secureSecretsBackend": "secrets-manager",
    "elasticIpPool": {"publicIpv4Pool": "amazon"},
    "capacityReservationPreference": "None",
    "cpuOptions.nestedVirtualization": "enabled",
}
ON_OPENSTACK: dict[str, Any] = {
    "flavorID": "x",
    "image.id": UUID,
    "image.imageRef": {"name": "x"},
    "image.filter": {"name": "x", "tags": ["x"]},
    "identityRef": {"name": "x", "cloudName": "x", "region": "x"},
    "floatingIPPoolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "OpenStackFloatingIPPool", "name": "x"},
    "schedulerHintAdditionalProperties": [{"name": "x", "value": {"type": "Bool", "bool": True}}],
}
LEAVES = {"image.filter": "image.filter.tags", "identityRef": "identityRef.region"}
"""Where the field at fault is below the one that is set."""

TEMPLATE = "spec.template.spec"
TABLES: tuple[tuple[Kind, str, dict[str, Any]], ...] = (
    (capi.Machine, "spec", CORE),
    (capi.MachineSet, TEMPLATE, CORE),
    (AWS.infra_machine, "spec", ON_AWS),
    (OPENSTACK.infra_machine, "spec", ON_OPENSTACK),
)
CASES: list[tuple[Kind, str, str, Any]] = [
    (kind, path, field, value) for kind, path, values in TABLES for field, value in values.items()
]
TEMPLATES: tuple[tuple[Kind, dict[str, Any]], ...] = (
    (AWS.infra_template, ON_AWS),
    (OPENSTACK.infra_template, ON_OPENSTACK),
)
HELD: Tree = {"finalizers": [SYNC_FINALIZER]}
"""What says that an object is mirrored."""


def relative(path: str, field: str) -> str:
    """The path below `spec`."""
    return f"{path}.{field}".partition(".")[2]


def message(path: str, field: str) -> str:
    return f"{path}.{LEAVES.get(field, field)} is a forbidden field"


async def test_each_field_is_refused(policed: Policed) -> None:
    for kind, path, field, value in CASES:
        spec = spec_of(kind, relative(path, field), value)
        assert await policed.creation_refusal(kind, spec, **HELD) == message(path, field), field


async def test_each_field_is_refused_when_it_is_added(policed: Policed) -> None:
    made = {kind: await policed.make(kind, **HELD) for kind in {case[0] for case in CASES}}
    for kind, path, field, value in CASES:
        change = change_of(kind, relative(path, field), value)
        assert await policed.refusal(kind, made[kind], change) == message(path, field), field
        released = {**change, "metadata": {"finalizers": []}}
        assert await policed.refusal(kind, made[kind], released) == message(path, field), field
    for kind, name in made.items():
        assert await policed.refusal(kind, name, {"metadata": {"labels": {"a": "b"}}}) == "", kind


async def test_what_only_cluster_api_has_may_have_any_field(policed: Policed) -> None:
    made = {kind: await policed.make(kind) for kind in {case[0] for case in CASES}}
    for kind, path, field, value in CASES:
        spec = spec_of(kind, relative(path, field), value)
        assert await policed.creation_refusal(kind, spec) == "", field
        assert await policed.creation_refusal(kind, spec, finalizers=["example.com/hold"]) == "", field
        change = change_of(kind, relative(path, field), value)
        assert await policed.refusal(kind, made[kind], change) == "", field


async def test_of_templates_which_do_not_say_what_is_made_from_them_users_are_warned(policed: Policed) -> None:
    for kind, values in TEMPLATES:
        name = await policed.make(kind)
        for field, value in values.items():
            spec = spec_of(kind, relative(TEMPLATE, field), value)
            assert await policed.creation_refusal(kind, spec) == "", field
            (warning,) = await policed.warnings(kind, name, change_of(kind, relative(TEMPLATE, field), value))
            said = f"{TEMPLATE}.{LEAVES.get(field, field)} is a field that the Machine API cannot express"
            assert warning.endswith(f": {said}"), field


async def test_what_is_not_set_at_all_is_fine(policed: Policed) -> None:
    for kind in {case[0] for case in CASES}:
        assert await policed.creation_refusal(kind, **HELD) == "", kind
    zero = {"cloudInit": {"secretCount": 0, "insecureSkipSecretsManager": False}, "networkInterfaces": []}
    assert await policed.creation_refusal(AWS.infra_machine, zero, **HELD) == ""


async def test_how_a_set_names_its_machines_is_refused_too(policed: Policed) -> None:
    spec = {"machineNaming": {"template": "{{ .machineSet.name }}-{{ .random }}"}}
    expected = "spec.machineNaming.template is a forbidden field"
    assert await policed.creation_refusal(capi.MachineSet, spec, **HELD) == expected
    name = await policed.make(capi.MachineSet, **HELD)
    assert await policed.refusal(capi.MachineSet, name, {"spec": spec}) == expected


async def test_other_namespaces_may_have_what_they_like(policed: Policed) -> None:
    for kind, path, field, value in CASES:
        spec = spec_of(kind, relative(path, field), value)
        assert await policed.creation_refusal(kind, spec, namespace="default", **HELD) == "", field


async def test_only_machine_sync_may_set_them(
    policed: Policed, machine_sync: str, controllers: tuple[str, ...]
) -> None:
    spec = spec_of(capi.Machine, "version", "v1.31.0")
    assert await policed.creation_refusal(capi.Machine, spec, by=machine_sync, **HELD) == ""
    for user in controllers:
        refusal = await policed.creation_refusal(capi.Machine, spec, by=user, **HELD)
        assert refusal == "spec.version is a forbidden field", user


async def test_an_object_keeps_the_field_that_it_had_before(policed: Policed, machine_sync: str) -> None:
    spec = spec_of(capi.Machine, "version", "v1.31.0")
    name = await policed.make(capi.Machine, spec, by=machine_sync, **HELD)
    for change, expected in (
        ({"metadata": {"finalizers": []}}, ""),
        ({"spec": {"providerID": "openstack:///1"}}, ""),
        ({"spec": {"version": None}}, ""),
        ({"spec": {"failureDomain": "az1"}}, ""),
        ({"spec": {"version": "v1.32.0"}}, "spec.version is a forbidden field"),
    ):
        assert await policed.refusal(capi.Machine, name, change) == expected, change


BY_ID: Tree = {"network": {"id": UUID}}
BY_FILTER: Tree = {"network": {"filter": {"name": "n"}}}
BY_SUBNET: Tree = {"fixedIPs": [{"subnet": {"filter": {"name": "s"}}}]}
IN_NETWORKS = " of a port that does not name its network by ID"
IN_PORTS = " of a port that names its network by ID"


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (BY_ID, ""),
        (BY_FILTER, ""),
        (BY_SUBNET, ""),
        ({**BY_ID, "description": "d", "nameSuffix": "s", "trunk": True, "macAddress": "m"}, ""),
        ({**BY_ID, "fixedIPs": [{"subnet": {"id": UUID}, "ipAddress": "10.0.0.1"}]}, ""),
        ({**BY_ID, "securityGroups": [{"id": UUID}, {"id": OTHER_UUID}]}, ""),
        ({**BY_FILTER, "allowedAddressPairs": [], "disablePortSecurity": True, "tags": ["t"]}, ""),
        ({**BY_ID, "hostID": "h"}, "ports[].hostID is a forbidden field"),
        ({**BY_FILTER, "hostID": "h"}, "ports[].hostID is a forbidden field"),
        ({**BY_ID, "propagateUplinkStatus": False}, "ports[].propagateUplinkStatus is a forbidden field"),
        (
            {**BY_FILTER, "valueSpecs": [{"name": "n", "key": "k", "value": "v"}]},
            "ports[].valueSpecs is a forbidden field",
        ),
        ({**BY_ID, "fixedIPs": [{"subnet": {"id": UUID}}, {"subnet": {"filter": {"cidr": "10.0.0.0/8"}}}]}, ""),
        (
            {**BY_ID, "securityGroups": [{"filter": {"name": "g"}}]},
            f"ports[].securityGroups[].filter is a forbidden field{IN_PORTS}",
        ),
        ({**BY_FILTER, "description": "d"}, f"ports[].description is a forbidden field{IN_NETWORKS}"),
        ({**BY_SUBNET, "nameSuffix": "s"}, f"ports[].nameSuffix is a forbidden field{IN_NETWORKS}"),
        ({**BY_FILTER, "trunk": False}, f"ports[].trunk is a forbidden field{IN_NETWORKS}"),
        ({**BY_FILTER, "adminStateUp": False}, f"ports[].adminStateUp is a forbidden field{IN_NETWORKS}"),
        ({**BY_FILTER, "macAddress": "m"}, f"ports[].macAddress is a forbidden field{IN_NETWORKS}"),
        ({**BY_FILTER, "securityGroups": [{"id": UUID}]}, f"ports[].securityGroups is a forbidden field{IN_NETWORKS}"),
        ({**BY_FILTER, "allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}, ""),  # of the cluster, as conversion makes
        (
            {**BY_FILTER, "fixedIPs": [{"ipAddress": "10.0.0.1"}]},
            f"ports[].fixedIPs[].ipAddress is a forbidden field{IN_NETWORKS}",
        ),
    ],
    ids=str,
)
async def test_of_a_port_it_depends_on_how_the_network_is_named(policed: Policed, port: Tree, expected: str) -> None:
    ports = {"ports": [BY_ID, port]}
    refusal = await policed.creation_refusal(OPENSTACK.infra_machine, ports, **HELD)
    assert refusal == (expected and f"spec.{expected}")
