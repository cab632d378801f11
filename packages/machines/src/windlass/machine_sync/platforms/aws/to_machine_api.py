"""Converts an AWSMachine and its AWSCluster to an AWSMachineProviderConfig.

Fields that the Machine API does not have are errors, with two exceptions: `losses`, and provider ID and instance ID,
which conversion in the other direction restores from the Machine.
"""

from typing import Final

from windlass.api import capa, capi, mapi_aws
from windlass.api.config import Infrastructure
from windlass.api.integers import MAX_INT32
from windlass.api.meta import ConvertedCondition, LocalReference, ObjectMeta
from windlass.capability.goquote import quote
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json
from windlass.machine_sync.conversion.machine_to_machine_api import ProviderPart
from windlass.machine_sync.conversion.metadata import (
    CONTROL_PLANE_LABEL,
    INSTANCE_TYPE_LABEL,
    REGION_LABEL,
    ZONE_LABEL,
)
from windlass.machine_sync.platforms.aws import load_balancers
from windlass.machine_sync.platforms.aws.host import host_placement
from windlass.machine_sync.platforms.aws.losses import find_losses
from windlass.machine_sync.platforms.aws.tags import tag_list
from windlass.machine_sync.platforms.aws.volumes import block_devices

_ARTICLE: Final = "Please see https://access.redhat.com/articles/7116313 for more details."
_AUTHENTICATION: Final = {"": "", "optional": "Optional", "required": "Required"}
_CONFIDENTIAL_COMPUTE: Final = frozenset({"Disabled", "AMDEncryptedVirtualizationNestedPaging"})
_MARKET_TYPES: Final = frozenset({"", "OnDemand", "Spot", "CapacityBlock"})
_NETWORK_INTERFACE_TYPES: Final = {"": "", "interface": "ENA", "efa": "EFA"}
_TENANCIES: Final = frozenset({"", "default", "dedicated", "host"})

_CREDENTIALS: Final = LocalReference(name="aws-cloud-credentials")
_NO_CLOUD_INIT: Final = capa.CloudInit()
_NO_METADATA: Final = ObjectMeta()
_NO_REFERENCE: Final = mapi_aws.ResourceReference()

_CREATED: Final = ConvertedCondition(
    type="MachineCreation",
    status="True",
    reason="MachineCreationSucceeded",
    message="Machine successfully created",
)
_NOT_CREATED: Final = ConvertedCondition(
    type="MachineCreation",
    status="False",
    reason="MachineCreationFailed",
    message="See AWSMachine conditions.",
)


def provider_part(
    machine: capi.Machine,
    infra_machine: capa.AWSMachine,
    infra_cluster: capa.AWSCluster,
    infrastructure: Infrastructure | None,
) -> ProviderPart:
    """The AWS-specific part of the Machine API Machine."""
    spec, status, found = infra_machine.spec, infra_machine.status, Findings()
    find_losses(spec, found)
    state = status.instance_state or ""
    return ProviderPart(
        spec=_provider_spec(machine, spec, infra_cluster.spec, found.errors),
        status=_provider_status(spec, status, state),
        labels=(
            (INSTANCE_TYPE_LABEL, spec.instance_type),
            (REGION_LABEL, infra_cluster.spec.region),
            (ZONE_LABEL, machine.spec.failure_domain),
        ),
        instance_state=state,
        found=found,
    )


