"""What is seen of a world is what is there: as much of it as the decision needs, which no test of `decide` can tell."""

from typing import Any, Final

import pytest

from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.control.seen import Absent, Present
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.looking import looked
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.model.reader import MemoryReader

from .aws_cases import on_aws
from .cases import (
    CAPI_MACHINE,
    GONE,
    MACHINE_API_FINALIZER,
    MAPI_MACHINE,
    NOW,
    SYNC,
    Tree,
    changed,
    objects,
    snapshot,
    under_machine_api,
)
from .migration_cases import (
    aws_under_cluster_api,
    aws_under_machine_api,
    moving,
    says_paused,
    under_cluster_api,
)
from .world import NAME, NAMESPACES, OURS, THEIRS, platform_of, world

TO_CONVERT: Final = {"cluster", "infrastructure"}
SETS: Final = {"machine_api_set", "cluster_api_set"}
NOTHING_MADE: Final[Tree] = {"cluster_api": None, "infra_machine": None}
FIRST: Final = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")
UNOWNED: Final = changed(MAPI_MACHINE, metadata__ownerReferences=None)


def deleted(case: Tree, *sides: str, **metadata: Any) -> Tree:
    gone = {side: changed(case[side], metadata={**case[side]["metadata"], **GONE, **metadata}) for side in sides}
    return {**case, **gone}


CASES: Final[dict[str, tuple[Tree, set[str]]]] = {
    "nothing": ({**NOTHING_MADE}, {"infra_cluster", *SETS, *TO_CONVERT}),
    "to be mirrored in the Machine API": ({"machine_api": None, "cluster_api": CAPI_MACHINE}, {"cluster"}),
    "behind Cluster API": (under_cluster_api(), {"cluster"}),
    "to be mirrored in Cluster API": ({"machine_api": MAPI_MACHINE, **NOTHING_MADE}, {"cluster"}),
    "to be mirrored in Cluster API, owned by nobody": ({"machine_api": UNOWNED, **NOTHING_MADE}, SETS),
    "behind the Machine API": (under_machine_api(), {"cluster"}),
    "the first of Cluster API": ({"machine_api": FIRST, **NOTHING_MADE}, {"cluster"}),
    "deleted in Cluster API": (deleted(under_cluster_api(), "cluster_api"), {"cluster"}),
    "its mirror deleted": (deleted(under_cluster_api(), "machine_api"), {"cluster"}),
    "deleted in the Machine API": (deleted(under_machine_api(), "machine_api"), {"cluster"}),
    "deleted in the Machine API, whose controller still holds it, and owned by nobody": (
        deleted(under_machine_api(machine_api=UNOWNED), "machine_api", finalizers=[MACHINE_API_FINALIZER, SYNC]),
        SETS,
    ),
    "deleted in both": (deleted(under_machine_api(), "machine_api", "cluster_api", "infra_machine"), {"cluster"}),
    "on its way to Cluster API": (says_paused(moving(under_machine_api()), "machine_api"), {"cluster"}),
    "on its way to the Machine API": (says_paused(moving(under_cluster_api()), "cluster_api"), {"cluster"}),
}
"""What there is, and what of it is not looked for."""


async def observed(**case: Any) -> MachineSnapshot:
    """What the rules look at, once what they need to know has been asked."""
    return (await asking(**case))[0]


async def asking(**case: Any) -> tuple[MachineSnapshot, list[list[str]]]:
    """The same, and what was asked, in questions of one moment."""
    api = world(**case)
    reader = MemoryReader(api)
    controller = machine_controller(reader, platform=platform_of(api), namespaces=NAMESPACES)
    reader.only(controller)
    found: list[MachineSnapshot] = []

    def noting(seen: MachineSnapshot) -> Plan:
        found.append(looked(seen))
        return decide(found[-1], now=NOW)

    inquiry = controller.asker(now=lambda: NOW).inquiry(NAME)
    await inquiry.decide(await controller.observe(NAME, Outcome()), noting)
    return found[-1], [[str(one) for one in together] for together in inquiry.asked]


def found(seen: MachineSnapshot) -> dict[str, Any]:
    """What of each object was found; the world gives some a resourceVersion that the case does not have."""
    trees = {}
    for name in objects():
        side = getattr(seen, name)
        assert isinstance(side, Present | Absent)
        if isinstance(side, Present):
            metadata = {key: value for key, value in side.tree["metadata"].items() if key != "resourceVersion"}
            trees[name] = {**side.tree, "metadata": metadata, "apiVersion": "", "kind": ""}
    return trees


@pytest.mark.parametrize(("case", "unneeded"), CASES.values(), ids=CASES)
async def test_all_that_a_decision_needs_is_seen_as_it_is(case: Tree, unneeded: set[str]) -> None:
    seen, there = await observed(**case), snapshot(**case)
    assert found(seen) == {name: tree for name, tree in found(there).items() if name not in unneeded}
    assert str(decide(seen, now=NOW)) == str(decide(there, now=NOW))


ASKED: Final[dict[str, list[list[str]]]] = {
    "to be mirrored in the Machine API": [[f"live Machine {THEIRS}/w-0"]],
    "to be mirrored in Cluster API": [[f"confirmed OpenStackMachine {THEIRS}/w-0"]],
    "to be mirrored in Cluster API, owned by nobody": [[f"confirmed OpenStackMachine {THEIRS}/w-0"]],
    "the first of Cluster API": [[f"live Machine {THEIRS}/w-0"], [f"confirmed OpenStackMachine {THEIRS}/w-0"]],
    "its mirror deleted": [
        ["live CustomResourceDefinition machines.machine.openshift.io", f"live Namespace {OURS}"],
        [f"live MachineSet {OURS}/ms", f"live MachineSet {THEIRS}/ms"],
    ],
    "deleted in both": [[f"live MachineSet {OURS}/ms", f"live MachineSet {THEIRS}/ms"]],
    "on its way to Cluster API": [[f"live Machine {OURS}/w-0"]],
    "on its way to the Machine API": [[f"live Machine {THEIRS}/w-0", f"live OpenStackMachine {THEIRS}/w-0-infra"]],
}
"""What the API server is asked for before the first plan; nothing in the other cases."""


@pytest.mark.parametrize("name", CASES)
async def test_only_what_a_cache_cannot_tell_is_asked_for(name: str) -> None:
    case, _ = CASES[name]
    assert (await asking(**case))[1] == ASKED.get(name, [])


@pytest.mark.parametrize("start", [aws_under_machine_api, aws_under_cluster_api])
async def test_on_another_platform_too(start: Any) -> None:
    case = {**on_aws(), **start()}
    seen, there = await observed(**case), snapshot(**case)
    assert found(seen).keys() >= {"machine_api", "cluster_api", "infra_machine", "infra_cluster"}
    assert found(seen) == {name: tree for name, tree in found(there).items() if name in found(seen)}
    assert decide(seen, now=NOW).needed == ()
