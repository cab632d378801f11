"""Healthy work of each capability, one thing after the other until the soak is over: each has to come to its end.

| work | what is done each time |
|---|---|
| `Machines` | a Machine of Cluster API gets its mirror, changes, and is deleted |
| `servers` | a server is made in a cloud that answers, and deleted |
| `updates` | the cluster is updated, and the UpdateStatus says so at its beginning and end |
| `images` | a pool gets another configuration, and its image |
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bench.hostile_clouds import is_ready, server
from tests.api.machine_sync.stage import Stage
from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import OpenShiftHands
from tests.api.update_status.keeper import until_status
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube.client import Client
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER
from windlass.testing import BlockingAccess
from windlass.testing.updates import PlayedCluster

GOOD: Final = "good"
"""The tenant whose cloud answers."""
POOL: Final = "soaked"
Work = Callable[[int], Awaitable[None]]


class Log:
    """`seconds` of each thing that was done, by kind of work."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    async def steadily(self, name: str, work: Work, *, until: float) -> None:
        """Do `work` with numbers from 1, until the clock (`time.monotonic`) says `until`; what was begun is ended."""
        done = self.seconds.setdefault(name, [])
        while time.monotonic() < until:
            began = time.monotonic()
            await work(len(done) + 1)
            done.append(time.monotonic() - began)


class Machines:
    """Machines of one platform, whose infrastructure provider and Cluster API core are this test."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def one(self, number: int) -> None:
        stage, name = self._stage, f"soaked-{number}"
        await stage.machine(name)
        await stage.in_sync(name)
        label = {"metadata": {"labels": {"node-role.kubernetes.io/soaked": str(number)}}}
        await stage.patch(capi.Machine, name, label)
        await stage.mirror_that(name, lambda mirror: str(number) in str(mirror["spec"].get("metadata")))
        await stage.delete(capi.Machine, name)
        await stage.delete(stage.infra_kind, name)
        await stage.mirror_that(name, lambda mirror: "deletionTimestamp" in mirror["metadata"])
        await stage.let_go(stage.infra_kind, name, stage.example.simulated.machine_finalizer)
        await stage.gone((stage.infra_kind, name))
        await self._until_finished(name)

    async def _until_finished(self, name: str) -> None:
        """Cluster API core removes its finalizer last; a conflict with another writer is for the next attempt."""

        async def left() -> bool:
            await self._stage.let_go(capi.Machine, name, CLUSTER_API_FINALIZER)
            there = [await self._stage.get(kind, name) for kind in (capi.Machine, mapi.Machine)]
            return there == [None, None]

        await eventually(left, what=f"{name} gone")


def servers(plane: BlockingAccess, path: str) -> Work:
    """`path`: of the OpenStackServers of the tenant."""

    async def one(number: int) -> None:
        name = f"soaked-{number}"
        await asyncio.to_thread(plane.apply, server(GOOD, name))
        await eventually(lambda: asyncio.to_thread(is_ready, plane, f"{path}/{name}"), what=f"server {name}")
        await asyncio.to_thread(plane.rest.request, "DELETE", f"{path}/{name}")
        await eventually(lambda: asyncio.to_thread(_names, plane, path), lambda names: name not in names)

    return one


def _names(plane: BlockingAccess, path: str) -> list[str]:
    return [one["metadata"]["name"] for one in plane.rest.request("GET", path)["items"]]


def updates(admin: Client, cluster: PlayedCluster, versions: Callable[[int], str]) -> Work:
    """`versions`: the release of each update, by its number."""

    async def one(number: int) -> None:
        version = versions(number)
        begin, *steps = cluster.healthy_update(version)
        await begin.play()
        await until_status(
            admin, lambda found: f"{version} (from" in _target(found), f"the update to {version} goes on"
        )
        for step in steps:
            await step.play()
        await until_status(admin, lambda found: not _target(found), f"the update to {version} is over")

    return one


def _target(found: Any) -> str:
    return str(found.overview.target) if found.overview and found.overview.state == "Updating" else ""


def images(cluster: Cluster) -> Work:
    hands = OpenShiftHands(cluster)

    async def one(number: int) -> None:
        config = f"rendered-{POOL}-{number}"
        if number == 1:
            await cluster.add_pool(POOL)
        else:
            await cluster.change(POOL, config)

        async def played() -> bool:
            """Whoever builds does so at once."""
            for build in await cluster.builders(POOL):
                if build.decode().status.phase in ("", "New", "Pending"):
                    await hands.run(build.name)
                    await hands.succeed(build.name)
            said = await cluster.says(POOL)
            return said[1] == "BuildSucceeded" and f" is built from {config}" in said[2]

        await eventually(played, what=f"an image of {config}")

    return one
