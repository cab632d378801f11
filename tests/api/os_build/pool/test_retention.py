"""Images that buildah really built are removed from a real registry when nothing uses them any more."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import Stage, at_work
from tests.waiting import eventually, until
from windlass.api.core import Event, Node
from windlass.capability.conventions.settings import Settings as CommandSettings
from windlass.os_build.cli import pruning
from windlass.os_build.cli.pruning import PruneRequest
from windlass.os_build.constants import IMAGE
from windlass.os_build.request import BackendName
from windlass.os_build.retention.record import BUILT
from windlass.testing import ControlPlane

CURRENT = "machineconfiguration.openshift.io/currentImage"


@pytest.fixture
async def stage(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Stage]:
    await cluster.configure(BackendName.LOCAL)
    async with at_work(cluster, folder=tmp_path, keep_images=0) as stage:
        yield stage
        cluster.registry.clear_faults()


async def built(cluster: Cluster, pool: str, number: int) -> str:
    """The image of the configuration with this number."""
    config = f"rendered-{pool}-{number}"
    if number == 1:
        await cluster.add_pool(pool)
    else:
        await cluster.change(pool, config)
    return await cluster.until_built(pool, config)


def digest(image: str) -> str:
    return image.partition("@")[2]


async def test_only_what_a_node_a_pool_or_a_person_uses_stays(cluster: Cluster, stage: Stage) -> None:
    images = cluster.registry.images
    first = await built(cluster, "worker", 1)
    await cluster.put(Node, "worker-0", {"metadata": {"annotations": {CURRENT: first}}})
    assert len(images.labels(cluster.repository, digest(first))["io.windlass.cluster"]) == 32
    second, third = await built(cluster, "worker", 2), await built(cluster, "worker", 3)
    await until(lambda: digest(second) not in images.manifests(cluster.repository))
    assert {digest(first), digest(third)} <= {*images.manifests(cluster.repository)}
    # The node gets the new image: the old one has become free.
    await cluster.put(Node, "worker-0", {"metadata": {"annotations": {CURRENT: third}}})
    await cluster.patch("worker", {"metadata": {"labels": {"rolled": "out"}}})
    await until(lambda: images.manifests(cluster.repository) == [digest(third)])

    async def recorded() -> str:
        return (await cluster.annotations("worker")).get(BUILT, "")

    await eventually(recorded, lambda text: digest(third) in text and text.count("sha256:") == 1, what="one record")
    assert (await cluster.annotations("worker"))[IMAGE] == third
    told = [each.decode() for each in (await cluster.client.list(Event, namespace="default")).items]
    assert any(each.reason == "ImagesRemoved" and digest(second) in each.message for each in told)
    await cluster.client.delete(Node, "worker-0")


async def test_a_registry_that_removes_nothing_is_told_and_the_pool_keeps_its_image(
    cluster: Cluster, stage: Stage
) -> None:
    cluster.registry.fault(method="DELETE", path="/manifests/", status=405)
    await built(cluster, "infra", 1)
    second = await built(cluster, "infra", 2)

    async def told() -> list[str]:
        found = [each.decode() for each in (await cluster.client.list(Event, namespace="default")).items]
        return [each.message for each in found if each.reason == "ImagesNotRemoved"]

    [text] = await eventually(told, what="an Event that says so")
    assert "allow that in its settings" in text
    assert (await cluster.annotations("infra"))[IMAGE] == second


async def test_the_command_shows_what_would_go_and_removes_the_same(
    operated: Cluster, build_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await operated.configure(BackendName.LOCAL)
    async with at_work(operated, folder=tmp_path, keep_images=9):
        images = [await built(operated, "worker", number) for number in (1, 2, 3)]

        async def recorded() -> int:
            return (await operated.annotations("worker")).get(BUILT, "").count("sha256:")

        await eventually(recorded, lambda count: count == 3, what="three records")
    await operated.put(Node, "worker-0", {"metadata": {"annotations": {CURRENT: images[0]}}})
    settings = CommandSettings(kubeconfig=str(build_plane.kubeconfig()))
    there = operated.registry.images
    capsys.readouterr()

    async def prune(*, dry_run: bool) -> str:
        asked = PruneRequest(("worker",), 0, dry_run=dry_run, insecure=(operated.registry.host,))
        assert await pruning.prune(settings, asked) == 0
        return capsys.readouterr().out

    shown = await prune(dry_run=True)
    assert [line.split()[1] for line in shown.splitlines() if "would go" in line] == [digest(images[1])[7:19]]
    assert "Node worker-0 names it" in shown
    assert len(there.manifests(operated.repository)) == 3
    done = await prune(dry_run=False)
    assert [line.split()[1] for line in done.splitlines() if "removed" in line] == [digest(images[1])[7:19]]
    assert sorted(there.manifests(operated.repository)) == sorted(map(digest, (images[0], images[2])))
    assert digest(images[1]) not in (await operated.annotations("worker"))[BUILT]
    assert "would go" not in await prune(dry_run=True)
    await operated.client.delete(Node, "worker-0")
    print(shown, done)
