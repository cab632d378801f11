"""update.openshift.io/v1alpha1 UpdateStatus: how the update of the cluster is going. There is one, named `cluster`.

A controller keeps it; every view of an update can be drawn from it alone. `windlass.api.update_insights` has the
insights. The shape is the one that OpenShift proposed (openshift/api pull request 2012, revision 8495ca67b); what is
added is marked so.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta, Struct

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.api.schema import LIST_ATOMIC, MAP_ATOMIC, REQUIRED, list_map, rule
from windlass.api.update_insights import (
    GROUP,
    LABEL,
    MOST_RESOURCES,
    VERSION,
    AboutRef,
    ClusterOperatorInsight,
    ClusterVersionInsight,
    Condition,
    HealthInsight,
    LevelName,
    MachineConfigPoolInsight,
    Name,
    NodeInsight,
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
    """One insight: its type, and the member of that type."""

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
    """One insight: its type, and the member of that type."""

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
    """An insight with its identity, and when its content was acquired as it is.

    `insight` is owned as a whole: managedFields would else name each of its fields, and outgrow the object.
    """

    uid: Uid
    acquired_at: Time
    insight: Annotated[ControlPlaneUnion, MAP_ATOMIC]


class WorkerPoolEntry(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An insight with its identity, and when its content was acquired as it is."""

    uid: Uid
    acquired_at: Time
    insight: Annotated[WorkerPoolUnion, MAP_ATOMIC]


class _Informer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A source of insights.

    namespace    Added: of the Service that is asked; absent: the source is the controller itself
    stale_since  Added: it has not answered since; absent: it answers
    """

    name: Name
    namespace: Annotated[str, Meta(max_length=63, pattern=LABEL)] | None = None
    stale_since: Time | None = None


class ControlPlaneInformer(_Informer, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The insights of one source, in its order."""

    insights: Annotated[tuple[ControlPlaneEntry, ...], list_map("uid"), Meta(max_length=MOST_IN_CONTROL_PLANE)] = ()


class WorkerPoolInformer(_Informer, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The insights of one source, in its order."""

    insights: Annotated[tuple[WorkerPoolEntry, ...], list_map("uid"), Meta(max_length=MOST_IN_POOL)] = ()


class ControlPlaneStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The update of the control plane, with its nodes.

    pools_before  Added: how many worker pools precede the control plane's in the list of pools. Insights of equal
                  weight are shown in that order
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
    pools_before: Annotated[int, Meta(ge=0, le=MOST_POOLS)] = 0
    informers: Annotated[tuple[ControlPlaneInformer, ...], list_map("name"), Meta(max_length=MOST_INFORMERS)] = ()


class PoolStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The update of a pool of workers."""

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


class OwnCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The health of the controller, never that of the update.

    Available          whether the status can be relied on
    Degraded           whether a source is missing
    Truncated          whether something was left out of the status; the message says what
    InformersDegraded  whether an informer of somebody else does not answer, or tells too much: absent if there is none
    """

    type: Literal["Available", "Degraded", "Truncated", "InformersDegraded"]
    reason: Literal["AsExpected", "SourcesMissing", "LeftOut", "InvalidInsights", "NotAnswering"]


class Overview(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The update in a line: a column of `kubectl get` shows one value at one path, and computes nothing.

    updating    whether the control plane or a pool of workers is being updated
    assessment  of the control plane
    operators   those that are updated: `32/33 (97%)`
    workers     nodes of all worker pools that are updated: `22/59`
    health      the number of insights of each level above Info: `1 Error, 2 Warning`, or `OK`
    """

    updating: bool
    assessment: Text = ""
    target: Annotated[str, Meta(max_length=256)] = ""
    operators: Annotated[str, Meta(max_length=64)] = ""
    workers: Annotated[str, Meta(max_length=64)] = ""
    health: Annotated[str, Meta(max_length=128)] = ""


class CauseEntry(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Added. Why something waits: one thing that somebody can change, and all that waits for it.

    A health insight is a symptom of the first cause that affects one of its resources.

    type          PodDisruptionBudget: one allows no eviction. GracePeriod: a Pod ends, and may take as long as that
                  says. Termination: a Pod should have ended. ImagePull, PodStart: a Pod cannot pull an image, or cannot
                  start otherwise. Eviction: a Pod is not gone, and nothing tells why. Node: a node is in trouble.
                  Pause: somebody paused a pool
    level         Info if it is intended
    remedy        what ends it
    start_source  where `started_at` comes from. Reported: the cluster says it. FirstSeen: nothing in the cluster does
    about         the objects to look at, the most important first
    affected      the objects that wait: nodes, pools and operators
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
    started_at: Time
    start_source: Literal["Reported", "FirstSeen"]
    about: Annotated[tuple[AboutRef, ...], LIST_ATOMIC, Meta(max_length=MOST_RESOURCES)] = ()
    affected: Annotated[tuple[AboutRef, ...], LIST_ATOMIC, Meta(max_length=MOST_AFFECTED)] = ()


class UpdateStatusStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """All that is known of the update.

    overview          Added: for `kubectl get`
    causes            Added: why things wait
    gaps              Added: what is not known, and why
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
    """How the update of the cluster is going. There is one, named `cluster`."""

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
