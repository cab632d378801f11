"""Deletion under either authority, row by row of the table in `windlass.machine_sync.machine.deletion`."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capo
from windlass.kube.control.plan import Delete, Done, Emit, Merge, RemoveFinalizers, WaitFor
from windlass.kube.control.seen import Absent
from windlass.machine_sync.machine.decide import decide

from .cases import (
    AUTHORITY,
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER,
    CLUSTER_API_FINALIZER,
    INFRA,
    INFRA_FINALIZER,
    MACHINE_API_FINALIZER,
    MAPI_MACHINE,
    MAPI_SET,
    NOW,
    SYNC,
    Tree,
    after,
    changed,
    condition,
    decided,
    mirrored,
    settled,
    snapshot,
    under_machine_api,
    writes,
)
from .deletions import going, steps

MIRROR: Tree = {
    "metadata": {
        "name": "w-0",
        "namespace": "openshift-machine-api",
        "uid": "mapi-uid",
        "resourceVersion": "5",
        "finalizers": [MACHINE_API_FINALIZER, SYNC],
        "ownerReferences": [
            {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "ms", "uid": "mapi-ms-uid"}
        ],
    },
    "spec": {"authoritativeAPI": "ClusterAPI"},
    "status": {"authoritativeAPI": "ClusterAPI"},
}
MARKED = {AUTHORITY: "MachineAPI"}
LONE = changed(MIRROR, metadata__ownerReferences=None)


def test_deleting_the_mirror_deletes_the_machine() -> None:
    plan = decided(machine_api=going(LONE))
    assert steps(plan) == [("Delete", "cluster_api")]
    assert plan.needed[0].target.uid == "capi-uid"


def test_deleting_the_mirror_with_its_own_machine_set_lets_it_go_and_keeps_the_machine() -> None:
    for machine_api_set in (None, going(MAPI_SET), changed(MAPI_SET, metadata__uid="made-anew")):
        plan = decided(machine_api=going(MIRROR), machine_api_set=machine_api_set)
        assert steps(plan) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]


@pytest.mark.parametrize(
    ("machine_api_set", "cluster_api_set"),
    [
        pytest.param(None, going(CAPI_SET), id="Cluster-API-deletes-its-set"),
        pytest.param(
            going(MAPI_SET), changed(CAPI_SET, metadata__annotations=MARKED), id="the-Machine-API-deletes-its-set"
        ),
    ],
)
def test_a_mirror_that_goes_with_its_set_says_nothing_while_the_set_of_its_machine_may_go_too(
    machine_api_set: Tree | None, cluster_api_set: Tree
) -> None:
    plan = decided(machine_api=going(MIRROR), machine_api_set=machine_api_set, cluster_api_set=cluster_api_set)
    assert plan.actions == ()
    assert plan.next == WaitFor("MachineSet ms to be gone, and the machine with it or without an owner")


@pytest.mark.parametrize("cluster_api_set", [None, changed(CAPI_SET, metadata__uid="made-anew")])
def test_a_mirror_that_has_lost_its_set_never_takes_the_machine_along(cluster_api_set: Tree | None) -> None:
    for source in (CAPI_MACHINE, changed(CAPI_MACHINE, metadata__ownerReferences=None)):
        case = {"machine_api": going(MIRROR), "machine_api_set": None, "cluster_api_set": cluster_api_set}
        assert steps(decided(cluster_api=source, **case)) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]


def test_deleting_the_mirror_alone_while_its_set_stays_deletes_the_machine() -> None:
    assert steps(decided(machine_api=going(MIRROR))) == [("Delete", "cluster_api")]


def test_deleting_the_machine_deletes_the_mirror_and_waits_for_the_infra_provider() -> None:
    plan = decided(cluster_api=going(CAPI_MACHINE), machine_api=MIRROR, infra_machine=going(INFRA))
    assert steps(plan) == [("Delete", "machine_api")]
    assert plan.next == WaitFor("the infrastructure provider to delete w-0-infra")


def test_nothing_is_done_twice_while_waiting() -> None:
    case = {"cluster_api": going(CAPI_MACHINE), "machine_api": going(mirrored()), "infra_machine": going(INFRA)}
    assert decided(**settled(**case)).needed == ()


def test_the_infra_machine_goes_when_its_provider_is_done() -> None:
    plan = decided(
        cluster_api=going(CAPI_MACHINE),
        machine_api=going(MIRROR),
        infra_machine=going(INFRA, metadata__finalizers=[SYNC]),
    )
    assert steps(plan) == [("RemoveFinalizers", "infra_machine")]
    assert plan.next == WaitFor("Cluster API to finish deleting the machine")


def test_mirror_and_machine_go_together_when_cluster_api_is_done() -> None:
    plan = decided(
        cluster_api=going(CAPI_MACHINE, metadata__finalizers=[SYNC]), machine_api=going(MIRROR), infra_machine=None
    )
    assert steps(plan) == [("RemoveFinalizers", "machine_api"), ("RemoveFinalizers", "cluster_api")]
    off_mirror, _ = plan.needed
    assert isinstance(off_mirror, RemoveFinalizers)
    assert off_mirror.desired == []


def test_finalizers_of_others_stay_on_the_mirror() -> None:
    mirror = going(MIRROR, metadata__finalizers=["example.com/mine", MACHINE_API_FINALIZER, SYNC])
    plan = decided(cluster_api=going(CAPI_MACHINE, metadata__finalizers=[SYNC]), machine_api=mirror, infra_machine=None)
    off_mirror = plan.needed[0]
    assert isinstance(off_mirror, RemoveFinalizers)
    assert off_mirror.desired == ["example.com/mine"]


def test_a_machine_being_deleted_without_a_mirror_loses_our_finalizers() -> None:
    plan = decided(cluster_api=going(CAPI_MACHINE), infra_machine=INFRA)
    assert steps(plan) == [("RemoveFinalizers", "infra_machine"), ("RemoveFinalizers", "cluster_api")]
    kept = [action.desired for action in plan.needed if isinstance(action, RemoveFinalizers)]
    assert kept == [[INFRA_FINALIZER], [CLUSTER_API_FINALIZER]]


def test_a_mirror_being_deleted_without_a_machine_is_let_go() -> None:
    assert steps(decided(cluster_api=None, machine_api=going(MIRROR), infra_machine=None)) == [
        ("RemoveFinalizers", "machine_api")
    ]


def test_a_mirror_is_not_let_go_while_an_infra_machine_is_left() -> None:
    plan = decided(cluster_api=None, machine_api=going(MIRROR))
    assert steps(plan) == [("Delete", "infra_machine")]
    assert plan.next == WaitFor("the infrastructure provider to delete w-0-infra")
    assert decided(cluster_api=None, machine_api=going(MIRROR), infra_machine=going(INFRA)).needed == ()


def test_an_infra_machine_is_not_deleted_while_only_a_cache_says_that_its_machine_is_gone() -> None:
    seen = snapshot(cluster_api=None, machine_api=going(MIRROR))
    plan = decide(replace(seen, cluster_api=Absent(confirmed=False)), now=NOW)
    assert plan.needed == ()
    assert isinstance(plan.next, WaitFor)


def test_an_infra_machine_that_only_we_hold_is_let_go_before_the_mirror() -> None:
    plan = decided(cluster_api=None, machine_api=going(MIRROR), infra_machine=going(INFRA, metadata__finalizers=[SYNC]))
    assert steps(plan) == [("RemoveFinalizers", "infra_machine")]


def test_deletion_needs_no_infra_cluster_and_no_valid_references() -> None:
    broken = changed(CAPI_MACHINE, spec__clusterName="", metadata__finalizers=[SYNC])
    plan = decided(cluster_api=going(broken), machine_api=going(MIRROR), infra_machine=None, infra_cluster=None)
    assert steps(plan) == [("RemoveFinalizers", "machine_api"), ("RemoveFinalizers", "cluster_api")]


def test_a_machine_that_cannot_be_read_can_still_be_deleted() -> None:
    broken = changed(CAPI_MACHINE, spec="none", metadata__finalizers=[SYNC])
    plan = decided(cluster_api=going(broken), machine_api=going(MIRROR), infra_machine=None)
    assert steps(plan) == [("RemoveFinalizers", "machine_api"), ("RemoveFinalizers", "cluster_api")]


class TestMirrorsThatTheCollectorDeleted:
    """The Machine API is authoritative, and nobody has deleted its Machine."""

    LOST = (
        pytest.param(None, id="its-set-is-gone"),
        pytest.param(changed(CAPI_SET, metadata__uid="made-anew"), id="its-set-was-made-anew"),
    )

    @pytest.mark.parametrize("cluster_api_set", LOST)
    def test_a_mirror_without_its_set_goes_alone_and_is_made_again(self, cluster_api_set: Tree | None) -> None:
        case = self.collected()
        plan = decided(**case, cluster_api_set=cluster_api_set)
        assert steps(plan) == [("RemoveFinalizers", "cluster_api")]
        end = settled(**case, cluster_api_set=changed(CAPI_SET, metadata__uid="made-anew"))
        assert "deletionTimestamp" not in end["machine_api"]["metadata"]
        assert end["cluster_api"]["metadata"]["uid"] == "new-capi-uid"
        assert end["cluster_api"]["metadata"]["ownerReferences"][0]["uid"] == "made-anew"

    def test_its_infra_machine_is_taken_off_it_first_and_keeps_the_instance(self) -> None:
        plan = decided(**self.collected(), cluster_api_set=None)
        disown, off = plan.needed
        assert [change.path for change in disown.diff()] == ["metadata.ownerReferences"]
        assert isinstance(disown, Merge)
        assert disown.desired == {"metadata": {}}
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == []

    def test_an_infra_machine_that_goes_with_it_leaves_what_its_provider_made_of_it(self) -> None:
        case = self.collected()
        case["infra_machine"] = going(case["infra_machine"], metadata__finalizers=[INFRA_FINALIZER, SYNC])
        orphan, _ = decided(**case, cluster_api_set=None).needed
        assert isinstance(orphan, Delete)
        assert (orphan.target.kind, orphan.propagation) == (capo.OpenStackMachine, "Orphan")

    def test_an_infra_machine_without_an_owner_is_not_written(self) -> None:
        case = self.collected()
        case["infra_machine"] = changed(case["infra_machine"], metadata__ownerReferences=None)
        assert writes(decided(**case, cluster_api_set=None)) == [("RemoveFinalizers", "cluster_api")]

    def test_when_its_set_goes_in_the_foreground_that_set_decides(self) -> None:
        goes = going(CAPI_SET, metadata__annotations=MARKED, metadata__finalizers=["foregroundDeletion", SYNC])
        plan = decided(**self.collected(), cluster_api_set=goes)
        assert plan.actions == ()
        assert plan.next == WaitFor("MachineSet ms to be deleted in the Machine API as it is in Cluster API")
        for machine_api_set in (going(MAPI_SET), None):
            plan = decided(**self.collected(), cluster_api_set=goes, machine_api_set=machine_api_set)
            assert steps(plan) == [("RemoveFinalizers", "cluster_api")]

    @pytest.mark.parametrize(
        "cluster_api_set",
        [
            pytest.param(CAPI_SET, id="somebody"),
            pytest.param(going(CAPI_SET, metadata__annotations=MARKED), id="somebody-while-a-mirror-goes"),
            pytest.param(going(CAPI_SET, metadata__finalizers=["foregroundDeletion"]), id="Cluster-API"),
        ],
    )
    def test_what_somebody_or_cluster_api_deletes_takes_its_machine_along(self, cluster_api_set: Tree) -> None:
        assert steps(decided(**self.collected(), cluster_api_set=cluster_api_set)) == [("Delete", "machine_api")]

    @pytest.mark.parametrize("cluster", [None, going(CLUSTER), changed(CLUSTER, metadata__uid="made-anew")])
    def test_a_mirror_that_goes_for_the_sake_of_its_cluster_goes_alone(self, cluster: Tree | None) -> None:
        case = self.of_the_cluster()
        assert steps(decided(**case, cluster=cluster)) == [("RemoveFinalizers", "cluster_api")]

    def test_a_mirror_whose_cluster_stays_takes_its_machine_along(self) -> None:
        assert steps(decided(**self.of_the_cluster())) == [("Delete", "machine_api")]

    def test_none_is_made_for_a_cluster_that_is_being_deleted(self) -> None:
        alone = changed(MAPI_MACHINE, metadata__ownerReferences=None)
        plan = decided(machine_api=alone, cluster_api=None, infra_machine=None, cluster=going(CLUSTER))
        assert condition(plan)["message"].endswith('clusters.cluster.x-k8s.io "c" is being deleted')

    def of_the_cluster(self) -> Tree:
        case = under_machine_api(machine_api=changed(MAPI_MACHINE, metadata__ownerReferences=None))
        assert case["cluster_api"]["metadata"]["ownerReferences"][0]["kind"] == "Cluster"
        return {**case, "cluster_api": going(case["cluster_api"])}

    def collected(self) -> Tree:
        case = under_machine_api()
        finalizers = [CLUSTER_API_FINALIZER, SYNC, "foregroundDeletion"]
        return {**case, "cluster_api": going(case["cluster_api"], metadata__finalizers=finalizers)}


STRANGE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone-uid"}


@pytest.mark.parametrize("own", [True, False], ids=["beside its own", "instead of its own"])
class TestMirrorsWithAnOwnerThatNoMirrorHas:
    """Anybody who may change a mirror can give it an owner that does not exist, and the collector deletes it."""

    def test_its_machine_stays_in_the_machine_api(self, own: bool) -> None:
        case = under_machine_api()
        case["cluster_api"] = going(strange(case["cluster_api"], own))
        there = after(decided(**case), **case)
        assert there["cluster_api"] is None
        assert "deletionTimestamp" not in there["machine_api"]["metadata"]

    def test_its_machine_stays_in_cluster_api(self, own: bool) -> None:
        case = {"machine_api": going(strange(MIRROR, own)), "cluster_api": CAPI_MACHINE}
        plan = decided(**case)
        there = after(plan, **case)
        assert there["machine_api"] is None
        assert "deletionTimestamp" not in there["cluster_api"]["metadata"]
        assert "was deleted while it had an owner that no mirror has" in str(plan.actions)


def test_an_owner_in_another_version_of_its_group_is_the_one_that_a_mirror_has() -> None:
    """Cluster API wrote v1beta1 before, and a user deletes the mirror."""
    mirror = under_machine_api()["cluster_api"]
    earlier = [{**each, "apiVersion": "cluster.x-k8s.io/v1beta1"} for each in mirror["metadata"]["ownerReferences"]]
    case = under_machine_api()
    case["cluster_api"] = going(changed(mirror, metadata__ownerReferences=earlier))
    assert "deletionTimestamp" in after(decided(**case), **case)["machine_api"]["metadata"]


def strange(mirror: Tree, own: bool) -> Tree:
    owners = mirror["metadata"]["ownerReferences"] if own else []
    return changed(mirror, metadata__ownerReferences=[*owners, STRANGE])


ACTING_SET = changed(MAPI_SET, status__authoritativeAPI="MachineAPI")
OF_THE_CLUSTER = [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "cluster-uid"}]


@pytest.mark.parametrize("owners", [None, OF_THE_CLUSTER])
class TestMirrorsThatASetOfTheMachineApiAdopted:
    """Its selector matches the mirror of a machine that belongs to no set, and then it has one too many."""

    def test_one_that_the_set_deletes_goes_and_its_machine_stays(self, owners: list[Tree] | None) -> None:
        alone = changed(CAPI_MACHINE, metadata__ownerReferences=owners)
        plan = decided(machine_api=going(MIRROR), cluster_api=alone, machine_api_set=ACTING_SET)
        assert steps(plan) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]
        assert [action.reason for action in plan.needed if isinstance(action, Emit)] == ["MirrorReleased"]

    def test_no_other_is_made_for_the_set_to_adopt(self, owners: list[Tree] | None) -> None:
        alone = changed(CAPI_MACHINE, metadata__ownerReferences=owners)
        end = settled(machine_api=going(MIRROR), cluster_api=alone, machine_api_set=ACTING_SET)
        assert end["machine_api"] is None
        assert end["cluster_api"]["metadata"].get("deletionTimestamp") is None

    def test_one_that_stays_stays_the_sets(self, owners: list[Tree] | None) -> None:
        """Else it would be adopted again each time, and the set have one too many each time."""
        alone = changed(CAPI_MACHINE, metadata__ownerReferences=owners)
        end = settled(machine_api=MIRROR, cluster_api=alone, machine_api_set=ACTING_SET)
        assert end["machine_api"]["metadata"]["ownerReferences"] == MIRROR["metadata"]["ownerReferences"]
        assert end["machine_api"]["status"]["conditions"][0]["status"] == "True"

    @pytest.mark.parametrize(
        "machine_api_set",
        [
            None,
            changed(MAPI_SET, status__authoritativeAPI="ClusterAPI"),
            changed(ACTING_SET, metadata__uid="made-anew"),
        ],
    )
    def test_one_whose_set_adopts_nothing_is_taken_off_it(
        self, owners: list[Tree] | None, machine_api_set: Tree | None
    ) -> None:
        alone = changed(CAPI_MACHINE, metadata__ownerReferences=owners)
        end = settled(machine_api=MIRROR, cluster_api=alone, machine_api_set=machine_api_set)
        assert "ownerReferences" not in end["machine_api"]["metadata"]


class TestOwnersOfASetThatGoes:
    """It may have given its machines back already, and then it must not get them again."""

    @pytest.mark.parametrize(
        "sets",
        [
            {"cluster_api_set": going(CAPI_SET)},
            {"machine_api_set": going(MAPI_SET)},
            {"machine_api_set": going(MAPI_SET), "cluster_api_set": None},
            {"machine_api_set": None, "cluster_api_set": None},
        ],
    )
    @pytest.mark.parametrize("disowned", [False, True])
    def test_a_mirror_in_cluster_api_keeps_those_that_it_has(self, sets: Tree, disowned: bool) -> None:
        case = under_machine_api()
        if disowned:
            del case["cluster_api"]["metadata"]["ownerReferences"]
        assert decided(**case, **sets).needed == ()
        case["machine_api"] = changed(case["machine_api"], metadata__labels={"team": "b"})
        (mirrored, *_) = decided(**case, **sets).needed
        assert "metadata.labels.team" in [change.path for change in mirrored.diff()], "all else is still mirrored"
        assert not [change for change in mirrored.diff() if "ownerReferences" in change.path]

    def test_a_mirror_whose_machine_was_given_back_belongs_to_the_cluster(self) -> None:
        case = under_machine_api()
        case["machine_api"] = changed(case["machine_api"], metadata__ownerReferences=None)
        end = settled(**case, cluster_api_set=going(CAPI_SET))
        (owner,) = end["cluster_api"]["metadata"]["ownerReferences"]
        assert owner["kind"] == "Cluster"

    @pytest.mark.parametrize("disowned", [False, True])
    def test_a_mirror_in_the_machine_api_keeps_those_that_it_has(self, disowned: bool) -> None:
        mirror = mirrored()
        if disowned:
            del mirror["metadata"]["ownerReferences"]
        assert [*writes(decided(machine_api=mirror, machine_api_set=going(MAPI_SET)))] == []

    def test_none_is_made_for_a_machine_of_such_a_set(self) -> None:
        for sets in ({"machine_api_set": going(MAPI_SET)}, {"cluster_api_set": going(CAPI_SET)}):
            plan = decided(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None, **sets)
            assert plan.actions == ()
            assert isinstance(plan.next, WaitFor)


class TestLeftBehind:
    """The Machine of the Machine API was deleted by force, and its mirror is left."""

    def test_it_stays_paused_and_says_so(self) -> None:
        case = {**under_machine_api(), "machine_api": None}
        (told,) = decided(**case).actions
        assert isinstance(told, Emit)
        assert (told.type, told.reason) == ("Warning", "SynchronizationError")
        assert told.note.startswith("This is the copy of Machine w-0 of the Machine API, which is gone")

    def test_it_can_be_deleted_although_cluster_api_is_paused(self) -> None:
        case = {**under_machine_api(), "machine_api": None}
        case["cluster_api"] = going(case["cluster_api"])
        case["infra_machine"]["metadata"]["finalizers"] = [INFRA_FINALIZER, SYNC]
        off_infra, off = decided(**case).needed
        assert isinstance(off_infra, RemoveFinalizers)
        assert off_infra.desired == [INFRA_FINALIZER], "the instance may be there"
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == []


class TestInfraMachinesThatAreDeletedUnderALivingMachine:
    """Cluster API is authoritative; somebody deleted only its infra machine."""

    def test_it_is_released_when_its_provider_has_deleted_the_instance(self) -> None:
        plan = decided(machine_api=mirrored(), infra_machine=going(INFRA, metadata__finalizers=[SYNC]))
        (off,) = plan.needed
        assert isinstance(off, RemoveFinalizers)
        assert (off.target.kind, off.desired) == (capo.OpenStackMachine, [])

    @pytest.mark.parametrize("held", [INFRA_FINALIZER, "example.com/mine"])
    def test_while_others_hold_it_our_finalizer_stays(self, held: str) -> None:
        infra = going(INFRA, metadata__finalizers=[held, SYNC])
        assert steps(decided(machine_api=mirrored(), infra_machine=infra)) == []

    def test_then_the_condition_says_that_it_is_missing(self) -> None:
        assert condition(decided(machine_api=mirrored(), infra_machine=None))["status"] == "False"


DELETING: Tree = {"status__phase": "Deleting", "metadata__generation": 9, "metadata__labels": {"team": "b"}}


class TestWhileADeletionWaits:
    """For a drain or a hook: both Machines say that they are being deleted, and what changes is still mirrored."""

    def test_a_mirror_in_the_machine_api_is_kept_up_to_date(self) -> None:
        labels = {**CAPI_MACHINE["metadata"]["labels"], "team": "b"}
        source = going(CAPI_MACHINE, **{**DELETING, "metadata__labels": labels})
        case = {"cluster_api": source, "machine_api": going(mirrored()), "infra_machine": going(INFRA)}
        end = settled(**case)
        self.assert_told(end, end["machine_api"])
        assert (end["cluster_api"], end["infra_machine"]) == (source, case["infra_machine"])

    def test_a_mirror_in_cluster_api_is_kept_up_to_date(self) -> None:
        case = self.under_machine_api()
        end = settled(**case)
        self.assert_told(end, end["cluster_api"])
        assert end["infra_machine"] == case["infra_machine"], "it goes as it is"

    def test_what_is_no_mirror_is_not_made_one(self) -> None:
        case = self.under_machine_api()
        case["cluster_api"] = going(CAPI_MACHINE)
        assert decided(**case).needed == ()

    def test_a_mirror_that_cannot_be_converted_any_more_stays_as_it_is(self) -> None:
        """The infra machine is gone before the Machine is."""
        case = {"cluster_api": going(CAPI_MACHINE, **DELETING), "machine_api": going(mirrored())}
        plan = decided(**case, infra_machine=None)
        assert (plan.needed, plan.next) == ((), WaitFor("Cluster API to finish deleting the machine"))

    def test_a_generation_that_went_down_is_not_noted(self) -> None:
        """The API refuses it, and the deletion must not wait for that."""
        mirror = changed(going(mirrored()), status__synchronizedGeneration=99)
        plan = decided(cluster_api=going(CAPI_MACHINE), machine_api=mirror, infra_machine=going(INFRA))
        assert plan.needed == ()

    def assert_told(self, end: Tree, mirror: Tree) -> None:
        assert mirror["status"]["phase"] == "Deleting"
        assert mirror["metadata"]["labels"]["team"] == "b"
        status = end["machine_api"]["status"]
        assert status["synchronizedGeneration"] == 9
        (told,) = [one for one in status["conditions"] if one["type"] == "Synchronized"]
        assert told["status"] == "True"

    def under_machine_api(self) -> Tree:
        case = under_machine_api()
        case["machine_api"] = changed(case["machine_api"], **DELETING)
        return {**case, **{side: going(case[side]) for side in ("machine_api", "cluster_api", "infra_machine")}}


class TestMachinesThatWereCreatedAfterTheDeletionOfTheMirror:
    """A user deleted the mirror of an earlier machine, and something still holds it."""

    LATER = "2026-05-01T00:00:01Z"
    SAME = "2026-05-01T00:00:00Z"

    def test_under_the_machine_api_the_mirror_goes_alone(self) -> None:
        case = under_machine_api()
        case["cluster_api"] = changed(case["cluster_api"], metadata__deletionTimestamp=self.SAME)
        later = changed(case["machine_api"], metadata__creationTimestamp=self.LATER)
        assert steps(decided(**{**case, "machine_api": later})) == [("RemoveFinalizers", "cluster_api")]
        same = changed(case["machine_api"], metadata__creationTimestamp=self.SAME)
        assert steps(decided(**{**case, "machine_api": same})) == [("Delete", "machine_api")]

    def test_under_cluster_api_the_mirror_goes_alone(self) -> None:
        mirror = changed(mirrored(), metadata__deletionTimestamp=self.SAME)
        later = changed(CAPI_MACHINE, metadata__creationTimestamp=self.LATER)
        plan = decided(cluster_api=later, machine_api=mirror)
        assert steps(plan) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]
        (told,) = [action.note for action in plan.needed if isinstance(action, Emit)]
        assert told.startswith("Its mirror was deleted before this machine was created")
        same = changed(CAPI_MACHINE, metadata__creationTimestamp=self.SAME)
        assert steps(decided(cluster_api=same, machine_api=mirror)) == [("Delete", "cluster_api")]


class TestUnderTheMachineApi:
    def test_a_user_who_deletes_the_mirror_deletes_the_machine(self) -> None:
        case = under_machine_api()
        plan = decided(**{**case, "cluster_api": going(case["cluster_api"])})
        assert steps(plan) == [("Delete", "machine_api")]
        assert plan.next == WaitFor("the Machine API to delete the machine")

    def test_mirror_and_infra_machine_are_deleted_and_the_machine_api_is_waited_for(self) -> None:
        case = under_machine_api()
        plan = decided(**{**case, "machine_api": going(case["machine_api"])})
        assert steps(plan) == [("Delete", "cluster_api"), ("Delete", "infra_machine")]
        assert plan.next == WaitFor("the Machine API to finish deleting the machine")
        waiting = {side: going(case[side]) for side in ("machine_api", "cluster_api", "infra_machine")}
        assert decided(**settled(**waiting)).needed == ()

    def test_when_it_is_done_all_go_the_authority_last(self) -> None:
        case = self.finished()
        plan = decided(**case)
        assert steps(plan) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]
        assert [action.desired for action in plan.needed if isinstance(action, RemoveFinalizers)] == [[], [], []]
        assert settled(**case) == {**case, "machine_api": None, "cluster_api": None, "infra_machine": None}

    def test_finalizers_of_others_stay(self) -> None:
        case = self.finished()
        for side in ("infra_machine", "cluster_api", "machine_api"):
            case[side]["metadata"]["finalizers"].append("example.com/mine")
        plan = decided(**case)
        kept = [action.desired for action in plan.needed if isinstance(action, RemoveFinalizers)]
        assert kept == [["example.com/mine"]] * 3

    def test_without_a_mirror_only_ours_comes_off(self) -> None:
        lone = going(under_machine_api()["machine_api"])
        plan = decided(machine_api=lone, cluster_api=None, infra_machine=None)
        (off,) = plan.needed
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == [MACHINE_API_FINALIZER]
        assert isinstance(plan.next, Done)

    @pytest.mark.parametrize("side", ["cluster_api", "infra_machine"])
    def test_an_absence_that_only_a_cache_knows_is_not_enough(self, side: str) -> None:
        case = {**self.finished(), side: None}
        seen = replace(snapshot(**case), **{side: Absent(confirmed=False)})
        assert decide(seen, now=NOW).needed == ()

    @pytest.mark.parametrize("side", ["cluster_api", "infra_machine"])
    def test_what_is_left_goes_without_the_other(self, side: str) -> None:
        case = {**self.finished(), side: None}
        end = settled(**case)
        assert (end["machine_api"], end["cluster_api"], end["infra_machine"]) == (None, None, None)

    def test_nothing_is_made_for_a_machine_that_is_going(self) -> None:
        case = under_machine_api()
        leaving = going(case["machine_api"], spec__providerSpec__value__flavor="m1.huge")
        assert steps(decided(**{**case, "machine_api": leaving, "infra_machine": None})) == [("Delete", "cluster_api")]

    @pytest.mark.parametrize("authority", ["ClusterAPI", "MachineAPI"])
    def test_a_move_does_not_begin_while_either_side_is_going(self, authority: str) -> None:
        case = under_machine_api()
        asked = changed(case["machine_api"], spec__authoritativeAPI=authority)
        plan = decided(**{**case, "machine_api": going(asked)})
        assert steps(plan) == [("Delete", "cluster_api"), ("Delete", "infra_machine")]

    def test_what_is_not_paused_is_not_stripped_but_finishes_itself(self) -> None:
        """A machine of Cluster API that never became a mirror: its instance is its own."""
        case = self.finished()
        case["infra_machine"] = going(INFRA)
        plan = decided(**case)
        assert (plan.needed, plan.next) == (
            (),
            WaitFor("the infrastructure provider, which is not paused, to delete w-0-infra"),
        )
        case["infra_machine"], case["cluster_api"] = going(INFRA, metadata__finalizers=[SYNC]), going(CAPI_MACHINE)
        plan = decided(**case)
        assert steps(plan) == [("RemoveFinalizers", "infra_machine")]
        assert plan.next == WaitFor("Cluster API, which is not paused, to finish deleting w-0")
        case["infra_machine"], case["cluster_api"] = None, going(CAPI_MACHINE, metadata__finalizers=[SYNC])
        assert steps(decided(**case)) == [("RemoveFinalizers", "cluster_api"), ("RemoveFinalizers", "machine_api")]

    def finished(self) -> Tree:
        """Everything is being deleted, and the Machine API's own controllers are done."""
        case = under_machine_api()
        case["infra_machine"]["metadata"]["finalizers"] = [INFRA_FINALIZER, SYNC]
        case["machine_api"]["metadata"]["finalizers"] = [SYNC]
        return {**case, **{side: going(case[side]) for side in ("machine_api", "cluster_api", "infra_machine")}}


