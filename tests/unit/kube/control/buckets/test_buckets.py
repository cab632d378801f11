"""Buckets for vaults, on the real runtime against a real service: never none, never two, whatever goes wrong."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from tests.patience import PATIENCE
from tests.unit.kube.control.buckets.carrier import BucketCarrier, CreateBucket, DeleteBucket, Throttled
from tests.unit.kube.control.buckets.controller import FINALIZER, NAMESPACE, Vault, vault, vaults
from tests.unit.kube.control.buckets.service import BucketService, Fate
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared, rules
from windlass.kube.control.plan import Done, Retry
from windlass.kube.control.rounds import Ending
from windlass.kube.control.source import Mailbox
from windlass.kube.control.worker import Running
from windlass.kube.verbs import Api, PatchType
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.crash import Harm, Report, Scenario, Systems, crash_everywhere


def world(*trees: dict[str, Any]) -> MemoryApi:
    api = MemoryApi(Vault)
    api.load(*trees or [vault("v", uid="mark")])
    return api


@contextmanager
def little_patience() -> Iterator[None]:
    """Answers that do not come are not waited for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BucketCarrier, "LOOK_SECONDS", 0.1)
        for request in (CreateBucket, DeleteBucket):
            patch.setattr(request, "SECONDS", 0.1)
        yield


def status(api: MemoryApi, name: str = "v") -> dict[str, Any]:
    found = api.peek(Vault, name, namespace=NAMESPACE)
    assert found is not None
    return dict(found.tree().get("status") or {})


async def attempt(api: Api, reader: MemoryReader, systems: Systems, key: str = "v") -> Ending:
    controller = vaults(reader, systems["buckets"], Mailbox())  # type: ignore[arg-type]
    return await controller.reconcile(
        key,
        executor=Executor(api, ledger=reader, permits=Declared(controller.declared), systems=systems),
        now=lambda: datetime.now(UTC),
    )


async def one_attempt(api: MemoryApi, service: BucketService) -> Ending:
    async with BucketCarrier(service.url) as carrier:
        return await attempt(api, MemoryReader(api), {"buckets": carrier})


class TestOneAttempt:
    async def test_a_vault_gets_its_bucket(self) -> None:
        api = world()
        async with BucketService().served() as service:
            assert await one_attempt(api, service) == Ending(Done(), rounds=4, writes=3)
            assert status(api) == {"bucket": "b-1", "reason": "Ready"}

    async def test_a_bucket_whose_answer_was_lost_is_found_by_its_mark(self) -> None:
        api = world()
        async with BucketService(Fate.WELL, Fate.LOST).served() as service:
            await one_attempt(api, service)
            assert status(api) == {"bucket": "b-1", "reason": "Ready"}
            assert service.requests == ["GET", "POST", "GET"]

    async def test_a_refusal_is_a_reason_in_the_status(self) -> None:
        api = world()
        async with BucketService(Fate.WELL, Fate.QUOTA).served() as service:
            ending = await one_attempt(api, service)
        assert status(api) == {"reason": "QuotaUsedUp", "message": "the quota of buckets is used up"}
        assert ending.next == Retry("the quota of buckets is used up")
        assert service.requests.count("POST") == 1

    async def test_a_transient_failure_is_a_reason_in_the_status_too_and_ends_the_attempt(self) -> None:
        api = world()
        async with BucketService(Fate.WELL, Fate.BUSY, retry_after=7.0).served() as service:
            ending = await one_attempt(api, service)
        assert status(api) == {"reason": "Throttled", "message": "slow down"}
        assert ending.next == Retry("slow down")
        assert isinstance(ending.error, Throttled)
        assert ending.error.retry_after == 7.0
        assert service.requests.count("POST") == 1

    async def test_a_service_that_cannot_be_looked_at_is_a_reason_in_the_status(self) -> None:
        api = world()
        async with BucketService(Fate.LOST).served() as service:
            ending = await one_attempt(api, service)
        assert status(api)["reason"] == "Unreachable"
        assert ending.failed
        assert service.requests == ["GET"], "nothing is asked twice in an attempt, and nothing is made blindly"

    async def test_of_two_buckets_with_one_mark_the_oldest_stays(self) -> None:
        api = world()
        async with BucketService().served() as service, BucketCarrier(service.url) as other:
            for name in ("v", "late"):
                await other.send(CreateBucket(name, "mark"))
            await one_attempt(api, service)
            assert [bucket.id for bucket in service.buckets.values()] == ["b-1"]
            assert status(api)["bucket"] == "b-1"

    async def test_calls_bring_no_rights_on_the_cluster(self) -> None:
        declared = vaults(MemoryReader(world()), BucketCarrier(""), Mailbox()).declared
        assert {rule["apiGroups"][0] for rule in rules(declared)[NAMESPACE]} == {"buckets.windlass.dev"}


