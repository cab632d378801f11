"""Jobs and Builds whose images are really built: by buildah on this machine, pushed to a real registry."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.api.os_build.backends.stage import Stage, at_work, order
from tests.builder import require_builder
from windlass.api.core import Secret
from windlass.kube.control.reader import CacheReader
from windlass.kube.errors import NotFound
from windlass.kube.process.tasks import end
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.builder import Backend, BuildState, Cause, Phase
from windlass.os_build.environment import Environment, Lent
from windlass.os_build.placement import Placement
from windlass.testing import ControlPlane
from windlass.testing.builder import push_base
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.openshift import PlayedBuilds
from windlass.testing.builds.pods import PlayedPods
from windlass.testing.registry import Registry

pytestmark = pytest.mark.plane


def jobs(stage: Stage, buildah: Buildah) -> Coroutine[Any, Any, None]:
    return PlayedPods(stage.client, namespace=stage.namespace).play(buildah.run_pod)


def builds(stage: Stage, buildah: Buildah) -> Coroutine[Any, Any, None]:
    return PlayedBuilds(stage.client, namespace=stage.namespace).play(buildah.run_build)


def job_backend(reader: CacheReader, namespace: str) -> Backend:
    return JobBackend(reader, namespace=namespace)


def openshift_backend(reader: CacheReader, namespace: str) -> Backend:
    return OpenShiftBackend(reader, namespace=namespace)


@pytest.fixture(scope="module")
def base(windlass_registry: Registry) -> str:
    require_builder()
    return push_base(windlass_registry)


@pytest.fixture(params=[(job_backend, jobs), (openshift_backend, builds)], ids=["job", "openshift"])
async def stage(
    request: pytest.FixtureRequest, build_plane: ControlPlane, namespace: str, registry: Registry, tmp_path: Path
) -> AsyncIterator[Stage]:
    """A backend, and whoever builds for it."""
    make, play = request.param
    async with at_work(build_plane, namespace, lambda reader: make(reader, namespace)) as stage:
        buildah = Buildah(stage.client, tmp_path, insecure=[registry.host])
        playing = asyncio.create_task(play(stage, buildah))
        try:
            yield stage
        finally:
            await end(playing)


NOTHING = Environment()


async def built(
    stage: Stage,
    registry: Registry,
    containerfile: str,
    *,
    push: str = "pusher",
    environment: Environment = NOTHING,
) -> BuildState:
    """The end of a build; the Secret for pushing is that of the user `push`."""
    await secrets(stage, registry, push=push)
    pool = await stage.pool("worker")
    files = {"Containerfile": containerfile.encode(), "file.txt": b"text\n"}
    await stage.start(replace(order(pool, to=f"{registry.host}/os/worker", files=files), environment=environment))
    return await stage.until(pool, lambda state: state.is_over)


async def secrets(stage: Stage, registry: Registry, *, pull: str = "puller", push: str = "pusher") -> None:
    """The Secrets of builds, with the passwords of these users; `nobody` has a wrong one."""
    nobody = {"auths": {registry.host: {"auth": "bm9ib2R5Ondyb25n"}}}
    for name, user in (("pull", pull), ("push", push)):
        document = nobody if user == "nobody" else registry.auths(user)
        data = {".dockerconfigjson": base64.b64encode(json.dumps(document).encode()).decode()}
        body = {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson", "data": data}
        with suppress(NotFound):
            await stage.client.delete(Secret, name, namespace=stage.namespace)
        await stage.client.create(Secret, body, namespace=stage.namespace)


async def test_the_image_is_built_from_the_context_and_pushed(stage: Stage, registry: Registry, base: str) -> None:
    state = await built(stage, registry, f"FROM {base}\nCOPY file.txt /etc/copied\nRUN echo built > /etc/motd\n")
    assert (state.phase, state.failed) == (Phase.SUCCEEDED, None)
    images = registry.images
    assert state.digest == images.digest("os/worker", state.name)
    assert images.file("os/worker", state.digest, "/etc/copied") == b"text\n"
    assert images.file("os/worker", state.digest, "/etc/motd") == b"built\n"


async def test_what_is_lent_is_seen_by_run_and_is_in_no_layer(stage: Stage, registry: Registry, base: str) -> None:
    key = {"metadata": {"name": "etc-pki-entitlement"}, "data": {"1-key.pem": base64.b64encode(b"k3y").decode()}}
    await stage.client.create(Secret, key, namespace=stage.namespace)
    lent = Environment(lent=(Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement"),))
    step = "RUN md5sum < /etc/pki/entitlement/1-key.pem > /etc/sum"
    state = await built(stage, registry, f"FROM {base}\n{step}\n", environment=lent)
    assert (state.phase, state.failed) == (Phase.SUCCEEDED, None)
    files = registry.images.files("os/worker", state.digest)
    assert registry.images.file("os/worker", state.digest, "/etc/sum") == b"fbe8cdb8cacde73703e02dcf0866f7e9  -\n"
    assert [path for path, data in files.items() if isinstance(data, bytes) and b"k3y" in data] == []


async def test_a_failing_command_is_told_with_its_exit_code(stage: Stage, registry: Registry, base: str) -> None:
    state = await built(stage, registry, f"FROM {base}\nRUN echo no such package; exit 7\n")
    assert state.failed is not None
    assert (state.phase, state.failed.cause, state.failed.exit_code) == (Phase.FAILED, Cause.STEP, 7)
    assert state.failed.step == "RUN echo no such package; exit 7"
    assert "no such package" in state.failed.tail


async def test_a_refused_push_is_told(stage: Stage, registry: Registry, base: str) -> None:
    state = await built(stage, registry, f"FROM {base}\nLABEL a=b\n", push="puller")
    assert state.failed is not None
    assert (state.phase, state.failed.cause) == (Phase.FAILED, Cause.PUSH_DENIED)


async def test_builds_share_an_unpacked_base_that_none_of_them_can_change(
    build_plane: ControlPlane, namespace: str, registry: Registry, base: str, tmp_path: Path
) -> None:
    def make(reader: CacheReader) -> Backend:
        return JobBackend(reader, namespace=namespace, placement=Placement(cache_claim="bases"))

    async def digest(stage: Stage, name: str, shared: str, *, pull: str = "puller") -> BuildState:
        await secrets(stage, registry, pull=pull)
        pool = await stage.pool(name)
        files = {
            "Containerfile": f"FROM {base}\nRUN echo built > /etc/motd && echo changed > /etc/os-release\n".encode()
        }
        wanted = order(pool, to=f"{registry.host}/os/worker", files=files)
        await stage.start(replace(wanted, context=replace(wanted.context, base=shared)))
        return await stage.until(pool, lambda state: state.is_over)

    async with at_work(build_plane, namespace, make) as stage:
        playing = asyncio.create_task(jobs(stage, Buildah(stage.client, tmp_path, insecure=[registry.host])))
        try:
            alone = await digest(stage, "alone", "")
            registry.forget_requests()
            first = await digest(stage, "first", base)
            [store] = (tmp_path / "claims" / "bases").glob(f"{base.partition('@sha256:')[2]}-*")
            before = contents_of(store)
            layers = pulled(registry)
            second = await digest(stage, "second", base)
            assert (alone.failed, first.failed, second.failed) == (None, None, None)
            assert alone.digest == first.digest == second.digest
            assert contents_of(store) == before
            # The layer of the base was pulled once; what is small is asked for by each build.
            assert (len(layers), pulled(registry)) == (1, layers)
            refused = await digest(stage, "refused", base, pull="nobody")
            assert refused.failed is not None
            assert refused.failed.cause is Cause.PULL_DENIED, "who may not pull the base may not have it from others"
        finally:
            await end(playing)


def pulled(registry: Registry) -> list[str]:
    """The large blobs that were asked for."""
    root = registry.images
    asked = [each.path.rpartition("/")[2] for each in registry.requests(method="GET", path="/blobs/sha256:")]
    return [digest for digest in asked if len(root.blob(digest)) > 100_000]


def contents_of(store: Path) -> dict[str, bytes | str]:
    """All files of the layers in a store of images, and the targets of links."""
    layers = store / "root" / "vfs" / "dir"
    found: dict[str, bytes | str] = {}
    for path in layers.rglob("*"):
        if path.is_symlink():
            found[str(path)] = str(path.readlink())
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found
