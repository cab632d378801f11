"""The crash harness: it passes what is safe and names what is not. The programs here are written on the runtime."""

from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import (
    AddFinalizer,
    Create,
    Delete,
    Merge,
    MergeItems,
    Outcome,
    Plan,
    RemoveFinalizers,
    Target,
    target,
)
from windlass.kube.control.rounds import reconcile
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.kube.verbs import Api, PatchType
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader, MemoryReader
from windlass.testing.crash import CrashPoint, Harm, NoRest, Report, Scenario, When, crash_everywhere, play

OURS = "crash.windlass.dev/ours"


class Source(Struct):
    RESOURCE: ClassVar[Resource] = Resource("crash.windlass.dev", "v1", "Source", "sources")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


class Copy(Struct):
    RESOURCE: ClassVar[Resource] = Resource("crash.windlass.dev", "v1", "Copy", "copies")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: dict[str, Any] = field(default_factory=dict)


class Snapshot(Struct, frozen=True):
    source: Seen[Source]
    copy: Seen[Copy]
    last: Outcome


def decide(seen: Snapshot, *, now: datetime) -> Plan:
    """Copy the source: finalizer first, then the copy, then say so. On deletion the other way round."""
    source, copy = seen.source, seen.copy
    if not isinstance(source, Present):
        return Plan.nothing("no source")
    held = tuple(source.metadata.finalizers)
    if source.deleting:
        if isinstance(copy, Present):
            return Plan.of(Delete(target=target(copy)))
        return Plan.of(RemoveFinalizers(target=target(source), observed=held, finalizers=(OURS,)))
    if OURS not in held:
        return Plan.of(AddFinalizer(target=target(source), observed=held, finalizer=OURS))
    aim = Target(Copy, source.metadata.name, "ns")
    if isinstance(copy, Absent):
        return Plan.of(Create(target=aim, body={"spec": source.object.spec}))
    assert isinstance(copy, Present)
    return Plan.of(
        Merge(target=target(copy), observed={"spec": copy.object.spec}, desired={"spec": source.object.spec}),
        Merge(
            target=target(source),
            observed={"status": source.object.status},
            desired={"status": {"copied": True}},
            part="status",
        ),
    )


async def run(api: Api, reader: MemoryReader) -> None:
    async def observe(key: str, last: Outcome) -> Snapshot:
        source = await reader.see(Source, key, namespace="ns")
        return Snapshot(source, await reader.see(Copy, key, namespace="ns", confirm=True), last)

    executor = Executor(api, ledger=reader)
    rest = await reconcile("s", observe=observe, decide=decide, executor=executor, now=lambda: datetime.now(UTC))
    assert not rest.failed, rest


def source(**meta: Any) -> dict[str, Any]:
    identity = {"apiVersion": "crash.windlass.dev/v1", "kind": "Source"}
    return {**identity, "metadata": {"name": "s", "namespace": "ns", "uid": "u", **meta}, "spec": {"a": 1}}


def world(**meta: Any) -> MemoryApi:
    api = MemoryApi(Source, Copy)
    api.load(source(**meta))
    return api


def our_finalizer(tree: dict[str, Any]) -> str:
    return "our finalizer" if OURS in tree["metadata"].get("finalizers", []) else ""


async def test_a_program_that_persists_its_intent_first_is_safe_everywhere() -> None:
    report = await crash_everywhere(lambda: Scenario(world(), run))
    assert report.points == 6
    assert report.end["Copy.crash.windlass.dev/v1 ns/s"]["spec"] == {"a": 1}
    assert report.end["Source.crash.windlass.dev/v1 ns/s"]["status"] == {"copied": True}


async def test_items_of_a_list_that_are_changed_one_by_one_are_safe_everywhere() -> None:
    async def one_by_one(api: Api, reader: MemoryReader) -> None:
        async def observe(key: str, last: Outcome) -> Seen[Source]:
            return await reader.see(Source, key, namespace="ns")

        def decide(source: Seen[Source], *, now: datetime) -> Plan:
            assert isinstance(source, Present)
            items = source.tree["spec"]["items"]
            done = sum(item["done"] for item in items)
            desired = [{**item, "done": number <= done} for number, item in enumerate(items)]
            observed = {"spec": {"items": items}}
            return Plan.of(MergeItems(target=target(source), observed=observed, desired={"spec": {"items": desired}}))

        executor = Executor(api, ledger=reader)
        rest = await reconcile("s", observe=observe, decide=decide, executor=executor, now=lambda: datetime.now(UTC))
        assert not rest.failed, rest

    def listed() -> Scenario:
        api = MemoryApi(Source)
        api.load({**source(), "spec": {"items": [{"name": name, "done": False, "text": 99 * "x"} for name in "abc"]}})
        return Scenario(api, one_by_one)

    report = await crash_everywhere(listed)
    assert report.points == 6
    items = report.end["Source.crash.windlass.dev/v1 ns/s"]["spec"]["items"]
    assert [item["done"] for item in items] == [True, True, True]


