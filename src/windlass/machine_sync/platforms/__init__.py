"""The platforms that machines run on: for each its types, and what differs in keeping its machines in sync.

A platform is a folder here and a `Platform` in `PLATFORMS`; nothing else in `windlass.machine_sync` names one.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from windlass.api import capa, capi, capibm, capo, mapi_aws, mapi_openstack, mapi_powervs
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.conversion.machine import Converted
from windlass.machine_sync.platforms.aws import conversion as aws_conversion
from windlass.machine_sync.platforms.openstack import conversion as openstack_conversion
from windlass.machine_sync.platforms.powervs import conversion as powervs_conversion


class Platform(Struct, frozen=True, kw_only=True):
    """One platform.

    `name` is the type in `Infrastructure.status.platformStatus`. `to_machine_api(machine, infra machine, infra
    cluster)` converts one Machine; `canonical_provider_spec(tree)` brings a provider spec (a plain JSON tree) into the
    form in which two that mean the same are equal.
    """

    name: str
    infra_machine: type[KubernetesObject]
    infra_cluster: type[KubernetesObject]
    provider_spec: type[Struct]
    provider_status: type[Struct] | None = None
    to_machine_api: Callable[[capi.Machine | None, Any, Any], Converted]
    canonical_provider_spec: Callable[[Any], Any]


AWS = Platform(
    name="AWS",
    infra_machine=capa.AWSMachine,
    infra_cluster=capa.AWSCluster,
    provider_spec=mapi_aws.AWSMachineProviderConfig,
    provider_status=mapi_aws.AWSMachineProviderStatus,
    to_machine_api=aws_conversion.to_machine_api,
    canonical_provider_spec=aws_conversion.canonical_provider_spec,
)
OPENSTACK = Platform(
    name="OpenStack",
    infra_machine=capo.OpenStackMachine,
    infra_cluster=capo.OpenStackCluster,
    provider_spec=mapi_openstack.OpenstackProviderSpec,
    to_machine_api=openstack_conversion.to_machine_api,
    canonical_provider_spec=openstack_conversion.canonical_provider_spec,
)
POWERVS = Platform(
    name="PowerVS",
    infra_machine=capibm.IBMPowerVSMachine,
    infra_cluster=capibm.IBMPowerVSCluster,
    provider_spec=mapi_powervs.PowerVSMachineProviderConfig,
    to_machine_api=powervs_conversion.to_machine_api,
    canonical_provider_spec=powervs_conversion.canonical_provider_spec,
)

PLATFORMS = {platform.name: platform for platform in (AWS, OPENSTACK, POWERVS)}

_BY_TYPE = {kind: one for one in PLATFORMS.values() for kind in (one.infra_machine, one.infra_cluster)}
_BY_KIND = {kind.RESOURCE.kind: one for kind, one in _BY_TYPE.items()}


def platform_of_type(infra: type) -> Platform | None:
    """The platform whose machines or clusters are of this type."""
    return _BY_TYPE.get(infra)


def platform_of_kind(kind: str) -> Platform | None:
    """The platform with this kind of machine or cluster: `AWSMachine`, `OpenStackCluster`, ..."""
    return _BY_KIND.get(kind)
