"""What wakes the floating IP of an OpenStackServer, what is observed, and what may be read and written."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.mapi import Machine
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, NotServedKind, Present, Seen
from windlass.kube.control.source import identity_differs, spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.marks import root_of
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.constants import CLAIM_SUFFIX, KEPT_ANNOTATION
from windlass.openstack.floating.decide import FloatingIPSnapshot, decide
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_CLUSTER, BY_MARK, is_paused, kept_for, labelled, marked
from windlass.openstack.questions import LookAtNetworks, answerers, asks_clouds
from windlass.openstack.server.snapshot import cluster_of

NAME: Final = "openstack-floating-address"


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

    async def observe(key: NamespacedName, last: Outcome) -> FloatingIPSnapshot:
        """What the caches say."""
        namespace, name = key
        found = await reader.see(OpenStackServer, name, namespace=namespace)
        claim = await reader.see(IPAddressClaim, f"{name}{CLAIM_SUFFIX}", namespace=namespace)
        address = None
        if isinstance(claim, Present) and (ref := claim.object.status.address_ref) is not None:
            address = await reader.see(IPAddress, ref.name, namespace=namespace)
        return FloatingIPSnapshot(
            server=found,
            claim=claim,
            address=address,
            paused=isinstance(found, Present) and await is_held_back(found),
            lives_on=lives_on(claim),
            last=last,
        )

    def lives_on(claim: Seen[IPAddressClaim]) -> bool:
        """Unknown, and so true, without the Machines of the Machine API."""
        mark = kept_for(claim) if isinstance(claim, Present) else ""
        return bool(mark) and (not machine_api or bool(reader.known(Machine, BY_MARK, root_of(mark))))

    async def is_held_back(found: Present[OpenStackServer]) -> bool:
        """Paused, or its Cluster is not there: whether that is paused is not known then."""
        label = cluster_of(found)
        cluster = await reader.see(Cluster, label, namespace=found.metadata.namespace) if label else None
        return is_paused(found, cluster) or isinstance(cluster, Absent | NotServedKind)

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
            asks_clouds(LookAtNetworks),
        ),
        answerers=answerers(reader, clouds, now=now),
        observe=observe,
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
