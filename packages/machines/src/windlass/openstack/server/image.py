"""The image of a server whose spec names an Image of the openstack-resource-controller: `spec.image.imageRef`.

| the Image | |
|---|---|
| is Available, and has an ID | that image |
| is being made, or is not looked at yet | wait |
| cannot be made, as its controller says | DependencyFailed, with what it says |
| does not exist; its kind is not served | DependencyFailed; the server is made once there is one |

It is read only until the choices are stored. So an Image may be deleted, or get another ID, while servers of it run.
"""

from typing import Final

from msgspec.structs import replace

from windlass.api import orc
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import FALSE, TRUE, find
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen
from windlass.openstack.cloud.query import Query
from windlass.openstack.instance.spec import InstanceSpec, Problem

REFERRED: Final = Query("image", id="(imageRef)")
"""Stands for the image in a spec that names an Image."""
_FIELD: Final = "image.imageRef"


def name_of(server: OpenStackServer) -> str:
    """The name of the Image; empty if the spec names none."""
    ref = server.spec.image.image_ref
    return ref.name if ref is not None else ""


def image_of(image: Seen[orc.Image], where: str) -> str | Problem | None:
    """The ID in Glance, or why there will be none by itself; None: it is being made. `where`: namespace and name."""
    what = f"Image {where} of the openstack-resource-controller, which spec.{_FIELD} names,"
    match image:
        case Present():
            status = image.object.status
            said, going = (find(status.conditions, each) for each in (orc.AVAILABLE, orc.PROGRESSING))
            if said is not None and said.status == TRUE and status.id:
                return status.id
            if going is not None and going.status == FALSE and said is not None and said.status == FALSE:
                why = f"{going.reason}: {going.message}" if going.message else going.reason
                return _missing(f"{what} is not available, and its controller does not go on ({why}): correct it")
            return None
        case Absent():
            return _missing(f"{what} does not exist: create it, or name the image by id or filter")
        case NotServedKind():
            return _missing(f"{what} cannot be read: install that controller, or name the image by id or filter")
    return _missing(f"{what} cannot be read ({image.why}): correct it")


def waits_for(where: str) -> str:
    return f"Waiting for Image {where} of the openstack-resource-controller to be available"


def with_image(spec: InstanceSpec, image: str | Problem | None) -> InstanceSpec:
    """The spec with the image that `image_of` has found, if it needs one."""
    found = spec.image == REFERRED and isinstance(image, str)
    return replace(spec, image=Query("image", id=str(image))) if found else spec


def _missing(text: str) -> Problem:
    return Problem("Dependency", _FIELD, text)
