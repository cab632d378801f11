"""What all platforms share, rule by rule: metadata, hooks, status, and what the Machine API cannot express."""

import pytest

from windlass.api import capi, mapi
from windlass.api.core import NodeAddress, ObjectReference
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.field_errors import Findings, required
from windlass.machine_sync.conversion.machine_to_machine_api import (
    ConvertedToMachineAPI,
    ProviderPart,
    machine_api_machine,
)

ROLE = "machine.openshift.io/cluster-api-machine-role"
TYPE = "machine.openshift.io/cluster-api-machine-type"


def converted(
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owners: list[OwnerReference] | None = None,
    spec: capi.MachineSpec | None = None,
    status: capi.MachineStatus | None = None,
    provider: ProviderPart | None = None,
) -> ConvertedToMachineAPI:
    source = capi.Machine(
        metadata=ObjectMeta(
            name="w-0", labels=labels or {}, annotations=annotations or {}, owner_references=owners or []
        ),
        spec=spec or capi.MachineSpec(),
        status=status or capi.MachineStatus(),
    )
    return machine_api_machine(source, provider or ProviderPart(spec={"kind": "Anything"}))


def machine(converted: ConvertedToMachineAPI) -> mapi.Machine:
    assert converted.machine is not None, converted.error
    return converted.machine


def test_identity_is_name_namespace_and_finalizer_of_the_machine_api() -> None:
    source = capi.Machine(
        metadata=ObjectMeta(
            name="w-0",
            namespace="openshift-cluster-api",
            uid="u",
            resource_version="5",
            generation=3,
            creation_timestamp="2026-01-01T00:00:00Z",
            deletion_timestamp="2026-01-02T00:00:00Z",
            finalizers=["machine.cluster.x-k8s.io"],
            owner_references=[OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="MachineSet", name="ms")],
        )
    )
    assert machine(machine_api_machine(source, ProviderPart(spec={}))).metadata == ObjectMeta(
        name="w-0", namespace="openshift-machine-api", finalizers=["machine.machine.openshift.io"]
    )


@pytest.mark.parametrize(
    ("given", "labels", "node_labels"),
    [
        pytest.param({}, {}, {}, id="none"),
        pytest.param({"a": "1"}, {"a": "1"}, {"a": "1"}, id="others are copied to both"),
        pytest.param({"cluster.x-k8s.io/cluster-name": "c"}, {}, {}, id="those of Cluster API are dropped"),
        pytest.param({"x.cluster.x-k8s.io/y": "1"}, {}, {}, id="those that contain its domain anywhere too"),
        pytest.param({"cluster.x-k8s.io": "1"}, {"cluster.x-k8s.io": "1"}, {"cluster.x-k8s.io": "1"}, id="no slash"),
        pytest.param(
            {"node-role.kubernetes.io/worker": ""},
            {ROLE: "worker", TYPE: "worker"},
            {"node-role.kubernetes.io/worker": ""},
            id="a role becomes role and type, and stays with the Node",
        ),
        pytest.param(
            {"node-role.kubernetes.io/a/b": "value"},
            {ROLE: "a/b", TYPE: "a/b"},
            {"node-role.kubernetes.io/a/b": "value"},
            id="a role is all after the first slash; its value is lost",
        ),
        pytest.param(
            {"node-role.kubernetes.iox/foo": "x"},
            {ROLE: "foo", TYPE: "foo"},
            {"node-role.kubernetes.iox/foo": "x"},
            id="the prefix of a role needs no slash",
        ),
        pytest.param(
            {"node-role.kubernetes.io": "x"},
            {"node-role.kubernetes.io": "x"},
            {"node-role.kubernetes.io": "x"},
            id="a role key without a slash is a label like any other",
        ),
        pytest.param(
            {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""},
            {ROLE: "infra", TYPE: "infra"},
            {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""},
            id="of two roles the smaller key wins",
        ),
        pytest.param(
            {"node-role.kubernetes.io/worker": "", ROLE: "old"},
            {ROLE: "worker", TYPE: "worker"},
            {"node-role.kubernetes.io/worker": "", ROLE: "old"},
            id="a role label wins over the Machine API's own",
        ),
        pytest.param(
            {"node-role.kubernetes.io/cluster.x-k8s.io/a": ""},
            {ROLE: "cluster.x-k8s.io/a", TYPE: "cluster.x-k8s.io/a"},
            {},
            id="a role that contains the domain of Cluster API is not for the Node",
        ),
    ],
)
def test_labels(given: dict[str, str], labels: dict[str, str], node_labels: dict[str, str]) -> None:
    result = machine(converted(labels=given))
    assert result.metadata.labels == labels
    assert result.spec.metadata.labels == node_labels


