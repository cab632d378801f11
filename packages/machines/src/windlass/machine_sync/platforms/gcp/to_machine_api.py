"""Converts a GCPMachine and its GCPCluster to a GCPMachineProviderSpec.

What the Machine API's webhook would refuse is an error: the mirror could not be written. Provider ID and Secrets come
from the Machine.
"""

from typing import Final

from windlass.api import capg, capi, mapi_gcp
from windlass.api.config import Infrastructure
from windlass.api.meta import ConvertedCondition, LocalReference, ObjectMeta
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json, required
from windlass.machine_sync.conversion.machine_to_machine_api import ProviderPart
from windlass.machine_sync.conversion.metadata import (
    CONTROL_PLANE_LABEL,
    INSTANCE_TYPE_LABEL,
    REGION_LABEL,
    ZONE_LABEL,
)
from windlass.machine_sync.platforms.gcp import words
from windlass.machine_sync.platforms.gcp.accelerators import gpus, on_host_maintenance
from windlass.machine_sync.platforms.gcp.accounts import service_accounts
from windlass.machine_sync.platforms.gcp.cluster import instance_group_errors, network
from windlass.machine_sync.platforms.gcp.disks import disks
from windlass.machine_sync.platforms.gcp.labels_and_tags import (
    machine_labels,
    machine_metadata,
    machine_resource_tags,
    network_tags,
)
from windlass.machine_sync.platforms.gcp.losses import lose_of_infra_machine

_STANDARD: Final = "Standard"
_MODELS: Final = frozenset({words.SPOT, _STANDARD})
_CREDENTIALS: Final = LocalReference(name="gcp-cloud-credentials")
_NO_METADATA: Final = ObjectMeta()
_NO_SHIELD: Final = capg.ShieldedInstanceConfig()
_CREATED: Final = ConvertedCondition(
    type="MachineCreated",
    status="True",
    reason="MachineCreationSucceeded",
    message="machine successfully created",
)


def provider_part(
    machine: capi.Machine,
    infra_machine: capg.GCPMachine,
    infra_cluster: capg.GCPCluster,
    infrastructure: Infrastructure | None,
) -> ProviderPart:
    """The part of the Machine API Machine that is specific to Google Cloud."""
    spec, cluster, found = infra_machine.spec, infra_cluster.spec, Findings()
    state = infra_machine.status.instance_state or ""
    provider_spec = _provider_spec(machine, spec, cluster, found)
    lose_of_infra_machine(spec, cluster, found, name=machine.spec.cluster_name)
    return ProviderPart(
        spec=provider_spec,
        status=_provider_status(machine, spec, state),
        labels=(
            (INSTANCE_TYPE_LABEL, spec.instance_type),
            (REGION_LABEL, cluster.region),
            (ZONE_LABEL, machine.spec.failure_domain),
        ),
        instance_state=state,
        found=found,
    )


def _provider_spec(
    machine: capi.Machine, spec: capg.GCPMachineSpec, cluster: capg.GCPClusterSpec, found: Findings
) -> mapi_gcp.GCPMachineProviderSpec:
    errors, name, zone = found.errors, machine.spec.cluster_name, machine.spec.failure_domain
    control_plane = CONTROL_PLANE_LABEL in machine.metadata.labels
    # The order of these calls is the order in which errors are reported.
    labels = machine_labels(spec, cluster=name, infra_cluster=cluster)
    interface = _interface(spec, cluster, errors)
    converted_disks = disks(spec, errors, labels=labels, project=cluster.project)
    accounts = service_accounts(spec.service_accounts, errors)
    _examine_zone(zone, cluster.region, errors)
    converted_gpus = gpus(spec, errors, zone=zone, project=cluster.project)
    maintenance = on_host_maintenance(spec, found)
    shielded = spec.shielded_instance_config or _NO_SHIELD
    _examine_shield(shielded, errors)
    if control_plane:
        errors += instance_group_errors(cluster)
    if cluster.credentials_ref is not None:
        detail = "cannot be converted to CredentialsSecret"
        errors.append(invalid_json("GCPCluster.spec.credentialsRef", cluster.credentials_ref, detail))
    metadata = machine_metadata(spec.additional_metadata, errors)
    _examine_words(spec, shielded, errors)

    user_data = machine.spec.bootstrap.data_secret_name
    is_spot = spec.provisioning_model == words.SPOT
    return mapi_gcp.GCPMachineProviderSpec(
        kind="GCPMachineProviderSpec",
        api_version="machine.openshift.io/v1beta1",
        metadata=_NO_METADATA,
        user_data_secret=LocalReference(name=user_data) if user_data else None,
        credentials_secret=_CREDENTIALS,
        can_ip_forward=spec.ip_forwarding != words.DISABLED,
        disks=converted_disks,
        labels=labels,
        gcp_metadata=metadata,
        network_interfaces=[interface],
        service_accounts=accounts,
        tags=network_tags(spec.additional_network_tags, cluster=name, control_plane=control_plane),
        machine_type=spec.instance_type,
        region=cluster.region,
        zone=zone,
        project_id=cluster.project,
        gpus=converted_gpus,
        preemptible=spec.preemptible and not is_spot,
        provisioning_model=words.SPOT if is_spot else None,
        on_host_maintenance=maintenance,
        shielded_instance_config=mapi_gcp.ShieldedInstanceConfig(
            secure_boot=shielded.secure_boot,
            virtualized_trusted_platform_module=shielded.virtualized_trusted_platform_module,
            integrity_monitoring=shielded.integrity_monitoring,
        ),
        confidential_compute=spec.confidential_compute or "",
        resource_manager_tags=machine_resource_tags(spec, cluster),
    )


