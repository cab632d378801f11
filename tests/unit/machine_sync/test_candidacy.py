"""Machine sync and OpenShift's migration controllers compete for one Lease: whoever holds it works."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from random import Random
from typing import Any

import pytest

from tests.waiting import until
from windlass.api.coordination import Lease, LeaseSpec
from windlass.kube.errors import Fenced, Forbidden, Status
from windlass.kube.process.tasks import end
from windlass.kube.verbs import PatchType
from windlass.machine_sync.activation import Idle
from windlass.machine_sync.candidacy import Candidacy
from windlass.machine_sync.constants import LEASE_NAME
from windlass.model import MemoryApi, refusals
from windlass.testing.clock import VirtualLoop
from windlass.testing.logs import captured

PLACE = "openshift-cluster-api"
OPERATOR = "capi-controllers-6d9f_1"
RENEWS = 26.0
"""Seconds between renewals of OpenShift's controllers; others wait 137."""
HELD = Idle(
    f"OpenShift's migration operator works: {OPERATOR} holds Lease {PLACE}/{LEASE_NAME}",
    "LeaseHeld",
)


class Ground:
    """One replica of Machine sync, led as a manager leads it, and OpenShift's controllers."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.api = MemoryApi(Lease, clock=loop.clock.now)
        self.one = self.replica("windlass_one")
        self.lost: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []

    def replica(self, identity: str) -> Candidacy:
        return Candidacy(self.api, namespace=PLACE, identity=identity, clock=self.loop.clock, random=Random(1))

    async def lead(self, candidacy: Candidacy) -> None:
        while True:
            await candidacy.acquire()
            self.lost.append(await candidacy.keep())

    async def write(self, holder: str, *, renewed: int = 0) -> None:
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": 137,
            "renewTime": f"2026-05-01T12:00:00.{renewed:06}Z",
        }
        if self.api.peek(Lease, LEASE_NAME, namespace=PLACE):
            await self.api.patch(Lease, LEASE_NAME, {"spec": spec}, type=PatchType.MERGE, namespace=PLACE)
        else:
            await self.api.create(Lease, {"metadata": {"name": LEASE_NAME}, "spec": spec}, namespace=PLACE)

    async def operate(self) -> None:
        """OpenShift's controllers renew their Lease."""
        renewed = 0
        while True:
            await self.write(OPERATOR, renewed=(renewed := renewed + 1))
            await asyncio.sleep(RENEWS)

    def start(self, doing: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(doing)
        self._tasks.append(task)
        return task

    def record(self) -> LeaseSpec:
        found = self.api.peek(Lease, LEASE_NAME, namespace=PLACE)
        assert found is not None
        return found.decode().spec

    def run(self, scenario: Callable[[], Awaitable[None]]) -> None:
        async def whole() -> None:
            await scenario()
            await end(*self._tasks)

        self.loop.run_until_complete(whole())


@pytest.fixture
def ground() -> Iterator[Ground]:
    loop = VirtualLoop()
    yield Ground(loop)
    loop.close()


def refused(candidacy: Candidacy) -> bool:
    try:
        candidacy.gate(1.0)
    except Fenced:
        return True
    return False


def test_it_idles_while_openshifts_controllers_hold_the_lease_and_works_when_they_release_it(ground: Ground) -> None:
    async def scenario() -> None:
        operator = ground.start(ground.operate())
        await until(lambda: ground.api.peek(Lease, LEASE_NAME, namespace=PLACE))
        ground.one.stand()
        leading = ground.start(ground.lead(ground.one))
        await until(lambda: ground.one.idle)
        assert ground.one.idle == HELD
        await asyncio.sleep(1000)
        assert ground.one.idle == HELD
        assert refused(ground.one)

        operator.cancel()
        await ground.write("")
        await until(lambda: ground.one.leading, within=3)
        assert ground.one.idle is None
        assert ground.record().holder_identity == "windlass_one"
        assert not leading.done()

    ground.run(scenario)


def test_it_works_when_they_have_not_renewed_it_in_their_time(ground: Ground) -> None:
    async def scenario() -> None:
        await ground.write(OPERATOR)
        ground.one.stand()
        ground.start(ground.lead(ground.one))
        await asyncio.sleep(130)
        assert ground.one.idle == HELD
        await until(lambda: ground.one.leading, within=10)

    ground.run(scenario)


def test_it_stops_and_idles_when_they_take_the_lease(ground: Ground) -> None:
    async def scenario() -> None:
        ground.one.stand()
        ground.start(ground.lead(ground.one))
        await until(lambda: ground.one.leading)
        await ground.write(OPERATOR)
        await until(lambda: ground.lost == [f"taken by {OPERATOR}"], within=5)
        assert refused(ground.one)
        await until(lambda: ground.one.idle == HELD, within=5)

    ground.run(scenario)


def test_a_standby_replica_does_not_idle(ground: Ground) -> None:
    async def scenario() -> None:
        two = ground.replica("windlass_two")
        for each in (ground.one, two):
            each.stand()
            ground.start(ground.lead(each))
            await asyncio.sleep(10)
        assert (ground.one.leading, two.leading) == (True, False)
        assert two.holder == "windlass_one"
        assert two.idle is None

    ground.run(scenario)


def test_without_work_the_lease_is_left_alone(ground: Ground) -> None:
    async def scenario() -> None:
        ground.start(ground.lead(ground.one))
        await asyncio.sleep(1000)
        assert ground.api.peek(Lease, LEASE_NAME, namespace=PLACE) is None
        assert ground.one.idle is None

    ground.run(scenario)


def test_when_there_is_no_more_work_the_lease_is_given_back(ground: Ground) -> None:
    async def scenario() -> None:
        ground.one.stand()
        ground.start(ground.lead(ground.one))
        await until(lambda: ground.one.leading)
        ground.one.withdraw()
        await until(lambda: not ground.record().holder_identity, within=1)
        assert ground.lost == ["withdrawn: there is no work"]
        assert refused(ground.one)
        await ground.write(OPERATOR)
        await asyncio.sleep(300)
        assert ground.record().holder_identity == OPERATOR
        assert ground.one.idle is None

        ground.one.stand()
        await until(lambda: ground.one.leading)

    ground.run(scenario)


def test_who_is_ahead_is_logged_at_each_change_and_only_then(ground: Ground) -> None:
    async def scenario() -> None:
        operator = ground.start(ground.operate())
        await asyncio.sleep(1)
        ground.one.stand()
        ground.start(ground.lead(ground.one))
        await asyncio.sleep(1000)
        operator.cancel()
        await ground.write("windlass_two")
        await asyncio.sleep(100)

    with captured() as said:
        ground.run(scenario)
    assert [line["event"] for line in said] == [
        f"Machine sync idles: {HELD.why}",
        "Machine sync stands by: windlass_two holds the Lease",
    ]


def test_readiness_says_so_while_it_may_not_compete(ground: Ground) -> None:
    """The Role goes with a namespace that is being deleted, and the Lease too."""

    async def scenario() -> None:
        ground.start(ground.lead(ground.one))
        refusal = Forbidden(Status("Failure", "leases is forbidden", "Forbidden", 403))
        ground.api.fail_next("get", Lease, refusal, times=5)
        assert ground.one.blocked == ""
        ground.one.stand()
        await until(lambda: ground.one.blocked)
        assert ground.one.blocked.startswith(f"cannot compete for Lease {PLACE}/{LEASE_NAME}: leases is forbidden")
        assert "run `windlass release --all`" in ground.one.blocked
        await until(lambda: ground.one.leading)
        assert ground.one.blocked == ""

    ground.run(scenario)


def test_a_failure_that_passes_does_not_make_it_unready(ground: Ground) -> None:
    async def scenario() -> None:
        ground.api.fail_next("get", Lease, refusals.internal("etcd is slow"), times=5)
        ground.one.stand()
        ground.start(ground.lead(ground.one))
        await asyncio.sleep(3)
        assert ground.one.blocked == ""

    ground.run(scenario)
