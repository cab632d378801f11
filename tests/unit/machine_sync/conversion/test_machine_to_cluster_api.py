"""What all platforms share, from the Machine API to Cluster API: metadata, status, and what cannot be expressed."""

from typing import Any

import pytest

from windlass.api import capi, capo, mapi
from windlass.api.config import Infrastructure, InfrastructureStatus
from windlass.api.core import NodeAddress, ObjectReference, Taint
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, dropped, required
from windlass.machine_sync.conversion.machine_to_cluster_api import (
    ConvertedToClusterAPI,
    InfraMachinePart,
    cluster_api_machine,
    failure_message,
)

from .vectors import plain

CLUSTER = Infrastructure(status=InfrastructureStatus(infrastructure_name="c-x7k2p"))
CLUSTER_NAME = {"cluster.x-k8s.io/cluster-name": "c-x7k2p"}
ROLE = "machine.openshift.io/cluster-api-machine-role"
TYPE = "machine.openshift.io/cluster-api-machine-type"


def part(**fields: Any) -> InfraMachinePart:
    spec = capo.OpenStackMachineSpec(flavor="m1")
    return InfraMachinePart(**{"spec": spec, "found": Findings(), **fields})


def converted(
    *,
    metadata: ObjectMeta | None = None,
    spec: mapi.MachineSpec | None = None,
    status: mapi.MachineStatus | None = None,
    infra: InfraMachinePart | None = None,
    infrastructure: Infrastructure | None = CLUSTER,
    **found: list[FieldError],
) -> ConvertedToClusterAPI:
    source = mapi.Machine(
        metadata=metadata or ObjectMeta(name="w-0"),
        spec=spec or mapi.MachineSpec(),
        status=status or mapi.MachineStatus(),
    )
    kind = capo.OpenStackMachine
    return cluster_api_machine(source, infra or part(), kind=kind, infrastructure=infrastructure, **found)


def machine(converted: ConvertedToClusterAPI) -> capi.Machine:
    assert converted.machine is not None, converted.error
    return converted.machine


def test_identity_is_name_namespace_and_finalizer_of_cluster_api() -> None:
    result = converted(
        metadata=ObjectMeta(
            name="w-0",
            namespace="openshift-machine-api",
            uid="u",
            resource_version="5",
            generation=3,
            creation_timestamp="2026-01-01T00:00:00Z",
            finalizers=["machine.machine.openshift.io"],
            owner_references=[OwnerReference(kind="MachineSet", name="ms")],
        )
    )
    identity = {"name": "w-0", "namespace": "openshift-cluster-api", "labels": CLUSTER_NAME}
    assert plain(machine(result).metadata) == {**identity, "finalizers": ["machine.cluster.x-k8s.io"]}
    assert plain(result.infra_machine.metadata) == identity


def test_a_machine_refers_to_its_infra_machine_and_cluster() -> None:
    spec = machine(converted(infra=part(failure_domain="az1", user_data_secret="worker-user-data"))).spec
    assert plain(spec) == {
        "clusterName": "c-x7k2p",
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {
            "kind": "OpenStackMachine",
            "name": "w-0",
            "apiGroup": "infrastructure.cluster.x-k8s.io",
        },
        "failureDomain": "az1",
        "deletion": {"nodeDeletionTimeoutSeconds": 10},
    }


@pytest.mark.parametrize(("given", "expected"), [(None, ""), ("", ""), ("aws:///z/i-1", "aws:///z/i-1")])
def test_the_provider_id_is_copied(given: str | None, expected: str) -> None:
    assert machine(converted(spec=mapi.MachineSpec(provider_id=given))).spec.provider_id == expected


@pytest.mark.parametrize(
    ("given", "node", "labels"),
    [
        pytest.param({"a": "1"}, {}, {"a": "1"}, id="others are copied"),
        pytest.param({"cluster.x-k8s.io/custom": "1"}, {}, {"cluster.x-k8s.io/custom": "1"}, id="Cluster API's too"),
        pytest.param(
            {ROLE: "worker", TYPE: "worker"}, {}, {"node-role.kubernetes.io/worker": ""}, id="role and type are one"
        ),
        pytest.param(
            {ROLE: "infra", TYPE: "worker"},
            {},
            {"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/worker": ""},
            id="or two",
        ),
        pytest.param({ROLE: ""}, {}, {"node-role.kubernetes.io/": ""}, id="an empty role is a role"),
        pytest.param(
            {f"machine.openshift.io/{name}": "x" for name in ("instance-type", "region", "zone")},
            {},
            {},
            id="what follows from the infra machine is dropped",
        ),
        pytest.param({"a": "meta", "b": "meta"}, {"a": "node"}, {"a": "node", "b": "meta"}, id="those of the Node win"),
        pytest.param(
            {},
            {ROLE: "x", "machine.openshift.io/zone": "z"},
            {ROLE: "x", "machine.openshift.io/zone": "z"},
            id="those of the Node are not translated",
        ),
        pytest.param({"cluster.x-k8s.io/cluster-name": "other"}, {}, {}, id="the cluster's name wins"),
    ],
)
def test_labels(given: dict[str, str], node: dict[str, str], labels: dict[str, str]) -> None:
    spec = mapi.MachineSpec(metadata=mapi.NestedMeta(labels=node))
    result = converted(metadata=ObjectMeta(name="w-0", labels=given), spec=spec)
    assert machine(result).metadata.labels == {**labels, **CLUSTER_NAME}
    assert result.infra_machine.metadata.labels == machine(result).metadata.labels


