"""Converts a GCPMachineProviderSpec to a GCPMachine.

Network and projects are those of the GCPCluster in Cluster API; `cluster` checks that the Machine has them. What
Cluster API's provider would stop at, or give another instance for, is an error; the rest that it does not have is a
warning.
"""

from typing import Final

from windlass.api import capg, capi, mapi, mapi_gcp
from windlass.api.config import GCPPlatformStatus, Infrastructure
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion.field_errors import (
    FieldError,
    Findings,
    invalid,
    invalid_json,
    required,
    too_many,
)
from windlass.machine_sync.conversion.machine_status import converted_addresses
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.conversion.metadata import CONTROL_PLANE_LABEL, is_control_plane
from windlass.machine_sync.conversion.provider_spec import PATH, provider_status
from windlass.machine_sync.platforms.gcp import words
from windlass.machine_sync.platforms.gcp.accelerators import guest_accelerators
from windlass.machine_sync.platforms.gcp.accounts import service_account
from windlass.machine_sync.platforms.gcp.disks import infra_disks
from windlass.machine_sync.platforms.gcp.labels_and_tags import (
    additional_labels,
    additional_network_tags,
    infra_metadata,
    infra_resource_tags,
)
from windlass.machine_sync.platforms.gcp.losses import lose_of_machine
from windlass.machine_sync.platforms.gcp.provider_spec import GO_NAMES

CREDENTIALS: Final = "gcp-cloud-credentials"
_OS_LABEL: Final = "machine.openshift.io/os-id"
_WINDOWS: Final = "Windows"
_RUNNING: Final = "RUNNING"
_NO_METADATA: Final = ObjectMeta()
_NO_PLATFORM: Final = GCPPlatformStatus()
_NO_SHIELD: Final = mapi_gcp.ShieldedInstanceConfig()
_RESTART_POLICIES: Final = frozenset({"Always", "Never"})
_MODELS: Final = frozenset({words.SPOT})


def infra_machine_part(
    machine: mapi.Machine,
    config: mapi_gcp.GCPMachineProviderSpec,
    infrastructure: Infrastructure | None,
    infra_cluster: capg.GCPCluster | None,
) -> InfraMachinePart:
    """The GCPMachine, and the fields of the Cluster API Machine that are specific to Google Cloud."""
    status = infrastructure.status if infrastructure is not None else None
    gcp = status.platform_status.gcp if status is not None and status.platform_status is not None else None
    found = Findings()
    infra_status, status_errors = _status(machine.status)
    secret = config.user_data_secret
    return InfraMachinePart(
        spec=_spec(
            machine,
            config,
            found,
            platform=gcp or _NO_PLATFORM,
            cluster=status.infrastructure_name if status is not None else "",
            infra_cluster=infra_cluster,
        ),
        status=infra_status,
        failure_domain=config.zone,
        user_data_secret=secret.name if secret is not None else "",
        labels={CONTROL_PLANE_LABEL: ""} if is_control_plane(machine) else {},
        found=found,
        status_errors=status_errors,
    )


def _spec(
    machine: mapi.Machine,
    config: mapi_gcp.GCPMachineProviderSpec,
    found: Findings,
    *,
    platform: GCPPlatformStatus,
    cluster: str,
    infra_cluster: capg.GCPCluster | None,
) -> capg.GCPMachineSpec:
    errors, control_plane = found.errors, is_control_plane(machine)
    of_cluster = infra_cluster.spec.project if infra_cluster is not None else ""
    project = config.project_id or platform.project_id or of_cluster
    # The order of these calls is the order in which errors are reported.
    _refuse_unsupported(config, errors)
    root, additional_disks = infra_disks(config, found, project=project)
    metadata = infra_metadata(config.gcp_metadata, errors)
    interface = _interface(config, errors)
    account = service_account(config.service_accounts, errors)
    _refuse_outside(machine, config, errors, platform=platform)
    accelerators = guest_accelerators(config, errors)
    _refuse_words(config, errors)

    lose_of_machine(config, found, region=platform.region)
    shielded = config.shielded_instance_config
    return capg.GCPMachineSpec(
        instance_type=config.machine_type,
        subnet=interface.subnetwork or None,
        provider_id=machine.spec.provider_id or None,
        image_family=root.image_family,
        image=root.image,
        additional_labels=additional_labels(
            config.labels, platform=platform, cluster=cluster, infra_cluster=infra_cluster
        ),
        additional_metadata=metadata,
        public_ip=interface.public_ip or None,
        additional_network_tags=additional_network_tags(config.tags, cluster=cluster, control_plane=control_plane),
        resource_manager_tags=infra_resource_tags(config.resource_manager_tags, platform),
        root_device_size=root.size,
        root_device_type=root.type,
        additional_disks=additional_disks,
        service_accounts=account,
        preemptible=config.preemptible,
        provisioning_model=config.provisioning_model or None,
        ip_forwarding="Enabled" if config.can_ip_forward else "Disabled",
        shielded_instance_config=capg.ShieldedInstanceConfig(
            secure_boot=shielded.secure_boot,
            virtualized_trusted_platform_module=shielded.virtualized_trusted_platform_module,
            integrity_monitoring=shielded.integrity_monitoring,
        )
        if shielded != _NO_SHIELD
        else None,
        on_host_maintenance=config.on_host_maintenance or None,
        confidential_compute=config.confidential_compute or None,
        root_disk_encryption_key=root.key,
        guest_accelerators=accelerators,
    )


