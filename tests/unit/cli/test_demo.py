"""When a step of the demo counts as having come true, and what is said when it has not."""

import re
from collections.abc import Awaitable, Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from windlass.api import capi, mapi
from windlass.api.meta import K
from windlass.cli.demo import expectations as expect
from windlass.cli.demo.performance import perform
from windlass.cli.demo.scene import Moment, Scene, met, missing
from windlass.cli.demo.stage import Stage
from windlass.cli.demo.story import STORY, Step
from windlass.cli.demo.view import LinesView, summarise
from windlass.kube.object import Object
from windlass.kube.seen import Present, seen
from windlass.testing.plane.errors import PlaneError

TRUE = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "ok"}


def present(kind: type[K], tree: dict[str, Any]) -> Present[K]:
    found = seen(Object.of(kind, tree))
    assert isinstance(found, Present)
    return found


def machine(name: str, **spec: Any) -> Present[capi.Machine]:
    return present(
        capi.Machine,
        {
            "metadata": {"name": name, "generation": 2},
            "spec": {"providerID": f"openstack:///{name}", **spec},
            "status": {"phase": "Running"},
        },
    )


def mirror(name: str, *, condition: dict[str, Any] = TRUE, **status: Any) -> Present[mapi.Machine]:
    whole = {
        "authoritativeAPI": "ClusterAPI",
        "phase": "Running",
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeRef": {"name": name},
        "synchronizedGeneration": 2,
        "conditions": [condition],
    }
    tree = {"metadata": {"name": name}, "spec": {"providerID": f"openstack:///{name}"}, "status": {**whole, **status}}
    return present(mapi.Machine, tree)


def scene(*mirrors: Present[mapi.Machine], count: int | None = None, **fields: Any) -> Scene:
    names = [f"worker-{number}" for number in range(len(mirrors) if count is None else count)]
    return Scene(
        machines={name: machine(name) for name in names},
        mirrors={one.metadata.name: one for one in mirrors},
        **fields,
    )


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"authoritativeAPI": "Migrating"}, "its mirror has authority Migrating, not ClusterAPI"),
        ({"phase": "Provisioned"}, "has phase Provisioned in the Machine API, not Running"),
        ({"addresses": []}, "its mirror has no addresses"),
        ({"nodeRef": None}, "its mirror names no Node"),
        ({"synchronizedGeneration": 1}, "its mirror is behind the generation of its Cluster API Machine"),
        ({"conditions": []}, "its mirror has no Synchronized condition"),
    ],
)
def test_a_machine_does_not_run_as_long_as_its_mirror_lacks_anything(flaw: dict[str, Any], said: str) -> None:
    assert expect.machines_run(1)(scene(mirror("worker-0", **flaw)), Moment()) == missing(f"worker-0: {said}")


def test_machines_run_when_every_mirror_has_everything() -> None:
    assert expect.machines_run(2)(scene(mirror("worker-0"), mirror("worker-1")), Moment()).met


def test_the_number_of_machines_counts() -> None:
    found = expect.machines_run(3)(scene(mirror("worker-0")), Moment())
    assert found == missing("there are 1 machines, not 3")


def test_a_machine_without_mirror_is_not_mirrored() -> None:
    found = expect.machines_are_mirrored(1)(scene(count=1), Moment())
    assert found == missing("worker-0: has no mirror in the Machine API")


def test_a_replaced_machine_must_be_gone_everywhere() -> None:
    before = Scene(machines={"old": machine("old")})
    after = scene(mirror("worker-0"), infrastructure={"old": None})
    look = expect.machine_is_replaced(1)
    assert look(after, Moment(before, "old")) == missing("old still exists as OpenStackMachine")
    assert "worker-0 runs in its place" in look(scene(mirror("worker-0")), Moment(before, "old")).text


def test_a_refusal_counts_only_with_its_exact_message() -> None:
    refusal = {**TRUE, "status": "False", "reason": "FailedToConvertCAPIMachineToMAPI", "message": expect.REFUSAL}
    moment = Moment(machine="worker-0")
    assert expect.conversion_is_refused(scene(mirror("worker-0", condition=refusal)), moment).met
    other = {**refusal, "message": "something else"}
    assert not expect.conversion_is_refused(scene(mirror("worker-0", condition=other)), moment).met


def test_the_commands_of_a_step_name_its_machine() -> None:
    commands = [command for step in STORY for command in step.typed(Moment(machine="demo-worker-x"))]
    assert "kubectl -n openshift-cluster-api delete machine.cluster.x-k8s.io/demo-worker-x" in commands
    assert not any("MACHINE" in command for command in commands)


async def nothing(_: Stage, __: Moment) -> None:
    """A step in which nobody does anything."""


async def unable(_: Stage, __: Moment) -> None:
    raise PlaneError("no room on the disk: free 6 GB")


def step(
    title: str, expectation: expect.Expectation, *, act: Callable[[Stage, Moment], Awaitable[None]] = nothing
) -> Step:
    return Step(title, ("true",), act=act, expect=expectation, seconds=0)


async def performed(tmp_path: Path, *story: Step) -> str:
    """What a demo with this story prints; there is no control plane in it."""
    console = Console(file=StringIO(), width=200)
    async with Stage(tmp_path / "stage", temporary=False) as stage:
        results = await perform(story, stage, LinesView(console))
    summarise(console, results, logs=stage.logs, seconds=0)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


async def test_a_step_that_does_not_come_true_ends_the_demo_and_says_where_to_look(tmp_path: Path) -> None:
    said = await performed(
        tmp_path,
        step("One", lambda _, __: met("done")),
        step("Two", lambda _, __: missing("no machines")),
        step("Three", lambda _, __: met("done")),
    )
    assert re.search(r"^ 2  FAILED +[\d.]+ s  Two$", said, re.MULTILINE)
    assert re.search(r"^ 3  not tried +Three$", said, re.MULTILINE)
    assert "'Two' did not come true: no machines (waited 0 s)" in said
    assert f"The logs are in {tmp_path / 'stage' / 'logs'}" in said


async def test_a_step_that_cannot_be_done_says_why(tmp_path: Path) -> None:
    said = await performed(tmp_path, step("One", lambda _, __: met("done"), act=unable))
    assert "'One' did not come true: no room on the disk: free 6 GB" in said
