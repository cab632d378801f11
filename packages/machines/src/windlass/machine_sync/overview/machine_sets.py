"""MachineSets in the overview: how many machines each side wants and has."""

from typing import Any, TypeAlias

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.machine_sync.overview.rows import InfraReference, Kind, Row, Side


class Replicas(Struct, rename="camel", frozen=True):
    """The numbers of desired, current, ready and available machines; None while not reported."""

    desired: int | None
    current: int | None
    ready: int | None
    available: int | None

    @property
    def complete(self) -> bool:
        """The desired number of machines exists, and all are ready."""
        return self.desired is not None and self.desired == self.current == self.ready


class MachineSetSide(Side, rename="camel", frozen=True, kw_only=True):
    """`infrastructure_template` is the template of a Cluster API MachineSet's infra machines."""

    replicas: Replicas | None = None
    infrastructure_template: InfraReference | None = None


def _look(machine_set: mapi.MachineSet | capi.MachineSet) -> dict[str, Any]:
    status = machine_set.status
    seen: dict[str, Any] = {
        "replicas": Replicas(
            machine_set.spec.replicas, status.replicas, status.ready_replicas, status.available_replicas
        )
    }
    if isinstance(machine_set, capi.MachineSet) and (infra := machine_set.spec.template.spec.infrastructure_ref).name:
        seen["infrastructure_template"] = InfraReference(infra.kind, infra.name)
    return seen


MACHINE_SETS = Kind(
    "MachineSet", ("MachineSet", "MachineSets"), mapi.MachineSet, capi.MachineSet, MachineSetSide, _look
)

MachineSetRow: TypeAlias = Row[MachineSetSide]
