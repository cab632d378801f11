"""AWS: AWSMachine and AWSCluster of Cluster API, AWSMachineProviderConfig of the Machine API."""

from windlass.api import capa, mapi_aws
from windlass.machine_sync.platforms.aws import load_balancers, provider_spec, to_cluster_api, to_machine_api
from windlass.machine_sync.platforms.aws.samples import SAMPLES
from windlass.machine_sync.platforms.platform import Platform

AWS = Platform(
    name="AWS",
    infra_machine=capa.AWSMachine,
    infra_template=capa.AWSMachineTemplate,
    infra_cluster=capa.AWSCluster,
    provider_spec=mapi_aws.AWSMachineProviderConfig,
    provider_status=mapi_aws.AWSMachineProviderStatus,
    go_names=provider_spec.GO_NAMES,
    provider_part=to_machine_api.provider_part,
    infra_machine_part=to_cluster_api.infra_machine_part,
    cluster_errors=load_balancers.load_balancer_errors,
    canonical_provider_spec=provider_spec.canonical_provider_spec,
    samples=SAMPLES,
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
