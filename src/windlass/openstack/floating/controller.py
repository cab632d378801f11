"""What wakes the floating IP of an OpenStackServer, what is observed, and what may be read and written."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.conditions import is_true
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, NotServedKind, Present, Seen
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.floating.decide import SUFFIX, Cloud, Snapshot, decide, without_cloud
from windlass.openstack.identity.find import IdentityTrouble, credentials_of
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_CLUSTER, is_paused, labelled, mark_of
from windlass.openstack.server.snapshot import cluster_of
from windlass.openstack.status import FLOATING_READY

NAME: Final = "openstack-floating-address"
RECENT: Final = 60.0
JUST_NOW: Final = 1.0
"""The greatest age in seconds of the list of floating IPs: for a server that has its floating IP, and for others."""


class Observer:
    """Takes snapshots of what an OpenStackServer has from a pool."""

    def __init__(self, reader: IndexedReader, clouds: Clouds, *, now: Callable[[], datetime]) -> None:
        self._reader = reader
        self._clouds = clouds
        self._now = now

    async def __call__(self, key: NamespacedName, last: Outcome) -> Snapshot:
        namespace, name = key
        claim: Seen[IPAddressClaim] = await self._reader.see(IPAddressClaim, f"{name}{SUFFIX}", namespace=namespace)
        exists = isinstance(claim, Present)
        found = await self._reader.see(OpenStackServer, name, namespace=namespace, confirm=exists)
        shot = Snapshot(server=found, claim=claim, last=last)
        if not isinstance(found, Present):
            return shot
        shot = replace(shot, paused=await self._paused(found))
        if isinstance(claim, Present) and (ref := claim.object.status.address_ref) is not None:
            shot = replace(shot, address=await self._reader.see(IPAddress, ref.name, namespace=namespace))
        if without_cloud(shot, now=self._now()) is not None:
            return shot
        if isinstance(last.unread, CloudFailure):
            return replace(shot, cloud=last.unread)
        assert isinstance(shot.address, Present)
        return replace(shot, cloud=await self._cloud(found, shot.address.object.spec.address))

    async def _paused(self, found: Present[OpenStackServer]) -> bool:
        """Also while the Cluster is not there: whether it is paused is not known then."""
        label = cluster_of(found)
        cluster = await self._reader.see(Cluster, label, namespace=found.metadata.namespace) if label else None
        return is_paused(found, cluster) or isinstance(cluster, Absent | NotServedKind)

    async def _cloud(self, found: Present[OpenStackServer], address: str) -> Cloud | IdentityTrouble:
        mark = mark_of(found)
        credentials = await credentials_of(
            self._reader, found.object.spec.identity_ref, namespace=found.metadata.namespace
        )
        if isinstance(credentials, IdentityTrouble):
            return credentials
        project = await self._clouds.project(credentials)
        settled = is_true(found.object.status.conditions, FLOATING_READY)
        age = RECENT if settled else JUST_NOW
        estate = await project.estate(mark, (address,), kinds=(FloatingIp,), age=age)
        here = (each for each in estate.floating_ips if each.floating_ip_address == address)
        return Cloud(
            project=project.key,
            where=credentials.where,
            floating=next(here, None),
            weather=project.weather(mark),
        )


def floating_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Controller[NamespacedName, Snapshot]:
    """The controller, of OpenStackServers in `namespace` (None: all). Keys are namespace and name of the server."""

    def of_cluster(cluster: Object[Any]) -> list[NamespacedName]:
        return [each.key for each in reader.known(OpenStackServer, BY_CLUSTER, f"{cluster.namespace}/{cluster.name}")]

    return Controller(
        name=NAME,
        watches=(
            Watch(
                OpenStackServer,
                lambda server: [server.key],
                namespace=namespace,
                indexes={BY_CLUSTER: labelled, BY_IDENTITY: identities},
            ),
            Watch(Cluster, of_cluster, namespace=namespace, when=spec_differs, cache_only=True),
            Watch(IPAddressClaim, _of_claim, namespace=namespace, cache_only=True),
            Watch(IPAddress, _of_claim, namespace=namespace, cache_only=True),
            *identity_watches(reader, OpenStackServer, namespace=namespace),
        ),
        permissions=(
            writes(OpenStackServer, "patch", subresource="status", namespace=namespace),
            writes(IPAddressClaim, "create", "patch", "delete", namespace=namespace),
            calls(AssociateFloatingIp),
        ),
        observe=Observer(reader, clouds, now=now),
        decide=decide,
        workers=10,
    )


def _of_claim(found: Object[Any]) -> tuple[NamespacedName, ...]:
    """The server, by the name of the claim; IPAddresses of the pools of all providers have the name of their claim."""
    return ((found.namespace, found.name.removesuffix(SUFFIX)),) if found.name.endswith(SUFFIX) else ()