async def test_actors_step_between_laps_until_nothing_is_written() -> None:
    def deleted_once_copied() -> Scenario:
        async def user(api: MemoryApi) -> None:
            found = api.peek(Source, "s", namespace="ns")
            if found is not None and found.tree().get("status") and not found.deleting:
                await api.delete(Source, "s", namespace="ns")

        return Scenario(world(), run, actors=(user,), leaked=our_finalizer)

    report = await crash_everywhere(deleted_once_copied)
    assert report == Report(points=10, end={})


async def test_a_program_that_remembers_only_in_memory_is_caught() -> None:
    async def forgetful(api: Api, reader: MemoryReader) -> None:
        if isinstance(await reader.see(Copy, "s", namespace="ns"), Present):
            return
        body = {"apiVersion": "crash.windlass.dev/v1", "kind": "Copy", "metadata": {"name": "s"}}
        await api.create(Copy, body, namespace="ns")
        patch = {"status": {"copied": True}}
        await api.patch(Source, "s", patch, type=PatchType.MERGE, namespace="ns", subresource="status")

    with pytest.raises(Harm) as harm:
        await crash_everywhere(lambda: Scenario(world(), forgetful))
    assert str(harm.value).splitlines() == [
        "2 differences to the undisturbed end:",
        "a crash at write 1 (create Copy s), after it was stored: "
        "Source.crash.windlass.dev/v1 ns/s: - status: {'copied': True}",
        "a crash at write 2 (patch Source s (status)), before it was stored: "
        "Source.crash.windlass.dev/v1 ns/s: - status: {'copied': True}",
    ]


async def test_what_is_leaked_is_named() -> None:
    async def lazy(api: Api, reader: MemoryReader) -> None:
        if isinstance(await reader.see(Source, "s", namespace="ns"), Absent):
            return
        body = {"metadata": {"finalizers": [OURS]}}
        await api.patch(Source, "s", body, type=PatchType.MERGE, namespace="ns")

    with pytest.raises(Harm, match=r"undisturbed: something is leaked:\nSource.crash.* ns/s: our finalizer"):
        await crash_everywhere(lambda: Scenario(world(), lazy, leaked=our_finalizer))


async def test_a_scenario_without_end_is_named() -> None:
    async def restless(api: Api, reader: MemoryReader) -> None:
        found = await api.get(Source, "s", namespace="ns")
        patch = {"spec": {"a": found.tree()["spec"]["a"] + 1}}
        await api.patch(Source, "s", patch, type=PatchType.MERGE, namespace="ns")

    with pytest.raises(NoRest, match="MODIFIED Source ns/s"):
        await crash_everywhere(lambda: Scenario(world(), restless))


async def test_a_dead_process_neither_reads_nor_writes() -> None:
    seen: list[str] = []

    async def stubborn(api: Api, reader: MemoryReader) -> None:
        for body in ({"spec": {"a": 2}}, {"spec": {"b": 2}}):
            try:
                await api.patch(Source, "s", body, type=PatchType.MERGE, namespace="ns")
            except BaseException as error:
                seen.append(type(error).__name__)

    api = world()
    point = CrashPoint(1, When.BEFORE)
    await play(Scenario(api, stubborn), point)
    assert point.writes == ["patch Source s"]
    assert seen == ["Crashed", "Crashed"]
    assert api.dump()[0]["spec"] == {"a": 2, "b": 2}


async def test_a_lagging_cache_shows_own_writes_and_confirms_absence_live() -> None:
    api = world()
    reader = LaggingReader(api)
    reader.freeze(Source, Copy)
    await api.patch(Source, "s", {"spec": {"a": 9}}, type=PatchType.MERGE, namespace="ns")
    made = await api.create(
        Copy, {"apiVersion": "crash.windlass.dev/v1", "kind": "Copy", "metadata": {"name": "s"}}, namespace="ns"
    )
    old = await reader.see(Source, "s", namespace="ns")
    assert isinstance(old, Present)
    assert old.object.spec == {"a": 1}
    assert await reader.see(Copy, "s", namespace="ns") == Absent(confirmed=False)
    assert isinstance(await reader.see(Copy, "s", namespace="ns", confirm=True), Present)
    reader.wrote(made)
    assert isinstance(await reader.see(Copy, "s", namespace="ns"), Present)
    assert [found.name for found in reader.listing(Copy)] == ["s"]
    reader.release()
    new = await reader.see(Source, "s", namespace="ns")
    assert isinstance(new, Present)
    assert new.object.spec == {"a": 9}


async def test_a_cache_that_lags_does_not_make_a_careful_program_write_twice() -> None:
    def lagging() -> Scenario:
        def reader(api: MemoryApi) -> MemoryReader:
            cache = LaggingReader(api)
            cache.freeze(Copy)
            return cache

        return Scenario(world(), run, reader=reader)

    assert (await crash_everywhere(lagging)).points == 6