def _provider_status(machine: capi.Machine, spec: capg.GCPMachineSpec, state: str) -> mapi_gcp.GCPMachineProviderStatus:
    provider_id = machine.spec.provider_id or spec.provider_id or ""
    # In both APIs the instance has the name of the machine.
    instance = provider_id.rpartition("/")[2] or (machine.metadata.name if state else "")
    return mapi_gcp.GCPMachineProviderStatus(
        instance_id=instance or None, instance_state=state or None, conditions=[_CREATED] if state else []
    )


def _interface(
    spec: capg.GCPMachineSpec, cluster: capg.GCPClusterSpec, errors: list[FieldError]
) -> mapi_gcp.NetworkInterface:
    if spec.alias_ip_ranges:
        errors.append(invalid_json("spec.aliasIPRanges", spec.alias_ip_ranges, "aliasIPRanges are not supported"))
    if not spec.subnet:
        errors.append(required("spec.subnet", "the Machine API needs the name of a subnetwork"))
    name, project = network(cluster)
    return mapi_gcp.NetworkInterface(
        public_ip=bool(spec.public_ip),
        network=name,
        project_id=project if project != cluster.project else "",
        subnetwork=spec.subnet or "",
    )


def _examine_zone(zone: str, region: str, errors: list[FieldError]) -> None:
    if not zone:
        errors.append(required("spec.failureDomain", "the Machine API needs a zone"))
    elif zone.rpartition("-")[0] != region:
        errors.append(invalid("spec.failureDomain", zone, f'zone not in region "{region}"'))


def _examine_shield(shielded: capg.ShieldedInstanceConfig, errors: list[FieldError]) -> None:
    off, monitoring = shielded.virtualized_trusted_platform_module == words.DISABLED, shielded.integrity_monitoring
    if off and monitoring != words.DISABLED:
        detail = "must be Disabled if virtualizedTrustedPlatformModule is"
        errors.append(invalid_json("spec.shieldedInstanceConfig.integrityMonitoring", monitoring, detail))


def _examine_words(spec: capg.GCPMachineSpec, shielded: capg.ShieldedInstanceConfig, errors: list[FieldError]) -> None:
    words.examine(
        (
            ("provisioningModel", spec.provisioning_model, _MODELS),
            ("ipForwarding", spec.ip_forwarding, words.SWITCH),
            ("onHostMaintenance", spec.on_host_maintenance, words.MAINTENANCE),
            ("shieldedInstanceConfig.secureBoot", shielded.secure_boot, words.SWITCH),
            (
                "shieldedInstanceConfig.virtualizedTrustedPlatformModule",
                shielded.virtualized_trusted_platform_module,
                words.SWITCH,
            ),
            ("shieldedInstanceConfig.integrityMonitoring", shielded.integrity_monitoring, words.SWITCH),
            ("confidentialCompute", spec.confidential_compute, words.CONFIDENTIAL_COMPUTE),
        ),
        errors,
        below="spec",
    )
