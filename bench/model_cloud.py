"""The model of a cloud behind HTTP, in a process of its own: `python -m bench.model_cloud`.

It prints its port and the ID of its network.

A real Nova makes two servers a second on two cores, so a thousand are not to be had of it; and its own work would be
most of what is measured. The controllers' way to it is the real one: sessions, threads, tokens, JSON.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web
from msgspec import Struct

from windlass.testing.memory_cloud import MemoryCloud

PROJECT = "project"
NETWORK, IMAGE, FLAVOR = "machines", "cirros", "m1.tiny"
_PATHS = {
    "compute": "/compute/v2.1",
    "network": "/network",
    "image": "/image",
    "block-storage": f"/volume/v3/{PROJECT}",
}


def clouds_yaml(port: int) -> str:
    """clouds.yaml with this cloud as `openstack`."""
    auth = {"auth_url": f"http://127.0.0.1:{port}/identity/v3", "username": "u", "password": "p", "project_name": "p"}
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    return msgspec.yaml.encode({"clouds": {"openstack": {"auth": {**auth, **domains}}}}).decode()


class Asked(Struct, frozen=True):
    """A request as the model takes it."""

    service: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Mapping[str, Any] | None


def _token(port: int) -> dict[str, Any]:
    def service(kind: str, path: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{port}{path}"
        return {"type": kind, "name": kind, "endpoints": [{"interface": "public", "region_id": "one", "url": url}]}

    return {
        "methods": ["password"],
        "expires_at": "2100-01-01T00:00:00.000000Z",
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
        "project": {"id": PROJECT, "name": "p", "domain": {"id": "default", "name": "Default"}},
        "roles": [{"id": "member", "name": "member"}],
        "catalog": [service(kind, path) for kind, path in _PATHS.items()],
    }


async def _serve() -> None:
    cloud = MemoryCloud(no_answer=lambda service, *_: ConnectionError(service))
    cloud.services.image(IMAGE)
    cloud.services.flavor(FLAVOR)
    network = cloud.services.network(NETWORK, project=PROJECT, cidr="10.0.0.0/16")
    cloud.services.quotas[PROJECT] = {"instances": 10_000, "ports": 10_000, "port": 10_000}

    async def handle(request: web.Request) -> web.Response:
        if request.path.startswith("/identity"):
            token = msgspec.json.encode({"token": _token(request.url.port or 0)})
            return web.Response(status=201, body=token, headers={"X-Subject-Token": "t"})
        service, root = next((kind, path) for kind, path in _PATHS.items() if request.path.startswith(path))
        body = msgspec.json.decode(text) if (text := await request.read()) else None
        cloud.services.now = time.monotonic()
        asked = Asked(service, request.method, request.path[len(root) :], tuple(request.query.items()), body)
        reply = cloud.answer(PROJECT, asked)
        return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], network, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
