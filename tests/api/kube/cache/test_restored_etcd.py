"""A cache that connects again notices that etcd was restored from a backup, although nothing happens."""

import asyncio
import time
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec import Struct, field

from tests.waiting import until
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.cache import Cache
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.testing.plane.facade import ControlPlane

pytestmark = pytest.mark.plane


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


NOTICED_SECONDS = 75.0
"""Usually a few. After a long start of the API server a cache waits up to 45 s before it connects
again; before there was a question after a broken watch, it took two silent watches, which is 150 s."""
LOST_WRITES = 600
"""More than an API server writes at its start: its history must not overtake the lost one."""


async def write(client: Client, namespace: str, name: str, value: int) -> None:
    patch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": str(value)}}
    await client.patch(
        ConfigMap, name, patch, type=PatchType.APPLY, namespace=namespace, field_manager="test", force=True
    )


def shown(cache: Cache[ConfigMap]) -> dict[str, str]:
    return {item.name: item.decode().data["value"] for item in cache.items() if item.name != "kube-root-ca.crt"}


async def test_a_restored_backup_is_noticed_although_nothing_happens(
    windlass_fresh_plane: ControlPlane, tmp_path: Path
) -> None:
    plane = windlass_fresh_plane
    namespace = await plane.create_namespace()
    async with Client(config.load(kubeconfig=plane.kubeconfig())) as client:
        await write(client, namespace, "kept", 1)
        await plane.back_up(tmp_path / "backup")
        cache = Cache(client, ConfigMap, namespace=namespace)
        following = asyncio.create_task(cache.run())
        try:
            await cache.wait_synced()
            for first in range(0, LOST_WRITES, 20):
                await asyncio.gather(
                    *(write(client, namespace, f"lost-{n}", first) for n in range(19)),
                    write(client, namespace, "kept", first),
                )
            await until(lambda: shown(cache).get("kept") == str(LOST_WRITES - 20))
            await plane.restore(tmp_path / "backup")
            began = time.monotonic()
            await until(lambda: shown(cache) == {"kept": "1"})
            assert time.monotonic() - began < NOTICED_SECONDS
            await write(client, namespace, "later", 2)
            await until(lambda: shown(cache) == {"kept": "1", "later": "2"})
        finally:
            following.cancel()
            await asyncio.wait([following])
