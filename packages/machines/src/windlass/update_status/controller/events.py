"""Events about the UpdateStatus, by what changes in the record of the update.

| reason | type | when |
|---|---|---|
| `UpdateStarted` | Normal | the update began |
| `ControlPlaneUpdated` | Normal | ClusterVersion's history says that it is completed |
| `PoolUpdated` | Normal | all nodes of a pool are updated |
| `UpdateCompleted` | Normal | neither operators nor pools have anything to do |
| `UpdateSuperseded` | Warning | there is another target before it was completed |
| `UpdateRefused` | Warning | the Cluster Version Operator does not accept the update that was asked for |
| `InsightAppeared` | Warning | something needs attention: Error or Critical |
| `InsightResolved` | Normal | it is gone |
"""

from collections.abc import Iterator
from typing import Final, Literal

from windlass.kube.control.plan import Emit, Target
from windlass.update_status.history import COMPLETED, CREATED, REFUSED, RUNNING, SUPERSEDED
from windlass.update_status.record import Record

SOURCE: Final = "windlass-update-status"
_SERIOUS: Final = frozenset({"Error", "Critical"})


def events(about: Target, before: Record | None, after: Record) -> Iterator[Emit]:
    """The Events of what is in `after` and was not in `before`."""

    def event(kind: Literal["Normal", "Warning"], reason: str, note: str) -> Emit:
        return Emit(target=about, type=kind, reason=reason, note=note, source=SOURCE, occasion=after.name)

    update = f"the update to {after.target}"
    if after.state == REFUSED:
        if before is None or before.state == CREATED:
            why = "".join(f": {trouble.summary}" for trouble in after.troubles)
            yield event("Warning", "UpdateRefused", f"The update to {after.target} was refused{why}")
        return
    if before is None:
        origin = f" from {after.previous}" if after.previous else ""
        yield event("Normal", "UpdateStarted", f"The update{origin} to {after.target} began at {after.started}")
    if after.control_plane_completed and not (before and before.control_plane_completed):
        yield event("Normal", "ControlPlaneUpdated", f"The control plane completed {update}")
    known = {pool.name for pool in before.pools if pool.completed} if before else set()
    for pool in after.pools:
        if pool.completed and pool.name not in known:
            yield event("Normal", "PoolUpdated", f"All nodes of pool {pool.name} completed {update}")
    open_before = {one.uid for one in before.troubles if one.resolved is None} if before else set()
    for trouble in after.troubles:
        if trouble.level not in _SERIOUS:
            continue
        if trouble.resolved is None and trouble.uid not in open_before:
            yield event("Warning", "InsightAppeared", trouble.summary)
        elif trouble.resolved is not None and trouble.uid in open_before:
            yield event("Normal", "InsightResolved", trouble.summary)
    if before is None or before.state in RUNNING:
        if after.state == COMPLETED:
            yield event("Normal", "UpdateCompleted", f"All of the cluster completed {update}")
        elif after.state == SUPERSEDED:
            yield event("Warning", "UpdateSuperseded", f"Another target replaced {update} before it was completed")
