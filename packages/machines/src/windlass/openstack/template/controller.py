"""The controller of OpenStackMachineTemplates: what wakes one, and what may be read, written and asked of a cloud."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from windlass.api import orc
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import emits_events, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import IndexedReader, Present
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.identity.watches import BY_IDENTITY, identity_watches
from windlass.openstack.objects import BY_CLUSTER, owner_name
from windlass.openstack.questions import Find, answerers, asks_clouds
from windlass.openstack.template.decide import OpenStackMachineTemplateSnapshot, decide

NAME: Final = "openstack-machine-template"


def template_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
) -> Controller[NamespacedName, OpenStackMachineTemplateSnapshot]:
    """The controller, of templates in `namespace` (None: all). Keys are namespace and name."""

    async def observe(key: NamespacedName, last: Outcome) -> OpenStackMachineTemplateSnapshot:
        """What the caches say."""
        namespace, name = key
        found = await reader.see(OpenStackMachineTemplate, name, namespace=namespace)
        seen = OpenStackMachineTemplateSnapshot(template=found)
        owner = owner_name(found.metadata, Cluster) if isinstance(found, Present) else ""
        if not owner:
            return seen
        cluster, infra = await reader.see(Cluster, owner, namespace=namespace), None
        if isinstance(cluster, Present) and (ref := cluster.object.spec.infrastructure_ref).name:
            infra = await reader.see(OpenStackCluster, ref.name, namespace=namespace)
        return OpenStackMachineTemplateSnapshot(template=found, cluster=cluster, infra=infra)

    def of_cluster(cluster: Object[Any]) -> Iterable[NamespacedName]:
        value = f"{cluster.namespace}/{cluster.name}"
        return (each.key for each in reader.known(OpenStackMachineTemplate, BY_CLUSTER, value))

    indexes = {BY_CLUSTER: _owned, BY_IDENTITY: lambda _: ()}  # the resync finds other credentials
    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(OpenStackMachineTemplate, lambda found: [found.key], indexes=indexes),
            watch(Cluster, of_cluster, when=spec_differs),
            watch(OpenStackCluster, lambda _: [], cache_only=True),
            watch(orc.Image, lambda _: [], cache_only=True),
            *identity_watches(reader, OpenStackMachineTemplate, namespace=namespace),
        ),
        permissions=(
            may_write(OpenStackMachineTemplate, "patch", subresource="status"),
            emits_events(namespace=namespace),
            asks_clouds(Find),
        ),
        answerers=answerers(reader, clouds, now=now, new_mark=new_mark),
        observe=observe,
        decide=decide,
        workers=2,
        resync=600.0,
    )


def _owned(found: Object[Any]) -> tuple[str, ...]:
    owner = owner_name(found.metadata, Cluster)
    return (f"{found.namespace}/{owner}",) if owner else ()