def _provider_spec(
    machine: capi.Machine, spec: capa.AWSMachineSpec, cluster: capa.AWSClusterSpec, errors: list[FieldError]
) -> mapi_aws.AWSMachineProviderConfig:
    # The order of these calls is the order in which errors are reported.
    if spec.tenancy not in _TENANCIES:
        errors.append(invalid("spec.tenancy", spec.tenancy, "unable to convert tenancy, unknown value"))
    metadata_service_options = _metadata_service_options(spec.instance_metadata_options, errors)
    if spec.market_type not in _MARKET_TYPES:
        errors.append(invalid_json("spec.marketType", spec.market_type, "unable to convert market type, unknown value"))
    balancers = _load_balancers(cluster, errors) if CONTROL_PLANE_LABEL in machine.metadata.labels else []
    partition = _placement_group_partition(spec.placement_group_partition, errors)
    host = host_placement(spec, errors)
    credentials_secret = _credentials_secret(cluster.identity_ref, errors)
    devices = block_devices(spec, errors)
    network_interface_type = _network_interface_type(spec.network_interface_type, errors)
    _refuse_unsupported(spec, errors)

    confidential_compute = spec.cpu_options.confidential_compute
    user_data = machine.spec.bootstrap.data_secret_name
    spot = spec.spot_market_options
    return mapi_aws.AWSMachineProviderConfig(
        kind="AWSMachineProviderConfig",
        api_version="machine.openshift.io/v1beta1",
        metadata=_NO_METADATA,
        ami=mapi_aws.ResourceReference(id=spec.ami.id),
        instance_type=spec.instance_type,
        cpu_options=mapi_aws.CPUOptions(confidential_compute=confidential_compute)
        if confidential_compute in _CONFIDENTIAL_COMPUTE
        else None,
        tags=tag_list(spec.additional_tags),
        iam_instance_profile=mapi_aws.ResourceReference(id=spec.iam_instance_profile),
        user_data_secret=LocalReference(name=user_data) if user_data else None,
        credentials_secret=credentials_secret,
        key_name=spec.ssh_key_name,
        public_ip=spec.public_ip,
        network_interface_type=network_interface_type,
        security_groups=[_reference(group) for group in spec.additional_security_groups],
        subnet=_NO_REFERENCE if spec.subnet is None else _reference(spec.subnet),
        placement=mapi_aws.Placement(
            region=cluster.region,
            availability_zone=machine.spec.failure_domain,
            tenancy=spec.tenancy,
            host=host,
        ),
        load_balancers=balancers,
        block_devices=devices,
        spot_market_options=None if spot is None else mapi_aws.SpotMarketOptions(max_price=spot.max_price),
        metadata_service_options=metadata_service_options,
        placement_group_name=spec.placement_group_name,
        placement_group_partition=partition,
        capacity_reservation_id=spec.capacity_reservation_id or "",
        market_type=spec.market_type,
    )


def _provider_status(
    spec: capa.AWSMachineSpec, status: capa.AWSMachineStatus, state: str
) -> mapi_aws.AWSMachineProviderStatus:
    host = status.dedicated_host
    return mapi_aws.AWSMachineProviderStatus(
        instance_id=spec.instance_id,
        instance_state=state,
        conditions=[_CREATED if state == "running" else _NOT_CREATED],
        dedicated_host=mapi_aws.DedicatedHostStatus(id=host.id) if host is not None and host.id else None,
    )


def _metadata_service_options(
    options: capa.InstanceMetadataOptions | None, errors: list[FieldError]
) -> mapi_aws.MetadataServiceOptions:
    if options is None:
        return mapi_aws.MetadataServiceOptions()
    path = "spec.instanceMetadataOptions"
    if options.http_tokens not in _AUTHENTICATION:
        detail = "unable to convert httpTokens state, unknown value"
        errors.append(invalid_json(f"{path}.httpTokens", options.http_tokens, detail))
    if options.http_endpoint not in ("", "enabled"):
        detail = 'httpEndpoint values other than "enabled" are not supported'
        errors.append(invalid_json(f"{path}.httpEndpoint", options.http_endpoint, detail))
    if options.http_put_response_hop_limit not in (0, 1):
        detail = "httpPutResponseHopLimit values other than 1 are not supported"
        errors.append(invalid(f"{path}.httpPutResponseHopLimit", options.http_put_response_hop_limit, detail))
    if options.http_protocol_ipv6 not in ("", "disabled"):
        detail = 'httpProtocolIpv6 values other than "disabled" are not supported'
        errors.append(invalid_json(f"{path}.httpProtocolIpv6", options.http_protocol_ipv6, detail))
    if options.instance_metadata_tags not in ("", "disabled"):
        detail = 'instanceMetadataTags values other than "disabled" are not supported'
        errors.append(invalid_json(f"{path}.instanceMetadataTags", options.instance_metadata_tags, detail))
    return mapi_aws.MetadataServiceOptions(authentication=_AUTHENTICATION.get(options.http_tokens, ""))


