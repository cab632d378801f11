"""When a step of the demo counts as having come true, and what is said when it has not."""

import re
from collections.abc import Awaitable, Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from windlass.api import capi, mapi
from windlass.api.meta import K
from windlass.demo.performance import perform
from windlass.demo.story import PATIENCE, Moment, met, missing
from windlass.demo.view import LinesView, summarise
from windlass.kube.control.seen import Present, seen
from windlass.kube.errors import TransportError
from windlass.kube.object import Object
from windlass.machine_sync.demo import COLUMNS
from windlass.machine_sync.demo import expectations as expect
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.demo.stage import Stage
from windlass.machine_sync.demo.story import STORY, Step
from windlass.testing.machines.simulators.instances import Entry, Instance
from windlass.testing.plane.errors import PlaneError

TRUE = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "ok"}


def present(kind: type[K], tree: dict[str, Any]) -> Present[K]:
    found = seen(Object.of(kind, tree))
    assert isinstance(found, Present)
    return found


def machine(name: str, *, standing: bool = False, **spec: Any) -> Present[capi.Machine]:
    return present(
        capi.Machine,
        {
            "metadata": {"name": name, "generation": 2},
            "spec": {"providerID": f"openstack:///{name}", **spec},
            "status": {"phase": "Running", "conditions": [paused(standing)]},
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


def machine_sets(name: str, authority: str) -> dict[str, Any]:
    """A MachineSet on both sides, in sync, as fields of a scene."""
    here, there = authority == "MachineAPI", authority == "ClusterAPI"
    metadata = {"metadata": {"name": name, "generation": 1}}
    status = {"authoritativeAPI": authority, "synchronizedGeneration": 1, "conditions": [TRUE, paused(not here)]}
    mirror = present(mapi.MachineSet, {**metadata, "spec": {}, "status": status})
    selector = {"matchLabels": {"cluster.x-k8s.io/cluster-name": "demo"}} if there else {}
    source = present(
        capi.MachineSet,
        {**metadata, "spec": {"selector": selector}, "status": {"conditions": [paused(not there)]}},
    )
    return {"mirror_sets": {name: mirror}, "sets": {name: source}}


def paused(really: bool) -> dict[str, Any]:
    return {"type": "Paused", "status": str(really), "reason": "Said", "message": ""}


SETS = machine_sets("demo-worker", "ClusterAPI")


def scene(*mirrors: Present[mapi.Machine], count: int | None = None, **fields: Any) -> Scene:
    names = [f"demo-worker-{number}" for number in range(len(mirrors) if count is None else count)]
    return Scene(
        machines={name: machine(name) for name in names},
        mirrors={one.metadata.name: one for one in mirrors},
        **{**SETS, **fields},
    )


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"authoritativeAPI": "Migrating"}, "its mirror has authority Migrating, not ClusterAPI"),
        ({"phase": "Provisioned"}, "has phase Provisioned in the Machine API, not Running"),
        ({"addresses": []}, "its mirror has no addresses"),
        ({"nodeRef": None}, "its mirror names no Node"),
        ({"synchronizedGeneration": 1}, "its mirror is behind the generation of the authority"),
        ({"conditions": []}, "its mirror has no Synchronized condition"),
    ],
)
def test_a_machine_does_not_run_as_long_as_its_mirror_lacks_anything(flaw: dict[str, Any], said: str) -> None:
    assert expect.machines_run(1)(scene(mirror("demo-worker-0", **flaw)), Moment(Scene())) == missing(
        f"demo-worker-0: {said}"
    )


def test_machines_run_when_every_mirror_has_everything() -> None:
    assert expect.machines_run(2)(scene(mirror("demo-worker-0"), mirror("demo-worker-1")), Moment(Scene())).met


def test_machines_do_not_run_as_long_as_the_mirror_of_their_set_is_not_in_sync() -> None:
    found = expect.machines_run(1)(scene(mirror("demo-worker-0"), mirror_sets={}), Moment(Scene()))
    assert found == missing("the mirror of MachineSet demo-worker is not synchronized")


