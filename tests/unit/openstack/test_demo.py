"""When a step of the demo of OpenStack counts as having come true, and what is said when it has not."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.scenes import having, lacking, missing, present
from windlass.api import capi, capo, mapi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.demo.story import Moment
from windlass.kube.control.seen import Present
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.openstack.demo import COLUMNS
from windlass.openstack.demo import expectations as expect
from windlass.openstack.demo.scene import BASTION, CloudResource, Scene, Write
from windlass.openstack.demo.story import lost_machine

INITIAL = frozenset({CloudResource("security group", "workers", "g")})
SYNCHRONIZED = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "ok"}
WAITS = {
    "type": "Progressing",
    "status": "True",
    "reason": "TransientError",
    "message": "network (503): Injected fault\nNext attempt at 2026-11-23T12:00:00Z",
}
NOBODY = Moment(Scene())
READY = {"type": "Ready", "status": "True", "reason": "Ready", "message": "as Nova says"}
M = "w-m"
"""A machine of the MachineSet `w`."""


def machine(name: str, phase: str = "Running", *conditions: dict[str, Any]) -> Present[capi.Machine]:
    spec = {"providerID": f"openstack:///id-of-{name}"}
    metadata = {"namespace": "there", "generation": 1}
    return present(capi.Machine, name, *conditions, metadata=metadata, spec=spec, status={"phase": phase})


def mirror(
    name: str, condition: dict[str, Any] = SYNCHRONIZED, ready: str = "True", *, state: str = "", **status: Any
) -> Present[mapi.Machine]:
    whole = {
        "authoritativeAPI": CLUSTER_API,
        "phase": "Running",
        "addresses": [{"type": "InternalIP", "address": "10.6.0.2"}],
        "nodeRef": {"name": name},
        "synchronizedGeneration": 1,
    }
    metadata = {"namespace": "here", "annotations": {"machine.openshift.io/instance-state": state}}
    spec = {"providerID": f"openstack:///id-of-{name}"}
    conditions = (condition, {**READY, "status": ready})
    return present(mapi.Machine, name, *conditions, metadata=metadata, spec=spec, status={**whole, **status})


def instance(name: str, ready: str = "True", *conditions: dict[str, Any]) -> Present[OpenStackServer]:
    return present(OpenStackServer, name, {**READY, "status": ready}, *conditions)


def server(name: str, status: str = "ACTIVE") -> CloudResource:
    return CloudResource("server", name, f"id-of-{name}", status)


def scene(*names: str) -> Scene:
    """All is well with the machines of these names."""
    project = INITIAL | {server(name) for name in names}
    found = [each(name) for name in names for each in (machine, mirror, instance)]
    return having(Scene(project=project, at_first=INITIAL), *found)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (lacking(scene(M), capi.Machine, mapi.Machine), "there are 0 machines, not 1"),
        (having(scene(M), mirror(M, authoritativeAPI=MACHINE_API)), "w-m has authority MachineAPI, not ClusterAPI"),
        (
            having(scene(M), instance(M, "False")),
            "OpenStackServer.infrastructure.cluster.x-k8s.io w-m: Ready is False Ready: as Nova says",
        ),
        (replace(scene(M), project=INITIAL | {server(M, "BUILD")}), "the server w-m is BUILD"),
        (
            replace(scene(M), project=INITIAL | {CloudResource("server", M, "another", "ACTIVE")}),
            "w-m has provider ID 'openstack:///id-of-w-m', but its server is another",
        ),
        (
            replace(scene(M), project=INITIAL | {server(M), server("n")}),
            "the project has a server n, which no machine names",
        ),
    ],
)
def test_a_machine_runs_only_if_cloud_and_both_apis_say_so(now: Scene, said: str) -> None:
    runs = expect.machines_run("w", 1, authority=CLUSTER_API)
    assert runs(scene(M), NOBODY)
    assert missing(runs, now, NOBODY) == said


def test_under_the_machine_api_its_machine_says_that_the_server_is_ready() -> None:
    runs = expect.machines_run("w", 1, authority=MACHINE_API)
    here: dict[str, Any] = {"authoritativeAPI": MACHINE_API}
    alone = lacking(scene(M), OpenStackServer)
    assert runs(having(alone, mirror(M, **here)), NOBODY)
    assert "Ready is False" in missing(runs, having(alone, mirror(M, ready="False", **here)), NOBODY)


def test_a_machine_whose_server_was_deleted_does_not_count_as_running() -> None:
    both = scene("demo-worker-m", "demo-worker-n")
    left = replace(both, project=both.project - {server("demo-worker-n")})
    assert expect.machines_run("demo-worker", 1, authority=CLUSTER_API)(left, NOBODY)
    assert lost_machine(left) == "demo-worker-n"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (WAITS, ""),
        ({**WAITS, "reason": "Progressing"}, "new: Progressing is True Progressing"),
        ({**WAITS, "message": "network (500): broken\nNext attempt at"}, "network (500)"),
        ({**WAITS, "message": "network (503): broken"}, "network (503): broken"),
    ],
)
def test_weather_counts_only_with_its_cause_and_the_next_attempt(told: dict[str, Any], said: str) -> None:
    before = having(Scene(), instance("old"))
    found = missing(expect.neutron_is_told_of, having(before, instance("new", "False", told)), Moment(before))
    assert (found == "") == (said == "")
    assert said in found


def test_weather_is_not_told_of_without_a_machine_that_is_new() -> None:
    assert missing(expect.neutron_is_told_of, scene("m"), Moment(scene("m")))


LOST = {"status": "False", "reason": "InstanceNotFound", "message": "The server was unexpectedly deleted"}
LOSS = having(
    Scene(project=INITIAL),
    machine("m", "Running", {"type": "InfrastructureReady", **LOST}),
    mirror("m", state="DELETED"),
    present(capo.OpenStackMachine, "m", {"type": "Ready", **LOST}),
    present(OpenStackServer, "m", {"type": "Ready", **LOST}),
)
"""A machine whose server somebody has deleted."""


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (lacking(LOSS, OpenStackServer), "OpenStackServer.infrastructure.cluster.x-k8s.io m: Ready is not set"),
        (lacking(LOSS, capo.OpenStackMachine), "OpenStackMachine.infrastructure.cluster.x-k8s.io m: Ready is not set"),
        (having(LOSS, machine("m")), "Machine.cluster.x-k8s.io m: InfrastructureReady is not set"),
        (having(LOSS, mirror("m")), "has instance state (none), not DELETED"),
        (replace(LOSS, project=INITIAL | {server("m")}), "there is a server m"),
    ],
)
def test_a_loss_is_told_in_every_object(now: Scene, said: str) -> None:
    assert expect.loss_is_told(LOSS, Moment(Scene(), "m"))
    assert said in missing(expect.loss_is_told, now, Moment(Scene(), "m"))


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (having(scene(), mirror(M)), "Machine.machine.openshift.io/v1beta1 w-m is left"),
        (having(scene(), instance(BASTION)), "demo-bastion is left"),
        (replace(scene(), project=INITIAL | {CloudResource("port", "m-0", "p")}), "the project still has port m-0"),
        (replace(scene(), project=frozenset()), "the project has lost security group workers"),
        (having(scene(), present(OpenStackCluster, "demo")), "Cluster demo is left: Deleting is not set"),
    ],
)
def test_nothing_may_be_left_and_nothing_be_lost(now: Scene, said: str) -> None:
    assert expect.project_is_as_before(scene(), NOBODY)
    assert said in missing(expect.project_is_as_before, now, NOBODY)


def test_the_machines_are_gone_before_the_bastion() -> None:
    bastion = replace(scene(), project=INITIAL | {server(BASTION)})
    assert expect.machines_are_gone(bastion, NOBODY)
    for now in (scene(M), scene(), replace(bastion, project=bastion.project | {server(M)}), having(bastion, mirror(M))):
        assert missing(expect.machines_are_gone, now, NOBODY)


def mark(controller: str = "openstack-server", path: str = f"/v2.1/servers/id-of-{M}/metadata", at: float = 1) -> Write:
    return Write(at, controller, "nova", "POST", path)


PORT = Write(2, "openstack-server", "neutron", "PUT", "/v2.0/ports/p")
BEFORE = Moment(replace(scene(M), writes=frozenset({mark("openstack-machine-api", at=0)})), M)
MOVED = replace(scene(M), writes=BEFORE.before.writes | {mark(), PORT}, code=0)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (replace(MOVED, code=4, printed="not moved\n"), "`windlass migrate` ended with code 4: not moved"),
        (replace(MOVED, code=None), "`windlass migrate` has not ended"),
        (having(MOVED, mirror(M, authoritativeAPI=MACHINE_API)), "w-m has authority MachineAPI, not ClusterAPI"),
        (replace(MOVED, writes=BEFORE.before.writes | {PORT}), "the cloud has not logged the mark of the server"),
        (
            replace(MOVED, writes=MOVED.writes | {mark("openstack-machine-api", at=3)}),
            "the cloud has logged POST /v2.1/servers/id-of-w-m/metadata of nova by openstack-machine-api",
        ),
        (
            replace(MOVED, writes=MOVED.writes | {Write(3, "openstack-server", "neutron", "POST", "/v2.0/ports")}),
            "the cloud has logged POST /v2.0/ports of neutron by openstack-server",
        ),
    ],
)
def test_a_machine_changes_hands_on_its_server_and_only_the_new_side_writes(now: Scene, said: str) -> None:
    found = expect.handed_over(CLUSTER_API)(MOVED, BEFORE)
    assert "2 writes, all marks by openstack-server, and none by openstack-machine-api" in found
    assert missing(expect.handed_over(CLUSTER_API), now, BEFORE) == said


def test_a_machine_that_has_another_server_has_not_changed_hands() -> None:
    other = Moment(replace(BEFORE.before, project=INITIAL | {CloudResource("server", M, "other", "ACTIVE")}), M)
    found = missing(expect.handed_over(CLUSTER_API), MOVED, other)
    assert found == "its server is id-of-w-m, and was other"


def with_bastion(ident: str, flavor: str, *, ip: str = "203.0.113.9", leads_to: str = "") -> Scene:
    """A cluster whose bastion has this server and flavor, and is ready."""
    ready = {"type": "BastionReady", "status": "True", "reason": "Ready", "message": ""}
    found = present(OpenStackCluster, "demo", ready, READY, status={"bastion": {"id": ident, "floatingIP": ip}})
    held = {
        CloudResource("server", BASTION, ident, "ACTIVE", flavor),
        CloudResource("floating IP", ip, f"f-{ip}", "", leads_to or ident),
    }
    return having(Scene(project=INITIAL | held, at_first=INITIAL), found)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (with_bastion("a", "m1.small"), "its server is the one that it was"),
        (replace(with_bastion("b", "m1.small"), project=INITIAL), "the project has no server demo-bastion"),
        (with_bastion("b", "m1.tiny"), "its flavor is m1.tiny"),
        (with_bastion("b", "m1.small", ip="203.0.113.8"), "its address is 203.0.113.8, and was 203.0.113.9"),
        (with_bastion("b", "m1.small", leads_to="a"), "the floating IP 203.0.113.9 does not lead to the bastion"),
    ],
)
def test_a_bastion_is_replaced_when_its_address_leads_to_another_server(after: Scene, said: str) -> None:
    moment = Moment(with_bastion("a", "m1.tiny"))
    assert expect.bastion_is_replaced(with_bastion("b", "m1.small"), moment)
    assert missing(expect.bastion_is_replaced, after, moment) == said


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"code": None}, "`windlass plan` has not ended"),
        ({"code": 1, "printed": "error: no\n"}, "`windlass plan` ended with code 1: error: no"),
        ({"printed": "  nothing of that\n"}, "`windlass plan` does not say that the bastion is replaced"),
        ({"project": INITIAL}, "the bastion has changed"),
    ],
)
def test_a_replacement_is_planned_while_nothing_changes(now: dict[str, Any], said: str) -> None:
    line = "delete OpenStackServer demo-bastion: flavor m1.tiny -> m1.small: the bastion is replaced"
    before = with_bastion("a", "m1.tiny")
    planned = replace(before, code=3, printed=f"OpenStackCluster demo\n  {line}\n  wait\n")
    assert line in expect.replacement_is_planned(planned, Moment(before))
    assert missing(expect.replacement_is_planned, replace(planned, **now), Moment(before)) == said


def test_a_row_shows_the_server_what_its_object_says_and_both_apis() -> None:
    (line,) = COLUMNS.changes(None, scene("m"))
    assert line.plain.split() == [
        "m",
        "ACTIVE",
        "True",
        "Ready",
        "ClusterAPI",
        "Running",
        "Running",
        "True",
        "10.6.0.2",
    ]


def test_a_bastion_is_a_row_with_its_floating_ip() -> None:
    there = having(with_bastion("a", "m1.tiny"), instance(BASTION))
    shown = [line.plain.split() for line in COLUMNS.changes(None, there)]
    assert shown == [["demo", "True", "Ready", "-"], [BASTION, "ACTIVE", "True", "Ready", "203.0.113.9"]]
