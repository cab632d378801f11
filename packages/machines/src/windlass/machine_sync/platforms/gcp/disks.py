"""Converts disks: a root disk and additional ones in Cluster API, a list of disks in the Machine API.

Cluster API's provider makes data disks blank, deletes all disks with the instance, and encrypts every disk that has a
key with the key of the root disk.
"""

from typing import Final

from msgspec import Struct

from windlass.api import capg, mapi_gcp
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json, required
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.gcp.images import boot_image, image_fields, is_of_webhook
from windlass.machine_sync.platforms.gcp.keys import customer_key, encryption_key

STANDARD: Final = "pd-standard"
ADDITIONAL_SIZE: Final = 30
"""GB of an additional disk that names no size."""
_TYPES: Final = ("pd-standard", "pd-ssd", "pd-balanced", "hyperdisk-balanced")
_LEAST, _MOST = 16, 65536
_TYPE_DETAIL: Final = f"unable to convert disk type, the Machine API has {', '.join(_TYPES)}"


class RootDisk(Struct, frozen=True, gc=False):
    """The fields of a GCPMachine that describe its root disk."""

    image: str | None = None
    image_family: str | None = None
    size: int = 0
    type: str | None = None
    key: capg.CustomerEncryptionKey | None = None


def infra_disks(
    config: mapi_gcp.GCPMachineProviderSpec, found: Findings, *, project: str
) -> tuple[RootDisk, list[capg.AttachedDisk]]:
    """The root disk and the additional disks. `project` is that of names without one. Adds to `found`."""
    boots = [index for index, disk in enumerate(config.disks) if disk.boot]
    if len(boots) != 1:
        found.errors.append(
            invalid_json(f"{PATH}.disks", config.disks or None, "exactly one disk must be the boot disk")
        )
    at = boots[0] if boots else None
    # First, for the others have its key.
    root = RootDisk() if at is None else _root(config, at, found, project=project)
    others = [
        _additional(disk, f"{PATH}.disks[{index}]", found, project=project, root=root)
        for index, disk in enumerate(config.disks)
        if not disk.boot
    ]
    return root, others


def _root(config: mapi_gcp.GCPMachineProviderSpec, index: int, found: Findings, *, project: str) -> RootDisk:
    disk, path = config.disks[index], f"{PATH}.disks[{index}]"
    image, family = image_fields(disk.image, f"{path}.image", project=project, errors=found.errors)
    if not disk.auto_delete:
        detail = "boot disk must be deleted with the instance, ignoring invalid value false"
        found.warnings.append(invalid_json(f"{path}.autoDelete", False, detail))
    if disk.labels and disk.labels != config.labels:
        found.lose(f"{path}.labels", disk.labels, becomes="the labels of the instance")
    key = customer_key(disk.encryption_key, f"{path}.encryptionKey", project=project, found=found)
    return RootDisk(image, family, disk.size_gb, disk.type or None, key)


def _additional(disk: mapi_gcp.Disk, path: str, found: Findings, *, project: str, root: RootDisk) -> capg.AttachedDisk:
    errors = found.errors
    if is_of_webhook(disk.image):
        found.lose(f"{path}.image", disk.image, becomes="an empty disk")
    elif disk.image:
        errors.append(invalid(f"{path}.image", disk.image, "only the boot disk can have an image"))
    if not disk.size_gb:
        errors.append(required(f"{path}.sizeGb", "a disk that is not the boot disk needs a size"))
    if not disk.auto_delete:
        detail = "disks other than the boot disk must be deleted with the instance, unsupported value false"
        errors.append(invalid_json(f"{path}.autoDelete", False, detail))
    if disk.labels:
        found.lose(f"{path}.labels", disk.labels)
    key = customer_key(disk.encryption_key, f"{path}.encryptionKey", project=project, found=found)
    if key is not None and key != root.key:
        detail = "must be the key of the boot disk, which Cluster API's provider uses for all disks"
        errors.append(invalid_json(f"{path}.encryptionKey", disk.encryption_key, detail))
    # The provider stops with an error of its own on a disk without a type.
    return capg.AttachedDisk(device_type=disk.type or STANDARD, size=disk.size_gb, encryption_key=key)


def disks(
    spec: capg.GCPMachineSpec, errors: list[FieldError], *, labels: dict[str, str], project: str
) -> list[mapi_gcp.Disk]:
    """The boot disk, then the others. `labels` are those of the instance, which the boot disk has too."""
    image = boot_image(spec, project=project, errors=errors)
    root_key = spec.root_disk_encryption_key
    return [
        mapi_gcp.Disk(
            auto_delete=True,
            boot=True,
            size_gb=_size(spec.root_device_size, "spec.rootDeviceSize", errors, of_image=True),
            type=_type(spec.root_device_type, "spec.rootDeviceType", errors),
            image=image,
            labels=labels or None,
            encryption_key=encryption_key(root_key, "spec.rootDiskEncryptionKey", errors),
        ),
        *(
            _data_disk(disk, f"spec.additionalDisks[{index}]", errors, root_key=root_key)
            for index, disk in enumerate(spec.additional_disks)
        ),
    ]


def _data_disk(
    disk: capg.AttachedDisk, path: str, errors: list[FieldError], *, root_key: capg.CustomerEncryptionKey | None
) -> mapi_gcp.Disk:
    size = ADDITIONAL_SIZE if disk.size is None else disk.size
    key = encryption_key(disk.encryption_key, f"{path}.encryptionKey", errors)
    if key is not None and disk.encryption_key != root_key:
        detail = "must be that of rootDiskEncryptionKey, which the provider uses"
        errors.append(invalid_json(f"{path}.encryptionKey", disk.encryption_key, detail))
    return mapi_gcp.Disk(
        auto_delete=True,
        size_gb=_size(size, f"{path}.size", errors),
        type=_type(disk.device_type, f"{path}.deviceType", errors),
        encryption_key=key,
    )


def _size(size: int, path: str, errors: list[FieldError], *, of_image: bool = False) -> int:
    if not (_LEAST <= size <= _MOST or (of_image and size == 0)):
        errors.append(invalid(path, size, f"the Machine API needs {_LEAST} to {_MOST} GB"))
    return size


def _type(kind: str | None, path: str, errors: list[FieldError]) -> str:
    if kind and kind not in _TYPES:
        errors.append(invalid(path, kind, _TYPE_DETAIL))
    return kind or STANDARD
