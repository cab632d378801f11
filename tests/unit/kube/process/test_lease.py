"""Elections on an in-memory API server, in virtual time: who leads when, and what may be written meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.unit.kube.http_script import Script, json
from windlass.api.coordination import Lease, LeaseSpec
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.errors import Busy, Fenced, Forbidden, KubeError, NotFound, OutcomeUnknown, Status, TransportError
from windlass.kube.process.lease import Election, LeaseTimes, held, own_identity
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualClock, VirtualLoop
from windlass.testing.logs import captured

TIMES = LeaseTimes()
THROTTLED = Busy(Status(code=429, reason="TooManyRequests", message="slow down"))


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture
def api(loop: VirtualLoop) -> MemoryApi:
    return MemoryApi(Lease, clock=loop.clock.now)


@pytest.fixture
def candidate(api: MemoryApi, loop: VirtualLoop) -> Callable[[str], Election]:
    def make(identity: str) -> Election:
        return Election(
            api, "windlass", namespace="system", identity=identity, times=TIMES, clock=loop.clock, random=Random(1)
        )

    return make


def record(api: MemoryApi) -> LeaseSpec:
    found = api.peek(Lease, "windlass", namespace="system")
    assert found is not None
    return found.decode().spec


async def write(api: MemoryApi, **spec: Any) -> None:
    """What somebody else puts into the Lease."""
    if api.peek(Lease, "windlass", namespace="system"):
        await api.patch(Lease, "windlass", {"spec": spec}, type=PatchType.MERGE, namespace="system")
    else:
        await api.create(Lease, {"metadata": {"name": "windlass"}, "spec": spec}, namespace="system")


def micro(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_the_first_candidate_creates_the_lease_and_leads(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    first = candidate("one")
    loop.run_until_complete(first.acquire())
    assert first.leading
    spec = record(api)
    assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("one", 15, 0)
    assert spec.acquire_time == spec.renew_time == micro(loop.clock.now())


@pytest.mark.parametrize(
    "error",
    [
        NotFound(Status("Failure", 'namespaces "nowhere" not found', "NotFound", 404)),
        Forbidden(Status("Failure", "leases is forbidden", "Forbidden", 403)),
    ],
    ids=["no namespace", "no right"],
)
def test_a_candidate_that_cannot_compete_says_so_for_readiness_until_it_can(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election], error: KubeError
) -> None:
    async def scenario() -> None:
        one = candidate("one")
        assert one.blocked == ""
        api.fail_next("create", Lease, error, times=3)
        waiting = asyncio.create_task(one.acquire())
        await asyncio.sleep(0.1)
        assert one.blocked.startswith(f"cannot compete for Lease {one.namespace}/{one.name}: {error}. Create the")
        await waiting
        assert one.blocked == ""

    loop.run_until_complete(scenario())


def test_a_standby_takes_over_one_lease_duration_after_the_leader_went_silent(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> float:
        leader, standby = candidate("one"), candidate("two")
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        waiting = asyncio.create_task(standby.acquire())
        await asyncio.sleep(60)
        assert not waiting.done()
        keeping.cancel()  # as SIGKILL would
        died = loop.time()
        await waiting
        assert standby.leading
        return loop.time() - died

    gap = loop.run_until_complete(scenario())
    assert TIMES.duration - TIMES.retry <= gap <= 20
    assert record(api).lease_transitions == 1


def test_a_released_lease_is_taken_at_once(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        await leader.release()
        assert (record(api).holder_identity, record(api).lease_duration_seconds) == ("", 1)
        assert not leader.leading
        released = loop.time()
        await candidate("two").acquire()
        assert loop.time() == released

    loop.run_until_complete(scenario())


def test_of_two_candidates_for_a_free_lease_exactly_one_leads(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        one, two = candidate("one"), candidate("two")
        await write(api, holderIdentity="", leaseDurationSeconds=1)
        tasks = [asyncio.create_task(each.acquire()) for each in (one, two)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(1)
        assert [one.leading, two.leading].count(True) == 1
        for task in tasks:
            task.cancel()

    loop.run_until_complete(scenario())


def test_a_lease_whose_holder_lives_in_another_time_is_respected(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    """The holder's clock is an hour behind: by its renewTime the lease ran out long ago."""

    async def holder() -> None:
        while True:
            behind = micro(loop.clock.now() - timedelta(hours=1))
            await write(api, holderIdentity="elsewhere", leaseDurationSeconds=15, renewTime=behind)
            await asyncio.sleep(10)

    async def scenario() -> None:
        renewing = asyncio.create_task(holder())
        await asyncio.sleep(0)
        waiting = asyncio.create_task(candidate("two").acquire())
        await asyncio.sleep(120)
        assert not waiting.done()
        renewing.cancel()
        await waiting

    loop.run_until_complete(scenario())


