"""The canonical forms by which specs of Google Cloud's machines are compared, so that a mirror is not rewritten for
another way to say the same."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.machine_sync.platforms.gcp.disks import ADDITIONAL_SIZE, STANDARD
from windlass.machine_sync.platforms.gcp.images import full_name, is_family, is_of_webhook

_API_VERSION: Final = "machine.openshift.io/v1beta1"
_OLD_API_VERSION: Final = "gcpprovider.openshift.io/v1beta1"

Tree = dict[str, Any]


def canonical_provider_spec(tree: Any) -> Any:
    """`tree`, a provider spec: lists without an order sorted, defaults said, and blank data disks blank.

    The Machine API's webhook puts an image on new data disks that have none.
    """
    if not isinstance(tree, dict):
        return tree
    spec: Tree = dict(tree)
    project = spec.get("projectID")
    if spec.get("apiVersion") == _OLD_API_VERSION:
        spec["apiVersion"] = _API_VERSION
    if spec.get("restartPolicy") == "Always":
        del spec["restartPolicy"]
    for key, order in (("tags", str), ("gcpMetadata", _by("key")), ("resourceManagerTags", _by("parentID", "key"))):
        if isinstance(spec.get(key), list):
            spec[key] = sorted(spec[key], key=order)
    if isinstance(spec.get("disks"), list):
        labels, known = spec.get("labels"), project if isinstance(project, str) else ""
        spec["disks"] = [_disk(disk, labels, known) for disk in spec["disks"]]
    return spec


def _disk(disk: Any, labels: Any, project: str) -> Any:
    if not isinstance(disk, dict):
        return disk
    canonical: Tree = dict(disk)
    image = canonical.get("image")
    if isinstance(image, str):
        if canonical.get("boot"):
            canonical["image"] = full_name(image, project)
        elif is_of_webhook(image):
            canonical["image"] = ""
    if canonical.get("boot") and labels and canonical.get("labels") == labels:
        canonical["labels"] = None
    key = canonical.get("encryptionKey")
    if not isinstance(key, dict):
        return canonical
    kms = key.get("kmsKey")
    if isinstance(kms, dict) and not kms.get("projectID"):
        canonical["encryptionKey"] = {**key, "kmsKey": {**kms, "projectID": project}}
    return canonical


def comparable_infra_machine(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A GCPMachine's spec as conversion writes it, where it could say the same otherwise."""
    same = dict(spec)
    if (image := same.get("image")) and is_family(image):
        same["imageFamily"] = same.pop("image")
    if disks := same.get("additionalDisks"):
        same["additionalDisks"] = [{"deviceType": STANDARD, "size": ADDITIONAL_SIZE, **disk} for disk in disks]
    if accelerators := same.get("guestAccelerators"):
        same["guestAccelerators"] = [{**one, "type": _in_project(one.get("type", ""))} for one in accelerators]
    return same


def _in_project(url: str) -> str:
    at = url.find("zones/")
    return url[at:] if at >= 0 else url


def _by(*keys: str) -> Any:
    return lambda item: [str(item.get(key, "")) for key in keys] if isinstance(item, dict) else []
