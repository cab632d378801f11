"""Beside the Machine Config Operator's own controllers: what they do with what we write, and what they name alike.

They wait five seconds before each of their steps, so all that they are to do is begun at once, when the module begins.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.api.os_build.beside.cluster import Cluster, Tree
from tests.waiting import wait_until
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildStatus, MachineOSConfig
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.machine_os.build import CURRENT, current_status, machine_os_build
from windlass.os_build.machine_os.conditions import State, moved, state_of
from windlass.os_build.machine_os.name import build_name
from windlass.os_build.machine_os.request import requested
from windlass.os_build.request import BackendName, Request
from windlass.testing import crds
from windlass.testing.plane.pool import PlanePool
from windlass.testing.updates import Pool
from windlass.testing.updates.os_builder import OsBuilder

pytestmark = pytest.mark.plane

NAME = "beside"
BUILT = "gpu"
"""The pool whose image is built by us before the operator's builder starts."""
TARGET = "registry.example.com/org/gpu:latest"
DIGEST = f"sha256:{'ab' * 32}"
POOLS = [Pool(name=name, nodes=0) for name in ("master", "worker", "infra", "edge", "1e3", BUILT)]
NODE = "worker-0"
ASKED: dict[str, dict[str, Any]] = {
    "infra": {"target": "registry.example.com:5000/org/os:latest"},
    "edge": {
        "target": "registry.example.com/org/os:v1",
        "containerfile": "FROM configs AS final\nRUN rpm-ostree install tree && \\\n    ostree container commit\n\n"
        '# why: it\'s "wanted"\nLABEL a=yes\n',
    },
    "1e3": {
        "target": "registry.example.com/os:1.10",
        "containerfile": "FROM configs AS final\nRUN a line with a\ttab, which is quoted, with \u00e9 as it is, and "
        "broken by the library of the operator and by ours alike \\\n  end",
    },
}
"""What the MachineOSConfigs of pools ask for."""


