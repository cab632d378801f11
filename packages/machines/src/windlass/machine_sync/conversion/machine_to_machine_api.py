"""Converts the platform-independent part of a Machine from Cluster API to the Machine API.

A platform converts its infra machine into a provider spec. The rest is here: metadata, lifecycle hooks,
status, and errors for fields that the Machine API cannot express.
"""

from typing import Any, Final

from msgspec import Struct, field

from windlass.api import capi, mapi
from windlass.api.core import NodeAddress, ObjectReference
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, MACHINE_API_NAMESPACE
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid
from windlass.machine_sync.conversion.machine_status import converted_addresses, printed_time
from windlass.machine_sync.conversion.metadata import (
    INSTANCE_STATE,
    machine_api_annotations,
    machine_api_labels,
    of_a_set,
    without_tracking,
)
from windlass.machine_sync.conversion.result import Conversion
from windlass.machine_sync.conversion.taints import machine_api_taints

_PHASES: Final = {
    "Deleted": "Deleting",
    **{phase: phase for phase in ("Provisioning", "Provisioned", "Running", "Deleting", "Failed")},
}
DELETION_TIMEOUT: Final = 10
"""Seconds that every mirrored Machine of Cluster API waits for its Node to be deleted; the Machine API has no such
field."""

# Immutable and equal for most machines, so one serves them all.
_NO_NESTED_META: Final = mapi.NestedMeta()
_NO_REFERENCE: Final = capi.ContractReference()


class ConvertedToMachineAPI(Conversion, frozen=True, gc=False):
    """The machine, or the errors. An error that was found twice is listed twice."""

    machine: mapi.Machine | None = None


class ProviderPart(Struct, frozen=True, gc=False):
    """The platform's part of a Machine.

    `labels` are added to those of the Machine unless empty; `instance_state` becomes an annotation unless empty.
    `found` has the errors, warnings and losses of the infra machine.
    """

    spec: Any
    status: Any = None
    labels: tuple[tuple[str, str], ...] = ()
    instance_state: str = ""
    found: Findings = field(default_factory=Findings)


def machine_api_machine(source: capi.Machine, provider: ProviderPart) -> ConvertedToMachineAPI:
    """The Machine API's Machine for `source`, with the platform's part.

    >>> machine = capi.Machine(metadata=ObjectMeta(name="worker-0"), spec=capi.MachineSpec(version="v1.31.0"))
    >>> machine_api_machine(machine, ProviderPart(spec={})).error
    'spec.version: Invalid value: "v1.31.0": version is not supported'
    """
    errors = provider.found.errors
    status, address_errors = _status(source.status, provider.status)
    unsupported = _unsupported(source.spec)
    _lose(source, provider.found)
    taints = machine_api_taints(source.spec.taints, provider.found)
    warnings, losses = tuple(map(str, provider.found.warnings)), tuple(map(str, provider.found.losses))
    if errors or address_errors or unsupported:
        texts = tuple(map(str, [*errors, *address_errors, *unsupported]))
        return ConvertedToMachineAPI(errors=texts, warnings=warnings, losses=losses)

    metadata = source.metadata
    labels, nested_labels = machine_api_labels(
        metadata.labels if of_a_set(metadata.owner_references) else without_tracking(metadata.labels)
    )
    for key, value in provider.labels:
        if value:
            labels[key] = value
    annotations, nested_annotations, hooks = machine_api_annotations(metadata.annotations)
    if provider.instance_state:
        annotations[INSTANCE_STATE] = provider.instance_state

    machine = mapi.Machine(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=MACHINE_API_NAMESPACE,
            labels=labels,
            annotations=annotations,
            finalizers=[MACHINE_API_FINALIZER],
        ),
        spec=mapi.MachineSpec(
            metadata=mapi.NestedMeta(labels=nested_labels, annotations=nested_annotations)
            if nested_labels or nested_annotations
            else _NO_NESTED_META,
            lifecycle_hooks=hooks,
            taints=taints,
            provider_spec=mapi.ProviderSpec(value=provider.spec),
            provider_id=source.spec.provider_id or None,
        ),
        status=status,
    )
    return ConvertedToMachineAPI(machine, warnings=warnings, losses=losses)


def _status(status: capi.MachineStatus, provider_status: Any) -> tuple[mapi.MachineStatus, list[FieldError]]:
    addresses, errors = converted_addresses(status.addresses, NodeAddress)
    deprecated = status.deprecated.v1beta1 if status.deprecated else None
    node = status.node_ref.name
    converted = mapi.MachineStatus(
        node_ref=ObjectReference(api_version="v1", kind="Node", name=node) if node else None,
        last_updated=printed_time(status.last_updated) if status.last_updated else None,
        error_reason=deprecated.failure_reason if deprecated else None,
        error_message=deprecated.failure_message if deprecated else None,
        provider_status=provider_status,
        addresses=addresses,
        phase=_PHASES.get(status.phase),
    )
    return converted, errors


def _unsupported(spec: capi.MachineSpec) -> list[FieldError]:
    """An error for each field that the Machine API cannot express."""
    deletion = spec.deletion
    drain = deletion.node_drain_timeout_seconds
    detach = deletion.node_volume_detach_timeout_seconds
    delete = deletion.node_deletion_timeout_seconds
    errors: list[FieldError] = []
    if spec.version:
        errors.append(invalid("spec.version", spec.version, "version is not supported"))
    if drain is not None:
        errors.append(_unsupported_timeout("nodeDrainTimeoutSeconds", drain))
    if detach is not None:
        errors.append(_unsupported_timeout("nodeVolumeDetachTimeoutSeconds", detach))
    if delete is not None and delete != DELETION_TIMEOUT:
        errors.append(_unsupported_timeout("nodeDeletionTimeoutSeconds", delete))
    return errors


def _lose(machine: capi.Machine, found: Findings) -> None:
    """Add a loss for each field that the Machine API has no place for.

    A Machine of a MachineSet does not lose minReadySeconds: the set still has it.
    """
    spec = machine.spec
    if spec.min_ready_seconds and not of_a_set(machine.metadata.owner_references):
        found.lose("spec.minReadySeconds", spec.min_ready_seconds, by="the Machine API")
    if spec.bootstrap.config_ref != _NO_REFERENCE:
        found.lose("spec.bootstrap.configRef", spec.bootstrap.config_ref, by="the Machine API")
    if spec.readiness_gates:
        found.lose("spec.readinessGates", spec.readiness_gates, by="the Machine API")


def _unsupported_timeout(name: str, seconds: int) -> FieldError:
    return invalid(f"spec.deletion.{name}", seconds, f"{name} is not supported")
