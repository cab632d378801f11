"""Authority moves from one API to the other, and back at any step: what is decided at each.

OpenStack's provider says nothing about being paused, AWS's does.
"""

from typing import Any

import pytest

from windlass.kube.control.plan import Done, Retry, WaitFor
from windlass.kube.control.seen import NotServedKind
from windlass.machine_sync.machine.decide import decide

from ..trees import synchronized
from .cases import (
    AUTHORITY,
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER,
    GONE,
    INFRA,
    NOW,
    PAUSED,
    Tree,
    after,
    changed,
    condition,
    decided,
    rounds,
    settled,
    snapshot,
    under_machine_api,
    writes,
)
from .migration_cases import (
    OTHER,
    TO_CLUSTER_API,
    TO_MACHINE_API,
    asked,
    authority,
    aws_under_cluster_api,
    marked,
    moving,
    noted,
    says_paused,
    the_one_status_write,
    under_cluster_api,
)
from .world import at_rest, mapi_of


def with_marks(case: Tree, *, mark: str = "MachineAPI", pause: str = "") -> Tree:
    """Somebody made its objects of Cluster API look like a mirror."""
    case["cluster_api"] = changed(case["cluster_api"], metadata__annotations={PAUSED: pause, AUTHORITY: mark})
    case["infra_machine"] = changed(case["infra_machine"], metadata__annotations={PAUSED: pause})
    return case


