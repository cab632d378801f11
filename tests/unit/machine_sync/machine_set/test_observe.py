"""What is seen of a world is what is there: as much of it as the decision needs, which no test of `decide` can tell."""

from typing import Any, Final

import pytest

from windlass.api import capi, capo, capo_cluster, config, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Namespace
from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.control.seen import Absent, Present
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.machine_set.looking import looked
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from .cases import (
    AUTHORITY,
    BEHIND_CLUSTER_API,
    CAPI_SET,
    CLUSTER,
    GONE,
    INFRA_CLUSTER,
    INFRASTRUCTURE,
    MAPI_SET,
    NAME,
    NOW,
    OURS,
    SYNC,
    TEMPLATE,
    THEIRS,
    Tree,
    changed,
    snapshot,
    template,
)
from .world import NAMESPACES, typed

MADE: Final = template("ms-47015b3e")
GOING: Final = changed(MAPI_SET, metadata={**MAPI_SET["metadata"], **GONE})
MIGRATING: Final = changed(MAPI_SET, status__authoritativeAPI="Migrating")

OTHER_SET: Final = changed(CAPI_SET, metadata__name="other", metadata__uid="other-uid")


def machine(name: str, *, owner: str = "capi-uid", **annotations: str) -> Tree:
    references = [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "any", "uid": owner}]
    meta = {"name": name, "namespace": THEIRS, "ownerReferences": references, "annotations": annotations}
    return {"metadata": meta, "spec": {"clusterName": "c"}}


def mirror(name: str, *, owned: bool = True) -> Tree:
    owner = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "any", "uid": "mapi-uid"}
    return {"metadata": {"name": name, "namespace": OURS, "ownerReferences": [owner] if owned else []}, "spec": {}}


MACHINES: Final = (
    machine("w-0"),
    machine("w-1", **{AUTHORITY: "MachineAPI"}),
    machine("w-2", owner="other-uid"),
    machine("w-3"),
)
MIRRORS: Final = (mirror("w-0"), mirror("w-1"), mirror("w-3", owned=False))
"""The Machines of both APIs; w-3 no longer belongs to the set in the Machine API."""

NOT_CONVERTED: Final = {"cluster", "infrastructure"}
NOT_REFERRED_TO: Final = {"template", "infra_cluster"}

CASES: Final[dict[str, tuple[Tree, set[str]]]] = {
    "nothing": ({"machine_api": None}, {*NOT_CONVERTED, *NOT_REFERRED_TO}),
    "of Cluster API alone": (
        {"machine_api": None, "cluster_api": CAPI_SET},
        {*NOT_CONVERTED, *NOT_REFERRED_TO},
    ),
    "to be mirrored in Cluster API": ({"templates": (MADE,)}, {"template"}),
    "behind the Machine API": ({"cluster_api": CAPI_SET, "templates": (MADE,)}, {"template"}),
    "behind Cluster API": (
        {"machine_api": BEHIND_CLUSTER_API, "cluster_api": CAPI_SET, "templates": (MADE,)},
        {"cluster"},
    ),
    "the first of Cluster API": ({"machine_api": BEHIND_CLUSTER_API}, {"template"}),
    "deleted in the Machine API": (
        {
            "machine_api": GOING,
            "cluster_api": CAPI_SET,
            "templates": (MADE,),
            "acting": (machine("w-0"),),
            "owned": ("w-0", "w-1", "w-3"),
        },
        {*NOT_CONVERTED, *NOT_REFERRED_TO},
    ),
    "deleted in the Machine API with Orphan": (
        {
            "machine_api": changed(GOING, metadata__finalizers=[SYNC, "orphan"]),
            "cluster_api": CAPI_SET,
            "owned": ("w-0", "w-1", "w-3"),
        },
        {*NOT_CONVERTED, *NOT_REFERRED_TO},
    ),
    "deleted in Cluster API": (
        {"cluster_api": changed(CAPI_SET, metadata={**CAPI_SET["metadata"], **GONE}), "owned": ("w-0", "w-1", "w-3")},
        {"infrastructure", *NOT_REFERRED_TO},
    ),
    "the authority, deleted in Cluster API": (
        {
            "machine_api": changed(BEHIND_CLUSTER_API, metadata={**MAPI_SET["metadata"], **GONE}),
            "cluster_api": changed(CAPI_SET, metadata={**CAPI_SET["metadata"], **GONE}),
            "owned": ("w-0", "w-1"),
        },
        NOT_CONVERTED - {"infrastructure"},
    ),
    "on its way to Cluster API": (
        {"machine_api": changed(MIGRATING, spec__authoritativeAPI="ClusterAPI"), "cluster_api": CAPI_SET},
        {"template"},
    ),
    "on its way to the Machine API": ({"machine_api": MIGRATING, "cluster_api": CAPI_SET}, {"cluster"}),
}
"""What there is, and what of it is not looked for."""


