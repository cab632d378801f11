"""Jobs and Builds whose images are really built: by buildah on this machine, pushed to a real registry."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.api.os_build.backends.stage import Stage, at_work, order
from tests.builder import require_builder
from windlass.api.core import Secret
from windlass.kube.control.reader import CacheReader
from windlass.kube.process.tasks import end
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.builder import Backend, BuildState, Cause, Phase
from windlass.os_build.environment import Environment, Lent
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
    for name, user in (("pull", "puller"), ("push", push)):
        data = {".dockerconfigjson": base64.b64encode(json.dumps(registry.auths(user)).encode()).decode()}
        body = {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson", "data": data}
        await stage.client.create(Secret, body, namespace=stage.namespace)
    pool = await stage.pool("worker")
    files = {"Containerfile": containerfile.encode(), "file.txt": b"text\n"}
    await stage.start(replace(order(pool, to=f"{registry.host}/os/worker", files=files), environment=environment))
    return await stage.until(pool, lambda state: state.is_over)


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
