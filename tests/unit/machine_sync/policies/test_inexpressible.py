"""The fields that policies forbid are those that conversion cannot express: neither more nor fewer."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import structs

from tests.unit.machine_sync.conversion.vectors import (
    TO_CLUSTER_API,
    TO_MACHINE_API,
    convert,
    platform_of,
    row_id,
    rows,
)
from windlass.api import capo
from windlass.api.meta import without_nulls
from windlass.machine_sync.conversion.machine_to_machine_api import ProviderPart
from windlass.machine_sync.platforms import AWS, OPENSTACK, POWERVS, Platform
from windlass.machine_sync.platforms.openstack.ports import network_places
from windlass.machine_sync.platforms.samples import NO_SAMPLES, Form
from windlass.machine_sync.policies.inexpressible import (
    Field,
    fields,
    infra_machine_prober,
    machine_prober,
    machine_set_prober,
)

Tree = dict[str, Any]

NEVER = re.compile(
    r"is not supported|are not supported|MAPO only supports|does not support|has no equivalent in the Machine API"
)
"""How conversion says that a field cannot be expressed, whatever its value."""
BY_VALUE = {
    "deletion.nodeDeletionTimeoutSeconds": "10 can be expressed",
    "ignition.version": "2.3 can be expressed",
    "cpuOptions.confidentialCompute": "two words can be expressed",
    "ports[]": "only its place among ports that name their network by filter is lost",
    "ports[].allowedAddressPairs": "the virtual addresses of the cluster can be expressed",
    "rootVolume.availabilityZone": "only a missing one beside failureDomain is lost",
    "additionalBlockDevices[].storage.volume.availabilityZone": "the same",
    "identityRef.cloudName": "only lost without a name",
    "identityRef.type": "Secret can be expressed",
    "privateDnsName": "Machines have it of a MachineSet, and that from the cluster",
    "assignPrimaryIPv6": "the same",
    "rootVolume.deviceName": "comes back as another volume",
    "minReadySeconds": "a MachineSet keeps it",
    "nonRootVolumes[]": "only wrong without a deviceName",
    "serverGroup.filter": "only lost beside an ID, which the CRD does not admit",
    "image.filter": "wrong when it is missing",
    "ami.eksOptimizedLookupType": "what conversion calls ami.eksLookupType",
    "cloudInit": "reported for any of its fields, which are forbidden one by one",
    "machineNaming": "the same",
}
"""Paths that conversion complains of and that are no forbidden fields, and why not."""


_FORBIDDEN = {platform.name: fields(infra_machine_prober(platform)) for platform in (AWS, OPENSTACK)}


def forbidden(platform: Platform) -> list[Field]:
    return _FORBIDDEN[platform.name]


def names(found: Any) -> list[str]:
    return [str(field) for field in found]


def test_on_aws_they_are_those_of_openshift_and_three_that_it_loses_without_a_word() -> None:
    openshift = {
        *("ami.eksLookupType", "imageLookupFormat", "imageLookupOrg", "imageLookupBaseOS", "networkInterfaces"),
        *("uncompressedUserData", "ignition.proxy", "ignition.tls", "securityGroupOverrides"),
        *("cloudInit.secretCount", "cloudInit.secretPrefix", "cloudInit.insecureSkipSecretsManager"),
        "cloudInit.secureSecretsBackend",
    }
    assert set(names(forbidden(AWS))) - openshift == {
        *("elasticIpPool", "capacityReservationPreference", "cpuOptions.nestedVirtualization"),
    }
    assert openshift <= set(names(forbidden(AWS)))


@pytest.mark.parametrize("platform", [AWS, OPENSTACK], ids=lambda platform: platform.name)
def test_all_platforms_agree_on_the_core_of_cluster_api(platform: Platform) -> None:
    found = names(fields(machine_prober(platform)))
    assert {"version", "readinessGates"} <= set(found)
    assert found == names(fields(machine_prober(OPENSTACK)))
    assert names(fields(machine_set_prober(platform))) == ["machineNaming.template"]


@pytest.mark.parametrize("platform", [AWS, OPENSTACK], ids=lambda platform: platform.name)
def test_a_platform_that_converts_everything_forbids_nothing(platform: Platform) -> None:
    generous = structs.replace(platform, provider_part=lambda *_: ProviderPart(spec={}))
    assert fields(infra_machine_prober(generous)) == []


def test_a_platform_without_samples_is_asked_with_what_its_types_say() -> None:
    assert infra_machine_prober(POWERVS).samples is NO_SAMPLES
    with pytest.raises(ValueError, match="give the platform a base"):
        fields(infra_machine_prober(POWERVS))


def reported(errors: list[str]) -> Iterator[str]:
    """Paths below `spec` of what conversion says cannot be expressed at all."""
    for error in errors:
        path, _, said = error.partition(": ")
        if path.startswith("spec.") and NEVER.search(said) and "values other than" not in said:
            yield re.sub(r"\[\d+\]", "[]", path.removeprefix("spec."))


def test_whatever_conversion_says_no_to_is_forbidden() -> None:
    found: set[str] = set()
    for row in rows(TO_MACHINE_API):
        made = convert(row)
        found |= set(reported([*made.errors, *made.warnings, *made.losses]))
    known = {str(field) for platform in (AWS, OPENSTACK) for field in forbidden(platform)}
    known |= {str(field) for field in fields(machine_prober(AWS))}
    assert len(found) > 30
    assert {path for path in found if not any(f"{path}.".startswith(f"{one}.") for one in known)} == set(BY_VALUE)


def infra_spec(row: Tree) -> Tree | None:
    """The spec of the infra machine or template of a row, given or made."""
    side = row["input"] if row["direction"] == TO_MACHINE_API else row["output"]
    if side is None:
        return None
    if row["kind"] == "Machine":
        spec = (side.get("infraMachine") or {}).get("spec")
    else:
        template = ((side.get("infraMachineTemplate") or {}).get("spec") or {}).get("template")
        spec = (template or {}).get("spec")
    found: Tree | None = without_nulls(spec)
    return found


def test_what_converts_without_a_word_is_admitted() -> None:
    specs = {row_id(row): (platform_of(row), infra_spec(row)) for row in rows(TO_MACHINE_API)}
    quiet = {
        row: (platform, spec)
        for row, (platform, spec) in specs.items()
        if spec is not None and not infra_machine_prober(platform).reports(spec)
    }
    assert len(quiet) > 100
    assert refused(quiet) == {}


def test_what_the_machine_api_says_is_admitted_in_cluster_api() -> None:
    specs = {row_id(row): (platform_of(row), infra_spec(row)) for row in rows(TO_CLUSTER_API)}
    made = {row: (platform, spec) for row, (platform, spec) in specs.items() if spec is not None}
    assert len(made) > 100
    assert refused(made) == {}


def refused(specs: dict[str, tuple[Platform, Tree]]) -> dict[str, list[str]]:
    """The forbidden fields that are set, of those specs that have any."""
    found = {
        row: [str(field) for field in forbidden(platform) if is_set(spec, field)]
        for row, (platform, spec) in specs.items()
    }
    return {row: set_fields for row, set_fields in found.items() if set_fields}


def is_set(spec: Tree, field: Field) -> bool:
    """What the policy's CEL asks, in Python."""
    return any(_values(spec, field, at=0))


