"""Everybody who is hostile, all at once: clouds and Secrets of tenants, registries, informers, and strangers at ports.

Each is a context that ends with its block. What they serve is served where other tests have it; here it gets objects
that lead the programs there.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from ssl import SSLContext
from typing import Final

import msgspec

from bench import model_cloud
from bench.contestant import Contestant
from bench.hostile_clouds import name_cloud, secret, server
from bench.informer_crowd import NAMESPACE as CROWD
from bench.informer_crowd import Place
from tests.api.os_build.machine_os.claimed import Claimed
from tests.api.update_status.asked import register
from tests.unit.openstack.cloud import hostile as clouds
from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry
from tests.waiting import until, wait_until
from windlass.api.core import Secret
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.testing import BlockingAccess

CLOUDS: Final = (
    clouds.silent,
    clouds.trickling_header,
    clouds.trickling_body,
    clouds.endless_continue,
    clouds.endless_body,
    clouds.endless_chunks,
    clouds.banner,
    clouds.compressed,
    clouds.angle_brackets,
    clouds.deep_json,
)
TENANTS: Final = 3
"""Of each of these clouds."""
BOMBS: Final = {
    "deep": "- " * 100_000,
    "aliases": "\n".join(
        ["a0: &a0 [x, x]", *(f"a{one}: &a{one} [{', '.join([f'*a{one - 1}'] * 10)}]" for one in range(1, 9))]
    ),
    "no-mapping": "clouds: {openstack: [1, 2, {auth: " + "9" * 5000 + "}]}",
}
"""What clouds.yaml of tenants may be."""
REGISTRIES: Final = {
    "hangs": Says(-1),
    "cuts": Says(0),
    "fails": Says(500, body="<" * 200_000),
    "junk": Says(200, body="<html>Log in</html>"),
    "deep": Says(403, body="[" * 60_000),
    "endless": Says(403, endless=True),
    "challenges": Says(401, {"WWW-Authenticate": "a" * 8000}),
    "in-a-circle": Says(307, {"Location": "{url}/v2/"}),
}
"""What registries answer to everything."""
RENDERED: Final = 10.0
"""Seconds between two configurations of a pool whose registry is hostile: each is a push that is asked about."""
HALF_OPEN: Final = 100
"""Connections that one stranger opens at a time, and leaves half open."""


@contextmanager
def hostile_clouds(plane: BlockingAccess) -> Iterator[None]:
    """Tenants with servers in clouds of all kinds, and with Secrets that are traps."""
    with ExitStack() as stack:
        hosts = count(2)
        for behave in CLOUDS:
            place = stack.enter_context(clouds.hostile(behave, f"127.0.0.{next(hosts)}"))
            for number in range(TENANTS):
                name_cloud(plane, f"{behave.__name__.replace('_', '-')}-{number}", place)
        for name, text in BOMBS.items():
            namespace = f"bomb-{name}"
            plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            plane.apply(secret(namespace, text), server(namespace, "server"))
        yield


@contextmanager
def good_cloud(plane: BlockingAccess, folder: Path, namespace: str) -> Iterator[None]:
    """A cloud that answers, and the tenant `namespace` with a Secret that names it."""
    log = folder / "cloud.log"
    with Contestant([sys.executable, "-m", "bench.model_cloud"], log=log):
        printed = wait_until("the port of the cloud", lambda: log.read_text().split())
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        plane.apply(secret(namespace, model_cloud.clouds_yaml(int(printed[0]))))
        yield


@asynccontextmanager
async def hostile_registries() -> AsyncIterator[dict[str, ScriptedRegistry]]:
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(ScriptedRegistry(says)) for name, says in REGISTRIES.items()}


async def claim(claimed: Claimed, registries: dict[str, ScriptedRegistry]) -> None:
    """A pool for each hostile registry, whose images are to be pushed there."""
    login = {"auth": "cHVzaGVyOnMzY3JldA=="}
    auths = {one.target.host: login for one in registries.values()}
    await claimed.secret("evil-push", {"auths": auths})
    for name, registry in registries.items():
        await claimed.add_pool(name)
        spec = {
            "machineConfigPool": {"name": name},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "evil-push"},
            "renderedImagePushSpec": f"{registry.target.host}/evil/os:latest",
        }
        await claimed.client.create(MachineOSConfig, {"metadata": {"name": name}, "spec": spec})


async def render_without_end(claimed: Claimed, pools: Sequence[str]) -> None:
    """Their configurations change, so that their registries are asked again; until cancelled."""
    for number in count(2):
        await asyncio.sleep(RENDERED)
        for pool in pools:
            config = f"rendered-{pool}-{number}"
            await claimed.render(config)
            await claimed.patch(pool, {"spec": {"configuration": {"name": config}}})


@asynccontextmanager
async def informers(admin: Client, folder: Path, kubeconfig: Path, *, good: int) -> AsyncIterator[None]:
    """So many good informers, and one of each hostile kind; all are registered."""
    with ExitStack() as stack:
        for kind, number in (("good", good), ("hostile", 0)):
            argv = [sys.executable, "-m", "bench.informer_crowd", kind, str(number), f"--into={folder}"]
            argv += [f"--kubeconfig={kubeconfig}"]
            stack.enter_context(Contestant(argv, log=folder / f"{kind}.log"))
            file = folder / f"{kind}.json"
            await until(lambda file=file: file.exists() and file.read_bytes())  # type: ignore[misc]
            for name, place in msgspec.json.decode(file.read_bytes(), type=dict[str, Place]).items():
                await register(admin, name, place.port, place.authority, namespace=CROWD)
        yield


async def half_open(port: int, *, tls: SSLContext | None = None) -> None:
    """Open connections, send the beginning of a request on each, and never the rest; until cancelled."""
    beginning = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: " + b"a" * 4000
    while True:
        async with AsyncExitStack() as opened:
            for _ in range(HALF_OPEN):
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
                    opened.callback(writer.close)
                    opened.callback(writer.transport.abort)
                    writer.write(beginning)
                await asyncio.sleep(0.01)
            await asyncio.sleep(5)


async def change_secrets(admin: Client) -> None:
    """The traps change a little, so that they are read again; until cancelled."""
    for number in count():
        await asyncio.sleep(RENDERED)
        for name in BOMBS:
            body = {"metadata": {"annotations": {"touched": str(number)}}}
            await admin.patch(Secret, "credentials", body, type=PatchType.MERGE, namespace=f"bomb-{name}")
