"""Provider specs are read as Go reads them. The error texts were checked against sigs.k8s.io/yaml and encoding/json."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.api import mapi_aws, mapi_openstack, mapi_powervs
from windlass.api.meta import LocalReference
from windlass.machine_sync.conversion.provider_spec import provider_spec, provider_status
from windlass.machine_sync.conversion.unmarshal import tree_of, unmarshal
from windlass.machine_sync.platforms.aws.provider_spec import GO_NAMES as AWS_NAMES
from windlass.machine_sync.platforms.openstack.provider_spec import GO_NAMES as OPENSTACK_NAMES
from windlass.machine_sync.platforms.powervs.provider_spec import GO_NAMES as POWERVS_NAMES

AWS = mapi_aws.AWSMachineProviderConfig
OPENSTACK = mapi_openstack.OpenstackProviderSpec


HUGE = 10**400
"""JSON has such numbers; for the YAML reader of Go, whose floats end before, they are strings."""


def aws(tree: Any) -> mapi_aws.AWSMachineProviderConfig:
    read = unmarshal(tree, AWS, AWS_NAMES)
    assert read.value is not None, read.error
    return read.value


def aws_error(tree: Any) -> str:
    read = unmarshal(tree, AWS, AWS_NAMES)
    assert read.value is None
    return read.error.removeprefix("error unmarshaling JSON: while decoding JSON: ")


def test_no_provider_spec_is_an_empty_one() -> None:
    assert aws(None) == AWS()
    assert aws({}) == AWS()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (-5, "-5"),
        (2**64 - 1, "18446744073709551615"),
        (2**64, "1.8446744e+19"),
        (HUGE, str(HUGE)),
        (-HUGE, str(-HUGE)),
        (2**1024 - 2**970 - 1, "+Inf"),
        (2**1024 - 2**970, str(2**1024 - 2**970)),
        (1 << 20_000, f"0x1{'0' * 5000}"),
        (5.0, "5"),
        (0.25, "0.25"),
        (1e6, "1e+06"),
        (123456.0, "123456"),
        (0.00001, "1e-05"),
        (1.5e300, "+Inf"),
        (-1e39, "-Inf"),
        (0.1, "0.1"),
        (16777217.0, "1.6777216e+07"),
        (0.0, "0"),
        (True, "true"),
        (False, "false"),
    ],
    ids=lambda value: str(value)[:30] if not isinstance(value, int) or abs(value) < HUGE else f"{hex(value)[:9]}...",
)
def test_a_number_or_bool_where_a_string_belongs_is_taken_as_its_text(value: Any, text: str) -> None:
    assert aws({"keyName": value}).key_name == text
    assert aws({"subnet": {"filters": [{"name": "n", "values": ["a", value]}]}}).subnet.filters[0].values == ["a", text]
    read = unmarshal({"serverMetadata": {"k": value}}, OPENSTACK, OPENSTACK_NAMES).value
    assert read is not None
    assert read.server_metadata == {"k": text}


@pytest.mark.parametrize("key", ["INSTANCETYPE", "instancetype", "in\u017ftanceType"])
def test_names_match_whatever_the_case_of_their_letters(key: str) -> None:
    assert aws({key: "m5.large"}).instance_type == "m5.large"


def test_of_two_names_that_match_the_last_in_sorted_order_wins() -> None:
    assert aws({"instanceType": "exact", "INSTANCETYPE": "other"}).instance_type == "exact"
    assert aws({"instancetype": "other", "instanceType": "exact"}).instance_type == "other"


def test_nulls_are_absent_and_in_lists_they_are_zero() -> None:
    assert aws({"placement": None, "tags": None, "publicIp": None, "instanceType": None}) == AWS()
    assert aws({"tags": [None], "subnet": {"filters": [{"name": "n", "values": [None]}]}}) == AWS(
        tags=[mapi_aws.Tag()],
        subnet=mapi_aws.ResourceReference(filters=[mapi_aws.Filter(name="n", values=[""])]),
    )
    read = unmarshal({"networks": [{"profile": {"k": None}}]}, OPENSTACK, OPENSTACK_NAMES).value
    assert read is not None
    assert read.networks[0].profile == {"k": ""}


def test_a_float_without_a_fraction_is_an_integer() -> None:
    assert aws({"deviceIndex": 1.0, "placementGroupPartition": 2e3}) == AWS(
        device_index=1, placement_group_partition=2000
    )


@pytest.mark.parametrize(
    ("tree", "error"),
    [
        ([], "array into Go value of type v1beta1.AWSMachineProviderConfig"),
        ("ami: {}", "string into Go value of type v1beta1.AWSMachineProviderConfig"),
        (5, "number into Go value of type v1beta1.AWSMachineProviderConfig"),
        (True, "bool into Go value of type v1beta1.AWSMachineProviderConfig"),
        (
            {"userDataSecret": ["x"]},
            "array into Go struct field AWSMachineProviderConfig.userDataSecret of type v1.LocalObjectReference",
        ),
        ({"keyName": {}}, "object into Go struct field AWSMachineProviderConfig.keyName of type string"),
        (
            {"marketType": []},
            "array into Go struct field AWSMachineProviderConfig.marketType of type v1beta1.MarketType",
        ),
        ({"publicIp": "yes"}, "string into Go struct field AWSMachineProviderConfig.publicIp of type bool"),
        ({"publicIp": 1}, "number into Go struct field AWSMachineProviderConfig.publicIp of type bool"),
        ({"deviceIndex": "1"}, "string into Go struct field AWSMachineProviderConfig.deviceIndex of type int64"),
        ({"deviceIndex": True}, "bool into Go struct field AWSMachineProviderConfig.deviceIndex of type int64"),
        ({"deviceIndex": 1.5}, "number 1.5 into Go struct field AWSMachineProviderConfig.deviceIndex of type int64"),
        (
            {"deviceIndex": 2**63},
            "number 9223372036854775808 into Go struct field AWSMachineProviderConfig.deviceIndex of type int64",
        ),
        (
            {"deviceIndex": 1e21},
            "number 1e+21 into Go struct field AWSMachineProviderConfig.deviceIndex of type int64",
        ),
        (
            {"placementGroupPartition": 2**31},
            "number 2147483648 into Go struct field AWSMachineProviderConfig.placementGroupPartition of type int32",
        ),
        ({"deviceIndex": HUGE}, "string into Go struct field AWSMachineProviderConfig.deviceIndex of type int64"),
        ({"publicIp": -HUGE}, "string into Go struct field AWSMachineProviderConfig.publicIp of type bool"),
        (HUGE, "string into Go value of type v1beta1.AWSMachineProviderConfig"),
        ({"tags": {}}, "object into Go struct field AWSMachineProviderConfig.tags of type []v1beta1.TagSpecification"),
        (
            {"blockDevices": [{}, {"ebs": {"volumeSize": "1"}}]},
            "string into Go struct field EBSBlockDeviceSpec.blockDevices.ebs.volumeSize of type int64",
        ),
        (
            {"blockDevices": ["x"]},
            "string into Go struct field AWSMachineProviderConfig.blockDevices of type v1beta1.BlockDeviceMappingSpec",
        ),
        (
            {"subnet": {"filters": [{"values": "v"}]}},
            "string into Go struct field Filter.subnet.filters.values of type []string",
        ),
        (
            {"metadata": {"labels": []}},
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            {"metadata": {"creationTimestamp": 5}},
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
    ],
    ids=lambda value: str(value)[:80],
)
def test_a_value_of_another_type_is_gos_error(tree: Any, error: str) -> None:
    assert aws_error(tree) == f"json: cannot unmarshal {error}"


def test_the_first_error_in_sorted_order_is_reported() -> None:
    error = aws_error({"userDataSecret": 1, "deviceIndex": "x", "ami": {"id": {}, "arn": []}})
    assert error.endswith("array into Go struct field AWSResourceReference.ami.arn of type string")


def test_an_integer_may_be_a_string_where_go_says_so() -> None:
    kind = mapi_powervs.PowerVSMachineProviderConfig
    for given_value in (2, "0.5", str(HUGE)):
        read = unmarshal({"processors": given_value, "x": 1}, kind, POWERVS_NAMES).value
        assert read is not None
        assert read.processors == given_value
    error = unmarshal({"processors": True}, kind, POWERVS_NAMES).error
    assert error.endswith("bool into Go struct field PowerVSMachineProviderConfig.processors of type int32")
    error = unmarshal({"userDataSecret": 1}, kind, POWERVS_NAMES).error
    assert error.endswith("PowerVSMachineProviderConfig.userDataSecret of type v1.PowerVSSecretReference")


def test_openstack_numbers_are_gos_int() -> None:
    error = unmarshal({"rootVolume": {"diskSize": "1"}}, OPENSTACK, OPENSTACK_NAMES).error
    assert error.endswith("cannot unmarshal string into Go struct field RootVolume.rootVolume.diskSize of type int")


def test_unknown_fields_are_returned_with_their_path() -> None:
    tree = {"new": {"x": 1}, "tags": [{"name": "n"}, {"colour": "red"}], "placement": {"host": {"mood": None}}}
    assert unmarshal(tree, AWS, AWS_NAMES).unknown == [
        ("new", {"x": 1}),
        ("placement.host.mood", None),
        ("tags[1].colour", "red"),
    ]


def test_a_provider_spec_may_be_the_text_of_one() -> None:
    expected = AWS(instance_type="m5.large", ami=mapi_aws.ResourceReference(id="ami-1"))
    for text in (
        b'{"instanceType": "m5.large", "ami": {"id": "ami-1"}}',
        b"instanceType: m5.large\nami: {id: ami-1}\n",
    ):
        assert provider_spec(text, AWS, AWS_NAMES) == (expected, [])
    assert provider_spec(b"", AWS, AWS_NAMES) == (AWS(), [])
    assert provider_spec(expected, AWS, AWS_NAMES) == (expected, [])


def test_text_that_is_neither_json_nor_yaml_is_an_error() -> None:
    value, [error] = provider_spec(b"a: [", AWS, AWS_NAMES)
    assert value is None
    reason = "error unmarshalling providerSpec: error converting YAML to JSON: yaml: "
    assert str(error).startswith(f"spec.providerSpec.value: Invalid value: {reason}")
    assert "\n" not in str(error)


def test_an_error_shows_the_provider_spec_with_its_keys_in_their_order() -> None:
    _, [error] = provider_spec({"b": "<", "a": 1, "ami": 5}, AWS, AWS_NAMES)
    assert str(error) == (
        r'spec.providerSpec.value: Invalid value: {"b":"\u003c","a":1,"ami":5}: error unmarshalling providerSpec: '
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go struct field "
        "AWSMachineProviderConfig.ami of type v1beta1.AWSResourceReference"
    )


def test_an_unknown_field_is_a_loss() -> None:
    value, [loss] = provider_spec({"floating": True, "userDataSecret": {"name": "s"}}, AWS, AWS_NAMES)
    assert value == AWS(user_data_secret=LocalReference(name="s"))
    assert str(loss) == (
        "spec.providerSpec.value.floating: Invalid value: true: "
        "floating has no equivalent in AWSMachineProviderConfig and is dropped"
    )


def test_a_provider_status_is_read_alike_and_may_have_more() -> None:
    kind = mapi_aws.AWSMachineProviderStatus
    assert provider_status({"instanceState": "running", "new": 1}, kind, AWS_NAMES) == (
        kind(instance_state="running"),
        [],
    )
    value, [error] = provider_status({"conditions": "nope"}, kind, AWS_NAMES)
    assert value is None
    assert str(error) == (
        r'status.providerStatus: Internal error: error unmarshalling providerStatus "{\"conditions\":\"nope\"}": '
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field "
        "AWSMachineProviderStatus.conditions of type []v1.Condition"
    )


LONE = st.sampled_from(["\ud800", "a\udfff"])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(HUGE) | st.floats() | st.text(max_size=6) | LONE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["ami", "id", "filters", "tags", "name", "networks", "subnets", "filter", "profile", "METADATA"]
            )
            | st.text(max_size=4)
            | LONE,
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
@examples()
def test_any_json_is_read_or_an_error(tree: Any) -> None:
    for kind, names in (
        (AWS, AWS_NAMES),
        (OPENSTACK, OPENSTACK_NAMES),
        (mapi_powervs.PowerVSMachineProviderConfig, POWERVS_NAMES),
    ):
        value, findings = provider_spec(tree, kind, names)
        assert value is not None or findings
        assert all(map(str, findings))


@given(st.binary(max_size=40))
@examples()
def test_any_bytes_are_a_tree_or_an_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        tree_of(data)
    value, findings = provider_spec(data, AWS, AWS_NAMES)
    assert value is not None or findings


def test_keys_of_yaml_that_are_no_strings_become_strings() -> None:
    value, [loss] = provider_spec(b"1: a\nmetadata: {labels: {true: x}}", AWS, AWS_NAMES)
    assert value is not None
    assert value.metadata.labels == {"true": "x"}
    assert loss.path == "spec.providerSpec.value.1"


def test_a_key_with_half_of_a_surrogate_pair_is_an_unknown_field_like_any_other() -> None:
    value, [loss] = provider_spec({"\ud800": "\udfff", "keyName": "k"}, AWS, AWS_NAMES)
    assert value == AWS(key_name="k")
    assert loss.problem == 'Invalid value: "\ufffd"'


def test_deep_nesting_is_an_unknown_field_like_any_other() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    value, [loss] = provider_spec({"new": deep, "keyName": "k"}, AWS, AWS_NAMES)
    assert value == AWS(key_name="k")
    assert loss.problem == 'Invalid value: "nested too deeply to be shown"'
    assert aws_error({"ami": deep}).startswith("json: cannot unmarshal array into")
