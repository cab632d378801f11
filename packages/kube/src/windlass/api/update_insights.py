"""update.openshift.io/v1alpha1: insights, of which an UpdateStatus consists. Each says one thing about an update.

The shapes are those that OpenShift proposed (openshift/api pull request 2012, revision 8495ca67b). Fields that a reader
needs to draw every view, and names that Kubernetes allows but the proposal refused, are added; each is marked `Added`.
The tables in the docstrings are the descriptions of the fields in the CRD, and what `kubectl explain` shows.

Objects that a controller of earlier versions wrote are read: a field that is FORMER is not in the CRD any more, and is
never written.

Constraints are patterns and enums where possible: the API server charges a CEL rule for every insight that may exist.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta, Struct

from windlass.api.meta import always
from windlass.api.schema import DATE_TIME, FORMER, LIST_ATOMIC, REQUIRED, list_map, rule

GROUP = "update.openshift.io"
VERSION = "v1alpha1"

MOST_MESSAGE = 32768
MOST_SUMMARY = 1024
MOST_NODE_MESSAGE = 100
MOST_RESOURCES = 16
MOST_VERSION = 64
MOST_UNFINISHED = 100
MOST_BASIS = 256

LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_NUMBER = "(0|[1-9][0-9]*)"
_WORDS = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
SEMVER = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORDS})?(\+{_WORDS})?"

Time: TypeAlias = Annotated[str, DATE_TIME, Meta(max_length=35)]
"""RFC 3339, with a fraction of the second where the source has one."""
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=253, pattern=SUBDOMAIN)]
Uid: TypeAlias = Annotated[str, Meta(min_length=1, max_length=63, pattern=LABEL)]
Message: TypeAlias = Annotated[str, Meta(max_length=MOST_MESSAGE)]
VersionText: TypeAlias = Annotated[str, Meta(max_length=MOST_VERSION)]
Reason: TypeAlias = Annotated[str, Meta(max_length=1024)]
Percent: TypeAlias = Annotated[int, Meta(ge=0, le=100)]
Group: TypeAlias = Annotated[str, Meta(max_length=253, pattern=SUBDOMAIN)]
Status: TypeAlias = Literal["True", "False", "Unknown"]
ScopeType: TypeAlias = Literal["ControlPlane", "WorkerPool"]
LevelName: TypeAlias = Literal["Info", "Warning", "Error", "Critical"]
PoolAssessment: TypeAlias = Literal["Pending", "Completed", "Degraded", "Excluded", "Progressing"]
NodeCountType: TypeAlias = Literal[
    "Total", "Available", "Progressing", "Outdated", "Draining", "Excluded", "Degraded", "Pending"
]

Assessment: TypeAlias = Literal["Unknown", "Progressing", "Completed", "Degraded", "Slow", "Stalled"]
RolloutState: TypeAlias = Literal["Unpaused", "Paused"]

NO_VERSION = "<none>"
INSTALLATION: Literal["Installation"] = "Installation"
PARTIAL: Literal["Partial"] = "Partial"
ARCHITECTURE: Literal["Architecture"] = "Architecture"

_MARKED = "has(self.{0}.metadata) && self.{0}.metadata.exists(m, m.key == 'Installation')"


class ResourceRef(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An object of the cluster.

    group      the API group of the object; absent for the core group
    resource   the plural name of the kind, such as `clusteroperators`
    name       the name of the object
    namespace  the namespace of the object; absent if its kind has none
    """

    group: Group | None = None
    resource: Name
    name: Name
    namespace: Annotated[str, Meta(max_length=253, pattern=LABEL)] | None = None


