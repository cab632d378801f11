"""Machine API documents become objects of Cluster API: what is found among them, and what they need."""

from typing import Any

from windlass.capability.documents import ConversionOutcome
from windlass.machine_sync.documents import convert_to_cluster_api

from .of_machine_api import documents, infrastructure, machine, machine_set


def outcome(*trees: dict[str, Any]) -> ConversionOutcome:
    [only] = convert_to_cluster_api(documents(*trees))
    return only


def kinds(outcome: ConversionOutcome) -> list[str]:
    return [result.RESOURCE.kind for result in outcome.results]


def test_a_machine_and_a_set_give_two_objects_each() -> None:
    outcomes = list(convert_to_cluster_api(documents(machine_set(), infrastructure(), machine())))
    assert [(one.object, kinds(one)) for one in outcomes] == [
        ("MachineSet/ms", ["MachineSet", "OpenStackMachineTemplate"]),
        ("Machine/m", ["Machine", "OpenStackMachine"]),
    ]
    assert all(one.notes == one.errors == () for one in outcomes)


def test_without_an_infrastructure_nothing_is_converted_and_the_remedy_is_said() -> None:
    result = outcome(machine())
    assert result.errors == (
        'there is no Infrastructure named "cluster" among the documents: '
        "add what `oc get infrastructure cluster -o yaml` prints",
    )
    assert outcome(machine(), {**infrastructure(), "apiVersion": "infrastructure.example.com/v1"}).errors


def test_the_only_infrastructure_is_taken_and_said() -> None:
    assert outcome(machine(), infrastructure(name="other")).notes == (
        'uses Infrastructure/other, the only one given; that of a cluster is named "cluster"',
    )
    assert outcome(machine(), infrastructure(name="")).notes == (
        'uses the Infrastructure without a name, the only one given; that of a cluster is named "cluster"',
    )
    assert outcome(machine(), infrastructure(name="other"), infrastructure()).notes == ()


def test_each_file_may_have_its_own_infrastructure() -> None:
    files = [
        *documents(machine(), infrastructure(infrastructureName="a"), source="1.yaml"),
        *documents(machine(), infrastructure(infrastructureName="b"), source="2.yaml"),
    ]
    assert [one.results[0].spec.cluster_name for one in convert_to_cluster_api(files)] == ["a", "b"]


def test_of_two_infrastructures_the_last_counts_and_that_is_said() -> None:
    result = outcome(machine(), infrastructure(), infrastructure(infrastructureName="last"))
    assert result.results[0].spec.cluster_name == "last"
    assert result.notes == ("Infrastructure/cluster is there 2 times: the last counts, input:3",)


def test_a_platform_that_the_infrastructure_does_not_say_is_that_of_the_provider_spec() -> None:
    result = outcome(machine(), infrastructure(None))
    assert kinds(result) == ["Machine", "OpenStackMachine"]
    assert result.notes == ("the Infrastructure does not say its platform, taken as OpenStack by the provider spec",)
    assert outcome(machine(), infrastructure(None, platform="OpenStack")).notes == ()


def test_a_platform_that_nobody_says_or_knows_is_an_error() -> None:
    bare = machine(spec={"providerSpec": {"value": {}}})
    [error] = outcome(bare, infrastructure(None)).errors
    assert error.startswith("the Infrastructure has no status.platformStatus.type, and the provider spec no kind")
    assert kinds(outcome(bare, infrastructure())) == ["Machine", "OpenStackMachine"]
    [error] = outcome(machine(), infrastructure("Azure")).errors
    assert error == 'the Infrastructure has platform "Azure", supported are AWS, GCP, OpenStack, PowerVS'


def test_machines_of_cluster_api_are_ignored_and_of_other_versions_errors() -> None:
    other = machine("other", apiVersion="cluster.x-k8s.io/v1beta2")
    old = machine("old", apiVersion="machine.openshift.io/v1alpha1")
    assert outcome(other, old, infrastructure()).errors == (
        "apiVersion: machine.openshift.io/v1alpha1 is not supported, only machine.openshift.io/v1beta1: "
        "get it in that version",
    )


