"""AWS volumes: root and non-root volumes of Cluster API as the Machine API's block devices."""

from typing import Final

from windlass.api import capa, mapi_aws
from windlass.api.integers import MAX_INT32
from windlass.machine_sync.conversion.field_errors import FieldError, invalid

_NO_VOLUME: Final = capa.Volume()


def block_devices(spec: capa.AWSMachineSpec, errors: list[FieldError]) -> list[mapi_aws.BlockDevice]:
    """The root volume, unless all its fields are empty, then the others in their order. Adds to `errors`."""
    devices: list[mapi_aws.BlockDevice] = []
    if spec.root_volume is not None and spec.root_volume != _NO_VOLUME:
        devices.append(_block_device("spec.rootVolume", spec.root_volume, errors))
    for index, volume in enumerate(spec.non_root_volumes):
        devices.append(_block_device(f"spec.nonRootVolumes[{index}]", volume, errors))
    return devices


def _block_device(path: str, volume: capa.Volume, errors: list[FieldError]) -> mapi_aws.BlockDevice:
    if volume.throughput is not None and not -MAX_INT32 - 1 <= volume.throughput <= MAX_INT32:
        errors.append(invalid(f"{path}.throughput", volume.throughput, "throughput exceeds maximum int32 value"))
    key = volume.encryption_key
    return mapi_aws.BlockDevice(
        device_name=volume.device_name or None,
        ebs=mapi_aws.EBSVolume(
            encrypted=volume.encrypted,
            kms_key=mapi_aws.ResourceReference(arn=key)
            if key.startswith("arn:")
            else mapi_aws.ResourceReference(id=key),
            iops=volume.iops or None,
            throughput_mib=volume.throughput,
            volume_size=volume.size,
            volume_type=volume.type or None,
        ),
    )
