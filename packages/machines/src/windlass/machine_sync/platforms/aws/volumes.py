"""Converts AWS volumes: root and non-root volumes of Cluster API, block devices of the Machine API."""

from typing import Final

from windlass.api import capa, mapi_aws
from windlass.api.integers import MAX_INT32
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json
from windlass.machine_sync.conversion.provider_spec import PATH

_NO_VOLUME: Final = capa.Volume()
_DEFAULT_SIZE: Final = 120


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


def volumes(devices: list[mapi_aws.BlockDevice], found: Findings) -> tuple[capa.Volume | None, list[capa.Volume]]:
    """The root volume, None if no device describes it, and the others in their order. Adds to `found`.

    If several devices have no name, the last one is the root volume.
    """
    root: capa.Volume | None = None
    others: list[capa.Volume] = []
    root_path = ""
    for index, device in enumerate(devices):
        path = f"{PATH}.blockDevices[{index}]"
        volume = _volume(path, device, found)
        if volume is None:
            continue
        if device.device_name is not None:
            others.append(volume)
            continue
        if root is not None:
            found.lose(root_path, root)
        root, root_path = volume, path
    return root, others


def _volume(path: str, device: mapi_aws.BlockDevice, found: Findings) -> capa.Volume | None:
    """The volume of the device at `path`, None if it is no EBS volume. Adds to `found`."""
    if device.no_device is not None:
        found.errors.append(invalid_json(f"{path}.noDevice", device.no_device, "noDevice is not supported"))
    if device.virtual_name is not None:
        found.errors.append(invalid_json(f"{path}.virtualName", device.virtual_name, "virtualName is not supported"))
    ebs = device.ebs
    if ebs is None:
        found.warnings.append(invalid_json(f"{path}.ebs", None, "missing ebs configuration for block device"))
        return None
    if ebs.delete_on_termination is False:
        where = f"{path}.ebs.deleteOnTermination"
        if device.device_name is None:
            detail = "root volume must be deleted on termination, ignoring invalid value false"
            found.warnings.append(invalid(where, False, detail))
        else:
            detail = "non-root volumes must be deleted on termination, unsupported value false"
            found.errors.append(invalid(where, False, detail))
    key = ebs.kms_key
    _lost_of_key(f"{path}.ebs.kmsKey", key, found)
    return capa.Volume(
        device_name=device.device_name or "",
        size=_DEFAULT_SIZE if ebs.volume_size is None else ebs.volume_size,
        type=ebs.volume_type or "",
        iops=ebs.iops or 0,
        throughput=ebs.throughput_mib,
        encrypted=ebs.encrypted,
        encryption_key=key.id if key.id is not None else key.arn or "",
    )


def _lost_of_key(path: str, key: mapi_aws.ResourceReference, found: Findings) -> None:
    if key.filters:
        found.lose(f"{path}.filters", key.filters)
    if key.id is not None and key.arn:
        found.lose(f"{path}.arn", key.arn)
