"""What a comparison and decoding errors need to know of OpenstackProviderSpec and OpenStackMachine."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api import mapi_openstack
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.unmarshal import META_FIELDS, GoNames
from windlass.openstack.provider_spec_reading import without_added_tags

GO_NAMES: Final = GoNames(
    package="v1alpha1",
    structs={
        ObjectMeta: "v1.ObjectMeta",
        OwnerReference: "v1.OwnerReference",
        mapi_openstack.FixedIP: "v1alpha1.FixedIPs",
        mapi_openstack.Network: "v1alpha1.NetworkParam",
        mapi_openstack.NetworkFilter: "v1alpha1.Filter",
        mapi_openstack.Port: "v1alpha1.PortOpts",
        mapi_openstack.SecretReference: "v1.SecretReference",
        mapi_openstack.SecurityGroup: "v1alpha1.SecurityGroupParam",
        mapi_openstack.Subnet: "v1alpha1.SubnetParam",
    },
    fields={
        **META_FIELDS,
        (mapi_openstack.AdditionalBlockDevice, "sizeGiB"): "int",
        (mapi_openstack.BlockDeviceStorage, "type"): "v1alpha1.BlockDeviceType",
        (mapi_openstack.NetworkFilter, "limit"): "int",
        (mapi_openstack.RootVolume, "diskSize"): "int",
        (mapi_openstack.SecurityGroupFilter, "limit"): "int",
        (mapi_openstack.SubnetFilter, "ipVersion"): "int",
        (mapi_openstack.SubnetFilter, "limit"): "int",
    },
)


def comparable_infra_machine(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec without the two tags that the Machine API adds to all servers.

    An OpenStackMachine of Cluster API's own has not got them, and is not recreated for them when the Machine API
    becomes its authority: its server exists.
    """
    tags = spec.get("tags")
    if not isinstance(tags, list):
        return spec
    others = {key: value for key, value in spec.items() if key != "tags"}
    left = without_added_tags(tags)
    return {**others, "tags": left} if left else others
