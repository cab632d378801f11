"""MachineSets in both directions: what is a set's own; the machines they make are converted like any Machine."""

from typing import Any

import pytest

from windlass.api import capa, capi, capo, capo_cluster, mapi
from windlass.api.config import Infrastructure, InfrastructureStatus, PlatformStatus
from windlass.api.meta import KubernetesObject, LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference
from windlass.machine_sync.conversion import (
    ConvertedSetToClusterAPI,
    ConvertedSetToMachineAPI,
    machine_set_to_cluster_api,
    machine_set_to_machine_api,
)
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.platforms import OPENSTACK, PLATFORMS, Platform

from .vectors import plain

ROLE = "machine.openshift.io/cluster-api-machine-role"
TYPE = "machine.openshift.io/cluster-api-machine-type"
CLUSTER_NAME = {"cluster.x-k8s.io/cluster-name": "c"}
TAGS = ["cluster-api-provider-openstack", "ns-c"]
CLUSTER = Infrastructure(
    status=InfrastructureStatus(infrastructure_name="c", platform_status=PlatformStatus(type="OpenStack"))
)
PROVIDER_SPEC = mapi.ProviderSpec(value={"flavor": "m1", "image": "rhcos"})
NO_NAME = (
    'infrastructure.status.infrastructureName: Invalid value: "": infrastructure cannot be nil and '
    "infrastructure.Status.InfrastructureName cannot be empty"
)


