"""The report of an update: one value, from which texts, JSON and the UpdateStatus object are made.

It holds moments, not durations, so that it can be shown later than it was made; `windlass.update_status.estimate`
computes what depends on the present.
"""

from enum import IntEnum, StrEnum
from typing import Final

from msgspec import Struct, field, structs

from windlass.api.update_insights import LevelName, PoolAssessment
from windlass.update_status.constants import MASTER
from windlass.update_status.semver import is_older
from windlass.update_status.times import Duration, Moment


class State(StrEnum):
    """How far an operator is with the update. UNKNOWN: it is not updated, and says nothing of its progress."""

    UPDATED = "Updated"
    PROGRESSING = "Progressing"
    PENDING = "Pending"
    UNKNOWN = "Unknown"


class Health(StrEnum):
    HEALTHY = "Healthy"
    UNAVAILABLE = "Unavailable"
    DEGRADED = "Degraded"


class Operator(Struct, rename="camel", frozen=True, kw_only=True):
    """A ClusterOperator. `since`, `reason` and `message` are those of its condition Progressing (ZERO and "" without).

    `health_since` and `health_message` are those of Available or Degraded, whichever `health` speaks of.
    """

    name: str
    state: State
    since: Moment
    reason: str = ""
    message: str = ""
    health: Health
    health_since: Moment
    health_reason: str = ""
    health_message: str = ""


class Versions(Struct, rename="camel", frozen=True, kw_only=True):
    """`previous` None: a new installation. `incomplete`: the previous update was never completed.

    multi_arch  the target is the previous version with another image, which `oc` takes for a migration to several
                architectures
    same_arch   the target is known to be for one architecture, so that it is no such migration
    unfinished  the versions that were to be reached since the last completed update but never were, newest first
    completed   the version that the last completed update before these reached, None if there is none
    """

    target: str
    previous: str | None = None
    incomplete: bool = False
    multi_arch: bool = False
    same_arch: bool = False
    unfinished: tuple[str, ...] = ()
    completed: str | None = None

    @property
    def rollback(self) -> bool:
        """Whether the target is older than the previous version."""
        return self.previous is not None and is_older(self.target, self.previous)


class RequestState(StrEnum):
    """What became of a request to update. PENDING: the Cluster Version Operator has not answered yet."""

    PENDING = "Pending"
    REFUSED = "Refused"


class Request(Struct, rename="camel", frozen=True, kw_only=True):
    """An update that somebody asked for in `spec.desiredUpdate` of ClusterVersion, and that has not begun.

    target   the version, or the image if no version is asked for
    reason   of the condition that says why it was refused, with `message`
    since    when that condition began; None: it does not say
    """

    target: str
    state: RequestState
    reason: str = ""
    message: str = ""
    since: Moment | None = None


class Estimate(Struct, rename="camel", frozen=True, kw_only=True):
    """When something is expected to be updated: in four of five cases between `earliest` and `latest`.

    middle  before or after it with the same chance
    basis   what the range is computed from, for people: `4 nodes of this update, 1 at a time`
    """

    earliest: Moment
    middle: Moment
    latest: Moment
    basis: str


class ControlPlane(Struct, frozen=True, kw_only=True):
    """Progress of the operators.

    updating       the status of ClusterVersion's condition Progressing: True, False, Unknown or ""
    reason         of the same condition, with `message` and `since`, its last transition
    doubt          how the history contradicts that condition, or ""
    versions       None: there is no history
    started        when the update began: from the history, else the condition's transition
    completed      when it was completed, by the history; None: not yet
    last_progress  the last transition of an operator after the start; None: none since
    baseline       how long the update is expected to take as long as nothing better is known
    expected       when all of it is expected to be updated, its nodes too; None: it is, or nothing tells
    request        an update that was asked for and has not begun; None: there is none
    """

    updating: str
    reason: str = ""
    message: str = ""
    since: Moment
    doubt: str = ""
    versions: Versions | None
    started: Moment
    completed: Moment | None = None
    last_progress: Moment | None = None
    baseline: Duration
    operators: tuple[Operator, ...]
    expected: Estimate | None = None
    request: Request | None = None

    @property
    def refused(self) -> bool:
        return self.request is not None and self.request.state is RequestState.REFUSED

    @property
    def updated(self) -> int:
        return sum(operator.state is State.UPDATED for operator in self.operators)

    @property
    def all_updated(self) -> bool:
        return self.updated == len(self.operators)


