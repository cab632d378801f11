"""How plans are made: about the UpdateStatus, wherever there is a ClusterVersion; from files step by step.

From files, a first step would only create the object. What holds drains is known as far as Pods are among the files:
must-gathers have those of OpenShift's own namespaces.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import structs

from windlass.api.apps import Deployment
from windlass.api.core import Pod
from windlass.api.meta import KubernetesObject
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.capability.documents import Interest
from windlass.capability.planning import Ground, Planner
from windlass.capability.planning.decider import Decider, PlanReader
from windlass.capability.planning.planner import Remark
from windlass.kube.control.seen import Present, Reader
from windlass.update_status.causes.drains import long_drains
from windlass.update_status.causes.names import listed
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.reading.dump import INTEREST
from windlass.update_status.times import of_datetime


def about_the_object(planner: Planner) -> Planner:
    """`planner`, with plans that are named after the UpdateStatus."""

    async def look(reader: Reader, *, whole: bool) -> Ground:
        ground = await planner.ground(reader, whole=whole)

        def deciders(inventory: PlanReader) -> list[Decider]:
            first, *others = ground.deciders(inventory)
            return [structs.replace(first, kind=UpdateStatus.RESOURCE.kind), *others]

        if whole:
            return structs.replace(ground, deciders=deciders)
        return structs.replace(ground, deciders=deciders, remarks=_remarks)

    return structs.replace(
        planner,
        ground=look,
        interest=_interest(planner.scope.kinds),
        one="ClusterVersion",
        many="ClusterVersions",
        follows=True,
    )


def _interest(kinds: Iterable[type[KubernetesObject]]) -> Interest:
    """Not all that a must-gather has of their groups: of Deployments, one says something."""
    resources = [kind.RESOURCE for kind in kinds if kind is not Deployment]
    ours = Interest(
        cluster_scoped=tuple(one for one in resources if not one.namespaced),
        namespaced=tuple(one for one in resources if one.namespaced),
    )
    return ours | INTEREST


async def _remarks(inventory: PlanReader) -> Sequence[Remark]:
    """Of files without Pods: that the causes of drains are not in the plan."""
    if inventory.listing(Pod):
        return ()
    nodes = await _draining(inventory)
    if not nodes:
        return ()
    return (("note", f"what holds the drain of {listed(nodes)} is not in the plan: there are no Pods among the files"),)


async def _draining(reader: Reader) -> tuple[str, ...]:
    found = await reader.see(UpdateStatus, UPDATE_STATUS)
    if not isinstance(found, Present):
        return ()
    now = of_datetime(datetime.now(UTC))
    try:
        return long_drains(read(found.object.status, now=now), now=now)
    except NothingWritten:
        return ()