class TestToClusterAPI:
    @staticmethod
    def converted(
        spec: dict[str, Any] | None = None,
        *,
        metadata: ObjectMeta | None = None,
        nested: mapi.NestedMeta | None = None,
        machine: dict[str, Any] | None = None,
        status: mapi.MachineSetStatus | None = None,
    ) -> ConvertedSetToClusterAPI:
        template = mapi.MachineTemplate(
            metadata=nested or mapi.NestedMeta(),
            spec=mapi.MachineSpec(**{"provider_spec": PROVIDER_SPEC, **(machine or {})}),
        )
        source = mapi.MachineSet(
            metadata=metadata or ObjectMeta(name="ms", namespace="ns"),
            spec=mapi.MachineSetSpec(template=template, **(spec or {})),
            status=status or mapi.MachineSetStatus(),
        )
        return machine_set_to_cluster_api(source, CLUSTER)

    @staticmethod
    def machine_set(converted: ConvertedSetToClusterAPI) -> capi.MachineSet:
        assert converted.machine_set is not None, converted.error
        return converted.machine_set

    def test_identity_is_name_and_namespace_of_the_source(self) -> None:
        metadata = ObjectMeta(
            name="ms", namespace="ns", uid="u", finalizers=["f"], owner_references=[OwnerReference(kind="K")]
        )
        result = self.machine_set(self.converted(metadata=metadata))
        assert plain(result.metadata) == {"name": "ms", "namespace": "ns", "labels": CLUSTER_NAME}

    def test_the_template_is_named_by_its_spec_and_referred_to(self) -> None:
        result = self.converted()
        template = result.infra_template
        assert isinstance(template, capo.OpenStackMachineTemplate)
        assert plain(template) == {
            "metadata": {"name": template.metadata.name, "namespace": "openshift-cluster-api"},
            "spec": {"template": {"spec": {"flavor": "m1", "image": {"filter": {"name": "rhcos"}}, "tags": TAGS}}},
            "status": {},
        }
        assert self.machine_set(result).spec.template.spec.infrastructure_ref == capi.ContractReference(
            kind="OpenStackMachineTemplate", name=template.metadata.name, api_group="infrastructure.cluster.x-k8s.io"
        )
        other = self.converted(machine={"provider_spec": mapi.ProviderSpec(value={"flavor": "m2"})})
        assert other.infra_template.metadata.name != template.metadata.name

    def test_metadata_of_the_set_is_translated(self) -> None:
        metadata = ObjectMeta(
            name="ms", labels={ROLE: "infra", "a": "1"}, annotations={"machine.openshift.io/delete-machine": "x"}
        )
        result = self.machine_set(self.converted(metadata=metadata)).metadata
        assert result.labels == {"node-role.kubernetes.io/infra": "", "a": "1", **CLUSTER_NAME}
        assert result.annotations == {"cluster.x-k8s.io/delete-machine": "x"}

    def test_metadata_of_machines_comes_from_template_node_and_hooks(self) -> None:
        nested = mapi.NestedMeta(
            labels={TYPE: "worker", "a": "template"}, annotations={"a": "template", "b": "template"}
        )
        node = mapi.NestedMeta(labels={"a": "node"}, annotations={"a": "node"})
        hooks = mapi.LifecycleHooks(pre_drain=[mapi.LifecycleHook(name="h", owner="o")])
        result = self.converted(nested=nested, machine={"metadata": node, "lifecycle_hooks": hooks})
        assert self.machine_set(result).spec.template.metadata == capi.TemplateMeta(
            labels={"node-role.kubernetes.io/worker": "", "a": "node", **CLUSTER_NAME},
            annotations={"a": "node", "b": "template", "pre-drain.delete.hook.machine.cluster.x-k8s.io/h": "o"},
        )

    def test_the_spec_is_converted(self) -> None:
        selector = LabelSelector(
            match_labels={ROLE: "infra"},
            match_expressions=[LabelSelectorRequirement(key="k", operator="In", values=["v"])],
        )
        fields = {"replicas": 3, "min_ready_seconds": 30, "delete_policy": "Newest", "selector": selector}
        spec = plain(self.machine_set(self.converted(fields, machine={"provider_id": "p"})).spec)
        made = spec.pop("template")["spec"]
        assert spec == {
            "clusterName": "c",
            "replicas": 3,
            "selector": {
                "matchLabels": {"node-role.kubernetes.io/infra": ""},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
            },
            "deletion": {"order": "Newest"},
        }
        assert made.pop("infrastructureRef")
        assert made == {
            "clusterName": "c",
            "providerID": "p",
            "minReadySeconds": 30,
            "deletion": {"nodeDeletionTimeoutSeconds": 10},
        }

    def test_what_is_not_said_is_random_deletion_and_no_replicas(self) -> None:
        spec = self.machine_set(self.converted()).spec
        assert (spec.replicas, spec.deletion.order) == (None, "Random")
        assert spec.template.spec.min_ready_seconds is None

    @pytest.mark.parametrize(
        ("replicas", "status", "true"),
        [
            (2, (2, 2, 2, 2), ["MachinesReady", "MachinesUpToDate"]),
            (1, (2, 2, 2, 2), ["ScalingDown"]),
            (2, (0, 0, 0, 0), ["ScalingUp"]),
            (None, (1, 1, 0, 0), ["MachinesUpToDate"]),
            (0, (0, 0, 0, 0), ["MachinesReady", "MachinesUpToDate"]),
        ],
    )
    def test_conditions_follow_from_the_counts(
        self, replicas: int | None, status: tuple[int, int, int, int], true: list[str]
    ) -> None:
        created, labelled, ready, available = status
        given = mapi.MachineSetStatus(
            replicas=created, fully_labeled_replicas=labelled, ready_replicas=ready, available_replicas=available
        )
        result = self.machine_set(self.converted({"replicas": replicas}, status=given)).status
        assert [one.type for one in result.conditions] == [
            "Deleting",
            "MachinesReady",
            "MachinesUpToDate",
            "ScalingDown",
            "ScalingUp",
        ]
        assert [one.type for one in result.conditions if one.status == "True"] == true
        wanted = 1 if replicas is None else replicas
        assert result.deprecated is not None
        old = result.deprecated.v1beta1
        assert old is not None
        assert {one.type: one.status == "True" for one in old.conditions} == {
            "MachinesCreated": created == wanted,
            "MachinesReady": ready == wanted,
            "Ready": created == ready == wanted,
            "Resized": created == wanted,
        }
        assert plain(result).get("readyReplicas") == (ready or None)
        assert (result.replicas, result.up_to_date_replicas, old.available_replicas) == (created, 0, available)

    def test_a_set_that_goes_is_deleting_and_failures_are_copied(self) -> None:
        result = self.machine_set(
            self.converted(
                metadata=ObjectMeta(name="ms", deletion_timestamp="2026-01-01T00:00:00Z"),
                status=mapi.MachineSetStatus(error_reason="R", error_message=""),
            )
        ).status
        assert (result.conditions[0].status, result.conditions[0].reason) == ("True", "Deleting")
        assert result.deprecated is not None
        assert result.deprecated.v1beta1 is not None
        assert result.deprecated.v1beta1.failure_reason == "R"
        assert result.deprecated.v1beta1.failure_message == ""

    def test_names_of_the_template_are_errors_after_those_of_the_machine(self) -> None:
        names = mapi.NestedMeta(name="n", generate_name="g", namespace="s")
        result = self.converted(nested=names, machine={"metadata": names})
        assert [text.partition(":")[0] for text in result.errors] == [
            f"{path}.{field}"
            for path in ("spec.metadata", "spec.template.metadata")
            for field in ("name", "generateName", "namespace")
        ]
        assert (result.machine_set, result.infra_template) == (None, None)

    def test_a_cluster_without_a_name_is_said_twice_and_read_once(self) -> None:
        result = cluster_api_machine_set(
            OPENSTACK,
            mapi.MachineSet(
                spec=mapi.MachineSetSpec(template=mapi.MachineTemplate(metadata=mapi.NestedMeta(name="n")))
            ),
            None,
        )
        assert result.errors[:2] == (NO_NAME, NO_NAME)
        assert result.error.count("infrastructureName: Invalid") == 1
        assert result.errors[2].startswith("spec.template.metadata.name: ")

    def test_a_provider_spec_that_cannot_be_read_is_an_error(self) -> None:
        [error] = self.converted(machine={"provider_spec": mapi.ProviderSpec(value=[])}).errors
        assert error.startswith("spec.providerSpec.value: Invalid value: []: error unmarshalling providerSpec: ")

    def test_owners_of_machines_are_a_loss(self) -> None:
        owners = [OwnerReference(kind="K")]
        [loss] = self.converted(nested=mapi.NestedMeta(owner_references=owners)).losses
        assert loss.startswith("spec.template.metadata.ownerReferences: ")