def _status(status: mapi.MachineStatus) -> tuple[capg.GCPMachineStatus | None, list[FieldError]]:
    provider, errors = provider_status(status.provider_status, mapi_gcp.GCPMachineProviderStatus, GO_NAMES)
    if provider is None or status.provider_status is None:
        return None, errors
    # Wrong addresses are reported with those of the Machine, which are the same.
    addresses, _ = converted_addresses(status.addresses, capi.Address)
    state = provider.instance_state or None
    return capg.GCPMachineStatus(ready=state == _RUNNING, addresses=addresses, instance_state=state), []


def _refuse_unsupported(config: mapi_gcp.GCPMachineProviderSpec, errors: list[FieldError]) -> None:
    """Add an error for each field that Cluster API does not have at all."""
    if config.deletion_protection:
        errors.append(invalid_json(f"{PATH}.deletionProtection", True, "deletionProtection is not supported"))
    credentials = config.credentials_secret
    if credentials is not None and credentials.name != CREDENTIALS:
        default = f'credential secret does not match the default of "{CREDENTIALS}"'
        detail = f"{default}, manual conversion is necessary"
        errors.append(invalid(f"{PATH}.credentialsSecret", credentials.name, detail))
    if config.metadata != _NO_METADATA:
        errors.append(invalid_json(f"{PATH}.metadata", config.metadata, "metadata is not supported"))


def _interface(config: mapi_gcp.GCPMachineProviderSpec, errors: list[FieldError]) -> mapi_gcp.NetworkInterface:
    interfaces, path = config.network_interfaces, f"{PATH}.networkInterfaces"
    if not interfaces:
        errors.append(required(path, "exactly one network interface is needed"))
        return mapi_gcp.NetworkInterface()
    if len(interfaces) > 1:
        errors.append(too_many(path, len(interfaces), 1))
    return interfaces[0]


def _refuse_outside(
    machine: mapi.Machine,
    config: mapi_gcp.GCPMachineProviderSpec,
    errors: list[FieldError],
    *,
    platform: GCPPlatformStatus,
) -> None:
    """Add an error for each reason why the machine cannot be one of the cluster's in Cluster API."""
    if config.target_pools:
        errors.append(invalid_json(f"{PATH}.targetPools", config.target_pools, "targetPools are not supported"))
    if machine.metadata.labels.get(_OS_LABEL) == _WINDOWS:
        detail = "Windows machines are not supported: Cluster API's provider passes user data under another key"
        errors.append(invalid_json("metadata.labels", {_OS_LABEL: _WINDOWS}, detail))
    if platform.region and config.region != platform.region:
        detail = f'region should match infrastructure status value "{platform.region}"'
        errors.append(invalid(f"{PATH}.region", config.region, detail))
    if platform.project_id and config.project_id not in ("", platform.project_id):
        detail = f'projectID should match infrastructure status value "{platform.project_id}"'
        errors.append(invalid(f"{PATH}.projectID", config.project_id, detail))
    if not config.machine_type:
        errors.append(required(f"{PATH}.machineType", "Cluster API needs a machine type"))
    if not config.zone:
        errors.append(required(f"{PATH}.zone", "Cluster API needs a zone"))


def _refuse_words(config: mapi_gcp.GCPMachineProviderSpec, errors: list[FieldError]) -> None:
    if config.preemptible and config.provisioning_model == words.SPOT:
        detail = "preemptible cannot be used together with Spot"
        errors.append(invalid_json(f"{PATH}.provisioningModel", config.provisioning_model, detail))
    shielded = config.shielded_instance_config
    words.examine(
        (
            ("provisioningModel", config.provisioning_model, _MODELS),
            ("onHostMaintenance", config.on_host_maintenance, words.MAINTENANCE),
            ("restartPolicy", config.restart_policy, _RESTART_POLICIES),
            ("shieldedInstanceConfig.secureBoot", shielded.secure_boot, words.SWITCH),
            (
                "shieldedInstanceConfig.virtualizedTrustedPlatformModule",
                shielded.virtualized_trusted_platform_module,
                words.SWITCH,
            ),
            ("shieldedInstanceConfig.integrityMonitoring", shielded.integrity_monitoring, words.SWITCH),
            ("confidentialCompute", config.confidential_compute, words.CONFIDENTIAL_COMPUTE),
        ),
        errors,
        below=PATH,
    )
