"""The Go names of the provider spec and status types of Google Cloud, for decoding errors."""

from typing import Final

from windlass.api import mapi_gcp
from windlass.api.meta import ConvertedCondition, LocalReference, ObjectMeta, OwnerReference
from windlass.machine_sync.conversion.unmarshal import CONDITION_FIELDS, META_FIELDS, GoNames

GO_NAMES: Final = GoNames(
    package="v1beta1",
    structs={
        LocalReference: "v1.LocalObjectReference",
        ObjectMeta: "v1.ObjectMeta",
        OwnerReference: "v1.OwnerReference",
        ConvertedCondition: "v1.Condition",
        mapi_gcp.Disk: "v1beta1.GCPDisk",
        mapi_gcp.EncryptionKey: "v1beta1.GCPEncryptionKeyReference",
        mapi_gcp.GPU: "v1beta1.GCPGPUConfig",
        mapi_gcp.KMSKey: "v1beta1.GCPKMSKeyReference",
        mapi_gcp.Metadata: "v1beta1.GCPMetadata",
        mapi_gcp.NetworkInterface: "v1beta1.GCPNetworkInterface",
        mapi_gcp.ServiceAccount: "v1beta1.GCPServiceAccount",
        mapi_gcp.ShieldedInstanceConfig: "v1beta1.GCPShieldedInstanceConfig",
    },
    fields={
        **META_FIELDS,
        (mapi_gcp.GCPMachineProviderSpec, "confidentialCompute"): "v1beta1.ConfidentialComputePolicy",
        (mapi_gcp.GCPMachineProviderSpec, "onHostMaintenance"): "v1beta1.GCPHostMaintenanceType",
        (mapi_gcp.GCPMachineProviderSpec, "provisioningModel"): "v1beta1.GCPProvisioningModelType",
        (mapi_gcp.GCPMachineProviderSpec, "restartPolicy"): "v1beta1.GCPRestartPolicyType",
        (mapi_gcp.ShieldedInstanceConfig, "secureBoot"): "v1beta1.SecureBootPolicy",
        (
            mapi_gcp.ShieldedInstanceConfig,
            "virtualizedTrustedPlatformModule",
        ): "v1beta1.VirtualizedTrustedPlatformModulePolicy",
        (mapi_gcp.ShieldedInstanceConfig, "integrityMonitoring"): "v1beta1.IntegrityMonitoringPolicy",
        **CONDITION_FIELDS,
    },
)
