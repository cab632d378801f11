"""Warns about fields of an AWSMachine that the Machine API cannot express and that conversion drops."""

from typing import Final

from windlass.api import capa
from windlass.machine_sync.conversion.field_errors import Findings

_BY: Final = "the Machine API"
_NO_IGNITION: Final = capa.Ignition()
_NOTHING: Final = ()
_CONFIDENTIAL_COMPUTE: Final = ("Disabled", "AMDEncryptedVirtualizationNestedPaging")
_DEFAULT_IGNITION: Final = ("2.3",)
_OPENSHIFT_STORAGE: Final = ("UnencryptedUserData",)


def find_losses(spec: capa.AWSMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped.

    A field is no loss if conversion in the other direction always sets it to the same value: Ignition with unencrypted
    user data, of the version that the API server fills in. That conversion also sets DNS names and IPv6 addresses, but
    by the cluster's IP family, which is not known here.
    """
    ignition = spec.ignition or _NO_IGNITION
    cpu = spec.cpu_options
    for field, value, expressible in (
        ("elasticIpPool", spec.elastic_ip_pool, _NOTHING),
        ("capacityReservationPreference", spec.capacity_reservation_preference, _NOTHING),
        ("cpuOptions.confidentialCompute", cpu.confidential_compute, _CONFIDENTIAL_COMPUTE),
        ("cpuOptions.nestedVirtualization", cpu.nested_virtualization, _NOTHING),
        ("ignition.version", ignition.version, _DEFAULT_IGNITION),
        ("ignition.storageType", ignition.storage_type, _OPENSHIFT_STORAGE),
    ):
        if value and value not in expressible:
            found.lose(f"spec.{field}", value, by=_BY)
    for field, chosen in (("privateDnsName", spec.private_dns_name), ("assignPrimaryIPv6", spec.assign_primary_ipv6)):
        if chosen is not None:
            found.lose(f"spec.{field}", chosen, by=_BY, becomes="what the cluster's IP family asks for")
    if spec.host_id is not None and spec.host_affinity is None:
        found.lose("spec.hostID", spec.host_id, by=_BY)
    _examine_names_of_volumes(spec, found)


def _examine_names_of_volumes(spec: capa.AWSMachineSpec, found: Findings) -> None:
    """In the Machine API the root volume is the one without a name."""
    root = spec.root_volume
    if root is not None and root.device_name:
        becomes = "that of a non-root volume, as which the root volume comes back"
        found.lose("spec.rootVolume.deviceName", root.device_name, by=_BY, becomes=becomes)
    for index, volume in enumerate(spec.non_root_volumes):
        if not volume.device_name:
            becomes = "the root volume, for want of a deviceName"
            found.lose(f"spec.nonRootVolumes[{index}]", volume, by=_BY, becomes=becomes)