class TestCrashes:
    """A process that dies before and after every write and Call."""

    async def scenario(self, service: BucketService, carriers: list[BucketCarrier], *, deleted: bool) -> Report:
        async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
            ending = await attempt(api, reader, systems)
            assert not ending.failed, ending

        async def delete(api: MemoryApi) -> None:
            found = api.peek(Vault, "v", namespace=NAMESPACE)
            if found is not None and not found.deleting and status(api).get("bucket"):
                await api.delete(Vault, "v", namespace=NAMESPACE)

        def born() -> BucketCarrier:
            carriers.append(BucketCarrier(service.url))
            return carriers[-1]

        def made() -> Scenario:
            service.buckets.clear()
            service.created.clear()
            return Scenario(
                world(),
                settle,
                actors=(delete,) if deleted else (),
                systems={"buckets": born},
                unowned=service.strays,
                leaked=lambda tree: "our finalizer" if deleted and FINALIZER in tree["metadata"]["finalizers"] else "",
            )

        try:
            return await crash_everywhere(made)
        finally:
            for each in carriers:
                await each.__aexit__(None, None, None)

    async def test_a_crash_anywhere_leaves_exactly_one_bucket(self) -> None:
        async with BucketService().served() as service:
            report = await self.scenario(service, [], deleted=False)
            assert service.created == {"mark": 1}
        assert report.points == 6, "finalizer, bucket and status, before and after each"
        assert report.end["Vault.buckets.windlass.dev/v1 bank/v"]["status"] == {"bucket": "b-1", "reason": "Ready"}

    async def test_a_crash_anywhere_of_a_deletion_leaves_nothing(self) -> None:
        async with BucketService().served() as service:
            assert await self.scenario(service, [], deleted=True) == Report(points=12, end={})
            assert not service.buckets

    async def test_a_controller_that_does_not_look_first_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def blind(carrier: BucketCarrier, owner: str) -> tuple[()]:
            return carrier._remembered.get(owner, ())  # type: ignore[return-value]

        monkeypatch.setattr(BucketCarrier, "marked", blind)
        async with BucketService().served() as service:
            with pytest.raises(Harm, match=r"create bucket \(buckets\)\), after it was stored: something is leaked:\n"):
                await self.scenario(service, [], deleted=False)


class Bank:
    """The controller at work on a model of a cluster, until it is stopped."""

    def __init__(self, api: MemoryApi, service: BucketService) -> None:
        self.api = api
        self.service = service

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        mailbox: Mailbox[str] = Mailbox()
        async with BucketCarrier(self.service.url) as carrier:
            controller = vaults(MemoryReader(self.api), carrier, mailbox)
            executor = Executor(self.api, permits=Declared(controller.declared), systems={"buckets": carrier})
            running = Running(controller, executor=executor)
            task = asyncio.create_task(running.run())
            end = self.api.subscribe(lambda change: mailbox.post(change.tree["metadata"]["name"]))
            await asyncio.sleep(0)
            for found in self.api.listing(Vault, NAMESPACE):
                mailbox.post(found.name)
            try:
                yield
            finally:
                end()
                await running.drain()
                await task

    def at_rest(self) -> bool:
        return all(
            (found.tree().get("status") or {}).get("reason") == "Ready"
            if found.tree()["spec"]["bucket"]
            else FINALIZER not in found.metadata.finalizers and not found.tree().get("status")
            for found in self.api.listing(Vault, NAMESPACE)
        )

    async def rest(self) -> None:
        async with asyncio.timeout(PATIENCE):
            changed = asyncio.Event()
            end = self.api.subscribe(lambda _: changed.set())
            try:
                while not self.at_rest():
                    changed.clear()
                    await changed.wait()
            finally:
                end()


async def test_a_bucket_whose_answer_never_comes_is_found_by_its_mark() -> None:
    api = world()
    async with BucketService(Fate.WELL, Fate.SLOW).served() as service:
        bank = Bank(api, service)
        with little_patience():
            async with bank.open():
                await bank.rest()
        assert status(api) == {"bucket": "b-1", "reason": "Ready"}
        assert service.created == {"mark": 1}


FATES = st.lists(st.sampled_from([*Fate, Fate.LOST, Fate.UNHEARD]), max_size=12)


@examples(40)
@given(wanted=st.lists(st.booleans(), min_size=1, max_size=3), first=FATES, second=FATES)
def test_whatever_goes_wrong_every_vault_has_the_one_bucket_that_it_wants(
    wanted: Sequence[bool], first: Sequence[Fate], second: Sequence[Fate]
) -> None:
    async def scenario() -> None:
        api = world(*(vault(f"v{number}", bucket=True, uid=f"mark-{number}") for number in range(len(wanted))))
        async with BucketService(*first).served() as service:
            bank = Bank(api, service)
            async with bank.open():
                await bank.rest()
            assert service.created == {f"mark-{number}": 1 for number in range(len(wanted))}
            assert service.strays(api.dump()) == []
            service.weather.extend(second)
            for number, wants in enumerate(wanted):
                patch = {"spec": {"bucket": wants}}
                await api.patch(Vault, f"v{number}", patch, type=PatchType.MERGE, namespace=NAMESPACE)
            async with bank.open():
                await bank.rest()
            assert {bucket.owner for bucket in service.buckets.values()} == {
                f"mark-{number}" for number, wants in enumerate(wanted) if wants
            }
            assert max(service.created.values()) == 1
            assert service.strays(api.dump()) == []

    with little_patience():
        asyncio.run(scenario())
