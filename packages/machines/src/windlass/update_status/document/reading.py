"""Reads the status of UpdateStatus as the report that it was written from."""

from collections.abc import Sequence

from windlass.api.update import (
    OWN_INFORMERS,
    ControlPlaneInformer,
    ControlPlaneStatus,
    ControlPlaneUnion,
    NodeAtRest,
    PoolStatus,
    UpdateStatusStatus,
    WorkerPoolInformer,
    WorkerPoolUnion,
)
from windlass.api.update_insights import HealthInsight
from windlass.update_status.constants import MASTER
from windlass.update_status.document.health_parts import cause_of_entry, insight_of
from windlass.update_status.document.plane_parts import control_plane_of
from windlass.update_status.document.pool_parts import drains, pool_of
from windlass.update_status.document.sections import NI
from windlass.update_status.report import Informed, InformerInsight, Insight, Pool, Report
from windlass.update_status.times import Moment, known_moment, moment

Union = ControlPlaneUnion | WorkerPoolUnion
Informer = ControlPlaneInformer | WorkerPoolInformer


class NothingWritten(Exception):
    """The status has no insight into ClusterVersion: its controller has not written it yet."""


def read(status: UpdateStatusStatus, *, now: Moment) -> Report:
    """The report that `status` was written from, apart from what had to be left out.

    `now` is the start of insights that `oc` counts from the present. Raises NothingWritten.
    """
    plane = status.control_plane
    own = [one for one in plane.informers if one.name in OWN_INFORMERS] if plane else []
    inside = [(one.name, entry.insight) for one in own for entry in one.insights]
    version = next((insight.cluster_version for _, insight in inside if insight.cluster_version), None)
    if plane is None or version is None:
        raise NothingWritten("the UpdateStatus has no insight into ClusterVersion: no controller has written it yet")
    pools = [
        (one.name, [entry.insight for each in _own(one) for entry in each.insights]) for one in status.worker_pools
    ]
    resting = {one.name: one.nodes for one in status.worker_pools}
    # Insights of equal weight are shown in this order: those of each pool, then those of the control plane. The API
    # server lists pools by their names.
    place = sum(name < MASTER for name, _ in pools)
    masters: list[Union] = [insight for informer, insight in inside if informer == NI]
    others: list[Union] = [insight for informer, insight in inside if informer != NI]
    in_order: list[tuple[str, Sequence[Union]]] = [*pools[:place], (MASTER, masters), *pools[place:]]
    found = [one for name, insights in in_order for one in _insights(insights, "" if name == MASTER else name, now)]
    return Report(
        control_plane=control_plane_of(version, [one.cluster_operator for _, one in inside if one.cluster_operator]),
        pools=tuple(
            _pool(name, of, resting.get(name, ()))
            for name, of in in_order
            if name != MASTER or plane.pool_resource is not None
        ),
        unassigned=status.unassigned_nodes,
        insights=(*found, *_insights(others, "", now)),
        causes=tuple(map(cause_of_entry, status.causes)),
        alerts=status.alerts_missing,
        gaps=status.gaps,
        informed=informed_of(status, now=now),
    )


def _pool(name: str, insights: Sequence[Union], resting: Sequence[NodeAtRest]) -> Pool:
    found = next((one.machine_config_pool for one in insights if one.machine_config_pool), None)
    return pool_of(name, found, [one.node for one in insights if one.node], resting)


def _insights(insights: Sequence[Union], pool: str, now: Moment) -> list[Insight]:
    return [insight_of(one.health, pool, now) for one in insights if one.health]


def health_insights(status: UpdateStatusStatus) -> dict[str, HealthInsight]:
    """What needs attention, by uid, without what informers of others told."""
    places = (status.control_plane, *status.worker_pools)
    found = [entry for place in places for one in _own(place) for entry in one.insights]
    return {entry.uid: entry.insight.health for entry in found if entry.insight.health}


def drains_seen(status: UpdateStatusStatus) -> dict[str, Moment]:
    """When the drains that are under way were seen first, by the names of nodes."""
    places = (status.control_plane, *status.worker_pools)
    nodes = (entry.insight.node for place in places for one in _own(place) for entry in one.insights)
    return {node.name: moment(node.observed_since) for node in nodes if node and drains(node)}


def _own(place: ControlPlaneStatus | PoolStatus | None) -> list[Informer]:
    """The controller's own informers."""
    return [one for one in place.informers if one.name in OWN_INFORMERS] if place else []


def informed_of(status: UpdateStatusStatus, *, now: Moment) -> tuple[Informed, ...]:
    """What informers of others told, in the control plane first, and then in each pool. `now` as in `read`."""
    places: list[tuple[str, ControlPlaneStatus | PoolStatus | None]] = [("", status.control_plane)]
    places += [(pool.name, pool) for pool in status.worker_pools]
    found: dict[str, Informed] = {}
    for pool, place in places:
        for one in place.informers if place else ():
            if one.name in OWN_INFORMERS:
                continue
            stood = found.get(one.name)
            told = (
                InformerInsight(
                    uid=entry.uid,
                    insight=insight_of(health, pool, now),
                    finish=known_moment(health.remediation.estimated_finish),
                )
                for entry in one.insights
                if (health := entry.insight.health)
            )
            found[one.name] = Informed(
                name=one.name,
                namespace=one.namespace or "",
                stale_since=known_moment(one.stale_since),
                insights=(*(stood.insights if stood else ()), *told),
            )
    return tuple(found.values())
