"""What a move of authority costs: the objects that are asked for live, the writes made one, who may write first.

Each is saved only where something else protects: a write that is refused if its object is not as it was seen.
"""

from datetime import timedelta
from typing import Any

import pytest

from windlass.api import capa, capi, mapi
from windlass.api.meta import K, KubernetesObject
from windlass.kube.control.plan import Emit, Merge, Outcome, Plan, Result, WaitFor, target_of
from windlass.kube.control.seen import Present, Seen, metadata_of
from windlass.kube.errors import Conflict
from windlass.kube.verbs import PatchType
from windlass.machine_sync.machine.decide import decide, proceed
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.platforms import AWS, OPENSTACK
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader, MemoryReader
from windlass.testing.machines.simulators.authority import paused_condition

from .actors import cluster_api_core, is_paused, machine_api_controllers, provider
from .aws_cases import on_aws
from .cases import (
    GONE,
    MAPI_MACHINE,
    NOW,
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
    TO_CLUSTER_API,
    TO_MACHINE_API,
    asked,
    authority,
    aws_under_cluster_api,
    aws_under_machine_api,
    moving,
    says_paused,
    the_one_status_write,
    under_cluster_api,
)
from .world import NAME, OURS, mapi_of, reconciled, synchronized, world


def relied_upon(case: Tree, *written: Any) -> set[Any]:
    """What has to be looked at live, if these sides were written in the round before."""
    seen = snapshot(**case)
    found: dict[str, tuple[type[KubernetesObject], Seen[Any]]] = {
        "machine_api": (mapi.Machine, seen.machine_api),
        "cluster_api": (capi.Machine, seen.cluster_api),
        "infra_machine": (seen.platform.infra_machine, seen.infra_machine),
    }
    results = []
    for side in written:
        kind, one = found[side]
        meta = metadata_of(one)
        assert meta is not None
        results.append(Result(Merge(target=target_of(kind, meta), observed={}, desired={})))
    if seen.move.status != "Migrating":
        return set()
    assert isinstance(seen.machine_api, Present)
    step = proceed(seen, seen.machine_api, now=NOW)
    return set(migration.relied_upon(seen.move, step, Outcome(tuple(results))))


class TestWhatIsLookedAt:
    def test_nothing_while_authority_does_not_move(self) -> None:
        assert relied_upon(aws_under_machine_api()) == set()
        assert relied_upon(aws_under_cluster_api()) == set()

    @pytest.mark.parametrize("start", [aws_under_machine_api, aws_under_cluster_api])
    def test_nothing_while_somebody_is_waited_for_or_asked_to_pause_in_the_round_after_the_begin(
        self, start: Any
    ) -> None:
        case = start()
        begun = asked(case, "MachineAPI" if start is aws_under_cluster_api else "ClusterAPI")
        begun = after(decided(**begun), **begun)
        assert authority(begun)[0] == "Migrating"
        assert relied_upon(begun, "machine_api") == relied_upon(settled(**begun)) == set()

    def test_a_successor_asks_for_a_pause_only_if_authority_still_moves(self) -> None:
        begun = asked(aws_under_cluster_api(), "MachineAPI")
        assert relied_upon(after(decided(**begun), **begun)) == {mapi.Machine}

    def test_before_cluster_api_is_let_go_only_the_machine_api_whose_word_it_is(self) -> None:
        assert relied_upon(says_paused(moving(aws_under_machine_api()), "machine_api")) == {mapi.Machine}

    def test_of_what_is_let_go_also_what_seems_to_be_so_already(self) -> None:
        """It would not be written, so nothing would tell that it is not as it was seen."""
        case = says_paused(moving(aws_under_machine_api()), "machine_api")
        case["infra_machine"] = changed(case["infra_machine"], metadata__annotations=None)
        assert relied_upon(case) == {mapi.Machine, capa.AWSMachine}

    def test_nothing_more_after_it_has_been_let_go(self) -> None:
        case = says_paused(moving(aws_under_machine_api()), "machine_api")
        for side in ("cluster_api", "infra_machine"):
            case[side] = changed(case[side], metadata__annotations=None)
        assert relied_upon(case, "infra_machine", "cluster_api") == set()
        assert relied_upon(case, "cluster_api") == {capa.AWSMachine}
        assert relied_upon(case) == {capi.Machine, capa.AWSMachine}

    def test_before_the_machine_api_acts_all_that_has_to_stand_still(self) -> None:
        case = says_paused(moving(aws_under_cluster_api()), "cluster_api", "infra_machine")
        assert relied_upon(case) == {capi.Machine, capa.AWSMachine}