class TestBegin:
    @pytest.mark.parametrize("start", [*TO_CLUSTER_API, *TO_MACHINE_API])
    def test_what_is_as_asked_stays(self, start: Any) -> None:
        assert decided(**start()).needed == ()

    @pytest.mark.parametrize("asked_for", ["MachineAPI", "ClusterAPI"])
    def test_an_empty_authority_becomes_what_is_asked_for(self, asked_for: str) -> None:
        start = under_machine_api() if asked_for == "MachineAPI" else under_cluster_api()
        empty = changed(start["machine_api"], status__authoritativeAPI=None)
        assert authority(settled(**{**start, "machine_api": empty})) == (asked_for, "")

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_what_is_not_synchronized_is_synchronized_first(self, start: Any) -> None:
        case = start()
        broken = {**case, "cluster_api": changed(case["cluster_api"], spec__version="v1")}
        case = settled(**asked(broken, "MachineAPI"))
        assert authority(case) == ("ClusterAPI", "")
        assert isinstance(decided(**case).next, Retry)

    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_to_cluster_api_the_request_is_noted_as_synchronized_as_the_move_begins(self, start: Any) -> None:
        case = asked(start(), "ClusterAPI")
        (begun,) = rounds(**case)
        assert the_one_status_write(begun) == {
            "authoritativeAPI": "Migrating",
            "synchronizedAPI": "MachineAPI",
            "synchronizedGeneration": case["machine_api"]["metadata"]["generation"],
        }

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_to_the_machine_api_it_begins_at_once(self, start: Any) -> None:
        begun, *_ = rounds(**asked(start(), "MachineAPI"))
        assert the_one_status_write(begun) == {"authoritativeAPI": "Migrating", "synchronizedAPI": "ClusterAPI"}

    def test_what_is_left_to_mirror_comes_first(self) -> None:
        case = asked(under_machine_api(), "ClusterAPI")
        case["machine_api"] = changed(case["machine_api"], spec__providerSpec__value__flavor="m1.huge")
        kinds = [writes(plan)[0] for plan in rounds(**case)]
        assert kinds == [
            ("Delete", "infra_machine"),
            ("RemoveFinalizers", "infra_machine"),
            ("Create", "infra_machine"),
            ("Merge status", "machine_api"),
            ("Merge status", "machine_api"),
        ]
        assert authority(settled(**case))[0] == "Migrating"

    @pytest.mark.parametrize(
        ("start", "fields"),
        [
            pytest.param(under_machine_api, {"phase": "Provisioning"}, id="to-cluster-api"),
            pytest.param(under_cluster_api, {"phase": "Provisioning"}, id="to-the-machine-api"),
            pytest.param(under_cluster_api, {"phase": "Pending"}, id="to-the-machine-api-pending"),
            pytest.param(under_cluster_api, {"phase": None}, id="to-the-machine-api-not-begun"),
        ],
    )
    def test_a_machine_that_is_being_provisioned_finishes_first(self, start: Any, fields: Tree) -> None:
        case = start()
        source = "machine_api" if authority(case)[0] == "MachineAPI" else "cluster_api"
        tree = changed(case[source], spec__providerID=None)
        case[source] = changed(tree, **{f"status__{key}": value for key, value in fields.items()})
        case = settled(**asked(case, OTHER[authority(case)[0]]))
        assert authority(case)[0] != "Migrating"
        assert "provisioned" in str(decided(**case).next)

    def test_one_that_fails_meanwhile_still_comes_back_by_itself(self) -> None:
        case = asked(under_machine_api(), "ClusterAPI")
        broken = changed(case["machine_api"], status__phase="Provisioning", spec__metadata__name="n")
        assert isinstance(decided(**settled(**{**case, "machine_api": broken})).next, Retry)

    @pytest.mark.parametrize("side", ["infra_machine", "cluster_api"])
    def test_what_is_being_deleted_does_not_begin_to_move(self, side: str) -> None:
        case = under_cluster_api()
        case[side] = changed(case[side], metadata__deletionTimestamp=GONE["deletionTimestamp"])
        plans = rounds(**asked(case, "MachineAPI"))
        assert not any("Migrating" in str(getattr(write, "patch", "")) for plan in plans for write in plan.needed)

    def test_a_side_that_has_not_noticed_that_it_is_in_charge_is_waited_for(self) -> None:
        """Its `Paused` is of the time before; it would pass for the answer to a request that it has not seen."""
        late = says_paused(asked(under_machine_api(), "ClusterAPI"), "machine_api")
        case = settled(**late)
        assert authority(case)[0] == "MachineAPI"
        assert isinstance(decided(**case).next, WaitFor)
        assert authority(settled(**says_paused(case, "machine_api", status="False")))[0] == "Migrating"

        late = says_paused(asked(under_cluster_api(), "MachineAPI"), "cluster_api")
        case = settled(**late)
        assert authority(case)[0] == "ClusterAPI"
        assert authority(settled(**says_paused(case, "cluster_api", status="False")))[0] == "Migrating"

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    async def test_one_that_its_cluster_pauses_may_leave_cluster_api(self, start: Any) -> None:
        case = says_paused(asked(start(), "MachineAPI"), "cluster_api")
        for paused, begins in ((False, False), (True, True)):
            api = await at_rest(**case, cluster=changed(CLUSTER, spec={"paused": paused}))
            there = mapi_of(api)
            assert there is not None
            assert (there["status"]["authoritativeAPI"] != "ClusterAPI") == begins, paused

    def test_a_machine_that_its_user_has_paused_may_move(self) -> None:
        case = says_paused(under_cluster_api(), "cluster_api")
        case["cluster_api"] = changed(case["cluster_api"], metadata__annotations={PAUSED: "true"})
        assert authority(settled(**asked(case, "MachineAPI")))[0] == "MachineAPI"


