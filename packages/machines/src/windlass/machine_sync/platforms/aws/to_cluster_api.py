"""Converts an AWSMachineProviderConfig to an AWSMachine.

Fields of Cluster API that the Machine API does not have get the values that OpenShift's machines have: instance
metadata options, Ignition with unencrypted user data, IPv6 addresses and DNS names by the cluster's IP family.
"""

from typing import Any, Final

from windlass.api import capa, capi, mapi, mapi_aws
from windlass.api.config import AWSPlatformStatus, Infrastructure
from windlass.api.meta import ObjectMeta, SeverityCondition
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json
from windlass.machine_sync.conversion.machine_status import converted_addresses
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.conversion.metadata import is_control_plane
from windlass.machine_sync.conversion.provider_spec import PATH, provider_status
from windlass.machine_sync.platforms.aws.host import host_fields
from windlass.machine_sync.platforms.aws.provider_spec import GO_NAMES
from windlass.machine_sync.platforms.aws.tags import tag_map
from windlass.machine_sync.platforms.aws.volumes import volumes

_ARTICLE: Final = "Please see https://access.redhat.com/articles/7116313 for more details."
_CONFIDENTIAL_COMPUTE: Final = frozenset({"Disabled", "AMDEncryptedVirtualizationNestedPaging"})
_CREDENTIALS: Final = "aws-cloud-credentials"
_HTTP_TOKENS: Final = {"": "optional", "Optional": "optional", "Required": "required"}
_MARKET_TYPES: Final = frozenset({"", "OnDemand", "Spot", "CapacityBlock"})
_NETWORK_INTERFACE_TYPES: Final = {"": "", "ENA": "interface", "EFA": "efa"}
_PRIMARY_IPV6: Final = {"DualStackIPv4Primary": "disabled", "DualStackIPv6Primary": "enabled"}
_NO_CLOUD_INIT: Final = capa.CloudInit()
_NO_METADATA: Final = ObjectMeta()
_NO_PLATFORM: Final = AWSPlatformStatus()
_IGNITION: Final = capa.Ignition(storage_type="UnencryptedUserData")
_RESOURCE_NAMES: Final = capa.PrivateDNSName(
    enable_resource_name_dns_aaaa_record=True, enable_resource_name_dns_a_record=True, hostname_type="resource-name"
)
_METADATA_OPTIONS: Final = {
    tokens: capa.InstanceMetadataOptions(
        http_endpoint="enabled",
        http_protocol_ipv6="disabled",
        http_put_response_hop_limit=1,
        http_tokens=tokens,
        instance_metadata_tags="disabled",
    )
    for tokens in ("optional", "required")
}

# A nested struct is omitted when it is the very default of its field.
_NO_CPU_OPTIONS: Final = capa.AWSMachineSpec().cpu_options

_UNKNOWN: Final = {
    "status": "Unknown",
    "severity": "Error",
    "message": "See Machine API Machine.Status.Providerstatus conditions",
}
_IS_RUNNING: Final = [
    SeverityCondition(type="Ready", status="True"),
    SeverityCondition(type="InstanceReady", status="True"),
]
_NOT_RUNNING: Final = [
    SeverityCondition(type="Ready", **_UNKNOWN),
    SeverityCondition(type="InstanceReady", **_UNKNOWN),
]


def infra_machine_part(
    machine: mapi.Machine,
    config: mapi_aws.AWSMachineProviderConfig,
    infrastructure: Infrastructure | None,
    infra_cluster: capa.AWSCluster | None,
) -> InfraMachinePart:
    """The AWSMachine, and the AWS-specific fields of the Cluster API Machine."""
    platform = infrastructure.status.platform_status if infrastructure is not None else None
    aws = platform.aws if platform is not None else None
    found = Findings()
    provider_id_errors: list[FieldError] = []
    instance_id = _instance_id(machine.spec.provider_id, provider_id_errors)
    spec = _spec(machine, config, found, aws=aws or _NO_PLATFORM, instance_id=instance_id)
    status, status_errors = _status(machine.status, config)
    secret = config.user_data_secret
    return InfraMachinePart(
        spec=spec,
        status=status,
        failure_domain=config.placement.availability_zone,
        user_data_secret=secret.name if secret is not None else "",
        found=found,
        status_errors=status_errors,
        provider_id_errors=provider_id_errors,
    )


