"""update.openshift.io/v1alpha1 UpdateInformer: a Service of the cluster that adds insights to the UpdateStatus.

The Service takes a `POST` over HTTPS: the body is an `UpdateInsightsRequest`, the answer an `UpdateInsightsResponse`.
Both are messages like an AdmissionReview: they are never stored. `windlass.update_status.informers` asks, if the
process runs with `--informers`.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Raw, Struct, field

from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import REQUIRED, list_map, on_write, rule
from windlass.api.update import OWN_INFORMERS
from windlass.api.update_insights import GROUP, LABEL, VERSION, Time

API_VERSION = f"{GROUP}/{VERSION}"
MOST_CA_BUNDLE = 71_680
"""Characters of base64: 52,500 bytes."""


def audience_of(name: str) -> str:
    """The only audience of the tokens that the informer `name` gets: no other server takes them."""
    return f"{GROUP}/informer/{name}"


class InformerService(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The Service that is asked, as `https://<name>.<namespace>.svc:<port><path>`. It must have a cluster IP.

    namespace  the namespace of the Service
    name       the name of the Service
    port       443 if absent
    path       / if absent; no query
    """

    namespace: Annotated[str, Meta(min_length=1, max_length=63, pattern=LABEL), REQUIRED] = always(str)
    name: Annotated[str, Meta(min_length=1, max_length=63, pattern=LABEL), REQUIRED] = always(str)
    port: Annotated[int, Meta(ge=1, le=65535)] = 443
    path: Annotated[str, Meta(max_length=253, pattern=r"^/[A-Za-z0-9._~/-]*$")] = "/"


class InformerClientConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How the informer is reached.

    service   the Service that is asked
    caBundle  the certificate authorities that its certificate may come from, as base64 of PEM; absent: the service CA
              of OpenShift, and never the authorities of the system
    """

    service: Annotated[InformerService, REQUIRED] = always(InformerService)
    ca_bundle: Annotated[str, Meta(max_length=MOST_CA_BUNDLE, pattern=r"^[A-Za-z0-9+/=]*$")] = field(
        default="", name="caBundle"
    )


class UpdateInformerSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How an informer is asked.

    state            whether it is asked; Disabled if absent
    enabled          Deprecated: write `state`. True means Enabled where `state` is absent, as in objects of earlier
                     versions
    clientConfig     how the informer is reached
    intervalSeconds  between two questions during an update, at most; 30 if absent. An informer is asked a little
                     earlier, so that a change stands in the UpdateStatus when the interval is over
    timeoutSeconds   for the whole answer; 5 if absent
    """

    state: Literal["Enabled", "Disabled"] | None = None
    enabled: bool = False
    client_config: Annotated[InformerClientConfig, REQUIRED] = always(InformerClientConfig)
    interval_seconds: Annotated[int, Meta(ge=10, le=3600)] = 30
    timeout_seconds: Annotated[int, Meta(ge=1, le=10)] = 5


def is_enabled(spec: UpdateInformerSpec) -> bool:
    """Whether the informer is to be asked."""
    return spec.enabled if spec.state is None else spec.state == "Enabled"


class OnlineCondition(Condition, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Whether the informer answers as it should.

    type                  always Online
    status                True, False, or Unknown before it is asked
    observed_generation   the generation of the UpdateInformer that the condition is about
    last_transition_time  when the status changed last
    reason                why the status is as it is, for programs
    message               the same for people
    """

    type: Annotated[str, on_write(enum=["Online"]), REQUIRED] = always(str)
    status: Annotated[str, on_write(enum=["True", "False", "Unknown"]), REQUIRED] = always(str)
    observed_generation: Annotated[int, Meta(ge=0)] = 0
    last_transition_time: Time | None = None
    reason: Annotated[str, on_write(maxLength=1024)] = always(str)
    message: Annotated[str, on_write(maxLength=32768)] = always(str)


class UpdateInformerStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How it went.

    conditions    Online: whether the informer answers as it should
    lastAnswered  a good answer came then; while all is well this is written every five minutes
    insights      the number of insights that were taken from the last good answer
    refused       the number of insights of the last good answer that were not taken
    """

    conditions: Annotated[list[OnlineCondition], list_map("type"), Meta(max_length=8)] = field(default_factory=list)
    last_answered: Time | None = None
    insights: Annotated[int, Meta(ge=0)] = 0
    refused: Annotated[int, Meta(ge=0)] = 0


class UpdateInformer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A Service of the cluster that adds insights to the UpdateStatus, under the name of this object.

    The right to write one decides what administrators read during an update: leave it to cluster administrators.

    spec    how it is asked
    status  how it went
    """

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version=VERSION, kind="UpdateInformer", plural="updateinformers", namespaced=False
    )
    SCHEMA: ClassVar = (
        rule(
            f"!(self.metadata.name in {list(OWN_INFORMERS)})",
            f"{' and '.join(OWN_INFORMERS)} are the controller's own informers: choose another name",
        ),
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: Annotated[UpdateInformerSpec, REQUIRED] = always(UpdateInformerSpec)
    status: UpdateInformerStatus = UpdateInformerStatus()


# What is sent and answered. Readers ignore fields that they do not know, and values of enums that they do not know
# mean Unknown, so both sides may be newer than the other.


class AskedUpdate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """The update that is going on. It names neither the cluster nor anything in it."""

    previous: str = ""
    target: str = ""
    started_at: str | None = None


class UpdateInsightsRequest(Struct, rename="camel", kw_only=True, frozen=True):
    """A question. `update` null: none is going on, and the informer is only tried."""

    api_version: str = API_VERSION
    kind: str = "UpdateInsightsRequest"
    informer: str
    update: AskedUpdate | None = None


class InformedResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """An object, by the plural name of its kind: group "" is the core group."""

    group: str = ""
    resource: str
    namespace: str = ""
    name: str


class InformedScope(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """What an insight is about. `pool`: the pool of workers; "" for the control plane."""

    pool: str = ""
    resources: list[InformedResource] = field(default_factory=list)


class InformedImpact(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """Levels and types are those of health insights of the UpdateStatus."""

    level: str = "Unknown"
    type: str = "Unknown"
    summary: str
    description: str = ""


class InformedRemediation(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """reference: a link to what to do, of https."""

    reference: str = ""
    estimated_finish: str | None = None


class InformedInsight(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """One thing that needs attention. The same thing has the same `uid` in each answer, whatever its texts say."""

    uid: str
    scope: InformedScope = InformedScope()
    impact: InformedImpact
    started_at: str | None = None
    remediation: InformedRemediation = InformedRemediation()


class UpdateInsightsResponse(Struct, rename="camel", kw_only=True, frozen=True):
    """An answer: all insights that hold now. What was in the answer before and is not in this one is resolved.

    Each of `insights` is an InformedInsight. They are decoded one by one: a malformed one does not hurt the others.
    """

    api_version: str
    kind: str = "UpdateInsightsResponse"
    insights: list[Raw] = field(default_factory=list)