def _load_balancers(cluster: capa.AWSClusterSpec, errors: list[FieldError]) -> list[mapi_aws.LoadBalancer]:
    """The load balancers of a control-plane machine: the control-plane load balancer, and the secondary one if any."""
    candidates = [("spec.controlPlaneLoadBalancer", cluster.control_plane_load_balancer)]
    if cluster.secondary_control_plane_load_balancer is not None:
        candidates.append(("spec.secondaryControlPlaneLoadBalancer", cluster.secondary_control_plane_load_balancer))
    converted: list[mapi_aws.LoadBalancer] = []
    for path, balancer in candidates:
        if balancer is None:
            errors.append(invalid_json(path, None, "failed to convert load balancer: nil load balancer"))
        elif (kind := load_balancers.TYPES.get(balancer.load_balancer_type)) is None:
            detail = "failed to convert load balancer: unsupported load balancer type"
            errors.append(invalid_json(path, balancer, detail))
        else:
            converted.append(mapi_aws.LoadBalancer(name=balancer.name or "", type=kind))
    return converted


def _placement_group_partition(partition: int, errors: list[FieldError]) -> int | None:
    if not -MAX_INT32 - 1 <= partition <= MAX_INT32:
        detail = "placementGroupPartition exceeds maximum int32 value"
        errors.append(invalid("spec.placementGroupPartition", partition, detail))
    return partition if partition > 0 else None


def _credentials_secret(identity: capa.IdentityReference | None, errors: list[FieldError]) -> LocalReference:
    """The Secret of the provider's default identity; the Machine API cannot express any other identity."""
    if identity is None:
        return _CREDENTIALS
    if identity.kind not in ("", "AWSClusterControllerIdentity"):
        detail = f"kind {quote(identity.kind)} cannot be converted to CredentialsSecret. {_ARTICLE}"
        errors.append(invalid_json("spec.identityRef.kind", identity.kind, detail))
    if identity.name not in ("", "default"):
        detail = f'name {quote(identity.name)} must be "default" when using an AWSClusterControllerIdentity. {_ARTICLE}'
        errors.append(invalid("spec.identityRef.name", identity.name, detail))
    return _CREDENTIALS


def _network_interface_type(kind: str, errors: list[FieldError]) -> str:
    if kind not in _NETWORK_INTERFACE_TYPES:
        detail = "networkInterface type must be one of interface, efa or omitted, unsupported value"
        errors.append(invalid_json("spec.networkInterfaceType", kind, detail))
    return _NETWORK_INTERFACE_TYPES.get(kind, "")


def _reference(reference: capa.ResourceReference) -> mapi_aws.ResourceReference:
    return mapi_aws.ResourceReference(
        id=reference.id,
        filters=[mapi_aws.Filter(name=one.name, values=one.values or []) for one in reference.filters],
    )


def _refuse_unsupported(spec: capa.AWSMachineSpec, errors: list[FieldError]) -> None:
    """Add an error for each field that the Machine API has no equivalent of."""
    if spec.ami.eks_lookup_type is not None:
        detail = "eksOptimizedLookupType is not supported"
        errors.append(invalid_json("spec.ami.eksOptimizedLookupType", spec.ami.eks_lookup_type, detail))
    if spec.image_lookup_format:
        detail = "imageLookupFormat is not supported"
        errors.append(invalid("spec.imageLookupFormat", spec.image_lookup_format, detail))
    if spec.image_lookup_org:
        errors.append(invalid("spec.imageLookupOrg", spec.image_lookup_org, "imageLookupOrg is not supported"))
    if spec.image_lookup_base_os:
        detail = "imageLookupBaseOS is not supported"
        errors.append(invalid("spec.imageLookupBaseOS", spec.image_lookup_base_os, detail))
    if spec.security_group_overrides:
        detail = "securityGroupOverrides are not supported"
        errors.append(invalid_json("spec.securityGroupOverrides", spec.security_group_overrides, detail))
    if spec.network_interfaces:
        detail = "networkInterfaces are not supported"
        errors.append(invalid_json("spec.networkInterfaces", spec.network_interfaces, detail))
    if spec.uncompressed_user_data is not None:
        detail = "uncompressedUserData is not supported"
        errors.append(invalid("spec.uncompressedUserData", spec.uncompressed_user_data, detail))
    if spec.cloud_init != _NO_CLOUD_INIT:
        errors.append(invalid_json("spec.cloudInit", spec.cloud_init, "cloudInit is not supported"))
    ignition = spec.ignition
    if ignition is not None and ignition.proxy is not None:
        errors.append(invalid_json("spec.ignition.proxy", ignition.proxy, "ignition proxy is not supported"))
    if ignition is not None and ignition.tls is not None:
        errors.append(invalid_json("spec.ignition.tls", ignition.tls, "ignition tls is not supported"))
