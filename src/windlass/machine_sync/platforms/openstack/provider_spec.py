"""The Go names of OpenstackProviderSpec's types, for decoding errors."""

from typing import Final

from windlass.api import mapi_openstack
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.unmarshal import TIME, GoNames

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
        (ObjectMeta, "creationTimestamp"): TIME,
        (ObjectMeta, "deletionTimestamp"): TIME,
        (ObjectMeta, "uid"): "types.UID",
        (OwnerReference, "uid"): "types.UID",
        (mapi_openstack.AdditionalBlockDevice, "sizeGiB"): "int",
        (mapi_openstack.BlockDeviceStorage, "type"): "v1alpha1.BlockDeviceType",
        (mapi_openstack.NetworkFilter, "limit"): "int",
        (mapi_openstack.RootVolume, "diskSize"): "int",
        (mapi_openstack.SecurityGroupFilter, "limit"): "int",
        (mapi_openstack.SubnetFilter, "ipVersion"): "int",
        (mapi_openstack.SubnetFilter, "limit"): "int",
    },
)
