"""The process: it starts and stops its work with the feature gate, says how it is, and idles beside its rival."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from aiohttp import ClientSession, TCPConnector

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.coordination import Lease
from windlass.capability.service import Address
from windlass.kube.errors import AlreadyExists
from windlass.kube.process.accepting import Limits
from windlass.kube.process.guard import IN_LINE
from windlass.kube.process.lease import LeaseTimes
from windlass.kube.process.tasks import end
from windlass.machine_sync.constants import HOLDER_PREFIX, LEASE_NAME
from windlass.testing.plane.audit import Permission
from windlass.testing.plane.ports import free_ports

from .replicas import starting
from .stage import Stage

pytestmark = pytest.mark.plane


class Probe:
    """Asks the process how it is."""

    def __init__(self, session: ClientSession, port: int) -> None:
        self.address = Address("127.0.0.1", port)
        self._session = session

    async def ready(self) -> tuple[int, str]:
        try:
            async with self._session.get(f"http://127.0.0.1:{self.address.port}/readyz?verbose") as answer:
                return answer.status, await answer.text()
        except OSError as error:
            return 0, str(error)

    async def until_ready(self, *, check: str = "") -> str:
        _, text = await eventually(
            self.ready, lambda found: found[0] == 200 and check in found[1], what=f"ready {check}"
        )
        return text


@pytest.fixture
async def probe() -> AsyncIterator[Probe]:
    async with ClientSession() as session:
        yield Probe(session, free_ports(1)[0])


async def test_the_feature_gate_starts_and_stops_the_work_while_the_process_stays_ready(
    stage: Stage, probe: Probe
) -> None:
    await stage.enable(gates=())
    await stage.fleet()
    await stage.machine("w-0")
    before = await stage.everything("w-0")
    async with stage.syncing(probes=probe.address):
        assert "machines.cluster.x-k8s.io" not in await probe.until_ready(), "idle: nothing is watched"
        assert await stage.everything("w-0") == before

        await stage.enable()
        await stage.in_sync("w-0")
        await probe.until_ready(check="[+]cache/machines.cluster.x-k8s.io")

        await stage.enable(gates=("Another",))
        await eventually(probe.ready, lambda found: "machines.cluster.x-k8s.io" not in found[1], what="idle again")
        await probe.until_ready()
        await stage.resize("w-0", "huge")
        await stage.enable()
        await stage.mirror_that("w-0", lambda tree: stage.example.provider_size(tree) == "huge")


async def test_many_strangers_at_metrics_cost_the_api_server_few_requests(stage: Stage, probe: Probe) -> None:
    address = Address("127.0.0.1", free_ports(1)[0])
    # Fewer than may wait for a request: of more, the oldest would be reset.
    connector = TCPConnector(limit=Limits().waiting // 2)
    async with stage.syncing(probes=probe.address, metrics=address), ClientSession(connector=connector) as session:
        await probe.until_ready()

        async def scrape(number: int) -> int:
            headers = {"Authorization": f"Bearer stranger-{number}"}
            async with session.get(f"http://127.0.0.1:{address.port}/metrics", headers=headers) as answer:
                return answer.status

        began = time.monotonic()
        statuses = await asyncio.gather(*(scrape(number) for number in range(600)))
        seconds = time.monotonic() - began
    assert set(statuses) == {401, 429}
    asked = [
        event
        for event in stage.plane.audit.events(user=stage.user)
        if event.get("objectRef", {}).get("resource") == "tokenreviews"
    ]
    assert len(asked) == statuses.count(401)
    assert len(asked) <= IN_LINE + 10 * seconds


async def test_the_platform_may_change_while_it_runs(stage: Stage, probe: Probe) -> None:
    await stage.enable(platform="PowerVS")
    await stage.fleet()
    await stage.machine("w-0")
    async with stage.syncing(probes=probe.address):
        await probe.until_ready()
        assert await stage.get(mapi.Machine, "w-0") is None
        await stage.enable(platform="OpenStack")
        await stage.in_sync("w-0")


async def test_it_uses_what_it_was_granted_and_is_never_refused(stage: Stage) -> None:
    """All that it does in the life of a machine is allowed, and what it may write it has written."""
    async with stage.syncing():
        await stage.fleet()
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        await stage.resize("w-0", "huge")
        await stage.mirror_that("w-0", lambda tree: stage.example.provider_size(tree) == "huge")
        await stage.machine("w-1", infra=False)
        await stage.told("w-1", "SynchronizationWarning")
        await stage.delete(mapi.Machine, "w-0")
        await eventually(
            lambda: stage.get(capi.Machine, "w-0"), lambda tree: tree and "deletionTimestamp" in tree["metadata"]
        )
        await stage.delete(stage.infra_kind, "w-0")
        await stage.take_off(stage.infra_kind, "w-0", stage.example.simulated.machine_finalizer)
        await stage.gone((stage.infra_kind, "w-0"))
    refused = [
        f"{event['verb']} {event.get('requestURI')}"
        for event in stage.plane.audit.events(user=stage.user)
        if event.get("responseStatus", {}).get("code") == 403
        # RBAC reaches the authorizer a moment after it was written.
        and event["verb"] not in ("list", "watch")
    ]
    assert refused == []
    used = stage.plane.audit.permissions_used(stage.user)
    openshift, core = "machine.openshift.io", "cluster.x-k8s.io"
    assert used >= {
        Permission("create", openshift, "machines"),
        Permission("patch", openshift, "machines"),
        Permission("patch", openshift, "machines/status"),
        Permission("patch", core, "machines"),
        Permission("delete", core, "machines"),
        Permission("patch", "infrastructure.cluster.x-k8s.io", "openstackmachines"),
        Permission("create", "", "events"),
    }


class Operator:
    """OpenShift's migration controllers, as far as their Lease goes."""

    NAME = "capi-controllers-6d9f_1"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._moments = (f"2026-05-01T12:00:{n // 100:02}.{n % 100:02}0000Z" for n in count(1))
        self._renewing: asyncio.Task[None] | None = None
        self._renewals = 0

    async def takes_the_lease(self) -> None:
        lease = {"metadata": {"name": LEASE_NAME}, "spec": {}}
        with suppress(AlreadyExists):
            await self._stage.admin.create(Lease, lease, namespace=self._stage.namespaces.cluster_api)
        await self._write(self.NAME)
        self._renewing = asyncio.create_task(self._renew())

    async def renews(self, times: int) -> None:
        """Until it has renewed its Lease so often from now on."""
        wanted = self._renewals + times
        await eventually(self._count, lambda renewals: renewals >= wanted, what=f"{times} renewals")

    async def releases_it(self) -> None:
        if self._renewing:
            await end(self._renewing)
            await self._write("")

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            await self._write(self.NAME)
            self._renewals += 1

    async def _count(self) -> int:
        return self._renewals

    async def _write(self, holder: str) -> None:
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 137, "renewTime": next(self._moments)}
        await self._stage.patch(Lease, LEASE_NAME, {"spec": spec})


