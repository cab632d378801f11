"""A policy as the two Kubernetes objects that it becomes."""

from typing import Any

from msgspec import structs

from windlass.api import capi, mapi
from windlass.capability.manifests.policy import CREATE, UPDATE, Policy, Rule, Twins

POLICY = Policy(
    name="example",
    kinds=(mapi.Machine, mapi.MachineSet),
    namespace="here",
    exempt=("somebody",),
    when={"is-odd": "object.odd"},
    variables={"spec": "object.spec"},
    rules=(Rule("true", "It must be true."), Rule("false", "'It must be ' + 'false.'", computed=True)),
)


def documents(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    policy, binding = structs.replace(POLICY, **changes).documents()
    assert {one["apiVersion"] for one in (policy, binding)} == {"admissionregistration.k8s.io/v1"}
    assert {one["metadata"]["name"] for one in (policy, binding)} == {"windlass-example"}
    return policy["spec"], binding["spec"]


def test_it_denies_and_when_it_fails_too() -> None:
    policy, binding = documents()
    assert policy == {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "resourceRules": [
                {
                    "apiGroups": ["machine.openshift.io"],
                    "apiVersions": ["v1beta1"],
                    "operations": [UPDATE],
                    "resources": [plural],
                }
                for plural in ("machines", "machinesets")
            ],
        },
        "matchConditions": [
            {"name": "not-exempt", "expression": "!(request.userInfo.username in [\n  'somebody'\n])"},
            {"name": "is-odd", "expression": "object.odd"},
        ],
        "variables": [{"name": "spec", "expression": "object.spec"}],
        "validations": [
            {"expression": "true", "message": "It must be true."},
            {"expression": "false", "messageExpression": "'It must be ' + 'false.'"},
        ],
    }
    assert binding == {
        "policyName": "windlass-example",
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "here"}}},
    }


def test_one_that_warns_lets_pass_what_it_cannot_judge() -> None:
    policy, binding = documents(warns=True)
    assert policy["failurePolicy"] == "Ignore"
    assert binding["validationActions"] == ["Warn"]


def test_one_with_twins_is_given_them_and_looks_at_one() -> None:
    policy, binding = documents(operations=(CREATE,), twins=Twins(capi.Machine, "there"))
    assert policy["paramKind"] == {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine"}
    assert policy["matchConditions"][-1]["expression"] == "object.metadata.name == params.metadata.name"
    assert binding["paramRef"] == {"namespace": "there", "selector": {}, "parameterNotFoundAction": "Allow"}


def test_one_for_cluster_scoped_kinds_is_bound_to_no_namespace() -> None:
    _, binding = documents(namespace="")
    assert binding == {"policyName": "windlass-example", "validationActions": ["Deny"]}
