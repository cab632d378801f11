"""Reads the cluster itself for whoever looks, where no controller keeps an UpdateStatus: as `windlass status` does.

A reading is one list of each kind. It is repeated, but never takes more than a small share of the time, so that a slow
API server is asked less.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from windlass.api.apps import Deployment
from windlass.api.authorization import ResourceAttributes
from windlass.api.config import ClusterOperator, ClusterVersion, Infrastructure
from windlass.api.core import Node, Pod
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import KubernetesObject
from windlass.api.policy import PodDisruptionBudget
from windlass.api.route import Route
from windlass.api.update_record import UpdateRecord
from windlass.kube.errors import Failure
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.constants import (
    CLUSTER_VERSION,
    MCO_DEPLOYMENT,
    MCO_NAMESPACE,
    MONITORING_NAMESPACE,
    THANOS_QUERIER,
)
from windlass.update_status.history import followed
from windlass.update_status.reading import Reading
from windlass.update_status.reading.live import read_cluster
from windlass.update_status.sources import Unknown
from windlass.update_status.times import rfc3339
from windlass.update_status.view.parts import parts
from windlass.web.board import Board
from windlass.web.view import STALE, TROUBLES, Personal

if TYPE_CHECKING:
    from windlass.kube.client import Client

EVERY: Final = 30.0
"""Seconds between two readings, at least."""
SHARE: Final = 10.0
"""A pause is at least so many times as long as the reading before."""
PATIENCE: Final = 10.0
"""Seconds for the answer of the service of alerts."""
INSTALL: Final = "The history, and since when nodes are where they are, need Update status (docs/install.md)."


def _may(kind: type[KubernetesObject], verb: str, **more: str) -> ResourceAttributes:
    return ResourceAttributes(verb=verb, group=kind.RESOURCE.group, resource=kind.RESOURCE.plural, **more)


RULE: Final = (_may(ClusterVersion, "get", name=CLUSTER_VERSION), _may(ClusterOperator, "list"))
"""Without these there is no report."""

DIFFERS: Final = (
    *(_may(kind, "list") for kind in (MachineConfigPool, Node, MachineConfigNode, MachineOSBuild, UpdateRecord)),
    *(_may(kind, "list") for kind in (Pod, PodDisruptionBudget)),
    _may(MachineConfig, "get"),
    _may(Infrastructure, "get", name="cluster"),
    _may(Deployment, "get", namespace=MCO_NAMESPACE, name=MCO_DEPLOYMENT),
    _may(Route, "get", namespace=MONITORING_NAMESPACE, name=THANOS_QUERIER),
    # By these the service of alerts decides: the one of today, and that of older releases.
    ResourceAttributes(
        verb="get",
        group="monitoring.coreos.com",
        resource="prometheuses",
        subresource="api",
        namespace=MONITORING_NAMESPACE,
        name="k8s",
    ),
    ResourceAttributes(verb="get", resource="namespaces"),
)
"""By these rights reports differ."""


def own_reading(why: Callable[[], str], *, every: float = EVERY) -> Personal:
    """What whoever looks may read. `why`: why the UpdateStatus is not relied on. `every`: see `EVERY`."""

    async def source(client: "Client", board: Board) -> None:
        loop = asyncio.get_running_loop()
        document: dict[str, Any] = {}
        while True:
            began = loop.time()
            try:
                document = document_of(await read_cluster(client, patience=PATIENCE, steps=True), why())
                board.show(document)
            except Problem as problem:
                board.show({"problem": {"text": str(problem)}, TROUBLES: []})
            except Failure as failure:
                lost = f"the cluster cannot be read: {failure}"
                board.show({**document, STALE: lost, TROUBLES: [lost]})
            await asyncio.sleep(max(every, SHARE * (loop.time() - began)))

    return Personal(rule=RULE, differs=DIFFERS, source=source)


def document_of(reading: Reading, why: str) -> dict[str, Any]:
    """The document of a reading, which says where it is from and what may not be read. Raises Problem."""
    report = assess(reading.sources, now=reading.now, wall=reading.wall)
    # The records of a controller that has died are gone on with, as it would.
    known = {record.name: record for record in reading.sources.records}
    history = reading.sources.cluster_version.status.history
    after = followed(known.values(), report, {}, now=reading.now, history=history)
    known |= {record.name: record for record in after}
    said = [f"Read from the cluster itself, because {why}. {INSTALL}"] if why else []
    sources = reading.sources
    unknown = [one.reason for one in (sources.pools, sources.nodes, sources.operator_image) if isinstance(one, Unknown)]
    if hidden := forbidden((*unknown, *report.gaps)):
        said.append(f"With your rights these cannot be read: {', '.join(hidden)}. What they would tell is missing.")
    shown = parts(report, list(known.values()), now=reading.now)
    return {**shown, "read": {"at": rfc3339(reading.now)}, TROUBLES: said}


def forbidden(reasons: Iterable[str]) -> list[str]:
    """The kinds, each once, that may not be read, by the reasons why something is unknown."""
    found = (_FORBIDDEN.search(reason) for reason in reasons)
    return [*dict.fromkeys(one[1] for one in found if one is not None)]


_FORBIDDEN: Final = re.compile(r"\bcannot (?:get|list|watch) resource \"([^\"]+)\"")
"""So the API server words a refusal."""
