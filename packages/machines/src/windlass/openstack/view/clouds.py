"""Shows clusters, machines, servers and pools of floating IPs on OpenStack, as their conditions say.

Neither a cloud nor a Secret is read: `document` says what the parts are. One object in full is read with the rights of
whoever asks.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from windlass.api import mapi
from windlass.api.authorization import ResourceAttributes
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.permissions import Permission
from windlass.kube.control.seen import Present
from windlass.openstack.beside import PROVIDER_NAMESPACE, cluster_api_provider
from windlass.openstack.installation import HOME
from windlass.openstack.service import OWN_LEASE
from windlass.openstack.view.document import (
    CLUSTERS,
    MACHINES,
    MACHINES_OF_MACHINE_API,
    POOLS,
    SERVERS,
    document,
)
from windlass.openstack.view.rows import cluster_row, machine_api_row, machine_row, pool_row, server_row
from windlass.web.board import Board
from windlass.web.described import described, present, side
from windlass.web.following import Followed, follow
from windlass.web.running import Controller, Holder, Liveness
from windlass.web.view import Offer, Refused, View

if TYPE_CHECKING:
    from windlass.kube.client import Client

NAME: Final = "openstack"
TITLE: Final = "OpenStack"
SCRIPTS: Final = "windlass.openstack.view"


def kinds(namespace: str | None = None) -> dict[str, Followed[Any]]:
    """What is followed in `namespace`, None: in all."""
    return {
        CLUSTERS: Followed(OpenStackCluster, cluster_row, namespace),
        MACHINES: Followed(OpenStackMachine, machine_row, namespace),
        SERVERS: Followed(OpenStackServer, server_row, namespace),
        POOLS: Followed(OpenStackFloatingIPPool, pool_row, namespace),
        MACHINES_OF_MACHINE_API: Followed(mapi.Machine, machine_api_row, namespace),
    }


def controller() -> Controller:
    """The controller of OpenStack by its Lease; it idles while Cluster API's own provider runs."""
    theirs = cluster_api_provider(PROVIDER_NAMESPACE)
    return Controller(
        "OpenStack", (Holder(HOME, OWN_LEASE),), beside=(Holder(theirs.namespace, theirs.lease, f"the {theirs.what}"),)
    )


def clouds_view(client: "Client", namespace: str | None = None) -> View:
    """The objects in `namespace`, None: in all."""
    followed = kinds(namespace)
    liveness = Liveness(client, controller(), now=client.server_clock.now)

    async def source(board: Board) -> None:
        await follow(client, followed, document, board, liveness=liveness)

    async def details(theirs: "Client", query: Mapping[str, str]) -> Any:
        return await _describe(theirs, followed, query)

    return View(
        name=NAME,
        title=TITLE,
        scripts=SCRIPTS,
        rule=rule(namespace),
        source=source,
        details=details,
        needs=needs(namespace),
        clock=client.server_clock.now,
    )


def rule(namespace: str | None = None) -> tuple[ResourceAttributes, ...]:
    """What somebody must be allowed: to list all that is shown."""
    return tuple(
        ResourceAttributes(
            verb="list",
            group=each.kind.RESOURCE.group,
            resource=each.kind.RESOURCE.plural,
            namespace=each.namespace or "",
        )
        for each in kinds(namespace).values()
    )


def needs(namespace: str | None = None) -> tuple[Permission, ...]:
    """What following takes."""
    return (*(each.need for each in kinds(namespace).values()), *controller().needs)


async def _describe(api: "Client", followed: Mapping[str, Followed[Any]], query: Mapping[str, str]) -> Any:
    found = {each.kind.RESOURCE.kind: each for each in followed.values()}
    wanted, namespace, name = (query.get(key, "") for key in ("kind", "namespace", "name"))
    if wanted not in found or not namespace or not name:
        raise Refused(400, f"say which one: ?kind={'|'.join(found)}&namespace=NAMESPACE&name=NAME")
    one = await present(api, found[wanted].kind, name, namespace=namespace)
    return await described(api, [side(one, _facts(one))], [one])


def _facts(found: Present[Any]) -> list[tuple[str, str]]:
    match found.object:
        case OpenStackCluster() as cluster:
            status = cluster.status
            balancer, router = status.api_server_load_balancer, status.router
            return [
                ("Network", _named(status.network)),
                ("Router", _named(router)),
                ("Load balancer", _named(balancer)),
                ("Bastion", _named(status.bastion)),
                ("Credentials", _credentials(cluster.spec.identity_ref)),
            ]
        case OpenStackMachine() as machine:
            return [
                ("Provider ID", machine.spec.provider_id or ""),
                ("Server in the cloud", machine.status.instance_id or ""),
                ("State in the cloud", machine.status.instance_state or ""),
                ("Addresses", ", ".join(each.address for each in machine.status.addresses)),
                ("Credentials", _credentials(machine.spec.identity_ref) or "those of its cluster"),
            ]
        case OpenStackServer() as server:
            return [
                ("Server in the cloud", server.status.instance_id or ""),
                ("State in the cloud", server.status.instance_state or ""),
                ("Addresses", ", ".join(each.address for each in server.status.addresses)),
                ("Credentials", _credentials(server.spec.identity_ref)),
            ]
        case OpenStackFloatingIPPool() as pool:
            return [
                ("Claimed", ", ".join(pool.status.claimed_ips)),
                ("Free", ", ".join(pool.status.available_ips)),
                ("Cannot be given", ", ".join(pool.status.failed_ips)),
                ("Credentials", _credentials(pool.spec.identity_ref)),
            ]
        case mapi.Machine() as machine:
            return [
                ("Provider ID", machine.spec.provider_id or ""),
                ("Phase", machine.status.phase or ""),
                ("Addresses", ", ".join(each.address for each in machine.status.addresses)),
            ]
    return []


def _named(one: Any) -> str:
    return " ".join(filter(None, (one.name, f"({one.id})" if one.id else ""))) if one is not None else ""


def _credentials(ref: Any) -> str:
    """The Secret by name alone: it is not read."""
    if ref is None or not ref.name:
        return ""
    return f"{ref.type or 'Secret'} {ref.name}, cloud {ref.cloud_name}"


def _live(client: "Client", named: str) -> View:
    return clouds_view(client, named or None)


VIEW: Final = Offer(live=_live, needs=needs)
