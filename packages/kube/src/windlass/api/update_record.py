"""update.openshift.io/v1alpha1 UpdateRecord: what happened in one update of the cluster, kept after it is over.

`spec` names the update, which never changes; `status` is what was seen of it. Earlier versions had all of it beside
`metadata`. Those fields are still in the CRD, because the API server would drop them from stored records otherwise;
while a record has them they count, and a controller moves them.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.api.schema import DATE_TIME, REQUIRED, list_map, on_write, rule

Time = Annotated[str, DATE_TIME]
MOST_NODES = 2000
MOST_TROUBLES = 256
MOST_OPERATORS = 256
MOST_POOLS = 64
MOST_IMAGE = 1024
MOST_RISKS = 4096
MOST_TARGET = 128


class Took(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """When an operator, a node or a pool began to update, and when it was updated.

    name       the name of the object
    started    when it began; absent: the beginning was not seen
    completed  when it was updated; absent: it is not
    """

    name: Annotated[str, Meta(max_length=253), REQUIRED] = always(str)
    started: Time | None = None
    completed: Time | None = None


class NodeTook(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The same of a node, with its pool.

    name       the name of the Node
    pool       the pool that it belonged to
    started    when it began; absent: the beginning was not seen
    drained    when its drain was over, which is `started` if the drain was not seen; absent: it drains
    completed  when it was updated; absent: it is not
    """

    name: Annotated[str, Meta(max_length=253), REQUIRED] = always(str)
    pool: Annotated[str, Meta(max_length=253)] = ""
    started: Time | None = None
    drained: Time | None = None
    completed: Time | None = None


class Trouble(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Something that needed attention.

    uid         that of the insight
    level       the level that it had last
    summary     the summary of the insight when it was first seen
    first_seen  when it was first seen
    last_seen   when it was last seen: not newer than the last write of the record
    resolved    when it was found gone; absent: it is there
    """

    uid: Annotated[str, Meta(max_length=63), REQUIRED] = always(str)
    level: Annotated[str, Meta(max_length=16), on_write(enum=["Info", "Warning", "Error", "Critical", "Unknown"])] = ""
    summary: Annotated[str, Meta(max_length=1024)] = ""
    first_seen: Time | None = None
    last_seen: Time | None = None
    resolved: Time | None = None


class UpdateRecordSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Which update it is. It cannot be changed.

    previous    the version that ran before; absent: it was an installation
    target      the version that the cluster was to have, or the image if no version was asked for
    started_at  when the update began, by ClusterVersion's history; of one that was refused, when that was
    """

    SCHEMA: ClassVar = (rule("self == oldSelf", "a record is of one update: spec cannot be changed"),)

    previous: Annotated[str, Meta(max_length=MOST_TARGET)] = ""
    target: Annotated[str, Meta(max_length=MOST_TARGET), REQUIRED] = always(str)
    started_at: Annotated[str, DATE_TIME, REQUIRED, Meta(max_length=35)] = always(str)


State = Literal["Progressing", "Completed", "Superseded", "Refused"]
Verification = Literal["Verified", "Unverified"]

Operators = Annotated[list[Took], list_map("name"), Meta(max_length=MOST_OPERATORS)]
Pools = Annotated[list[Took], list_map("name"), Meta(max_length=MOST_POOLS)]
Nodes = Annotated[list[NodeTook], list_map("name"), Meta(max_length=MOST_NODES)]
Troubles = Annotated[list[Trouble], list_map("uid"), Meta(max_length=MOST_TROUBLES)]


class UpdateRecordStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What was seen of the update.

    state                       Superseded: there was another target before it was completed. Refused: it never began.
                                Absent: the record has just been created
    control_plane_completed_at  when ClusterVersion's history says that it was completed; absent: it does not
    completed_at                when the update ended; absent: it goes on
    image                       the image of the release, by ClusterVersion's history; absent: it does not say
    verification                whether the signature of the release was checked; absent: the history does not say
    accepted_risks              what somebody overrode to begin the update; absent: nothing
    operators                   those that were seen to update
    pools                       those that were seen to update
    nodes                       those that were seen to update
    troubles                    what needed attention meanwhile
    omitted                     what was left out to keep all records small, in words; absent: nothing
    """

    state: State | None = None
    control_plane_completed_at: Time | None = None
    completed_at: Time | None = None
    image: Annotated[str, Meta(max_length=MOST_IMAGE)] = ""
    verification: Verification | None = None
    accepted_risks: Annotated[str, Meta(max_length=MOST_RISKS)] = ""
    operators: Operators = field(default_factory=list)
    pools: Pools = field(default_factory=list)
    nodes: Nodes = field(default_factory=list)
    troubles: Troubles = field(default_factory=list)
    omitted: Annotated[str, Meta(max_length=1024)] = ""


class UpdateRecord(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """One update of the cluster.

    spec                     which update it is
    status                   what was seen of the update
    previous                 Deprecated: see `spec.previous`
    target                   Deprecated: see `spec.target`
    state                    Deprecated: see `status.state`
    started                  Deprecated: see `spec.startedAt`
    image                    Deprecated: see `status.image`
    verified                 Deprecated: see `status.verification`
    accepted_risks           Deprecated: see `status.acceptedRisks`
    control_plane_completed  Deprecated: see `status.controlPlaneCompletedAt`
    completed                Deprecated: see `status.completedAt`
    operators                Deprecated: see `status.operators`
    pools                    Deprecated: see `status.pools`
    nodes                    Deprecated: see `status.nodes`
    troubles                 Deprecated: see `status.troubles`
    omitted                  Deprecated: see `status.omitted`
    """

    RESOURCE: ClassVar[Resource] = Resource(
        group="update.openshift.io",
        version="v1alpha1",
        kind="UpdateRecord",
        plural="updaterecords",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: Annotated[UpdateRecordSpec, REQUIRED] = always(UpdateRecordSpec)
    status: UpdateRecordStatus = UpdateRecordStatus()
    previous: Annotated[str, Meta(max_length=MOST_TARGET)] = ""
    target: Annotated[str, Meta(max_length=MOST_TARGET)] = ""
    state: Annotated[str, Meta(max_length=16)] = ""
    started: Time | None = None
    image: Annotated[str, Meta(max_length=MOST_IMAGE)] = ""
    verified: bool | None = None
    accepted_risks: Annotated[str, Meta(max_length=MOST_RISKS)] = ""
    control_plane_completed: Time | None = None
    completed: Time | None = None
    operators: Operators = field(default_factory=list)
    pools: Pools = field(default_factory=list)
    nodes: Nodes = field(default_factory=list)
    troubles: Troubles = field(default_factory=list)
    omitted: Annotated[str, Meta(max_length=1024)] = ""


FORMER: tuple[str, ...] = UpdateRecord.__struct_encode_fields__[3:]
"""The fields, by their JSON names, that only records of earlier versions have."""