class Asked(LaggingReader):
    """Remembers what it was asked for live."""

    def __init__(self, api: MemoryApi) -> None:
        super().__init__(api)
        self.live: list[type[Any]] = []

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        if live:
            self.live.append(kind)
        return await super().see(kind, name, namespace=namespace, confirm=confirm, live=live)


async def everybody(api: MemoryApi, reader: MemoryReader) -> None:
    """Turns until nothing changes any more."""
    before = -1
    while api.version != before:
        before = api.version
        await reconciled(api, reader)
        for actor in (machine_api_controllers, cluster_api_core, provider):
            await actor(api)


async def ask(api: MemoryApi, authority: str) -> None:
    await api.patch(mapi.Machine, NAME, {"spec": {"authoritativeAPI": authority}}, type=PatchType.MERGE, namespace=OURS)


def on_the_platform(platform: Any) -> MemoryApi:
    if platform is OPENSTACK:
        return world(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None)
    given = {name: on_aws()[name] for name in ("machine_api", "infrastructure", "infra_cluster")}
    return world(cluster_api=None, infra_machine=None, **given, platform=platform)


async def test_a_whole_move_asks_for_one_object_there_and_for_two_back() -> None:
    api = on_the_platform(AWS)
    reader = Asked(api)
    await everybody(api, reader)
    for to, looks in (("ClusterAPI", [mapi.Machine]), ("MachineAPI", [capi.Machine, capa.AWSMachine])):
        reader.live.clear()
        await ask(api, to)
        await everybody(api, reader)
        machine = mapi_of(api)
        assert machine is not None
        assert (machine["status"]["authoritativeAPI"], synchronized(machine)["status"]) == (to, "True")
        assert sorted(reader.live, key=str) == sorted(looks, key=str)


@pytest.mark.parametrize("platform", [OPENSTACK, AWS])
@pytest.mark.parametrize("lagging", ["infra machine", "Machine"])
async def test_a_part_that_a_cache_still_shows_unpaused_is_not_forgotten(platform: Any, lagging: str) -> None:
    """A successor's cache of one kind is of the time when Cluster API was authoritative before."""
    api = on_the_platform(platform)
    reader, successor = LaggingReader(api), LaggingReader(api)
    for authority_before in ("ClusterAPI", "MachineAPI"):
        await everybody(api, reader)
        await ask(api, authority_before)
        await everybody(api, reader)
        if authority_before == "ClusterAPI":
            successor.freeze(platform.infra_machine if lagging == "infra machine" else capi.Machine)
    await ask(api, "ClusterAPI")
    await reconciled(api, reader)
    await machine_api_controllers(api)
    for _ in range(3):
        await reconciled(api, successor)
    (infra,), (machine,) = api.listing(platform.infra_machine), api.listing(capi.Machine)
    assert (is_paused(infra), is_paused(machine)) == (False, False)


async def test_a_machine_api_that_changed_its_mind_unseen_refuses_the_last_step() -> None:
    """Nobody looked at it: its resourceVersion did."""
    api = on_the_platform(OPENSTACK)
    reader, successor = LaggingReader(api), LaggingReader(api)
    await everybody(api, reader)
    await ask(api, "ClusterAPI")
    await everybody(api, reader)
    await ask(api, "MachineAPI")
    await reconciled(api, reader)
    await cluster_api_core(api)
    successor.freeze(mapi.Machine)
    await ask(api, "ClusterAPI")
    rest = await reconciled(api, successor)
    assert isinstance(rest.error, Conflict)
    machine = mapi_of(api)
    assert machine is not None
    assert machine["status"]["authoritativeAPI"] == "Migrating"


