"""Annotations that both APIs act on are translated; what tools note on an object stays on this object."""

import pytest

from windlass.api import capi, capo, capo_cluster, config, mapi
from windlass.api.meta import LabelSelector, ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.platforms import OPENSTACK

INFRASTRUCTURE = config.Infrastructure(status=config.InfrastructureStatus(infrastructure_name="c"))
CLUSTER_NAME = {"cluster.x-k8s.io/cluster-name": "c"}
OF_SET = [OwnerReference(kind="MachineSet", name="ms")]
OF_CLUSTER = [OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name="c")]
INFRA_SPEC = capo.OpenStackMachineSpec(image=capo.Image(filter=capo.ImageFilter(name="rhcos")))

MACHINE_API_DRAIN = "machine.openshift.io/exclude-node-draining"
CLUSTER_API_DRAIN = "machine.cluster.x-k8s.io/exclude-node-draining"
MACHINE_API_DELETE = "machine.openshift.io/delete-machine"
CLUSTER_API_DELETE = "cluster.x-k8s.io/delete-machine"

NOTES = {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "argocd.argoproj.io/tracking-id": "fleet:machine.openshift.io/MachineSet:ns/ms",
    "argocd.argoproj.io/sync-options": "Prune=true",
    "kustomize.toolkit.fluxcd.io/prune": "enabled",
    "helm.toolkit.fluxcd.io/driftDetection": "enabled",
    "meta.helm.sh/release-name": "fleet",
}
TRACKING = {
    "argocd.argoproj.io/instance": "fleet",
    "app.kubernetes.io/instance": "fleet",
    "kustomize.toolkit.fluxcd.io/name": "fleet",
    "helm.toolkit.fluxcd.io/name": "fleet",
    "app.kubernetes.io/managed-by": "Helm",
}
KEPT = {"app.kubernetes.io/name": "worker", "team": "a"}
Strings = dict[str, str]


def to_machine_api(
    *, labels: Strings | None = None, annotations: Strings | None = None, owners: list[OwnerReference] | None = None
) -> mapi.Machine:
    meta = ObjectMeta(labels=labels or {}, annotations=annotations or {}, owner_references=owners or [])
    infra = capo.OpenStackMachine(spec=INFRA_SPEC)
    found = OPENSTACK.to_machine_api(capi.Machine(metadata=meta), infra, capo_cluster.OpenStackCluster())
    assert found.machine is not None, found.error
    return found.machine


def to_cluster_api(
    *,
    labels: Strings | None = None,
    annotations: Strings | None = None,
    owners: list[OwnerReference] | None = None,
    node: mapi.NestedMeta | None = None,
) -> ObjectMeta:
    meta = ObjectMeta(labels=labels or {}, annotations=annotations or {}, owner_references=owners or [])
    machine = mapi.Machine(metadata=meta, spec=mapi.MachineSpec(metadata=node or mapi.NestedMeta()))
    found = OPENSTACK.to_cluster_api(machine, INFRASTRUCTURE)
    assert found.machine is not None, found.error
    assert found.infra_machine.metadata.annotations == found.machine.metadata.annotations
    return found.machine.metadata


@pytest.mark.parametrize(
    ("machine_api", "cluster_api"),
    [
        ({MACHINE_API_DRAIN: ""}, {CLUSTER_API_DRAIN: ""}),
        ({MACHINE_API_DRAIN: "true"}, {CLUSTER_API_DRAIN: "true"}),
        ({MACHINE_API_DRAIN: "", MACHINE_API_DELETE: "y"}, {CLUSTER_API_DRAIN: "", CLUSTER_API_DELETE: "y"}),
        ({}, {}),
    ],
)
def test_a_node_that_is_not_to_be_drained_is_not_drained_by_either_api(
    machine_api: Strings, cluster_api: Strings
) -> None:
    assert to_cluster_api(annotations=machine_api).annotations == cluster_api
    back = to_machine_api(annotations=cluster_api)
    assert back.metadata.annotations == machine_api
    assert back.spec.metadata.annotations == {}, "it is about the machine, not the Node"


