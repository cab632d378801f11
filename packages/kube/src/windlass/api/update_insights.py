"""update.openshift.io/v1alpha1: insights, of which an UpdateStatus consists. Each says one thing about an update.

The shapes are those that OpenShift proposed (openshift/api pull request 2012, revision 8495ca67b). Fields that a reader
needs to draw every view, and names that Kubernetes allows but the proposal refused, are added; each is marked `Added`.

Constraints are patterns and enums where possible: the API server charges a CEL rule for every insight that may exist.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta, Struct

from windlass.api.schema import DATE_TIME, LIST_ATOMIC, list_map, rule

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

NO_VERSION = "<none>"
INSTALLATION: Literal["Installation"] = "Installation"
PARTIAL: Literal["Partial"] = "Partial"
ARCHITECTURE: Literal["Architecture"] = "Architecture"

_MARKED = "has(self.{0}.metadata) && self.{0}.metadata.exists(m, m.key == 'Installation')"


class ResourceRef(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An object, by the plural name of its kind. `group` is absent for the core group."""

    group: Group | None = None
    resource: Name
    name: Name
    namespace: Annotated[str, Meta(max_length=253, pattern=LABEL)] | None = None


class AboutRef(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The same for what a health insight is about. Added: any name, since alerts are named `KubePodNotReady`."""

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
    """A MachineConfigPool. An enum says so, since a rule for each insight costs more than the API server allows."""

    group: Literal["machineconfiguration.openshift.io"]
    resource: Literal["machineconfigpools"]


class Condition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The part of `metav1.Condition` that all conditions here share; each kind of insight enumerates its reasons."""

    type: str
    status: Status
    reason: str
    message: Message
    last_transition_time: Time


class ProgressingCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Whether the control plane is updating, as far as ClusterVersion says."""

    type: Literal["Updating"]
    reason: Literal["ClusterVersionProgressing", "ClusterVersionNotProgressing", "CannotDetermineUpdating"]


class OperatorCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Updating: Updated, Pending, Progressing, CannotDetermine. Healthy: the others, and CannotDetermine."""

    type: Literal["Updating", "Healthy"]
    reason: Literal["Updated", "Pending", "Progressing", "AsExpected", "Unavailable", "Degraded", "CannotDetermine"]


class PoolCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Whether nodes of the pool are being updated."""

    type: Literal["Updating"]
    reason: Literal["Progressing", "Pending", "Updated", "Excluded", "CannotDetermine"]


class NodeCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Updating: Draining to Windows. Available and Degraded: AsExpected, or their own names.

    Added: Windows, with the status Unknown: the Machine Config Operator leaves nodes of Windows alone.
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
    """A mark of a version; without a value it is merely there."""

    key: Literal["Installation", "Partial", "Architecture"]
    value: Annotated[str, Meta(max_length=32)] | None = None


class Version(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A version of OpenShift, or `<none>`.

    Installation  nothing was there before
    Partial       the update to it was never completed
    Architecture  the architecture of the payload, where it matters: `multi`. Added: `single`, where it is the version
                  of before with another image, and known to be for one architecture
    """

    version: Annotated[str, Meta(min_length=1, max_length=MOST_VERSION, pattern=f"^(<none>|{SEMVER})$")]
    metadata: Annotated[tuple[VersionMetadata, ...], list_map("key"), Meta(max_length=5)] = ()


class ControlPlaneVersions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """From what to what the control plane is updated.

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

    middle  before or after it with the same chance
    basis   what the range is computed from, for people
    """

    earliest: Time
    middle: Time
    latest: Time
    basis: Annotated[str, Meta(max_length=MOST_BASIS)] = ""


class Progressing(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """ClusterVersion's condition Progressing, as it is."""

    status: Status
    message: Message = ""
    last_transition_time: Time


class UpdateRequest(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Added. An update that was asked for in ClusterVersion and has not begun.

    target   the version, or the image if no version is asked for
    state    Pending: the Cluster Version Operator has not answered; Refused: `reason` and `message` say why
    since    when the condition of that reason began; absent: it does not say
    """

    target: Annotated[str, Meta(max_length=MOST_SUMMARY)] = ""
    state: Literal["Pending", "Refused"]
    reason: Reason = ""
    message: Message = ""
    since: Time | None = None


class ClusterVersionInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far the update of the control plane is.

    assessment            Added: Slow (later than estimated) and Stalled (much later)
    versions              absent: ClusterVersion has no history
    started_at            Added: may be absent, if nothing says when
    completed_at          only if the history says that the update is completed
    last_progress_at      Added: the last transition of an operator since the start. With `baseline_seconds` and the
                          operators a reader computes progress and estimate at its own present
    baseline_seconds      Added: how long the update is expected to take as long as nothing better is known
    progressing_reason    Added: the reason of ClusterVersion's condition Progressing; that of Updating is enumerated
    progressing           Added: that condition itself, if the history contradicts it, so that Updating is Unknown
    expected_end          Added: when all of the control plane is expected to be updated, its nodes too. The estimate
                          of `oc` is estimated_completed_at
    request               Added: an update that was asked for and has not begun; absent: there is none
    """

    conditions: Annotated[tuple[ProgressingCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    resource: Annotated[
        ResourceRef,
        names(
            "clusterversions.config.openshift.io",
            message="resource must be a clusterversions.config.openshift.io resource",
        ),
    ]
    assessment: Literal["Unknown", "Progressing", "Completed", "Degraded", "Slow", "Stalled"]
    versions: ControlPlaneVersions | None = None
    completion: Percent
    started_at: Time | None = None
    completed_at: Time | None = None
    estimated_completed_at: Time | None = None
    last_progress_at: Time | None = None
    baseline_seconds: int
    progressing_reason: Reason = ""
    progressing: Progressing | None = None
    expected_end: ExpectedEnd | None = None
    request: UpdateRequest | None = None


class ClusterOperatorInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far an operator is, and whether it is healthy. The conditions have the messages of the operator.

    name                Added: dots and up to 253 characters, as Kubernetes allows
    progressing_reason  Added: the reason of the operator's condition Progressing
    progressing_since   Added: when that condition changed last, whatever its status; absent if unknown
    health_reason       Added: the reason of the condition, Available or Degraded, that Healthy follows
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
    """The number of nodes in one state. A node can count in several. Added: Pending, which decides the assessment."""

    type: NodeCountType
    count: Annotated[int, Meta(ge=0, le=65536)]


class MachineConfigPoolInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far the nodes of a pool are. The numbers are of all nodes, even if insights into nodes were cut.

    name          Added: dots and up to 253 characters, as Kubernetes allows
    paused        Added: why outdated nodes may stay as they are
    expected_end  Added: when all nodes are expected to be updated; absent: they are, or nothing tells
    unmanaged     Added: nodes that no Machine Config Daemon has annotated. They count as Outdated, too, and as neither
                  in `assessment`, `completion` and the condition
    """

    conditions: Annotated[tuple[PoolCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    name: Name
    resource: PoolRef
    scope_type: ScopeType
    assessment: PoolAssessment
    completion: Percent
    paused: bool = False
    expected_end: ExpectedEnd | None = None
    summaries: Annotated[tuple[NodeCount, ...], list_map("type"), Meta(max_length=16)] = ()
    unmanaged: Annotated[int, Meta(ge=0, le=65536)] = 0


class NodeInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How far a node is.

    version                that of its current MachineConfig; absent: unknown
    estimated_to_complete  `0s`: updated, or not going to be; absent: nothing tells
    message                the beginning of what the conditions say
    step                   Added: the step that its MachineConfigNode is at
    step_started_at        Added: when its MachineConfigNode entered the step or the phase; absent: it does not tell
    unavailable_since      Added: when it became unavailable, if the cluster tells
    degraded_since         Added: when it became degraded, if its MachineConfigNode tells
    observed_since         Added: when it was first seen in its phase, the reason of Updating
    """

    conditions: Annotated[tuple[NodeCondition, ...], list_map("type"), Meta(max_length=10)] = ()
    name: Name
    resource: Annotated[ResourceRef, names("nodes", message="resource must be a nodes resource of the core group")]
    pool_resource: PoolRef
    scope_type: ScopeType
    version: Annotated[str, Meta(max_length=MOST_VERSION, pattern=f"^{SEMVER}$")] | None = None
    estimated_to_complete: Annotated[str, Meta(max_length=32, pattern="^([0-9]+h)?([0-9]+m)?[0-9]+s$")] | None = None
    message: Annotated[str, Meta(max_length=MOST_NODE_MESSAGE)] = ""
    step: Annotated[str, Meta(max_length=64)] = ""
    step_started_at: Time | None = None
    unavailable_since: Time | None = None
    degraded_since: Time | None = None
    observed_since: Time


class InsightScope(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What a health insight is about."""

    type: ScopeType
    resources: Annotated[tuple[AboutRef, ...], LIST_ATOMIC, Meta(max_length=MOST_RESOURCES)] = ()


class InsightImpact(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How bad it is, and for what.

    summary      Added: up to 1024 characters, for alerts
    description  Added: up to 32768 characters, for messages of conditions; absent: nothing more is known
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
    """What to do. Added: `reference` may be absent, since not every alert has a runbook.

    text  Added: what ends it, in a sentence. Insights that `oc adm upgrade status` does not have say it, and no others
    """

    text: Annotated[str, Meta(max_length=MOST_SUMMARY)] = ""
    reference: Annotated[str, Meta(max_length=512, pattern=r"^https?://[!-~]+$")] | None = None
    estimated_finish: Time | None = None


class HealthInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Something that needs attention, or that explains the update.

    start_source  Added: where `started_at` comes from. Reported: the cluster says it. FirstSeen: nothing in the cluster
                  says when it began. Present: it is a lack in the cluster's own reports, of which nothing can be told
                  but that it is there; `oc` counts it from the present
    follows       Added: the object whose trouble it reports again, as the alert of an operator does
    """

    started_at: Time
    start_source: Literal["Reported", "FirstSeen", "Present"]
    scope: InsightScope
    impact: InsightImpact
    remediation: InsightRemediation = InsightRemediation()
    follows: AboutRef | None = None
