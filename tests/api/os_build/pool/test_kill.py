"""`windlass run os-build` is killed in mid-build, wherever that may be: the next process comes to the same end."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import alive, behind, left, running
from tests.api.os_build.pool.stage import digest
from tests.api.os_build.pool.stopping_front import StoppingFront
from tests.program import ALONE
from tests.waiting import until
from windlass.api.core import ConfigMap
from windlass.kube.object import Object
from windlass.os_build.constants import CONTAINERFILES
from windlass.os_build.request import BackendName
from windlass.testing import ControlPlane
from windlass.testing.builder import push_base
from windlass.testing.builds.openshift import Built, PlayedBuilds
from windlass.testing.builds.pods import Ended, PlayedPods

pytestmark = pytest.mark.sampled

SLOTS = 3
WAITS = "RUN wget -q -O /dev/null http://{host}/held || true"


async def test_killed_at_six_moments_of_builds_on_this_machine_it_builds_each_image_and_leaves_nothing(
    operated: Cluster, build_plane: ControlPlane, account: Path, tmp_path: Path
) -> None:
    cluster, registry, builds = operated, operated.registry, tmp_path / "builds"
    options: dict[str, Any] = {"registry": registry.host, "builds": builds}
    await cluster.configure(BackendName.LOCAL)
    await cluster.put(ConfigMap, CONTAINERFILES, {"data": {"running": WAITS.format(host=registry.host)}})
    held = {
        "pulling": registry.fault(path="os/other/manifests", hang=True),
        "running": registry.fault(path="/held", hang=True),
        "pushing": registry.fault(method="PUT", path="/manifests/build-pushing-", hang=True),
    }
    async with StoppingFront(build_plane.connection) as front:
        front.stop_at("pushed", "patch machineconfigpools", stored=False)
        front.stop_at("recorded", "patch machineconfigpools", stored=True)
        limited = behind(account, front.url)
        async with running(limited, tmp_path, f"--local-slots={SLOTS}", *ALONE, **options) as victim:
            for pool in ("pushed", "recorded"):
                await cluster.add_pool(pool)
            await front.stopped()
            for pool in held:
                base = push_base(registry, "os/other") if pool == "pulling" else ""
                await cluster.add_pool(pool, base=base)
            await until(lambda: [fault.hits for fault in held.values()] == [1, 1, 1])
            await cluster.add_pool("queued")
            await cluster.until("queued", "BuildPending", text=f"free builder on this machine, which has {SLOTS}")
            await victim.kill()
        await until(lambda: alive(builds) == [], within=5.0)
        front.release()
        registry.clear_faults()
        registry.forget_requests()
        async with running(limited, tmp_path, f"--local-slots={SLOTS}", *ALONE, **options):
            for pool in ("queued", "pulling", "running", "pushing", "pushed", "recorded"):
                image = await cluster.until_built(pool)
                tag = next(tag for tag in registry.images.tags(cluster.repository) if tag.startswith(f"build-{pool}-"))
                assert image == f"{cluster.target}@{registry.images.digest(cluster.repository, tag)}"
                assert registry.images.file(cluster.repository, tag, "/etc/motd") == f"rendered-{pool}-1".encode()
            await until(lambda: left(builds) == [])
        pushed = {each.path.rpartition("/")[2] for each in registry.requests(method="PUT", path="/manifests/build-")}
        assert {name.split("-")[1] for name in pushed} == {"queued", "pulling", "running", "pushing"}, (
            "what was pushed before is not built again"
        )
    await cluster.until_left()


@pytest.mark.parametrize("backend", [BackendName.OPENSHIFT, BackendName.JOB])
async def test_killed_at_writes_about_builds_in_the_cluster_it_builds_each_image_once_and_leaves_nothing(
    operated: Cluster, build_plane: ControlPlane, account: Path, tmp_path: Path, backend: BackendName
) -> None:
    cluster = operated
    await cluster.configure(backend)
    kind = "builds" if backend == BackendName.OPENSHIFT else "jobs"
    worked: Counter[str] = Counter()
    options: dict[str, Any] = {"registry": cluster.registry.host, "builds": None}
    async with StoppingFront(build_plane.connection) as front, builders(cluster, worked):
        front.stop_at("files", f"create {kind}", stored=False)
        front.stop_at("started", f"create {kind}", stored=True)
        front.stop_at("finished", "patch machineconfigpools", stored=False)
        front.stop_at("recorded", "patch machineconfigpools", stored=True)
        front.stop_at("cleaning", f"delete {kind}", stored=True)
        pools = ("files", "started", "finished", "recorded", "cleaning")
        limited = behind(account, front.url)
        async with running(limited, tmp_path, *ALONE, **options) as victim:
            for pool in pools:
                await cluster.add_pool(pool)
            await front.stopped()
            await victim.kill()
        front.release()
        async with running(limited, tmp_path, *ALONE, **options):
            for pool in pools:
                await cluster.until_built(pool)
            await cluster.until_left()
    assert {name.split("-")[1]: count for name, count in worked.items()} == dict.fromkeys(pools, 1)


def builders(cluster: Cluster, worked: Counter[str]) -> Any:
    """Play both kinds of builders: every build succeeds, and is counted by its name."""
    return _Playing(cluster, worked)


class _Playing:
    def __init__(self, cluster: Cluster, worked: Counter[str]) -> None:
        self._builds = PlayedBuilds(cluster.client, namespace=cluster.namespace)
        self._pods = PlayedPods(cluster.client, namespace=cluster.namespace)
        self._worked = worked

    async def __aenter__(self) -> None:
        self._tasks = [
            asyncio.create_task(self._builds.play(self._build)),
            asyncio.create_task(self._pods.play(self._pod)),
        ]

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def _build(self, build: Object[Any]) -> Built:
        self._worked[build.name] += 1
        return Built(digest=digest(build.name))

    async def _pod(self, pod: Object[Any]) -> Ended:
        name = pod.metadata.labels["batch.kubernetes.io/job-name"]
        self._worked[name] += 1
        return Ended(message=digest(name))
