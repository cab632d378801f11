"""`windlass run openstack` dies while a request of it is under way: the next process makes nothing twice."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path

import pytest

from tests.api.openstack.server.stage import Stage, Writes, held
from tests.house import ROOT
from tests.program import ALONE, Program, starting
from tests.waiting import eventually
from windlass.kube import config
from windlass.testing import ControlPlane, crds
from windlass.testing.cloud import Project
from windlass.testing.cloud.access import CloudAccess
from windlass.testing.plane.pool import PlanePool

pytestmark = pytest.mark.sampled

CRDS = ROOT / "deploy" / "openstack" / "crds" / "crds.yaml"
POSTS = (("neutron", "/ports$"), ("neutron", "/trunks$"), ("cinder", "/volumes$"), ("nova", "/servers$"))


@pytest.fixture
def plane(windlass_planes: PlanePool) -> ControlPlane:
    return windlass_planes.plane("openstack", crds=[*crds.documents(*crds.CLUSTER_API_CORE), CRDS])


@pytest.fixture
def projects(windlass_cloud: CloudAccess) -> Iterator[list[Project]]:
    """One for each kind of creating request."""
    with ExitStack() as stack:
        made = []
        for _ in POSTS:
            made.append(project := windlass_cloud.new_project())
            stack.callback(project.delete)
        yield made


async def test_killed_while_any_kind_of_creating_request_is_under_way_it_leaves_one_of_each(
    plane: ControlPlane, projects: list[Project], tmp_path: Path
) -> None:
    kubeconfig = plane.kubeconfig()
    async with Writes(config.load(kubeconfig=kubeconfig)) as client:
        stages = [Stage(client, client, await plane.create_namespace(), project) for project in projects]
        plays = (_killed(stage, *post, kubeconfig, tmp_path) for stage, post in zip(stages, POSTS, strict=True))
        async with asyncio.TaskGroup() as group:
            for play in plays:
                group.create_task(play)
    assert [project.leftovers() for project in projects] == [[]] * len(POSTS)


async def _killed(stage: Stage, service: str, path: str, kubeconfig: Path, folder: Path) -> None:
    # The cloud carries out the request when its sender is dead.
    fault = stage.project.fault(service, method="POST", path=path, delay=3.0, count=1)
    await stage.secret()
    await stage.server(trunk=True, rootVolume={"sizeGiB": 1})
    async with _process(stage.namespace, kubeconfig, folder) as process:

        async def hits() -> int:
            return await asyncio.to_thread(lambda: fault.hits)

        await eventually(hits, lambda found: found == 1, what=f"POST {path}")
        await process.kill()
    async with _process(stage.namespace, kubeconfig, folder):
        await stage.until_ready()
        assert await asyncio.to_thread(held, stage.project) == {"servers": 1, "ports": 1, "trunks": 1, "volumes": 1}
        asked = await asyncio.to_thread(stage.project.requests, service, method="POST", path=path)
        assert len(asked) == 1, "what the dead process asked for is taken"
        await stage.delete()
        await stage.until_gone()


def _process(namespace: str, kubeconfig: Path, folder: Path) -> AbstractAsyncContextManager[Program]:
    argv = [
        *(sys.executable, "-m", "windlass", f"--kubeconfig={kubeconfig}", "run", "openstack"),
        *(f"--watch-namespace={namespace}", "--poll-building=1s", "--allow-loopback-clouds", *ALONE),
    ]
    return starting(argv, folder)
