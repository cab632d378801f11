"""The platform-independent part of a Machine, from Cluster API to the Machine API.

A platform converts its infrastructure machine into a provider spec, then calls `machine_api_machine` for the rest:
metadata, lifecycle hooks, status, and the errors of what the Machine API cannot express.
"""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct, field

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, MACHINE_API_NAMESPACE
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, aggregate, invalid
from windlass.machine_sync.conversion.metadata import INSTANCE_STATE, machine_api_annotations, machine_api_labels

_PHASES: Final = {
    "Deleted": "Deleting",
    **{phase: phase for phase in ("Provisioning", "Provisioned", "Running", "Deleting", "Failed")},
}
ADDRESS_TYPES: Final = frozenset({"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"})
"""The types of addresses that both APIs know."""

DELETION_TIMEOUT: Final = 10
"""Seconds that every mirrored Machine of Cluster API waits for its Node to go; the Machine API has no such field."""

_ZERO_TIME: Final = "0001-01-01T00:00:00Z"

# Immutable and equal for most machines, so one serves them all.
_NO_NESTED_META: Final = mapi.NestedMeta()
_NO_REFERENCE: Final = capi.ContractReference()


class Converted(Struct, frozen=True, gc=False):
    """The outcome of a conversion: the machine, or why there is none.

    `errors` are all that were found, in the order of the fields that they concern, repetitions included; if there are
    any, `machine` is None. `warnings` do not prevent a conversion, and are given with errors too.
    """

    machine: mapi.Machine | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """All errors as one text, each once: the message of a condition. Empty if there are none."""
        return aggregate(self.errors)


class ProviderPart(Struct, frozen=True, gc=False):
    """What a platform contributes to a Machine.

    `labels` are added to those of the Machine unless empty; `instance_state` becomes an annotation unless empty.
    `found` is what was wrong with the infrastructure machine, and what of it is lost.
    """

    spec: Any
    status: Any = None
    labels: tuple[tuple[str, str], ...] = ()
    instance_state: str = ""
    found: Findings = field(default_factory=Findings)


def machine_api_machine(source: capi.Machine, provider: ProviderPart) -> Converted:
    """The Machine API's Machine for `source`, with what the platform contributes.

    >>> machine = capi.Machine(metadata=ObjectMeta(name="worker-0"), spec=capi.MachineSpec(version="v1.31.0"))
    >>> machine_api_machine(machine, ProviderPart(spec={})).error
    'spec.version: Invalid value: "v1.31.0": version is not supported'
    """
    errors = provider.found.errors
    status, address_errors = _status(source.status, provider.status)
    unsupported = _unsupported(source.spec)
    _lose(source.spec, provider.found)
    warnings = tuple(map(str, (*provider.found.warnings, *provider.found.losses)))
    if errors or address_errors or unsupported:
        return Converted(errors=tuple(map(str, [*errors, *address_errors, *unsupported])), warnings=warnings)

    metadata = source.metadata
    labels, nested_labels = machine_api_labels(metadata.labels)
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
            provider_spec=mapi.ProviderSpec(value=provider.spec),
            provider_id=source.spec.provider_id or None,
        ),
        status=status,
    )
    return Converted(machine, (), warnings)


def _status(status: capi.MachineStatus, provider_status: Any) -> tuple[mapi.MachineStatus, list[FieldError]]:
    addresses: list[mapi.Address] = []
    errors: list[FieldError] = []
    for address in status.addresses:
        if address.type in ADDRESS_TYPES:
            addresses.append(mapi.Address(type=address.type, address=address.address))
        else:
            errors.append(invalid("status.addresses", address.type, f"{address.type} unrecognized address type"))

    deprecated = status.deprecated.v1beta1 if status.deprecated else None
    node = status.node_ref.name
    converted = mapi.MachineStatus(
        node_ref=mapi.NodeReference(api_version="v1", kind="Node", name=node) if node else None,
        last_updated=printed_time(status.last_updated) if status.last_updated else None,
        error_reason=deprecated.failure_reason if deprecated else None,
        error_message=deprecated.failure_message if deprecated else None,
        provider_status=provider_status,
        addresses=addresses,
        phase=_PHASES.get(status.phase),
    )
    return converted, errors


def printed_time(text: str) -> str | None:
    """`text` as the API server prints times: in UTC, whole seconds. The zero time is no time."""
    if len(text) != len(_ZERO_TIME) or text[-1] != "Z":
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                return text
            text = f"{moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z"
        except (ValueError, OverflowError):
            return text
    return None if text == _ZERO_TIME else text


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


def _lose(spec: capi.MachineSpec, found: Findings) -> None:
    """Add a loss for each field that the Machine API has no place for.

    Not for minReadySeconds: a MachineSet's Machines have it from their set, which keeps it.
    """
    if spec.bootstrap.config_ref != _NO_REFERENCE:
        found.lose("spec.bootstrap.configRef", spec.bootstrap.config_ref, by="the Machine API")
    if spec.readiness_gates:
        found.lose("spec.readinessGates", spec.readiness_gates, by="the Machine API")
    if spec.taints:
        found.lose("spec.taints", spec.taints, by="the Machine API")


def _unsupported_timeout(name: str, seconds: int) -> FieldError:
    return invalid(f"spec.deletion.{name}", seconds, f"{name} is not supported")
