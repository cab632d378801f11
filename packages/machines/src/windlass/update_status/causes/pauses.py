"""Tells of pools that somebody paused, and of what waits until they are unpaused.

That is no trouble: pools are paused for a canary, for a jump over a version, for the night. Who did it, and when, is
nowhere in the cluster; the object remembers when it was first seen.
"""

from collections.abc import Iterator

from windlass.api.machineconfiguration import GROUP
from windlass.update_status.causes.names import listed, node_reference, operator_reference
from windlass.update_status.constants import MACHINE_CONFIG_OPERATOR, MASTER
from windlass.update_status.report import (
    Cause,
    CauseKind,
    ControlPlane,
    Health,
    Level,
    Node,
    Phase,
    Pool,
    Reference,
    Report,
    State,
)


def pause_causes(report: Report) -> Iterator[Cause]:
    """A cause for each pool with nodes that wait because it is paused."""
    for pool in report.pools:
        if waiting := [node for node in pool.nodes if node.phase is Phase.PAUSED and node.managed]:
            yield _of(pool, waiting, report.control_plane)


def _of(pool: Pool, waiting: list[Node], plane: ControlPlane) -> Cause:
    begun = [node.name for node in pool.nodes if node.updating]
    texts = [f"Its nodes keep their version until it is unpaused: {listed([node.name for node in waiting])}."]
    if begun:
        texts.append(f"What has begun is finished: {listed(begun)}.")
    affected = [node_reference(node) for node in waiting if not (node.degraded or node.out_of_service)]
    machine_config = next((one for one in plane.operators if one.name == MACHINE_CONFIG_OPERATOR), None)
    if pool.name == MASTER and machine_config is not None and machine_config.state is not State.UPDATED:
        texts.append(f"Operator {MACHINE_CONFIG_OPERATOR}, and with it the control plane, waits for this pool.")
        # A trouble of the operator is no symptom of what somebody wants.
        if machine_config.health is Health.HEALTHY:
            affected.append(operator_reference(MACHINE_CONFIG_OPERATOR))
    return Cause(
        kind=CauseKind.PAUSE,
        level=Level.INFO,
        summary=f"Pool {pool.name} is paused, and {len(waiting)} of its nodes wait{'s' * (len(waiting) == 1)}",
        description=" ".join(texts),
        remedy=f"Set spec.paused of MachineConfigPool {pool.name} to false when its nodes may be updated.",
        started=None,
        about=(Reference(GROUP, "machineconfigpools", pool.name),),
        affected=tuple(affected),
    )
