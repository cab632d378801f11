"""Where the spec of an infra machine really differs from what conversion gives."""

import copy
from typing import Any

import pytest

from windlass.machine_sync.mirroring.infra_machine_spec import covers, differing, given
from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform

OPENSTACK_SPEC: dict[str, Any] = {"flavor": "m1.large", "identityRef": {"name": "cloud", "cloudName": "openstack"}}
AWS_SPEC: dict[str, Any] = {"instanceType": "m6i.large", "ami": {"id": "ami-1"}}


@pytest.mark.parametrize(
    ("platform", "desired", "observed"),
    [
        pytest.param(OPENSTACK, OPENSTACK_SPEC, {"providerID": "openstack:///1"}, id="provider-fills-it-in"),
        pytest.param(
            OPENSTACK,
            OPENSTACK_SPEC,
            {"identityRef": {**OPENSTACK_SPEC["identityRef"], "type": "Secret"}},
            id="default",
        ),
        pytest.param(AWS, AWS_SPEC, {"hostAffinity": "default"}, id="default-on-aws"),
        pytest.param(AWS, AWS_SPEC, {"additionalTags": {}, "sshKeyName": "", "subnet": None}, id="says-nothing"),
        pytest.param(AWS, AWS_SPEC, {"brandNew": {"a": [1]}}, id="unknown"),
        pytest.param(AWS, AWS_SPEC, {"ami": {"id": "ami-1", "brandNew": 1}}, id="unknown-inside"),
        pytest.param(
            OPENSTACK,
            {**OPENSTACK_SPEC, "ports": [{"network": {"id": "n"}}, {"trunk": True}]},
            {"ports": [{"network": {"id": "n", "brandNew": ""}, "brandNew": 1}, {"trunk": True, "brandNew": 2}]},
            id="unknown-in-items-of-a-list",
        ),
    ],
)
def test_what_says_nothing_of_the_machine_is_no_difference(
    platform: Platform, desired: dict[str, Any], observed: dict[str, Any]
) -> None:
    assert differing(platform, {**desired, **observed}, desired) == {}


@pytest.mark.parametrize(
    ("observed", "found"),
    [
        pytest.param({**OPENSTACK_SPEC, "flavor": "m1.huge"}, {"flavor": "m1.huge"}, id="changed"),
        pytest.param({**OPENSTACK_SPEC, "trunk": True}, {"trunk": True}, id="more"),
        pytest.param({"identityRef": OPENSTACK_SPEC["identityRef"]}, {"flavor": None}, id="less"),
        pytest.param({**OPENSTACK_SPEC, "brandNew": 1, "sshKeyName": "k"}, {"sshKeyName": "k"}, id="made-before"),
        pytest.param(
            {**OPENSTACK_SPEC, "ports": [{"trunk": True, "brandNew": 1}]}, {"ports": [{"trunk": True}]}, id="more-items"
        ),
        pytest.param(
            {**OPENSTACK_SPEC, "identityRef": {"name": "cloud", "cloudName": "openstack", "type": "ClusterIdentity"}},
            {"identityRef": {"name": "cloud", "cloudName": "openstack", "type": "ClusterIdentity"}},
            id="no-default",
        ),
    ],
)
def test_a_field_that_differs_is_given_as_observed(observed: dict[str, Any], found: dict[str, Any]) -> None:
    assert differing(OPENSTACK, observed, OPENSTACK_SPEC) == found


def test_a_default_that_conversion_sets_otherwise_is_a_difference() -> None:
    desired = {**AWS_SPEC, "hostAffinity": "host"}
    assert differing(AWS, {**AWS_SPEC, "hostAffinity": "default"}, desired) == {"hostAffinity": "default"}


@pytest.mark.parametrize(
    ("observed", "made", "found"),
    [
        pytest.param({"flavor": "of-the-provider"}, {}, set(), id="it-changed-what-it-was-given"),
        pytest.param({"trunk": True}, {}, set(), id="it-completed-what-it-was-given"),
        pytest.param({}, {"flavor": "m1.huge"}, {"flavor"}, id="conversion-makes-another"),
        pytest.param({"sshKeyName": "theirs"}, {"sshKeyName": "ours"}, {"sshKeyName"}, id="conversion-makes-more"),
        pytest.param({}, {"flavor": None}, {"flavor"}, id="conversion-makes-less"),
        pytest.param({"identityRef": {"name": "theirs"}}, {}, {"identityRef"}, id="anybody-can-change-it"),
    ],
)
def test_where_conversion_makes_what_it_gave_only_what_anybody_can_change_differs(
    observed: dict[str, Any], made: dict[str, Any], found: set[str]
) -> None:
    noted = given(OPENSTACK, OPENSTACK_SPEC, source={})
    assert differing(OPENSTACK, {**OPENSTACK_SPEC, **observed}, {**OPENSTACK_SPEC, **made}, noted=noted).keys() == found


def test_a_note_that_means_nothing_counts_for_none() -> None:
    assert differing(OPENSTACK, {**OPENSTACK_SPEC, "flavor": "x"}, OPENSTACK_SPEC, noted="=,flavor,a=b=c").keys() == {
        "flavor"
    }


@pytest.mark.parametrize(
    ("observed", "desired", "covered"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 2}, {"a": 1}, False),
        ({}, {"a": ""}, True),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ([{"a": 1}, {"b": 2}], [{"a": 1}], False),
        (None, {"a": 1}, False),
        ("x", None, True),
    ],
)
def test_what_is_completed_is_covered(observed: Any, desired: Any, covered: bool) -> None:
    assert covers(observed, desired) is covered


def test_nothing_that_is_given_is_changed() -> None:
    observed = {**OPENSTACK_SPEC, "identityRef": {**OPENSTACK_SPEC["identityRef"], "type": "Secret"}}
    before = copy.deepcopy((observed, OPENSTACK_SPEC))
    differing(OPENSTACK, observed, OPENSTACK_SPEC)
    assert (observed, OPENSTACK_SPEC) == before
