"""The controller of OpenStackClusters: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capi import Cluster, Machine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import emits_events, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import IndexedReader, Present
from windlass.kube.control.source import identity_differs, spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Resource
from windlass.openstack.cluster.decide import decide, without_cloud
from windlass.openstack.cluster.network import queries
from windlass.openstack.cluster.snapshot import Cloud, Snapshot, cluster_of
from windlass.openstack.identity.find import IdentityTrouble, credentials_of
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_CLUSTER, References, infrastructure

NAME: Final = "openstack-cluster"


class Observer:
    """Takes snapshots of OpenStackClusters. The cloud is asked once in an attempt."""

    def __init__(self, reader: IndexedReader, clouds: Clouds, *, now: Callable[[], datetime]) -> None:
        self._reader = reader
        self._clouds = clouds
        self._now = now
        self._asked: dict[NamespacedName, tuple[str, Cloud]] = {}

    async def __call__(self, key: NamespacedName, last: Outcome) -> Snapshot:
        namespace, name = key
        if not last.results:
            self._asked.pop(key, None)
        found = await self._reader.see(OpenStackCluster, name, namespace=namespace)
        if not isinstance(found, Present):
            return Snapshot(infra=found, last=last)
        cluster_name, cluster = cluster_of(found.metadata), None
        if cluster_name:
            cluster = await self._reader.see(Cluster, cluster_name, namespace=namespace, confirm=found.deleting)
        seen = Snapshot(infra=found, cluster=cluster, cluster_name=cluster_name, last=last)
        if found.deleting:
            machines = self._reader.indexed(Machine, BY_CLUSTER, f"{namespace}/{cluster_name}") if cluster_name else ()
            return replace(seen, machines=tuple(sorted(each.name for each in machines)))
        if without_cloud(seen, found, now=self._now()) is not None:
            return seen
        if isinstance(last.unread, CloudFailure):
            return replace(seen, cloud=last.unread)
        return replace(seen, cloud=await self._cloud(key, found))

    async def _cloud(self, key: NamespacedName, found: Present[OpenStackCluster]) -> Cloud | IdentityTrouble:
        ref = found.object.spec.identity_ref
        if ref is None:
            return IdentityTrouble("spec.identityRef is missing: set it")
        credentials = await credentials_of(self._reader, ref, namespace=found.metadata.namespace)
        if isinstance(credentials, IdentityTrouble):
            return credentials
        kept = self._asked.get(key)
        if kept is not None and kept[0] == credentials.key:
            return kept[1]
        project = await self._clouds.project(credentials)
        cloud = await self._ask(found, project)
        self._asked[key] = (credentials.key, cloud)
        return cloud

    async def _ask(self, found: Present[OpenStackCluster], project: Account) -> Cloud:
        answers: dict[Query, tuple[Resource, ...] | CloudFailure] = {}
        asked = self._now()
        while wanted := [each for each in queries(found.object.spec, answers) if each not in answers]:
            answers |= await project.find(wanted)
        return Cloud(answers, asked)


def cluster_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Controller[NamespacedName, Snapshot]:
    """The controller, of OpenStackClusters in `namespace` (None: all). Keys are `(namespace, name)`."""

    def of_machine(machine: Object[Any]) -> Iterable[NamespacedName]:
        """Machines matter while the object is being deleted; else each would make us ask the cloud for its networks."""
        for cluster in _cluster_of_machine(machine):
            for infra in reader.known(OpenStackCluster, BY_CLUSTER, cluster):
                if infra.deleting:
                    yield infra.key

    indexes = {BY_CLUSTER: _cluster, BY_IDENTITY: identities}
    return Controller(
        name=NAME,
        watches=(
            Watch(OpenStackCluster, lambda infra: [infra.key], namespace=namespace, indexes=indexes),
            Watch(Cluster, infrastructure(OpenStackCluster), namespace=namespace, when=spec_differs),
            Watch(
                Machine,
                of_machine,
                namespace=namespace,
                indexes={BY_CLUSTER: _cluster_of_machine},
                when=identity_differs,
                cache_only=True,
            ),
            *identity_watches(reader, OpenStackCluster, namespace=namespace),
        ),
        permissions=(
            writes(OpenStackCluster, "patch", namespace=namespace),
            writes(OpenStackCluster, "patch", subresource="status", namespace=namespace),
            emits_events(namespace=namespace),
        ),
        observe=Observer(reader, clouds, now=now),
        decide=decide,
        workers=4,
    )


def _cluster(infra: Object[OpenStackCluster]) -> Iterable[str]:
    name = cluster_of(infra.metadata)
    return (f"{infra.namespace}/{name}",) if name else ()


def _cluster_of_machine(machine: Object[Machine]) -> tuple[str, ...]:
    seen = machine.glimpse(References)
    return (f"{machine.namespace}/{seen.spec.cluster_name}",) if seen is not None and seen.spec.cluster_name else ()