class Phase(StrEnum):
    """What happens to a node, in the order of tables."""

    DRAINING = "Draining"
    UPDATING = "Updating"
    REBOOTING = "Rebooting"
    PAUSED = "Paused"
    PENDING = "Pending"
    UPDATED = "Updated"


class Assessment(StrEnum):
    """How a node is doing, in the order of tables."""

    DEGRADED = "Degraded"
    UNAVAILABLE = "Unavailable"
    PROGRESSING = "Progressing"
    EXCLUDED = "Excluded"
    OUTDATED = "Outdated"
    COMPLETED = "Completed"


_BY_PHASE = {
    Phase.DRAINING: Assessment.PROGRESSING,
    Phase.UPDATING: Assessment.PROGRESSING,
    Phase.REBOOTING: Assessment.PROGRESSING,
    Phase.PAUSED: Assessment.EXCLUDED,
    Phase.PENDING: Assessment.OUTDATED,
    Phase.UPDATED: Assessment.COMPLETED,
}


class Node(Struct, rename="camel", frozen=True, kw_only=True):
    """A node of a pool.

    managed         its Machine Config Daemon has annotated it. False: a node that has just joined, or one of Windows,
                    which has no such daemon; its `phase` is `oc`'s guess
    windows         it runs Windows, and belongs to no pool; `oc` alone counts it where its labels are selected
    updating        it is being updated; `phase` can be UPDATED even so, if its daemon has not begun
    version         the release of its current MachineConfig, "" if unknown
    unavailable     it cannot take Pods, as it should with the image that it has; `why_unavailable` says why
    why_degraded    what its Machine Config Daemon says
    degraded_since  when that began, if a MachineConfigNode tells; else None
    since           when it entered its phase, if a MachineConfigNode tells; else None
    first_seen      when it was first seen in its phase, if the report is kept in an object; else None
    step            the step of the update that its MachineConfigNode is at, or the build of the OS image that it waits
                    for; "" if there is none
    """

    name: str
    phase: Phase
    managed: bool = True
    windows: bool = False
    since: Moment | None = None
    first_seen: Moment | None = None
    step: str = ""
    updating: bool = False
    version: str = ""
    unavailable: bool = False
    unavailable_since: Moment | None = None
    why_unavailable: str = ""
    degraded: bool = False
    degraded_since: Moment | None = None
    why_degraded: str = ""

    @property
    def updated(self) -> bool:
        return self.phase is Phase.UPDATED and not self.updating

    @property
    def out_of_service(self) -> bool:
        """Unavailable for another reason than its update."""
        return self.unavailable and not self.updating

    @property
    def assessment(self) -> Assessment:
        if self.degraded:
            return Assessment.DEGRADED
        return Assessment.UNAVAILABLE if self.out_of_service else _BY_PHASE[self.phase]

    @property
    def message(self) -> str:
        if self.degraded:
            return self.why_degraded
        return self.why_unavailable if self.out_of_service else ""


class Summary(Struct, rename="camel", frozen=True, kw_only=True):
    """Numbers of nodes; a node can count in several.

    outdated   all whose phase is not UPDATED, as `oc` counts: also those that nobody manages yet
    unmanaged  those that no Machine Config Daemon has annotated: whether they are updated is unknown
    """

    total: int = 0
    available: int = 0
    progressing: int = 0
    outdated: int = 0
    draining: int = 0
    excluded: int = 0
    degraded: int = 0
    pending: int = 0
    unmanaged: int = 0

    @property
    def updated(self) -> int:
        return self.total - self.outdated

    @property
    def managed(self) -> int:
        return self.total - self.unmanaged

    @property
    def left(self) -> int:
        """The nodes that are known to be outdated."""
        return self.outdated - self.unmanaged

    @property
    def assessment(self) -> PoolAssessment:
        """Completed, Pending, Degraded, Excluded or Progressing: the first that applies."""
        return self.assessment_by_oc if self.left else "Completed"

    @property
    def assessment_by_oc(self) -> PoolAssessment:
        """The same, but nodes that nobody manages yet are outdated."""
        if not self.outdated:
            return "Completed"
        if self.pending == self.total:
            return "Pending"
        if self.degraded:
            return "Degraded"
        return "Excluded" if self.excluded else "Progressing"