def world(*, machine_api: Tree | None = MAPI_SET, cluster_api: Tree | None = None, **trees: Any) -> MemoryApi:
    """The objects of a case, and what does not concern it: machines of others, a MachineSet of its own template."""
    api = MemoryApi(
        mapi.MachineSet,
        mapi.Machine,
        capi.MachineSet,
        capi.Machine,
        capi.Cluster,
        capo.OpenStackMachineTemplate,
        capo_cluster.OpenStackCluster,
        config.Infrastructure,
        CustomResourceDefinition,
        Namespace,
    )
    objects: list[tuple[type[Any], Tree | None]] = [
        (mapi.MachineSet, machine_api),
        (capi.MachineSet, cluster_api),
        (capi.MachineSet, OTHER_SET),
        *((capi.Machine, one) for one in MACHINES),
        *((mapi.Machine, one) for one in MIRRORS),
        *((capo.OpenStackMachineTemplate, one) for one in (TEMPLATE, *trees.get("templates", ()))),
        (capi.Cluster, CLUSTER),
        (capo_cluster.OpenStackCluster, INFRA_CLUSTER),
        (config.Infrastructure, INFRASTRUCTURE),
    ]
    api.load(*(typed(kind, tree) for kind, tree in objects if tree is not None))
    return api


async def observed(api: MemoryApi) -> MachineSetSnapshot:
    """What the rules look at, once what they need to know has been asked."""
    return (await asking(api))[0]


async def asking(api: MemoryApi) -> tuple[MachineSetSnapshot, list[list[str]]]:
    """The same, and what was asked of the API server, in questions of one moment."""
    reader = MemoryReader(api)
    controller = machine_set_controller(reader, platform=OPENSTACK, namespaces=NAMESPACES)
    reader.only(controller)
    found: list[MachineSetSnapshot] = []

    def noting(seen: MachineSetSnapshot) -> Plan:
        found.append(looked(seen))
        return decide(found[-1], now=NOW)

    inquiry = controller.asker(now=lambda: NOW).inquiry(NAME)
    await inquiry.decide(await controller.observe(NAME, Outcome()), noting)
    asked = ([str(one) for one in together if not one.FREE] for together in inquiry.asked)
    return found[-1], [together for together in asked if together]


def found(seen: MachineSetSnapshot) -> dict[str, Any]:
    """What was found; the world gives some objects a resourceVersion that the case does not have."""
    sides = {
        name: side
        for name in ("machine_api", "cluster_api", "template", "infra_cluster", "cluster", "infrastructure")
        if not isinstance(side := getattr(seen, name), Absent)
    }
    trees: dict[str, Any] = {}
    for name, side in sides.items():
        assert isinstance(side, Present)
        metadata = {key: value for key, value in side.tree["metadata"].items() if key != "resourceVersion"}
        trees[name] = {**side.tree, "metadata": metadata, "apiVersion": "", "kind": ""}
    templates = tuple((one.name, one.users) for one in seen.templates)
    acting = [machine.name for machine in seen.acting]
    return {**trees, "templates": templates, "acting": acting, "owned": seen.owned, "disowned": seen.disowned}


@pytest.mark.parametrize(("case", "unneeded"), CASES.values(), ids=CASES)
async def test_all_that_a_decision_needs_is_seen_as_it_is(case: Tree, unneeded: set[str]) -> None:
    seen, there = await observed(world(**case)), snapshot(**case)
    assert found(seen) == {name: value for name, value in found(there).items() if name not in unneeded}
    assert str(decide(seen, now=NOW)) == str(decide(there, now=NOW))


ASKED: Final[dict[str, list[list[str]]]] = {
    "to be mirrored in Cluster API": [[f"confirmed MachineSet {THEIRS}/ms"]],
    "behind the Machine API": [[f"live MachineSet {OURS}/ms"]],  # its mirror is not marked yet
    "the first of Cluster API": [[f"confirmed MachineSet {THEIRS}/ms"]],
    "deleted in the Machine API": [
        [f"live MachineSet {OURS}/ms"],
        [f"live MachineSet {THEIRS}/ms"],
        [f"live Machine {OURS}/w-0", f"live Machine {OURS}/w-3"],
        ["live CustomResourceDefinition machinesets.machine.openshift.io", f"live Namespace {OURS}"],
    ],
    "deleted in the Machine API with Orphan": [[f"live MachineSet {OURS}/ms"], [f"live MachineSet {THEIRS}/ms"]],
    "deleted in Cluster API": [
        [f"live MachineSet {OURS}/ms"],
        ["live CustomResourceDefinition machinesets.cluster.x-k8s.io", f"live Namespace {THEIRS}"],
        [f"live MachineSet {THEIRS}/ms"],
        [f"live Cluster {THEIRS}/c", f"live Machine {THEIRS}/w-0", f"live Machine {THEIRS}/w-1"],
    ],
}
"""What the API server is asked for before the first plan; nothing in the other cases."""


@pytest.mark.parametrize("name", CASES)
async def test_only_what_a_cache_cannot_tell_is_asked_for(name: str) -> None:
    case, _ = CASES[name]
    assert (await asking(world(**case)))[1] == ASKED.get(name, [])


async def test_that_the_collector_took_machines_off_a_mirror_is_seen() -> None:
    """Orphan was chosen, and no longer shows on the set itself."""
    api = world(cluster_api=changed(CAPI_SET, metadata={**CAPI_SET["metadata"], **GONE}))
    assert not (await observed(api)).disowned
    given_back = changed(MACHINES[1], metadata__ownerReferences=[])
    api.load(typed(capi.Machine, given_back))
    assert (await observed(api)).disowned


async def test_who_else_uses_a_template_is_seen() -> None:
    api = world(machine_api=GOING, cluster_api=CAPI_SET, templates=(MADE,))
    user = changed(OTHER_SET, spec__template__spec__infrastructureRef__name="ms-47015b3e")
    api.load(typed(capi.MachineSet, user))
    (seen,) = (await observed(api)).templates
    assert (seen.name, seen.users) == ("ms-47015b3e", ("other",))