def test_a_machine_without_a_version_is_taken_by_its_content() -> None:
    unversioned = machine(apiVersion="")
    assert outcome(unversioned, infrastructure()).notes == ("has no apiVersion, taken as machine.openshift.io/v1beta1",)
    [error] = outcome(machine(apiVersion="", spec={}), infrastructure()).errors
    assert error.startswith("apiVersion: missing, and no Machine API Machine by its content; ")


def test_each_machine_fails_or_succeeds_by_itself() -> None:
    broken = machine("broken", spec={"providerID": 5})
    tainted = machine("tainted", spec={"taints": [{"key": "k", "effect": "e"}]})
    outcomes = list(convert_to_cluster_api(documents(broken, tainted, machine(), infrastructure())))
    assert [one.errors for one in outcomes] == [
        ("spec.providerID: expected str | null, got int (in YAML, quote it) (input:1)",),
        ('spec.taints[0].effect: Invalid value: "e": must be one of NoSchedule, PreferNoSchedule, NoExecute',),
        (),
    ]


def test_what_has_taints_is_converted_with_a_warning_that_names_the_feature_gate() -> None:
    tainted = {**machine()["spec"], "taints": [{"key": "k", "effect": "NoSchedule"}]}
    of_set = {**machine_set(), "spec": {"template": {"spec": tainted}}}
    for tree in (machine(spec=tainted), of_set):
        result = outcome(tree, infrastructure())
        assert len(result.results) == 2
        assert result.warnings == (
            'spec.taints: Invalid value: [{"key":"k","effect":"NoSchedule","propagation":"Always"}]: Cluster API takes '
            "taints only with its feature gate MachineTaintPropagation, and refuses this object without it",
        )


def test_an_infrastructure_that_cannot_be_read_is_an_error_of_each() -> None:
    poisoned = infrastructure(infrastructureName=5)
    assert outcome(machine(), poisoned).errors == (
        "Infrastructure/cluster: status.infrastructureName: expected str, got int (in YAML, quote it) (input:2)",
    )


def test_a_machine_must_fit_its_cluster_if_that_is_given() -> None:
    master = machine(
        metadata={"name": "m", "labels": {"machine.openshift.io/cluster-api-machine-role": "master"}},
        spec={"providerSpec": {"value": {"ami": {"id": "a"}, "loadBalancers": [{"name": "x", "type": "network"}]}}},
    )
    cluster = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "AWSCluster",
        "metadata": {"name": "c", "namespace": "openshift-cluster-api"},
        "spec": {"controlPlaneLoadBalancer": {"name": "x", "loadBalancerType": "nlb"}},
    }
    aws = infrastructure("AWS")
    assert kinds(outcome(master, aws)) == ["Machine", "AWSMachine"]
    assert kinds(outcome(master, aws, cluster)) == ["Machine", "AWSMachine"]
    assert kinds(outcome(master, aws, {**cluster, "metadata": {"name": "other"}, "spec": {}})) == [
        "Machine",
        "AWSMachine",
    ]
    assert outcome(master, aws, {**cluster, "spec": {}}).errors == (
        'spec.providerSpec.value.loadBalancers: Invalid value: [{"name":"x","type":"network"}]: '
        "no control plane load balancer configured on AWSCluster",
    )
    assert outcome(master, aws, {**cluster, "spec": 5}).errors == (
        "AWSCluster/c: spec: expected object, got int (input:3)",
    )


def test_an_error_of_conversion_and_cluster_is_said_once() -> None:
    spec = {"providerSpec": {"value": {"ami": {"id": "a"}, "loadBalancers": [{"name": "x", "type": "network"}]}}}
    cluster = {"kind": "AWSCluster", "metadata": {"name": "c"}}
    [error] = outcome(machine(spec=spec), infrastructure("AWS"), cluster).errors
    assert error.endswith("loadBalancers are not supported for non-control plane machines")
