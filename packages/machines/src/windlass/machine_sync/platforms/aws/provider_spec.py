"""The Go names of the AWS provider spec and status types for decoding errors, and the spec's canonical form."""

from typing import Any, Final

from windlass.api import mapi_aws
from windlass.api.meta import ConvertedCondition, LocalReference, ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.unmarshal import CONDITION_FIELDS, META_FIELDS, GoNames

GO_NAMES: Final = GoNames(
    package="v1beta1",
    structs={
        LocalReference: "v1.LocalObjectReference",
        ObjectMeta: "v1.ObjectMeta",
        OwnerReference: "v1.OwnerReference",
        mapi_aws.BlockDevice: "v1beta1.BlockDeviceMappingSpec",
        mapi_aws.DynamicHostAllocation: "v1beta1.DynamicHostAllocationSpec",
        mapi_aws.EBSVolume: "v1beta1.EBSBlockDeviceSpec",
        mapi_aws.LoadBalancer: "v1beta1.LoadBalancerReference",
        ConvertedCondition: "v1.Condition",
        mapi_aws.ResourceReference: "v1beta1.AWSResourceReference",
        mapi_aws.Tag: "v1beta1.TagSpecification",
    },
    fields={
        **META_FIELDS,
        (mapi_aws.AWSMachineProviderConfig, "marketType"): "v1beta1.MarketType",
        (mapi_aws.AWSMachineProviderConfig, "networkInterfaceType"): "v1beta1.AWSNetworkInterfaceType",
        (mapi_aws.CPUOptions, "confidentialCompute"): "v1beta1.AWSConfidentialComputePolicy",
        (mapi_aws.DedicatedHost, "allocationStrategy"): "v1beta1.AllocationStrategy",
        (mapi_aws.HostPlacement, "affinity"): "v1beta1.HostAffinity",
        (mapi_aws.LoadBalancer, "type"): "v1beta1.AWSLoadBalancerType",
        (mapi_aws.MetadataServiceOptions, "authentication"): "v1beta1.MetadataServiceAuthentication",
        (mapi_aws.Placement, "tenancy"): "v1beta1.InstanceTenancy",
        **CONDITION_FIELDS,
    },
)


def canonical_provider_spec(tree: Any) -> Any:
    """`tree`, a provider spec, with its tags sorted by name, so that specs with the same meaning compare equal."""
    if not isinstance(tree, dict) or not isinstance(tree.get("tags"), list):
        return tree
    return {**tree, "tags": sorted(tree["tags"], key=_tag_name)}


def _tag_name(tag: Any) -> str:
    return str(tag.get("name", "")) if isinstance(tag, dict) else ""