def _spec(
    machine: mapi.Machine,
    config: mapi_aws.AWSMachineProviderConfig,
    found: Findings,
    *,
    aws: AWSPlatformStatus,
    instance_id: str | None,
) -> capa.AWSMachineSpec:
    # The order of these calls is the order in which errors and warnings are reported.
    root_volume, non_root_volumes = volumes(config.block_devices, found)
    ami = _ami(config.ami, found)
    metadata_options = _metadata_options(config.metadata_service_options.authentication, found)
    if config.market_type not in _MARKET_TYPES:
        detail = "unable to convert market type, unknown value"
        found.errors.append(invalid_json(f"{PATH}.marketType", config.market_type, detail))
    _refuse_unsupported(machine, config, found.errors, aws=aws)
    affinity, host_id, dynamic = host_fields(config.placement.host, found)

    _lost(config, found, aws=aws)
    compute = config.cpu_options.confidential_compute if config.cpu_options is not None else None
    profile = config.iam_instance_profile
    spot = config.spot_market_options
    return capa.AWSMachineSpec(
        provider_id=machine.spec.provider_id or None,
        instance_id=instance_id,
        instance_metadata_options=metadata_options,
        ami=ami,
        instance_type=config.instance_type,
        cpu_options=capa.CPUOptions(confidential_compute=compute)
        if compute in _CONFIDENTIAL_COMPUTE
        else _NO_CPU_OPTIONS,
        additional_tags=tag_map(config.tags),
        iam_instance_profile=(profile.id or "") if profile is not None else "",
        public_ip=config.public_ip,
        additional_security_groups=[_reference(group) for group in config.security_groups],
        subnet=_reference(config.subnet),
        ssh_key_name=config.key_name,
        root_volume=root_volume,
        non_root_volumes=non_root_volumes,
        network_interface_type=_NETWORK_INTERFACE_TYPES.get(config.network_interface_type, ""),
        assign_primary_ipv6=_PRIMARY_IPV6.get(aws.ip_family),
        cloud_init=_NO_CLOUD_INIT,
        ignition=_IGNITION,
        spot_market_options=None if spot is None else capa.SpotMarketOptions(max_price=spot.max_price),
        placement_group_name=config.placement_group_name,
        placement_group_partition=config.placement_group_partition or 0,
        tenancy=config.placement.tenancy,
        private_dns_name=_RESOURCE_NAMES if aws.ip_family in _PRIMARY_IPV6 else None,
        capacity_reservation_id=config.capacity_reservation_id or None,
        market_type=config.market_type,
        host_id=host_id,
        host_affinity=affinity,
        dynamic_host_allocation=dynamic,
    )


def _status(
    status: mapi.MachineStatus, config: mapi_aws.AWSMachineProviderConfig
) -> tuple[capa.AWSMachineStatus | None, list[FieldError]]:
    provider, errors = provider_status(status.provider_status, mapi_aws.AWSMachineProviderStatus, GO_NAMES)
    if provider is None:
        return None, errors
    # Wrong addresses are reported with those of the Machine, which are the same.
    addresses, _ = converted_addresses(status.addresses, capi.Address)
    state = provider.instance_state or ""
    host = provider.dedicated_host
    return capa.AWSMachineStatus(
        ready=state == "running",
        interruptible=config.spot_market_options is not None,
        addresses=addresses,
        instance_state=state,
        conditions=_IS_RUNNING if state == "running" else _NOT_RUNNING,
        dedicated_host=capa.DedicatedHostStatus(id=host.id) if host is not None and host.id else None,
    ), []


def _ami(ami: mapi_aws.ResourceReference, found: Findings) -> capa.AMIReference:
    if ami.arn is not None:
        detail = "unable to convert AMI ARN reference. Not supported in CAPI"
        found.errors.append(invalid_json(f"{PATH}.ami.arn", ami.arn, detail))
    elif ami.filters:
        detail = "unable to convert AMI Filters reference. Not supported in CAPI"
        found.errors.append(invalid_json(f"{PATH}.ami.filters", ami.filters, detail))
    elif ami.id is None:
        found.errors.append(invalid_json(f"{PATH}.ami", ami, "unable to find a valid AMI resource reference"))
    return capa.AMIReference(id=ami.id)


