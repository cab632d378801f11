"""The expectations about the cluster and its bastion: made, the bastion replaced, all of it gone.

Pure functions, as in `expectations`.
"""

from typing import Final

from windlass.demo.story import Moment, Observed, met, missing
from windlass.openstack.demo.scene import BASTION, CLUSTER, Held, Scene, condition_of, told

FLAVOR: Final = "m1.small"
"""The second flavor of the bastion; the first is m1.tiny."""

_SOMETHING_TO_DO: Final = 3
"""The exit code of `windlass plan` that says so."""
_REPLACED: Final = "the bastion is replaced"
_PARTS: Final = ("network", "router", "load balancer")


def cloud_and_api_server_answer(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.silent:
        return missing(why)
    if not scene.at_first:
        return missing("the project in OpenStack has no security group")
    return met(
        "Keystone, Nova, Neutron, Octavia, Glance and Cinder run; "
        f"kube-apiserver {scene.version} and Cluster API's manager"
    )


def cluster_is_described(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.unserved:
        return missing(why)
    if scene.cluster is None or scene.network is None:
        return missing("there is no Cluster demo")
    return met("Cluster demo exists, and Windlass has two ServiceAccounts with rights of their own")


def cluster_is_provisioned(scene: Scene, _: Moment[Scene]) -> Observed:
    """Network, router, load balancer and bastion are there, and each address that an object names is the project's."""
    if not scene.ready:
        return missing("Windlass is not ready")
    if len(scene.leaders) != 2:
        return missing("one of the Leases of Windlass has no holder")
    for kind, found in (("InfrastructureReady", scene.cluster), ("Ready", scene.network)):
        if (said := condition_of(found, kind)).get("status") != "True":
            return missing(f"{kind} of Cluster demo: {told(said)}")
    if condition_of(scene.cluster, "RemoteConnectionProbe").get("status") != "True":
        return missing("Cluster API's manager has not connected to the workload cluster")
    for kind in _PARTS:
        part = scene.held(kind)
        if part is None or part.status != "ACTIVE":
            return missing(f"the {kind} is {part.status if part else 'not there'}")
    host = _endpoint(scene)
    if scene.held("floating IP", host) is None:
        return missing(f"the endpoint {host or '(none)'} is no floating IP of the project")
    if isinstance(address := _bastion(scene), str):
        return missing(address)
    return met(
        f"both lead; Cluster demo has its network, its router, a load balancer with the floating IP {host}, and a "
        f"bastion with {address.name}"
    )


def replacement_is_planned(scene: Scene, moment: Moment[Scene]) -> Observed:
    """`windlass plan` says that the bastion would be replaced, and why; it still is what it was."""
    if scene.code is None:
        return missing("`windlass plan` has not ended")
    lines = [line.strip() for line in scene.printed.splitlines() if line.strip()]
    if scene.code != _SOMETHING_TO_DO:
        return missing(f"`windlass plan` ended with code {scene.code}: {lines[-1] if lines else '(it said nothing)'}")
    planned = [line for line in lines if line.startswith("delete ") and line.endswith(_REPLACED)]
    if not planned:
        return missing(f"`windlass plan` does not say that {_REPLACED}")
    if scene.server(BASTION) != moment.before.server(BASTION):
        return missing("the bastion has changed")
    return met(f"planned, and nothing is done: {planned[0]}")


def bastion_is_replaced(scene: Scene, moment: Moment[Scene]) -> Observed:
    """Another server of the other flavor, to which the same floating IP leads."""
    before, after = moment.before.server(BASTION), scene.server(BASTION)
    was = _bastion(moment.before)
    if before is None or isinstance(was, str):
        return missing("there was no bastion")
    if after is None or after.id == before.id:
        return missing(f"its server is {'the one that it was' if after else 'deleted'}")
    if after.detail != FLAVOR:
        return missing(f"its flavor is {after.detail}")
    if isinstance(address := _bastion(scene), str):
        return missing(address)
    if (address.id, address.name) != (was.id, was.name):
        return missing(f"its address is {address.name}, and was {was.name}")
    return met(
        f"server {before.id} ({before.detail}) is gone; {after.id} ({after.detail}) is ACTIVE at the same "
        f"floating IP {address.name}"
    )


def project_is_as_before(scene: Scene, _: Moment[Scene]) -> Observed:
    """The lists of the cloud are those of the beginning, and no object is left."""
    if not scene.at_first:
        return missing("nobody has looked at the project at first")
    objects = [*scene.machines, *scene.mirrors, *scene.infrastructure, *scene.instances]
    if there := [*objects, *scene.sets, *scene.mirror_sets]:
        return missing(f"{len(there)} objects of machines are left")
    if scene.cluster or scene.network:
        return missing(f"Cluster demo is left: Deleting: {told(condition_of(scene.network, 'Deleting'))}")
    if left := sorted(scene.project - scene.at_first):
        return missing(f"the project still has {left[0].kind} {left[0].name or left[0].id}")
    if lost := sorted(scene.at_first - scene.project):
        return missing(f"the project has lost {lost[0].kind} {lost[0].name}")
    names = ", ".join(f"{one.kind} {one.name}" for one in sorted(scene.project))
    return met(f"no object is left, and the project has what it had at first: {names}")


def _endpoint(scene: Scene) -> str:
    """The host of the API servers; empty before it is known."""
    endpoint = scene.network.object.spec.control_plane_endpoint if scene.network else None
    return endpoint.host if endpoint else ""


def _bastion(scene: Scene) -> Held | str:
    """The floating IP that leads to the bastion, or what the bastion lacks."""
    said = condition_of(scene.network, "BastionReady")
    status = scene.network.object.status.bastion if scene.network else None
    if said.get("status") != "True" or status is None:
        return f"BastionReady of OpenStackCluster {CLUSTER}: {told(said)}"
    server = scene.server(BASTION)
    if server is None or server.status != "ACTIVE":
        return f"the server of the bastion is {server.status if server else 'not there'}"
    if status.id != server.id:
        return f"the server of the bastion is {server.id}, and its status names {status.id or '(none)'}"
    address = scene.held("floating IP", status.floating_ip) if status.floating_ip else None
    if address is None or address.detail != server.id:
        return f"the floating IP {status.floating_ip or '(none)'} does not lead to the bastion"
    return address
