"""Update status as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from windlass.api.core import Pod, Service, ServiceAccount
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update import UPDATE_STATUS as UPDATE_STATUS_NAME
from windlass.api.update import UpdateStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.api.update_informer import UpdateInformer
from windlass.api.update_record import UpdateRecord
from windlass.capability.installation import Installation, account, steady
from windlass.kube.control.controller import Controller
from windlass.kube.control.permissions import Declaration
from windlass.kube.control.plan import Target, target
from windlass.kube.control.refused import ByEvent, reporting
from windlass.kube.control.seen import Present
from windlass.kube.crd import AGE, Column, Owned
from windlass.update_status.controller.alerts import AlertsSettings
from windlass.update_status.controller.declare import update_status_controller
from windlass.update_status.controller.events import SOURCE
from windlass.update_status.heartbeat import Heartbeat, heartbeat_permissions
from windlass.update_status.reading.kept import HOME

if TYPE_CHECKING:
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame, Work
    from windlass.update_status.informers.settings import InformersSettings


# The CRD of UpdateInformer, and what `kubectl get updateinformers` shows.

UPDATE_INFORMER: Final = Owned(
    kind=UpdateInformer,
    columns=(
        Column("State", ".spec.state", description="Whether it is asked; empty: Disabled"),
        Column("Online", '.status.conditions[?(@.type=="Online")].status', description="Whether it answers"),
        Column("Reason", '.status.conditions[?(@.type=="Online")].reason'),
        Column("Namespace", ".spec.clientConfig.service.namespace", description="Of the Service that is asked"),
        Column("Insights", ".status.insights", type="integer", description="Taken from its last answer"),
        Column("Answered", ".status.lastAnswered", type="date", priority=1),
        AGE,
    ),
)


# The CRD of UpdateStatus: names, and the columns of `kubectl get`.

UPDATES: Final = ("updates",)
"""The category of all that tells of updates: columns show one object alone, and the heartbeat is another one."""

UPDATE_STATUS: Final = Owned(
    kind=UpdateStatus,
    short_names=("upgradestatus",),
    categories=UPDATES,
    columns=(
        Column("State", ".status.overview.state", description="Whether the control plane or workers update"),
        Column("Assessment", ".status.overview.assessment", description="Of the control plane"),
        Column("From", ".status.overview.previous"),
        Column("To", ".status.overview.target"),
        Column("Percent", ".status.overview.completionPercent", type="integer", description="Operators updated"),
        Column("Operators Left", ".status.overview.operatorsLeft", type="integer", description="Not updated yet"),
        Column("Workers Left", ".status.overview.workersLeft", type="integer", description="Nodes not updated yet"),
        Column("Health", ".status.overview.worstLevel", description="The highest level of what needs attention"),
        Column("Operators", ".status.overview.totalOperators", type="integer", priority=1),
        Column("Workers", ".status.overview.totalWorkers", type="integer", priority=1),
        Column("Critical", ".status.overview.criticalInsights", type="integer", priority=1),
        Column("Errors", ".status.overview.errorInsights", type="integer", priority=1),
        Column("Warnings", ".status.overview.warningInsights", type="integer", priority=1),
        Column(
            "Trusted",
            '.status.conditions[?(@.type=="Available")].status',
            description="Whether the status can be relied on",
            priority=1,
        ),
        AGE,
    ),
)


NAME: Final = "update-status"

UPDATE_RECORD: Final = Owned(
    kind=UpdateRecord,
    categories=UPDATES,
    columns=(
        Column("From", ".spec.previous"),
        Column("To", ".spec.target"),
        Column("State", ".status.state"),
        Column("Signature", ".status.verification", description="Whether the signature of the release was checked"),
        Column("Started", ".spec.startedAt", type="date"),
        Column("Ended", ".status.completedAt", type="date"),
        Column("Image", ".status.image", priority=1),
        AGE,
    ),
)

UPDATE_STATUS_HEARTBEAT: Final = Owned(
    kind=UpdateStatusHeartbeat,
    categories=UPDATES,
    columns=(
        Column("Last Beat", ".lastBeat", type="date", description="How long ago the controller last lived"),
        Column("Period", ".periodSeconds", type="integer", description="Seconds between two beats"),
        Column("Controller", ".controller", description="The process that beat last"),
    ),
)

OWNED: Final = (UPDATE_STATUS, UPDATE_STATUS_HEARTBEAT, UPDATE_RECORD, UPDATE_INFORMER)

_OF_DRAINS: Final = (Pod, PodDisruptionBudget)
"""What the controller reads and does not watch."""


def installation(
    *, home: str = HOME, alerts: AlertsSettings | None = None, informers: "InformersSettings | None" = None
) -> Installation:
    """Update status with its Lease in `home`; alerts of the cluster are asked for where `alerts` says, and informers
    of others as `informers` says. None: neither is asked for."""
    if informers is None:

        def make(reader: Any) -> Controller[str, Any]:
            return with_refusals(update_status_controller(reader, alerts=alerts))

        plain = steady(NAME, [make], home=home, owned=OWNED, reads=_OF_DRAINS)
    else:
        plain = _with_informers(informers, home=home, alerts=alerts)

    def planner() -> "Planner":
        from windlass.update_status.planning import about_the_object

        return about_the_object(plain.planner())

    def permissions() -> tuple[Declaration, ...]:
        return (*plain.permissions(), *heartbeat_permissions())

    def frame() -> "Frame":
        return _with_metrics(_with_heartbeat(plain.frame()))

    return structs.replace(plain, frame=frame, planner=planner, permissions=permissions)


def with_refusals(made: Controller[str, Any]) -> Controller[str, Any]:
    """The controller, with refused writes of its records told by Events: conditions say whether there is a report."""

    def about(seen: Any) -> Target | None:
        return target(seen.stored) if isinstance(seen.stored, Present) else None

    return reporting(made, ByEvent(SOURCE, about))


def _with_informers(settings: "InformersSettings", *, home: str, alerts: AlertsSettings | None) -> Installation:
    """The capability with the controller of UpdateInformers. Both controllers share what informers told."""
    from windlass.update_status.informers.admission import MOST_ENABLED
    from windlass.update_status.informers.declare import informers_controller
    from windlass.update_status.informers.feed import AskInformer, Feed
    from windlass.update_status.informers.fetching import Fetcher

    feed = Feed(Fetcher(service_ca=settings.service_ca, resolve=settings.resolve), UPDATE_STATUS_NAME)

    def reports(reader: Any) -> Controller[str, Any]:
        made = update_status_controller(reader, alerts=alerts, feed=feed, namespaces=settings.namespaces)
        return with_refusals(made)

    def asks(reader: Any) -> Controller[str, Any]:
        return informers_controller(reader, feed=feed, settings=settings, account=account(NAME, home))

    plain = steady(NAME, [reports, asks], home=home, owned=OWNED, reads=(*_OF_DRAINS, Service, ServiceAccount))

    def frame() -> "Frame":
        found = plain.frame()

        def work(manager: Any, candidate: Any, process: Any) -> "Work":
            # Whatever --workers says: an informer that is slow must not make others wait.
            return found.work(manager, candidate, structs.replace(process, workers=MOST_ENABLED))

        return structs.replace(found, work=work, systems={AskInformer.SYSTEM: feed})

    def planner() -> "Planner":
        ours = {"name": plain.service_account.name, "namespace": plain.service_account.namespace}
        # Tokens are made for it, and who plans from files has none of our manifests among them.
        added = {"apiVersion": "v1", "kind": ServiceAccount.RESOURCE.kind, "metadata": ours}
        return structs.replace(plain.planner(), complete=lambda trees: (*trees, added))

    return structs.replace(plain, frame=frame, planner=planner)


def _with_heartbeat(frame: "Frame") -> "Frame":
    def work(manager: Any, candidate: Any, settings: Any) -> "Work":
        from windlass.capability.service import Beside
        from windlass.kube.process.lease import own_identity

        heartbeat = Heartbeat(
            manager.client,
            controller=candidate.identity if candidate else own_identity(),
            leading=lambda: bool(manager.leading),
            interrupted=manager.pool.interrupted,
            server_now=manager.client.server_clock.now,
        )
        return Beside(frame.work(manager, candidate, settings), heartbeat.run, name="heartbeat")

    return structs.replace(frame, work=work)


def _with_metrics(frame: "Frame") -> "Frame":
    def work(manager: Any, candidate: Any, settings: Any) -> "Work":
        from windlass.update_status.metrics import UpdateFigures

        if manager.metrics:
            manager.metrics.registry.register(UpdateFigures(lambda: manager.pool.ledger.cached(UpdateStatus)))
        return frame.work(manager, candidate, settings)

    return structs.replace(frame, work=work)
