"""What the caches say about a machine: the Machines of both APIs, and what they refer to."""

from typing import Any, Final

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Outcome
from windlass.kube.control.rounds import Observe
from windlass.kube.control.seen import IndexedReader, Present, Seen, metadata_of
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring.caches import cached, cached_by
from windlass.machine_sync.mirroring.looking import INFRASTRUCTURE
from windlass.machine_sync.platforms import Platform

BY_MACHINE: Final = "machine"
"""Index of infra machines: by their machine."""
BY_INFRA_MACHINE: Final = "infra-machine"
"""Index of Cluster API Machines: by the infra machine that they refer to."""


def observer(reader: IndexedReader, *, platform: Platform, namespaces: Namespaces) -> Observe[str, MachineSnapshot]:
    """Observes machines of one platform."""

    async def observe(name: str, last: Outcome) -> MachineSnapshot:
        caches = await cached(
            reader, namespaces, (mapi.Machine, name), (capi.Machine, name), (config.Infrastructure, INFRASTRUCTURE)
        )
        machine_api, cluster_api, infrastructure = caches.values()
        infra = cluster_api.object.spec.infrastructure_ref.name if isinstance(cluster_api, Present) else name
        if infra:
            caches |= await cached(reader, namespaces, (platform.infra_machine, infra))
            caches |= cached_by(reader, capi.Machine, BY_INFRA_MACHINE, infra)
        if not isinstance(cluster_api, Present):
            caches |= cached_by(reader, platform.infra_machine, BY_MACHINE, name)
        caches |= await cached(reader, namespaces, *_sets(machine_api, cluster_api))
        caches |= await cached(reader, namespaces, *_clusters(platform, machine_api, cluster_api, infrastructure))
        return MachineSnapshot(
            name=name,
            platform=platform,
            machine_api=machine_api,
            cluster_api=cluster_api,
            last=last,
            namespaces=namespaces,
            caches=caches,
        )

    return observe


def _sets(machine_api: Seen[mapi.Machine], cluster_api: Seen[capi.Machine]) -> set[tuple[type[KubernetesObject], str]]:
    """The MachineSets of both APIs that are called like an owner of a Machine."""
    sides: tuple[tuple[Seen[Any], type[KubernetesObject]], ...] = (
        (machine_api, mapi.MachineSet),
        (cluster_api, capi.MachineSet),
    )
    owners = [set_owner(meta, kind.RESOURCE.api_version) for side, kind in sides if (meta := metadata_of(side))]
    return {(kind, owner.name) for owner in owners if owner is not None for _, kind in sides}


def _clusters(
    platform: Platform, machine_api: Seen[mapi.Machine], cluster_api: Seen[capi.Machine], infrastructure: Seen[Any]
) -> list[tuple[type[KubernetesObject], str]]:
    """The infra cluster of the Machine, else that of this cluster; the Cluster, if it is to own the Machine."""
    name = infrastructure.object.status.infrastructure_name if isinstance(infrastructure, Present) else ""
    infra = cluster_api.object.spec.cluster_name if isinstance(cluster_api, Present) else name
    source = metadata_of(machine_api)
    owning = name if source is not None and not source.owner_references else ""
    return [(kind, each) for kind, each in ((platform.infra_cluster, infra), (capi.Cluster, owning)) if each]
