"""The expectations of the story's steps: each compares what the objects say with what the project has.

Pure functions of a scene and of the step's beginning: each says what happened, or raises Missing with what is missing.
"""

from typing import Final

from windlass.api import capi, capo, mapi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.demo.scene import condition_text
from windlass.demo.story import Missing, need
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.conversion.metadata import INSTANCE_STATE
from windlass.openstack.demo.scene import BASTION, CLUSTER, CloudResource, Expectation, Moment, Scene

FAILING_SECONDS: Final = 10.0
"""How long Neutron answers 503."""

MACHINE_KINDS: Final = (capi.MachineSet, mapi.MachineSet, capi.Machine, mapi.Machine, capo.OpenStackMachine)


def machines_run(machine_set: str, count: int, *, authority: str) -> Expectation:
    """`count` machines of the set under `authority`, but for those whose servers are lost: ACTIVE in Nova, Running in
    both APIs, in sync. No server is nobody's."""

    def look(scene: Scene, _: Moment) -> str:
        rows = [row for row in scene.rows_of(machine_set) if not scene.lost(row)]
        need(len(rows) == count, f"there are {len(rows)} machines, not {count}")
        for row in rows:
            scene.needs_machine(row, authority)
        strays = scene.servers.keys() - {row.name for row in scene.rows} - {BASTION}
        need(not strays, f"the project has a server {', '.join(strays)}, which no machine names")
        return (
            f"{count} servers are ACTIVE, each one Machine in both APIs: Running, with the addresses of Neutron, "
            "Synchronized=True"
        )

    return look


def server_is_gone(scene: Scene, moment: Moment) -> str:
    scene.needs(capi.Machine, moment.name)
    need(moment.name not in scene.servers, f"Nova still lists {moment.name}")
    return f"Nova does not list {moment.name}; Windlass looks twice, 30 seconds apart, before it says so"


def neutron_is_told_of(scene: Scene, moment: Moment) -> str:
    """The machine that is new waits, and says for what and until when."""
    new = sorted(scene.of(OpenStackServer).keys() - moment.before.of(OpenStackServer).keys())
    need(new, "there is no OpenStackServer of a fourth machine")
    said = scene.needs_condition(OpenStackServer, new[0], "Progressing", reason="TransientError")
    message = str(said["message"])
    need("503" in message and "Next attempt at" in message, f"Progressing of {new[0]}: {condition_text(said)}")
    return f"{new[0]}: Progressing={said['status']} {said['reason']}: {'. '.join(message.splitlines())}"


def loss_is_told(scene: Scene, moment: Moment) -> str:
    """The machine whose server was deleted is told of in every object, and there is no other server of its name."""
    name = moment.name
    scene.needs_condition(OpenStackServer, name, "Ready", "False", "InstanceNotFound")
    scene.needs_condition(capo.OpenStackMachine, name, "Ready", "False", "InstanceNotFound")
    said = scene.needs_condition(capi.Machine, name, "InfrastructureReady", "False", "InstanceNotFound")
    state = scene.needs(mapi.Machine, name).metadata.annotations.get(INSTANCE_STATE)
    need(state == "DELETED", f"in the Machine API {name} has instance state {state or '(none)'}, not DELETED")
    need(name not in scene.servers, f"there is a server {name}")
    return f"{name}: {said['message']}; in the Machine API its state is DELETED, and nothing was created instead"


def machines_are_gone(scene: Scene, _: Moment) -> str:
    """Sets and machines are gone from both APIs, and their servers from the project, where the cluster still is."""
    left = [name for kind in MACHINE_KINDS for name in scene.of(kind)]
    need(not left, f"{len(left)} objects of machines are left: {', '.join(left)}")
    need(scene.servers.keys() == {BASTION}, f"the project has the servers {', '.join(scene.servers) or '(none)'}")
    return "no Machine and no MachineSet is left in either API; of the servers the bastion is left"


# The expectation about a machine that moves to the other API: its server stays, and only the new side writes.
#
# Each service of the cloud logs its requests, and the User-Agent of Windlass names the controller that sent a write.

_NAMES: Final = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}
_WRITERS: Final = {MACHINE_API: "openstack-machine-api", CLUSTER_API: "openstack-server"}
"""The controller that has the servers of machines under each authority."""


def handed_over(to: str) -> Expectation:
    """The machine is under the API `to`, on the server that it had; the cloud got nothing but marks, from that side."""
    (other,) = _WRITERS.keys() - {to}

    def look(scene: Scene, moment: Moment) -> str:
        need(scene.code in (0, None), f"`windlass migrate` ended with code {scene.code}: {scene.printed.strip()}")
        row = scene.needs_row(moment.name)
        server, before = scene.needs_machine(row, to), moment.before.servers.get(row.name)
        need(
            before and before.id == server.id, f"its server is {server.id}, and was {before.id if before else '(none)'}"
        )
        written = sorted(scene.writes - moment.before.writes)
        for one in written:
            if one.controller != _WRITERS[to] or not one.is_mark:
                raise Missing(f"the cloud has logged {one.method} {one.path} of {one.service} by {one.controller}")
        marked = any(one.path.endswith(f"/servers/{server.id}/metadata") for one in written)
        need(marked, "the cloud has not logged the mark of the server")
        need(scene.code is not None, "`windlass migrate` has not ended")
        return (
            f"{row.name} belongs to {_NAMES[to]}, on the same server {server.id}. The log of the cloud has "
            f"{len(written)} writes, all marks by {_WRITERS[to]}, and none by {_WRITERS[other]}"
        )

    return look


# The expectations about the cluster and its bastion: made, the bastion replaced, all of it gone.

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
    need(scene.servers.get(BASTION) == moment.before.servers.get(BASTION), "the bastion has changed")
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
    need(not left, f"Cluster {CLUSTER} is left: Deleting is {condition_text(deleting)}")
    for word, found in (("still has", scene.project - scene.at_first), ("has lost", scene.at_first - scene.project)):
        names = ", ".join(f"{one.kind} {one.name or one.id}" for one in sorted(found))
        need(not found, f"the project {word} {names}")
    names = ", ".join(f"{one.kind} {one.name}" for one in sorted(scene.project))
    return f"no object is left, and the project has what it had at first: {names}"


def _bastion(scene: Scene) -> tuple[CloudResource, CloudResource]:
    """The ACTIVE server of the bastion and the floating IP that leads to it, both as its status names them."""
    scene.needs_condition(OpenStackCluster, CLUSTER, "BastionReady")
    status = need(scene.needs(OpenStackCluster, CLUSTER).object.status.bastion, "the cluster has no bastion")
    server = scene.needs_active("server", BASTION)
    need(status.id == server.id, f"the server of the bastion is {server.id}, and its status names {status.id}")
    ip = status.floating_ip or "(none)"
    address = need(scene.held("floating IP", ip), f"the project has no floating IP {ip}")
    need(address.detail == server.id, f"the floating IP {ip} does not lead to the bastion")
    return server, address