@pytest.fixture
async def operator(stage: Stage) -> AsyncIterator[Operator]:
    operator = Operator(stage)
    yield operator
    await operator.releases_it()


async def test_it_idles_while_the_operator_it_replaces_works_and_works_while_that_does_not(
    stage: Stage, probe: Probe, operator: Operator
) -> None:
    (port,) = free_ports(1)
    metrics = Address("127.0.0.1", port)

    async def idle() -> bool:
        async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as answer:
            return 'windlass_idle{reason="LeaseHeld"} 1.0' in await answer.text()

    async def holder() -> str:
        lease = await stage.get(Lease, LEASE_NAME)
        return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")

    await stage.fleet()
    await stage.machine("w-0")
    unmirrored = await stage.everything("w-0")
    await operator.takes_the_lease()
    async with stage.syncing(probes=probe.address, metrics=metrics, metrics_open=True, times=LeaseTimes()):
        await probe.until_ready(check="[+]cache/machines.cluster.x-k8s.io")
        await eventually(idle, bool, what="idle")
        await operator.renews(10)
        assert await stage.everything("w-0") == unmirrored

        await operator.releases_it()
        await stage.in_sync("w-0")
        assert (await holder()).startswith(HOLDER_PREFIX)
        assert not await idle()

        await operator.takes_the_lease()
        await eventually(idle, bool, what="idle again")
        before = await stage.get(mapi.Machine, "w-0")
        await stage.resize("w-0", "huge")
        await operator.renews(10)
        assert await stage.get(mapi.Machine, "w-0") == before
        assert (await probe.ready())[0] == 200
        assert await holder() == operator.NAME

        await operator.releases_it()
        await stage.mirror_that("w-0", lambda tree: stage.example.provider_size(tree) == "huge")


async def test_it_does_not_keep_the_lease_from_platforms_that_it_does_not_serve(stage: Stage, probe: Probe) -> None:
    async with stage.syncing(probes=probe.address, times=LeaseTimes()):
        await eventually(lambda: stage.get(Lease, LEASE_NAME), lambda lease: lease and lease["spec"]["holderIdentity"])
        await stage.enable(platform="VSphere")
        await eventually(
            lambda: stage.get(Lease, LEASE_NAME), lambda lease: lease and not lease["spec"].get("holderIdentity")
        )
        await probe.until_ready()


async def test_told_to_end_it_ends_well_and_its_successor_starts_at_once(stage: Stage, tmp_path: Path) -> None:
    await stage.fleet()
    await stage.machine("w-0")
    long_lease = ("--leader-elect-lease-duration=300s", "--leader-elect-renew-deadline=200s")
    async with starting(stage, tmp_path, *long_lease) as one:
        await stage.in_sync("w-0")
        assert await one.end() == 0
    lease = await stage.get(Lease, LEASE_NAME)
    assert lease is not None
    assert not lease["spec"].get("holderIdentity"), "the lease was released"
    await stage.machine("w-1")
    async with starting(stage, tmp_path, *long_lease) as two:
        # Far less than the lease would have lasted.
        await stage.in_sync("w-1")
        assert await two.end() == 0