class TestToMachineAPI:
    @staticmethod
    def converted(
        spec: dict[str, Any] | None = None,
        *,
        metadata: ObjectMeta | None = None,
        nested: capi.TemplateMeta | None = None,
        machine: capi.MachineSpec | None = None,
        infra: dict[str, Any] | None = None,
        status: capi.MachineSetStatus | None = None,
    ) -> ConvertedSetToMachineAPI:
        source = capi.MachineSet(
            metadata=metadata or ObjectMeta(name="ms", namespace="ns"),
            spec=capi.MachineSetSpec(
                template=capi.MachineTemplate(
                    metadata=nested or capi.TemplateMeta(), spec=machine or capi.MachineSpec()
                ),
                **(spec or {}),
            ),
            status=status or capi.MachineSetStatus(),
        )
        infra_spec = capo.OpenStackMachineSpec(
            **{"flavor": "m1", "image": capo.Image(filter=capo.ImageFilter(name="rhcos")), **(infra or {})}
        )
        resource = capo.OpenStackMachineTemplateResource(spec=infra_spec)
        template = capo.OpenStackMachineTemplate(spec=capo.OpenStackMachineTemplateSpec(template=resource))
        return machine_set_to_machine_api(source, template, capo_cluster.OpenStackCluster())

    @staticmethod
    def machine_set(converted: ConvertedSetToMachineAPI) -> mapi.MachineSet:
        assert converted.machine_set is not None, converted.error
        return converted.machine_set

    def test_identity_is_name_and_namespace_of_the_source(self) -> None:
        metadata = ObjectMeta(name="ms", namespace="ns", uid="u", labels=CLUSTER_NAME, finalizers=["f"])
        assert plain(self.machine_set(self.converted(metadata=metadata)).metadata) == {"name": "ms", "namespace": "ns"}

    def test_machines_have_the_metadata_of_the_template_without_additional_labels(self) -> None:
        hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/h"
        nested = capi.TemplateMeta(
            labels={"node-role.kubernetes.io/worker": "", "a": "1"},
            annotations={"a": "1", hook: "o", "cluster.x-k8s.io/paused": ""},
        )
        template = self.machine_set(self.converted(nested=nested)).spec.template
        assert template.metadata == mapi.NestedMeta(
            labels={"a": "1", ROLE: "worker", TYPE: "worker"}, annotations={"a": "1"}
        )
        assert template.spec.metadata == mapi.NestedMeta(
            labels={"node-role.kubernetes.io/worker": "", "a": "1"}, annotations={"a": "1"}
        )
        assert template.spec.lifecycle_hooks.pre_drain == [mapi.LifecycleHook(name="h", owner="o")]

    def test_the_spec_is_converted(self) -> None:
        selector = LabelSelector(
            match_labels={"node-role.kubernetes.io/infra": "", **CLUSTER_NAME},
            match_expressions=[LabelSelectorRequirement(key="k", operator="Exists")],
        )
        fields = {"replicas": 0, "selector": selector, "deletion": capi.MachineSetDeletion(order="Oldest")}
        spec = self.machine_set(self.converted(fields, machine=capi.MachineSpec(min_ready_seconds=9))).spec
        assert (spec.replicas, spec.min_ready_seconds, spec.delete_policy) == (0, 9, "Oldest")
        assert plain(spec.selector) == {
            "matchLabels": {ROLE: "infra", TYPE: "infra"},
            "matchExpressions": [{"key": "k", "operator": "Exists"}],
        }
        assert spec.template.spec.provider_spec.value.flavor == "m1"

    def test_counts_come_from_the_older_status(self) -> None:
        old = capi.MachineSetV1Beta1Status(
            fully_labeled_replicas=1, ready_replicas=2, available_replicas=3, failure_reason="R", failure_message="M"
        )
        status = capi.MachineSetStatus(
            replicas=4,
            ready_replicas=9,
            available_replicas=9,
            selector="a=1",
            deprecated=capi.MachineSetDeprecatedStatus(v1beta1=old),
        )
        assert plain(self.machine_set(self.converted(status=status)).status) == {
            "replicas": 4,
            "fullyLabeledReplicas": 1,
            "readyReplicas": 2,
            "availableReplicas": 3,
            "labelSelector": "a=1",
            "errorReason": "R",
            "errorMessage": "M",
        }
        assert plain(self.machine_set(self.converted()).status) == {"replicas": 0}

    def test_errors_of_a_machine_are_those_of_the_set(self) -> None:
        result = self.converted(machine=capi.MachineSpec(version="v1"))
        assert result == ConvertedSetToMachineAPI(
            errors=('spec.version: Invalid value: "v1": version is not supported',)
        )

    def test_what_is_dropped_is_said(self) -> None:
        machine = capi.MachineSpec(
            bootstrap=capi.Bootstrap(config_ref=capi.ContractReference(kind="K")),
            readiness_gates=[capi.ReadinessGate(condition_type="T")],
            taints=[capi.Taint(key="k", propagation="OnInitialization")],
        )
        identity = capo.IdentityReference(name="s", region="r")
        result = self.converted(
            {"machine_naming": capi.MachineNaming(template="x")}, machine=machine, infra={"identity_ref": identity}
        )
        assert [text.partition(": ")[0] for text in result.losses] == [
            "spec.identityRef.region",
            "spec.bootstrap.configRef",
            "spec.readinessGates",
            "spec.taints[0].propagation",
            "spec.machineNaming",
        ]
        assert all(" has no equivalent in the Machine API and " in text for text in result.losses)