class TestUnreadable:
    """The Machine of the Machine API cannot be read, so nobody knows whose authority it is but by its mirror."""

    def test_a_mirror_of_it_says_so_and_goes_with_it(self) -> None:
        case = self.broken(**under_machine_api())
        plan = decided(**{**case, "machine_api": going(case["machine_api"])})
        assert steps(plan) == [("Delete", "cluster_api"), ("Delete", "infra_machine")]
        end = {side: going(case[side]) for side in ("machine_api", "cluster_api", "infra_machine")}
        end["machine_api"]["metadata"]["finalizers"] = [SYNC]
        assert steps(decided(**{**case, **end})) == [
            ("RemoveFinalizers", "infra_machine"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]

    def test_deleting_its_mirror_deletes_it(self) -> None:
        case = self.broken(**under_machine_api())
        assert steps(decided(**{**case, "cluster_api": going(case["cluster_api"])})) == [("Delete", "machine_api")]

    def test_a_cluster_api_machine_that_is_no_mirror_is_the_authority(self) -> None:
        case = self.broken(machine_api=MIRROR, cluster_api=CAPI_MACHINE, infra_machine=INFRA)
        assert steps(decided(**{**case, "machine_api": going(case["machine_api"])})) == [("Delete", "cluster_api")]
        gone = {**case, "cluster_api": going(CAPI_MACHINE, metadata__finalizers=[SYNC]), "infra_machine": None}
        assert steps(decided(**{**gone, "machine_api": going(case["machine_api"])})) == [
            ("RemoveFinalizers", "machine_api"),
            ("RemoveFinalizers", "cluster_api"),
        ]

    def test_without_anything_else_it_is_let_go(self) -> None:
        case = self.broken(machine_api=going(MIRROR), cluster_api=None, infra_machine=None)
        (off,) = decided(**case).needed
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == [MACHINE_API_FINALIZER], "nobody knows whether the Machine API has finished"

    def test_an_infra_machine_alone_goes_first(self) -> None:
        case = self.broken(machine_api=going(MIRROR), cluster_api=None, infra_machine=INFRA)
        assert steps(decided(**case)) == [("Delete", "infra_machine")]
        case["infra_machine"] = going(INFRA, metadata__finalizers=[SYNC])
        assert steps(decided(**case)) == [("RemoveFinalizers", "infra_machine")]

    def test_while_nothing_goes_nothing_is_done_but_said(self) -> None:
        plan = decided(**self.broken(**under_machine_api()))
        assert [type(action).__name__ for action in plan.needed] == ["Emit"]

    def broken(self, **case: Any) -> Tree:
        return {**case, "machine_api": changed(case["machine_api"], spec__lifecycleHooks="none")}
