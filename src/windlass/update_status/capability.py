"""Update status as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.capability.capability import Capability, steady
from windlass.capability.manifests.crd import AGE, Column, Owned
from windlass.kube.control.controller import Controller
from windlass.update_status.controller.alerts import AlertsSettings
from windlass.update_status.controller.declare import update_status_controller
from windlass.update_status.document.owned import UPDATE_STATUS

if TYPE_CHECKING:
    from windlass.capability.service import Frame, Work

NAME: Final = "update-status"
HOME: Final = "windlass-update-status"
"""The namespace of its own."""
LEASE: Final = f"windlass-{NAME}"

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

    plain = steady(NAME, [make], home=home, owned=(UPDATE_STATUS, UPDATE_RECORD))
    return _with_metrics(plain)


def _with_metrics(plain: Capability) -> Capability:
    from msgspec import structs

    def frame() -> "Frame":
        return _measured(plain.frame())

    return structs.replace(plain, frame=frame)


def _measured(frame: "Frame") -> "Frame":
    from msgspec import structs

    work_of: Callable[..., Work] = frame.work

    def work(manager: Any, candidate: Any, settings: Any) -> "Work":
        from windlass.update_status.metrics import UpdateFigures

        if manager.metrics:
            manager.metrics.registry.register(UpdateFigures(lambda: manager.pool.ledger.cached(UpdateStatus)))
        return work_of(manager, candidate, settings)

    return structs.replace(frame, work=work)
