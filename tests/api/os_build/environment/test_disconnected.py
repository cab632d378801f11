"""Builds that reach nothing but through a proxy: the base image behind a mirror, private CAs, an entitled repository.

Real: buildah, the script of Jobs, the registry, TLS, the proxy, the client certificate, the API server and its Job
controller. Played: the kubelet, and `update-ca-trust` in the base image.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.backends.stage import Stage, at_work
from tests.api.os_build.environment.disconnected import LENT, PARTS, REPOSITORY, auths, egress, lent_files, order
from tests.api.os_build.environment.outside import MIRROR, PACKAGE, PACKAGES, TARGET, Outside
from windlass.api.core import ConfigMap, Secret
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Call
from windlass.kube.control.plan import Target as ObjectTarget
from windlass.kube.control.source import Mailbox
from windlass.kube.process.tasks import end
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.buildah import Buildah as LocalBuildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.credentials import Login
from windlass.os_build.environment import BUNDLE
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Gone, Kind, NotAsked, Registry
from windlass.testing import ControlPlane
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.pods import PlayedPods

pytestmark = pytest.mark.plane

MISSING = {
    "mirrors": Cause.UNREACHABLE,
    "certificates": Cause.UNTRUSTED,
    "policy": Cause.UNKNOWN,
    "proxy": Cause.UNREACHABLE,
    "authorities": Cause.UNTRUSTED,
    "bundle": Cause.STEP,
    "entitlement": Cause.STEP,
    "repositories": Cause.STEP,
}
"""What a build fails with that lacks this part."""
mirrors = pytest.mark.parametrize("mirrors_in", ["registries.conf", "registries.conf.d/mirrors.conf"])


@pytest.fixture
async def stage(build_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """The backend of Jobs, and a kubelet that runs their script here."""
    async with at_work(build_plane, namespace, lambda reader: JobBackend(reader, namespace=namespace)) as stage:
        playing = PlayedPods(stage.client, namespace=namespace).play(Buildah(stage.client, tmp_path).run_pod)
        task = asyncio.create_task(playing)
        try:
            yield stage
        finally:
            await end(task)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def by_job(stage: Stage, world: Outside, *, to: str, **order_of: str) -> BuildState:
    for name, user in (("pull", "puller"), ("push", "pusher")):
        data = {".dockerconfigjson": _encoded(auths(world, user).document)}
        body: dict[str, Any] = {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson", "data": data}
        await stage.client.create(Secret, body, namespace=stage.namespace)
    for at, files in lent_files(world).items():
        each, content = LENT[at], {name: _encoded(data) for name, data in files.content.items()}
        if each.kind == "Secret":
            await stage.client.create(
                Secret, {"metadata": {"name": each.name}, "data": content}, namespace=stage.namespace
            )
        else:
            body = {"metadata": {"name": each.name}, "binaryData": content}
            await stage.client.create(ConfigMap, body, namespace=stage.namespace)
    pool = await stage.pool("worker")
    await stage.start(order(world, pool, to=to, **order_of))
    return await stage.until(pool, lambda state: state.is_over)


async def on_this_machine(folder: Path, world: Outside, *, to: str, **order_of: str) -> BuildState:
    changed: Mailbox[str] = Mailbox()
    async with Builds(folder, slots=1, buildah=LocalBuildah(retries=1, delay=0.1), changed=changed.post) as builds:
        wanted = order(world, ObjectTarget(MachineConfigPool, "worker", uid="1"), to=to, **order_of)
        [call] = LocalBackend(builds, changed).start(wanted)
        assert isinstance(call, Call)
        assert isinstance(call.request, StartBuild)
        return await _over(builds, call.request)


async def _over(builds: Builds, request: StartBuild) -> BuildState:
    state = await builds.start(request)
    async with asyncio.timeout(120):
        while not state.is_over:
            await asyncio.sleep(0)
            state = builds.state(request.name) or state
    return state


def assert_built(world: Outside, state: BuildState, *, to: str) -> None:
    assert (state.phase, state.failed) == (Phase.SUCCEEDED, None), state.failed and state.failed.tail
    images = world.registry.images
    assert images.file(to, state.digest, "/etc/package") == PACKAGE
    assert images.file(to, state.digest, f"/etc/pki/ca-trust/source/anchors/{BUNDLE}").decode() == world.bundle
    assert {*world.connections} == {MIRROR, TARGET, PACKAGES}
    files = {path: data for path, data in images.files(to, state.digest).items() if isinstance(data, bytes)}
    lent = [*world.entitlement.values(), REPOSITORY.encode()]
    assert [path for path, data in files.items() if any(secret in data for secret in lent)] == []
    assert world.proxy not in str(images.config(to, state.digest))


@mirrors
async def test_a_job_builds_in_a_disconnected_cluster(stage: Stage, world: Outside, mirrors_in: str) -> None:
    world.connections.clear()
    state = await by_job(stage, world, to="job/os", mirrors_in=mirrors_in)
    assert_built(world, state, to="job/os")


@mirrors
async def test_this_machine_builds_for_a_disconnected_cluster(tmp_path: Path, world: Outside, mirrors_in: str) -> None:
    world.connections.clear()
    state = await on_this_machine(tmp_path / "builds", world, to="local/os", mirrors_in=mirrors_in)
    assert_built(world, state, to="local/os")
    left = [path for path in (tmp_path / "builds" / "builds").rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["outcome.json"]


@pytest.mark.parametrize("without", PARTS)
async def test_a_build_on_this_machine_needs_each_part(tmp_path: Path, world: Outside, without: str) -> None:
    state = await on_this_machine(tmp_path / "builds", world, to="local/less", without=without)
    assert state.failed is not None
    assert state.failed.cause is MISSING[without], state.failed.tail


async def test_the_registry_is_asked_by_the_same_way(world: Outside) -> None:
    world.connections.clear()
    target, login = Target.parse(f"{TARGET}/asked/os"), Login("pusher", "s3cret")
    async with Registry() as asking:
        assert (await asking.may_push(target, login, origin="nobody", egress=egress(world))).kind is Kind.GRANTED
        gone = await asking.manifest(target, "v1", login, origin="nobody", egress=egress(world))
        assert isinstance(gone, Gone)
        for without in ("proxy", "authorities"):
            lost = await asking.manifest(target, "v1", login, origin="nobody", egress=egress(world, without=without))
            assert isinstance(lost, NotAsked), without
    assert {*world.connections} == {TARGET}
