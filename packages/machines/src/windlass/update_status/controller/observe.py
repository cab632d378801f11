"""Reads what a report is made from, from caches: a source that cannot be read is an Unknown, not an error."""

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct, structs

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.meta import K, KubernetesObject
from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.clock import Clock
from windlass.kube.control.plan import Outcome
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Seen, Unreadable
from windlass.update_status.constants import (
    CLUSTER_VERSION,
    MCO_DEPLOYMENT,
    MCO_NAMESPACE,
)
from windlass.update_status.controller.alerts import Alerts
from windlass.update_status.controller.drains import Drains
from windlass.update_status.controller.informants import Informants
from windlass.update_status.controller.snapshot import UpdateStatusSnapshot
from windlass.update_status.history import PROGRESSING
from windlass.update_status.reading.facts import configs_of, image_of, releases_of
from windlass.update_status.report import Informed
from windlass.update_status.sources import Known, Sources, Unknown
from windlass.update_status.times import of_datetime

NAME = "cluster"
"""The name of the one UpdateStatus, and the key."""


class Reader(Protocol):
    """What is needed of `windlass.kube.control.reader.CacheReader`."""

    async def see(self, kind: type[K], name: str, *, namespace: str | None = None) -> Seen[K]: ...

    async def see_all(
        self, kind: type[K], *, namespace: str | None = None, metadata_only: bool = False
    ) -> Population[K] | NotServedKind | ForbiddenKind: ...


class _Kind(Struct, frozen=True):
    """The objects of a kind that could be read, and why others could not."""

    found: Known[tuple[Any, ...]]
    gaps: tuple[str, ...] = ()


class UpdateStatusObserver:
    """Observes for the one key; `alerts` are asked for outside, and so are `informants`, if there are any."""

    def __init__(
        self, reader: Reader, alerts: Alerts, drains: Drains, informants: Informants | None, clock: Clock
    ) -> None:
        self._reader = reader
        self._alerts = alerts
        self._drains = drains
        self._informants = informants
        self._clock = clock

    async def __call__(self, key: str, last: Outcome) -> UpdateStatusSnapshot:
        stored = await self._reader.see(UpdateStatus, key)
        records = await self._reader.see_all(UpdateRecord)
        sources = await self._sources()
        await self._alerts.want(_is_updating(sources) or _is_recording(records))
        if not isinstance(sources, Unknown):
            alerts = self._alerts.latest
            kept = tuple(records.readable) if isinstance(records, Population) else ()
            workload = await self._drains.look(stored, sources)
            informed: tuple[Informed, ...] = ()
            if self._informants is not None:
                informed = await self._informants.informed(self._reader, stored, now=of_datetime(self._clock.now()))
            sources = structs.replace(
                sources,
                alerts=alerts.found,
                alerts_trouble=alerts.trouble,
                workload=workload,
                records=kept,
                informed=informed,
            )
        return UpdateStatusSnapshot(stored, records, sources)

    async def _sources(self) -> Known[Sources]:
        versions = await self._all(ClusterVersion)
        operators = await self._all(ClusterOperator)
        pools, nodes = await self._all(MachineConfigPool), await self._all(Node)
        configs = await self._reader.see_all(MachineConfig, metadata_only=True)
        progress = await self._all(MachineConfigNode)
        image, more_gaps = await self._operator_image(), list[str]()
        version = _cluster_version(versions)
        if isinstance(version, Unknown):
            return version
        if isinstance(operators.found, Unknown):
            return operators.found
        releases: dict[str, str] = {}
        if isinstance(configs, Population):
            releases = releases_of(configs.readable)
            there = {config.metadata.name for config in configs}
            named = [] if isinstance(nodes.found, Unknown) else configs_of(nodes.found)
            more_gaps += (f"MachineConfig {name}: there is none" for name in named if name not in there)
        else:
            more_gaps.append(f"the versions of nodes: {configs.why}")
        known_progress = () if isinstance(progress.found, Unknown) else progress.found
        return Sources(
            cluster_version=version,
            operators=operators.found,
            pools=pools.found,
            nodes=nodes.found,
            versions=releases,
            operator_image=image,
            progress={node.metadata.name: node for node in known_progress},
            gaps=(*operators.gaps, *pools.gaps, *nodes.gaps, *more_gaps),
        )

    async def _all(self, kind: type[K]) -> _Kind:
        found = await self._reader.see_all(kind)
        if not isinstance(found, Population):
            return _Kind(Unknown(found.why))
        gaps = tuple(_gap(kind, broken) for broken in found.unreadable)
        return _Kind(tuple(found.readable), gaps)

    async def _operator_image(self) -> Known[str]:
        found = await self._reader.see_all(Deployment, namespace=MCO_NAMESPACE)
        if not isinstance(found, Population):
            return Unknown(found.why)
        for deployment in found.readable:
            if deployment.metadata.name == MCO_DEPLOYMENT:
                return image_of(deployment)
        return Unknown(f"there is no Deployment {MCO_NAMESPACE}/{MCO_DEPLOYMENT}")


def _is_updating(sources: Known[Sources]) -> bool:
    if isinstance(sources, Unknown):
        return False
    conditions = sources.cluster_version.status.conditions
    return any(one.type == "Progressing" and one.status == "True" for one in conditions)


def _is_recording(records: Population[UpdateRecord] | NotServedKind | ForbiddenKind) -> bool:
    """Pools are updated after ClusterVersion is."""
    return isinstance(records, Population) and any(record.state == PROGRESSING for record in records.readable)


def _cluster_version(versions: _Kind) -> Known[ClusterVersion]:
    if isinstance(versions.found, Unknown):
        return versions.found
    found: Sequence[ClusterVersion] = versions.found
    named = next((one for one in found if one.metadata.name == CLUSTER_VERSION), None)
    if named is not None:
        return named
    return Unknown(versions.gaps[0] if versions.gaps else f"there is no ClusterVersion {CLUSTER_VERSION}")


def _gap(kind: type[KubernetesObject], broken: Unreadable) -> str:
    return f"{kind.RESOURCE.kind} {broken.metadata.name}: {broken.why}"
