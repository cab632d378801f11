"""The Go names of PowerVSMachineProviderConfig's types, for decoding errors."""

from typing import Final

from windlass.api import mapi_powervs
from windlass.api.meta import LocalReference
from windlass.machine_sync.conversion.unmarshal import META_FIELDS, GoNames

GO_NAMES: Final = GoNames(
    package="v1",
    structs={
        LocalReference: "v1.PowerVSSecretReference",
        mapi_powervs.LoadBalancer: "v1.LoadBalancerReference",
    },
    fields={
        **META_FIELDS,
        (mapi_powervs.LoadBalancer, "type"): "v1.LoadBalancerType",
        (mapi_powervs.PowerVSMachineProviderConfig, "processorType"): "v1.PowerVSProcessorType",
        (mapi_powervs.PowerVSResource, "type"): "v1.PowerVSResourceType",
    },
)
