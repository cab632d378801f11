"""What wakes the floating IP of an OpenStackServer, what is observed, and what may be read and written."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.mapi import Machine
from windlass.kube.conditions import is_true
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, NotServedKind, Present, Seen
from windlass.kube.control.source import identity_differs, spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import root_of
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.constants import CLAIM_SUFFIX, KEPT_ANNOTATION
from windlass.openstack.floating.decide import FloatingIPCloudFacts, FloatingIPSnapshot, decide, without_cloud
from windlass.openstack.identity.find import IdentityTrouble, credentials_of
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_CLUSTER, BY_MARK, is_paused, kept_for, labelled, mark_of, marked
from windlass.openstack.server.snapshot import cluster_of
from windlass.openstack.status import FLOATING_READY

NAME: Final = "openstack-floating-address"
RECENT: Final = 60.0
JUST_NOW: Final = 1.0
"""The greatest age in seconds of the list of floating IPs: for a server that has its floating IP, and for others."""


class FloatingIPObserver:
    """Takes snapshots of what an OpenStackServer has from a pool."""

    def __init__(self, reader: IndexedReader, clouds: Clouds, *, now: Callable[[], datetime], machine_api: str) -> None:
        self._reader = reader
        self._machine_api = machine_api
        self._clouds = clouds
        self._now = now

    async def __call__(self, key: NamespacedName, last: Outcome) -> FloatingIPSnapshot:
        namespace, name = key
        claim: Seen[IPAddressClaim] = await self._reader.see(
            IPAddressClaim, f"{name}{CLAIM_SUFFIX}", namespace=namespace
        )
        exists = isinstance(claim, Present)
        found = await self._reader.see(OpenStackServer, name, namespace=namespace, confirm=exists)
        shot = FloatingIPSnapshot(server=found, claim=claim, lives_on=self._lives_on(claim), last=last)
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

    def _lives_on(self, claim: Seen[IPAddressClaim]) -> bool:
        """Unknown, and so true, without the Machines of the Machine API."""
        mark = kept_for(claim) if isinstance(claim, Present) else ""
        return bool(mark) and (not self._machine_api or bool(self._reader.known(Machine, BY_MARK, root_of(mark))))

    async def _paused(self, found: Present[OpenStackServer]) -> bool:
        """Also while the Cluster is not there: whether it is paused is not known then."""
        label = cluster_of(found)
        cluster = await self._reader.see(Cluster, label, namespace=found.metadata.namespace) if label else None
        return is_paused(found, cluster) or isinstance(cluster, Absent | NotServedKind)

    async def _cloud(self, found: Present[OpenStackServer], address: str) -> FloatingIPCloudFacts | IdentityTrouble:
        mark = mark_of(found)
        credentials = await credentials_of(
            self._reader, found.object.spec.identity_ref, namespace=found.metadata.namespace
        )
        if isinstance(credentials, IdentityTrouble):
            return credentials
        project = await self._clouds.project(credentials)
        settled = is_true(found.object.status.conditions, FLOATING_READY)
        age = RECENT if settled else JUST_NOW
        inventory = await project.network_inventory(mark, (address,), kinds=(FloatingIp,), age=age)
        here = (each for each in inventory.floating_ips if each.floating_ip_address == address)
        return FloatingIPCloudFacts(
            project=project.key, where=credentials.where, floating=next(here, None), blockers=project.blockers(mark)
        )


def floating_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    machine_api: str = "",
) -> Controller[NamespacedName, FloatingIPSnapshot]:
    """The controller, of OpenStackServers in `namespace` (None: all). Keys are namespace and name of the server.
    `machine_api`: the namespace of the Machines of the Machine API that have servers by us too, whose addresses may be
    kept for them; empty: none."""

    def of_machine(machine: Object[Any]) -> list[NamespacedName]:
        claims = (each for mark in marked(machine) for each in reader.known(IPAddressClaim, BY_MARK, mark))
        return [key for claim in claims for key in _of_claim(claim)]

    machines = Watch(
        Machine, of_machine, namespace=machine_api, when=identity_differs, indexes={BY_MARK: marked}, cache_only=True
    )

    def of_cluster(cluster: Object[Any]) -> list[NamespacedName]:
        return [each.key for each in reader.known(OpenStackServer, BY_CLUSTER, f"{cluster.namespace}/{cluster.name}")]

    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(
                OpenStackServer, lambda server: [server.key], indexes={BY_CLUSTER: labelled, BY_IDENTITY: identities}
            ),
            watch(Cluster, of_cluster, when=spec_differs, cache_only=True),
            watch(IPAddressClaim, _of_claim, indexes={BY_MARK: _kept}),
            watch(IPAddress, _of_claim, cache_only=True),
            *identity_watches(reader, OpenStackServer, namespace=namespace),
            *([machines] if machine_api else []),
        ),
        permissions=(
            may_write(OpenStackServer, "patch", subresource="status"),
            may_write(IPAddressClaim, "create", "patch", "delete"),
            calls(AssociateFloatingIp),
        ),
        observe=FloatingIPObserver(reader, clouds, now=now, machine_api=machine_api),
        decide=decide,
        workers=10,
    )


def _of_claim(found: Object[Any]) -> tuple[NamespacedName, ...]:
    """The server, by the name of the claim; IPAddresses of the pools of all providers have the name of their claim."""
    return ((found.namespace, found.name.removesuffix(CLAIM_SUFFIX)),) if found.name.endswith(CLAIM_SUFFIX) else ()


def _kept(claim: Object[Any]) -> tuple[str, ...]:
    """The mark of the Machine that it is kept for."""
    mark = claim.metadata.annotations.get(KEPT_ANNOTATION)
    return (root_of(mark),) if mark else ()