@pytest.fixture(scope="module")
def cluster(windlass_planes: PlanePool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    plane = windlass_planes.plane(NAME, crds=crds.documents(*crds.UPDATES)).blocking
    real = OsBuilder(plane, pools=POOLS, folder=tmp_path_factory.mktemp(NAME))
    try:
        real.install()
        real.start()
        cluster = Cluster(plane, real, {pool.name: real.wait_rendered(pool.name) for pool in POOLS})
        real.ask(BUILT, target=TARGET)
        build_ourselves(cluster)
        real.start_builder()
        for pool, asked in ASKED.items():
            real.ask(pool, **asked)
        cluster.annotate(MachineConfigPool, "master", layering_enabled="")
        real.configure("60-motd", pool="master", files={"/etc/motd": "hello\n"})
        make_node(cluster)
        yield cluster
    finally:
        real.close()
        windlass_planes.stop(NAME)


def build_ourselves(cluster: Cluster) -> None:
    """What is written of a build that is first seen when it has succeeded."""
    config, pool = cluster.get(MachineOSConfig, BUILT), cluster.get(MachineConfigPool, BUILT)
    request = requested(config, pool, architecture="amd64")
    assert isinstance(request, Request)
    name = build_name(config, pool, cluster.get(RenderedMachineConfig, request.config))
    assert isinstance(name, str)
    cluster.create(MachineOSBuild, machine_os_build(name, config, request))
    seen = BuildState(name="b", backend=BackendName.LOCAL, pool=BUILT, inputs="i", phase=Phase.SUCCEEDED, digest=DIGEST)
    status = moved(MachineOSBuildStatus(), seen, target=request.target, now=datetime.now(UTC))
    cluster.report(MachineOSBuild, name, status)
    cluster.report(MachineOSConfig, BUILT, current_status(config, cluster.get(MachineOSBuild, name)))
    cluster.annotate(MachineOSConfig, BUILT, current_machine_os_build=name)


def make_node(cluster: Cluster) -> None:
    """A Node of the pool `worker`, which has its configuration and is ready; nobody plays its daemon."""
    config = cluster.rendered["worker"]
    said = {"currentConfig": config, "desiredConfig": config, "state": "Done", "reason": ""}
    metadata = {"name": NODE, "labels": {"node-role.kubernetes.io/worker": ""}, "annotations": {"a": "b"}}
    cluster.plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    cluster.annotate(Node, NODE, **said)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
    cluster.patch(Node, NODE, {"status": {"conditions": [ready]}}, status=True)


def builds_of(cluster: Cluster, pool: str) -> list[MachineOSBuild]:
    return [one for one in cluster.all(MachineOSBuild) if one.spec.machine_os_config.name == pool]


def jobs(cluster: Cluster) -> set[str]:
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
    return {one["metadata"]["name"] for one in cluster.plane.rest.request("GET", path)["items"]}


@pytest.mark.parametrize("pool", ASKED)
def test_a_build_has_the_name_that_the_operators_builder_gives_it(cluster: Cluster, pool: str) -> None:
    """On the real one: of no Containerfile, of one, and of texts that YAML writes in several ways."""
    [build] = wait_until(f"a MachineOSBuild of {pool}, see {cluster.real.log}", lambda: builds_of(cluster, pool))
    config, of = cluster.get(MachineOSConfig, pool), cluster.get(MachineConfigPool, pool)
    rendered = cluster.get(RenderedMachineConfig, build.spec.machine_config.name)
    request = requested(config, of, architecture="amd64")
    assert isinstance(request, Request)
    assert build_name(config, of, rendered) == build.metadata.name
    assert build.spec.rendered_image_push_spec == request.target.tagged(build.metadata.name)
    assert build.spec.machine_config.name == request.config


def test_a_new_machine_config_moves_an_annotated_pool_to_a_new_rendered_one(cluster: Cluster) -> None:
    before = cluster.rendered["master"]
    after = cluster.real.wait_rendered("master", after=before)
    pool = cluster.get(MachineConfigPool, "master")
    assert [one.name for one in pool.spec.configuration.source] == ["50-master", "60-motd"]
    assert pool.spec.configuration.name == after
    new = cluster.tree(RenderedMachineConfig, after)
    assert [file["path"] for file in new["spec"]["config"]["storage"]["files"]] == ["/etc/motd"]


BUILD = ("BuildPending", "Building", "BuildSuccess", "BuildFailed")


def conditions(true: str) -> list[Tree]:
    """Of a build, as it reads on a pool."""
    return [
        {
            "type": one,
            "status": str(one == true),
            "reason": one,
            "message": f"{one} of a build: {true}",
            "lastTransitionTime": "2026-11-22T12:00:00Z",
        }
        for one in BUILD
    ]


def ours(pool: Tree) -> list[Tree]:
    return [one for one in pool["status"]["conditions"] if one["type"] in BUILD]


def says(pool: Tree, name: str) -> tuple[str, str]:
    found = [one for one in pool.get("status", {}).get("conditions", []) if one["type"] == name]
    return (found[0]["status"], found[0].get("message", "")) if found else ("", "")


def test_conditions_of_builds_outlive_the_operators_status_writes_and_the_annotation_changes_nothing(
    cluster: Cluster,
) -> None:
    def pool() -> Tree:
        return cluster.tree(MachineConfigPool, "worker")

    def write(true: str) -> None:
        others = [one for one in pool()["status"]["conditions"] if one["type"] not in BUILD]
        cluster.patch(MachineConfigPool, "worker", {"status": {"conditions": others + conditions(true)}}, status=True)

    def reports(name: str, status: str) -> Tree | None:
        return found if says(found := pool(), name)[0] == status else None

    config = cluster.rendered["worker"]
    updated = wait_until("an updated pool", lambda: reports("Updated", "True"))
    assert says(updated, "Updated")[1] == f"All nodes are updated with MachineConfig {config}"
    node = cluster.get(Node, NODE).metadata.annotations
    cluster.annotate(MachineConfigPool, "worker", layering_enabled="")

    write("Building")
    cluster.annotate(Node, NODE, state="Degraded", reason="disk full")
    degraded = wait_until("a degraded pool", lambda: reports("NodeDegraded", "True"))
    assert ours(degraded) == conditions("Building")

    write("BuildFailed")
    cluster.annotate(Node, NODE, state="Done", reason="")
    recovered = wait_until("a pool that recovered", lambda: reports("NodeDegraded", "False"))
    assert ours(recovered) == conditions("BuildFailed")
    assert (says(recovered, "Updated")[0], says(recovered, "Degraded")[0]) == ("True", "False")
    assert recovered["spec"] == updated["spec"]
    assert cluster.get(Node, NODE).metadata.annotations == node


def test_of_an_image_that_we_built_the_operators_builder_builds_nothing(cluster: Cluster) -> None:
    """It begins Jobs for others, which were asked for later."""
    begun = wait_until(f"a Job of another, see {cluster.real.log}", lambda: jobs(cluster))
    [build] = builds_of(cluster, BUILT)
    assert state_of(build.status.conditions) is State.SUCCEEDED
    assert begun <= {f"build-{one.metadata.name}" for pool in ASKED for one in builds_of(cluster, pool)}
    config = cluster.get(MachineOSConfig, BUILT)
    assert config.status.current_image_pull_spec == f"registry.example.com/org/gpu@{DIGEST}"
    assert config.metadata.annotations[CURRENT] == build.metadata.name


def test_pools_without_a_machine_os_config_have_no_machine_os_build(cluster: Cluster) -> None:
    """Also not those that are annotated."""
    wait_until("builds of all", lambda: len(cluster.all(MachineOSBuild)) > len(ASKED))
    assert {one.spec.machine_os_config.name for one in cluster.all(MachineOSBuild)} == {*ASKED, BUILT}