@pytest.mark.parametrize("platform", PLATFORMS.values(), ids=list(PLATFORMS))
def test_each_missing_part_is_the_same_error(platform: Platform) -> None:
    def of(kind: type[KubernetesObject]) -> Any:
        made: Any = kind
        return made()

    template, cluster = of(platform.infra_template), of(platform.infra_cluster)
    kinds = platform.infra_template.RESOURCE.kind, platform.infra_cluster.RESOURCE.kind
    expected = f"provided MachineSet, {kinds[0]} and {kinds[1]} can not be nil"
    for given in ((None, template, cluster), (capi.MachineSet(), None, cluster), (capi.MachineSet(), template, None)):
        machine_set, infra_template, infra_cluster = given
        result = machine_api_machine_set(platform, machine_set, infra_template, infra_cluster=infra_cluster)
        assert result.error == expected
    assert cluster_api_machine_set(platform, None, CLUSTER).error == "provided MachineSet can not be nil"


def test_the_platform_is_that_of_the_parts_or_the_cluster() -> None:
    unsupported = "error determining InfraMachineTemplate type, platform not supported"
    assert machine_set_to_machine_api(None, None, None).error == unsupported
    assert machine_set_to_cluster_api(mapi.MachineSet(), None).error == unsupported
    mixed = machine_set_to_machine_api(capi.MachineSet(), capa.AWSMachineTemplate(), capo_cluster.OpenStackCluster())
    assert mixed.error == "unexpected InfraCluster type, expected AWSCluster, got OpenStackCluster"
    swapped = machine_set_to_machine_api(capi.MachineSet(), capa.AWSMachine(), capa.AWSCluster())
    assert swapped.error == "unexpected InfraMachineTemplate type, expected AWSMachineTemplate, got AWSMachine"
