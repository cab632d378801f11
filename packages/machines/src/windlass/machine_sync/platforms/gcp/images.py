"""Converts images of boot disks: a name, a reference, or the reference of a family.

In the Machine API an image without a slash is one of the machine's project. Both providers send everything else to
Google as it is.
"""

import re
from typing import Final

from windlass.api import capg
from windlass.machine_sync.conversion.field_errors import FieldError, invalid, required

_FAMILY: Final = "/images/family/"
_OF_WEBHOOK: Final = re.compile(r"projects/rhcos-cloud/global/images/rhcos-[0-9-]+-gcp(-x86-64|-aarch64)?")


def is_of_webhook(image: str) -> bool:
    """The Machine API's webhook puts this image on every new disk that has none, blank data disks too."""
    return _OF_WEBHOOK.fullmatch(image) is not None


def full_name(image: str, project: str) -> str:
    """The reference of an image that is given by its name; else `image`."""
    return f"projects/{project}/global/images/{image}" if image and project and "/" not in image else image


def image_fields(image: str, path: str, *, project: str, errors: list[FieldError]) -> tuple[str | None, str | None]:
    """`image` and `imageFamily` of a GCPMachine. Machines of `project`, which may be unknown: empty."""
    if not image:
        errors.append(required(path, "a boot disk needs an image"))
    elif "/" not in image and not project:
        errors.append(invalid(path, image, "a name without a project needs projectID"))
    full = full_name(image, project)
    return (None, full) if is_family(full) else (full or None, None)


def boot_image(spec: capg.GCPMachineSpec, *, project: str, errors: list[FieldError]) -> str:
    """The image of the boot disk in the Machine API; `project` is that of the GCPCluster."""
    given, family = spec.image, spec.image_family
    if not given and not family:
        # Cluster API's provider then takes an image of Ubuntu by the Machine's version, which mirrors do not have.
        errors.append(required("spec.image", "the Machine API needs an image"))
    if not given and family and "/" not in family:
        detail = "must be a full reference: projects/<project>/global/images/family/<family>"
        errors.append(invalid("spec.imageFamily", family, detail))
    image = given or family or ""
    return f"projects/{project}/{image}" if image.startswith("global/images/") else image


def is_family(image: str) -> bool:
    return _FAMILY in image
