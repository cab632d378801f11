"""Machines in the overview: phase, Node, instance and infrastructure of each side."""

from typing import Any, TypeAlias

from msgspec import field

from windlass.api import capi, mapi
from windlass.machine_sync.overview.rows import InfraReference, Kind, Row, Side


class MachineSide(Side, rename="camel", frozen=True, kw_only=True):
    """`phase` is empty until a controller sets it, `node` and `provider_id` until there is an instance.

    `infrastructure` is the infra machine of a Cluster API Machine.
    """

    phase: str = ""
    provider_id: str = field(default="", name="providerID")
    node: str = ""
    infrastructure: InfraReference | None = None


def _look(machine: mapi.Machine | capi.Machine) -> dict[str, Any]:
    node = machine.status.node_ref
    seen: dict[str, Any] = {
        "phase": machine.status.phase or "",
        "provider_id": machine.spec.provider_id or "",
        "node": node.name if node else "",
    }
    if isinstance(machine, capi.Machine) and (infra := machine.spec.infrastructure_ref).name:
        seen["infrastructure"] = InfraReference(infra.kind, infra.name)
    return seen


MACHINES = Kind("Machine", ("machine", "machines"), mapi.Machine, capi.Machine, MachineSide, _look)

MachineRow: TypeAlias = Row[MachineSide]
