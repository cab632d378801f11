"""Update status as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from windlass.api.core import Pod
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.capability.capability import Capability, steady
from windlass.capability.manifests.crd import AGE, Column, Owned
from windlass.kube.control.controller import Controller
from windlass.update_status.controller.alerts import AlertsSettings
from windlass.update_status.controller.declare import update_status_controller
from windlass.update_status.document.owned import UPDATE_STATUS
from windlass.update_status.reading.kept import HOME

if TYPE_CHECKING:
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame, Work

NAME: Final = "update-status"

UPDATE_RECORD: Final = Owned(
    kind=UpdateRecord,
    columns=(
        Column("From", ".previous"),
        Column("To", ".target"),
        Column("State", ".state"),
        Column("Started", ".started", type="date"),
        Column("Completed", ".completed", type="date"),
        AGE,
    ),
)


def capability(*, home: str = HOME, alerts: AlertsSettings | None = None) -> Capability:
    """Update status with its Lease in `home`; alerts of the cluster are asked for where `alerts` says."""

    def make(reader: Any) -> Controller[str, Any]:
        return update_status_controller(reader, alerts=alerts)

    def planner() -> "Planner":
        from windlass.update_status.planning import about_the_object

        return about_the_object(plain.planner())

    plain = steady(NAME, [make], home=home, owned=(UPDATE_STATUS, UPDATE_RECORD), reads=(Pod, PodDisruptionBudget))
    return structs.replace(plain, frame=lambda: _with_metrics(plain.frame()), planner=planner)


def _with_metrics(frame: "Frame") -> "Frame":
    def work(manager: Any, candidate: Any, settings: Any) -> "Work":
        from windlass.update_status.metrics import UpdateFigures

        if manager.metrics:
            manager.metrics.registry.register(UpdateFigures(lambda: manager.pool.ledger.cached(UpdateStatus)))
        return frame.work(manager, candidate, settings)

    return structs.replace(frame, work=work)
