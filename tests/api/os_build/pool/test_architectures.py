"""Pools with Nodes of several architectures: a real API server, Jobs of the real job controller, real buildah.

Nodes are objects without a machine; the Pods of a builder are run here as on a Node of the architecture that they ask
for. RUN runs on this machine: the programs of both base images are its own.
"""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import Stage, at_work
from tests.waiting import eventually
from windlass.api.batch import Job
from windlass.api.core import Event, Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.process.tasks import end
from windlass.kube.verbs import PatchType
from windlass.os_build.constants import IMAGE
from windlass.os_build.registry.index import architectures_of, children_of
from windlass.os_build.request import BackendName
from windlass.testing.builder import push_base
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.openshift import PlayedBuilds
from windlass.testing.builds.pods import PlayedPods
from windlass.testing.registry import Registry

pytestmark = pytest.mark.plane

ROLE = "node-role.kubernetes.io/worker"
BOTH = ("amd64", "arm64")


@pytest.fixture
async def nodes(cluster: Cluster) -> AsyncIterator[Cluster]:
    """The cluster, whose Nodes go with the test: they are of all."""
    yield cluster
    for each in (await cluster.client.list(Node)).items:
        await cluster.client.delete(Node, each.name)


@pytest.fixture(params=[BackendName.JOB, BackendName.OPENSHIFT])
async def stage(request: pytest.FixtureRequest, nodes: Cluster, tmp_path: Path) -> AsyncIterator[Stage]:
    """The controller at work, and buildah that builds for it."""
    await nodes.configure(request.param)
    buildah = Buildah(nodes.client, tmp_path, insecure=[nodes.registry.host])
    pods = PlayedPods(nodes.client, namespace=nodes.namespace)
    builds = PlayedBuilds(nodes.client, namespace=nodes.namespace)
    play = {BackendName.JOB: pods.play(buildah.run_pod), BackendName.OPENSHIFT: builds.play(buildah.run_build)}
    playing = asyncio.create_task(play.pop(request.param))
    for other in play.values():
        other.close()
    async with at_work(nodes) as stage:
        yield stage
    await end(playing)


@pytest.fixture
def multi(registry: Registry, base: str) -> str:
    """A base image for two architectures."""
    return push_base(registry, "os/multi", architectures=BOTH)


async def add_node(cluster: Cluster, architecture: str) -> None:
    labels = {"kubernetes.io/arch": architecture, ROLE: ""}
    name = f"node-{architecture}"
    await cluster.client.create(Node, {"metadata": {"name": name, "labels": labels}})


async def add_pool(cluster: Cluster, *, base: str) -> None:
    """The pool `worker`, with a Node of each architecture."""
    await cluster.add_pool("worker", base=base, opted_in=False)
    await cluster.patch("worker", {"spec": {"nodeSelector": {"matchLabels": {ROLE: ""}}}})
    for architecture in BOTH:
        await add_node(cluster, architecture)
    await cluster.opt("worker", into=True)


def in_list(cluster: Cluster, image: str) -> dict[str, str]:
    """The digests that the pool's image names, by what the configuration of each says."""
    images, body = cluster.registry.images, cluster.registry.images.document(cluster.repository, image.split("@")[1])
    return {images.config(cluster.repository, each)["architecture"]: each for each in children_of(body)}


async def test_each_architecture_is_built_on_its_nodes_and_nodes_take_their_image_from_the_list(
    stage: Stage, multi: str, tmp_path: Path
) -> None:
    cluster = stage.cluster
    await cluster.containerfile("worker", "RUN echo built > /etc/built")
    await add_pool(cluster, base=multi)
    image = await cluster.until_built("worker")
    body = cluster.registry.images.document(cluster.repository, image.split("@")[1])
    assert architectures_of(body) == BOTH
    built = in_list(cluster, image)
    assert sorted(built) == [*BOTH]
    for digest in built.values():
        assert cluster.registry.images.file(cluster.repository, digest, "/etc/built") == b"built\n"
        assert cluster.registry.images.file(cluster.repository, digest, "/etc/motd") == b"rendered-worker-1"
    for architecture, digest in built.items():
        assert pulled(cluster, image, architecture, tmp_path) == (architecture, digest)
    await cluster.until_left()
    tags = cluster.registry.images.tags(cluster.repository)
    assert sorted(tag.split("-", 3)[-1] for tag in tags) == ["amd64", "amd64-arm64", "arm64"]
    [done] = [
        each.decode().message
        for each in (await cluster.client.list(Event, namespace="default")).items
        if each.decode().reason == "BuildCompleted" and image in each.decode().message
    ]
    assert done.endswith("is built from rendered-worker-1 for amd64, arm64")


