"""update.openshift.io/v1alpha1 UpdateRecord: what happened in one update of the cluster, kept after it is over.

`status` of the API conventions would be wrong here: a record is not the observation of something that is specified, and
nobody may change it. As in an Event, the fields stand beside the metadata.
"""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct, field

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.api.schema import DATE_TIME, REQUIRED, list_map

Time = Annotated[str, DATE_TIME]
MOST_NODES = 2000
MOST_TROUBLES = 256
MOST_IMAGE = 1024
MOST_RISKS = 4096
MOST_TARGET = 128


class Took(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """When an operator, a node or a pool began to update, and when it was updated.

    `started` is absent if the beginning was not seen, `completed` as long as it is not updated.
    """

    name: Annotated[str, Meta(max_length=253), REQUIRED] = always(str)
    started: Time | None = None
    completed: Time | None = None


class NodeTook(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The same of a node, with its pool.

    `drained`: when its drain was over, which is `started` if the drain was not seen; absent as long as it drains.
    """

    name: Annotated[str, Meta(max_length=253), REQUIRED] = always(str)
    pool: Annotated[str, Meta(max_length=253)] = ""
    started: Time | None = None
    drained: Time | None = None
    completed: Time | None = None


class Trouble(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Something that needed attention. `last_seen` is not newer than the last write of the record.

    `resolved`: when it was found gone; absent as long as it is there.
    """

    uid: Annotated[str, Meta(max_length=63), REQUIRED] = always(str)
    level: Annotated[str, Meta(max_length=16)] = ""
    summary: Annotated[str, Meta(max_length=1024)] = ""
    first_seen: Time | None = None
    last_seen: Time | None = None
    resolved: Time | None = None


class UpdateRecord(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """One update: from `previous` (absent: an installation) to `target`.

    state      Progressing, Completed, Superseded by another target before it was completed, or Refused: it never began
    started    when the update began, by ClusterVersion's history, which also tells `image`, `verified` and
               `accepted_risks`: whether the release's signature was checked, and what was overridden. Of one that was
               refused: when that was
    operators  those that were seen to update; `nodes` and `pools` likewise
    omitted    what was left out to keep all records small, in words
    """

    RESOURCE: ClassVar[Resource] = Resource(
        group="update.openshift.io",
        version="v1alpha1",
        kind="UpdateRecord",
        plural="updaterecords",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    previous: Annotated[str, Meta(max_length=MOST_TARGET)] = ""
    target: Annotated[str, Meta(max_length=MOST_TARGET), REQUIRED] = always(str)
    state: Annotated[str, Meta(pattern="^(Progressing|Completed|Superseded|Refused)$"), REQUIRED] = always(str)
    started: Annotated[str, DATE_TIME, REQUIRED] = always(str)
    image: Annotated[str, Meta(max_length=MOST_IMAGE)] = ""
    verified: bool | None = None
    accepted_risks: Annotated[str, Meta(max_length=MOST_RISKS)] = ""
    control_plane_completed: Time | None = None
    completed: Time | None = None
    operators: Annotated[list[Took], list_map("name"), Meta(max_length=256)] = field(default_factory=list)
    pools: Annotated[list[Took], list_map("name"), Meta(max_length=64)] = field(default_factory=list)
    nodes: Annotated[list[NodeTook], list_map("name"), Meta(max_length=MOST_NODES)] = field(default_factory=list)
    troubles: Annotated[list[Trouble], list_map("uid"), Meta(max_length=MOST_TROUBLES)] = field(default_factory=list)
    omitted: Annotated[str, Meta(max_length=1024)] = ""
