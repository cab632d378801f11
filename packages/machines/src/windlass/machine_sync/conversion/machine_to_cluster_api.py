"""Converts the platform-independent part of a Machine from the Machine API to Cluster API.

A platform converts the provider spec into the spec of its infra machine. The rest is here: metadata, status,
and errors for fields that Cluster API cannot express.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import ConvertedCondition, ObjectMeta, SeverityCondition
from windlass.kube.shorten import shortened
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER, CLUSTER_API_NAMESPACE
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, dropped, invalid
from windlass.machine_sync.conversion.machine_status import converted_addresses, printed_time
from windlass.machine_sync.conversion.machine_to_machine_api import DELETION_TIMEOUT
from windlass.machine_sync.conversion.metadata import (
    CLUSTER_NAME_LABEL,
    cluster_api_annotations,
    cluster_api_labels,
    hook_annotations,
    of_a_set,
    without_notes,
    without_tracking,
)
from windlass.machine_sync.conversion.result import Conversion
from windlass.machine_sync.conversion.taints import cluster_api_taints

INFRA_GROUP: Final = "infrastructure.cluster.x-k8s.io"

PROVISIONED_PHASES: Final = frozenset({"Provisioned", "Running", "Deleting"})
"""Phases of a Machine API Machine in which Cluster API considers its infrastructure provisioned."""
_BOOTSTRAPPED: Final = frozenset({"Running", "Deleting"})
_DELETION: Final = capi.MachineDeletion(node_deletion_timeout_seconds=DELETION_TIMEOUT)

# A nested struct is omitted when it is the very default of its field.
_FAILURE_MESSAGE_LIMIT: Final = 10_240
"""Characters, by the CRDs of Cluster API v1.14."""
_NO_BOOTSTRAP: Final = capi.MachineSpec().bootstrap
_NO_NODE: Final = capi.MachineStatus().node_ref
_NO_INITIALIZATION: Final = capi.MachineStatus().initialization


class ConvertedToClusterAPI(Conversion, frozen=True, gc=False):
    """The machine and its infra machine, or the errors. Each error is listed once."""

    machine: capi.Machine | None = None
    infra_machine: Any = None


class InfraMachinePart(Struct, frozen=True, gc=False):
    """The platform's part of a Machine, and the spec and status of its infra machine; `status` may be None.

    `labels` are for the Machine of Cluster API.

    Errors are reported in this order: those found in the provider spec, `status_errors`, those of the Machine's own
    fields, `provider_id_errors`.
    """

    spec: Any
    found: Findings
    status: Any = None
    failure_domain: str = ""
    user_data_secret: str = ""
    labels: Mapping[str, str] = {}
    status_errors: list[FieldError] = []
    provider_id_errors: list[FieldError] = []


def cluster_api_machine(
    source: mapi.Machine,
    infra: InfraMachinePart,
    *,
    kind: type[Any],
    infrastructure: Infrastructure | None,
    unfit: Iterable[FieldError] = (),
    unknown: Iterable[FieldError] = (),
) -> ConvertedToClusterAPI:
    """The Machine of Cluster API for `source` and its infra machine, with the platform's part.

    `kind` is the type of infra machines. `unfit` says why the Machine does not fit its cluster; these errors come
    first. `unknown` are provider spec fields that its type does not have; only the losses of the Machine itself come
    after these.
    """
    cluster = infrastructure.status.infrastructure_name if infrastructure is not None else ""
    status, address_errors = _status(source)
    taints, taint_errors, taint_losses = cluster_api_taints(source.spec.taints)
    errors = [
        *unfit,
        *infra.found.errors,
        *infra.status_errors,
        *address_errors,
        *unsupported_names("spec.metadata", source.spec.metadata),
        *taint_errors,
        *infra.provider_id_errors,
    ]
    if not cluster:
        errors.append(no_infrastructure_name())
    nested = source.spec.metadata
    dropped_fields = [*infra.found.losses, *unknown]
    if nested.owner_references:
        dropped_fields.append(dropped("spec.metadata.ownerReferences", nested.owner_references, by="Cluster API"))
    dropped_fields += taint_losses
    warnings, losses = tuple(map(str, infra.found.warnings)), tuple(map(str, dropped_fields))
    if errors:
        texts = tuple(dict.fromkeys(map(str, errors)))
        return ConvertedToClusterAPI(errors=texts, warnings=warnings, losses=losses)

    name = source.metadata.name
    labels = {**cluster_api_labels(source.metadata.labels), **nested.labels}
    labels = {
        **(labels if of_a_set(source.metadata.owner_references) else without_tracking(labels)),
        **infra.labels,
        CLUSTER_NAME_LABEL: cluster,
    }
    annotations = {
        **cluster_api_annotations(source.metadata.annotations),
        **without_notes(nested.annotations),
        **hook_annotations(source.spec.lifecycle_hooks),
    }
    machine = capi.Machine(
        metadata=ObjectMeta(
            name=name,
            namespace=CLUSTER_API_NAMESPACE,
            labels=labels,
            annotations=annotations,
            finalizers=[CLUSTER_API_FINALIZER],
        ),
        spec=capi.MachineSpec(
            cluster_name=cluster,
            bootstrap=capi.Bootstrap(data_secret_name=infra.user_data_secret)
            if infra.user_data_secret
            else _NO_BOOTSTRAP,
            infrastructure_ref=capi.ContractReference(kind=kind.RESOURCE.kind, name=name, api_group=INFRA_GROUP),
            provider_id=source.spec.provider_id or "",
            failure_domain=infra.failure_domain,
            deletion=_DELETION,
            taints=taints,
        ),
        status=status,
    )
    metadata = ObjectMeta(name=name, namespace=CLUSTER_API_NAMESPACE, labels=labels, annotations=annotations)
    infra_machine = (
        kind(metadata=metadata, spec=infra.spec)
        if infra.status is None
        else kind(metadata=metadata, spec=infra.spec, status=infra.status)
    )
    return ConvertedToClusterAPI(machine, infra_machine, warnings=warnings, losses=losses)


def failure_message(text: str | None) -> str | None:
    """The Machine API's error message, cut to the length that Cluster API's CRDs admit."""
    return None if text is None else shortened(text, _FAILURE_MESSAGE_LIMIT)


def no_infrastructure_name() -> FieldError:
    """The error of a cluster without an infrastructure name."""
    detail = "infrastructure cannot be nil and infrastructure.Status.InfrastructureName cannot be empty"
    return invalid("infrastructure.status.infrastructureName", "", detail)


def _status(source: mapi.Machine) -> tuple[capi.MachineStatus, list[FieldError]]:
    status = source.status
    addresses, errors = converted_addresses(status.addresses, capi.Address)
    phase = status.phase
    node = status.node_ref
    running = phase == "Running"
    provisioned = phase in PROVISIONED_PHASES
    bootstrapped = phase in _BOOTSTRAPPED
    converted = capi.MachineStatus(
        conditions=[
            _AVAILABLE[running],
            _READY[running],
            _BOOTSTRAP_CONFIG_READY[bootstrapped],
            _INFRASTRUCTURE_READY[provisioned],
            DELETING[bool(source.metadata.deletion_timestamp)],
            _NODE_READY[bootstrapped and node is not None],
        ],
        initialization=_NO_INITIALIZATION
        if phase is None
        else capi.MachineInitialization(
            infrastructure_provisioned=provisioned, bootstrap_data_secret_created=bootstrapped
        ),
        node_ref=_NO_NODE if node is None or not node.name else capi.NodeReference(name=node.name),
        last_updated=printed_time(status.last_updated) if status.last_updated else None,
        addresses=addresses,
        phase=phase or "",
        deprecated=capi.MachineDeprecatedStatus(
            v1beta1=capi.MachineV1Beta1Status(
                conditions=[
                    _OLD_READY[running],
                    _OLD_BOOTSTRAP_READY[bootstrapped],
                    _OLD_INFRASTRUCTURE_READY[provisioned],
                ],
                failure_reason=status.error_reason,
                failure_message=failure_message(status.error_message),
            )
        ),
    )
    return converted, errors


def unsupported_names(path: str, metadata: mapi.NestedMeta) -> list[FieldError]:
    """An error for each naming field in metadata inside a spec: only labels and annotations have a counterpart."""
    errors: list[FieldError] = []
    for field, value in (
        ("name", metadata.name),
        ("generateName", metadata.generate_name),
        ("namespace", metadata.namespace),
    ):
        if value:
            errors.append(invalid(f"{path}.{field}", value, f"{field} is not supported"))
    return errors


def condition_pair(kind: str, when_false: str, when_true: str) -> tuple[ConvertedCondition, ConvertedCondition]:
    """The condition of this type when False and when True, with the reason of each: index it with a bool."""
    return (
        ConvertedCondition(type=kind, status="False", reason=when_false),
        ConvertedCondition(type=kind, status="True", reason=when_true),
    )


def _old_condition_pair(kind: str, severity: str, reason: str = "") -> tuple[SeverityCondition, ...]:
    return (
        SeverityCondition(type=kind, status="False", severity=severity, reason=reason),
        SeverityCondition(type=kind, status="True"),
    )


DELETING: Final = condition_pair("Deleting", "NotDeleting", "Deleting")

_AVAILABLE: Final = condition_pair("Available", "NotAvailable", "Available")
_READY: Final = condition_pair("Ready", "NotReady", "Ready")
_BOOTSTRAP_CONFIG_READY: Final = condition_pair("BootstrapConfigReady", "NotReady", "Ready")
_INFRASTRUCTURE_READY: Final = condition_pair("InfrastructureReady", "NotReady", "Ready")
_NODE_READY: Final = condition_pair("NodeReady", "NodeNotReady", "NodeReady")
_OLD_READY: Final = _old_condition_pair("Ready", "Error")
_OLD_BOOTSTRAP_READY: Final = _old_condition_pair("BootstrapReady", "Info")
_OLD_INFRASTRUCTURE_READY: Final = _old_condition_pair("InfrastructureReady", "Info", "WaitingForInfrastructure")