class TestOneWrite:
    @pytest.mark.parametrize("start", TO_CLUSTER_API)
    def test_what_a_conversion_says_is_still_said(self, start: Any) -> None:
        case = asked(start(), "ClusterAPI")
        said = Emit(target=target_of(mapi.Machine, snapshot(**case).machine_api.metadata), **EVENT)  # type: ignore[union-attr]
        move = snapshot(**case).move
        plan = decided(**{**case, "machine_api": changed(case["machine_api"], spec__authoritativeAPI="MachineAPI")})
        begun = migration.begin(move, Plan((said, *plan.actions)))
        assert begun.actions[0] is said
        assert len(begun.needed) == 2

    def test_a_machine_that_was_not_in_sync_is_said_to_be_before_it_moves(self) -> None:
        case = asked(under_machine_api(), "ClusterAPI")
        doubtful = changed(case["machine_api"])
        for one in doubtful["status"]["conditions"]:
            one["status"] = "False"
        synced, begun = rounds(**{**case, "machine_api": doubtful})
        assert condition(synced)["status"] == "True"
        assert "authoritativeAPI" not in the_one_status_write(synced)
        assert the_one_status_write(begun) == {"authoritativeAPI": "Migrating", "synchronizedAPI": "MachineAPI"}

    def test_a_request_that_has_to_wait_is_noted_all_the_same(self) -> None:
        case = asked(under_machine_api(), "ClusterAPI")
        case["machine_api"] = changed(case["machine_api"], status__phase="Provisioning")
        (noting,) = [plan for plan in rounds(**case) if plan.needed]
        assert "Migrating" not in str(noting.needed)
        assert isinstance(decided(**settled(**case)).next, WaitFor)


EVENT: Tree = {"type": "Warning", "reason": "ConversionWarning", "note": "n", "source": "s"}


def just_arrived(start: Any) -> Tree:
    """Authority has moved a moment ago, and the Machine API's controllers have only heard that it would."""
    case = moving(start())
    case["machine_api"]["status"]["conditions"] += [
        {**paused_condition("Migrating"), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ]
    case = says_paused(case, "cluster_api", "infra_machine")
    goal = case["machine_api"]["spec"]["authoritativeAPI"]
    while authority(case)[0] == "Migrating":
        case = after(decided(**case), **case)
    assert authority(case)[0] == goal
    return case


def said_in(case: Tree) -> str:
    """The status of the Synchronized condition."""
    return str(synchronized(case["machine_api"])["status"])


class TestWhoWritesFirst:
    @pytest.mark.parametrize("start", [*TO_CLUSTER_API, *TO_MACHINE_API])
    def test_the_machine_apis_controllers_may_say_first_that_they_know(self, start: Any) -> None:
        case = just_arrived(start)
        plan = decided(**case)
        assert plan.needed == ()
        assert isinstance(plan.next, WaitFor)
        assert 0 < plan.next.safety <= 2

    @pytest.mark.parametrize("start", [*TO_CLUSTER_API, *TO_MACHINE_API])
    def test_once_they_have_said_so_it_goes_on_at_once(self, start: Any) -> None:
        case = just_arrived(start)
        others = [one for one in case["machine_api"]["status"]["conditions"] if one["type"] != "Paused"]
        said = {**paused_condition(authority(case)[0]), "lastTransitionTime": "2026-01-01T00:00:00Z"}
        case["machine_api"] = changed(case["machine_api"], status__conditions=[*others, said])
        assert decided(**case).needed != ()
        assert said_in(settled(**case)) == "True"

    @pytest.mark.parametrize("start", [*TO_CLUSTER_API, *TO_MACHINE_API])
    @pytest.mark.parametrize("seconds", [-1, 2, 3600])
    def test_nobody_is_waited_for_who_may_not_be_there(self, start: Any, seconds: float) -> None:
        case = just_arrived(start)
        assert decide(snapshot(**case), now=NOW + timedelta(seconds=seconds)).needed != ()

    @pytest.mark.parametrize("start", [under_machine_api, under_cluster_api])
    @pytest.mark.parametrize("time", [None, "", "yesterday", "2026-01-01"])
    def test_a_time_that_is_none_is_no_reason_to_wait(self, start: Any, time: Any) -> None:
        case = just_arrived(start)
        for one in case["machine_api"]["status"]["conditions"]:
            one["lastTransitionTime"] = time
        assert decided(**case).needed != ()

    @pytest.mark.parametrize("start", [*TO_CLUSTER_API, *TO_MACHINE_API])
    def test_a_deletion_does_not_wait(self, start: Any) -> None:
        case = just_arrived(start)
        case["machine_api"] = changed(case["machine_api"], metadata__deletionTimestamp=GONE["deletionTimestamp"])
        assert writes(decided(**case)) != []
