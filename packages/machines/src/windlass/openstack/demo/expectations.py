"""The expectations of the story's steps: each compares what the objects say with what the project has.

Pure functions: each takes the scene and the step's beginning, and returns either what happened or what is missing.
Those about the cluster and its bastion are in `cluster`, those about migration in `hand_over`.
"""

from typing import Final, TypeAlias

from windlass.demo import story
from windlass.demo.story import Moment, Observed, met, missing
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.overview import MachineRow
from windlass.openstack.demo.scene import BASTION, Held, Scene, Write, condition_of, told

Expectation: TypeAlias = story.Expectation[Scene]

FAILING_SECONDS: Final = 10.0
"""How long Neutron answers 503."""


def machines_run(machine_set: str, count: int, *, authority: str) -> Expectation:
    """`count` machines of the set under `authority`, but for those whose servers are lost: ACTIVE in Nova, Running in
    both APIs, in sync. No server is nobody's."""

    def look(scene: Scene, _: Moment[Scene]) -> Observed:
        rows = [row for row in scene.rows_of(machine_set) if not scene.lost(row)]
        if len(rows) != count:
            return missing(f"there are {len(rows)} machines, not {count}")
        for row in rows:
            if problem := not_running(row, scene, authority=authority):
                return missing(f"{row.name}: {problem}")
        if strays := servers(scene).keys() - {row.name for row in scene.rows} - {BASTION}:
            return missing(f"the project has a server {min(strays)}, which no machine names")
        return met(
            f"{count} servers are ACTIVE, each one Machine in both APIs: Running, with the addresses of Neutron, "
            "Synchronized=True"
        )

    return look


def server_is_gone(scene: Scene, moment: Moment[Scene]) -> Observed:
    if moment.name not in scene.machines:
        return missing(f"there is no Machine {moment.name}")
    if scene.server(moment.name) is not None:
        return missing(f"Nova still lists {moment.name}")
    return met(f"Nova does not list {moment.name}; Windlass looks twice, 30 seconds apart, before it says so")


def neutron_is_told_of(scene: Scene, moment: Moment[Scene]) -> Observed:
    """The machine that is new waits, and says for what and until when."""
    new = sorted(scene.instances.keys() - moment.before.instances.keys())
    if not new:
        return missing("there is no OpenStackServer of a fourth machine")
    said = scene.condition(new[0], "Progressing")
    message = str(said.get("message", ""))
    if said.get("reason") != "TransientError" or "503" not in message or "Next attempt at" not in message:
        return missing(f"Progressing of {new[0]}: {told(said)}")
    return met(f"{new[0]}: Progressing={said['status']} {said['reason']}: {'. '.join(message.splitlines())}")


def loss_is_told(scene: Scene, moment: Moment[Scene]) -> Observed:
    """The machine whose server was deleted is told of in every object, and there is no other server of its name."""
    name = moment.name
    sides = {
        "OpenStackServer": scene.condition(name, "Ready"),
        "OpenStackMachine": condition_of(scene.infrastructure.get(name), "Ready"),
        "Machine in Cluster API": condition_of(scene.machines.get(name), "InfrastructureReady"),
    }
    for side, said in sides.items():
        if said.get("status") != "False" or said.get("reason") != "InstanceNotFound":
            return missing(f"{side} {name}: {told(said)}")
    state = scene.instance_state(name)
    if state != "DELETED":
        return missing(f"Machine in the Machine API {name} has instance state {state or '(none)'}, not DELETED")
    if scene.server(name) is not None:
        return missing(f"there is a server {name}")
    return met(f"{name}: {said['message']}; in the Machine API its state is DELETED, and nothing was created instead")


def machines_are_gone(scene: Scene, _: Moment[Scene]) -> Observed:
    """Sets and machines are gone from both APIs, and their servers from the project, where the cluster still is."""
    if left := [*scene.sets, *scene.mirror_sets, *scene.machines, *scene.mirrors, *scene.infrastructure]:
        return missing(f"{len(left)} objects of machines are left, such as {left[0]}")
    if servers(scene).keys() != {BASTION}:
        return missing(f"the project has the servers {', '.join(sorted(servers(scene))) or '(none)'}")
    return met("no Machine and no MachineSet is left in either API; of the servers the bastion is left")


def servers(scene: Scene) -> dict[str, Held]:
    """The servers of the project, by name."""
    return {one.name: one for one in scene.project if one.kind == "server"}


def not_running(row: MachineRow, scene: Scene, *, authority: str) -> str:
    """What a machine lacks; empty if nothing."""
    if row.authority != authority:
        return f"has authority {row.authority or '(none)'}, not {authority}"
    server, ready = scene.server(row.name), scene.ready_of(row)
    if server is None or server.status != "ACTIVE":
        return f"its server is {server.status if server else 'not there'}"
    if ready.get("status") != "True":
        return f"Ready of its server: {told(ready)}"
    for api, side in (("Cluster API", row.cluster_api), ("the Machine API", row.machine_api)):
        if side is None:
            return f"does not exist in {api}"
        if side.phase != "Running":
            return f"has phase {side.phase or '(none)'} in {api}"
        if not side.provider_id.endswith(server.id):
            return f"has provider ID {side.provider_id!r} in {api}, but its server is {server.id}"
    if not scene.address(row.name):
        return "has no address in the Machine API"
    said = row.synchronized
    if said is None or said.status != "True":
        return f"Synchronized: {f'{said.status} {said.reason}: {said.message}' if said else 'not there yet'}"
    return ""


# The expectation about a machine that moves to the other API: its server stays, and only the new side writes.
#
# Each service of the cloud logs its requests, and the User-Agent of Windlass names the controller that sent a write.

_NAMES: Final = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}
_WRITERS: Final = {MACHINE_API: "openstack-machine-api", CLUSTER_API: "openstack-server"}
"""The controller that has the servers of machines under each authority."""


def handed_over(to: str) -> Expectation:
    """The machine is under the API `to`, on the server that it had; the cloud got nothing but marks, from that side."""

    def look(scene: Scene, moment: Moment[Scene]) -> Observed:
        if scene.code not in (0, None):
            return missing(f"`windlass migrate` ended with code {scene.code}: {scene.printed.strip()}")
        row = next((row for row in scene.rows if row.name == moment.name), None)
        if row is None:
            return missing(f"there is no Machine {moment.name}")
        if problem := not_running(row, scene, authority=to):
            return missing(f"{row.name}: {problem}")
        before, after = moment.before.server(row.name), scene.server(row.name)
        if before is None or after is None or before.id != after.id:
            return missing(f"its server is {after.id if after else '(none)'}, and was {before.id if before else ''}")
        written = sorted(scene.writes - moment.before.writes)
        if others := [one for one in written if one.controller != _WRITERS[to] or not one.is_mark]:
            return missing(f"the cloud has logged {_line(others[0])}")
        if not any(one.path.endswith(f"/servers/{after.id}/metadata") for one in written):
            return missing("the cloud has not logged the mark of the server")
        if scene.code is None:
            return missing("`windlass migrate` has not ended")
        return met(
            f"{row.name} belongs to {_NAMES[to]}, on the same server {after.id}. The log of the cloud has "
            f"{len(written)} writes, all marks by {_WRITERS[to]}, and none by {_paused(to)}"
        )

    return look


def _paused(to: str) -> str:
    return _WRITERS[MACHINE_API if to == CLUSTER_API else CLUSTER_API]


def _line(one: Write) -> str:
    return f"{one.method} {one.path} of {one.service} by {one.controller}"
