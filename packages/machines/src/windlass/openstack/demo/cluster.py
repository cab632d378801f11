"""The expectations about the cluster and its bastion: made, the bastion replaced, all of it gone.

Pure functions, as in `expectations`.
"""

from typing import Final

from windlass.api import capi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.demo.scene import told
from windlass.demo.story import need
from windlass.openstack.demo.expectations import MACHINE_KINDS
from windlass.openstack.demo.scene import BASTION, CLUSTER, Held, Moment, Scene

FLAVOR: Final = "m1.small"
"""The second flavor of the bastion; the first is m1.tiny."""

_SOMETHING_TO_DO: Final = 3
"""The exit code of `windlass plan` that says so."""
_REPLACED: Final = "the bastion is replaced"


def cloud_and_api_server_answer(scene: Scene, _: Moment) -> str:
    scene.needs_api_server()
    need(scene.at_first, "the project in OpenStack has no security group")
    return (
        "Keystone, Nova, Neutron, Octavia, Glance and Cinder run; "
        f"kube-apiserver {scene.version} and Cluster API's manager"
    )


def cluster_is_described(scene: Scene, _: Moment) -> str:
    scene.needs_kinds()
    scene.needs(capi.Cluster, CLUSTER)
    scene.needs(OpenStackCluster, CLUSTER)
    return "Cluster demo exists, and Windlass has two ServiceAccounts with rights of their own"


def cluster_is_provisioned(scene: Scene, _: Moment) -> str:
    """Network, router, load balancer and bastion are there, and each address that an object names is the project's."""
    scene.needs_windlass()
    scene.needs_condition(capi.Cluster, CLUSTER, "InfrastructureReady")
    scene.needs_condition(OpenStackCluster, CLUSTER, "Ready")
    scene.needs_condition(capi.Cluster, CLUSTER, "RemoteConnectionProbe")
    for kind in ("network", "router", "load balancer"):
        scene.needs_active(kind)
    endpoint = scene.needs(OpenStackCluster, CLUSTER).object.spec.control_plane_endpoint
    host = endpoint.host if endpoint else "(none)"
    need(scene.held("floating IP", host), f"the endpoint {host} is no floating IP of the project")
    address = _bastion(scene)[1]
    return (
        f"both lead; Cluster demo has its network, its router, a load balancer with the floating IP {host}, and a "
        f"bastion with {address.name}"
    )


def replacement_is_planned(scene: Scene, moment: Moment) -> str:
    """`windlass plan` says that the bastion would be replaced, and why; it still is what it was."""
    need(scene.code is not None, "`windlass plan` has not ended")
    lines = [line.strip() for line in scene.printed.splitlines() if line.strip()]
    need(scene.code == _SOMETHING_TO_DO, f"`windlass plan` ended with code {scene.code}: {' '.join(lines[-1:])}")
    planned = [line for line in lines if line.startswith("delete ") and line.endswith(_REPLACED)]
    need(planned, f"`windlass plan` does not say that {_REPLACED}")
    need(scene.server(BASTION) == moment.before.server(BASTION), "the bastion has changed")
    return f"planned, and nothing is done: {planned[0]}"


def bastion_is_replaced(scene: Scene, moment: Moment) -> str:
    """Another server of the other flavor, to which the same floating IP leads."""
    (before, was), (after, address) = _bastion(moment.before), _bastion(scene)
    need(after.id != before.id, "its server is the one that it was")
    need(after.detail == FLAVOR, f"its flavor is {after.detail}")
    need((address.id, address.name) == (was.id, was.name), f"its address is {address.name}, and was {was.name}")
    return (
        f"server {before.id} ({before.detail}) is gone; {after.id} ({after.detail}) is ACTIVE at the same "
        f"floating IP {address.name}"
    )


def project_is_as_before(scene: Scene, _: Moment) -> str:
    """The lists of the cloud are those of the beginning, and no object is left."""
    need(scene.at_first, "nobody has looked at the project at first")
    for kind in (*MACHINE_KINDS, OpenStackServer):
        need(not scene.of(kind), f"{kind.RESOURCE} {', '.join(scene.of(kind))} is left")
    deleting = scene.condition(OpenStackCluster, CLUSTER, "Deleting")
    left = [*scene.of(capi.Cluster), *scene.of(OpenStackCluster)]
    need(not left, f"Cluster {CLUSTER} is left: Deleting is {told(deleting)}")
    for word, found in (("still has", scene.project - scene.at_first), ("has lost", scene.at_first - scene.project)):
        names = ", ".join(f"{one.kind} {one.name or one.id}" for one in sorted(found))
        need(not found, f"the project {word} {names}")
    names = ", ".join(f"{one.kind} {one.name}" for one in sorted(scene.project))
    return f"no object is left, and the project has what it had at first: {names}"


def _bastion(scene: Scene) -> tuple[Held, Held]:
    """The ACTIVE server of the bastion and the floating IP that leads to it, both as its status names them."""
    scene.needs_condition(OpenStackCluster, CLUSTER, "BastionReady")
    status = need(scene.needs(OpenStackCluster, CLUSTER).object.status.bastion, "the cluster has no bastion")
    server = scene.needs_active("server", BASTION)
    need(status.id == server.id, f"the server of the bastion is {server.id}, and its status names {status.id}")
    ip = status.floating_ip or "(none)"
    address = need(scene.held("floating IP", ip), f"the project has no floating IP {ip}")
    need(address.detail == server.id, f"the floating IP {ip} does not lead to the bastion")
    return server, address