class Pool(Struct, frozen=True, kw_only=True):
    """A MachineConfigPool with its nodes, both in the order of their lists.

    degraded  a condition of the pool says so, or the numbers of its nodes do
    expected  when all nodes are expected to be updated; None: they are, or nothing tells, as for a paused pool
    """

    name: str
    paused: bool = False
    degraded: bool = False
    expected: Estimate | None = None
    summary: Summary = Summary()
    nodes: tuple[Node, ...] = ()

    @property
    def assessment(self) -> PoolAssessment:
        return "Degraded" if self.degraded else self.summary.assessment

    @property
    def without_windows(self) -> "Pool":
        """The pool as the Machine Config Operator has it."""
        others = [node for node in self.nodes if node.windows]
        if not others:
            return self
        summary = structs.replace(
            self.summary,
            total=self.summary.total - len(others),
            available=self.summary.available - sum(not node.unavailable for node in others),
            outdated=self.summary.outdated - sum(node.phase is not Phase.UPDATED for node in others),
            excluded=self.summary.excluded - sum(node.phase is Phase.PAUSED for node in others),
            pending=self.summary.pending - sum(node.phase is Phase.PENDING for node in others),
            unmanaged=self.summary.unmanaged - len(others),
        )
        nodes = tuple(node for node in self.nodes if not node.windows)
        return structs.replace(self, summary=summary, nodes=nodes)


class Level(IntEnum):
    """How bad it is."""

    INFO = 0
    WARNING = 1
    ERROR = 2
    CRITICAL = 3

    @property
    def title(self) -> LevelName:
        return _TITLES[self]


_TITLES: Final[dict[Level, LevelName]] = {
    Level.INFO: "Info",
    Level.WARNING: "Warning",
    Level.ERROR: "Error",
    Level.CRITICAL: "Critical",
}


LEVELS: Final[dict[str, Level]] = {level.title: level for level in Level}
"""By their titles."""


class Impact(StrEnum):
    """The area that an insight affects."""

    NONE = "None"
    UNKNOWN = "Unknown"
    API_AVAILABILITY = "API Availability"
    CLUSTER_CAPACITY = "Cluster Capacity"
    APPLICATION_AVAILABILITY = "Application Availability"
    APPLICATION_OUTAGE = "Application Outage"
    DATA_LOSS = "Data Loss"
    UPDATE_SPEED = "Update Speed"
    UPDATE_STALLED = "Update Stalled"


class Scope(StrEnum):
    CONTROL_PLANE = "ControlPlane"
    WORKER_POOL = "WorkerPool"


class Reference(Struct, frozen=True):
    """An object that an insight is about, by the plural name of its kind. The core group is ""."""

    group: str
    resource: str
    name: str
    namespace: str = ""


class Insight(Struct, rename="camel", frozen=True, kw_only=True):
    """A finding that needs attention, or explains the update.

    pool       the pool whose section it belongs to, "" for the control plane
    started    when it began; None: nothing in the cluster says
    first_seen when it was first seen, if the report is kept in an object; else None
    reference  the URL of documentation, or a text in its place
    follows    the object whose trouble it reports again, as the alert of an operator does; else None
    remedy     what ends it. Only insights that `oc` does not have say it, and all of those do
    """

    level: Level
    impact: Impact
    summary: str
    description: str
    reference: str
    started: Moment | None
    first_seen: Moment | None = None
    scope: Scope = Scope.CONTROL_PLANE
    pool: str = ""
    resources: tuple[Reference, ...]
    follows: Reference | None = None
    remedy: str = ""

    @property
    def complete(self) -> bool:
        """`oc` shows no others."""
        return bool(self.summary and self.description and self.reference and not self.remedy)

    @property
    def standstill(self) -> bool:
        """Whether it says that something stands still until somebody acts; `oc` has no such rule."""
        return bool(self.remedy) and self.impact is Impact.UPDATE_STALLED and self.level >= Level.ERROR


