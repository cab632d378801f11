"""A real ResourceQuota that allows no Job: the pool says so, and the build begins once there is room."""

from typing import Any

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import JobHands, at_work
from tests.waiting import eventually
from windlass.os_build.request import BackendName
from windlass.testing import ControlPlane
from windlass.testing.plane.errors import Refused

COUNT = "count/jobs.batch"
MERGE = "application/merge-patch+json"


class Quota:
    """That of Jobs in a namespace. No controller of quotas runs, so its status is written here."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._rest = plane.blocking.rest
        self._namespace = namespace
        self._path = f"/api/v1/namespaces/{namespace}/resourcequotas"

    def create(self) -> None:
        body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "builds"}}
        self._rest.request("POST", self._path, body)

    def allow(self, jobs: int) -> None:
        hard = {COUNT: str(jobs)}
        self._rest.request("PATCH", f"{self._path}/builds", {"spec": {"hard": hard}}, content_type=MERGE)
        status = {"status": {"hard": hard, "used": {COUNT: "0"}}}
        self._rest.request("PATCH", f"{self._path}/builds/status", status, content_type=MERGE)

    def refuses(self) -> bool:
        """Admission knows of it, a moment after it was written."""
        container = {"name": "a", "image": "a"}
        spec: dict[str, Any] = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"}, "spec": spec}
        try:
            self._rest.request("POST", f"/apis/batch/v1/namespaces/{self._namespace}/jobs?dryRun=All", job)
        except Refused as refused:
            return "exceeded quota" in str(refused)
        return False


async def test_a_build_that_a_quota_refuses_is_told_and_begins_when_there_is_room(
    cluster: Cluster, build_plane: ControlPlane
) -> None:
    quota = Quota(build_plane, cluster.namespace)
    quota.create()
    quota.allow(0)

    async def refuses() -> bool:
        return quota.refuses()

    await eventually(refuses, what="a quota that admission knows")
    await cluster.configure(BackendName.JOB)
    async with at_work(cluster) as stage:
        await cluster.add_pool("worker")
        said = await cluster.until("worker", "BuilderRefused", text="exceeded quota: builds")
        assert said.endswith("Raise that ResourceQuota, or delete something that it counts.")
        assert (await cluster.says("worker"))[0] == "BuildFailed"
        quota.allow(1)
        name = await stage.begun("worker")
        await cluster.until("worker", "BuildPending", text=name)
        await JobHands(cluster).succeed(name)
        await cluster.until_built("worker")
