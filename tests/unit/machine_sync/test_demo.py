"""When a step of the demo counts as having come true, and what is said when it has not."""

from typing import Any

import pytest

from tests.unit.scenes import having, lacking, missing, present
from windlass.api import capi, capo, mapi
from windlass.demo.story import Moment
from windlass.kube.control.seen import Present
from windlass.machine_sync.demo import expectations as expect
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.demo.story import STORY
from windlass.testing.machines.simulators.instances import SELECTOR, InstanceRecord

TRUE = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "ok"}
NOBODY = Moment(Scene())


def paused(really: bool) -> dict[str, Any]:
    return {"type": "Paused", "status": str(really), "reason": "Said", "message": ""}


def machine(name: str, *, standing: bool = False, **spec: Any) -> Present[capi.Machine]:
    return present(
        capi.Machine,
        name,
        paused(standing),
        metadata={"generation": 2, "namespace": "there"},
        spec={"providerID": f"openstack:///{name}", **spec},
        status={"phase": "Running"},
    )


def mirror(name: str, *conditions: dict[str, Any], **status: Any) -> Present[mapi.Machine]:
    whole = {
        "authoritativeAPI": "ClusterAPI",
        "phase": "Running",
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeRef": {"name": name},
        "synchronizedGeneration": 2,
    }
    return present(
        mapi.Machine,
        name,
        *(conditions or (TRUE,)),
        metadata={"namespace": "here"},
        spec={"providerID": f"openstack:///{name}"},
        status={**whole, **status},
    )


def machine_set(name: str, authority: str) -> tuple[Present[mapi.MachineSet], Present[capi.MachineSet]]:
    """A MachineSet on both sides, in sync."""
    here, there = authority == "MachineAPI", authority == "ClusterAPI"
    status = {"authoritativeAPI": authority, "synchronizedGeneration": 1}
    selector = {"matchLabels": {"cluster.x-k8s.io/cluster-name": "demo"}} if there else {}
    metadata = {"generation": 1}
    return (
        present(mapi.MachineSet, name, TRUE, paused(not here), metadata=metadata, spec={}, status=status),
        present(capi.MachineSet, name, paused(not there), metadata=metadata, spec={"selector": selector}),
    )


def scene(*mirrors: Present[mapi.Machine], count: int | None = None) -> Scene:
    """Machines of the first act, of which some have mirrors."""
    names = [f"demo-worker-{number}" for number in range(len(mirrors) if count is None else count)]
    return having(Scene(), *machine_set("demo-worker", "ClusterAPI"), *map(machine, names), *mirrors)


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"authoritativeAPI": "Migrating"}, "has authority Migrating, not ClusterAPI"),
        ({"phase": "Provisioned"}, "has phase Provisioned in here"),
        ({"addresses": []}, "has no address in the Machine API"),
        ({"nodeRef": None}, "names no Node in the Machine API"),
    ],
)
def test_a_machine_does_not_run_as_long_as_its_mirror_lacks_anything(flaw: dict[str, Any], said: str) -> None:
    found = missing(expect.machines_run(1), scene(mirror("demo-worker-0", **flaw)), NOBODY)
    assert found == f"demo-worker-0 {said}"


@pytest.mark.parametrize(
    ("mirrors", "said"),
    [
        ((), "demo-worker has 0 machines, not 1"),
        ((mirror("demo-worker-0", synchronizedGeneration=1),), "the mirror of demo-worker-0 is behind the generation"),
        ((mirror("demo-worker-0", paused(False)),), "demo-worker-0 has no Synchronized condition"),
    ],
)
def test_machines_run_when_each_is_there_and_in_sync(mirrors: tuple[Present[mapi.Machine], ...], said: str) -> None:
    assert said in missing(expect.machines_run(1), scene(*mirrors), NOBODY)
    assert expect.machines_run(2)(scene(mirror("demo-worker-0"), mirror("demo-worker-1")), NOBODY)


def test_machines_do_not_run_as_long_as_the_mirror_of_their_set_is_not_in_sync() -> None:
    alone = lacking(scene(mirror("demo-worker-0")), mapi.MachineSet)
    assert "MachineSet demo-worker has authority (none)" in missing(expect.machines_run(1), alone, NOBODY)
    behind = present(mapi.MachineSet, "demo-worker", status={"authoritativeAPI": "ClusterAPI"})
    now = having(scene(mirror("demo-worker-0")), behind)
    assert missing(expect.machines_run(1), now, NOBODY) == "MachineSet demo-worker is not synchronized"


def test_a_machine_without_mirror_is_not_mirrored() -> None:
    found = missing(expect.machines_are_mirrored(1), scene(count=1), NOBODY)
    assert found == "demo-worker-0 does not exist in the Machine API"


def test_a_replaced_machine_must_be_gone_everywhere() -> None:
    moment = Moment(having(Scene(), machine("old")), "old")
    after = scene(mirror("demo-worker-0"))
    look = expect.machine_is_replaced(1)
    assert "demo-worker-0 runs in its place" in look(after, moment)
    for left in (machine("old"), mirror("old"), present(capo.OpenStackMachine, "old")):
        assert "old still exists" in missing(look, having(after, left), moment)


