"""update.openshift.io/v1alpha1 UpdateStatusHeartbeat: whether somebody keeps the UpdateStatus up to date.

It is an object of its own because the UpdateStatus may have a megabyte, which is written only when something changes.
There is one, named as the UpdateStatus is.
"""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.api.schema import DATE_TIME, REQUIRED
from windlass.api.update_insights import GROUP, VERSION


class UpdateStatusHeartbeat(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The last sign of life of the controller that keeps the UpdateStatus.

    last_beat       when it lived and followed all that the UpdateStatus is made from, by the clock of the API server
    period_seconds  between two beats. After three periods without one the UpdateStatus may be out of date
    controller      the process that beat last, as its Lease names it
    """

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP,
        version=VERSION,
        kind="UpdateStatusHeartbeat",
        plural="updatestatusheartbeats",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    last_beat: Annotated[str, DATE_TIME, REQUIRED] = always(str)
    period_seconds: Annotated[int, Meta(ge=1, le=3600), REQUIRED] = always(int)
    controller: Annotated[str, Meta(max_length=512)] = ""
