"""A mirror that is deleted with its CRD or namespace is released, and its authority stays."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Namespace
from windlass.api.meta import KubernetesObject
from windlass.kube.control.asking import Asker, ObjectAnswerer
from windlass.kube.control.plan import Delete, Outcome, Plan, RemoveFinalizers, Retry
from windlass.kube.control.question import KUBERNETES, Needs
from windlass.kube.control.seen import Seen
from windlass.kube.errors import Forbidden, NotServed, Status
from windlass.kube.verbs import PatchType
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.removal import Removal, why_deleted
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from .cases import (
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA,
    INFRA_FINALIZER,
    MAPI_MACHINE,
    NOW,
    SYNC,
    Tree,
    changed,
    condition,
    mirrored,
    notes,
    snapshot,
    under_machine_api,
)
from .deletions import going, steps
from .world import NAME, NAMESPACES, OURS, THEIRS, at_rest, reconciled, synchronized, tree_of, typed, world

IN_CLUSTER_API = Removal(capi.Machine, cause=f"namespace {THEIRS}")
IN_THE_MACHINE_API = Removal(mapi.Machine, cause="CustomResourceDefinition machines.machine.openshift.io")
UNKNOWN = "namespaces is forbidden"


def decided(removal: Removal, **case: Any) -> Plan:
    return decide(replace(snapshot(**case), removal=removal), now=NOW)


def terminating(kind: type[KubernetesObject], name: str) -> Tree:
    """A CRD or namespace that is being deleted, and waits for its objects."""
    meta = {"name": name, "uid": f"{name}-uid", "resourceVersion": "1", "finalizers": ["example.com/all-gone"], **GONE}
    return typed(kind, {"metadata": meta})


class TestUnderTheMachineApi:
    def test_mirror_and_infra_machine_are_released_and_the_condition_says_why(self) -> None:
        plan = decided(IN_CLUSTER_API, **self.going())
        assert steps(plan) == [
            ("Delete", "infra_machine"),
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
        ]
        orphan, off_infra, off = [one for one in plan.needed if isinstance(one, Delete | RemoveFinalizers)]
        assert isinstance(orphan, Delete)
        assert orphan.propagation == "Orphan", "what the provider made of it stays"
        assert isinstance(off_infra, RemoveFinalizers)
        assert INFRA_FINALIZER not in off_infra.desired, "its provider is paused"
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == []
        told = condition(plan)
        assert told["reason"] == "MirrorRemoved"
        assert told["message"] == (
            f"namespace {THEIRS} is being deleted, so there are no mirrors in Cluster API; the machine stays, and is "
            f"not synchronized. Create namespace {THEIRS} again, or stop Machine sync and run `windlass release --all`"
        )

    def test_the_mirror_does_not_wait_for_a_set_that_goes_with_it(self) -> None:
        goes = going(CAPI_SET, metadata__finalizers=["foregroundDeletion", SYNC])
        assert ("RemoveFinalizers", "cluster_api") in steps(
            decided(IN_CLUSTER_API, **self.going(), cluster_api_set=goes)
        )

    def test_an_infra_machine_that_stays_is_disowned_first(self) -> None:
        case = self.going()
        case["infra_machine"] = under_machine_api()["infra_machine"]
        plan = decided(IN_CLUSTER_API, **case)
        assert [change.path for change in plan.needed[-2].diff()] == ["metadata.ownerReferences"]
        assert steps(plan) == [("RemoveFinalizers", "cluster_api")]

    def test_without_an_answer_nothing_is_deleted_and_the_condition_names_the_right(self) -> None:
        plan = decided(Removal(capi.Machine, unknown=UNKNOWN), **self.going())
        assert steps(plan) == []
        assert isinstance(plan.next, Retry)
        told = condition(plan)
        assert told["reason"] == "FailedToUpdateCAPIMachine"
        assert UNKNOWN in told["message"]
        assert "`windlass manifests rbac machine-sync`" in told["message"]

    def test_an_infra_machine_whose_mirror_is_gone_is_released_too(self) -> None:
        case = {**self.going(), "cluster_api": None}
        plan = decided(IN_CLUSTER_API, **case)
        assert steps(plan) == [("Delete", "infra_machine"), ("RemoveFinalizers", "infra_machine")]
        assert condition(plan)["reason"] == "MirrorRemoved"

    def test_an_infra_machine_that_is_not_paused_is_its_providers(self) -> None:
        case = {**self.going(), "cluster_api": None, "infra_machine": going(INFRA)}
        assert steps(decided(IN_CLUSTER_API, **case)) == []

    def going(self) -> Tree:
        case = under_machine_api()
        for side, theirs in (("cluster_api", CLUSTER_API_FINALIZER), ("infra_machine", INFRA_FINALIZER)):
            case[side] = going(case[side], metadata__finalizers=[theirs, SYNC])
        return case


class TestUnderClusterApi:
    def test_the_mirror_is_released_and_an_event_says_why(self) -> None:
        plan = decided(IN_THE_MACHINE_API, machine_api=going(mirrored()))
        assert steps(plan) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]
        assert notes(plan) == [
            (
                "MirrorReleased",
                "Its mirror is deleted because CustomResourceDefinition machines.machine.openshift.io is being "
                "deleted; machine w-0 stays in Cluster API, and is no longer synchronized.",
            )
        ]

    def test_without_an_answer_nothing_is_deleted_and_the_condition_names_the_right(self) -> None:
        plan = decided(Removal(mapi.Machine, unknown=UNKNOWN), machine_api=going(mirrored()))
        assert steps(plan) == []
        assert isinstance(plan.next, Retry)
        assert condition(plan)["reason"] == "FailedToUpdateMAPIMachine"

    def test_the_mirror_does_not_wait_for_the_set_of_its_machine(self) -> None:
        plan = decided(IN_THE_MACHINE_API, machine_api=going(mirrored()), cluster_api_set=going(CAPI_SET))
        assert ("RemoveFinalizers", "machine_api") in steps(plan)

    def test_an_infra_machine_that_is_left_is_not_deleted(self) -> None:
        lone = changed(mirrored(), metadata__ownerReferences=None)
        case = {"machine_api": going(lone), "cluster_api": None}
        assert steps(decided(IN_THE_MACHINE_API, **case)) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "machine_api"),
        ]
        assert steps(decided(Removal(mapi.Machine, unknown=UNKNOWN), **case)) == []


CAUSES = (
    (Namespace, THEIRS),
    (CustomResourceDefinition, "machines.cluster.x-k8s.io"),
)


@pytest.mark.parametrize(("kind", "name"), CAUSES, ids=["namespace", "CRD"])
async def test_a_mirror_that_is_deleted_with_its_namespace_or_crd_leaves_its_machine(kind: Any, name: str) -> None:
    api = await at_rest(machine_api=MAPI_MACHINE)
    api.load(terminating(kind, name))
    await api.delete(capi.Machine, NAME, namespace=THEIRS)
    refusal = Forbidden(Status("Failure", "it is being terminated", "Forbidden", 403))
    api.fail_next("create", capi.Machine, refusal, times=9)
    await reconciled(api, MemoryReader(api))
    machine = tree_of(api, mapi.Machine, NAME, OURS)
    assert machine is not None
    assert "deletionTimestamp" not in machine["metadata"]
    assert tree_of(api, capi.Machine, NAME, THEIRS) is None
    assert synchronized(machine)["reason"] == "MirrorRemoved"
    assert name in synchronized(machine)["message"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Namespace, OURS), (CustomResourceDefinition, "machines.machine.openshift.io"), (Namespace, "another")],
)
async def test_a_mirror_that_is_deleted_while_something_else_goes_takes_its_machine_along(kind: Any, name: str) -> None:
    api = await at_rest(machine_api=MAPI_MACHINE)
    api.load(terminating(kind, name))
    await api.delete(capi.Machine, NAME, namespace=THEIRS)
    await reconciled(api, MemoryReader(api))
    machine = tree_of(api, mapi.Machine, NAME, OURS)
    assert machine is not None
    assert "deletionTimestamp" in machine["metadata"]


async def test_an_infra_machine_that_outlives_its_mirror_in_a_namespace_that_goes_is_released() -> None:
    api = await at_rest(machine_api=MAPI_MACHINE)
    api.load(terminating(Namespace, THEIRS))
    for kind, name in ((capi.Machine, NAME), (capo.OpenStackMachine, INFRA["metadata"]["name"])):
        await api.delete(kind, name, namespace=THEIRS)
    body = {"metadata": {"finalizers": None}}
    await api.patch(capi.Machine, NAME, body, type=PatchType.MERGE, namespace=THEIRS)
    refusal = Forbidden(Status("Failure", "it is being terminated", "Forbidden", 403))
    api.fail_next("create", None, refusal, times=9)
    await reconciled(api, MemoryReader(api))
    assert [held for found in api.listing(capo.OpenStackMachine) if SYNC in (held := found.metadata.finalizers)] == []
    machine = tree_of(api, mapi.Machine, NAME, OURS)
    assert machine is not None
    assert "deletionTimestamp" not in machine["metadata"]


async def test_nothing_is_looked_at_unless_a_mirror_is_being_deleted() -> None:
    api = await at_rest(machine_api=MAPI_MACHINE)
    reader = Counting(api)
    await reconciled(api, reader)
    assert reader.looked == []
    await api.delete(mapi.Machine, NAME, namespace=OURS)
    await reconciled(api, reader)
    assert reader.looked == [], "the authority is being deleted, and its mirror follows"


class Counting(MemoryReader):
    """Counts the looks at CRDs and namespaces."""

    def __init__(self, api: MemoryApi) -> None:
        super().__init__(api)
        self.looked: list[str] = []

    async def see(self, kind: Any, name: str, **how: Any) -> Seen[Any]:
        if kind in (CustomResourceDefinition, Namespace):
            self.looked.append(name)
        return await super().see(kind, name, **how)


async def test_what_could_not_be_created_for_lack_of_its_crd_is_told_in_the_crds_name() -> None:
    api = world(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None)
    refusal = NotServed(Status("Failure", "could not find the resource", "NotFound", 404))
    api.fail_next("create", capi.Machine, refusal, times=9)
    await reconciled(api, MemoryReader(api))
    told = synchronized(tree_of(api, mapi.Machine, NAME, OURS))
    assert told["reason"] == "MirrorRemoved"
    assert told["message"].startswith("CustomResourceDefinition machines.cluster.x-k8s.io does not exist")


async def learned(api: MemoryApi, kind: type[KubernetesObject]) -> Removal:
    """What a decision learns about the removal of objects of this kind."""
    found: list[Removal] = []

    def asking(seen: MachineSnapshot) -> Plan:
        found.append(why_deleted(seen, kind, namespaces=NAMESPACES, last=Outcome()))
        return Plan.nothing()

    asker = Asker({KUBERNETES: ObjectAnswerer(MemoryReader(api))})
    await asker.inquiry(NAME).decide(snapshot(), asking)
    return found[0]


async def test_a_missing_right_is_told() -> None:
    api = world()
    api.fail_next("get", Namespace, Forbidden(Status("Failure", UNKNOWN, "Forbidden", 403)))
    found = await learned(api, capi.Machine)
    assert (found.cause, found.unknown, found.spares) == ("", UNKNOWN, True)


async def test_a_kind_that_is_not_served_is_no_proof_that_nothing_goes() -> None:
    found = await learned(MemoryApi(Namespace), capi.Machine)
    assert found.unknown
    assert found.spares


async def test_where_both_stay_somebody_has_deleted_it() -> None:
    found = await learned(world(), capo.OpenStackMachine)
    assert found == Removal(capo.OpenStackMachine)
    assert not found.spares


def test_a_look_from_before_the_last_writes_does_not_tell_about_a_deletion_that_is_seen_now() -> None:
    seen = snapshot()
    assert not why_deleted(seen, capi.Machine, namespaces=NAMESPACES, last=Outcome()).spares
    later = replace(seen, answers=replace(seen.answers, round=2))
    with pytest.raises(Needs):
        why_deleted(later, capi.Machine, namespaces=NAMESPACES, last=Outcome())
