"""Caches of metadata only, for kinds whose content a process must not hold."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.api.core import Secret
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.controller import Watch
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Present
from windlass.kube.process.pool import CachePool
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane

TOKEN = base64.b64encode(b"very secret").decode()


@pytest.fixture
async def client(windlass_plane: PlaneAccess) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_plane.kubeconfig())) as client:
        yield client


async def test_secrets_wake_by_metadata_and_are_read_by_name(client: Client, windlass_namespace: str) -> None:
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": {"a": "b"}}}
    await client.create(Secret, {**secret, "data": {"token": TOKEN}}, namespace=windlass_namespace)
    pool = CachePool(client)
    try:
        watch = Watch(Secret, lambda found: [found.name], namespace=windlass_namespace, metadata_only=True)
        cache = pool.acquire(watch)
        async with asyncio.timeout(PATIENCE):
            await cache.wait_settled()
        held = cache.get("s", namespace=windlass_namespace)
        assert held is not None
        assert held.metadata.labels == {"a": "b"}
        assert TOKEN.encode() not in held.raw
        reader = CacheReader(client)
        reader.add(cache, watch)
        seen = await reader.see(Secret, "s", namespace=windlass_namespace)
        assert isinstance(seen, Present)
        assert seen.tree["data"] == {"token": TOKEN}
    finally:
        await pool.close()
