"""What the caches say about a MachineSet: both MachineSets of its name, what they refer to, and its infra templates."""

from typing import Any, Final

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Outcome
from windlass.kube.control.rounds import Observe
from windlass.kube.control.seen import IndexedReader, Present, metadata_of
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring.caches import cached, cached_by
from windlass.machine_sync.mirroring.looking import INFRASTRUCTURE
from windlass.machine_sync.platforms import Platform

BY_SET: Final = "machine-set"
"""Index of infra templates: by the MachineSet in their label or their name."""
BY_OWNER: Final = "owner-uid"
"""Index of Machines of either API: by the uid of the MachineSet that owns them."""
BY_TEMPLATE: Final = "infra-template"
"""Index of Cluster API MachineSets: by the infra template they refer to."""


def observer(reader: IndexedReader, *, platform: Platform, namespaces: Namespaces) -> Observe[str, MachineSetSnapshot]:
    """Observes MachineSets of one platform."""

    async def observe(name: str, last: Outcome) -> MachineSetSnapshot:
        caches = await cached(
            reader,
            namespaces,
            (mapi.MachineSet, name),
            (capi.MachineSet, name),
            (config.Infrastructure, INFRASTRUCTURE),
            (platform.infra_template, name),  # shows whether the kind is served
        )
        machine_api, cluster_api, infrastructure, _ = caches.values()
        caches |= await cached(reader, namespaces, *_references(platform, cluster_api, infrastructure))
        templates = cached_by(reader, platform.infra_template, BY_SET, name)
        for found in (one for each in templates.values() for one in each):
            if (meta := metadata_of(found)) is not None:
                caches |= cached_by(reader, capi.MachineSet, BY_TEMPLATE, meta.name)
        return MachineSetSnapshot(
            name=name,
            platform=platform,
            machine_api=machine_api,
            cluster_api=cluster_api,
            last=last,
            namespaces=namespaces,
            caches=caches | templates,
        )

    return observe


def _references(platform: Platform, cluster_api: Any, infrastructure: Any) -> list[tuple[type[KubernetesObject], str]]:
    """What the MachineSet of Cluster API and its mirror refer to."""
    found: list[tuple[type[KubernetesObject], str]] = []
    if isinstance(cluster_api, Present):
        spec = cluster_api.object.spec
        found += [
            (platform.infra_template, spec.template.spec.infrastructure_ref.name),
            (platform.infra_cluster, spec.cluster_name),
        ]
    if isinstance(infrastructure, Present):
        name = infrastructure.object.status.infrastructure_name
        found += [(capi.Cluster, name), (platform.infra_cluster, name)]
    return [(kind, name) for kind, name in found if name]
