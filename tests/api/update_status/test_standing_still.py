"""What keeps an update from beginning or going on, on a real API server: object, record and command tell."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.program import ALONE
from tests.waiting import eventually
from windlass.api.core import Node
from windlass.api.update import UpdateStatusStatus
from windlass.kube.client import Client
from windlass.testing import ControlPlane
from windlass.testing.updates import PlayedCluster
from windlass.update_status.document import health_insights, read
from windlass.update_status.report import Report

from .keeper import events, keeping, records, until_status

pytestmark = pytest.mark.plane

TARGET = "4.16.1"


def summaries(found: UpdateStatusStatus) -> list[str]:
    return sorted(one.impact.summary for one in health_insights(found).values())


def telling(summary: str) -> Any:
    return lambda found: any(one.startswith(summary) for one in summaries(found))


def report(found: UpdateStatusStatus) -> Report:
    return read(found, now=0)


async def wait_for_the_end(plane: ControlPlane) -> "subprocess.CompletedProcess[str]":
    """`windlass status --wait`, beside the loop that plays the cluster."""
    windlass = Path(sys.executable).with_name("windlass")
    command = [str(windlass), "--kubeconfig", str(plane.kubeconfig()), "status", "--wait=60s"]
    return await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)


async def figure(program: Any, name: str) -> float:
    async with ClientSession() as session, session.get(f"{program.metrics}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), -1)


async def test_a_refused_request_is_told_everywhere_and_the_next_one_is_followed(
    admin: Client, cluster: PlayedCluster, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    async with keeping(account, tmp_path, "--metrics-open", *ALONE, metrics=True) as keeper:
        await until_status(admin, lambda found: found.overview, "a first report")
        await cluster.cvo.refuse(TARGET, why="The update cannot be verified")

        found = await until_status(admin, telling(f"The update to {TARGET} was refused"), "the refusal")
        assert report(found).control_plane.refused
        assert found.overview
        assert (found.overview.state, found.overview.error_insights) == ("Idle", 1)
        kept = await eventually(lambda: records(admin), lambda all_: all_ and all_[0].state, what="its record")
        assert [(one.target, one.state) for one in kept] == [(TARGET, "Refused")]
        assert "The update cannot be verified" in kept[0].troubles[0].summary
        await eventually(lambda: figure(keeper, "windlass_update_refused"), lambda value: value == 1, what="the figure")

        waited = await wait_for_the_end(plane)
        assert (waited.returncode, waited.stdout) == (5, "The cluster is not updating.\n")
        assert f"error: The update to {TARGET} was refused (RetrievePayload)" in waited.stderr
        assert "The update cannot be verified" in waited.stderr

        await cluster.cvo.start(TARGET)
        found = await until_status(
            admin, lambda found: found.overview and found.overview.state == "Updating", "the update"
        )
        assert report(found).control_plane.request is None
        await eventually(
            lambda: records(admin),
            lambda all_: sorted(one.state for one in all_) == ["Progressing", "Refused"],
            what="a record of the update besides that of the refusal",
        )
        reasons = [one.reason for one in await events(admin)]
        assert reasons.count("UpdateRefused") == 1


async def test_a_pool_that_cannot_begin_has_its_cause_and_no_expected_end(
    admin: Client, cluster: PlayedCluster, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    async with keeping(account, tmp_path, *ALONE):
        *first, _ = cluster.healthy_update(TARGET)
        for step in first:
            await step.play()
        await cluster.mco.roll("master")
        await cluster.cvo.finish("machine-config")
        await cluster.cvo.complete()
        await until_status(admin, lambda found: expected(found, "worker"), "an expected end of worker")

        await cluster.mco.degrade("worker", "RenderDegraded", message="could not generate rendered MachineConfig")
        rendered = "Pool worker cannot render its configuration"
        found = await until_status(admin, telling(rendered), "the pool that cannot be rendered")
        assert not expected(found, "worker")
        assert report(found).stands_still
        waited = await wait_for_the_end(plane)
        assert waited.returncode == 5
        assert f"error: {rendered}: could not generate rendered MachineConfig; to do: " in waited.stderr

        await cluster.mco.recover("worker", "RenderDegraded")
        await until_status(admin, lambda found: expected(found, "worker"), "an expected end of worker again")
        await cluster.mco.degrade("worker", "ImageBuildDegraded", message="no package matches htop2")
        failed = "The OS image of pool worker failed to build"
        found = await until_status(admin, telling(failed), "the build that failed")
        assert {node.step for pool in report(found).pools if pool.name == "worker" for node in pool.nodes} == {
            "the OS image failed to build"
        }
        await cluster.mco.recover("worker", "ImageBuildDegraded")
        await until_status(admin, lambda found: not telling(failed)(found), "the build is over")
        await cluster.mco.roll("worker")
        await until_status(admin, lambda found: found.overview and found.overview.state == "Idle", "the end")
        (record,) = await eventually(records_ended(admin), lambda all_: all_, what="the record of the update")
        assert sorted(one.summary for one in record.troubles) == [rendered, failed]
        assert all(one.resolved for one in record.troubles)


def records_ended(admin: Client) -> Any:
    async def ended() -> list[Any]:
        return [one for one in await records(admin) if one.state == "Completed"]

    return ended


def expected(found: UpdateStatusStatus, pool: str) -> bool:
    if found.overview is None:  # nothing is written yet
        return False
    return any(one.expected is not None for one in report(found).pools if one.name == pool)


async def test_a_node_of_windows_keeps_no_update_open(
    admin: Client, cluster: PlayedCluster, account: Path, tmp_path: Path
) -> None:
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/os": "windows"}
    await admin.create(Node, {"metadata": {"name": "win-0", "labels": labels}})
    async with keeping(account, tmp_path, *ALONE):
        for step in cluster.healthy_update(TARGET):
            await step.play()
        found = await until_status(
            admin,
            lambda found: (
                found.overview and found.overview.state == "Idle" and found.overview.target.startswith(TARGET)
            ),
            "the end",
        )
        assert found.overview
        assert (found.overview.total_workers, found.overview.workers_left) == (2, 0)
        assert report(found).windows == ("win-0",)