@pytest.mark.parametrize(
    ("given", "node", "annotations"),
    [
        pytest.param({}, {}, {}, id="none"),
        pytest.param(
            {"a": "1", "cluster.x-k8s.io/paused": ""}, {}, {"a": "1", "cluster.x-k8s.io/paused": ""}, id="copied"
        ),
        pytest.param(
            {"machine.openshift.io/delete-machine": "yes"},
            {},
            {"cluster.x-k8s.io/delete-machine": "yes"},
            id="delete-machine is translated",
        ),
        pytest.param({"machine.openshift.io/instance-state": "x"}, {}, {}, id="the instance state is dropped"),
        pytest.param({"a": "meta"}, {"a": "node"}, {"a": "node"}, id="those of the Node win"),
    ],
)
def test_annotations(given: dict[str, str], node: dict[str, str], annotations: dict[str, str]) -> None:
    spec = mapi.MachineSpec(metadata=mapi.NestedMeta(annotations=node))
    result = converted(metadata=ObjectMeta(name="w-0", annotations=given), spec=spec)
    assert machine(result).metadata.annotations == annotations
    assert result.infra_machine.metadata.annotations == annotations


def test_hooks_become_annotations_that_win_and_of_one_name_the_last_counts() -> None:
    drain, terminate = (f"pre-{when}.delete.hook.machine.cluster.x-k8s.io/" for when in ("drain", "terminate"))
    hooks = mapi.LifecycleHooks(
        pre_drain=[mapi.LifecycleHook(name="h", owner="o1"), mapi.LifecycleHook(name="h", owner="o2")],
        pre_terminate=[mapi.LifecycleHook(name="t", owner="o3")],
    )
    result = converted(
        metadata=ObjectMeta(name="w-0", annotations={f"{drain}h": "before"}),
        spec=mapi.MachineSpec(lifecycle_hooks=hooks),
    )
    assert machine(result).metadata.annotations == {f"{drain}h": "o2", f"{terminate}t": "o3"}


@pytest.mark.parametrize(
    ("phase", "provisioned", "bootstrapped", "true"),
    [
        (None, None, None, []),
        ("", False, False, []),
        ("Provisioning", False, False, []),
        ("Provisioned", True, False, ["InfrastructureReady"]),
        ("Running", True, True, ["Available", "Ready", "BootstrapConfigReady", "InfrastructureReady", "NodeReady"]),
        ("Deleting", True, True, ["BootstrapConfigReady", "InfrastructureReady", "NodeReady"]),
        ("Failed", False, False, []),
        ("Other", False, False, []),
    ],
)
def test_conditions_follow_from_the_phase(
    phase: str | None, provisioned: bool | None, bootstrapped: bool | None, true: list[str]
) -> None:
    node = ObjectReference(kind="Node", name="n", uid="u")
    status = machine(converted(status=mapi.MachineStatus(phase=phase, node_ref=node))).status
    assert (status.phase, status.node_ref) == (phase or "", capi.NodeReference(name="n"))
    assert status.initialization == capi.MachineInitialization(
        infrastructure_provisioned=provisioned, bootstrap_data_secret_created=bootstrapped
    )
    assert [one.type for one in status.conditions] == [
        "Available",
        "Ready",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "Deleting",
        "NodeReady",
    ]
    assert [one.type for one in status.conditions if one.status == "True"] == true
    assert status.deprecated is not None
    assert status.deprecated.v1beta1 is not None
    assert [(one.type, one.status, one.severity, one.reason) for one in status.deprecated.v1beta1.conditions] == [
        ("Ready", "True", "", "") if phase == "Running" else ("Ready", "False", "Error", ""),
        ("BootstrapReady", "True", "", "") if bootstrapped else ("BootstrapReady", "False", "Info", ""),
        ("InfrastructureReady", "True", "", "")
        if provisioned
        else ("InfrastructureReady", "False", "Info", "WaitingForInfrastructure"),
    ]