class TestToClusterApi:
    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_there_is_nothing_to_ask_for_and_the_machine_api_is_waited_for(self, start: Any) -> None:
        case = moving(start())
        for waiting in (case, says_paused(case, "machine_api", status="False")):
            plan = decided(**waiting)
            assert plan.needed == ()
            assert isinstance(plan.next, WaitFor)

    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_while_the_generation_is_not_the_noted_one_it_does_not_go_on(self, start: Any) -> None:
        """Upstream stands still for ever; here the way leads back, and then on."""
        case = says_paused(moving(start()), "machine_api")
        case["machine_api"]["metadata"]["generation"] += 1
        back, *_ = rounds(**says_paused(case, "cluster_api", "infra_machine"))
        assert the_one_status_write(back)["authoritativeAPI"] == "MachineAPI"

    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_when_it_stands_still_cluster_api_is_let_go_and_then_authoritative(self, start: Any) -> None:
        case = says_paused(moving(start()), "machine_api")
        release, arrive, *_ = rounds(**case)
        assert writes(release) == [("Merge", "infra_machine"), ("Merge", "cluster_api")]
        status = the_one_status_write(arrive)
        assert (status["authoritativeAPI"], status["synchronizedAPI"]) == ("ClusterAPI", "ClusterAPI")
        assert status["synchronizedGeneration"] == 0
        said = condition(arrive)
        assert (said["status"], said["severity"], said["reason"], said["message"]) == (
            "Unknown",
            "Info",
            "AuthoritativeAPIChanged",
            "Waiting for resync after change of AuthoritativeAPI",
        )

    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_at_the_end_nothing_is_paused_or_marked_and_all_is_in_sync(self, start: Any) -> None:
        case = settled(**says_paused(moving(start()), "machine_api"))
        assert authority(case) == ("ClusterAPI", "ClusterAPI")
        assert not marked(case)
        assert not marked(case, "infra_machine")
        assert next(c for c in case["machine_api"]["status"]["conditions"] if c["type"] == "Synchronized")[
            "status"
        ] == ("True")
        assert noted(case) == case["cluster_api"]["metadata"]["generation"]

    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_the_way_back_from_every_step(self, start: Any) -> None:
        case = moving(start())
        steps = [case, says_paused(case, "machine_api")]
        release = decided(**steps[-1])
        steps.append(after(release, **steps[-1]))
        for step in steps:
            back = asked(step, "MachineAPI")
            paused = settled(**back)
            end = settled(**says_paused(paused, "cluster_api", "infra_machine"))
            assert authority(end) == ("MachineAPI", "MachineAPI")
            assert marked(end) == {PAUSED, AUTHORITY}
            assert marked(end, "infra_machine") == {PAUSED}
            assert (
                end["machine_api"]["status"]["synchronizedGeneration"] == back["machine_api"]["metadata"]["generation"]
            )

    def test_a_mirror_that_somebody_took_away_meanwhile_is_made_again_first(self) -> None:
        case = says_paused(moving(under_machine_api()), "machine_api")
        lost = {**case, "cluster_api": None}
        back, *_ = rounds(**lost)
        assert the_one_status_write(back)["authoritativeAPI"] == "MachineAPI"
        assert settled(**lost)["cluster_api"] is not None

    def test_a_mirror_that_the_collector_takes_away_meanwhile_leads_back(self) -> None:
        case = says_paused(moving(under_machine_api()), "machine_api", "cluster_api", "infra_machine")
        metadata = {**case["cluster_api"]["metadata"], **GONE}
        going = {**case, "cluster_api": changed(case["cluster_api"], metadata=metadata)}
        collected = {**going, "cluster_api_set": changed(CAPI_SET, metadata__uid="of-another")}

        back, *_ = rounds(**collected)
        assert the_one_status_write(back)["authoritativeAPI"] == "MachineAPI"
        assert [kind for kind, _ in writes(decided(**going))] == ["Merge", "Merge"], "what a user deletes goes on"

    def test_a_mirror_that_is_missing_when_somebody_else_began_is_an_error(self) -> None:
        case = says_paused(moving(under_machine_api()), "machine_api")
        foreign = changed(case["machine_api"], status__synchronizedAPI=None)
        plan = decided(**{**case, "machine_api": foreign, "cluster_api": None})
        assert plan.needed == ()
        assert isinstance(plan.next, Retry)


