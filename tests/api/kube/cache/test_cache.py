"""A cache of a real API server: what the scripted one is believed to do, done by the real one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.patience import PATIENCE
from tests.waiting import until
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.cache import Cache
from windlass.kube.cache.health import FollowStage
from windlass.kube.cache.store import Change
from windlass.kube.client import Client
from windlass.kube.control.plan import Target
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable
from windlass.kube.errors import Invalid, NotFound, Status
from windlass.kube.verbs import PatchType
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Gear(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("cache.windlass.test", "v1", "Gear", "gears")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: dict[str, int] = field(default_factory=dict)


class Comet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("cache.windlass.test", "v1", "Comet", "comets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class CustomResourceDefinition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
    )
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


def crd_of(kind: type[Any]) -> dict[str, Any]:
    resource = kind.RESOURCE
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.name},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"kind": resource.kind, "plural": resource.plural},
            "versions": [{"name": resource.version, "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture
async def client(windlass_kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_kubeconfig)) as client:
        yield client


@asynccontextmanager
async def running(cache: Cache[Any], *, synced: bool = True) -> AsyncIterator[None]:
    task = asyncio.create_task(cache.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await (cache.wait_synced() if synced else cache.wait_settled())
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more}}


async def test_every_own_write_is_visible_at_once_and_settles_into_the_stream(
    client: Client, windlass_namespace: str
) -> None:
    cache = Cache(client, ConfigMap, namespace=windlass_namespace)
    told: list[Change[ConfigMap]] = []
    cache.subscribe(told.append)
    async with running(cache):
        told.clear()
        made = await client.create(ConfigMap, named("x"), namespace=windlass_namespace)
        cache.wrote(made)
        found = cache.get("x")
        assert found is not None
        assert found.resource_version == made.resource_version
        changed = await client.patch(
            ConfigMap, "x", {"data": {"a": "b"}}, type=PatchType.MERGE, namespace=windlass_namespace
        )
        cache.wrote(changed)
        assert [item.decode().data for item in cache.items() if item.name == "x"] == [{"a": "b"}]
        assert await client.delete(ConfigMap, "x", namespace=windlass_namespace, uid=made.uid) is None
        cache.removed(name="x", namespace=windlass_namespace, uid=made.uid, resource_version=changed.resource_version)
        assert cache.get("x") is None
        await until(lambda: bool(told) and told[-1].new is None)
        assert cache.get("x") is None
        assert [(change.old is None, change.new is None) for change in told] == [
            (True, False),
            (False, False),
            (False, True),
        ]
        await until(lambda: cache.health.pending == 0)


@pytest.mark.parametrize("kind", [ConfigMap, Gear])
async def test_taking_off_the_last_finalizer_of_a_deleted_object_is_its_end(
    kind: type[Any], client: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    await windlass_plane.apply_crds(crd_of(Gear))
    cache = Cache(client, kind, namespace=windlass_namespace)
    async with running(cache):
        made = await client.create(kind, named("x", finalizers=["windlass.test/held"]), namespace=windlass_namespace)
        held = await client.delete(kind, "x", namespace=windlass_namespace, uid=made.uid)
        assert held is not None
        assert held.deleting
        cache.wrote(held)
        assert cache.get("x") is not None
        last = await client.patch(
            kind,
            "x",
            {"metadata": {"finalizers": None, "resourceVersion": held.resource_version}},
            type=PatchType.MERGE,
            namespace=windlass_namespace,
        )
        cache.wrote(last)
        assert cache.get("x") is None
        with pytest.raises(NotFound):
            await client.get(kind, "x", namespace=windlass_namespace)
        again = await client.create(kind, named("x"), namespace=windlass_namespace)
        cache.wrote(again)
        found = cache.get("x")
        assert found is not None
        assert found.uid == again.uid
        await until(lambda: cache.health.pending == 0)
        found = cache.get("x")
        assert found is not None
        assert found.uid == again.uid


async def test_where_streaming_lists_are_refused_pages_give_the_same(client: Client, windlass_namespace: str) -> None:
    class WithoutStreaming(Client):
        """The same server, without the WatchList feature."""

        def watch(self, kind, **options):  # type: ignore[no-untyped-def]
            if options.get("send_initial_events"):
                raise Invalid(Status("Failure", "sendInitialEvents is forbidden for watch", "Invalid", 422))
            return super().watch(kind, **options)

    for number in range(7):
        await client.create(ConfigMap, named(f"x-{number}"), namespace=windlass_namespace)
    async with WithoutStreaming(client.config) as older:
        paged = Cache(older, ConfigMap, namespace=windlass_namespace, page_size=3)
        streamed = Cache(client, ConfigMap, namespace=windlass_namespace)
        async with running(paged), running(streamed):
            await client.create(ConfigMap, named("later"), namespace=windlass_namespace)
            await until(lambda: paged.get("later") is not None and streamed.get("later") is not None)
            assert {item.name: item.raw for item in paged.items()} == {i.name: i.raw for i in streamed.items()}


async def test_an_object_that_leaves_the_selection_is_announced_as_gone(
    client: Client, windlass_namespace: str
) -> None:
    cache = Cache(client, ConfigMap, namespace=windlass_namespace, label_selector="side=left")
    await client.create(ConfigMap, named("x", labels={"side": "left"}), namespace=windlass_namespace)
    await client.create(ConfigMap, named("y", labels={"side": "right"}), namespace=windlass_namespace)
    async with running(cache):
        assert [item.name for item in cache.items()] == ["x"]
        moved = await client.patch(
            ConfigMap, "x", named("x", labels={"side": "right"}), type=PatchType.MERGE, namespace=windlass_namespace
        )
        await until(lambda: cache.get("x") is None)
        found = await cache.ask("x")
        assert found is not None
        assert found.resource_version == moved.resource_version


async def test_metadata_can_be_followed_without_content(client: Client, windlass_namespace: str) -> None:
    await client.create(ConfigMap, {**named("x"), "data": {"password": "hidden"}}, namespace=windlass_namespace)
    cache = Cache(client.metadata, ConfigMap, namespace=windlass_namespace)
    async with running(cache):
        assert cache.get("x") is not None
        assert not any(b"hidden" in item.raw for item in cache.items())


async def test_poisoned_objects_do_not_stop_the_others(
    client: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    await windlass_plane.apply_crds(crd_of(Gear))
    heavy = named("heavy", annotations={"windlass.test/heavy": "x" * 250_000})
    await client.create(Gear, {**heavy, "spec": {"teeth": 8}}, namespace=windlass_namespace)
    await client.create(Gear, {**named("odd"), "spec": {"teeth": "many"}}, namespace=windlass_namespace)
    await client.create(Gear, {**named("empty"), "spec": {"teeth": None}}, namespace=windlass_namespace)
    cache = Cache(client, Gear, namespace=windlass_namespace)
    cache.add_index("teeth", lambda gear: [str(gear.decode().spec["teeth"])])
    reader = CacheReader(client, [cache])
    async with running(cache):
        assert [gear.name for gear in cache.indexed("teeth", "8")] == ["heavy"]
        odd = await reader.see(Gear, "odd", namespace=windlass_namespace)
        assert isinstance(odd, Unreadable)
        assert "Gear" in odd.why
        await client.patch(Gear, "heavy", {"spec": {"teeth": 9}}, type=PatchType.MERGE, namespace=windlass_namespace)
        await client.create(Gear, {**named("fine"), "spec": {"teeth": 9}}, namespace=windlass_namespace)
        await until(lambda: len(cache.indexed("teeth", "9")) == 2)
        assert cache.health.pulse.failures == 0


async def test_a_kind_may_come_and_go(client: Client, windlass_plane: PlaneAccess, windlass_namespace: str) -> None:
    name = Comet.RESOURCE.name
    cache = Cache(client, Comet, namespace=windlass_namespace)
    told: list[Change[Comet]] = []
    cache.subscribe(told.append)
    reader = CacheReader(client, [cache])
    async with running(cache, synced=False):
        assert not cache.served
        assert cache.health.trouble == ""
        assert isinstance(await reader.see(Comet, "x", namespace=windlass_namespace), NotServedKind)
        await windlass_plane.apply_crds(crd_of(Comet))
        await client.create(Comet, named("x"), namespace=windlass_namespace)
        await until(lambda: cache.get("x") is not None)
        assert isinstance(await reader.see(Comet, "x", namespace=windlass_namespace), Present)
        await client.delete(Comet, "x", namespace=windlass_namespace)
        await until(lambda: len(told) == 2)
        await client.delete(CustomResourceDefinition, name)
        await until_gone(client, name)
        await until(lambda: not cache.served)
        assert [(c.old is None, c.new is None) for c in told] == [(True, False), (False, True)]


async def until_gone(client: Client, crd: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.get(CustomResourceDefinition, crd)
            except NotFound:
                return
            await asyncio.sleep(0.1)


async def test_an_absence_is_confirmed_by_the_server_and_doubt_is_cleared(
    client: Client, windlass_namespace: str
) -> None:
    cache = Cache(client, ConfigMap, namespace=windlass_namespace)
    reader = CacheReader(client, [cache])
    async with running(cache):
        assert await reader.see(ConfigMap, "x", namespace=windlass_namespace, confirm=True) == Absent(confirmed=True)
        await client.create(ConfigMap, named("x"), namespace=windlass_namespace)
        reader.doubt(Target(ConfigMap, "x", windlass_namespace))
        assert isinstance(await reader.see(ConfigMap, "x", namespace=windlass_namespace), Present)
        assert not cache.doubted("x")


async def test_health_follows_the_stage(client: Client, windlass_namespace: str) -> None:
    cache = Cache(client, ConfigMap, namespace=windlass_namespace)
    assert cache.health.trouble == "not started"
    async with running(cache):
        assert cache.health.pulse.stage is FollowStage.WATCHING
        assert cache.health.trouble == ""
    assert cache.health.trouble == "stopped"