def test_the_number_of_machines_counts() -> None:
    found = expect.machines_run(3)(scene(mirror("demo-worker-0")), Moment(Scene()))
    assert found == missing("there are 1 machines, not 3")


def test_a_machine_without_mirror_is_not_mirrored() -> None:
    found = expect.machines_are_mirrored(1)(scene(count=1), Moment(Scene()))
    assert found == missing("demo-worker-0: has no mirror in the Machine API")


def test_a_replaced_machine_must_be_gone_everywhere() -> None:
    before = Scene(machines={"old": machine("old")})
    after = scene(mirror("demo-worker-0"), infrastructure={"old": None})
    look = expect.machine_is_replaced(1)
    assert look(after, Moment(before, "old")) == missing("old still exists as OpenStackMachine")
    assert "demo-worker-0 runs in its place" in look(scene(mirror("demo-worker-0")), Moment(before, "old")).text


def test_a_refusal_counts_only_with_its_exact_message() -> None:
    refusal = {**TRUE, "status": "False", "reason": "FailedToConvertCAPIMachineToMAPI", "message": expect.REFUSAL}
    moment = Moment(Scene(), "demo-worker-0")
    refused = scene(mirror("demo-worker-0", condition=refusal))
    drained = machine("demo-worker-0", deletion={"nodeDrainTimeoutSeconds": 60})
    assert expect.conversion_is_refused(replace(refused, machines={"demo-worker-0": drained}), moment).met
    assert not expect.conversion_is_refused(refused, moment).met, "the next step picks the machine by its time-out"
    other = {**refusal, "message": "something else"}
    assert not expect.conversion_is_refused(scene(mirror("demo-worker-0", condition=other)), moment).met


def test_the_commands_of_a_step_name_its_machine() -> None:
    commands = [command for step in STORY for command in step.typed(Moment(Scene(), "demo-worker-x"))]
    assert "kubectl -n openshift-cluster-api delete machine.cluster.x-k8s.io/demo-worker-x" in commands
    assert not any("NAME" in command for command in commands)


def handed_over(to: str, *, instances: tuple[Instance, ...] | None = None, code: int | None = 0, **flaw: Any) -> Scene:
    """The second act: three machines under `to`."""
    here = to == "MachineAPI"
    names = [f"demo-pool-{number}" for number in range(3)]
    said = {"authoritativeAPI": to, "conditions": [TRUE, paused(not here)]}
    mirrors = [mirror(name, **{**said, **(flaw if name == "demo-pool-1" else {})}) for name in names]
    return Scene(
        machines={name: machine(name, standing=here) for name in names},
        mirrors={one.metadata.name: one for one in mirrors},
        instances=instances or tuple(instance(name) for name in names),
        code=code,
        **machine_sets("demo-pool", to),
    )


def instance(machine: str, *entries: Entry, id: str = "") -> Instance:  # noqa: A002 - the word of the field
    made = Entry("2026-01-01T12:00:00Z", "MachineAPI", "created")
    return Instance(id=id or f"i-{machine}", machine=machine, holder="", entries=(made, *entries))