class TestToTheMachineApi:
    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_cluster_api_is_asked_to_pause(self, start: Any) -> None:
        case = moving(start())
        assert marked(case) == {PAUSED, AUTHORITY}
        assert marked(case, "infra_machine") == {PAUSED}

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_until_it_says_so_nothing_happens(self, start: Any) -> None:
        case = moving(start())
        for waiting in (
            case,
            says_paused(case, "cluster_api", "infra_machine", status="False"),
            says_paused(case, "infra_machine"),
        ):
            plan = decided(**waiting)
            assert plan.needed == ()
            assert isinstance(plan.next, WaitFor)

    def test_a_provider_that_reports_has_to_and_one_that_does_not_need_not(self) -> None:
        assert decided(**says_paused(moving(aws_under_cluster_api()), "cluster_api")).needed == ()
        plan = decided(**says_paused(moving(under_cluster_api()), "cluster_api"))
        assert the_one_status_write(plan)["authoritativeAPI"] == "MachineAPI"

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_while_the_generation_is_not_the_noted_one_the_way_leads_back(self, start: Any) -> None:
        case = says_paused(moving(start()), "cluster_api", "infra_machine", "machine_api")
        case["cluster_api"]["metadata"]["generation"] += 1
        end = settled(**case)
        assert authority(end) in (("ClusterAPI", "ClusterAPI"), ("Migrating", "ClusterAPI"))
        released, arrived, *_ = rounds(**case)
        assert writes(released) == [("Merge", "infra_machine"), ("Merge", "cluster_api")]
        assert the_one_status_write(arrived)["authoritativeAPI"] == "ClusterAPI"

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_when_it_stands_still_the_machine_api_is_authoritative(self, start: Any) -> None:
        case = says_paused(moving(start()), "cluster_api", "infra_machine")
        arrive, *_ = rounds(**case)
        status = the_one_status_write(arrive)
        assert (status["authoritativeAPI"], status["synchronizedAPI"]) == ("MachineAPI", "MachineAPI")
        assert status["synchronizedGeneration"] == 0
        assert condition(arrive)["status"] == "Unknown"

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_at_the_end_all_is_in_sync_and_no_instance_was_touched(self, start: Any) -> None:
        case = moving(start())
        before = {side: case[side]["metadata"]["uid"] for side in ("cluster_api", "infra_machine")}
        end = settled(**says_paused(case, "cluster_api", "infra_machine"))
        assert authority(end) == ("MachineAPI", "MachineAPI")
        assert {side: end[side]["metadata"]["uid"] for side in before} == before
        assert marked(end) == {PAUSED, AUTHORITY}
        assert end["machine_api"]["status"]["synchronizedGeneration"] == (end["machine_api"]["metadata"]["generation"])

    @pytest.mark.parametrize("start", TO_MACHINE_API)
    def test_the_way_back_from_every_step(self, start: Any) -> None:
        case = moving(start())
        for step in (case, says_paused(case, "cluster_api"), says_paused(case, "cluster_api", "infra_machine")):
            back = asked(step, "ClusterAPI")
            assert decided(**back).needed == (), "until the Machine API says that it is paused"
            end = settled(**says_paused(back, "machine_api"))
            assert authority(end) == ("ClusterAPI", "ClusterAPI")
            assert not marked(end)
            assert not marked(end, "infra_machine")

    def test_a_machine_that_somebody_took_away_meanwhile_leads_back_to_who_would_make_it(self) -> None:
        case = says_paused(moving(under_cluster_api()), "machine_api")
        lost = {**case, "cluster_api": None, "infra_machine": None}
        back, *_ = rounds(**lost)
        assert the_one_status_write(back)["authoritativeAPI"] == "ClusterAPI"

    def test_a_mirror_that_the_collector_takes_away_meanwhile_leads_back(self) -> None:
        case = says_paused(moving(under_cluster_api()), "machine_api", "cluster_api", "infra_machine")
        metadata = {**case["machine_api"]["metadata"], **GONE}
        going = {**case, "machine_api": changed(case["machine_api"], metadata=metadata)}

        back, *_ = rounds(**{**going, "machine_api_set": None})
        assert [kind for kind, _ in writes(back)] == ["Merge", "Merge"], "Cluster API is let go again"
        assert the_one_status_write(decided(**going))["authoritativeAPI"] == "MachineAPI"

    def test_a_pause_in_other_words_is_a_pause(self) -> None:
        case = under_cluster_api()
        case["cluster_api"] = changed(case["cluster_api"], metadata__annotations={PAUSED: "true"})
        assert moving(case)["cluster_api"]["metadata"]["annotations"][PAUSED] == "true"


