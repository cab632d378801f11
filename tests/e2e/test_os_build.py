"""The ServiceAccount of `windlass run os-build` may do what its builds need, and nothing else: the audit log proves it.

A story with each builder runs under it. The API server has no streaming lists here, so that caches list and watch.
"""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import NAME, USER, behind, install, left, running
from tests.api.os_build.pool.stage import HANDS, STEP
from tests.api.os_build.pool.stopping_front import StoppingFront
from tests.builder import require_builder
from tests.e2e.rights import granted, uses
from tests.waiting import eventually, until
from windlass.api.batch import Job
from windlass.api.build import Build
from windlass.api.core import ConfigMap
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.os_build.constants import BUILDER_CONFIG, BUILDER_CONFIG_ALIAS, NAMESPACE, RESULT
from windlass.os_build.pool.conditions import VECTOR
from windlass.os_build.request import BackendName
from windlass.testing import ControlPlane, crds
from windlass.testing.builder import push_base
from windlass.testing.plane.audit import AuditLog
from windlass.testing.registry import Registry

pytestmark = pytest.mark.plane

HELD = "RUN wget -q -O /dev/null http://{host}/held || true"
ASKED_BY_ADMISSION = {
    ("", "machineconfiguration.openshift.io", "machineconfigpools/finalizers", "update"),
    (NAMESPACE, "build.openshift.io", "builds/optimizeddocker", "create"),
}
"""What is granted and stands in no audit line: OwnerReferencesPermissionEnforcement asks the authorizer whether builds
may block the deletion of their pool, and OpenShift's admission, which is not here, whether they may skip layers."""
IN_OTHER_STORIES = {(NAMESPACE, "batch", "jobs", "patch"), (NAMESPACE, "", "events", "list")}
"""A Job is suspended when its Pods are evicted again and again, or its script does not keep its time; Events are read
when a Pod has not started for 45 s. `tests/api/os_build` has both."""
SPECS: dict[type[Build | Job], Any] = {
    Build: {"strategy": {"type": "Docker"}},
    Job: {
        "suspend": True,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}},
    },
}
SCRAPES = {
    ("", "authentication.k8s.io", "tokenreviews", "create"),
    ("", "authorization.k8s.io", "subjectaccessreviews", "create"),
}
"""What /metrics needs; `test_rbac` plays scraping for all capabilities."""


async def test_a_story_with_each_builder_uses_every_right_and_asks_for_no_other(
    request: pytest.FixtureRequest, registry: Registry, tmp_path: Path
) -> None:
    require_builder()
    flags = ["--feature-gates=WatchList=false"]
    assets = request.config.getoption("windlass_assets")
    async with ControlPlane(apiserver_flags=flags, assets=assets, crds=crds.documents(*crds.OS_BUILDS)) as plane:
        account = await asyncio.to_thread(install, plane.blocking, tmp_path, namespace=NAMESPACE)
        builds = tmp_path / "builds"
        async with (
            Client(config.load(kubeconfig=plane.kubeconfig())) as client,
            StoppingFront(plane.connection) as front,
            running(behind(account, front.url), tmp_path, registry=registry.host, builds=builds) as process,
        ):
            cluster = Cluster(client, registry, base=push_base(registry))
            await play_builds_here(cluster, builds)
            for backend in (BackendName.OPENSHIFT, BackendName.JOB):
                await play_in_the_cluster(cluster, front, plane.audit, backend)
            assert await process.end() == 0
        file = tmp_path / "rbac.yaml"
        grants, used = granted(file, NAME), uses(plane.audit, USER, "allow")
        unused = {grant[:4] for grant in grants if not any(grant.covers(use) for use in used)}
        assert unused == ASKED_BY_ADMISSION | IN_OTHER_STORIES | SCRAPES
        assert {use for use in used if not any(grant.covers(use) for grant in grants)} == set()
        assert uses(plane.audit, USER, "forbid") == set()


