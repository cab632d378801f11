"""Converts MachineSets from the Machine API to Cluster API: the set, and the template of its infra machines.

The platform converts the machine template of a set like any Machine; the rest is here.
"""

from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, UnsetType

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import LabelSelector, ObjectMeta, OwnerReference, SeverityCondition
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE
from windlass.machine_sync.conversion.field_errors import dropped
from windlass.machine_sync.conversion.machine_to_cluster_api import (
    DELETING,
    INFRA_GROUP,
    condition_pair,
    failure_message,
    no_infrastructure_name,
    unsupported_names,
)
from windlass.machine_sync.conversion.metadata import (
    CLUSTER_NAME_LABEL,
    cluster_api_annotations,
    cluster_api_labels,
    without_tracking,
)
from windlass.machine_sync.conversion.result import Conversion
from windlass.machine_sync.conversion.selector import selector_text
from windlass.machine_sync.conversion.template_name import template_name

if TYPE_CHECKING:
    from windlass.machine_sync.platforms.platform import Platform

_OWNERS: Final = [OwnerReference(kind=mapi.MachineSet.RESOURCE.kind)]
"""The owners of a Machine that the set creates."""
_RANDOM: Final = "Random"

_MACHINES_READY: Final = condition_pair("MachinesReady", "NotReady", "Ready")
_MACHINES_UP_TO_DATE: Final = condition_pair("MachinesUpToDate", "NotUpToDate", "UpToDate")
_SCALING_DOWN: Final = condition_pair("ScalingDown", "NotScalingDown", "ScalingDown")
_SCALING_UP: Final = condition_pair("ScalingUp", "NotScalingUp", "ScalingUp")


def _old_pair(kind: str) -> tuple[SeverityCondition, SeverityCondition]:
    return SeverityCondition(type=kind, status="False"), SeverityCondition(type=kind, status="True")


_OLD_MACHINES_CREATED: Final = _old_pair("MachinesCreated")
_OLD_MACHINES_READY: Final = _old_pair("MachinesReady")
_OLD_READY: Final = _old_pair("Ready")
_OLD_RESIZED: Final = _old_pair("Resized")


class ConvertedSetToClusterAPI(Conversion, frozen=True, gc=False):
    """The set and its infra template, or the errors.

    Errors in the machine template have the paths of a Machine: `spec.providerSpec.value...`.
    """

    machine_set: capi.MachineSet | None = None
    infra_template: Any = None


def cluster_api_machine_set(
    platform: "Platform",
    source: mapi.MachineSet | None,
    infrastructure: Infrastructure | None,
    *,
    infra_cluster: Any | UnsetType = UNSET,
) -> ConvertedSetToClusterAPI:
    """The MachineSet of Cluster API for `source`, and its infra template; pure, and never raises.

    If `infra_cluster` is given, even as None, the Machines of the set must fit it too.
    """
    if source is None:
        return ConvertedSetToClusterAPI(errors=("provided MachineSet can not be nil",))
    template = source.spec.template
    labels = template.metadata.labels
    meta = ObjectMeta(namespace=source.metadata.namespace, labels=labels, owner_references=_OWNERS)
    made = mapi.Machine(metadata=meta, spec=template.spec)
    converted = platform.to_cluster_api(made, infrastructure, infra_cluster=infra_cluster)
    cluster = infrastructure.status.infrastructure_name if infrastructure is not None else ""
    own_errors = [] if cluster else [no_infrastructure_name()]
    own_errors += unsupported_names("spec.template.metadata", template.metadata)
    errors = (*converted.errors, *map(str, own_errors))
    warnings, losses = converted.warnings, converted.losses
    if template.metadata.owner_references:
        path = "spec.template.metadata.ownerReferences"
        losses = (*losses, str(dropped(path, template.metadata.owner_references, by="Cluster API")))
    machine, infra_machine = converted.machine, converted.infra_machine
    if errors or machine is None:
        return ConvertedSetToClusterAPI(errors=errors, warnings=warnings, losses=losses)

    metadata = source.metadata
    name = template_name(metadata.name, infra_machine.spec)
    machine_set = capi.MachineSet(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            labels={**cluster_api_labels(without_tracking(metadata.labels)), CLUSTER_NAME_LABEL: cluster},
            annotations=cluster_api_annotations(metadata.annotations),
        ),
        spec=_spec(platform, source.spec, machine, cluster=cluster, template=name),
        status=_status(source),
    )
    infra_template = _infra_template(platform, name, infra_machine.spec)
    return ConvertedSetToClusterAPI(machine_set, infra_template, warnings=warnings, losses=losses)


