"""update.openshift.io/v1alpha1 UpdateStatus: how the update of the cluster is going. There is one, named `cluster`.

A controller keeps it; every view of an update can be drawn from it alone. `windlass.api.update_insights` has the
insights. The shape is the one that OpenShift proposed (openshift/api pull request 2012, revision 8495ca67b); what is
added is marked so, and a field that only earlier versions wrote is FORMER.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.api.schema import FORMER, LIST_ATOMIC, MAP_ATOMIC, REQUIRED, list_map, on_write, rule
from windlass.api.update_insights import (
    GROUP,
    LABEL,
    MOST_RESOURCES,
    MOST_VERSION,
    SEMVER,
    VERSION,
    AboutRef,
    Assessment,
    ClusterOperatorInsight,
    ClusterVersionInsight,
    Condition,
    HealthInsight,
    LevelName,
    MachineConfigPoolInsight,
    Name,
    NodeInsight,
    Percent,
    PoolCondition,
    ProgressingCondition,
    ResourceRef,
    Time,
    Uid,
    names,
)

UPDATE_STATUS = "cluster"
"""The name of the only UpdateStatus."""

MOST_POOLS = 32
OWN_INFORMERS = ("cpi", "ni")
"""The names of the controller's own informers."""
MOST_INFORMERS = 50 + len(OWN_INFORMERS)
"""Each of 50 others has room for three insights even if all tell as much as they may. The CRD must be accepted with it:
the API server charges the rules of an insight for each one that may exist."""
MOST_IN_CONTROL_PLANE = 128
MOST_IN_POOL = 1024
MOST_AT_REST = 5000
MOST_GAPS = 64
MOST_UNASSIGNED = 256
MOST_TEXT = 1024
MOST_CAUSES = 32
MOST_AFFECTED = 64
MOST_ABOUT_CAUSE = 2048

Text: TypeAlias = Annotated[str, Meta(max_length=MOST_TEXT)]


def _member(field: str, kind: str) -> Meta:
    """The member of a union is set if, and only if, the union is of its type."""
    return rule(
        f"has(self.{field}) ? self.type == '{kind}' : self.type != '{kind}'",
        f"{field} is required when type is {kind}, and forbidden otherwise",
    )


class WorkerPoolUnion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """One insight: its type, and the member of that type.

    type                 which member is set
    machine_config_pool  set if the type is MachineConfigPool
    node                 set if the type is Node
    health               set if the type is Health
    """

    SCHEMA: ClassVar[tuple[Meta, ...]] = (
        _member("machineConfigPool", "MachineConfigPool"),
        _member("node", "Node"),
        _member("health", "Health"),
    )

    type: Literal["MachineConfigPool", "Node", "Health"]
    machine_config_pool: MachineConfigPoolInsight | None = None
    node: NodeInsight | None = None
    health: HealthInsight | None = None


class ControlPlaneUnion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """One insight: its type, and the member of that type.

    type                 which member is set
    cluster_version      set if the type is ClusterVersion
    cluster_operator     set if the type is ClusterOperator
    machine_config_pool  set if the type is MachineConfigPool
    node                 set if the type is Node
    health               set if the type is Health
    """

    SCHEMA: ClassVar[tuple[Meta, ...]] = (
        _member("clusterVersion", "ClusterVersion"),
        _member("clusterOperator", "ClusterOperator"),
        *WorkerPoolUnion.SCHEMA,
    )

    type: Literal["ClusterVersion", "ClusterOperator", "MachineConfigPool", "Node", "Health"]
    cluster_version: ClusterVersionInsight | None = None
    cluster_operator: ClusterOperatorInsight | None = None
    machine_config_pool: MachineConfigPoolInsight | None = None
    node: NodeInsight | None = None
    health: HealthInsight | None = None


