"""The types of machines: what is emitted, what is omitted, and that recorded objects survive being read and written."""

import gzip
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from windlass.api import capa, capi, capibm, capo, mapi, mapi_aws, mapi_openstack, mapi_powervs
from windlass.api.meta import Resource, SeverityCondition

DATA = Path(__file__).parents[2] / "data" / "machine_sync"
MODULES = [capa, capi, capibm, capo, mapi, mapi_aws, mapi_openstack, mapi_powervs]


def structs(module: ModuleType) -> list[type[msgspec.Struct]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__
    ]


STRUCTS = [struct for module in MODULES for struct in structs(module)]
KINDS = [struct for struct in STRUCTS if hasattr(struct, "RESOURCE")]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: f"{struct.__module__}.{struct.__name__}")
def test_every_type_follows_the_conventions(struct: type[msgspec.Struct]) -> None:
    config = struct.__struct_config__
    assert (config.frozen, config.omit_defaults, config.gc, config.forbid_unknown_fields) == (True, True, False, False)
    assert struct() == msgspec.convert({}, struct)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: f"{struct.__module__}.{struct.__name__}")
def test_fields_have_the_names_of_kubernetes(struct: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(struct):
        assert field.encode_name == "gateway_ip" or "_" not in field.encode_name
        assert field.encode_name[0].islower()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_knows_its_resource(kind: Any) -> None:
    resource = kind.RESOURCE
    assert isinstance(resource, Resource)
    assert resource.kind == kind.__name__
    assert resource.plural == f"{kind.__name__.lower()}s"
    assert resource.namespaced


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (mapi.Machine(), '{"metadata":{},"spec":{"metadata":{},"lifecycleHooks":{},"providerSpec":{}},"status":{}}'),
        (mapi.MachineSpec(provider_id=""), '{"metadata":{},"lifecycleHooks":{},"providerSpec":{},"providerID":""}'),
        (SeverityCondition(type="T"), '{"type":"T","status":"","lastTransitionTime":null}'),
        (capi.Machine(), '{"metadata":{}}'),
        (capi.MachineSpec(bootstrap=capi.Bootstrap(data_secret_name="")), '{"bootstrap":{"dataSecretName":""}}'),
        (capa.AWSMachineSpec(), '{"ami":{},"instanceType":"","cloudInit":{}}'),
        (capo.OpenStackMachineSpec(), '{"image":{}}'),
        (capo.OpenStackMachine(), '{"metadata":{},"spec":{"image":{}},"status":{"ready":false}}'),
        (capo.RootVolume(), '{"sizeGiB":0}'),
        (capo.TypedReference(), '{"apiGroup":null,"kind":"","name":""}'),
        (capibm.IBMPowerVSMachineSpec(), '{"serviceInstanceID":"","processors":0,"network":{}}'),
        (mapi_openstack.Network(), '{"filter":{}}'),
        (mapi_openstack.Port(security_groups=[]), '{"networkID":"","securityGroups":[]}'),
        (mapi_aws.EBSVolume(), '{"kmsKey":{}}'),
        (mapi_aws.DynamicHostAllocation(tags=[]), '{"tags":[]}'),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_go_always_emits_is_emitted_and_the_rest_omitted(value: msgspec.Struct, text: str) -> None:
    assert msgspec.json.encode(value).decode() == text


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1])
def test_a_number_that_go_cannot_hold_is_refused(number: int) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"minReadySeconds"):
        msgspec.convert({"minReadySeconds": number}, capi.MachineSpec)


def recorded(file: str, path: tuple[str, ...]) -> list[Any]:
    """All subtrees at `path` of the rows in a file of recorded conversions."""
    found = []
    with gzip.open(DATA / file, "rt", encoding="utf-8") as lines:
        for tree in map(json.loads, lines):
            for step in path:
                tree = tree.get(step) if isinstance(tree, dict) else None
            if tree is not None:
                found.append(tree)
    return found


def without_zeros(tree: Any) -> Any:
    """`tree` without zero values, which Go writes or not as the field was declared."""
    if isinstance(tree, dict):
        slim = {key: without_zeros(value) for key, value in tree.items()}
        return {key: value for key, value in slim.items() if value not in (None, {}, [], "", 0)}
    if isinstance(tree, list):
        return [without_zeros(item) for item in tree]
    return tree


def without_identity(tree: Any) -> Any:
    """`tree` without kind and apiVersion if it is a whole object, whose type stands for them."""
    return {key: tree[key] for key in tree if key not in ("kind", "apiVersion")} if "metadata" in tree else tree


@pytest.mark.parametrize(
    ("file", "path", "kind"),
    [
        ("aws_capi2mapi.jsonl.gz", ("input", "infraMachine", "spec"), capa.AWSMachineSpec),
        ("aws_capi2mapi.jsonl.gz", ("input", "machine", "spec"), capi.MachineSpec),
        ("aws_capi2mapi.jsonl.gz", ("input", "machineSet", "spec"), capi.MachineSetSpec),
        ("aws_capi2mapi.jsonl.gz", ("output", "machine"), mapi.Machine),
        ("aws_capi2mapi.jsonl.gz", ("output", "machineSet"), mapi.MachineSet),
        (
            "aws_capi2mapi.jsonl.gz",
            ("output", "machine", "spec", "providerSpec", "value"),
            mapi_aws.AWSMachineProviderConfig,
        ),
        ("aws_mapi2capi.jsonl.gz", ("input", "machine"), mapi.Machine),
        ("aws_mapi2capi.jsonl.gz", ("output", "machine"), capi.Machine),
        ("aws_mapi2capi.jsonl.gz", ("output", "infraMachine"), capa.AWSMachine),
        ("aws_mapi2capi.jsonl.gz", ("output", "machineSet"), capi.MachineSet),
        ("aws_mapi2capi.jsonl.gz", ("output", "infraMachineTemplate"), capa.AWSMachineTemplate),
        ("openstack_capi2mapi.jsonl.gz", ("input", "infraMachine", "spec"), capo.OpenStackMachineSpec),
        ("openstack_capi2mapi.jsonl.gz", ("input", "machine", "spec"), capi.MachineSpec),
        ("openstack_capi2mapi.jsonl.gz", ("output", "machineSet"), mapi.MachineSet),
        ("openstack_mapi2capi.jsonl.gz", ("output", "infraMachine"), capo.OpenStackMachine),
        ("openstack_mapi2capi.jsonl.gz", ("output", "infraMachineTemplate"), capo.OpenStackMachineTemplate),
        (
            "openstack_capi2mapi.jsonl.gz",
            ("output", "machine", "spec", "providerSpec", "value"),
            mapi_openstack.OpenstackProviderSpec,
        ),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_recorded_objects_lose_nothing_when_read_and_written(file: str, path: tuple[str, ...], kind: type[Any]) -> None:
    trees = recorded(file, path)
    assert trees
    for tree in trees:
        value = msgspec.convert(without_zeros(without_identity(tree)), kind)
        assert without_zeros(msgspec.to_builtins(value)) == without_zeros(without_identity(tree))
