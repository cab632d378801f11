"""Builds in bad weather, whose process is killed again and again: every pool ends built or with a cause, and nothing is
built twice. The judge is the log of the registry.

    WINDLASS_CHAOS=300 pytest tests/e2e/os_build_chaos -s
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.api.os_build.pool.cluster import Cluster, Said
from tests.api.os_build.pool.process import install, left, running
from tests.builder import require_builder
from tests.explore import seeds
from tests.patience import CHAOS, PATIENCE
from tests.program import ALONE, Program
from tests.waiting import eventually, until
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.process.tasks import end
from windlass.os_build.constants import IMAGE, NAMESPACE, REBUILD
from windlass.os_build.request import BackendName
from windlass.testing import ControlPlane, crds
from windlass.testing.binaries import to_stderr
from windlass.testing.builder import push_base
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.pods import PlayedPods
from windlass.testing.registry import Registry

from .faults import Disk, Kubelet, Weather

pytestmark = [pytest.mark.plane, pytest.mark.registry, pytest.mark.sampled]

POOLS: Final = tuple(f"pool-{number}" for number in range(6))
LIFE: Final = (3.0, 12.0)
"""Seconds of a process before it is killed, at least and at most."""
GRACE: Final = 5.0
"""Seconds within which an image that was pushed is recorded on its pool, also on a busy machine."""
RUNBOOK: Final = Path(__file__).parents[3] / "docs" / "runbook.md"


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("backend", [BackendName.LOCAL, BackendName.JOB])
async def test_every_pool_ends_built_or_with_a_cause_and_nothing_is_built_twice(
    windlass_fresh_plane: ControlPlane, registry: Registry, tmp_path: Path, backend: BackendName, seed: int
) -> None:
    require_builder()
    plane = windlass_fresh_plane
    await plane.apply_crds(*crds.documents(*crds.OS_BUILDS))
    account = await asyncio.to_thread(install, plane.blocking, tmp_path, namespace=NAMESPACE)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(config.load(kubeconfig=plane.kubeconfig())))
        disk = stack.enter_context(Disk(tmp_path / "disk"))
        cluster = Cluster(client, registry, base=push_base(registry))
        await cluster.configure(backend)
        kubelet = None
        if backend == BackendName.JOB:
            kubelet = Kubelet(lambda folder: Buildah(client, folder, insecure=[registry.host]), disk)
            playing = asyncio.create_task(PlayedPods(client, namespace=NAMESPACE).play(kubelet.work))
            stack.push_async_callback(end, playing)
        builds = disk.path / "builds" if backend == BackendName.LOCAL else None
        start = partial(
            running, account, tmp_path, *ALONE, "--build-timeout=60s", registry=registry.host, builds=builds
        )
        weather, lives = Weather(registry, disk, kubelet, seed=seed), Lives(start, seed=seed)
        people = People(cluster, seed=seed)
        registry.forget_requests()
        for pool in POOLS:
            await cluster.add_pool(pool)
        beside = [asyncio.create_task(each) for each in (weather.blow(), lives.live(), people.change())]
        done, _ = await asyncio.wait(beside, timeout=CHAOS, return_when=asyncio.FIRST_EXCEPTION)
        for task in beside:
            await end(task)
        for task in done:
            task.result()
        registry.clear_faults()
        await stack.enter_async_context(lives.one())
        said = await eventually(
            partial(all_say, cluster), all_settled, within=2 * PATIENCE, what="the end of each pool"
        )
        tell(backend, registry, weather, lives, people, said)
        assert without_cause(said) == {}
        for pool, (condition, _, _) in said.items():
            if condition != "BuildSuccess":
                await cluster.patch(pool, {"metadata": {"annotations": {REBUILD: "after the storm"}}})
        for pool in POOLS:
            config_of_pool = (await cluster.pool(pool))["spec"]["configuration"]["name"]
            people.recorded.add(await cluster.until_built(pool, config_of_pool))
        if builds is not None:
            await until(lambda: left(builds) == [])
        await cluster.until_left()
        disturbed = [*lives.kills, *(kubelet.evictions if kubelet else ())]
        assert pushed_twice(registry, disturbed) == []
        assert nameless(registry, cluster, people) == []
    assert [log for log in lives.logs if "Traceback" in log.read_text() or "defect" in log.read_text()] == []


class Lives:
    """Processes that are killed, one after the other; `kills`: when."""

    def __init__(self, start: Callable[[], AbstractAsyncContextManager[Program]], *, seed: int) -> None:
        self.kills: list[float] = []
        self.logs: list[Path] = []
        self._start = start
        self._draw = Random(seed)

    async def live(self) -> None:
        """One life after the other, until cancelled."""
        while True:
            async with self.one() as program:
                await asyncio.sleep(self._draw.uniform(*LIFE))
                self.kills.append(time.monotonic())
                await program.kill()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Program]:
        """A process that is ready, and whose log is kept."""
        async with self._start() as program:
            self.logs.append(program.log)
            yield program


class People:
    """Change the configuration of a pool that has its image, or of one that has none and says why.

    `recorded`: the images that pools have named; `given_up`: the pools that were changed before they had an image.
    """

    def __init__(self, cluster: Cluster, *, seed: int) -> None:
        self.configs = {pool: f"rendered-{pool}-1" for pool in POOLS}
        self.recorded: set[str] = set()
        self.given_up: set[str] = set()
        self.changes = 0
        self._cluster = cluster
        self._draw = Random(seed)

    async def change(self) -> None:
        """One pool after the other, until cancelled."""
        while True:
            await asyncio.sleep(1.0)
            pool = self._draw.choice(POOLS)
            said = await self._cluster.says(pool)
            if said[0] == "BuildSuccess" and self.configs[pool] in said[2]:
                self.recorded.add((await self._cluster.annotations(pool))[IMAGE])
            elif said[0] == "BuildFailed" or said[1] == "Retrying":
                self.given_up.add(pool)
            else:
                continue
            self.changes += 1
            self.configs[pool] = f"rendered-{pool}-{self.changes + 1}"
            await self._cluster.change(pool, self.configs[pool])


async def all_say(cluster: Cluster) -> dict[str, Said]:
    return {pool: await cluster.says(pool) for pool in POOLS}


def all_settled(said: Mapping[str, Said]) -> bool:
    return all(
        condition in ("BuildSuccess", "BuildFailed") or reason == "Retrying" for condition, reason, _ in said.values()
    )


def without_cause(said: Mapping[str, Said]) -> dict[str, Said]:
    """The pools that are not built and do not say why: a reason that the runbook has, and a sentence about it."""
    runbook = RUNBOOK.read_text()
    failed = {pool: each for pool, each in said.items() if each[0] != "BuildSuccess"}
    return {pool: each for pool, each in failed.items() if f"`{each[1]}`" not in runbook or "." not in each[2]}


def pushes(registry: Registry) -> dict[str, list[float]]:
    """When the registry took each image, by tag."""
    found: dict[str, list[float]] = {}
    for asked in registry.requests(method="PUT", path="/manifests/build-"):
        if asked.status == 201:
            found.setdefault(asked.path.rpartition("/")[2], []).append(asked.at)
    return found


def pushed_twice(registry: Registry, disturbed: Sequence[float]) -> list[str]:
    """The builds whose image was pushed again, although nobody had killed the process or taken its Pod at that time."""
    return [
        f"{tag}: {second - first:.1f} s after the first time"
        for tag, times in pushes(registry).items()
        for first, second in itertools.pairwise(times)
        if not any(abs(moment - first) < GRACE for moment in disturbed)
    ]


def nameless(registry: Registry, cluster: Cluster, people: People) -> list[str]:
    """What lies in the registry and is the image of no pool, now or before."""
    images, repository = registry.images, cluster.repository
    tags = {tag: images.digest(repository, tag) for tag in images.tags(repository)}
    untagged = {*images.manifests(repository)} - {*tags.values()}
    known = {image.partition("@")[2] for image in people.recorded}
    unknown = [tag for tag, digest in tags.items() if digest not in known and pool_of(tag) not in people.given_up]
    return [*untagged, *unknown]


def pool_of(tag: str) -> str:
    return "-".join(tag.split("-")[1:3])


def tell(
    backend: str, registry: Registry, weather: Weather, lives: Lives, people: People, said: Mapping[str, Said]
) -> None:
    """The figures, for whoever looks at the output of the run."""
    taken = pushes(registry)
    again = len(pushed_twice(registry, ()))
    unbuilt = [each[1] for each in said.values() if each[0] != "BuildSuccess"]
    to_stderr(
        f"chaos: {backend}: {len(lives.kills)} kills, {people.changes} changes of configurations, {len(taken)} images, "
        f"{again} pushed again after a kill; not built at the end, by reason: {unbuilt}; "
        f"faults: {dict(weather.seen)}"
    )