def test_labels_of_the_platform_override_unless_empty() -> None:
    part = ProviderPart(spec={}, labels=(("zone", "z1"), ("region", "")))
    result = machine(converted(labels={"zone": "old", "region": "kept"}, provider=part))
    assert result.metadata.labels == {"zone": "z1", "region": "kept"}
    assert result.spec.metadata.labels == {"zone": "old", "region": "kept"}


@pytest.mark.parametrize(
    ("given", "annotations", "node_annotations"),
    [
        pytest.param({}, {}, {}, id="none"),
        pytest.param({"a": "1"}, {"a": "1"}, {"a": "1"}, id="others are copied to both"),
        pytest.param({"cluster.x-k8s.io/paused": ""}, {}, {}, id="paused is dropped"),
        pytest.param(
            {"cluster.x-k8s.io/delete-machine": "yes"},
            {"machine.openshift.io/delete-machine": "yes"},
            {},
            id="delete-machine is translated, and not for the Node",
        ),
        pytest.param({"x.cluster.x-k8s.io/y": "1"}, {}, {}, id="those of Cluster API are dropped"),
        pytest.param(
            {"machine.openshift.io/instance-state": "stale"},
            {"machine.openshift.io/instance-state": "stale"},
            {"machine.openshift.io/instance-state": "stale"},
            id="an instance state that nobody contradicts stays",
        ),
    ],
)
def test_annotations(given: dict[str, str], annotations: dict[str, str], node_annotations: dict[str, str]) -> None:
    result = machine(converted(annotations=given))
    assert result.metadata.annotations == annotations
    assert result.spec.metadata.annotations == node_annotations


def test_the_instance_state_becomes_an_annotation() -> None:
    part = ProviderPart(spec={}, instance_state="ACTIVE")
    result = machine(converted(annotations={"machine.openshift.io/instance-state": "stale"}, provider=part))
    assert result.metadata.annotations == {"machine.openshift.io/instance-state": "ACTIVE"}


def test_hook_annotations_become_hooks_sorted_by_name() -> None:
    drain, terminate = (f"pre-{when}.delete.hook.machine.cluster.x-k8s.io/" for when in ("drain", "terminate"))
    result = machine(
        converted(annotations={f"{drain}z": "o1", f"{drain}a": "", f"{terminate}": "o2", f"{terminate}a/b": "o3"})
    )
    assert result.metadata.annotations == {}
    assert result.spec.metadata.annotations == {}
    assert result.spec.lifecycle_hooks == mapi.LifecycleHooks(
        pre_drain=[mapi.LifecycleHook(name="a", owner=""), mapi.LifecycleHook(name="z", owner="o1")],
        pre_terminate=[mapi.LifecycleHook(name="", owner="o2"), mapi.LifecycleHook(name="a/b", owner="o3")],
    )


def test_a_hook_key_without_a_slash_is_an_annotation_like_any_other() -> None:
    key = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
    result = machine(converted(annotations={key: "o"}))
    assert result.metadata.annotations == {key: "o"}
    assert result.spec.lifecycle_hooks == mapi.LifecycleHooks()


@pytest.mark.parametrize(("given", "expected"), [("", None), ("aws:///z/i-1", "aws:///z/i-1")])
def test_the_provider_id_is_copied_unless_empty(given: str, expected: str | None) -> None:
    assert machine(converted(spec=capi.MachineSpec(provider_id=given))).spec.provider_id == expected


def test_ready_seconds_gates_and_config_are_dropped_with_a_warning() -> None:
    spec = capi.MachineSpec(
        bootstrap=capi.Bootstrap(config_ref=capi.ContractReference(kind="K", name="n")),
        min_ready_seconds=5,
        readiness_gates=[capi.ReadinessGate(condition_type="T")],
    )
    result = converted(spec=spec)
    assert result.machine == converted().machine
    lost = ["spec.minReadySeconds", "spec.bootstrap.configRef", "spec.readinessGates"]
    assert [text.partition(":")[0] for text in result.losses] == lost