async def play_builds_here(cluster: Cluster, builds: Path) -> None:
    """Opted in, built, changed in mid-build, failed, fixed, opted out."""
    registry, images = cluster.registry, cluster.registry.images
    await cluster.configure(BackendName.LOCAL)
    await cluster.add_pool("worker")
    image = await cluster.until_built("worker")
    [tag] = images.tags(cluster.repository)
    assert image == f"{cluster.target}@{images.digest(cluster.repository, tag)}"
    assert images.file(cluster.repository, image.partition("@")[2], "/etc/motd") == b"rendered-worker-1"

    held = registry.fault(path="/held", hang=True)
    await cluster.containerfile("worker", HELD.format(host=registry.host))
    await until(lambda: held.hits)
    await cluster.change("worker", "rendered-worker-2")
    await cluster.change("worker", "rendered-worker-3")
    await cluster.until("worker", "BuildRunning", text="rendered-worker-3")
    registry.clear_faults()
    await cluster.until_built("worker", "rendered-worker-3")
    assert len(images.tags(cluster.repository)) == 2, "one more image"

    await cluster.containerfile("worker", STEP)
    await cluster.until("worker", "StepFailed", text="exit code 7")
    await cluster.containerfile("worker", "RUN true")
    await cluster.until_built("worker", "rendered-worker-3")

    await cluster.opt("worker", into=False)
    await cluster.until("worker", "")
    assert not {*VECTOR} & {*await cluster.conditions("worker")}
    assert not {*RESULT} & {*await cluster.annotations("worker")}
    await until(lambda: left(builds) == [])


async def play_in_the_cluster(cluster: Cluster, front: StoppingFront, audit: AuditLog, backend: BackendName) -> None:
    """Built although others were faster, cancelled when overdue, deleted."""
    await cluster.configure(backend)
    await older_name_of_the_config_map(cluster)
    hands, pool = HANDS[backend](cluster), str(backend)
    kind: type[Build | Job] = Build if backend == BackendName.OPENSHIFT else Job
    front.stop_at(pool, f"create {kind.RESOURCE.plural}", stored=False)
    await cluster.add_pool(pool)
    await front.stopped()
    [files] = await cluster.left()
    name = files.removeprefix("ConfigMap ")
    await cluster.client.create(kind, {"metadata": {"name": name}, "spec": SPECS[kind]}, namespace=NAMESPACE)
    front.release(late=True)
    read = partial(was_read, audit, kind.RESOURCE.plural, name)
    await eventually(lambda: asyncio.to_thread(read), what=f"a look at the object of others, {name}")
    await cluster.client.delete(kind, name, namespace=NAMESPACE, propagation="Background")
    [build] = await eventually(lambda: cluster.builders(pool), what=f"a build of {pool}")
    front.stop_at(pool, "patch machineconfigpools", stored=False)
    await hands.run(build.name)
    await hands.succeed(build.name)
    await front.stopped()
    await cluster.patch(pool, {"metadata": {"labels": {"colour": "blue"}}})
    front.release(late=True)
    await cluster.until_built(pool)
    await cluster.change(pool, f"rendered-{pool}-2")
    # What deletes a build can only be seen of one that is there when its pool goes.
    [build] = await eventually(lambda: cluster.builders(pool), lambda found: found and found[0].uid != build.uid)
    if backend == BackendName.OPENSHIFT:
        long_ago = {"status": {"phase": "Running", "startTimestamp": "2026-01-01T00:00:00Z"}}
        await cluster.client.patch(Build, build.name, long_ago, type=PatchType.MERGE, namespace=NAMESPACE)
        await until_cancelled(cluster, build.name)
    await cluster.client.delete(MachineConfigPool, pool, propagation="Background")
    await cluster.until_left()


def was_read(audit: AuditLog, resource: str, name: str) -> bool:
    return any(use[2:] == (resource, "get", name) for use in uses(audit, USER, "allow"))


async def older_name_of_the_config_map(cluster: Cluster) -> None:
    found = (await cluster.client.get(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)).decode()
    await cluster.put(ConfigMap, BUILDER_CONFIG_ALIAS, {"data": dict(found.data)})
    await cluster.client.delete(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)


async def until_cancelled(cluster: Cluster, build: str) -> None:
    async def cancelled() -> bool:
        return (await cluster.client.get(Build, build, namespace=NAMESPACE)).decode().status.cancelled

    await eventually(cancelled, what=f"{build} is cancelled")
