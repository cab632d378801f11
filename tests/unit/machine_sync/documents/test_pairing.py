"""Which documents belong together: by reference, with and without namespaces, across files."""

from typing import Any

from msgspec import structs

from windlass.capability.documents import ConversionOutcome, Document
from windlass.machine_sync.documents import convert_to_machine_api

from .of_cluster_api import cluster, documents, infra, infra_cluster, machine, meta


def outcome(*trees: dict[str, Any]) -> ConversionOutcome:
    [only] = convert_to_machine_api(documents(*trees))
    return only


def flavor(outcome: ConversionOutcome) -> str:
    [machine] = outcome.results
    return str(machine.spec.provider_spec.value.flavor)


NIL = ("provided Machine, OpenStackMachine and OpenStackCluster can not be nil",)


def test_references_are_followed_in_the_namespace_of_the_machine() -> None:
    result = outcome(
        infra(namespace="other", flavor="wrong"),
        infra_cluster(),
        infra("another", flavor="wrong"),
        machine(),
        infra(),
    )
    assert (result.object, flavor(result), result.notes) == ("Machine/w-0", "m1", ())


def test_documents_without_a_namespace_fit_any() -> None:
    assert outcome(machine(), infra(namespace=""), infra_cluster(namespace="")).notes == ()
    assert outcome(machine(namespace=""), infra(), infra_cluster()).notes == ()
    assert outcome(machine(namespace=""), infra(namespace=""), infra_cluster(namespace="")).notes == ()


def test_an_infra_machine_of_another_namespace_does_not_fit() -> None:
    result = outcome(machine(), infra(namespace="other"), infra_cluster())
    assert result.errors == NIL
    assert result.notes == ('there is no OpenStackMachine named "w-0-infra" in namespace ns among the documents',)


def test_two_that_fit_a_machine_without_a_namespace_are_none() -> None:
    result = outcome(machine(namespace=""), infra(namespace="a"), infra(namespace="b"), infra_cluster())
    assert result.errors == NIL
    assert result.notes == ('there is no OpenStackMachine named "w-0-infra" among the documents',)


def test_missing_documents_are_named_and_the_error_is_that_of_conversion() -> None:
    result = outcome(machine())
    assert (result.results, result.errors) == ((), NIL)
    assert result.notes == (
        'there is no OpenStackMachine named "w-0-infra" in namespace ns among the documents',
        'there is no OpenStackCluster named "c" in namespace ns among the documents',
    )


def test_the_infra_cluster_is_found_through_the_cluster() -> None:
    reference = {"kind": "OpenStackCluster", "name": "differently"}
    result = outcome(machine(), infra(), infra_cluster("differently"), infra_cluster("x"), cluster(reference))
    assert (result.errors, result.notes) == ((), ())


def test_a_cluster_of_another_group_or_platform_or_shape_is_no_help() -> None:
    for misleading in (
        cluster({"kind": "OpenStackCluster", "name": "x"}, api_version="management.example.com/v1"),
        cluster({"kind": "AWSCluster", "name": "x"}),
        cluster({"kind": 5}),
    ):
        result = outcome(machine(), infra(), infra_cluster(), infra_cluster("x"), misleading)
        assert (result.errors, result.notes) == ((), ())


def test_the_only_infra_cluster_is_taken_and_said() -> None:
    result = outcome(machine(), infra(), infra_cluster("other"), infra_cluster(kind="AWSCluster"))
    assert result.errors == ()
    assert result.notes == ('uses OpenStackCluster/other, the only one given; the cluster of the Machine is "c"',)


def test_the_only_infra_cluster_may_have_no_name() -> None:
    unnamed = {"kind": "OpenStackCluster", "metadata": {}, "spec": {}}
    result = outcome(machine(), infra(), unnamed)
    assert result.errors == ()
    assert result.notes == (
        'uses the OpenStackCluster without a name, the only one given; the cluster of the Machine is "c"',
    )


def test_of_two_other_infra_clusters_none_is_taken() -> None:
    result = outcome(machine(), infra(), infra_cluster("x"), infra_cluster("y"))
    assert result.errors == NIL


