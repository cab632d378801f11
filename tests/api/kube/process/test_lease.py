"""Elections on a real API server: the record it takes, the races it decides, the rights it asks for."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from windlass.api.coordination import Lease, LeaseSpec
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.permissions import rules
from windlass.kube.errors import Fenced, Forbidden
from windlass.kube.process.lease import Election, LeaseTimes, held, lease_permissions
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane

LONG = LeaseTimes(duration=600, renew_deadline=400, retry=0.3, margin=0.5)
"""No test waits until a lease has run out; one puts the clock forward."""
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
async def client(windlass_kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_kubeconfig)) as client:
        yield client


@pytest.fixture
def candidate(client: Client, windlass_namespace: str) -> Callable[..., Election]:
    def make(identity: str, clock: Clock | None = None) -> Election:
        return Election(client, "windlass", namespace=windlass_namespace, identity=identity, times=LONG, clock=clock)

    return make


class Ahead(SystemClock):
    """A clock that can be put forward."""

    seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.seconds


async def record(client: Client, namespace: str) -> LeaseSpec:
    return (await client.get(Lease, "windlass", namespace=namespace)).decode().spec


async def test_a_lease_is_taken_renewed_released_and_taken_over(
    client: Client, windlass_namespace: str, candidate: Callable[..., Election]
) -> None:
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    first = await record(client, windlass_namespace)
    assert (first.holder_identity, first.lease_duration_seconds, first.lease_transitions or 0) == ("one", 600, 0)
    assert MICRO_TIME.fullmatch(first.acquire_time or "")
    keeping = asyncio.create_task(one.keep())
    waiting = asyncio.create_task(two.acquire())
    async with asyncio.timeout(PATIENCE):
        while (renewed := await record(client, windlass_namespace)).renew_time == first.renew_time:
            pass
    assert renewed.acquire_time == first.acquire_time
    assert not waiting.done()
    keeping.cancel()
    await asyncio.wait([keeping])
    await one.release()
    async with asyncio.timeout(PATIENCE):
        await waiting
    second = await record(client, windlass_namespace)
    assert (second.holder_identity, second.lease_transitions) == ("two", 1)


async def test_a_released_lease_has_the_record_that_client_go_leaves(
    client: Client, windlass_namespace: str, candidate: Callable[..., Election]
) -> None:
    one = candidate("one")
    await one.acquire()
    await one.release()
    left = await record(client, windlass_namespace)
    assert not left.holder_identity
    assert left.lease_duration_seconds == 1
    assert await held(client, "windlass", namespace=windlass_namespace) == ""


async def test_of_many_candidates_exactly_one_wins(candidate: Callable[..., Election]) -> None:
    elections = [candidate(f"candidate-{number}") for number in range(8)]
    tasks = [asyncio.create_task(each.acquire()) for each in elections]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert sum(each.leading for each in elections) == 1
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_a_silent_leader_is_followed_after_the_duration_and_then_fenced(
    client: Client, windlass_namespace: str, candidate: Callable[..., Election]
) -> None:
    clock = Ahead()
    one, two = candidate("one", clock), candidate("two", clock)
    await one.acquire()
    one.gate(1.0)
    taking = asyncio.create_task(two.acquire())
    async with asyncio.timeout(PATIENCE):
        while two.holder != "one":
            # Once through the API server is long enough.
            await record(client, windlass_namespace)
        clock.seconds = LONG.duration + 1
        await taking
    with pytest.raises(Fenced):
        one.gate(0.01)
    two.gate(1.0)


async def test_a_lease_in_use_by_another_program_is_seen_to_be_held(
    client: Client, windlass_namespace: str, candidate: Callable[..., Election]
) -> None:
    operator = candidate("operator")
    await operator.acquire()
    keeping = asyncio.create_task(operator.keep())
    assert await held(client, "windlass", namespace=windlass_namespace, poll=0.2) == "operator"
    keeping.cancel()
    await asyncio.wait([keeping])


async def test_the_declared_rights_are_enough_and_needed(windlass_plane: PlaneAccess, windlass_namespace: str) -> None:
    await windlass_plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account("candidate", windlass_namespace)}
    )
    path = await windlass_plane.service_account_kubeconfig(windlass_namespace, "candidate")
    async with Client(config.load(kubeconfig=path)) as client:
        with pytest.raises(Forbidden):
            await held(client, "windlass", namespace=windlass_namespace)
        declared = rules(lease_permissions("windlass", namespace=windlass_namespace))[windlass_namespace]
        await windlass_plane.apply(*role("candidate", windlass_namespace, declared))
        election = Election(client, "windlass", namespace=windlass_namespace, identity="one", times=LONG)
        async with asyncio.timeout(PATIENCE):
            await election.acquire()
        await election.release()
        assert await held(client, "windlass", namespace=windlass_namespace) == ""


def account(name: str, namespace: str) -> dict[str, str]:
    return {"name": name, "namespace": namespace}


def role(name: str, namespace: str, declared: list[dict[str, object]]) -> list[dict[str, object]]:
    """A Role with these rules, bound to the ServiceAccount of the same name."""
    version = "rbac.authorization.k8s.io/v1"
    return [
        {"apiVersion": version, "kind": "Role", "metadata": account(name, namespace), "rules": declared},
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": account(name, namespace),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", **account(name, namespace)}],
        },
    ]
