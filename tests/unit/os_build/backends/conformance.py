"""What every builder backend does, whatever it builds with: a suite that each of them passes.

    class TestJobs(BackendConformance):
        @pytest.fixture
        def other_side(self) -> OtherSide: ...

The other side is the world of a backend: it carries out actions as a controller does, and plays whoever builds.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Action
from windlass.kube.control.plan import Target as ObjectTarget
from windlass.os_build.builder import ATTEMPTS, Backend, BuildState, Cause, Deadlines, Order, Phase
from windlass.os_build.credentials import Auths, Secrets
from windlass.os_build.identity import build_name, inputs_of
from windlass.os_build.inputs.context import Context
from windlass.os_build.pullspec import Target
from windlass.os_build.request import Request

DIGEST = "sha256:" + "ab" * 32
STEP = "RUN dnf install -y nothing"
FAILING = f'STEP 2/2: {STEP}\nNo match for argument: nothing\nerror: building at STEP "{STEP}": exit status 127'
REFUSED = "Error: writing blob: dial tcp 127.0.0.1:5000: connect: connection refused"


def order(pool: str = "worker", *, attempt: int = 1, config: str = "", deadlines: Deadlines | None = None) -> Order:
    """A build of a pool."""
    request = Request(
        pool=pool,
        config=config or f"rendered-{pool}-{'1' * 32}",
        target=Target.parse("registry.example.com/org/os"),
        pull_secret="pull",
        push_secret="push",
    )
    inputs = inputs_of(request, applied_by="tree")
    none = Auths({}, b'{"auths":{}}')
    return Order(
        name=build_name(pool, inputs, attempt),
        inputs=str(inputs),
        attempt=attempt,
        pool=ObjectTarget(MachineConfigPool, pool, uid=f"uid-of-{pool}"),
        request=request,
        context=Context({"Containerfile": b"FROM base\nADD rootfs.tar.gz /\n", "rootfs.tar.gz": b"\x1f\x8b\x00"}),
        secrets=Secrets(none, none, versions="7,9"),
        deadlines=deadlines or Deadlines(),
    )


class OtherSide(ABC):
    """The world of a backend."""

    @property
    @abstractmethod
    def backend(self) -> Backend:
        """The backend of a process that has just started."""

    @abstractmethod
    async def apply(self, *actions: Action) -> None:
        """Carry out a plan; the test fails if it cannot be."""

    @abstractmethod
    async def run(self, name: str) -> None: ...

    @abstractmethod
    async def succeed(self, name: str, *, digest: str) -> None: ...

    @abstractmethod
    async def fail(self, name: str, *, log: str, pushing: bool = False) -> None:
        """It ends for good, with this at the end of its log."""

    @abstractmethod
    async def lose(self, name: str) -> None:
        """The infrastructure takes it away, and it does not come back by itself."""

    @abstractmethod
    async def settle(self) -> None:
        """What was asked for happens: what is cancelled ends, what is deleted goes."""

    @abstractmethod
    def left(self) -> Sequence[str]:
        """Everything that exists of any build, for people."""


class BackendConformance:
    """The suite; a subclass has the fixture `other_side`.

    `usual`: whether pools that name no builder may get it. `in_cluster`: whether its builders take turns. `limits`: the
    reasons for which it refuses a Containerfile of 100 KB, and that with another file of 2 MB.
    """

    usual = True
    in_cluster = True
    limits: tuple[str, str] = ("", "ContextTooLarge")

    @pytest.fixture
    def other_side(self) -> OtherSide:
        raise NotImplementedError

    async def test_nothing_is_there_before_a_build(self, other_side: OtherSide) -> None:
        assert list(other_side.backend.look("worker")) == []

    async def test_it_says_who_gets_it_and_what_it_cannot_build(self, other_side: OtherSide) -> None:
        backend, request = other_side.backend, order().request
        assert backend.usual is self.usual
        assert backend.in_cluster is self.in_cluster
        larger = {"Containerfile": bytes(100_000)}, {"Containerfile": bytes(100_000), "rootfs.tar.gz": bytes(2_000_000)}
        found = [backend.unfit(Context(files), request) for files in ({"Containerfile": b"FROM base"}, *larger)]
        assert [problem.reason if problem is not None else "" for problem in found] == ["", *self.limits]

    async def test_a_build_that_was_started_says_what_it_is(self, other_side: OtherSide) -> None:
        wanted = order(attempt=2)
        await other_side.apply(*other_side.backend.start(wanted))
        [state] = other_side.backend.look("worker")
        assert state.phase in (Phase.PENDING, Phase.RUNNING)
        assert not state.is_over
        assert state == replace(
            state,
            name=wanted.name,
            backend=other_side.backend.name,
            pool="worker",
            inputs=wanted.inputs,
            config=wanted.request.config,
            attempt=2,
            secrets=wanted.secrets.state,
            image=wanted.image,
            digest="",
            failed=None,
            ended=None,
        )

    async def test_credentials_are_renewed_unless_builders_read_them_themselves(self, other_side: OtherSide) -> None:
        state = await self._started(other_side)
        renewed = replace(order().secrets, versions="7,10")
        await other_side.apply(*(actions := other_side.backend.renew(state, renewed)))
        assert (actions == ()) is other_side.backend.mounts_secrets
        kept = order().secrets if other_side.backend.mounts_secrets else renewed
        assert self._only(other_side).secrets == kept.state

    async def test_a_build_goes_from_pending_to_its_digest(self, other_side: OtherSide) -> None:
        state = await self._started(other_side)
        await other_side.run(state.name)
        running = self._only(other_side)
        assert (running.phase, running.ended) == (Phase.RUNNING, None)
        await other_side.succeed(state.name, digest=DIGEST)
        done = self._only(other_side)
        assert (done.phase, done.digest, done.failed) == (Phase.SUCCEEDED, DIGEST, None)
        assert done.ended is not None

    async def test_a_failed_step_is_told_with_its_exit_code_and_the_log(self, other_side: OtherSide) -> None:
        state = await self._started(other_side)
        await other_side.run(state.name)
        await other_side.fail(state.name, log=FAILING)
        failed = self._only(other_side).failed
        assert failed is not None
        assert (failed.cause, failed.step, failed.exit_code, failed.transient) == (Cause.STEP, STEP, 127, False)
        assert "No match for argument: nothing" in failed.tail
        assert self._only(other_side).ended is not None, "the pause before the next attempt counts from then"

    async def test_a_registry_that_is_away_is_a_transient_failure(self, other_side: OtherSide) -> None:
        state = await self._started(other_side)
        await other_side.run(state.name)
        await other_side.fail(state.name, log=REFUSED, pushing=True)
        failed = self._only(other_side).failed
        assert failed is not None
        assert (failed.cause, failed.transient) == (Cause.UNREACHABLE, True)

    async def test_a_refused_push_is_told_from_a_refused_pull(self, other_side: OtherSide) -> None:
        causes = {}
        for pool, pushing in (("worker", False), ("infra", True)):
            state = await self._started(other_side, order(pool))
            await other_side.run(state.name)
            await other_side.fail(
                state.name, log="Error: reading: unauthorized: authentication required", pushing=pushing
            )
            failed = self._only(other_side, pool).failed
            causes[pool] = failed.cause if failed else None
        assert causes == {"worker": Cause.PULL_DENIED, "infra": Cause.PUSH_DENIED}

    async def test_a_build_that_the_infrastructure_lost_is_interrupted_and_begins_again(
        self, other_side: OtherSide
    ) -> None:
        state = await self._started(other_side)
        await other_side.run(state.name)
        await other_side.lose(state.name)
        lost = self._only(other_side)
        assert (lost.phase, lost.attempt, lost.failed) == (Phase.INTERRUPTED, 1, None)
        assert lost.ended is not None, "otherwise it would never be time to begin it again"
        await other_side.apply(*other_side.backend.clean(lost, why="it begins again"))
        await other_side.settle()
        again = await self._started(other_side)
        await other_side.run(again.name)
        await other_side.succeed(again.name, digest=DIGEST)
        assert self._only(other_side).phase == Phase.SUCCEEDED

    async def test_starting_twice_is_harmless(self, other_side: OtherSide) -> None:
        await self._started(other_side)
        before = list(other_side.left())
        await other_side.apply(*other_side.backend.start(order()))
        assert list(other_side.left()) == before

    async def test_a_build_that_has_ended_is_not_started_again_by_the_same_order(self, other_side: OtherSide) -> None:
        state = await self._started(other_side)
        await other_side.run(state.name)
        await other_side.fail(state.name, log=FAILING)
        await other_side.apply(*other_side.backend.start(order()))
        assert self._only(other_side).phase == Phase.FAILED

    @pytest.mark.parametrize("running", [True, False], ids=["running", "pending"])
    async def test_a_cancelled_build_ends_and_stays_as_a_record(self, other_side: OtherSide, running: bool) -> None:
        state = await self._started(other_side)
        if running:
            await other_side.run(state.name)
        await other_side.apply(*other_side.backend.cancel(self._only(other_side), Cause.CANCELLED))
        await other_side.settle()
        ended = self._only(other_side)
        assert ended.phase == Phase.FAILED
        assert ended.failed is not None
        assert ended.failed.cause == Cause.CANCELLED

    async def test_cancelling_what_is_over_does_nothing(self, other_side: OtherSide) -> None:
        state = await self._started(other_side)
        await other_side.run(state.name)
        await other_side.succeed(state.name, digest=DIGEST)
        done = self._only(other_side)
        await other_side.apply(*other_side.backend.cancel(done, Cause.CANCELLED))
        await other_side.settle()
        assert self._only(other_side) == done

    @pytest.mark.parametrize("until", ["started", "running", "succeeded", "failed", "lost", "cancelled"])
    async def test_nothing_is_left_of_a_build_that_was_cleaned(self, other_side: OtherSide, until: str) -> None:
        empty = list(other_side.left())
        state = await self._started(other_side)
        if until != "started":
            await other_side.run(state.name)
        if until == "succeeded":
            await other_side.succeed(state.name, digest=DIGEST)
        elif until == "failed":
            await other_side.fail(state.name, log=FAILING)
        elif until == "lost":
            await other_side.lose(state.name)
        elif until == "cancelled":
            await other_side.apply(*other_side.backend.cancel(self._only(other_side), Cause.CANCELLED))
        await other_side.apply(*other_side.backend.clean(self._only(other_side), why="it is not wanted any more"))
        await other_side.settle()
        assert list(other_side.left()) == empty
        assert list(other_side.backend.look("worker")) == []

    async def test_builds_of_other_pools_are_neither_seen_nor_touched(self, other_side: OtherSide) -> None:
        await other_side.run((await self._started(other_side, order("infra"))).name)
        others = list(other_side.left())
        state = await self._started(other_side)
        assert [each.pool for each in other_side.backend.look("infra")] == ["infra"]
        await other_side.apply(*other_side.backend.clean(state, why="the pool is not opted in"))
        await other_side.settle()
        assert list(other_side.left()) == others

    async def test_builds_of_a_pool_are_listed_with_the_oldest_first(self, other_side: OtherSide) -> None:
        orders = [order(), order(attempt=2), order(config=f"rendered-worker-{'2' * 32}", attempt=3)]
        for each in orders:
            await other_side.apply(*other_side.backend.start(each))
        assert [each.name for each in other_side.backend.look("worker")] == [each.name for each in orders]

    @pytest.mark.parametrize("pool", ["w", "performance-" * 5 + "w", "a.b.c.example.com"])
    async def test_names_of_all_pools_fit(self, other_side: OtherSide, pool: str) -> None:
        wanted = order(pool, attempt=ATTEMPTS)
        assert len(wanted.name) <= 63
        await other_side.apply(*other_side.backend.start(wanted))
        assert [(each.pool, each.config) for each in other_side.backend.look(pool)] == [(pool, wanted.request.config)]

    async def test_after_a_crash_in_mid_start_a_second_start_completes_the_build(self, other_side: OtherSide) -> None:
        steps = len(other_side.backend.start(order()))
        for done in range(1, steps + 1):
            pool = f"pool-{done}"
            await other_side.apply(*other_side.backend.start(order(pool))[:done])
            assert len(other_side.backend.look(pool)) == 1, "what a crash leaves behind is found"
            await other_side.apply(*other_side.backend.start(order(pool)))
            state = self._only(other_side, pool)
            await other_side.run(state.name)
            await other_side.succeed(state.name, digest=DIGEST)
            assert self._only(other_side, pool).phase == Phase.SUCCEEDED

    async def test_after_a_crash_in_mid_clean_a_second_clean_leaves_nothing(self, other_side: OtherSide) -> None:
        empty = list(other_side.left())
        for done in range(1, 10):
            state = await self._started(other_side)
            actions = other_side.backend.clean(state, why="it is not wanted any more")
            await other_side.apply(*actions[:done])
            await other_side.settle()
            for each in other_side.backend.look("worker"):
                await other_side.apply(*other_side.backend.clean(each, why="it is not wanted any more"))
            await other_side.settle()
            assert list(other_side.left()) == empty
            if done >= len(actions):
                return

    async def _started(self, other_side: OtherSide, wanted: Order | None = None) -> BuildState:
        wanted = wanted or order()
        await other_side.apply(*other_side.backend.start(wanted))
        return self._only(other_side, wanted.pool.name)

    @staticmethod
    def _only(other_side: OtherSide, pool: str = "worker") -> BuildState:
        [state] = other_side.backend.look(pool)
        return state