class TestSecondAct:
    BEFORE = Moment(handed_over("MachineAPI"))
    LOOK = staticmethod(expect.handed_over("ClusterAPI"))

    def test_it_begins_when_the_machine_api_runs_a_set_and_cluster_api_stands_still(self) -> None:
        assert expect.machine_api_runs_a_set(handed_over("MachineAPI"), Moment(Scene())).met
        assert not expect.machine_api_runs_a_set(handed_over("ClusterAPI"), Moment(Scene())).met

    def test_machines_are_handed_over_when_all_run_there_on_the_same_instances(self) -> None:
        assert self.LOOK(handed_over("ClusterAPI"), self.BEFORE).met

    @pytest.mark.parametrize(
        ("flaw", "said"),
        [
            ({"authoritativeAPI": "Migrating"}, "demo-pool-1: its mirror has authority Migrating, not ClusterAPI"),
            ({"conditions": [TRUE, paused(False)]}, "demo-pool-1: the Machine API has not paused"),
            ({"code": None}, "`windlass migrate` has not ended"),
            ({"code": 4}, "`windlass migrate` ended with code 4"),
        ],
    )
    def test_they_are_not_as_long_as_anything_is_missing(self, flaw: dict[str, Any], said: str) -> None:
        assert self.LOOK(handed_over("ClusterAPI", **flaw), self.BEFORE) == missing(said)

    def test_an_instance_too_many_is_noticed(self) -> None:
        made = (*self.BEFORE.before.instances, instance("demo-pool-1", id="i-second"))
        found = self.LOOK(handed_over("ClusterAPI", instances=made), self.BEFORE)
        assert not found.met
        assert "i-second" in found.text

    @pytest.mark.parametrize("what", ["deleted", "taken"])
    def test_an_instance_that_was_lost_or_fought_over_is_noticed(self, what: str) -> None:
        first, *others = self.BEFORE.before.instances
        spoiled = instance(first.machine, Entry("2026-01-01T12:01:00Z", "ClusterAPI", what, "MachineAPI"))
        assert not self.LOOK(handed_over("ClusterAPI", instances=(spoiled, *others)), self.BEFORE).met


async def nothing(_: Stage, __: Moment[Scene]) -> None:
    """A step in which nobody does anything."""


async def unable(_: Stage, __: Moment[Scene]) -> None:
    raise PlaneError("no room on the disk: free 6 GB")


def step(
    title: str, expectation: expect.Expectation, *, act: Callable[[Stage, Moment[Scene]], Awaitable[None]] = nothing
) -> Step:
    return Step(title, ("true",), act=act, expect=expectation, seconds=0)


async def performed(tmp_path: Path, *story: Step) -> str:
    """What a demo with this story prints; there is no control plane in it."""
    console = Console(file=StringIO(), width=200)
    async with Stage(tmp_path / "stage", temporary=False) as stage:
        results = await perform(story, stage, LinesView(console, COLUMNS, steps=len(story)))
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


class Forgetful(Stage):
    """Its API server answers every other look with a fault of the moment."""

    looks = 0

    async def look(self) -> Scene:
        self.looks += 1
        if self.looks % 2:
            raise TransportError("GET /version: the server hung up")
        return await super().look()


async def test_an_api_server_that_does_not_answer_now_and_then_does_not_end_the_demo(tmp_path: Path) -> None:
    looks = iter([missing("not yet"), met("done")])
    patient = replace(step("One", lambda _, __: next(looks)), seconds=PATIENCE)
    async with Forgetful(tmp_path / "stage", temporary=False) as stage:
        [result] = await perform([patient], stage, LinesView(Console(file=StringIO()), COLUMNS, steps=1))
    assert result.passed


async def test_how_long_it_took_to_do_a_step_is_not_taken_from_the_time_in_which_it_is_to_come_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([missing("not yet"), met("done")])
    now = 0.0
    monkeypatch.setattr("windlass.demo.performance.time", SimpleNamespace(monotonic=lambda: now))

    async def slow(_: Stage, __: Moment[Scene]) -> None:
        nonlocal now
        now += 2 * PATIENCE

    long = replace(step("One", lambda _, __: next(looks), act=slow), seconds=PATIENCE)
    async with Stage(tmp_path / "stage", temporary=False) as stage:
        [result] = await perform([long], stage, LinesView(Console(file=StringIO()), COLUMNS, steps=1))
    assert result.passed
    assert result.seconds == 2 * PATIENCE


async def test_a_step_that_cannot_be_done_says_why(tmp_path: Path) -> None:
    said = await performed(tmp_path, step("One", lambda _, __: met("done"), act=unable))
    assert "'One' did not come true: no room on the disk: free 6 GB" in said