def test_of_equal_names_the_one_in_the_same_file_counts() -> None:
    files = [
        *documents(machine(), infra(flavor="first"), infra_cluster("x"), source="1.yaml"),
        *documents(machine(), infra(flavor="second"), infra_cluster("y"), source="2.yaml"),
    ]
    outcomes = list(convert_to_machine_api(files))
    assert [flavor(one) for one in outcomes] == ["first", "second"]
    assert [one.notes[0].split(",")[0] for one in outcomes] == [
        "uses OpenStackCluster/x",
        "uses OpenStackCluster/y",
    ]


def test_parts_may_come_from_several_files() -> None:
    files = [
        *documents(infra_cluster(), source="cluster.yaml"),
        *documents(machine(), source="machine.yaml"),
        *documents(infra(), source="infra.yaml"),
    ]
    [result] = convert_to_machine_api(files)
    assert (result.errors, result.notes) == ((), ())


def test_of_repeated_documents_the_last_counts_and_that_is_said() -> None:
    result = outcome(machine(), infra(flavor="first"), infra_cluster(), infra(flavor="last"))
    assert flavor(result) == "last"
    assert result.notes == ("OpenStackMachine/w-0-infra is there 2 times: the last counts, input:4",)


def layered(*files: list[Document]) -> list[Document]:
    return [structs.replace(one, layer=layer) for layer, file in enumerate(files) for one in file]


def test_a_later_input_overrides_what_a_machine_refers_to_and_that_is_said() -> None:
    files = layered(
        documents(machine(), infra(flavor="first"), infra_cluster(), source="all.yaml"),
        documents(infra(flavor="changed"), source="changed.yaml"),
    )
    [result] = convert_to_machine_api(files)
    assert flavor(result) == "changed"
    assert result.notes == ("OpenStackMachine/w-0-infra is there 2 times: the last counts, changed.yaml:1",)


def test_a_later_input_with_machines_of_its_own_is_no_override() -> None:
    files = layered(
        documents(machine(), infra(flavor="first"), infra_cluster(), source="a.yaml"),
        documents(machine("w-1"), infra(flavor="other"), infra("w-1-infra"), infra_cluster(), source="b.yaml"),
    )
    first, second = convert_to_machine_api(files)
    assert flavor(first) == "first"
    assert (first.notes, second.notes) == ((), ())


def test_an_earlier_input_is_no_override() -> None:
    files = layered(
        documents(infra(flavor="before"), source="before.yaml"),
        documents(machine(), infra(flavor="own"), infra_cluster(), source="all.yaml"),
    )
    [result] = convert_to_machine_api(files)
    assert flavor(result) == "own"


def test_a_machine_that_a_later_input_has_too_is_converted_twice_and_that_is_said() -> None:
    files = layered(
        documents(machine(), infra(), infra_cluster(), source="all.yaml"),
        documents(machine(providerID="openstack:///1"), source="changed.yaml"),
    )
    first, second = convert_to_machine_api(files)
    assert first.notes == ("is there again, changed.yaml:1: each is converted",)
    assert second.notes == ()
    assert second.results[0].spec.provider_id == "openstack:///1"


def test_empty_names_match_empty_names() -> None:
    source = machine("", cluster="")
    source["spec"]["infrastructureRef"]["name"] = ""
    assert outcome(source, infra(""), infra_cluster("")).errors == ()


def test_each_machine_fails_or_succeeds_by_itself() -> None:
    good, bad = machine("good"), machine("bad", version="v1")
    broken = machine("broken", version=1)
    unknown = machine("unknown", infrastructureRef={"kind": "MetalMachine", "name": "x"})
    poisoned = machine("poisoned")
    parts = [infra(f"{name}-infra") for name in ("good", "bad")]
    trees = [bad, broken, unknown, poisoned, good, *parts, infra("poisoned-infra", flavor=[]), infra_cluster()]
    outcomes = {one.object: one for one in convert_to_machine_api(documents(*trees))}
    assert {name: one.errors for name, one in outcomes.items()} == {
        "Machine/bad": ('spec.version: Invalid value: "v1": version is not supported',),
        "Machine/broken": ("spec.version: expected str, got int (in YAML, quote it) (input:2)",),
        "Machine/unknown": (
            'spec.infrastructureRef.kind: "MetalMachine" is not supported, '
            "only AWSMachine, GCPMachine, OpenStackMachine, IBMPowerVSMachine",
        ),
        "Machine/poisoned": ("OpenStackMachine/poisoned-infra: spec.flavor: expected str | null, got array (input:8)",),
        "Machine/good": (),
    }
    assert flavor(outcomes["Machine/good"]) == "m1"


