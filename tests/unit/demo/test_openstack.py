"""When a step of the demo of OpenStack counts as having come true, and what is said when it has not."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, mapi
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import K
from windlass.demo.openstack import expectations as expect
from windlass.demo.openstack.columns import COLUMNS
from windlass.demo.openstack.scene import Held, Scene
from windlass.demo.openstack.story import STORY, lost_machine
from windlass.demo.story import Moment, missing
from windlass.kube.control.seen import Present, seen
from windlass.kube.object import Object

INITIAL = frozenset({Held("network", "machines", "n"), Held("security group", "workers", "g")})
SYNCHRONIZED = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "ok"}
LOST = {"status": "False", "reason": "InstanceNotFound", "message": "The server was unexpectedly deleted"}
WAITS = {
    "type": "Progressing",
    "status": "True",
    "reason": "TransientError",
    "message": "network (503): Injected fault\nNext attempt at 2026-11-23T12:00:00Z",
}
NOBODY = Moment(Scene())


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
    **metadata: Any,
) -> Present[mapi.Machine]:
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    status = {"authoritativeAPI": "ClusterAPI", "phase": phase, "addresses": addresses}
    spec = {"providerID": f"openstack:///id-of-{name}"}
    return present(mapi.Machine, name, condition, spec=spec, status=status, metadata=metadata)


def instance(name: str, ready: str = "True", *conditions: dict[str, Any]) -> Present[OpenStackServer]:
    told = {"type": "Ready", "status": ready, "reason": "Ready", "message": "as Nova says"}
    return present(OpenStackServer, name, told, *conditions)


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
        ({"mirrors": {}}, "m: does not exist in the Machine API"),
        ({"machines": {"m": machine("m", "Provisioned")}}, "m: has phase Provisioned in Cluster API"),
        ({"mirrors": {"m": mirror("m", phase="Provisioned")}}, "m: has phase Provisioned in the Machine API"),
        ({"mirrors": {"m": mirror("m", address="")}}, "m: has no address in the Machine API"),
        (
            {"mirrors": {"m": mirror("m", condition={**SYNCHRONIZED, "status": "False"})}},
            "m: Synchronized: False ResourceSynchronized: ok",
        ),
        ({"instances": {"m": instance("m", "False")}}, "m: Ready of its OpenStackServer: False Ready: as Nova says"),
        ({"project": INITIAL | {server("m", "BUILD")}}, "m: its server is BUILD"),
        (
            {"project": INITIAL | {Held("server", "m", "another", "ACTIVE")}},
            "m: has provider ID 'openstack:///id-of-m' in Cluster API, but its server is another",
        ),
        ({"project": INITIAL | {server("m"), server("n")}}, "the project has 2 servers, not 1"),
    ],
)
def test_a_machine_runs_only_if_cloud_and_both_apis_say_so(flaw: dict[str, Any], said: str) -> None:
    assert expect.machines_run(1)(scene("m"), NOBODY).met
    assert expect.machines_run(1)(replace(scene("m"), **flaw), NOBODY) == missing(said)


def test_a_machine_whose_server_was_deleted_does_not_count_as_running() -> None:
    both = scene("m", "n")
    left = replace(both, project=both.project - {server("n")})
    assert expect.machines_run(1)(left, NOBODY).met
    assert lost_machine(left) == "n"


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
        ({"mirrors": {"m": mirror("m")}}, "1 objects of machines are left"),
        ({"project": INITIAL | {Held("port", "m-0", "p")}}, "the project still has port m-0"),
        ({"project": frozenset()}, "the project has lost network machines"),
    ],
)
def test_nothing_may_be_left_and_nothing_be_lost(flaw: dict[str, Any], said: str) -> None:
    assert expect.project_is_as_before(scene(), NOBODY).met
    assert expect.project_is_as_before(replace(scene(), **flaw), NOBODY) == missing(said)


def test_no_step_has_come_true_before_anything_was_done() -> None:
    assert [step.title for step in STORY if step.expect(Scene(), Moment(Scene(), "m")).met] == []


def test_a_row_shows_the_server_what_its_object_says_and_both_apis() -> None:
    (line,) = COLUMNS.changes(None, scene("m"))
    assert line.plain.split() == ["m", "ACTIVE", "True", "Ready", "Running", "Running", "True", "10.6.0.2"]