def test_ready_seconds_of_a_machine_of_a_machine_set_are_not_lost_since_the_set_has_them() -> None:
    owner = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="MachineSet", name="ms")
    spec = capi.MachineSpec(min_ready_seconds=5)
    assert converted(owners=[owner], spec=spec).losses == ()


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        *((phase, phase) for phase in ("Provisioning", "Provisioned", "Running", "Deleting", "Failed")),
        ("Deleted", "Deleting"),
        *((phase, None) for phase in ("", "Pending", "Unknown", "running", "Other")),
    ],
)
def test_phases(phase: str, expected: str | None) -> None:
    assert machine(converted(status=capi.MachineStatus(phase=phase))).status.phase == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (None, None),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.999999Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+00:00", None),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("not a time", "not a time"),
    ],
)
def test_the_time_of_the_last_update_is_in_utc(time: str | None, expected: str | None) -> None:
    assert machine(converted(status=capi.MachineStatus(last_updated=time))).status.last_updated == expected


def test_node_and_failure_are_copied() -> None:
    failure = capi.MachineV1Beta1Status(failure_reason="", failure_message="gone")
    status = capi.MachineStatus(
        node_ref=capi.NodeReference(name="node-0"), deprecated=capi.MachineDeprecatedStatus(v1beta1=failure)
    )
    result = machine(converted(status=status)).status
    assert result.node_ref == ObjectReference(kind="Node", name="node-0", api_version="v1")
    assert (result.error_reason, result.error_message) == ("", "gone")


def test_a_status_without_node_or_failure_stays_empty() -> None:
    assert machine(converted()).status == mapi.MachineStatus()


def test_conditions_and_what_else_is_not_known_to_the_machine_api_is_not_converted() -> None:
    status = capi.MachineStatus(observed_generation=7, certificates_expiry_date="2026-01-01T00:00:00Z")
    assert machine(converted(status=status)).status == mapi.MachineStatus()


def test_addresses_of_the_five_types_are_copied_in_order() -> None:
    kinds = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS", "InternalIP"]
    given = [capi.Address(type=kind, address=f"{index}") for index, kind in enumerate(kinds)]
    assert machine(converted(status=capi.MachineStatus(addresses=given))).status.addresses == [
        NodeAddress(type=kind, address=f"{index}") for index, kind in enumerate(kinds)
    ]


def test_an_address_of_another_type_is_an_error() -> None:
    status = capi.MachineStatus(addresses=[capi.Address(type="We\tird", address="a"), capi.Address(address="b")])
    assert converted(status=status).errors == (
        'status.addresses: Invalid value: "We\\tird": We\tird unrecognized address type',
        'status.addresses: Invalid value: "":  unrecognized address type',
    )


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (capi.MachineSpec(version="v1"), 'spec.version: Invalid value: "v1": version is not supported'),
        (
            capi.MachineSpec(deletion=capi.MachineDeletion(node_drain_timeout_seconds=0)),
            "spec.deletion.nodeDrainTimeoutSeconds: Invalid value: 0: nodeDrainTimeoutSeconds is not supported",
        ),
        (
            capi.MachineSpec(deletion=capi.MachineDeletion(node_volume_detach_timeout_seconds=10)),
            "spec.deletion.nodeVolumeDetachTimeoutSeconds: Invalid value: 10: "
            "nodeVolumeDetachTimeoutSeconds is not supported",
        ),
        (
            capi.MachineSpec(deletion=capi.MachineDeletion(node_deletion_timeout_seconds=0)),
            "spec.deletion.nodeDeletionTimeoutSeconds: Invalid value: 0: nodeDeletionTimeoutSeconds is not supported",
        ),
        (capi.MachineSpec(deletion=capi.MachineDeletion(node_deletion_timeout_seconds=10)), ""),
    ],
)
def test_what_the_machine_api_cannot_express_is_an_error(spec: capi.MachineSpec, error: str) -> None:
    assert converted(spec=spec).error == error


def test_errors_come_from_the_platform_then_addresses_then_the_spec() -> None:
    found = Findings(errors=[required("spec.p", "d")], warnings=[required("spec.w", "d")])
    result = converted(
        spec=capi.MachineSpec(version="v1", deletion=capi.MachineDeletion(node_deletion_timeout_seconds=1)),
        status=capi.MachineStatus(addresses=[capi.Address(type="X")]),
        provider=ProviderPart(spec=None, found=found),
    )
    assert result.machine is None
    assert [text.partition(":")[0] for text in result.errors] == [
        "spec.p",
        "status.addresses",
        "spec.version",
        "spec.deletion.nodeDeletionTimeoutSeconds",
    ]
    assert result.warnings == ("spec.w: Required value: d",)
    assert result.error == f"[{', '.join(result.errors)}]"
