"""While nothing is updated, Update status sends no requests, however often 500 Nodes report that they live."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.explore import usually
from tests.program import QUICK, Program
from tests.waiting import eventually
from windlass.api.core import Node
from windlass.api.machineconfiguration import GROUP
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock, rfc3339
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.updates import PlayedCluster

from .keeper import USER, keeping, until_status

pytestmark = pytest.mark.plane

NODES = 500
SECONDS = usually(10, exploring=60)
RATE = 50
"""Heartbeats a second. 500 kubelets send 50 if nothing else changes: each one every 10 s."""
AT_ONCE = 16
DECISIONS = 'windlass_decide_seconds_count{controller="update-status"}'
CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")


async def make_nodes(api: Client, config: str) -> None:
    """Workers that have `config`."""
    room = asyncio.Semaphore(AT_ONCE)
    annotations = {f"{GROUP}/{one}": config for one in ("currentConfig", "desiredConfig")} | {f"{GROUP}/state": "Done"}

    async def make(number: int) -> None:
        async with room:
            labels = {"node-role.kubernetes.io/worker": ""}
            metadata = {"name": f"many-{number}", "labels": labels, "annotations": annotations}
            await api.create(Node, {"metadata": metadata})
            await beat(api, number)

    async with asyncio.TaskGroup() as making:
        for number in range(NODES):
            making.create_task(make(number))


async def beat(api: Client, number: int) -> None:
    """What a kubelet writes when nothing has changed but the time."""
    now = rfc3339(SystemClock().now())
    conditions = [
        {"type": one, "status": str(one == "Ready"), "reason": "As", "message": "usual", "lastHeartbeatTime": now}
        for one in CONDITIONS
    ]
    patch = {"status": {"conditions": conditions}}
    await api.patch(Node, f"many-{number}", patch, type=PatchType.MERGE, subresource="status")


async def test_heartbeats_of_500_nodes_cause_no_request(
    admin: Client, cluster: PlayedCluster, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    await make_nodes(admin, cluster.layout.pool("worker").rendered("4.16.0"))
    async with keeping(account, tmp_path, *QUICK, "--metrics-open", metrics=True) as keeper:
        await until_status(
            admin,
            lambda found: found.overview and found.overview.total_workers == 502 and not found.overview.workers_left,
            "all nodes",
        )
        earlier = await quiet(plane, keeper)
        asked, began = len(requests(plane)), time.monotonic()
        room = asyncio.Semaphore(AT_ONCE)
        for number in range(SECONDS * RATE):
            await asyncio.sleep(began + number / RATE - time.monotonic())
            async with room:
                await beat(admin, number % NODES)
        lasted, later = time.monotonic() - began, await keeper.figures()
    # MachineOSBuilds are not served here, and it is asked now and then whether they are.
    assert [each for each in requests(plane)[asked:] if "machineosbuilds" not in each] == []
    # One may still be due for an earlier write: on a machine under load it is put off.
    assert later[DECISIONS] - earlier[DECISIONS] <= 1
    print(f"{SECONDS * RATE} heartbeats in {lasted:.1f} s")
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes"):
        print(f"{name}: {earlier[name]:g} -> {later[name]:g}")


async def quiet(plane: ControlPlane, keeper: Program) -> dict[str, float]:
    """The metrics, once there has been neither a request nor a decision for 6 s: a decision after a write waits
    for some seconds, and longer if the write was slow."""

    async def look() -> dict[str, float]:
        before, earlier = len(requests(plane)), await keeper.figures()
        await asyncio.sleep(6)
        later = await keeper.figures()
        return later if (len(requests(plane)), later[DECISIONS]) == (before, earlier[DECISIONS]) else {}

    return await eventually(look)


def requests(plane: ControlPlane) -> list[str]:
    """What the process has asked for so far, apart from watches, its Lease and its heartbeat."""
    found = []
    for event in plane.audit.events(user=USER):
        resource = event.get("objectRef", {}).get("resource", "")
        if event["verb"] != "watch" and resource not in ("leases", "updatestatusheartbeats"):
            found.append(f"{event['verb']} {event['requestURI']}")
    return found