def _values(tree: Tree, field: Field, *, at: int) -> Iterator[bool]:
    step, last = field.path[at], at == len(field.path) - 1
    value = tree.get(step.name)
    if last:
        yield value is not None and (not step.absent or bool(value))
    elif isinstance(value, dict):
        yield from _values(value, field, at=at + 1)
    elif isinstance(value, list):
        for item in value:
            if at or not field.forms or any(_has_form(item, form) for form in field.forms):
                yield from _values(item, field, at=at + 1)


def _has_form(port: Tree, form: Form) -> bool:
    """As conversion tells the two forms of ports apart."""
    one, other = (msgspec.convert(each, capo.Port) for each in (port, form.item))
    return network_places([one], None) == network_places([other], None)


def test_an_item_can_be_wrong_in_one_form_and_right_in_another() -> None:
    (description,) = [field for field in forbidden(OPENSTACK) if str(field) == "ports[].description"]
    (form,) = description.forms
    assert form.noun == "port that does not name its network by ID"
    assert is_set({"ports": [{"network": {"filter": {"name": "n"}}, "description": "d"}]}, description)
    assert not is_set({"ports": [{"network": {"id": "n"}, "description": "d"}]}, description)
    (host,) = [field for field in forbidden(OPENSTACK) if str(field) == "ports[].hostID"]
    assert host.forms == ()


def test_zero_values_that_go_leaves_out_do_not_count() -> None:
    absent = {str(field): field.path[-1].absent for field in forbidden(AWS)}
    assert absent["cloudInit.secretCount"] == "0"
    assert absent["networkInterfaces"] == "[]"
    assert absent["uncompressedUserData"] == ""