def test_a_leader_that_cannot_renew_stops_after_the_deadline_and_competes_again(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        api.fail_next("patch", Lease, THROTTLED, times=5)
        began = loop.time()
        why = await leader.keep()
        assert why == "not renewed for 10 s"
        assert loop.time() - began == pytest.approx(TIMES.renew_deadline)
        with pytest.raises(Fenced, match="not the leader"):
            leader.gate(0.1)
        await leader.acquire()
        assert leader.leading

    loop.run_until_complete(scenario())


def test_one_lost_renewal_does_not_end_leadership(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        api.lose_answer_next("patch", Lease)
        api.lose_answer_next("patch", Lease, stored=False)
        keeping = asyncio.create_task(leader.keep())
        await asyncio.sleep(60)
        assert leader.leading
        assert not keeping.done()
        keeping.cancel()

    loop.run_until_complete(scenario())


def test_a_change_to_the_labels_of_the_lease_does_not_end_leadership(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        labels = {"metadata": {"labels": {"seen": "by-somebody"}}}
        await api.patch(Lease, "windlass", labels, type=PatchType.MERGE, namespace="system")
        await asyncio.sleep(30)
        assert leader.leading
        keeping.cancel()

    loop.run_until_complete(scenario())


@pytest.mark.parametrize(
    ("blow", "why"),
    [
        (lambda api: write(api, holderIdentity="thief"), "taken by thief"),
        (lambda api: api.delete(Lease, "windlass", namespace="system"), "the Lease object was deleted"),
    ],
)
def test_a_lease_that_is_gone_is_lost_at_the_next_renewal(
    loop: VirtualLoop,
    api: MemoryApi,
    candidate: Callable[[str], Election],
    blow: Callable[[MemoryApi], Awaitable[object]],
    why: str,
) -> None:
    async def scenario() -> str:
        leader = candidate("one")
        await leader.acquire()
        await blow(api)
        return await leader.keep()

    assert loop.run_until_complete(scenario()) == why
    assert loop.time() <= TIMES.retry


def test_the_gate_admits_only_writes_that_end_while_the_lease_is_sure(
    loop: VirtualLoop, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        with pytest.raises(Fenced):
            leader.gate(0.1)
        await leader.acquire()
        leader.gate(13.9)
        with pytest.raises(Fenced, match=r"sure for 14.0 s more, and the write may take 14 s"):
            leader.gate(14)
        await asyncio.sleep(10)
        leader.gate(3.9)
        with pytest.raises(Fenced):
            leader.gate(4.1)

    loop.run_until_complete(scenario())


def test_writes_of_the_longest_allowed_time_pass_the_gate_at_any_moment_while_renewals_succeed(
    loop: VirtualLoop, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        for _ in range(300):
            leader.gate(TIMES.longest_write - 0.01)
            await asyncio.sleep(0.1)
        keeping.cancel()

    loop.run_until_complete(scenario())


async def test_a_client_whose_fence_is_the_election_writes_as_soon_as_it_is_won() -> None:
    async with Script() as server:
        server.then(json(200, {"metadata": {"name": "windlass"}}))
        election = Election(MemoryApi(Lease), "windlass", namespace="system", identity="one")
        async with Client(ClusterConfig(server=server.url), fence=election) as client:
            with pytest.raises(Fenced, match="not the leader"):
                await client.patch(Lease, "windlass", {}, type=PatchType.MERGE, namespace="system")
            await election.acquire()
            await client.patch(Lease, "windlass", {}, type=PatchType.MERGE, namespace="system")
    assert len(server.requests) == 1


def test_an_election_cannot_have_a_client_that_waits_for_an_election(api: MemoryApi) -> None:
    first = Election(api, "windlass", namespace="system", identity="one")
    fenced = Client(ClusterConfig(server="https://api:6443"), fence=first)
    with pytest.raises(
        ValueError, match=r"election system/windlass: its client is fenced.*give it a client of its own"
    ):
        Election(fenced, "windlass", namespace="system", identity="two")


def test_writes_held_back_while_leading_are_a_warning_a_minute(
    loop: VirtualLoop, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        for _ in range(121):
            with pytest.raises(Fenced):
                leader.gate(TIMES.duration)
            await asyncio.sleep(1)
        keeping.cancel()

    with captured() as logs:
        loop.run_until_complete(scenario())
    warnings = [entry for entry in logs if entry["level"] == "warning"]
    assert [entry["writes"] for entry in warnings] == [1, 60, 60]
    assert warnings[0]["event"] == "writes are held back although this process leads"


class SlowApi(MemoryApi):
    """The answer to a renewal takes `delay` seconds; it is stored at the end of them."""

    delay = 0.0

    async def patch(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self.delay)
        return await super().patch(*args, **kwargs)


def test_the_lease_counts_from_when_the_renewal_was_sent(loop: VirtualLoop) -> None:
    async def scenario() -> None:
        api = SlowApi(Lease, clock=loop.clock.now)
        leader = Election(api, "windlass", namespace="system", identity="one", clock=loop.clock)
        await leader.acquire()
        api.delay = 4.0
        keeping = asyncio.create_task(leader.keep())
        await asyncio.sleep(TIMES.retry + api.delay + 0.01)
        with pytest.raises(Fenced, match=r"sure for 10.0 s"):
            leader.gate(10.5)
        keeping.cancel()

    loop.run_until_complete(scenario())


def test_a_black_hole_is_noticed_in_time(loop: VirtualLoop) -> None:
    async def scenario() -> None:
        api = SlowApi(Lease, clock=loop.clock.now)
        leader = Election(api, "windlass", namespace="system", identity="one", clock=loop.clock)
        await leader.acquire()
        api.delay = 3600.0
        began = loop.time()
        assert await leader.keep() == "not renewed for 10 s"
        assert loop.time() - began == pytest.approx(TIMES.renew_deadline)

    loop.run_until_complete(scenario())


def test_an_answer_lost_while_taking_the_lease_is_found_out(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        api.lose_answer_next("create", Lease)
        await leader.acquire()
        assert leader.leading
        assert loop.time() < TIMES.duration

    loop.run_until_complete(scenario())


def test_faults_while_competing_are_waited_out(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        api.fail_next("get", Lease, THROTTLED, times=4)
        api.fail_next("create", Lease, Forbidden(Status(code=403, message="leases is forbidden")), times=2)
        await leader.acquire()
        assert leader.leading

    loop.run_until_complete(scenario())


def test_releasing_what_somebody_else_holds_changes_nothing(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election]
) -> None:
    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        await write(api, holderIdentity="thief")
        await leader.release()
        assert record(api).holder_identity == "thief"

    loop.run_until_complete(scenario())


def test_a_renewal_that_arrives_while_the_lease_is_handed_back_does_not_keep_it(
    loop: VirtualLoop, api: MemoryApi, candidate: Callable[[str], Election], monkeypatch: pytest.MonkeyPatch
) -> None:
    get = api.get

    async def read_and_then_be_overtaken(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        found = await get(*args, **kwargs)
        await write(api, renewTime=micro(loop.clock.now()))
        return found

    async def scenario() -> None:
        leader = candidate("one")
        await leader.acquire()
        await loop.clock.sleep(1)
        monkeypatch.setattr(api, "get", read_and_then_be_overtaken)
        await leader.release()
        assert record(api).holder_identity == ""

    loop.run_until_complete(scenario())


class Line:
    """One candidate's way to the API server, which may be cut, and may lose answers on the way back."""

    def __init__(self, api: MemoryApi, random: Random) -> None:
        self._api, self._random = api, random
        self.cut = False
        self.loses_answers = False

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        async def request(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(self._random.random() / 10)
            if self.cut:
                raise TransportError("no route to host")
            answer = await getattr(self._api, verb)(*args, **kwargs)
            await asyncio.sleep(self._random.random() / 10)
            if self.loses_answers:
                raise OutcomeUnknown("connection reset")
            return answer

        return request


@pytest.mark.parametrize("seed", range(2))
def test_two_candidates_never_lead_at_the_same_time_whatever_fails(
    loop: VirtualLoop, api: MemoryApi, seed: int
) -> None:
    """Ten minutes of cut lines and lost answers: whoever passes the gate at any moment passes it alone."""
    random = Random(seed)

    async def campaign(election: Election) -> None:
        while True:
            await election.acquire()
            await election.keep()

    async def scenario() -> None:
        lines = [Line(api, random) for _ in range(3)]
        elections = [
            Election(line, "windlass", namespace="system", identity=f"{n}", clock=loop.clock, random=Random(n))  # type: ignore[arg-type]
            for n, line in enumerate(lines)
        ]
        tasks = [asyncio.create_task(campaign(each)) for each in elections]
        led = set()
        for _ in range(6_000):
            await asyncio.sleep(0.1)
            if random.random() < 0.02:
                line = random.choice(lines)
                line.cut, line.loses_answers = random.choice([(True, False), (False, True), (False, False)])
            leaders = [each.identity for each in elections if may_write(each)]
            assert len(leaders) <= 1, f"{leaders} at {loop.time()}"
            led.update(leaders)
        assert len(led) == 3, "not everybody led once: the faults were too mild"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    loop.run_until_complete(scenario())


def may_write(election: Election) -> bool:
    try:
        election.gate(0.1)
    except Fenced:
        return False
    return True


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"duration": 10}, "must exceed the renew deadline"),
        ({"renew_deadline": 2}, "must exceed 1.2 retry periods"),
        ({"duration": 15.5}, "whole seconds"),
        ({"duration": 10, "renew_deadline": 8, "retry": 4.5}, "leaves a write 0 s, .*lower the retry period"),
    ],
)
def test_times_that_cannot_work_are_refused(times: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeaseTimes(**times)


def test_identities_are_never_shared() -> None:
    assert own_identity() != own_identity()


def test_a_foreign_lease_that_is_renewed_is_held(loop: VirtualLoop, api: MemoryApi, clock: VirtualClock) -> None:
    async def renew() -> None:
        while True:
            await write(api, holderIdentity="operator", leaseDurationSeconds=137, renewTime=micro(clock.now()))
            await asyncio.sleep(26)

    async def scenario() -> None:
        renewing = asyncio.create_task(renew())
        await asyncio.sleep(0)
        assert await held(api, "windlass", namespace="system", clock=clock) == "operator"
        assert loop.time() < 30
        renewing.cancel()

    loop.run_until_complete(scenario())


def test_a_foreign_lease_that_is_absent_or_released_is_free_at_once(
    loop: VirtualLoop, api: MemoryApi, clock: VirtualClock
) -> None:
    async def scenario() -> None:
        assert await held(api, "windlass", namespace="system", clock=clock) == ""
        await write(api, holderIdentity="", leaseDurationSeconds=1)
        assert await held(api, "windlass", namespace="system", clock=clock) == ""

    loop.run_until_complete(scenario())
    assert loop.time() == 0


def test_a_foreign_lease_whose_holder_died_is_free_after_its_duration(
    loop: VirtualLoop, api: MemoryApi, clock: VirtualClock
) -> None:
    async def scenario() -> None:
        await write(api, holderIdentity="operator", leaseDurationSeconds=137, renewTime=micro(clock.now()))
        assert await held(api, "windlass", namespace="system", clock=clock) == ""

    loop.run_until_complete(scenario())
    assert loop.time() == pytest.approx(137, abs=3)


@pytest.fixture
def clock(loop: VirtualLoop) -> VirtualClock:
    return loop.clock