async def test_builders_ask_for_nodes_of_their_architecture(nodes: Cluster, multi: str) -> None:
    await nodes.configure(BackendName.JOB, builderNodeSelector="pool=builders")
    async with at_work(nodes):
        await add_pool(nodes, base=multi)
        found = await eventually(lambda: nodes.builders("worker"), lambda found: len(found) == 2, what="two Jobs")
    selectors = [each.tree()["spec"]["template"]["spec"]["nodeSelector"] for each in found]
    assert sorted(selectors, key=str) == [{"kubernetes.io/arch": each, "pool": "builders"} for each in BOTH]
    assert {each.kind for each in found} == {Job}


async def test_a_base_image_without_an_architecture_is_told_before_any_builder(nodes: Cluster, base: str) -> None:
    """The real registry is asked."""
    await nodes.configure(BackendName.JOB)
    async with at_work(nodes):
        await add_pool(nodes, base=base)
        said = await nodes.until("worker", "WrongArchitecture")
        assert said.startswith(f"the base image {base} of rendered-worker-1 is for amd64, and pool worker needs arm64")
        assert await nodes.builders() == []
        await nodes.client.delete(Node, "node-arm64")
        await eventually(lambda: nodes.builders("worker"), lambda found: len(found) == 1, what="one Job")


async def test_a_node_of_another_architecture_has_a_list_built(stage: Stage, multi: str) -> None:
    cluster = stage.cluster
    await cluster.add_pool("worker", base=multi, opted_in=False)
    await cluster.patch("worker", {"spec": {"nodeSelector": {"matchLabels": {ROLE: ""}}}})
    await add_node(cluster, "amd64")
    await cluster.opt("worker", into=True)
    first = await cluster.until_built("worker")
    assert children_of(cluster.registry.images.document(cluster.repository, first.split("@")[1])) == ()
    await add_node(cluster, "arm64")
    second = await eventually(
        lambda: cluster.annotations("worker"), lambda found: found.get(IMAGE) != first, what="another image"
    )
    assert sorted(in_list(cluster, second[IMAGE])) == [*BOTH]
    await cluster.until_left()
    await cluster.client.delete(Node, "node-arm64")
    await cluster.client.patch(
        MachineConfigPool, "worker", {"metadata": {"labels": {"touched": ""}}}, type=PatchType.MERGE
    )
    assert (await cluster.until_built("worker")) == second[IMAGE]
    assert await cluster.builders() == []


@pytest.mark.parametrize("stage", [BackendName.JOB], indirect=True)
@pytest.mark.parametrize("gone", BOTH)
async def test_an_image_that_was_deleted_before_the_list_is_pushed_is_built_again_alone(
    stage: Stage, multi: str, gone: str
) -> None:
    cluster = stage.cluster
    # Nobody reads an image before the list is made; the list itself is not taken for a while.
    cluster.registry.fault(path="-amd64-arm64", status=503)
    await add_pool(cluster, base=multi)
    await cluster.until("worker", "RegistryUnavailable")
    images = cluster.registry.images
    [tag] = [each for each in images.tags(cluster.repository) if each.endswith(f"-{gone}")]
    images.remove(cluster.repository, images.digest(cluster.repository, tag))
    before = {each.uid for each in await cluster.builders("worker")}
    cluster.registry.forget_requests()
    cluster.registry.clear_faults()
    image = await cluster.until_built("worker")
    assert sorted(in_list(cluster, image)) == [*BOTH]
    pushed = [each.path.rpartition("/")[2] for each in cluster.registry.requests(method="PUT", path="/manifests/")]
    assert (len(before), sorted(pushed)) == (2, sorted([tag, f"{tag.removesuffix(f'-{gone}')}-amd64-arm64"]))


def pulled(cluster: Cluster, image: str, architecture: str, folder: Path) -> tuple[str, str]:
    """The architecture and the digest of what real buildah pulls from the list for it."""
    auth = folder / f"auth-{architecture}.json"
    auth.write_text(json.dumps(cluster.registry.auths("puller")))
    store = ["--storage-driver=vfs", f"--root={folder}/root-{architecture}", f"--runroot={folder}/run-{architecture}"]
    asked = ["--tls-verify=false", f"--authfile={auth}", f"--arch={architecture}", image]
    pulled = _output("buildah", *store, "pull", "--quiet", *asked)
    shown: dict[str, Any] = json.loads(_output("buildah", *store, "inspect", "--type=image", pulled))
    [listed] = json.loads(_output("buildah", *store, "images", "--json"))
    return shown["OCIv1"]["architecture"], _manifest_digest(listed, shown)


def _manifest_digest(listed: dict[str, Any], shown: dict[str, Any]) -> str:
    digest: str = shown.get("FromImageDigest") or listed["digest"]
    return digest


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
