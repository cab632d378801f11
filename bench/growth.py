"""Measures what the UpdateStatus costs etcd while an update brings 1,000 workers to their new configuration.

All else that is written, Nodes and MachineConfigNodes, is written with and without a controller: the row without one
says how much of the growth is theirs.
"""

import asyncio
import re
import ssl
import statistics
import sys
import urllib.request
from contextlib import nullcontext
from pathlib import Path

import msgspec

from bench.arena import Arena
from bench.contestant import Contestant
from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against
from bench.updates import TARGET, _played, _until_written
from windlass.api.core import Namespace
from windlass.api.update import UpdateStatus
from windlass.kube.clock import SystemClock
from windlass.kube.verbs import Api
from windlass.testing import crds
from windlass.testing.binaries import to_stderr
from windlass.testing.updates import PlayedCluster
from windlass.testing.updates.nodes import PlayedNode
from windlass.testing.updates.objects import Objects
from windlass.update_status.installation import installation
from windlass.update_status.reading.kept import HOME

GROWTH, MEMORY = 40.0, 60.0
"""Megabytes for 1,000 workers: targets."""
AT_A_TIME = 25
"""Nodes of a pool; a node is in each of its five steps for as long as makes the update last `minutes`."""


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects` workers, in an update that takes 13 minutes. `rounds` means nothing here."""
    meter = NoiseMeter()
    rows = [await _update(directory / name, objects, controller=name == "with") for name in ("without", "with")]
    noise = meter.read()
    notes = [f"Others used {noise.others + noise.stolen:.2f} cores meanwhile."]
    return [Table(f"etcd in an update of {objects} workers", list(rows[1]), rows, notes)]


async def _update(directory: Path, workers: int, *, controller: bool, minutes: float = 13.0) -> dict[str, Cell]:
    async with Arena(directory) as arena:
        ours = [owned.manifest() for owned in installation().owned]
        await arena.plane.apply_crds(*crds.documents(*crds.UPDATES), *ours)
        await arena.seed.create(Namespace, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        cluster = await _played(arena.seed, workers)
        argv = [str(Path(sys.executable).with_name("windlass-update-status"))]
        argv += [f"--kubeconfig={arena.kubeconfig('windlass')}", "--health-probe-bind-address=0"]
        argv += ["--metrics-bind-address=0"]
        process = Contestant(argv, log=directory / "update-status.log")
        with process if controller else nullcontext():
            sizes = [0]
            if controller:
                await _until_written(arena.seed, workers + 3)
            requests, before = arena.requests("windlass"), _database(arena)
            pace = minutes * 60 * 2 * AT_A_TIME / workers / 5
            looks = asyncio.create_task(_look(arena.seed, sizes)) if controller else None
            await _roll(arena.seed, cluster, pace)
            await asyncio.sleep(10)
            if looks:
                looks.cancel()
            grown = (_database(arena) - before) / 1e6
            found = [one for one in requests.read() if one.is_write and one.succeeded]
            writes = sum(one.object_ref.resource == "updatestatuses" for one in found)
            records = sum(one.object_ref.resource == "updaterecords" for one in found)
            used = process.usage if controller else None
        size = statistics.mean(sizes) / 1000
        to_stderr(f"growth: {'with' if controller else 'without'} the controller")
        return {
            "controller": "yes" if controller else "no",
            "writes of the UpdateStatus": writes,
            "its size, mean, KB": size,
            "written, MB": writes * size / 1000,
            "writes of records": records,
            "etcd's file grew by, MB": grown,
            "CPU, s": used.cpu if used else 0.0,
            "peak memory, MB": used.peak if used else 0.0,
            "verdict": f"{against(writes * size / 1000, GROWTH, unit='MB')}; {against(used.peak, MEMORY, unit='MB')}"
            if used
            else "",
        }


async def _roll(api: Api, cluster: PlayedCluster, pace: float) -> None:
    """Every Node goes its way, without the pools' own counts, which nothing here reads."""
    objects, clock = Objects(api, SystemClock()), SystemClock()

    async def nothing() -> None:
        return

    async def one(node: PlayedNode, config: str, room: asyncio.Semaphore) -> None:
        async with room:
            await node.prepare(config)
            for step in (node.drain, node.reboot, node.boot, node.settle):
                await clock.sleep(pace)
                await step()
            await clock.sleep(pace)

    async with asyncio.TaskGroup() as nodes:
        for pool in cluster.layout.pools:
            room = asyncio.Semaphore(AT_A_TIME)
            for name in pool.node_names:
                node = PlayedNode(objects, pool, name, patience=3600, again=5.0, changed=nothing)
                nodes.create_task(one(node, pool.rendered(TARGET), room))


async def _look(api: Api, sizes: list[int]) -> None:
    """The size of the status, every 10 seconds."""
    sizes.clear()
    while True:
        tree = (await api.get(UpdateStatus, "cluster")).tree()
        sizes.append(len(msgspec.json.encode(tree["status"])))
        await asyncio.sleep(10)


def _database(arena: Arena) -> float:
    """Bytes of etcd's file, as the API server reports them."""
    connection = arena.plane.blocking.connection
    context = ssl.create_default_context(cafile=str(connection.ca_file))
    token = next(iter(connection.tokens.values()))
    request = urllib.request.Request(f"{connection.url}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=context) as answer:
        text = answer.read().decode()
    return max(float(one) for one in re.findall(r"^apiserver_storage_size_bytes\{[^}]*\} (\S+)$", text, re.MULTILINE))