class AboutRef(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An object that a health insight or a cause is about. Added: any name, since alerts are named `KubePodNotReady`.

    group      the API group of the object; absent for the core group
    resource   the plural name of the kind, such as `pods`; `alerts` for an alert that fires
    name       the name of the object, or of the alert
    namespace  the namespace of the object; absent if its kind has none
    """

    group: Group | None = None
    resource: Name
    name: Annotated[str, Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, Meta(max_length=253, pattern=LABEL)] | None = None


def names(*plurals: str, message: str) -> Meta:
    """The reference is to an object of one of these kinds, each given as `plural.group`, or `plural` of the core."""
    tests = []
    for plural in plurals:
        resource, _, group = plural.partition(".")
        owner = f"has(self.group) && self.group == '{group}'" if group else "!has(self.group)"
        tests.append(f"({owner} && self.resource == '{resource}')")
    return rule(" || ".join(tests), message)


class PoolRef(ResourceRef, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A MachineConfigPool. An enum says so, since a rule for each insight costs more than the API server allows.

    group     always that of the Machine Config Operator
    resource  always `machineconfigpools`
    """

    group: Literal["machineconfiguration.openshift.io"]
    resource: Literal["machineconfigpools"]


class Condition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The part of `metav1.Condition` that all conditions here share; each kind of insight enumerates its reasons.

    type                  what the condition is about
    status                True, False, or Unknown where the sources do not tell
    reason                why the status is as it is, for programs
    message               the same for people: the text of the cluster where it has one, else empty
    last_transition_time  when the status changed last; where the cluster does not tell, when that was first seen
    """

    type: str
    status: Status
    reason: str
    message: Message
    last_transition_time: Time


class ProgressingCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Whether the control plane is updating, as far as ClusterVersion says.

    type    always Updating
    reason  CannotDetermineUpdating: Progressing of ClusterVersion is Unknown, or its history contradicts it
    """

    type: Literal["Updating"]
    reason: Literal["ClusterVersionProgressing", "ClusterVersionNotProgressing", "CannotDetermineUpdating"]


class OperatorCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A condition of an operator, computed from those that it reports.

    type    Updating: it is on its way to the target version. Healthy: it is available and not degraded
    reason  of Updating: Updated, Pending, Progressing or CannotDetermine. Of Healthy: AsExpected, Unavailable, Degraded
            or CannotDetermine
    """

    type: Literal["Updating", "Healthy"]
    reason: Literal["Updated", "Pending", "Progressing", "AsExpected", "Unavailable", "Degraded", "CannotDetermine"]


class PoolCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Whether nodes of the pool are being updated.

    type    always Updating
    reason  Excluded: nodes are outdated, and the pool is paused
    """

    type: Literal["Updating"]
    reason: Literal["Progressing", "Pending", "Updated", "Excluded", "CannotDetermine"]


class NodeCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A condition of a node, computed from its Machine Config Daemon's annotations, its conditions and its taints.

    type    Updating, Available (it takes Pods as it should) or Degraded (its Machine Config Daemon failed)
    reason  of Updating: Draining, Updating, Rebooting, Paused, Pending, Completed, CannotDetermine (no Machine Config
            Daemon has annotated it yet) or Windows (Added: the Machine Config Operator leaves such nodes alone). Of
            the others: AsExpected, or their own names
    """

    type: Literal["Updating", "Available", "Degraded"]
    reason: Literal[
        "Draining",
        "Updating",
        "Rebooting",
        "Paused",
        "Pending",
        "Completed",
        "CannotDetermine",
        "Windows",
        "AsExpected",
        "Unavailable",
        "Degraded",
    ]


class VersionMetadata(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A mark of a version.

    key    Installation: nothing was there before. Partial: the update to the version was never completed.
           Architecture: the architecture of the payload, where it matters
    value  of Architecture: `multi`, or (Added) `single`, where the version is the one of before with another image and
           known to be for one architecture. Absent for the other keys
    """

    key: Literal["Installation", "Partial", "Architecture"]
    value: Annotated[str, Meta(max_length=32)] | None = None


class Version(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A version of OpenShift.

    version   a semantic version, or `<none>` before an installation
    metadata  marks of the version; absent: none
    """

    version: Annotated[str, Meta(min_length=1, max_length=MOST_VERSION, pattern=f"^(<none>|{SEMVER})$")]
    metadata: Annotated[tuple[VersionMetadata, ...], list_map("key"), Meta(max_length=5)] = ()


class ControlPlaneVersions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """From what to what the control plane is updated.

    previous        the version that ran before; `<none>`, marked with Installation, if the cluster is being installed
    target          the version that the control plane shall have, or has
    unfinished      Added: versions that were to be reached since the last completed update but never were, newest first
    last_completed  Added: the version that the last completed update before these reached; absent if there is none
    """

    SCHEMA: ClassVar = (
        rule(
            f"(self.previous.version == '{NO_VERSION}') == ({_MARKED.format('previous')})",
            "previous version must be '<none>' iff marked with Installation metadata",
        ),
        rule(
            f"self.target.version != '{NO_VERSION}' && !({_MARKED.format('target')})",
            "target version must not be '<none>' or have Installation metadata",
        ),
    )

    previous: Version
    target: Version
    unfinished: Annotated[tuple[VersionText, ...], LIST_ATOMIC, Meta(max_length=MOST_UNFINISHED)] = ()
    last_completed: VersionText | None = None


class ExpectedEnd(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Added. When something is expected to be updated: in four of five cases between `earliest` and `latest`.

    earliest  the early end of the range
    middle    before or after it with the same chance
    latest    the late end of the range
    basis     what the range is computed from, for people: `4 nodes of this update, 1 at a time`
    """

    earliest: Time
    middle: Time
    latest: Time
    basis: Annotated[str, Meta(max_length=MOST_BASIS)] = ""


class Progressing(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """ClusterVersion's condition Progressing, as it is.

    status                that of the condition
    message               that of the condition; absent: it has none
    last_transition_time  that of the condition
    """

    status: Status
    message: Message = ""
    last_transition_time: Time


class UpdateRequest(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Added. An update that was asked for in ClusterVersion and has not begun.

    target   the version, or the image if no version is asked for; absent: neither is
    state    Pending: the Cluster Version Operator has not answered. Refused: `reason` and `message` say why
    reason   of the condition of ClusterVersion that refuses it; absent while it is pending
    message  of the same condition; absent: it has none
    since    when that condition began; absent: it does not say
    """

    target: Annotated[str, Meta(max_length=MOST_SUMMARY)] = ""
    state: Literal["Pending", "Refused"]
    reason: Reason = ""
    message: Message = ""
    since: Time | None = None


class ClusterVersionInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far the update of the control plane is.

    conditions              Updating: whether the control plane is updating
    resource                the ClusterVersion that is described
    assessment              how the update is going. Added: Slow (later than estimated) and Stalled (later by more than
                            10 minutes)
    versions                from what to what; absent: ClusterVersion has no history
    completion_percent      share of the operators that are updated, in percent, rounded
    started_at              when the update began. Added: absent if nothing says when
    completed_at            when it was completed, by the history; absent: it is not
    estimated_completed_at  when the operators are estimated to be updated, by the rule of `oc adm upgrade status`;
                            absent: they are, or nothing tells
    baseline_seconds        Added: how long the update is expected to take, in seconds, as long as nothing better is
                            known: what the last completed one took, else 3600. A reader needs it to tell progress at
                            its own present: while nothing changes the object is not written, and
                            `estimated_completed_at` is settled by up to a minute or 5 %
    progressing_reason      Added: the reason of ClusterVersion's condition Progressing, as ClusterOperatorDegraded: it
                            tells programs what kind of waiting it is. The reason of Updating is enumerated, and cannot
                            carry it. Absent: the condition has none
    progressing             Added: the condition Progressing itself, if the history contradicts it, so that Updating is
                            Unknown; absent: it does not
    expected_end            Added: when all of the control plane is expected to be updated, its nodes too; absent: it
                            is, or nothing tells
    request                 Added: an update that was asked for and has not begun; absent: there is none
    """

    conditions: Annotated[tuple[ProgressingCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    resource: Annotated[
        ResourceRef,
        names(
            "clusterversions.config.openshift.io",
            message="resource must be a clusterversions.config.openshift.io resource",
        ),
    ]
    assessment: Assessment
    versions: ControlPlaneVersions | None = None
    completion_percent: Annotated[Percent, REQUIRED] = always(int)
    started_at: Time | None = None
    completed_at: Time | None = None
    estimated_completed_at: Time | None = None
    baseline_seconds: int
    progressing_reason: Reason = ""
    progressing: Progressing | None = None
    expected_end: ExpectedEnd | None = None
    request: UpdateRequest | None = None


class ClusterOperatorInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far an operator is, and whether it is healthy. The conditions have the messages of the operator.

    conditions          Updating and Healthy
    name                the name of the ClusterOperator. Added: dots and up to 253 characters, as Kubernetes allows
    resource            the ClusterOperator
    progressing_reason  Added: the reason of the operator's condition Progressing, which the enumerated reason of
                        Updating cannot carry; absent: it has none
    progressing_since   Added: when that condition changed last, whatever its status; absent if unknown
    health_reason       Added: the reason of the condition, Available or Degraded, that Healthy follows; absent: it has
                        none
    health_since        Added: when that condition changed last; absent if unknown
    """

    conditions: Annotated[tuple[OperatorCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    name: Name
    resource: Annotated[
        ResourceRef,
        names(
            "clusteroperators.config.openshift.io",
            message="resource must be a clusteroperators.config.openshift.io resource",
        ),
    ]
    progressing_reason: Reason = ""
    progressing_since: Time | None = None
    health_reason: Reason = ""
    health_since: Time | None = None


class NodeCount(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The number of nodes in one state. A node can count in several.

    type   the state. Outdated: not updated yet. Excluded: outdated in a paused pool. Added: Pending, which decides the
           assessment
    count  nodes in that state
    """

    type: NodeCountType
    count: Annotated[int, Meta(ge=0, le=65536)]


def _unpaused() -> RolloutState:
    return "Unpaused"


class MachineConfigPoolInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far the nodes of a pool are. The numbers are of all nodes, even if insights into nodes were cut.

    conditions          Updating: whether nodes of the pool are being updated
    name                the name of the pool. Added: dots and up to 253 characters, as Kubernetes allows
    resource            the MachineConfigPool
    scope_type          ControlPlane for the pools master and arbiter, else WorkerPool
    assessment          how the update of the pool is going
    completion_percent  share of the managed nodes that are updated, in percent, rounded; 100 if there is none
    rollout_state       Added: Paused: somebody set `spec.paused` of the pool, and outdated nodes stay as they are
    expected_end        Added: when all nodes are expected to be updated; absent: they are, or nothing tells
    summaries           numbers of nodes by state
    unmanaged           Added: nodes that no Machine Config Daemon has annotated. They count as Outdated, too, and as
                        neither in `assessment`, `completion_percent` and the condition; absent: none
    """

    conditions: Annotated[tuple[PoolCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    name: Name
    resource: PoolRef
    scope_type: ScopeType
    assessment: PoolAssessment
    completion_percent: Annotated[Percent, REQUIRED] = always(int)
    rollout_state: Annotated[RolloutState, REQUIRED] = always(_unpaused)
    paused: Annotated[bool, FORMER] = False
    expected_end: ExpectedEnd | None = None
    summaries: Annotated[tuple[NodeCount, ...], list_map("type"), Meta(max_length=16)] = ()
    unmanaged: Annotated[int, Meta(ge=0, le=65536)] = 0


class NodeInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far a node is.

    conditions                     Updating, Available and Degraded
    name                           the name of the Node
    resource                       the Node
    pool_resource                  the MachineConfigPool that the node belongs to
    scope_type                     ControlPlane for nodes of the pools master and arbiter, else WorkerPool
    version                        the release of the MachineConfig that it runs; absent: unknown
    estimated_seconds_to_complete  how long its phase usually takes, in seconds. 0: it is updated, or not going to be;
                                   absent: nothing tells
    message                        the beginning of what the conditions say; absent: nothing
    step                           Added: the step that its MachineConfigNode is at, or the build that it waits for;
                                   absent: none
    step_started_at                Added: when its MachineConfigNode entered the step or the phase; absent: it does not
                                   tell
    unavailable_since              Added: when it became unavailable; absent: it is available, or nothing tells
    degraded_since                 Added: when it became degraded; absent: it is not, or nothing tells
    observed_since                 Added: when it was first seen in its phase, the reason of Updating
    """

    conditions: Annotated[tuple[NodeCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    name: Name
    resource: Annotated[ResourceRef, names("nodes", message="resource must be a nodes resource of the core group")]
    pool_resource: PoolRef
    scope_type: ScopeType
    version: Annotated[str, Meta(max_length=MOST_VERSION, pattern=f"^{SEMVER}$")] | None = None
    estimated_seconds_to_complete: Annotated[int, Meta(ge=0, le=86400)] | None = None
    message: Annotated[str, Meta(max_length=MOST_NODE_MESSAGE)] = ""
    step: Annotated[str, Meta(max_length=64)] = ""
    step_started_at: Time | None = None
    unavailable_since: Time | None = None
    degraded_since: Time | None = None
    observed_since: Time


class InsightScope(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What a health insight is about.

    type       ControlPlane or WorkerPool
    resources  the objects, the most important first
    """

    type: ScopeType
    resources: Annotated[tuple[AboutRef, ...], LIST_ATOMIC, Meta(max_length=MOST_RESOURCES)] = ()


class InsightImpact(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How bad it is, and for what.

    level        how bad it is
    type         what suffers
    summary      one sentence. Added: up to 1024 characters, for alerts
    description  what is known beside the summary; absent: nothing. Added: up to 32768 characters, for messages of
                 conditions
    """

    level: Literal["Unknown", "Info", "Warning", "Error", "Critical"]
    type: Literal[
        "None",
        "Unknown",
        "API Availability",
        "Cluster Capacity",
        "Application Availability",
        "Application Outage",
        "Data Loss",
        "Update Speed",
        "Update Stalled",
    ]
    summary: Annotated[str, Meta(min_length=1, max_length=MOST_SUMMARY)]
    description: Message = ""


class InsightRemediation(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What to do.

    text              Added: what ends it, in a sentence. Insights that `oc adm upgrade status` does not have say it,
                      and no others
    reference         a link to documentation. Added: absent if there is none, since not every alert has a runbook
    estimated_finish  when it is expected to be over; absent: nothing tells
    """

    text: Annotated[str, Meta(max_length=MOST_SUMMARY)] = ""
    reference: Annotated[str, Meta(max_length=512, pattern=r"^https?://[!-~]+$")] | None = None
    estimated_finish: Time | None = None


class HealthInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Something that needs attention, or that explains the update.

    started_at     when it began. Added: absent if nothing in the cluster says when
    first_seen_at  Added: when the controller first saw it
    scope          what it is about
    impact         how bad it is, and for what
    remediation    what to do
    follows        Added: the object whose trouble it reports again, as the alert of an operator does; absent: none
    """

    started_at: Time | None = None
    first_seen_at: Annotated[Time, REQUIRED] = always(str)
    start_source: Annotated[str, FORMER] = ""
    scope: InsightScope
    impact: InsightImpact
    remediation: InsightRemediation = InsightRemediation()
    follows: AboutRef | None = None