def test_each_api_is_given_the_annotation_that_its_controllers_read() -> None:
    both = {MACHINE_API_DRAIN: "ours", CLUSTER_API_DRAIN: "theirs"}
    assert to_cluster_api(annotations=both).annotations == {CLUSTER_API_DRAIN: "ours"}
    assert to_machine_api(annotations=both).metadata.annotations == {MACHINE_API_DRAIN: "theirs"}


def test_notes_of_tools_stay_where_they_are_and_do_not_reach_the_node() -> None:
    assert to_cluster_api(annotations={**NOTES, **KEPT}).annotations == KEPT
    noted = mapi.NestedMeta(annotations={**NOTES, **KEPT})
    assert to_cluster_api(node=noted).annotations == KEPT
    machine = to_machine_api(annotations={**NOTES, **KEPT}, owners=OF_SET)
    assert machine.metadata.annotations == machine.spec.metadata.annotations == KEPT


@pytest.mark.parametrize("owners", [[], OF_CLUSTER])
def test_labels_by_which_tools_find_their_objects_stay_on_a_machine_that_no_set_owns(
    owners: list[OwnerReference],
) -> None:
    assert to_cluster_api(labels={**TRACKING, **KEPT}).labels == {**KEPT, **CLUSTER_NAME}
    tracked = mapi.NestedMeta(labels={**TRACKING, **KEPT})
    assert to_cluster_api(node=tracked).labels == {**KEPT, **CLUSTER_NAME}
    machine = to_machine_api(labels={**TRACKING, **KEPT}, owners=owners)
    assert machine.spec.metadata.labels == KEPT
    assert TRACKING.keys().isdisjoint(machine.metadata.labels)


def test_a_machine_of_a_set_has_all_labels_of_its_template_since_the_selector_may_name_them() -> None:
    assert to_cluster_api(labels=TRACKING, owners=OF_SET).labels == {**TRACKING, **CLUSTER_NAME}
    assert TRACKING.items() <= to_machine_api(labels=TRACKING, owners=OF_SET).metadata.labels.items()


def test_of_a_set_the_marks_stay_behind_and_template_and_selector_are_mirrored() -> None:
    meta = ObjectMeta(name="ms", labels={**TRACKING, **KEPT}, annotations={**NOTES, **KEPT})
    template = mapi.MachineTemplate(
        metadata=mapi.NestedMeta(labels=TRACKING, annotations={**NOTES, MACHINE_API_DRAIN: ""}),
        spec=mapi.MachineSpec(metadata=mapi.NestedMeta(labels=TRACKING)),
    )
    spec = mapi.MachineSetSpec(selector=LabelSelector(match_labels=TRACKING), template=template)
    there = cluster_api_machine_set(OPENSTACK, mapi.MachineSet(metadata=meta, spec=spec), INFRASTRUCTURE)
    assert there.machine_set is not None, there.error
    assert there.machine_set.metadata.labels == {**KEPT, **CLUSTER_NAME}
    assert there.machine_set.metadata.annotations == KEPT
    assert there.machine_set.spec.selector.match_labels == TRACKING
    assert there.machine_set.spec.template.metadata.labels == {**TRACKING, **CLUSTER_NAME}
    assert there.machine_set.spec.template.metadata.annotations == {CLUSTER_API_DRAIN: ""}

    marked = capi.MachineSet(metadata=meta, spec=there.machine_set.spec)
    infra = capo.OpenStackMachineTemplate(
        spec=capo.OpenStackMachineTemplateSpec(template=capo.OpenStackMachineTemplateResource(spec=INFRA_SPEC))
    )
    back = machine_api_machine_set(OPENSTACK, marked, infra, infra_cluster=capo_cluster.OpenStackCluster())
    assert back.machine_set is not None, back.error
    assert (back.machine_set.metadata.labels, back.machine_set.metadata.annotations) == (KEPT, KEPT)
    assert back.machine_set.spec.selector.match_labels == TRACKING
    assert back.machine_set.spec.template.metadata.labels == TRACKING
    assert back.machine_set.spec.template.metadata.annotations == {MACHINE_API_DRAIN: ""}
