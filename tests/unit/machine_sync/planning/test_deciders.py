"""Which keys are planned."""

from windlass.capability.planning import Name, select
from windlass.kube.control.plan import Plan
from windlass.machine_sync.overview import MACHINE_SETS
from windlass.model.reader import MemoryReader

from .documents import UNMIRRORED
from .world import deciding, machine, machine_controllers, model, world


async def test_keys_are_all_that_a_controller_would_look_at() -> None:
    _, reader = model(UNMIRRORED)
    selected = select(machine_controllers(reader), reader)

    machines = [key for decider, key in selected.asked if decider.kind == "Machine"]
    assert machines == ["alone", "worker-0"]
    assert {("Machine", "alone"), ("Machine", "worker-0")} <= selected.existing


async def test_an_infrastructure_machine_without_a_machine_is_a_key_but_no_machine() -> None:
    orphan = UNMIRRORED.replace("name: worker-0, namespace", "name: orphan, namespace")
    _, reader = model(orphan)

    selected = select(machine_controllers(reader), reader)

    assert "orphan" in [key for _, key in selected.asked]
    assert ("Machine", "orphan") not in selected.existing


async def test_names_select_by_kind_and_the_others_are_missing() -> None:
    reader = MemoryReader(world(machine("a"), machine("b")))
    of = [deciding(lambda _: Plan(), reader), deciding(lambda _: Plan(), reader, of=MACHINE_SETS)]

    selected = select(of, reader, wanted=[Name("a", "Machine"), Name("b"), Name("c"), Name("d", "MachineSet")])

    assert [(decider.kind, key) for decider, key in selected.asked] == [
        ("Machine", "a"),
        ("Machine", "b"),
        ("MachineSet", "b"),
    ]
    assert selected.missing == [Name("c"), Name("d", "MachineSet")]