def _spec(
    platform: "Platform", spec: mapi.MachineSetSpec, machine: capi.Machine, *, cluster: str, template: str
) -> capi.MachineSetSpec:
    nested = spec.template.metadata
    made = machine.spec
    return capi.MachineSetSpec(
        cluster_name=cluster,
        replicas=spec.replicas,
        selector=_selector(spec.selector),
        template=capi.MachineTemplate(
            metadata=capi.TemplateMeta(
                labels={**cluster_api_labels(nested.labels), **machine.metadata.labels},
                annotations={**cluster_api_annotations(nested.annotations), **machine.metadata.annotations},
            ),
            spec=capi.MachineSpec(
                cluster_name=made.cluster_name,
                bootstrap=made.bootstrap,
                infrastructure_ref=capi.ContractReference(
                    kind=platform.infra_template.RESOURCE.kind, name=template, api_group=INFRA_GROUP
                ),
                provider_id=made.provider_id,
                failure_domain=made.failure_domain,
                min_ready_seconds=spec.min_ready_seconds or None,
                deletion=made.deletion,
                taints=made.taints,
            ),
        ),
        deletion=capi.MachineSetDeletion(order=spec.delete_policy or _RANDOM),
    )


def _selector(selector: LabelSelector) -> LabelSelector:
    return LabelSelector(
        match_labels=cluster_api_labels(selector.match_labels), match_expressions=selector.match_expressions
    )


def _infra_template(platform: "Platform", name: str, infra_spec: Any) -> Any:
    """The template of infra machines with this spec; all platforms nest it in the same way."""
    kind: Any = platform.infra_template
    shell = kind()
    inner = type(shell.spec.template)(spec=infra_spec)
    metadata = ObjectMeta(name=name, namespace=CLUSTER_API_NAMESPACE)
    return kind(metadata=metadata, spec=type(shell.spec)(template=inner))


def _status(source: mapi.MachineSet) -> capi.MachineSetStatus:
    status = source.status
    wanted = 1 if source.spec.replicas is None else source.spec.replicas
    created = status.replicas == wanted
    ready = status.ready_replicas == wanted
    return capi.MachineSetStatus(
        conditions=[
            DELETING[bool(source.metadata.deletion_timestamp)],
            _MACHINES_READY[ready],
            _MACHINES_UP_TO_DATE[status.fully_labeled_replicas == wanted],
            _SCALING_DOWN[wanted < status.replicas],
            _SCALING_UP[wanted > status.replicas],
        ],
        selector=selector_text(_selector(source.spec.selector)),
        replicas=status.replicas,
        ready_replicas=status.ready_replicas or None,
        available_replicas=status.available_replicas or None,
        up_to_date_replicas=0,
        deprecated=capi.MachineSetDeprecatedStatus(
            v1beta1=capi.MachineSetV1Beta1Status(
                conditions=[
                    _OLD_MACHINES_CREATED[created],
                    _OLD_MACHINES_READY[ready],
                    _OLD_READY[created and ready],
                    _OLD_RESIZED[created],
                ],
                failure_reason=status.error_reason,
                failure_message=failure_message(status.error_message),
                fully_labeled_replicas=status.fully_labeled_replicas,
                ready_replicas=status.ready_replicas,
                available_replicas=status.available_replicas,
            )
        ),
    )
