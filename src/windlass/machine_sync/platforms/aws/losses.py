"""What an AWSMachine can say and the Machine API cannot: dropped, and told in warnings of ours."""

from typing import Final

from windlass.api import capa
from windlass.machine_sync.conversion.field_errors import Findings

_NO_IGNITION: Final = capa.Ignition()

_NOTHING: Final = ()
_CONFIDENTIAL_COMPUTE: Final = ("Disabled", "AMDEncryptedVirtualizationNestedPaging")
_DEFAULT_IGNITION: Final = ("2.3",)
_OPENSHIFT_STORAGE: Final = ("UnencryptedUserData",)


def find_losses(spec: capa.AWSMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped.

    Not for those that conversion in the other direction sets: they come back as they were. These are Ignition with
    unencrypted user data, of the version that the API server fills in, and DNS names and IPv6 addresses as the
    cluster's IP family wants them.
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
            found.lose(f"spec.{field}", value, by="the Machine API")
