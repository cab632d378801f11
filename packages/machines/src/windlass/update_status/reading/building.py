"""Builds the sources of a report from the objects that tell of an update.

| objects | what cannot be read of them |
|---|---|
| ClusterVersion | there is no report |
| ClusterOperators | the same; of a single one: a gap |
| MachineConfigPools, Nodes, the image of the Machine Config Operator | Unknown; of a single one: a gap |
| MachineConfigs, MachineConfigNodes, MachineOSBuilds | a gap, where the reader says so |
| UpdateRecords | none: expected ends are those that are usual |
"""

from collections.abc import Collection, Iterable
from typing import Generic

from msgspec import Struct

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import K
from windlass.update_status.constants import CURRENT_CONFIG, DESIRED_CONFIG, MCO_DEPLOYMENT, RELEASE_VERSION
from windlass.update_status.record import Record
from windlass.update_status.sources import Known, Sources, Unknown


class Read(Struct, Generic[K], frozen=True):
    """The objects of a kind, and what could not be read of them: `MachineConfig rendered-x: not found`."""

    found: Known[tuple[K, ...]] = ()
    gaps: tuple[str, ...] = ()

    @property
    def objects(self) -> tuple[K, ...]:
        """Those that are known."""
        return () if isinstance(self.found, Unknown) else self.found


def sources_of(
    version: ClusterVersion,
    operators: Read[ClusterOperator],
    *,
    pools: Read[MachineConfigPool],
    nodes: Read[Node],
    configs: Read[MachineConfig],
    image: Known[str],
    steps: Read[MachineConfigNode],
    builds: Read[MachineOSBuild],
    records: Iterable[Record] = (),
) -> Sources:
    """The sources without alerts, what holds drains, and what informers tell."""
    return Sources(
        cluster_version=version,
        operators=operators.objects,
        pools=pools.found,
        nodes=nodes.found,
        versions=releases_of(configs.objects),
        operator_image=image,
        progress={one.metadata.name: one for one in steps.objects},
        builds=builds.objects,
        records=tuple(records),
        gaps=(*operators.gaps, *pools.gaps, *nodes.gaps, *configs.gaps, *steps.gaps, *builds.gaps),
    )


def configs_of(nodes: Iterable[Node]) -> list[str]:
    """The names of MachineConfigs that nodes have or shall get, each once, in the order in which `oc` reads them."""
    names = (node.metadata.annotations.get(key, "") for node in nodes for key in (CURRENT_CONFIG, DESIRED_CONFIG))
    return [name for name in dict.fromkeys(names) if name]


def lost_configs(nodes: Iterable[Node], there: Collection[str], why: str) -> tuple[str, ...]:
    """A gap for each MachineConfig that nodes name and that is not `there`."""
    return tuple(f"MachineConfig {name}: {why}" for name in configs_of(nodes) if name not in there)


def releases_of(configs: Iterable[MachineConfig]) -> dict[str, str]:
    """The releases of MachineConfigs by name; without those that name none."""
    return {
        config.metadata.name: release
        for config in configs
        if (release := config.metadata.annotations.get(RELEASE_VERSION, ""))
    }


def image_of(deployment: Deployment) -> str:
    """The image that the Machine Config Operator runs, "" if it has no such container."""
    containers = deployment.spec.template.spec.containers
    return next((one.image for one in containers if one.name == MCO_DEPLOYMENT), "")
