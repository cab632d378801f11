"""The expectations of the story's steps: each compares what the objects say with what the project has.

Pure functions: each takes the scene and the step's beginning, and returns either what happened or what is missing.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from windlass.demo import story
from windlass.demo.openstack.scene import Held, Scene, condition_of
from windlass.demo.story import Moment, Observed, met, missing, unserved
from windlass.machine_sync.overview import MachineRow

Expectation: TypeAlias = story.Expectation[Scene]

FAILING_SECONDS: Final = 10.0
"""How long Neutron answers 503."""


def cloud_and_api_server_answer(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := unserved(scene.version):
        return missing(why)
    if not scene.at_first:
        return missing("the project in OpenStack has no network")
    return met(
        f"Keystone, Nova, Neutron, Glance and Cinder run; kube-apiserver {scene.version} and Cluster API's manager"
    )


def cluster_is_described(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := unserved(scene.version, scene.unwatched):
        return missing(why)
    if scene.cluster is None:
        return missing("there is no Cluster demo")
    return met("Cluster demo exists, and Windlass has two ServiceAccounts with rights of their own")


def cluster_is_provisioned(scene: Scene, _: Moment[Scene]) -> Observed:
    if not scene.ready:
        return missing("Windlass is not ready")
    if len(scene.leaders) != 2:
        return missing("one of the Leases of Windlass has no holder")
    ready = condition_of(scene.cluster, "InfrastructureReady")
    if ready.get("status") != "True":
        return missing(f"InfrastructureReady of Cluster demo: {_said(ready)}")
    if condition_of(scene.cluster, "RemoteConnectionProbe").get("status") != "True":
        return missing("Cluster API's manager has not connected to the workload cluster")
    return met("both lead; the network `machines` was found, and Cluster demo has InfrastructureReady=True")


def machines_run(count: int) -> Expectation:
    """`count` machines, but for those whose servers are lost: ACTIVE in Nova, Running in both APIs, in sync."""

    def look(scene: Scene, _: Moment[Scene]) -> Observed:
        rows = [row for row in scene.rows if not scene.lost(row)]
        if len(rows) != count:
            return missing(f"there are {len(rows)} machines, not {count}")
        for row in rows:
            if problem := _not_running(row, scene):
                return missing(f"{row.name}: {problem}")
        if (servers := len(_servers(scene))) != count:
            return missing(f"the project has {servers} servers, not {count}")
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
    return met(f"Nova lists {len(_servers(scene))} servers; Windlass looks twice, 30 seconds apart, before it says so")


def neutron_is_told_of(scene: Scene, moment: Moment[Scene]) -> Observed:
    """The machine that is new waits, and says for what and until when."""
    new = sorted(scene.instances.keys() - moment.before.instances.keys())
    if not new:
        return missing("there is no OpenStackServer of a fourth machine")
    said = scene.condition(new[0], "Progressing")
    message = str(said.get("message", ""))
    if said.get("reason") != "TransientError" or "503" not in message or "Next attempt at" not in message:
        return missing(f"Progressing of {new[0]}: {_said(said)}")
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
            return missing(f"{side} {name}: {_said(said)}")
    state = scene.instance_state(name)
    if state != "DELETED":
        return missing(f"Machine in the Machine API {name} has instance state {state or '(none)'}, not DELETED")
    if scene.server(name) is not None:
        return missing(f"there is a server {name}")
    return met(f"{name}: {said['message']}; in the Machine API its state is DELETED, and nothing was created instead")


def project_is_as_before(scene: Scene, _: Moment[Scene]) -> Observed:
    if not scene.at_first:
        return missing("nobody has looked at the project at first")
    if there := [*scene.machines, *scene.mirrors, *scene.infrastructure, *scene.instances]:
        return missing(f"{len(there)} objects of machines are left")
    if left := sorted(scene.project - scene.at_first):
        return missing(f"the project still has {left[0].kind} {left[0].name or left[0].id}")
    if lost := sorted(scene.at_first - scene.project):
        return missing(f"the project has lost {lost[0].kind} {lost[0].name}")
    names = ", ".join(f"{one.kind} {one.name}" for one in sorted(scene.project))
    return met(f"no machine is left in either API, and the project has what it had at first: {names}")


def _servers(scene: Scene) -> list[Held]:
    return [one for one in scene.project if one.kind == "server"]


def _not_running(row: MachineRow, scene: Scene) -> str:
    """What a machine lacks; empty if nothing."""
    server, ready = scene.server(row.name), scene.condition(row.name, "Ready")
    if server is None or server.status != "ACTIVE":
        return f"its server is {server.status if server else 'not there'}"
    if ready.get("status") != "True":
        return f"Ready of its OpenStackServer: {_said(ready)}"
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


def _said(condition: Mapping[str, Any]) -> str:
    return "{status} {reason}: {message}".format_map({"status": "(none)", "reason": "", "message": "", **condition})
