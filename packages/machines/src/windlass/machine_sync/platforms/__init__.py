"""The platforms that machines run on: the types of each, and its own rules for keeping machines in sync.

A platform is a folder here and a `Platform` in `PLATFORMS`; nothing else in `windlass.machine_sync` names one. Each
folder holds these modules, and the parts that they use:

| module | holds |
|---|---|
| `to_machine_api` | Cluster API to the Machine API: the platform's part of a Machine |
| `to_cluster_api` | the other direction |
| `losses` | fields that `to_machine_api` drops with a warning |
| `provider_spec` | the Go names of the provider spec's types, for decoding errors |

The types themselves are in `windlass.api`.
"""

from windlass.api import capa, capibm, capo, capo_cluster, mapi_aws, mapi_openstack, mapi_powervs
from windlass.machine_sync.platforms.aws import load_balancers as aws_load_balancers
from windlass.machine_sync.platforms.aws import provider_spec as aws_provider_spec
from windlass.machine_sync.platforms.aws import to_cluster_api as aws_to_cluster_api
from windlass.machine_sync.platforms.aws import to_machine_api as aws_to_machine_api
from windlass.machine_sync.platforms.openstack import provider_spec as openstack_provider_spec
from windlass.machine_sync.platforms.openstack import to_cluster_api as openstack_to_cluster_api
from windlass.machine_sync.platforms.openstack import to_machine_api as openstack_to_machine_api
from windlass.machine_sync.platforms.platform import Platform
from windlass.machine_sync.platforms.powervs import provider_spec as powervs_provider_spec
from windlass.machine_sync.platforms.powervs import to_cluster_api as powervs_to_cluster_api
from windlass.machine_sync.platforms.powervs import to_machine_api as powervs_to_machine_api

__all__ = ["AWS", "OPENSTACK", "PLATFORMS", "POWERVS", "Platform", "platform_of_kind", "platform_of_type"]

AWS = Platform(
    name="AWS",
    infra_machine=capa.AWSMachine,
    infra_template=capa.AWSMachineTemplate,
    infra_cluster=capa.AWSCluster,
    provider_spec=mapi_aws.AWSMachineProviderConfig,
    provider_status=mapi_aws.AWSMachineProviderStatus,
    go_names=aws_provider_spec.GO_NAMES,
    provider_part=aws_to_machine_api.provider_part,
    infra_machine_part=aws_to_cluster_api.infra_machine_part,
    cluster_errors=aws_load_balancers.load_balancer_errors,
    canonical_provider_spec=aws_provider_spec.canonical_provider_spec,
    provider_spec_leftovers=("placement.region", "userDataSecret"),
    infra_machine_leftovers={
        "providerID": None,
        "instanceID": None,
        "hostAffinity": "default",
        "ignition.version": None,
        "ignition.storageType": "ClusterObjectStore",
        "instanceMetadataOptions.httpEndpoint": "enabled",
        "instanceMetadataOptions.httpProtocolIpv6": "disabled",
        "instanceMetadataOptions.httpPutResponseHopLimit": 1,
        "instanceMetadataOptions.httpTokens": "optional",
        "instanceMetadataOptions.instanceMetadataTags": "disabled",
    },
    infra_machine_mutable=frozenset({"providerID", "instanceID", "additionalTags", "additionalSecurityGroups"}),
)
OPENSTACK = Platform(
    name="OpenStack",
    infra_machine=capo.OpenStackMachine,
    infra_template=capo.OpenStackMachineTemplate,
    infra_cluster=capo_cluster.OpenStackCluster,
    provider_spec=mapi_openstack.OpenstackProviderSpec,
    go_names=openstack_provider_spec.GO_NAMES,
    provider_part=openstack_to_machine_api.provider_part,
    infra_machine_part=openstack_to_cluster_api.infra_machine_part,
    infra_machine_leftovers={
        "providerID": None,
        "instanceID": None,
        "identityRef.type": "Secret",
        "floatingIPPoolRef": None,  # the machine keeps its address while the Machine API has it, and finds it again
    },
    infra_machine_mutable=frozenset({"identityRef"}),
    comparable_infra_machine=openstack_provider_spec.comparable_infra_machine,
    infra_machine_reports_pause=None,  # Windlass's own controllers do, Cluster API's provider does not
    conversion=2,
)
POWERVS = Platform(
    name="PowerVS",
    infra_machine=capibm.IBMPowerVSMachine,
    infra_template=capibm.IBMPowerVSMachineTemplate,
    infra_cluster=capibm.IBMPowerVSCluster,
    provider_spec=mapi_powervs.PowerVSMachineProviderConfig,
    go_names=powervs_provider_spec.GO_NAMES,
    provider_part=powervs_to_machine_api.provider_part,
    infra_machine_part=powervs_to_cluster_api.infra_machine_part,
    infra_machine_leftovers={"providerID": None},
    infra_machine_mutable=frozenset({"providerID"}),
)

PLATFORMS = {platform.name: platform for platform in (AWS, OPENSTACK, POWERVS)}


def platform_of_type(infra: type) -> Platform | None:
    """The platform whose machines, templates or clusters are of this type."""
    for platform in PLATFORMS.values():
        if infra in (platform.infra_machine, platform.infra_template, platform.infra_cluster):
            return platform
    return None


def platform_of_kind(kind: str) -> Platform | None:
    """The platform with this kind of machine, template or cluster: `AWSMachine`, `OpenStackCluster`, ..."""
    for platform in PLATFORMS.values():
        kinds = (platform.infra_machine, platform.infra_template, platform.infra_cluster)
        if any(one.RESOURCE.kind == kind for one in kinds):
            return platform
    return None
