"""What an AWSMachine can say that the Machine API has no place for, and that conversion drops without a word."""

from typing import Final

from windlass.api import capa
from windlass.machine_sync.conversion.field_errors import Findings

_CONFIDENTIAL_COMPUTE: Final = frozenset({"", "Disabled", "AMDEncryptedVirtualizationNestedPaging"})
_OPENSHIFT_STORAGE: Final = frozenset({"", "UnencryptedUserData"})
_DEFAULT_IGNITION: Final = frozenset({"", "2.3"})


def find_losses(spec: capa.AWSMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped.

    Not for those that conversion in the other direction sets: they come back as they were. These are Ignition with
    unencrypted user data, of the version that the API server fills in, and DNS names and IPv6 addresses as the
    cluster's IP family wants them.
    """
    ignition = spec.ignition
    cpu = spec.cpu_options
    for field, value in (
        ("elasticIpPool", spec.elastic_ip_pool),
        ("capacityReservationPreference", spec.capacity_reservation_preference),
        ("cpuOptions.confidentialCompute", _unless(cpu.confidential_compute, _CONFIDENTIAL_COMPUTE)),
        ("cpuOptions.nestedVirtualization", cpu.nested_virtualization),
        ("ignition.version", _unless(ignition.version, _DEFAULT_IGNITION) if ignition is not None else ""),
        ("ignition.storageType", _unless(ignition.storage_type, _OPENSHIFT_STORAGE) if ignition is not None else ""),
    ):
        if value:
            found.lose(f"spec.{field}", value, by="the Machine API")


def _unless(value: str, expressible: frozenset[str]) -> str:
    return "" if value in expressible else value
