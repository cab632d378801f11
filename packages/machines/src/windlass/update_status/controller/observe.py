"""Reads what a report is made from, from caches: a source that cannot be read is an Unknown, not an error."""

from typing import Protocol

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import K
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind
from windlass.update_status.constants import CLUSTER_VERSION, MCO_DEPLOYMENT, MCO_NAMESPACE
from windlass.update_status.reading import HOSTED
from windlass.update_status.reading.building import Read, image_of, lost_configs, sources_of
from windlass.update_status.sources import Known, Sources, Unknown


class PopulationReader(Protocol):
    """What is needed of `windlass.kube.control.reader.CacheReader`."""

    async def see_all(
        self, kind: type[K], *, namespace: str | None = None, metadata_only: bool = False
    ) -> Population[K] | NotServedKind | ForbiddenKind: ...


async def cached_sources(reader: PopulationReader) -> Known[Sources]:
    """The sources, or why there can be no report. Alerts, records, and what holds drains are not among them."""
    versions, operators = await _all(reader, ClusterVersion), await _all(reader, ClusterOperator)
    pools, nodes = await _pools(reader), await _all(reader, Node)
    steps, builds = await _all(reader, MachineConfigNode), await _all(reader, MachineOSBuild)
    version = _cluster_version(versions)
    if isinstance(version, Unknown):
        return version
    if isinstance(operators.found, Unknown):
        return operators.found
    return sources_of(
        version,
        operators,
        pools=pools,
        nodes=nodes,
        configs=await _configs(reader, nodes),
        image=await _operator_image(reader),
        steps=Read(steps.objects),
        builds=Read(builds.objects),
    )


async def _all(reader: PopulationReader, kind: type[K]) -> Read[K]:
    found = await reader.see_all(kind)
    if not isinstance(found, Population):
        return Read(Unknown(found.why))
    gaps = tuple(f"{kind.RESOURCE.kind} {broken.metadata.name}: {broken.why}" for broken in found.unreadable)
    return Read(tuple(found.readable), gaps)


async def _pools(reader: PopulationReader) -> Read[MachineConfigPool]:
    """A cluster that does not serve the kind is one whose control plane is hosted elsewhere."""
    found = await reader.see_all(MachineConfigPool)
    if isinstance(found, NotServedKind):
        return Read(Unknown(f"{found.why}: {HOSTED}"))
    read = await _all(reader, MachineConfigPool)
    if isinstance(read.found, Unknown):
        return read
    # As the API server lists them: insights of equal weight are told in this order.
    return Read(tuple(sorted(read.objects, key=lambda pool: pool.metadata.name)), read.gaps)


async def _configs(reader: PopulationReader, nodes: Read[Node]) -> Read[MachineConfig]:
    found = await reader.see_all(MachineConfig, metadata_only=True)
    if not isinstance(found, Population):
        return Read(gaps=(f"the versions of nodes: {found.why}",))
    there = {config.metadata.name for config in found}
    return Read(tuple(found.readable), lost_configs(nodes.objects, there, "there is none"))


async def _operator_image(reader: PopulationReader) -> Known[str]:
    found = await reader.see_all(Deployment, namespace=MCO_NAMESPACE)
    if not isinstance(found, Population):
        return Unknown(found.why)
    named = [each for each in found.readable if each.metadata.name == MCO_DEPLOYMENT]
    return image_of(named[0]) if named else Unknown(f"there is no Deployment {MCO_NAMESPACE}/{MCO_DEPLOYMENT}")


def _cluster_version(versions: Read[ClusterVersion]) -> Known[ClusterVersion]:
    if isinstance(versions.found, Unknown):
        return versions.found
    named = next((one for one in versions.found if one.metadata.name == CLUSTER_VERSION), None)
    if named is not None:
        return named
    return Unknown(versions.gaps[0] if versions.gaps else f"there is no ClusterVersion {CLUSTER_VERSION}")
