"""Images of the openstack-resource-controller, `openstack.k-orc.cloud/v1alpha1`: objects for images in Glance.

Source: `github.com/k-orc/openstack-resource-controller/api/v1alpha1`. Only what others read of an Image is here.
"""

from typing import ClassVar, Final

from msgspec import Struct, field

from windlass.api.meta import Condition, ObjectMeta, Resource, always

GROUP = "openstack.k-orc.cloud"
AVAILABLE: Final = "Available"
"""The condition that the resource is there, with its ID in the status."""
PROGRESSING: Final = "Progressing"
"""The condition that the controller works on it; False while it is not available: it has given up."""


class ImageStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`id`: that of the image in Glance, once there is one."""

    id: str | None = None
    conditions: list[Condition] = field(default_factory=list)


class Image(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An image that exists in Glance, or is made there."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1alpha1", "Image", "images")

    metadata: ObjectMeta = always(ObjectMeta)
    status: ImageStatus = always(ImageStatus)