class TestNobodyElseActs:
    @pytest.mark.parametrize("start", [*TO_CLUSTER_API, *TO_MACHINE_API])
    @pytest.mark.parametrize("side", ["cluster_api", "infra_machine"])
    def test_a_part_that_cannot_be_read_stops_the_move_where_it_matters(self, start: Any, side: str) -> None:
        case = says_paused(moving(start()), "machine_api", "cluster_api", "infra_machine")
        plan = decided(**{**case, side: changed(case[side], spec="none")})
        if "platform" not in case and side == "infra_machine":
            return  # its provider says nothing about being paused anyway
        assert plan.needed == ()
        assert isinstance(plan.next, Retry)
        assert "cannot be read, so it is unknown whether it is paused" in plan.next.error

    @pytest.mark.parametrize("side", ["cluster_api", "infra_machine"])
    def test_a_kind_that_is_not_served_stops_the_move(self, side: str) -> None:
        case = says_paused(moving(under_machine_api()), "machine_api")
        seen = snapshot(**case)
        fields = {name: getattr(seen, name) for name in seen.__struct_fields__}
        plan = decide(type(seen)(**{**fields, side: NotServedKind("no CRD")}), now=NOW)
        assert plan.needed == ()

    @pytest.mark.parametrize("spec", ["", "Both"])
    def test_a_wish_that_does_not_exist_is_not_followed(self, spec: str) -> None:
        case = says_paused(moving(under_machine_api()), "machine_api")
        plan = decided(**{**case, "machine_api": changed(case["machine_api"], spec__authoritativeAPI=spec)})
        assert plan.needed == ()
        assert isinstance(plan.next, Done)

    def test_a_migration_that_another_began_is_finished_by_what_spec_says(self) -> None:
        case = says_paused(moving(under_machine_api()), "machine_api")
        foreign = changed(case["machine_api"], status__synchronizedAPI=None)
        assert authority(settled(**{**case, "machine_api": foreign})) == ("ClusterAPI", "ClusterAPI")
        mirror = changed(
            settled()["machine_api"], status__authoritativeAPI="Migrating", spec__authoritativeAPI="MachineAPI"
        )
        case = {"machine_api": mirror, "cluster_api": CAPI_MACHINE, "infra_machine": INFRA}
        end = settled(**says_paused(settled(**case), "cluster_api"))
        assert authority(end) == ("MachineAPI", "MachineAPI")

    def test_a_mirror_whose_authority_was_recreated_behind_cluster_api_is_let_go(self) -> None:
        """Nothing was mirrored from it yet, so mark and pause are those of a mirror."""
        case = with_marks(under_cluster_api())
        case["machine_api"] = changed(case["machine_api"], status__synchronizedGeneration=None)
        release, *_ = rounds(**case)
        assert writes(release) == [("Merge", "infra_machine"), ("Merge", "cluster_api")]
        end = settled(**case)
        assert (marked(end), marked(end, "infra_machine")) == (set(), set())

    def test_an_empty_authority_is_filled_before_a_mirror_is_let_go_because_of_it(self) -> None:
        case = with_marks(under_cluster_api())
        case["machine_api"] = changed(case["machine_api"], status=None)
        filled, release, *_ = rounds(**case)
        assert the_one_status_write(filled) == {"authoritativeAPI": "ClusterAPI"}
        assert writes(release) == [("Merge", "infra_machine"), ("Merge", "cluster_api")]

    @pytest.mark.parametrize(
        ("noted", "mark", "pause"),
        [(7, "MachineAPI", ""), (7, "x", ""), (7, "MachineAPI", "true"), (None, "x", ""), (None, "MachineAPI", "true")],
    )
    def test_the_mark_of_a_stranger_does_not_unpause_what_somebody_paused(
        self, noted: int | None, mark: str, pause: str
    ) -> None:
        case = with_marks(under_cluster_api(), mark=mark, pause=pause)
        case["machine_api"] = changed(case["machine_api"], status__synchronizedGeneration=noted)
        (release,) = [plan for plan in rounds(**case) if ("Merge", "cluster_api") in writes(plan)]
        assert writes(release) == [("Merge", "cluster_api")]
        end = settled(**case)
        assert (marked(end), marked(end, "infra_machine")) == ({PAUSED}, {PAUSED})
        assert synchronized(end["machine_api"])["status"] == "True"

    def test_what_its_user_paused_stays_paused(self) -> None:
        case = under_cluster_api()
        case["cluster_api"] = changed(case["cluster_api"], metadata__annotations={PAUSED: ""})
        assert decided(**case).needed == ()