def test_reasons_say_the_same_as_the_status() -> None:
    conditions = machine(converted(status=mapi.MachineStatus(phase="Provisioned"))).status.conditions
    assert [one.reason for one in conditions] == [
        "NotAvailable",
        "NotReady",
        "NotReady",
        "Ready",
        "NotDeleting",
        "NodeNotReady",
    ]


def test_a_machine_that_goes_is_deleting_and_one_without_a_node_is_not_node_ready() -> None:
    result = converted(
        metadata=ObjectMeta(name="w-0", deletion_timestamp="2026-01-01T00:00:00Z"),
        status=mapi.MachineStatus(phase="Deleting"),
    )
    assert [(one.type, one.reason) for one in machine(result).status.conditions[4:]] == [
        ("Deleting", "Deleting"),
        ("NodeReady", "NodeNotReady"),
    ]


def test_failure_time_and_addresses_are_copied() -> None:
    status = mapi.MachineStatus(
        error_reason="",
        error_message="gone",
        last_updated="2026-01-02T03:04:05+02:00",
        addresses=[NodeAddress(type="InternalIP", address="10.0.0.1"), NodeAddress(type="Hostname", address="h")],
    )
    result = machine(converted(status=status)).status
    assert result.last_updated == "2026-01-02T01:04:05Z"
    assert result.addresses == [
        capi.Address(type="InternalIP", address="10.0.0.1"),
        capi.Address(type="Hostname", address="h"),
    ]
    assert result.deprecated is not None
    assert result.deprecated.v1beta1 is not None
    assert result.deprecated.v1beta1.failure_reason == ""
    assert result.deprecated.v1beta1.failure_message == "gone"


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (mapi.NestedMeta(name="n"), 'spec.metadata.name: Invalid value: "n": name is not supported'),
        (
            mapi.NestedMeta(generate_name="g"),
            'spec.metadata.generateName: Invalid value: "g": generateName is not supported',
        ),
        (mapi.NestedMeta(namespace="s"), 'spec.metadata.namespace: Invalid value: "s": namespace is not supported'),
    ],
)
def test_names_of_the_node_are_errors(spec: mapi.NestedMeta, error: str) -> None:
    assert converted(spec=mapi.MachineSpec(metadata=spec)).error == error


@pytest.mark.parametrize("infrastructure", [None, Infrastructure()])
def test_a_cluster_without_a_name_is_an_error(infrastructure: Infrastructure | None) -> None:
    assert converted(infrastructure=infrastructure).errors == (
        'infrastructure.status.infrastructureName: Invalid value: "": infrastructure cannot be nil and '
        "infrastructure.Status.InfrastructureName cannot be empty",
    )


def test_owners_of_a_node_are_a_loss() -> None:
    owners = [OwnerReference(api_version="v1", kind="K", name="n", uid="u")]
    result = converted(spec=mapi.MachineSpec(metadata=mapi.NestedMeta(owner_references=owners)))
    assert result.losses == (
        'spec.metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"K","name":"n","uid":"u"}]: '
        "ownerReferences has no equivalent in Cluster API and is dropped",
    )


def test_errors_come_in_the_order_of_the_parts_and_each_once() -> None:
    found = Findings(errors=[required("spec.p", "d"), required("spec.p", "d")], warnings=[required("spec.w", "d")])
    found.lose("spec.l", 1)
    result = converted(
        spec=mapi.MachineSpec(metadata=mapi.NestedMeta(name="n"), taints=[Taint()]),
        status=mapi.MachineStatus(addresses=[NodeAddress(type="X"), NodeAddress(type="X")]),
        infra=part(
            found=found,
            status_errors=[required("status.s", "d")],
            provider_id_errors=[required("spec.providerID", "d")],
        ),
        unfit=[required("spec.f", "d")],
        unknown=[dropped("spec.u", 1, by="T")],
        infrastructure=None,
    )
    assert (result.machine, result.infra_machine) == (None, None)
    assert [text.partition(":")[0] for text in result.errors] == [
        "spec.f",
        "spec.p",
        "status.s",
        "status.addresses",
        "spec.metadata.name",
        "spec.taints[0].key",
        "spec.taints[0].effect",
        "spec.providerID",
        "infrastructure.status.infrastructureName",
    ]
    assert [text.partition(":")[0] for text in result.warnings] == ["spec.w"]
    assert [text.partition(":")[0] for text in result.losses] == ["spec.l", "spec.u"]
    assert result.remarks == result.warnings + result.losses
    assert result.error == f"[{', '.join(result.errors)}]"


@pytest.mark.parametrize("text", [None, "", "gone", "x" * 10_240, "word " * 4_000])
def test_an_error_message_is_cut_to_what_cluster_api_admits(text: str | None) -> None:
    said = failure_message(text)
    assert (said == text) == (len(text or "") <= 10_240)
    assert len(said or "") <= 10_240