def test_a_reference_to_a_cluster_kind_is_not_supported() -> None:
    result = outcome(machine(infrastructureRef={"kind": "OpenStackCluster", "name": "c"}), infra_cluster())
    assert result.errors[0].startswith('spec.infrastructureRef.kind: "OpenStackCluster" is not supported')


def test_machines_of_other_versions_are_errors_and_of_other_groups_ignored() -> None:
    old, mirror = machine("old"), machine("mirror")
    old["apiVersion"] = "cluster.x-k8s.io/v1beta1"
    mirror["apiVersion"] = "machine.openshift.io/v1beta1"
    assert outcome(old, mirror).errors == (
        "apiVersion: cluster.x-k8s.io/v1beta1 is not supported, only cluster.x-k8s.io/v1beta2: get it in that version",
    )


def test_a_machine_without_a_version_is_taken_by_its_content() -> None:
    unversioned = {**machine(), "apiVersion": ""}
    result = outcome(unversioned, infra(), infra_cluster())
    assert (result.errors, result.notes) == ((), ("has no apiVersion, taken as cluster.x-k8s.io/v1beta2",))

    [error] = outcome({"kind": "Machine", "metadata": {"name": "m"}, "spec": {"providerSpec": {}}}).errors
    assert error.startswith("apiVersion: missing")


def machine_set(template: str = "ms-1") -> dict[str, Any]:
    reference = {"kind": "OpenStackMachineTemplate", "name": template}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": meta("ms", "ns"),
        "spec": {"clusterName": "c", "template": {"spec": {"infrastructureRef": reference}}},
    }


def template(name: str = "ms-1", *, flavor: str = "m1") -> dict[str, Any]:
    return {
        **infra(name),
        "kind": "OpenStackMachineTemplate",
        "spec": {"template": {"spec": infra(flavor=flavor)["spec"]}},
    }


def set_flavor(outcome: ConversionOutcome) -> str:
    [machine_set] = outcome.results
    return str(machine_set.spec.template.spec.provider_spec.value.flavor)


def test_a_set_is_converted_with_its_template() -> None:
    result = outcome(template("ms-0", flavor="old"), machine_set(), template(), infra_cluster())
    assert (result.object, set_flavor(result), result.notes) == ("MachineSet/ms", "m1", ())


def test_the_only_template_is_taken_and_said() -> None:
    result = outcome(machine_set("ms-2"), template(), infra_cluster())
    assert set_flavor(result) == "m1"
    assert result.notes == ('uses OpenStackMachineTemplate/ms-1, the only one given; the MachineSet refers to "ms-2"',)


def test_a_missing_template_is_named() -> None:
    result = outcome(machine_set("ms-3"), template("ms-1"), template("ms-2"), infra_cluster())
    assert result.errors == ("provided MachineSet, OpenStackMachineTemplate and OpenStackCluster can not be nil",)
    assert result.notes == ('there is no OpenStackMachineTemplate named "ms-3" in namespace ns among the documents',)


def test_a_set_must_refer_to_a_template() -> None:
    bad = machine_set()
    bad["spec"]["template"]["spec"]["infrastructureRef"]["kind"] = "OpenStackMachine"
    assert outcome(bad, infra_cluster()).errors == (
        'spec.template.spec.infrastructureRef.kind: "OpenStackMachine" is not supported, '
        "only AWSMachineTemplate, GCPMachineTemplate, OpenStackMachineTemplate, IBMPowerVSMachineTemplate",
    )
    [error] = outcome({"kind": "MachineSet", "metadata": {"name": "ms"}, "spec": {}}).errors
    assert error.startswith("apiVersion: missing, and no Cluster API MachineSet by its content; ")
