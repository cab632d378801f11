"""When a step of the demo of OpenStack counts as having come true, and what is said when it has not."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, mapi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import K
from windlass.demo.story import Moment, missing
from windlass.kube.control.seen import Present, seen
from windlass.kube.object import Object
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.openstack.demo import COLUMNS, cluster
from windlass.openstack.demo import expectations as expect
from windlass.openstack.demo.expectations import handed_over
from windlass.openstack.demo.scene import BASTION, Held, Scene, Write
from windlass.openstack.demo.story import STORY, lost_machine

INITIAL = frozenset({Held("security group", "workers", "g")})
SYNCHRONIZED = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "ok"}
LOST = {"status": "False", "reason": "InstanceNotFound", "message": "The server was unexpectedly deleted"}
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


def present(kind: type[K], name: str, *conditions: dict[str, Any], **parts: Any) -> Present[K]:
    status = {**parts.pop("status", {}), "conditions": [*conditions]}
    found = seen(Object.of(kind, {"metadata": {"name": name, **parts.pop("metadata", {})}, "status": status, **parts}))
    assert isinstance(found, Present)
    return found


def machine(name: str, phase: str = "Running", *conditions: dict[str, Any]) -> Present[capi.Machine]:
    spec = {"providerID": f"openstack:///id-of-{name}"}
    return present(capi.Machine, name, *conditions, spec=spec, status={"phase": phase})


def mirror(
    name: str,
    *,
    phase: str = "Running",
    condition: dict[str, Any] = SYNCHRONIZED,
    address: str = "10.6.0.2",
    authority: str = CLUSTER_API,
    **metadata: Any,
) -> Present[mapi.Machine]:
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    status = {"authoritativeAPI": authority, "phase": phase, "addresses": addresses}
    spec = {"providerID": f"openstack:///id-of-{name}"}
    return present(mapi.Machine, name, condition, READY, spec=spec, status=status, metadata=metadata)


def instance(name: str, ready: str = "True", *conditions: dict[str, Any]) -> Present[OpenStackServer]:
    return present(OpenStackServer, name, {**READY, "status": ready}, *conditions)


def server(name: str, status: str = "ACTIVE") -> Held:
    return Held("server", name, f"id-of-{name}", status)


def scene(*names: str) -> Scene:
    """All is well with the machines of these names."""
    return Scene(
        machines={name: machine(name) for name in names},
        mirrors={name: mirror(name) for name in names},
        instances={name: instance(name) for name in names},
        project=INITIAL | {server(name) for name in names},
        at_first=INITIAL,
    )


def lost(name: str, **differently: Any) -> Scene:
    """A scene of one machine, whose server somebody has deleted."""
    told = {"type": "Ready", **LOST}
    fields: dict[str, Any] = {
        "machines": {name: machine(name, "Running", {"type": "InfrastructureReady", **LOST})},
        "mirrors": {name: mirror(name, annotations={"machine.openshift.io/instance-state": "DELETED"})},
        "infrastructure": {name: present(capo.OpenStackMachine, name, told)},
        "instances": {name: present(OpenStackServer, name, told)},
        "project": INITIAL,
    }
    return replace(scene(), **{**fields, **differently})


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"machines": {}, "mirrors": {}}, "there are 0 machines, not 1"),
        ({"mirrors": {}}, "w-m: has authority (none), not ClusterAPI"),
        ({"mirrors": {M: mirror(M, authority=MACHINE_API)}}, "w-m: has authority MachineAPI, not ClusterAPI"),
        ({"machines": {}}, "w-m: does not exist in Cluster API"),
        ({"machines": {M: machine(M, "Provisioned")}}, "w-m: has phase Provisioned in Cluster API"),
        ({"mirrors": {M: mirror(M, phase="Provisioned")}}, "w-m: has phase Provisioned in the Machine API"),
        ({"mirrors": {M: mirror(M, address="")}}, "w-m: has no address in the Machine API"),
        (
            {"mirrors": {M: mirror(M, condition={**SYNCHRONIZED, "status": "False"})}},
            "w-m: Synchronized: False ResourceSynchronized: ok",
        ),
        ({"instances": {M: instance(M, "False")}}, "w-m: Ready of its server: False Ready: as Nova says"),
        ({"project": INITIAL | {server(M, "BUILD")}}, "w-m: its server is BUILD"),
        (
            {"project": INITIAL | {Held("server", M, "another", "ACTIVE")}},
            "w-m: has provider ID 'openstack:///id-of-w-m' in Cluster API, but its server is another",
        ),
        (
            {"project": INITIAL | {server(M), server("n")}},
            "the project has a server n, which no machine names",
        ),
    ],
)
def test_a_machine_runs_only_if_cloud_and_both_apis_say_so(flaw: dict[str, Any], said: str) -> None:
    runs = expect.machines_run("w", 1, authority=CLUSTER_API)
    assert runs(scene(M), NOBODY).met
    assert runs(replace(scene(M), **flaw), NOBODY) == missing(said)


def test_under_the_machine_api_its_machine_says_that_the_server_is_ready() -> None:
    runs = expect.machines_run("w", 1, authority=MACHINE_API)
    alone = replace(scene(M), mirrors={M: mirror(M, authority=MACHINE_API)}, instances={})
    assert runs(alone, NOBODY).met
    assert not runs(replace(alone, mirrors={M: unready(M)}), NOBODY).met


def unready(name: str) -> Present[mapi.Machine]:
    status = {"authoritativeAPI": MACHINE_API, "phase": "Running"}
    return present(mapi.Machine, name, SYNCHRONIZED, {**READY, "status": "False"}, status=status)


def test_a_machine_whose_server_was_deleted_does_not_count_as_running() -> None:
    both = scene("demo-worker-m", "demo-worker-n")
    left = replace(both, project=both.project - {server("demo-worker-n")})
    assert expect.machines_run("demo-worker", 1, authority=CLUSTER_API)(left, NOBODY).met
    assert lost_machine(left) == "demo-worker-n"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (WAITS, ""),
        ({**WAITS, "reason": "Progressing"}, "Progressing of new: True Progressing"),
        ({**WAITS, "message": "network (500): broken\nNext attempt at"}, "network (500)"),
        ({**WAITS, "message": "network (503): broken"}, "network (503): broken"),
    ],
)
def test_weather_counts_only_with_its_cause_and_the_next_attempt(told: dict[str, Any], said: str) -> None:
    now = replace(scene(), instances={"old": instance("old"), "new": instance("new", "False", told)})
    found = expect.neutron_is_told_of(now, Moment(replace(scene(), instances={"old": instance("old")})))
    assert found.met == (not said)
    assert said in found.text


def test_weather_is_not_told_of_without_a_machine_that_is_new() -> None:
    assert not expect.neutron_is_told_of(scene("m"), Moment(scene("m"))).met


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"instances": {}}, "OpenStackServer m: (none)"),
        ({"infrastructure": {}}, "OpenStackMachine m: (none)"),
        ({"machines": {"m": machine("m")}}, "Machine in Cluster API m: (none)"),
        ({"mirrors": {"m": mirror("m")}}, "has instance state (none), not DELETED"),
        ({"project": INITIAL | {server("m")}}, "there is a server m"),
    ],
)
def test_a_loss_is_told_in_every_object(flaw: dict[str, Any], said: str) -> None:
    moment = Moment(Scene(), "m")
    assert expect.loss_is_told(lost("m"), moment).met
    found = expect.loss_is_told(lost("m", **flaw), moment)
    assert not found.met
    assert said in found.text


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"mirrors": {M: mirror(M)}}, "1 objects of machines are left"),
        ({"sets": {"w": machine("w")}}, "1 objects of machines are left"),
        ({"project": INITIAL | {Held("port", "m-0", "p")}}, "the project still has port m-0"),
        ({"project": frozenset()}, "the project has lost security group workers"),
        ({"network": present(OpenStackCluster, "demo")}, "Cluster demo is left: Deleting: (none) : "),
    ],
)
def test_nothing_may_be_left_and_nothing_be_lost(flaw: dict[str, Any], said: str) -> None:
    assert cluster.project_is_as_before(scene(), NOBODY).met
    assert cluster.project_is_as_before(replace(scene(), **flaw), NOBODY) == missing(said)


def test_the_machines_are_gone_before_the_bastion() -> None:
    bastion = server(BASTION)
    assert expect.machines_are_gone(replace(scene(), project=INITIAL | {bastion}), NOBODY).met
    assert not expect.machines_are_gone(scene(M), NOBODY).met
    assert not expect.machines_are_gone(scene(), NOBODY).met
    assert not expect.machines_are_gone(replace(scene(), project=INITIAL | {bastion, server(M)}), NOBODY).met


def mark(controller: str = "openstack-server", path: str = f"/v2.1/servers/id-of-{M}/metadata", at: float = 1) -> Write:
    return Write(at, controller, "nova", "POST", path)


PORT = Write(2, "openstack-server", "neutron", "PUT", "/v2.0/ports/p")
BEFORE = Moment(replace(scene(M), writes=frozenset({mark("openstack-machine-api", at=0)})), M)
MOVED = replace(scene(M), writes=BEFORE.before.writes | {mark(), PORT}, code=0)


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"code": 4, "printed": "not moved\n"}, "`windlass migrate` ended with code 4: not moved"),
        ({"code": None}, "`windlass migrate` has not ended"),
        ({"mirrors": {M: mirror(M, authority=MACHINE_API)}}, "w-m: has authority MachineAPI, not ClusterAPI"),
        ({"writes": BEFORE.before.writes | {PORT}}, "the cloud has not logged the mark of the server"),
        (
            {"writes": MOVED.writes | {mark("openstack-machine-api", at=3)}},
            "the cloud has logged POST /v2.1/servers/id-of-w-m/metadata of nova by openstack-machine-api",
        ),
        (
            {"writes": MOVED.writes | {Write(3, "openstack-server", "neutron", "POST", "/v2.0/ports")}},
            "the cloud has logged POST /v2.0/ports of neutron by openstack-server",
        ),
    ],
)
def test_a_machine_changes_hands_on_its_server_and_only_the_new_side_writes(flaw: dict[str, Any], said: str) -> None:
    found = handed_over(CLUSTER_API)(MOVED, BEFORE)
    assert found.met
    assert "2 writes, all marks by openstack-server, and none by openstack-machine-api" in found.text
    assert handed_over(CLUSTER_API)(replace(MOVED, **flaw), BEFORE) == missing(said)


def test_a_machine_that_has_another_server_has_not_changed_hands() -> None:
    other = Moment(replace(BEFORE.before, project=INITIAL | {Held("server", M, "other", "ACTIVE")}), M)
    assert handed_over(CLUSTER_API)(MOVED, other) == missing("its server is id-of-w-m, and was other")


def with_bastion(ident: str, flavor: str, *, ip: str = "203.0.113.9", leads_to: str = "") -> Scene:
    """A cluster whose bastion has this server and flavor, and is ready."""
    ready = {"type": "BastionReady", "status": "True", "reason": "Ready", "message": ""}
    found = present(OpenStackCluster, "demo", ready, READY, status={"bastion": {"id": ident, "floatingIP": ip}})
    held = {Held("server", BASTION, ident, "ACTIVE", flavor), Held("floating IP", ip, f"f-{ip}", "", leads_to or ident)}
    return Scene(network=found, project=INITIAL | held, at_first=INITIAL)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (with_bastion("a", "m1.small"), "its server is the one that it was"),
        (replace(with_bastion("b", "m1.small"), project=INITIAL), "its server is deleted"),
        (with_bastion("b", "m1.tiny"), "its flavor is m1.tiny"),
        (with_bastion("b", "m1.small", ip="203.0.113.8"), "its address is 203.0.113.8, and was 203.0.113.9"),
        (with_bastion("b", "m1.small", leads_to="a"), "the floating IP 203.0.113.9 does not lead to the bastion"),
    ],
)
def test_a_bastion_is_replaced_when_its_address_leads_to_another_server(after: Scene, said: str) -> None:
    moment = Moment(with_bastion("a", "m1.tiny"))
    assert cluster.bastion_is_replaced(with_bastion("b", "m1.small"), moment).met
    assert cluster.bastion_is_replaced(after, moment) == missing(said)


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
    assert line in cluster.replacement_is_planned(planned, Moment(before)).text
    assert cluster.replacement_is_planned(replace(planned, **now), Moment(before)) == missing(said)


def test_no_step_has_come_true_before_anything_was_done() -> None:
    assert [step.title for step in STORY if step.expect(Scene(), Moment(Scene(), "m")).met] == []


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
    there = replace(with_bastion("a", "m1.tiny"), instances={BASTION: instance(BASTION)})
    shown = [line.plain.split() for line in COLUMNS.changes(None, there)]
    assert shown == [["demo", "True", "Ready", "-"], [BASTION, "ACTIVE", "True", "Ready", "203.0.113.9"]]