def _metadata_options(authentication: str, found: Findings) -> capa.InstanceMetadataOptions | None:
    tokens = _HTTP_TOKENS.get(authentication)
    if tokens is None:
        path = f"{PATH}.metadataServiceOptions.authentication"
        found.errors.append(invalid_json(path, authentication, "unsupported authentication value"))
        return None
    return _METADATA_OPTIONS[tokens]


def _refuse_unsupported(
    machine: mapi.Machine,
    config: mapi_aws.AWSMachineProviderConfig,
    errors: list[FieldError],
    *,
    aws: AWSPlatformStatus,
) -> None:
    """Add an error for each field that Cluster API does not have or that contradicts the cluster."""
    credentials = config.credentials_secret
    if credentials is not None and credentials.name != _CREDENTIALS:
        default = f'credential secret does not match the default of "{_CREDENTIALS}"'
        detail = f"{default}, manual conversion is necessary. {_ARTICLE}"
        errors.append(invalid(f"{PATH}.credentialsSecret", credentials.name, detail))
    if aws.region and config.placement.region != aws.region:
        detail = f'placement.region should match infrastructure status value "{aws.region}"'
        errors.append(invalid(f"{PATH}.placement.region", config.placement.region, detail))
    if config.metadata != _NO_METADATA:
        errors.append(invalid_json(f"{PATH}.metadata", config.metadata, "metadata is not supported"))
    if config.device_index != 0:
        errors.append(invalid(f"{PATH}.deviceIndex", config.device_index, "deviceIndex must be 0 or unset"))
    kind = config.network_interface_type
    if kind not in _NETWORK_INTERFACE_TYPES:
        detail = "networkInterface type must be one of ENA, EFA or omitted, unsupported value"
        errors.append(invalid_json(f"{PATH}.networkInterfaceType", kind, detail))
    if config.load_balancers and not is_control_plane(machine):
        detail = "loadBalancers are not supported for non-control plane machines"
        errors.append(invalid_json(f"{PATH}.loadBalancers", config.load_balancers, detail))


def _instance_id(provider_id: str | None, errors: list[FieldError]) -> str | None:
    if not provider_id:
        return None
    # Upstream looks for `i-.*$`, which in Go ends at the end of the text and has no newline. Python would read on from
    # every `i-`.
    line = provider_id.rpartition("/")[2].rpartition("\n")[2]
    if (at := line.find("i-")) < 0:
        errors.append(invalid("spec.providerID", provider_id, "unable to find InstanceID in ProviderID"))
        return None
    return line[at:]


def _reference(reference: mapi_aws.ResourceReference) -> capa.ResourceReference:
    return capa.ResourceReference(
        id=reference.id,
        filters=[capa.Filter(name=one.name, values=one.values or None) for one in reference.filters],
    )


def _lost(config: mapi_aws.AWSMachineProviderConfig, found: Findings, *, aws: AWSPlatformStatus) -> None:
    """Add a warning for each field that is set and has no place in an AWSMachine.

    The region is a loss only if Infrastructure names none: then the cluster's region may be another one.
    """
    profile = config.iam_instance_profile
    references: list[tuple[str, Any]] = [
        ("placement.region", "" if aws.region else config.placement.region),
        ("subnet.arn", config.subnet.arn),
        *((f"securityGroups[{index}].arn", group.arn) for index, group in enumerate(config.security_groups)),
    ]
    if profile is not None:
        references += [("iamInstanceProfile.arn", profile.arn), ("iamInstanceProfile.filters", profile.filters)]
    if config.cpu_options is not None and config.cpu_options.confidential_compute not in _CONFIDENTIAL_COMPUTE:
        references.append(("cpuOptions.confidentialCompute", config.cpu_options.confidential_compute))
    for name, value in references:
        if value:
            found.lose(f"{PATH}.{name}", value)
