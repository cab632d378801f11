"""An infra machine of another Machine is left alone, however it is found: by its name, an annotation or a reference."""

from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, config, mapi
from windlass.kube.control.plan import Plan
from windlass.kube.control.question import Cached, Indexed, Question
from windlass.kube.control.seen import Absent
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import MACHINE_ANNOTATION, MIRRORED_SPEC_ANNOTATION
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.infra_owner import other_owner
from windlass.machine_sync.machine.looking import looked
from windlass.machine_sync.machine.observe import BY_INFRA_MACHINE
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from .cases import (
    CAPI_MACHINE,
    GONE,
    INFRA,
    MAPI_MACHINE,
    NOW,
    PAUSED,
    SYNC,
    Tree,
    after,
    changed,
    condition,
    decided,
    look,
    settled,
    snapshot,
    under_machine_api,
    writes,
)
from .world import NAME, OURS, THEIRS, at_rest, mapi_of, reconciled, synchronized, tree_of, typed

FIRST = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")
"""A Machine whose authority is Cluster API, which has none yet."""


def of(machine: str, **fields: Any) -> Tree:
    """An infra machine that the provider runs for `machine`, and that we do not hold."""
    owner = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "name": machine,
        "uid": f"{machine}-uid",
        "controller": True,
    }
    return changed(INFRA, metadata__ownerReferences=[owner], **fields)


def infra(**fields: Any) -> Any:
    return Object.of(capo.OpenStackMachine, changed(INFRA, **fields)).metadata


class TestWhoseItIs:
    @pytest.mark.parametrize("users", [(), ("w-0",), ("cp-1", "w-0")])
    def test_its_controller_has_it(self, users: tuple[str, ...]) -> None:
        theirs = Object.of(capo.OpenStackMachine, of("cp-1")).metadata
        assert other_owner("w-0", theirs, users) == "cp-1"
        assert other_owner("cp-1", theirs, users) == ""

    @pytest.mark.parametrize(
        ("why", "owner"),
        [
            ("does not control it", {"controller": False}),
            ("is a Machine of the Machine API", {"apiVersion": "machine.openshift.io/v1beta1"}),
            ("is no Machine", {"kind": "Cluster"}),
        ],
    )
    def test_no_other_owner_has_it(self, why: str, owner: Tree) -> None:
        (there,) = of("cp-1")["metadata"]["ownerReferences"]
        assert other_owner("w-0", infra(metadata__ownerReferences=[{**there, **owner}]), ()) == "", why

    @pytest.mark.parametrize(
        ("users", "owner"),
        [
            ((), ""),
            (("w-0",), ""),
            (("v-0", "w-0"), "v-0"),
            (("w-0", "x-0"), ""),
            (("w-0", "w-0-infra"), "w-0-infra"),
            (("x-0",), "x-0"),
        ],
    )
    def test_without_a_controller_one_of_those_that_name_it_has_it(self, users: tuple[str, ...], owner: str) -> None:
        assert other_owner("w-0", infra(), users) == owner

    def test_two_machines_agree_on_which_of_them_has_it(self) -> None:
        users = ("v-0", "w-0")
        assert [name for name in users if not other_owner(name, infra(), users)] == ["v-0"]


def is_left_alone(plan: Plan) -> bool:
    return writes(plan) == [("Merge status", "machine_api")] and "belongs to Machine cp-1" in condition(plan)["message"]


class TestFoundByItsName:
    CASE: ClassVar[Tree] = {"cluster_api": None, "infra_machine": of("cp-1", metadata__name="w-0")}

    @pytest.mark.parametrize(
        "machine_api", [FIRST, MAPI_MACHINE], ids=["first of Cluster API", "under the Machine API"]
    )
    def test_nothing_is_made_of_it(self, machine_api: Tree) -> None:
        plan = decided(**self.CASE, machine_api=machine_api)
        assert is_left_alone(plan)
        assert condition(plan)["reason"] == "FailedToGetCAPIInfraResources"
        assert condition(plan)["message"] == (
            "failed to fetch Cluster API infra resources: OpenStackMachine w-0 belongs to Machine cp-1 of Cluster API, "
            "so it is left alone: delete this Machine, and create it with another name"
        )

    @pytest.mark.parametrize(
        "machine_api", [FIRST, changed(FIRST, spec__taints=[{"key": "k", "effect": "NoSchedule"}])]
    )
    def test_it_stays_when_the_machine_is_deleted(self, machine_api: Tree) -> None:
        going = changed(machine_api, metadata={**MAPI_MACHINE["metadata"], **GONE})
        there = settled(**self.CASE, machine_api=going)
        assert (there["machine_api"], there["infra_machine"]) == (None, self.CASE["infra_machine"])

    def test_one_that_only_another_machine_names_is_that_machines(self) -> None:
        seen = replace(
            snapshot(cluster_api=None, machine_api=FIRST, infra_machine=changed(INFRA, metadata__name="w-0")),
            infra_users=("cp-1",),
        )
        assert is_left_alone(decide(seen, now=NOW))

    def test_one_that_nobody_has_stays_too_unless_we_have_held_it(self) -> None:
        going = changed(FIRST, metadata={**MAPI_MACHINE["metadata"], **GONE})
        made = changed(INFRA, metadata__name="w-0", metadata__finalizers=[])
        assert settled(cluster_api=None, machine_api=going, infra_machine=made)["infra_machine"] == made
        held = changed(made, metadata__finalizers=[SYNC])
        assert settled(cluster_api=None, machine_api=going, infra_machine=held)["infra_machine"] is None


