"""The expectations of the story's steps: each compares what the objects say with what the project has.

Pure functions of a scene and of the step's beginning: each says what happened, or raises Missing with what is still
missing. Those about the cluster and its bastion are in `cluster`.
"""

from typing import Final

from windlass.api import capi, capo, mapi
from windlass.api.capo_server import OpenStackServer
from windlass.demo.scene import told
from windlass.demo.story import Missing, need
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.openstack.demo.scene import BASTION, Expectation, Moment, Scene

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
    need(scene.server(moment.name) is None, f"Nova still lists {moment.name}")
    return f"Nova does not list {moment.name}; Windlass looks twice, 30 seconds apart, before it says so"


def neutron_is_told_of(scene: Scene, moment: Moment) -> str:
    """The machine that is new waits, and says for what and until when."""
    new = sorted(scene.of(OpenStackServer).keys() - moment.before.of(OpenStackServer).keys())
    need(new, "there is no OpenStackServer of a fourth machine")
    said = scene.needs_condition(OpenStackServer, new[0], "Progressing", reason="TransientError")
    message = str(said["message"])
    need("503" in message and "Next attempt at" in message, f"Progressing of {new[0]}: {told(said)}")
    return f"{new[0]}: Progressing={said['status']} {said['reason']}: {'. '.join(message.splitlines())}"


def loss_is_told(scene: Scene, moment: Moment) -> str:
    """The machine whose server was deleted is told of in every object, and there is no other server of its name."""
    name = moment.name
    scene.needs_condition(OpenStackServer, name, "Ready", "False", "InstanceNotFound")
    scene.needs_condition(capo.OpenStackMachine, name, "Ready", "False", "InstanceNotFound")
    said = scene.needs_condition(capi.Machine, name, "InfrastructureReady", "False", "InstanceNotFound")
    state = scene.instance_state(name)
    need(state == "DELETED", f"in the Machine API {name} has instance state {state or '(none)'}, not DELETED")
    need(scene.server(name) is None, f"there is a server {name}")
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
        server, before = scene.needs_machine(row, to), moment.before.server(row.name)
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
