"""Converts MachineSets from Cluster API to the Machine API.

The platform converts the machine template of a set like any Machine; the rest is here. The Machine API's set has the
provider spec in its template, so the infra template has no counterpart of its own.
"""

from typing import TYPE_CHECKING, Any, Final

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import LabelSelector, ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.field_errors import dropped
from windlass.machine_sync.conversion.metadata import (
    machine_api_annotations,
    machine_api_labels,
    without_tracking,
)
from windlass.machine_sync.conversion.result import Conversion

if TYPE_CHECKING:
    from windlass.machine_sync.platforms.platform import Platform

_OWNERS: Final = [OwnerReference(kind=capi.MachineSet.RESOURCE.kind)]
"""The owners of a Machine that the set creates."""
_NO_NAMING: Final = capi.MachineNaming()
_NO_OLD_STATUS: Final = capi.MachineSetV1Beta1Status()


class ConvertedSetToMachineAPI(Conversion, frozen=True, gc=False):
    """The set, or the errors. Errors in the machine template have the paths of a Machine."""

    machine_set: mapi.MachineSet | None = None


def machine_api_machine_set(
    platform: "Platform",
    source: capi.MachineSet | None,
    infra_template: Any,
    *,
    infra_cluster: Any,
    infrastructure: Infrastructure | None = None,
) -> ConvertedSetToMachineAPI:
    """The MachineSet of the Machine API for `source`; pure, and never raises.

    `infra_template` and `infra_cluster` are of the platform's types; None means that the object does not exist.
    """
    if source is None or infra_template is None or infra_cluster is None:
        template_kind, cluster_kind = platform.infra_template.RESOURCE.kind, platform.infra_cluster.RESOURCE.kind
        return ConvertedSetToMachineAPI(
            errors=(f"provided MachineSet, {template_kind} and {cluster_kind} can not be nil",)
        )
    template = source.spec.template
    infra_spec = infra_template.spec.template.spec
    kind: Any = platform.infra_machine
    made = capi.Machine(
        metadata=ObjectMeta(
            labels=template.metadata.labels, annotations=template.metadata.annotations, owner_references=_OWNERS
        ),
        spec=template.spec,
    )
    converted = platform.to_machine_api(made, kind(spec=infra_spec), infra_cluster, infrastructure=infrastructure)
    warnings, losses = converted.warnings, converted.losses
    if source.spec.machine_naming != _NO_NAMING:
        lost = dropped("spec.machineNaming", source.spec.machine_naming, by="the Machine API")
        losses = (*losses, str(lost))
    if converted.machine is None:
        return ConvertedSetToMachineAPI(errors=converted.errors, warnings=warnings, losses=losses)

    metadata = source.metadata
    machine_set = mapi.MachineSet(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            labels=machine_api_labels(without_tracking(metadata.labels))[0],
            annotations=machine_api_annotations(metadata.annotations)[0],
        ),
        spec=_spec(source.spec, converted.machine.spec),
        status=_status(source.status),
    )
    return ConvertedSetToMachineAPI(machine_set, warnings=warnings, losses=losses)


def _spec(spec: capi.MachineSetSpec, machine: mapi.MachineSpec) -> mapi.MachineSetSpec:
    template = spec.template
    return mapi.MachineSetSpec(
        replicas=spec.replicas,
        min_ready_seconds=template.spec.min_ready_seconds or 0,
        delete_policy=spec.deletion.order,
        selector=LabelSelector(
            match_labels=machine_api_labels(spec.selector.match_labels)[0],
            match_expressions=spec.selector.match_expressions,
        ),
        template=mapi.MachineTemplate(
            metadata=mapi.NestedMeta(
                labels=machine_api_labels(template.metadata.labels)[0],
                annotations=machine_api_annotations(template.metadata.annotations)[0],
            ),
            spec=machine,
        ),
    )


def _status(status: capi.MachineSetStatus) -> mapi.MachineSetStatus:
    old = status.deprecated.v1beta1 if status.deprecated is not None else None
    old = old or _NO_OLD_STATUS
    return mapi.MachineSetStatus(
        replicas=status.replicas or 0,
        fully_labeled_replicas=old.fully_labeled_replicas,
        ready_replicas=old.ready_replicas,
        available_replicas=old.available_replicas,
        label_selector=status.selector,
        error_reason=old.failure_reason,
        error_message=old.failure_message,
    )