class TestMadeBeforehand:
    """The Machine API is the authority: what is not ours is not replaced."""

    MADE = changed(INFRA, metadata__name="w-0", metadata__finalizers=[], metadata__ownerReferences=None)

    def test_one_that_differs_is_left_alone(self) -> None:
        made = changed(self.MADE, spec__flavor="huge")
        plan = decided(cluster_api=None, machine_api=MAPI_MACHINE, infra_machine=made)
        assert writes(plan) == [("Merge status", "machine_api")]
        assert "OpenStackMachine w-0 was made beforehand" in condition(plan)["message"]

    def test_one_that_is_the_same_is_used(self) -> None:
        spec = under_machine_api()["infra_machine"]["spec"]
        there = settled(cluster_api=None, machine_api=MAPI_MACHINE, infra_machine=changed(self.MADE, spec=spec))
        assert there["infra_machine"]["metadata"]["uid"] == INFRA["metadata"]["uid"]
        assert there["infra_machine"]["metadata"]["ownerReferences"][0]["name"] == NAME


class TestFoundByTheReference:
    def test_a_machine_that_names_it_is_reported(self) -> None:
        case = {"machine_api": changed(FIRST, metadata__labels={}), "infra_machine": of("cp-1")}
        plan = decided(cluster_api=CAPI_MACHINE, **case)
        assert is_left_alone(plan)
        assert condition(plan)["message"].endswith(
            "let spec.infrastructureRef of Machine openshift-cluster-api/w-0 name the OpenStackMachine of that "
            "Machine, or correct metadata.ownerReferences of the OpenStackMachine if it is that one"
        )
        assert decided(**after(plan, cluster_api=CAPI_MACHINE, **case)).needed == ()

    def test_it_is_not_paused_when_authority_moves(self) -> None:
        moving = changed(
            FIRST,
            spec__authoritativeAPI="MachineAPI",
            status__authoritativeAPI="Migrating",
            status__synchronizedAPI="ClusterAPI",
        )
        theirs = of("cp-1")
        assert settled(cluster_api=CAPI_MACHINE, machine_api=moving, infra_machine=theirs)["infra_machine"] == theirs


async def another(api: MemoryApi, **fields: Any) -> Tree:
    """Another machine that Cluster API runs, and its infra machine."""
    await api.create(
        capi.Machine,
        typed(capi.Machine, changed(CAPI_MACHINE, metadata={"name": "cp-1"}, spec__infrastructureRef__name="cp-1")),
        namespace=THEIRS,
    )
    uid = tree_of(api, capi.Machine, "cp-1", THEIRS)["metadata"]["uid"]  # type: ignore[index]
    owner = {**of("cp-1")["metadata"]["ownerReferences"][0], "uid": uid}
    meta = {"name": "cp-1", "ownerReferences": [owner], **fields}
    body = typed(capo.OpenStackMachine, {"metadata": meta, "spec": {**INFRA["spec"], "flavor": "of-cp-1"}})
    return (await api.create(capo.OpenStackMachine, body, namespace=THEIRS)).tree()


async def test_a_reference_of_a_mirror_that_somebody_changed_is_set_back() -> None:
    api = await at_rest(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None)
    theirs = await another(api)
    patch = {"spec": {"infrastructureRef": {"name": "cp-1"}}}
    await api.patch(capi.Machine, NAME, patch, type=PatchType.MERGE, namespace=THEIRS)
    own = tree_of(api, capo.OpenStackMachine, NAME, THEIRS)
    await reconciled(api, MemoryReader(api))
    assert tree_of(api, capo.OpenStackMachine, "cp-1", THEIRS) == theirs
    assert tree_of(api, capo.OpenStackMachine, NAME, THEIRS) == own
    mirror = tree_of(api, capi.Machine, NAME, THEIRS)
    assert mirror is not None
    assert mirror["spec"]["infrastructureRef"]["name"] == NAME
    assert synchronized(mapi_of(api))["status"] == "True"


@pytest.mark.parametrize("deleted", [False, True])
async def test_an_annotation_on_that_of_another_machine_is_not_believed(deleted: bool) -> None:
    api = await at_rest(machine_api=None, cluster_api=None, infra_machine=None)
    marked = {"annotations": {MACHINE_ANNOTATION: NAME, PAUSED: "", MIRRORED_SPEC_ANNOTATION: "flavor=0"}}
    theirs = await another(api, **marked)
    machine = changed(MAPI_MACHINE, metadata={"name": NAME, "finalizers": [SYNC]})
    await api.create(mapi.Machine, typed(mapi.Machine, machine), namespace=OURS)
    if deleted:
        await api.delete(mapi.Machine, NAME, namespace=OURS)
    await reconciled(api, MemoryReader(api))
    assert tree_of(api, capo.OpenStackMachine, "cp-1", THEIRS) == theirs
    assert (tree_of(api, capi.Machine, NAME, THEIRS) is None) == deleted


def test_a_machine_that_is_gone_does_not_keep_the_infra_machine_that_another_names() -> None:
    """The index of the caches still has the Machine, and the API server has said that it is gone."""
    seen = snapshot(machine_api=FIRST, cluster_api=None, infra_machine=changed(INFRA, metadata__name="w-0"))
    both = tuple(look(capi.Machine, changed(CAPI_MACHINE, metadata__name=name)) for name in ("w-0", "a-1"))
    nothing: list[Question[Any]] = [
        Cached(mapi.MachineSet, "ms", OURS),
        Cached(capi.MachineSet, "ms", THEIRS),
        Cached(config.Infrastructure, "cluster"),
    ]
    there: dict[Question[Any], Any] = {
        Cached(capi.Machine, "w-0", THEIRS): both[0],
        Indexed(capi.Machine, BY_INFRA_MACHINE, "w-0"): both,
    }
    seen = replace(seen, caches={**seen.caches, **dict.fromkeys(nothing, Absent()), **there})
    assert looked(seen).infra_users == ("a-1",)
