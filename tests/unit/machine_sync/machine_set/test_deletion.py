"""Deletion of MachineSets, row by row of the tables in `windlass.machine_sync.machine_set.deletion`."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, mapi
from windlass.kube.control.plan import Delete, Emit, Merge, Plan, RemoveFinalizers, Target, WaitFor
from windlass.kube.control.seen import Absent
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.mirroring.removal import Removal

from .cases import (
    AUTHORITY,
    BEHIND_CLUSTER_API,
    CAPI_SET,
    CLUSTER,
    CLUSTER_API_FINALIZER,
    EARLIER,
    GONE,
    MACHINE_SET_LABEL,
    MAPI_SET,
    NOW,
    PAUSED,
    SYNC,
    THEIRS,
    Tree,
    changed,
    snapshot,
    template,
)
from .deletions import MIRROR, going, machine, steps, taken_off
from .world import at_rest, capi_of, mapi_of, templates_of

UNPAUSED = changed(CAPI_SET, metadata__annotations={AUTHORITY: "MachineAPI"})


def decided(**case: Any) -> Plan:
    return decide(snapshot(**case), now=NOW)


class TestMachineApi:
    """The Machine API is authoritative."""

    def test_a_mirror_that_is_being_deleted_takes_its_set_along(self) -> None:
        plan = decided(cluster_api=going(CAPI_SET))
        assert steps(plan) == [("Delete", mapi.MachineSet)]

    def test_a_set_takes_its_mirror_and_its_templates_along(self) -> None:
        ours, users = template("ms-00000000"), template("mine", made_for=None)
        plan = decided(machine_api=going(MAPI_SET), cluster_api=CAPI_SET, templates=(ours, users))
        assert steps(plan) == [("Delete", capi.MachineSet), ("Delete", capo.OpenStackMachineTemplate)]
        assert plan.needed[1].target.name == "ms-00000000"

    @pytest.mark.parametrize(
        ("finalizers", "disowned", "propagation"),
        [
            ((), False, ""),
            (("foregroundDeletion",), False, "Foreground"),
            (("orphan",), False, "Orphan"),
            ((), True, "Orphan"),
        ],
    )
    def test_the_propagation_that_was_chosen_for_the_mirror_is_that_of_the_set(
        self, finalizers: tuple[str, ...], disowned: bool, propagation: str
    ) -> None:
        mirror = going(MIRROR, finalizers=[SYNC, *finalizers])
        (delete,) = decided(cluster_api=mirror, owned=("w-0",), disowned=disowned).needed
        assert isinstance(delete, Delete)
        assert (delete.target.kind, delete.propagation) == (mapi.MachineSet, propagation)

    def test_a_mirror_with_an_owner_that_no_mirror_has_goes_alone(self) -> None:
        strange = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone-uid"}
        owners = [*MIRROR["metadata"]["ownerReferences"], strange]
        plan = decided(cluster_api=going(changed(MIRROR, metadata__ownerReferences=owners)))
        assert steps(plan) == [("RemoveFinalizers", capi.MachineSet)]

    @pytest.mark.parametrize("cluster", [None, going(CLUSTER), changed(CLUSTER, metadata__uid="made-anew")])
    def test_a_mirror_that_goes_for_the_sake_of_its_cluster_goes_alone(self, cluster: Tree | None) -> None:
        mirror = going(MIRROR, finalizers=[CLUSTER_API_FINALIZER, SYNC, "foregroundDeletion"])
        plan = decided(cluster_api=mirror, cluster=cluster)
        assert steps(plan) == [("RemoveFinalizers", capi.MachineSet)]
        assert taken_off(plan) == {capi.MachineSet: []}

    def test_machines_of_cluster_api_are_deleted_before_their_set(self) -> None:
        there = {"templates": (template("ms-00000000"),), "owned": ("w-0", "w-1")}
        plan = decided(machine_api=going(MAPI_SET), cluster_api=MIRROR, acting=(machine("w-1"),), **there)
        assert steps(plan) == [("Delete", capi.Machine)]
        assert plan.needed[0].target == Target(capi.Machine, "w-1", THEIRS, "uid-of-w-1", "7")
        plan = decided(machine_api=going(MAPI_SET), cluster_api=MIRROR, acting=(going(machine("w-1")),), **there)
        assert plan.needed == ()
        assert plan.next == WaitFor("Cluster API to delete the machines of the set: w-1")

    def test_the_mirror_is_deleted_with_orphan(self) -> None:
        (delete,) = decided(machine_api=going(MAPI_SET), cluster_api=MIRROR, owned=("w-0",)).needed
        assert isinstance(delete, Delete)
        assert delete.propagation == "Orphan"

    @pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion"])
    def test_the_mirror_stays_until_the_collector_has_taken_its_machines_off(self, finalizer: str) -> None:
        mirror = going(MIRROR, finalizers=[CLUSTER_API_FINALIZER, SYNC, finalizer])
        plan = decided(machine_api=going(MAPI_SET), cluster_api=mirror, owned=("w-0", "w-1"))
        assert plan.needed == ()
        assert plan.next == WaitFor("the garbage collector to take 2 machines off the set")

    def test_a_mirror_that_somebody_deleted_otherwise_is_deleted_again_with_orphan(self) -> None:
        (delete,) = decided(machine_api=going(MAPI_SET), cluster_api=going(MIRROR), owned=("w-0",)).needed
        assert isinstance(delete, Delete)
        assert (delete.target.kind, delete.propagation) == (capi.MachineSet, "Orphan")

    def test_while_templates_are_there_nothing_is_let_go(self) -> None:
        still = template("ms-00000000", **GONE)
        plan = decided(machine_api=going(MAPI_SET), cluster_api=going(CAPI_SET), templates=(still,))
        assert plan.needed == ()
        assert plan.next == WaitFor("infrastructure templates to be gone: ms-00000000")

    def test_a_template_that_another_set_uses_is_not_waited_for(self) -> None:
        used = template("ms-00000000")
        plan = decided(
            machine_api=going(MAPI_SET),
            cluster_api=going(MIRROR),
            templates=(used,),
            users={"ms-00000000": ("other",)},
        )
        assert steps(plan) == [("RemoveFinalizers", capi.MachineSet)]

    def test_then_the_mirror_is_let_go_by_us_and_for_cluster_api_which_is_paused(self) -> None:
        plan = decided(machine_api=going(MAPI_SET), cluster_api=going(MIRROR))
        assert taken_off(plan) == {capi.MachineSet: []}
        assert plan.next == WaitFor("the Cluster API MachineSet to be gone")

    def test_cluster_api_that_is_not_paused_takes_its_own_finalizer_off(self) -> None:
        plan = decided(machine_api=going(MAPI_SET), cluster_api=going(UNPAUSED))
        assert plan.needed == ()
        assert plan.next == WaitFor("Cluster API, which is not paused, to finish deleting the MachineSet")

    def test_and_then_the_mirror_that_is_not_paused_is_let_go_by_us(self) -> None:
        plan = decided(machine_api=going(MAPI_SET), cluster_api=going(UNPAUSED, finalizers=[SYNC]))
        assert taken_off(plan) == {capi.MachineSet: []}
        assert plan.next == WaitFor("the Cluster API MachineSet to be gone")

    def test_the_finalizers_of_others_stay(self) -> None:
        held = going(MIRROR, finalizers=["example.com/backup", CLUSTER_API_FINALIZER, SYNC])
        assert taken_off(decided(machine_api=going(MAPI_SET), cluster_api=held)) == {
            capi.MachineSet: ["example.com/backup"]
        }

    @pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI"])
    def test_at_last_the_set_itself_once_its_mirror_is_gone(self, authority: str) -> None:
        tree = changed(MAPI_SET, spec__authoritativeAPI=authority, status__authoritativeAPI=authority)
        plan = decided(machine_api=going(tree))
        assert taken_off(plan) == {mapi.MachineSet: []}

    @pytest.mark.parametrize("tree", [MAPI_SET, BEHIND_CLUSTER_API])
    def test_templates_that_are_left_go_before_the_set(self, tree: Tree) -> None:
        plan = decided(machine_api=going(tree), templates=(template("ms-00000000"),))
        assert steps(plan) == [("Delete", capo.OpenStackMachineTemplate)]

    @pytest.mark.parametrize("tree", [MAPI_SET, BEHIND_CLUSTER_API])
    def test_an_absence_that_only_a_cache_knows_decides_nothing(self, tree: Tree) -> None:
        case = msgspec.structs.replace(snapshot(machine_api=going(tree)), cluster_api=Absent())
        plan = decide(case, now=NOW)
        assert plan.needed == ()
        assert isinstance(plan.next, WaitFor)


class TestClusterApi:
    """Cluster API is authoritative."""

    def test_a_mirror_that_is_deleted_goes_and_the_set_stays(self) -> None:
        ours = template("ms-00000000")
        plan = decided(machine_api=going(BEHIND_CLUSTER_API), cluster_api=CAPI_SET, templates=(ours,))
        assert taken_off(plan) == {capi.MachineSet: [CLUSTER_API_FINALIZER], mapi.MachineSet: []}
        assert [one.target.kind for one in plan.needed if isinstance(one, RemoveFinalizers)][-1] is mapi.MachineSet
        (told,) = [one for one in plan.needed if isinstance(one, Emit)]
        assert (told.reason, told.note) == (
            "MirrorReleased",
            "Its mirror in the Machine API is being deleted. MachineSet ms stays, and so do its machines that Cluster "
            "API is the authority of; they are no longer synchronized.",
        )
        (given_up,) = [one for one in plan.needed if isinstance(one, Merge)]
        assert given_up.target.name == "ms-00000000"
        assert [change.path for change in given_up.diff()] == [f"metadata.labels.{MACHINE_SET_LABEL}"]
        assert not [one for one in plan.needed if isinstance(one, Delete)]

    def test_a_set_takes_its_mirror_along(self) -> None:
        plan = decided(machine_api=BEHIND_CLUSTER_API, cluster_api=going(CAPI_SET))
        assert steps(plan) == [("Delete", mapi.MachineSet)]

    def test_the_mirror_stays_until_cluster_api_has_finished(self) -> None:
        plan = decided(
            machine_api=going(BEHIND_CLUSTER_API), cluster_api=going(CAPI_SET), templates=(template("ms-00000000"),)
        )
        assert plan.needed == ()
        assert plan.next == WaitFor("Cluster API to finish deleting the MachineSet")

    def test_a_mirror_that_still_has_machines_is_orphaned_before_it_goes(self) -> None:
        case = {"cluster_api": going(CAPI_SET, finalizers=[SYNC]), "owned": ("w-0",)}
        (delete,) = decided(machine_api=going(BEHIND_CLUSTER_API), **case).needed
        assert isinstance(delete, Delete)
        assert (delete.target.kind, delete.propagation) == (mapi.MachineSet, "Orphan")

    def test_then_templates_go_but_those_of_users(self) -> None:
        plan = decided(
            machine_api=going(BEHIND_CLUSTER_API),
            cluster_api=going(CAPI_SET, finalizers=[SYNC]),
            templates=(template("mine", made_for=None), template("ms-00000000")),
        )
        assert [one.target.name for one in plan.needed] == ["ms-00000000"]

    def test_and_then_both_are_let_go(self) -> None:
        plan = decided(machine_api=going(BEHIND_CLUSTER_API), cluster_api=going(CAPI_SET, finalizers=[SYNC]))
        assert taken_off(plan) == {capi.MachineSet: [], mapi.MachineSet: []}

    def test_without_a_mirror_our_finalizer_comes_off_when_cluster_api_has_finished(self) -> None:
        held = going(CAPI_SET)
        assert decided(machine_api=None, cluster_api=held).needed == ()
        done = going(CAPI_SET, finalizers=[SYNC])
        assert taken_off(decided(machine_api=None, cluster_api=done)) == {capi.MachineSet: []}

    def test_an_independent_set_is_deleted_without_us(self) -> None:
        alone = going(CAPI_SET, finalizers=[CLUSTER_API_FINALIZER])
        plan = decided(machine_api=None, cluster_api=alone, templates=(template("ms-00000000"),))
        assert plan.needed == ()

    def test_a_mirror_that_only_a_cache_misses_is_looked_for_first(self) -> None:
        done = going(CAPI_SET, finalizers=[SYNC])
        case = msgspec.structs.replace(snapshot(machine_api=None, cluster_api=done), machine_api=Absent())
        assert decide(case, now=NOW).needed == ()


class TestUnreadable:
    """The Machine API MachineSet cannot be read, and with it who is authoritative."""

    TREE = going(changed(MAPI_SET, spec__replicas="two"))

    def test_a_marked_mirror_goes_with_it(self) -> None:
        marked = changed(CAPI_SET, metadata__annotations={AUTHORITY: "MachineAPI"})
        assert steps(decided(machine_api=self.TREE, cluster_api=marked)) == [("Delete", capi.MachineSet)]

    def test_a_set_that_is_not_marked_stays(self) -> None:
        plan = decided(machine_api=self.TREE, cluster_api=CAPI_SET)
        assert taken_off(plan) == {capi.MachineSet: [CLUSTER_API_FINALIZER], mapi.MachineSet: []}

    def test_alone_it_goes(self) -> None:
        assert taken_off(decided(machine_api=self.TREE)) == {mapi.MachineSet: []}


class TestWhileClusterApiDeletesTheMachines:
    """The set of Cluster API is being deleted, and its mirror waits for it."""

    async def test_the_mirror_shows_how_many_are_left(self) -> None:
        plan = decided(cluster_api=self.left(1), machine_api=await self.mirror())
        (write,) = plan.needed
        assert isinstance(write, Merge)
        assert (write.target.kind, write.part) == (mapi.MachineSet, "status")
        assert write.desired["status"]["replicas"] == 1
        assert write.desired["status"]["synchronizedGeneration"] == 8
        assert plan.next == WaitFor("Cluster API to finish deleting the MachineSet")

    async def test_nothing_else_is_written_while_it_cannot_be_converted(self) -> None:
        plan = decided(cluster_api=self.left(1), machine_api=await self.mirror(), template=None)
        assert plan.needed == ()

    async def test_a_generation_that_went_down_is_not_noted(self) -> None:
        mirror = changed(await self.mirror(), status__synchronizedGeneration=99)
        assert decided(cluster_api=self.left(1), machine_api=mirror).needed == ()

    async def mirror(self) -> Tree:
        mirror = mapi_of(await at_rest(machine_api=BEHIND_CLUSTER_API, cluster_api=CAPI_SET))
        assert mirror is not None
        return going(mirror)

    def left(self, replicas: int) -> Tree:
        return changed(going(CAPI_SET), metadata__generation=8, status__replicas=replicas)


class TestLeftBehind:
    """The MachineSet of the Machine API was deleted by force, and its mirror is left."""

    def test_it_stays_paused_and_says_so(self) -> None:
        (told,) = decided(machine_api=None, cluster_api=MIRROR).actions
        assert isinstance(told, Emit)
        assert (told.type, told.reason) == ("Warning", "SynchronizationError")
        assert told.note.startswith("This is the copy of MachineSet ms of the Machine API, which is gone")

    def test_an_independent_set_says_nothing(self) -> None:
        assert decided(machine_api=None, cluster_api=CAPI_SET).actions == ()

    def test_it_can_be_deleted_although_cluster_api_is_paused(self) -> None:
        plan = decided(machine_api=None, cluster_api=going(MIRROR))
        assert taken_off(plan) == {capi.MachineSet: []}

    def test_its_templates_go_first_and_its_machines_stay(self) -> None:
        ours = template("ms-00000000")
        plan = decided(machine_api=None, cluster_api=going(MIRROR), templates=(ours,), owned=("w-0",))
        assert steps(plan) == [("Delete", capo.OpenStackMachineTemplate)]
        (orphan,) = decided(machine_api=None, cluster_api=going(MIRROR), owned=("w-0",)).needed
        assert isinstance(orphan, Delete)
        assert (orphan.target.kind, orphan.propagation) == (capi.MachineSet, "Orphan")

    def test_while_cluster_api_is_not_paused_it_is_waited_for(self) -> None:
        plan = decided(machine_api=None, cluster_api=going(UNPAUSED))
        assert plan.needed == ()
        assert plan.next == WaitFor("Cluster API to finish deleting the MachineSet")

    def test_its_absence_in_a_cache_proves_nothing(self) -> None:
        seen = replace(snapshot(machine_api=None, cluster_api=going(MIRROR)), machine_api=Absent())
        assert decide(seen, now=NOW).needed == ()


class TestSetsThatWereCreatedAfterTheDeletionOfTheMirror:
    """A user deleted what was left of an earlier set of the name."""

    LATER = changed(MAPI_SET, metadata__creationTimestamp="2026-05-01T00:00:01Z")
    MIRROR = changed(MIRROR, metadata__deletionTimestamp="2026-05-01T00:00:00Z")

    def test_the_mirror_goes_alone_once_it_owns_no_machines(self) -> None:
        (orphan,) = decided(machine_api=self.LATER, cluster_api=self.MIRROR, owned=("w-0",)).needed
        assert isinstance(orphan, Delete)
        assert (orphan.target.kind, orphan.propagation) == (capi.MachineSet, "Orphan")
        plan = decided(machine_api=self.LATER, cluster_api=self.MIRROR)
        assert taken_off(plan) == {capi.MachineSet: []}
        assert steps(plan) == [("RemoveFinalizers", capi.MachineSet)]

    def test_a_set_of_the_same_second_goes_with_its_mirror(self) -> None:
        same = changed(MAPI_SET, metadata__creationTimestamp="2026-05-01T00:00:00Z")
        assert steps(decided(machine_api=same, cluster_api=self.MIRROR)) == [("Delete", mapi.MachineSet)]


def says_paused(tree: Tree | None) -> Tree:
    assert tree is not None
    said = {"type": "Paused", "status": "True", "reason": "Told", "message": "", "lastTransitionTime": EARLIER}
    others = [one for one in tree["status"].get("conditions", []) if one["type"] != "Paused"]
    return changed(tree, status__conditions=[*others, said])


class TestWhileAuthorityMoves:
    """A mirror that is lost does not become the authority: it would take its set along."""

    @pytest.mark.parametrize("lost", [False, True])
    async def test_authority_goes_back_from_a_mirror_that_no_user_deleted(self, lost: bool) -> None:
        api = await at_rest()
        moving = self.moving(mapi_of(api), source="MachineAPI", to="ClusterAPI", generation=4)
        mirror, made = going(says_paused(capi_of(api))), tuple(templates_of(api).values())
        seen = snapshot(machine_api=moving, cluster_api=mirror, templates=made)
        seen = replace(seen, removal=Removal(capi.MachineSet, cause="namespace x" if lost else ""))
        assert self.arrives(decide(seen, now=NOW)) == (["MachineAPI"] if lost else [])

    @pytest.mark.parametrize("lost", [False, True])
    async def test_authority_goes_back_from_a_mirror_in_the_machine_api_that_is_being_deleted(self, lost: bool) -> None:
        api = await at_rest(machine_api=BEHIND_CLUSTER_API, cluster_api=CAPI_SET)
        moving = self.moving(mapi_of(api), source="ClusterAPI", to="MachineAPI", generation=7)
        source = says_paused(changed(CAPI_SET, metadata__annotations={PAUSED: "", AUTHORITY: "MachineAPI"}))
        plan = decided(machine_api=going(moving) if lost else moving, cluster_api=source)
        assert self.arrives(plan) == ([] if lost else ["MachineAPI"])

    def moving(self, found: Tree | None, *, source: str, to: str, generation: int) -> Tree:
        assert found is not None
        status = {"authoritativeAPI": "Migrating", "synchronizedAPI": source, "synchronizedGeneration": generation}
        return says_paused(changed(found, spec__authoritativeAPI=to, status={**found["status"], **status}))

    def arrives(self, plan: Plan) -> list[str]:
        return [
            action.desired["status"]["authoritativeAPI"]
            for action in plan.needed
            if isinstance(action, Merge) and action.part == "status"
        ]