class ControlPlaneEntry(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An insight with its identity. Its fields have one owner: managedFields would else outgrow the object.

    uid          the same as long as its subject exists
    acquired_at  when its content last changed
    insight      what it says
    """

    uid: Uid
    acquired_at: Time
    insight: Annotated[ControlPlaneUnion, MAP_ATOMIC]


class WorkerPoolEntry(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An insight with its identity. Its fields have one owner: managedFields would else outgrow the object.

    uid          the same as long as its subject exists
    acquired_at  when its content last changed
    insight      what it says
    """

    uid: Uid
    acquired_at: Time
    insight: Annotated[WorkerPoolUnion, MAP_ATOMIC]


class _Informer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A source of insights.

    name         `cpi` and `ni` are the controller itself; others are named as their UpdateInformer
    namespace    Added: of the Service that is asked; absent: the source is the controller itself
    stale_since  Added: it has not answered since; absent: it answers
    """

    name: Name
    namespace: Annotated[str, Meta(max_length=63, pattern=LABEL)] | None = None
    stale_since: Time | None = None


class ControlPlaneInformer(_Informer, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A source of insights into the control plane.

    insights  what the source tells, in its order
    """

    insights: Annotated[tuple[ControlPlaneEntry, ...], list_map("uid"), Meta(max_length=MOST_IN_CONTROL_PLANE)] = ()


class WorkerPoolInformer(_Informer, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A source of insights into a pool of workers.

    insights  what the source tells, in its order
    """

    insights: Annotated[tuple[WorkerPoolEntry, ...], list_map("uid"), Meta(max_length=MOST_IN_POOL)] = ()


class ControlPlaneStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The update of the control plane, with its nodes.

    conditions     Updating: whether the control plane is updating
    resource       the ClusterVersion that is updated; for a hosted control plane the HostedCluster
    pool_resource  the MachineConfigPool of the control plane's nodes; absent: there is none
    informers      the sources of insights, by name
    """

    conditions: Annotated[tuple[ProgressingCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    resource: (
        Annotated[
            ResourceRef,
            names(
                "clusterversions.config.openshift.io",
                "hostedclusters.hypershift.openshift.io",
                message="controlPlane.resource must be either a clusterversions.config.openshift.io or a "
                "hostedclusters.hypershift.openshift.io resource",
            ),
        ]
        | None
    ) = None
    pool_resource: (
        Annotated[
            ResourceRef,
            names(
                "machineconfigpools.machineconfiguration.openshift.io",
                message="controlPlane.poolResource must be a machineconfigpools.machineconfiguration.openshift.io "
                "resource",
            ),
        ]
        | None
    ) = None
    informers: Annotated[tuple[ControlPlaneInformer, ...], list_map("name"), Meta(max_length=MOST_INFORMERS)] = ()


RestState: TypeAlias = Literal["Pending", "Paused", "Updated"]


class NodeAtRest(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Added. A node that is available, not degraded and not being updated: it has no insight.

    name             the name of the Node
    state            Pending: it waits for its update. Paused: it waits, and its pool is paused. Updated: it has the
                     configuration of its pool
    version          the release of the MachineConfig that it runs; absent: unknown
    step             the build of the OS image that it waits for; absent: none
    step_started_at  when it entered its state, by its MachineConfigNode; absent: that does not tell
    observed_since   when it was first seen in its state; absent if `step_started_at` tells more
    """

    name: Name
    state: RestState
    version: Annotated[str, Meta(max_length=MOST_VERSION, pattern=f"^{SEMVER}$")] | None = None
    step: Annotated[str, Meta(max_length=64)] = ""
    step_started_at: Time | None = None
    observed_since: Time | None = None


class PoolStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The update of a pool of workers.

    name        the name of the pool
    resource    the MachineConfigPool; for a hosted control plane the NodePool
    conditions  Updating: whether nodes of the pool are being updated
    informers   the sources of insights, by name
    nodes       Added: the nodes at rest, which have no insights; the others have one each. Owned as a whole
    """

    SCHEMA: ClassVar = (rule("self.name == self.resource.name", "workerPools .name must match .resource.name"),)

    name: Name
    # The proposal's message says hostedclusters where it means nodepools.
    resource: Annotated[
        ResourceRef,
        names(
            "machineconfigpools.machineconfiguration.openshift.io",
            "nodepools.hypershift.openshift.io",
            message="workerPools[].poolResource must be a machineconfigpools.machineconfiguration.openshift.io or "
            "hostedclusters.hypershift.openshift.io resource",
        ),
    ]
    conditions: Annotated[tuple[PoolCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    informers: Annotated[tuple[WorkerPoolInformer, ...], list_map("name"), Meta(max_length=MOST_INFORMERS)] = ()
    nodes: Annotated[tuple[NodeAtRest, ...], LIST_ATOMIC, Meta(max_length=MOST_AT_REST)] = ()


class OwnCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The health of the controller, never that of the update.

    type    Available: the status can be relied on. Degraded: a source is missing. Truncated: something was left out of
            the status; the message says what. InformersDegraded: an informer of somebody else does not answer, or tells
            too much; the condition is absent if there is no such informer
    reason  why the status is as it is, for programs
    """

    type: Literal["Available", "Degraded", "Truncated", "InformersDegraded"]
    reason: Literal["AsExpected", "SourcesMissing", "LeftOut", "InvalidInsights", "NotAnswering"]


UpdateState: TypeAlias = Literal["Updating", "Idle"]
WorstLevel: TypeAlias = Literal["OK", "Warning", "Error", "Critical"]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=65536)]


def _idle() -> UpdateState:
    return "Idle"


def _ok() -> WorstLevel:
    return "OK"


class Overview(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The update in numbers and words. A column of `kubectl get` shows one value at one path, and computes nothing.

    state               Updating: the control plane or a pool of workers is being updated. Idle: neither is
    assessment          that of the control plane, as its ClusterVersion insight has it
    previous            the version that ran before; absent: nothing was there, or it is unknown
    target              the version that the cluster shall have, or has; absent: unknown
    completion_percent  share of the operators that are updated, in percent, rounded
    total_operators     operators of the release
    operators_left      operators that are not updated yet
    total_workers       managed nodes of all worker pools
    workers_left        managed nodes of all worker pools that are not updated yet
    worst_level         the highest level of the health insights; OK: none is above Info
    warning_insights    health insights of level Warning
    error_insights      health insights of level Error
    critical_insights   health insights of level Critical
    """

    state: Annotated[UpdateState, REQUIRED] = always(_idle)
    assessment: Annotated[str, on_write(enum=[*get_args(Assessment)])] = ""
    previous: Annotated[str, Meta(max_length=256)] = ""
    target: Annotated[str, Meta(max_length=256)] = ""
    completion_percent: Annotated[Percent, REQUIRED] = always(int)
    total_operators: Annotated[Count, REQUIRED] = always(int)
    operators_left: Annotated[Count, REQUIRED] = always(int)
    total_workers: Annotated[Count, REQUIRED] = always(int)
    workers_left: Annotated[Count, REQUIRED] = always(int)
    worst_level: Annotated[WorstLevel, REQUIRED] = always(_ok)
    warning_insights: Annotated[Count, REQUIRED] = always(int)
    error_insights: Annotated[Count, REQUIRED] = always(int)
    critical_insights: Annotated[Count, REQUIRED] = always(int)


class CauseEntry(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Added. Why something waits: one thing that somebody can change, and all that waits for it.

    A health insight is a symptom of the first cause that affects one of its resources.

    uid            the same as long as the cause exists
    acquired_at    when its content last changed
    type           PodDisruptionBudget: one allows no eviction. GracePeriod: a Pod ends, and may take as long as that
                   says. Termination: a Pod should have ended. ImagePull, PodStart: a Pod cannot pull an image, or
                   cannot start otherwise. Eviction: a Pod is not gone, and nothing tells why. Node: a node is in
                   trouble. Pause: somebody paused a pool
    level          how bad it is; Info if it is intended
    summary        one sentence
    description    what is known beside the summary; absent: nothing
    remedy         what ends it, in a sentence
    started_at     when it began; absent if nothing in the cluster says when
    first_seen_at  when the controller first saw it
    about          the objects to look at, the most important first
    affected       the objects that wait: nodes, pools and operators
    """

    uid: Uid
    acquired_at: Time
    type: Literal[
        "PodDisruptionBudget",
        "GracePeriod",
        "Termination",
        "ImagePull",
        "PodStart",
        "Eviction",
        "Node",
        "Pause",
    ]
    level: LevelName
    summary: Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
    description: Annotated[str, Meta(max_length=MOST_ABOUT_CAUSE)] = ""
    remedy: Text = ""
    started_at: Time | None = None
    first_seen_at: Annotated[Time, REQUIRED] = always(str)
    start_source: Annotated[str, FORMER] = ""
    about: Annotated[tuple[AboutRef, ...], LIST_ATOMIC, Meta(max_length=MOST_RESOURCES)] = ()
    affected: Annotated[tuple[AboutRef, ...], LIST_ATOMIC, Meta(max_length=MOST_AFFECTED)] = ()


class UpdateStatusStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """All that is known of the update.

    conditions        the health of the controller: whether the rest can be relied on
    overview          Added: the update in numbers and words; absent until the first report is written
    control_plane     the update of the control plane, with its nodes; absent until the first report is written
    worker_pools      the update of each other pool, by name
    causes            Added: why things wait; absent: nothing is known to
    gaps              Added: what is not known, and why; absent: nothing is missing
    alerts_missing    Added: the line that says why there are no alerts; absent if there is no reason to say so
    unassigned_nodes  Added: nodes that belong to no pool, so that no pool's insights have them
    """

    conditions: Annotated[tuple[OwnCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    overview: Overview | None = None
    control_plane: ControlPlaneStatus | None = None
    worker_pools: Annotated[tuple[PoolStatus, ...], list_map("name"), Meta(max_length=MOST_POOLS)] = ()
    causes: Annotated[tuple[CauseEntry, ...], list_map("uid"), Meta(max_length=MOST_CAUSES)] = ()
    gaps: Annotated[tuple[Text, ...], LIST_ATOMIC, Meta(max_length=MOST_GAPS)] = ()
    alerts_missing: Annotated[str, Meta(max_length=4096)] = ""
    unassigned_nodes: Annotated[tuple[Name, ...], LIST_ATOMIC, Meta(max_length=MOST_UNASSIGNED)] = ()


class UpdateStatusSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Reserved: it has no fields."""


class UpdateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How the update of the cluster is going. There is one, named `cluster`.

    spec    reserved: it has no fields
    status  what the controller has seen
    """

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP,
        version=VERSION,
        kind="UpdateStatus",
        plural="updatestatuses",
        namespaced=False,
    )
    SCHEMA: ClassVar = (
        rule(f"self.metadata.name == '{UPDATE_STATUS}'", f"the only UpdateStatus is named {UPDATE_STATUS}"),
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: Annotated[UpdateStatusSpec, REQUIRED] = always(UpdateStatusSpec)
    status: UpdateStatusStatus = UpdateStatusStatus()