def test_a_refusal_counts_only_with_its_exact_message() -> None:
    refusal = {**TRUE, "status": "False", "reason": "FailedToConvertCAPIMachineToMAPI", "message": expect.REFUSAL}
    moment = Moment(Scene(), "demo-worker-0")
    refused = scene(mirror("demo-worker-0", refusal))
    drained = machine("demo-worker-0", deletion={"nodeDrainTimeoutSeconds": 60})
    assert expect.conversion_is_refused(having(refused, drained), moment)
    # The next step picks the machine by its time-out.
    assert "is not seen with a node drain time-out" in missing(expect.conversion_is_refused, refused, moment)
    other = having(refused, drained, mirror("demo-worker-0", {**refusal, "message": "something else"}))
    assert "something else" in missing(expect.conversion_is_refused, other, moment)


def test_the_commands_of_a_step_name_its_machine() -> None:
    commands = [command for step in STORY for command in step.typed(Moment(Scene(), "demo-worker-x"))]
    assert "kubectl -n openshift-cluster-api delete machine.cluster.x-k8s.io/demo-worker-x" in commands


def instance(machine: str, *entries: str, id: str = "") -> Present[InstanceRecord]:  # noqa: A002 - the field's word
    """The record of an instance that the Machine API created."""
    history = "\n".join(["2026-01-01T12:00:00Z MachineAPI created", *entries])
    data = {"machine": machine, "history": history}
    return present(InstanceRecord, id or f"i-{machine}", metadata={"labels": {SELECTOR: ""}}, data=data)


def handed_over(to: str, *found: Present[Any], code: int | None = 0) -> Scene:
    """The second act: three machines under `to`."""
    here = to == "MachineAPI"
    scene = having(Scene(code=code), *machine_set("demo-pool", to))
    for name in (f"demo-pool-{number}" for number in range(3)):
        same = mirror(name, TRUE, paused(not here), authoritativeAPI=to)
        scene = having(scene, machine(name, standing=here), same, instance(name))
    return having(scene, *found)


class TestSecondAct:
    BEFORE = Moment(handed_over("MachineAPI"))
    LOOK = staticmethod(expect.handed_over("ClusterAPI"))

    def test_it_begins_when_the_machine_api_runs_a_set_and_cluster_api_stands_still(self) -> None:
        assert expect.machine_api_runs_a_set(handed_over("MachineAPI"), NOBODY)
        assert missing(expect.machine_api_runs_a_set, handed_over("ClusterAPI"), NOBODY)
        acting = handed_over("MachineAPI", machine("demo-pool-1"))
        assert missing(expect.machine_api_runs_a_set, acting, NOBODY) == "demo-pool-1: Cluster API has not paused"

    def test_machines_are_handed_over_when_all_run_there_on_the_same_instances(self) -> None:
        assert self.LOOK(handed_over("ClusterAPI"), self.BEFORE)

    @pytest.mark.parametrize(
        ("now", "said"),
        [
            (
                handed_over("ClusterAPI", mirror("demo-pool-1", TRUE, authoritativeAPI="Migrating")),
                "demo-pool-1 has authority Migrating, not ClusterAPI",
            ),
            (
                handed_over("ClusterAPI", mirror("demo-pool-1", TRUE, paused(False))),
                "demo-pool-1: the Machine API has not paused",
            ),
            (
                handed_over("ClusterAPI", machine("demo-pool-1", standing=True)),
                "demo-pool-1: Cluster API has paused",
            ),
            (
                handed_over("ClusterAPI", machine_set("demo-pool", "MachineAPI")[0]),
                "MachineSet demo-pool has authority MachineAPI, not ClusterAPI",
            ),
            (
                handed_over("ClusterAPI", present(capi.MachineSet, "demo-pool", paused(False))),
                "Cluster API has not completed the selector",
            ),
            (handed_over("ClusterAPI", code=None), "`windlass migrate` has not ended"),
            (handed_over("ClusterAPI", code=4), "`windlass migrate` ended with code 4"),
        ],
    )
    def test_they_are_not_as_long_as_anything_is_missing(self, now: Scene, said: str) -> None:
        assert missing(self.LOOK, now, self.BEFORE) == said

    def test_an_instance_too_many_is_noticed(self) -> None:
        made = handed_over("ClusterAPI", instance("demo-pool-1", id="i-second"))
        assert "i-second" in missing(self.LOOK, made, self.BEFORE)

    @pytest.mark.parametrize("entry", ["deleted", "taken MachineAPI"])
    def test_an_instance_that_was_lost_or_fought_over_is_noticed(self, entry: str) -> None:
        spoiled = instance("demo-pool-1", f"2026-01-01T12:01:00Z ClusterAPI {entry}")
        assert missing(self.LOOK, handed_over("ClusterAPI", spoiled), self.BEFORE)