PLATFORM: Final = ("openshift-", "kube-")
"""How the namespaces begin whose Pods only the platform and cluster administrators may run."""


class InformerInsight(Struct, frozen=True, kw_only=True):
    """What an informer of somebody else tells. `finish`: when it expects an end; None: it does not say."""

    uid: str
    insight: Insight
    finish: Moment | None = None


class Informed(Struct, frozen=True, kw_only=True):
    """An informer of somebody else, and what it told last.

    namespace    of the Service that is asked
    stale_since  it has not answered since; None: it answers
    """

    name: str
    namespace: str
    stale_since: Moment | None = None
    insights: tuple[InformerInsight, ...] = ()

    def claims(self, insight: Insight) -> bool:
        """Whether its level is worse than a warning although the informer is no part of the platform."""
        return insight.level > Level.WARNING and not self.namespace.startswith(PLATFORM)


class CauseKind(StrEnum):
    """What kind of thing an update waits for."""

    BUDGET = "PodDisruptionBudget"
    GRACE_PERIOD = "GracePeriod"
    TERMINATION = "Termination"
    IMAGE_PULL = "ImagePull"
    START = "PodStart"
    EVICTION = "Eviction"
    NODE = "Node"
    PAUSE = "Pause"


class Cause(Struct, rename="camel", frozen=True, kw_only=True):
    """The cause of a delay: one thing to change, and all objects that wait for it.

    BUDGET        a PodDisruptionBudget allows no eviction
    GRACE_PERIOD  a Pod ends, and may take as long as its grace period says
    TERMINATION   a Pod should have ended, but is still there
    IMAGE_PULL    a Pod cannot pull an image, START: it cannot start otherwise
    EVICTION      nothing is known to hold the eviction of a Pod, and it has not gone
    NODE          a node is in trouble, and others wait for it
    PAUSE         somebody paused a pool: not a trouble

    level       INFO if it is intended
    remedy      what ends it
    started     when it began; None: nothing in the cluster says
    first_seen  when it was first seen, if the report is kept in an object; else None
    about       the objects to look at, the most important first
    affected    the objects that wait: nodes, pools and operators
    """

    kind: CauseKind = field(name="type")
    level: Level
    summary: str
    description: str
    remedy: str
    started: Moment | None
    first_seen: Moment | None = None
    about: tuple[Reference, ...]
    affected: tuple[Reference, ...]


class Report(Struct, frozen=True, kw_only=True):
    """How an update was going at one moment.

    pools       in the order of their list, the master pool among them
    unassigned  the names of nodes that belong to no pool
    insights    in the order in which they were found
    causes      why things wait, in the order in which they were found
    alerts      the line that says why alerts are missing, or ""
    gaps        what is not known, and why: a text each
    informed    what informers of others told. It stands apart: no assessment, cause, history or text of `oc` has it
    """

    control_plane: ControlPlane
    pools: tuple[Pool, ...] = ()
    unassigned: tuple[str, ...] = ()
    insights: tuple[Insight, ...] = ()
    causes: tuple[Cause, ...] = ()
    alerts: str = ""
    gaps: tuple[str, ...] = ()
    informed: tuple[Informed, ...] = ()

    @property
    def updating(self) -> bool:
        """Whether an update is going on: of the control plane, or still of a pool of workers."""
        return self.control_plane.updating == "True" or any(
            pool.summary.left for pool in self.pools if pool.name != MASTER
        )

    @property
    def stands_still(self) -> bool:
        """Whether an update is going on of which something does not."""
        return self.updating and any(insight.standstill for insight in self.insights)

    @property
    def windows(self) -> tuple[str, ...]:
        """The names of nodes of Windows, which no pool has."""
        return tuple(node.name for pool in self.pools for node in pool.nodes if node.windows)

    @property
    def single_node(self) -> bool:
        """Whether the control plane is one node, and there is no other: while it restarts, nothing answers."""
        filled = [pool for pool in self.pools if pool.nodes]
        return [(pool.name, len(pool.nodes)) for pool in filled] == [(MASTER, 1)] and not self.unassigned

    @property
    def updating_by_oc(self) -> bool:
        """The same, but a worker that nobody manages yet is outdated."""
        return self.updating or any(pool.summary.outdated for pool in self.pools if pool.name != MASTER)
