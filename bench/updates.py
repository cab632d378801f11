"""Measures `windlass status` from files, and the controller of updates: its decision, its rest, and how far it lags.

The cluster is played (`windlass.testing.updates`): 33 operators, 3 masters, and workers in two pools, in the middle of
an update. Its Nodes have 50 images each, as on a cluster, so that they weigh what real ones do.
"""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.arena import Arena
from bench.contestant import ROOT, Contestant, environment
from bench.machine import NoiseMeter, usage
from bench.tables import Cell, Table, against
from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Namespace, Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.meta import KubernetesObject
from windlass.api.update import UpdateStatus
from windlass.capability.documents.yaml_dialect import dump_all
from windlass.kube.control.population import Population
from windlass.kube.control.question import Answers
from windlass.kube.control.seen import Present, seen
from windlass.kube.errors import NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import Api, PatchType
from windlass.model import MemoryApi
from windlass.testing import crds
from windlass.testing.binaries import to_stderr
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.update_status.assessment import assess
from windlass.update_status.controller.alerts import Answer as NoAlerts
from windlass.update_status.controller.alerts import FiringAlerts
from windlass.update_status.controller.decide import decide
from windlass.update_status.controller.snapshot import UpdateStatusSnapshot
from windlass.update_status.document import NothingWritten, Settled, read, write
from windlass.update_status.installation import installation
from windlass.update_status.reading.building import releases_of
from windlass.update_status.reading.kept import HOME
from windlass.update_status.report import Node as ReportedNode
from windlass.update_status.sources import Sources
from windlass.update_status.times import of_datetime

OPERATORS = ("machine-config", *(f"operator-{number}" for number in range(32)))
FILES: dict[str, type[KubernetesObject]] = {
    "cv": ClusterVersion,
    "co": ClusterOperator,
    "mcp": MachineConfigPool,
    "mc": MachineConfig,
    "node": Node,
}
MODEL: tuple[type[KubernetesObject], ...] = (*FILES.values(), MachineConfigNode, Deployment, Namespace)
LARGE = 845_000
"""Bytes of a file of MachineConfigs as some clusters have them."""
REPEATS = 11
LAG = {100: 1.5, 500: 6.0, 1000: 12.0}
"""Seconds from the change of a Node to the object, by number of Nodes: targets."""
HEARTBEATS, SECONDS = 50, 30
TARGET = "4.16.1"


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """The sizes of the other benchmarks mean nothing here."""
    meter = NoiseMeter()
    found = [await _files(directory), await _decisions()]
    rows: list[dict[str, Cell]] = []
    for nodes in LAG:
        rows += await _controller(directory / str(nodes), nodes)
    noise = meter.read()
    notes = [f"Others used {noise.others + noise.stolen:.2f} cores meanwhile."]
    return [*found, Table("windlass run update-status", list(rows[0]), rows, notes)]


async def _played(api: Api, nodes: int) -> PlayedCluster:
    """A cluster that has begun an update."""
    pools = (
        Pool(name="master", nodes=3),
        Pool(name="worker", nodes=nodes // 2),
        Pool(name="infra", nodes=nodes - nodes // 2),
    )
    cluster = PlayedCluster(api, Layout(operators=OPERATORS, pools=pools), pace=0.0)
    await cluster.install()
    images = [{"names": [f"quay.io/openshift/{number}@sha256:{number:064}"], "sizeBytes": 1} for number in range(50)]
    for node in (await api.list(Node)).items:
        body = {"status": {"images": images}}
        await api.patch(Node, node.name, body, type=PatchType.MERGE, subresource="status")
    await cluster.cvo.start(TARGET)
    await cluster.mco.render(TARGET)
    return cluster


async def _files(directory: Path) -> Table:
    api = MemoryApi(*MODEL)
    await _played(api, 6)
    return _timed(directory, {name: [found.tree() for found in api.listing(kind)] for name, kind in FILES.items()})


def _timed(directory: Path, objects: dict[str, list[dict[str, Any]]]) -> Table:
    directory.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Cell]] = []
    for case, seconds in (("small", 0.30), ("large", 0.40)):
        if case == "large":
            objects["mc"][0]["spec"] = {"config": {"text": "y" * LARGE}}
        for name, trees in objects.items():
            text = dump_all([{"apiVersion": "v1", "kind": "List", "items": trees}])
            (directory / f"{case}-{name}.yaml").write_text(text, encoding="utf-8")
        size = sum(file.stat().st_size for file in directory.glob(f"{case}-*"))
        taken = [_status(directory / f"{case}-cv.yaml") for _ in range(REPEATS)]
        middle = statistics.median(taken)
        rows.append(
            {
                "files": f"{size / 1000:.0f} KB",
                "median, s": middle,
                "best, s": min(taken),
                "peak, MB": _peak(directory / f"{case}-cv.yaml"),
                "verdict": against(middle, seconds, unit="s"),
            }
        )
    return Table(f"windlass status of 33 operators and 9 nodes from files, {REPEATS} times", list(rows[0]), rows)


def _status(file: Path) -> float:
    """Seconds."""
    began = time.perf_counter()
    subprocess.run(_argv(file), cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _peak(file: Path) -> float:
    """Megabytes of memory at most, looked at every few milliseconds of a run of its own."""
    peak = 0.0
    with subprocess.Popen(_argv(file), cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with suppress(OSError, StopIteration):
                peak = max(peak, usage(process.pid).peak)
            time.sleep(0.002)
    return peak


def _argv(file: Path) -> list[str]:
    return [str(Path(sys.executable).with_name("windlass")), "status", f"--mock-clusterversion={file}"]


async def _decisions() -> Table:
    """In this process, on decoded objects; CPU time, since others use the cores too."""
    api = MemoryApi(*MODEL)
    await _played(api, 497)

    def all_of(kind: type[KubernetesObject]) -> tuple[Any, ...]:
        return tuple(found.decode() for found in api.listing(kind))

    sources = Sources(
        cluster_version=all_of(ClusterVersion)[0],
        operators=all_of(ClusterOperator),
        pools=all_of(MachineConfigPool),
        nodes=all_of(Node),
        versions=releases_of(all_of(MachineConfig)),
        operator_image="",
        progress={one.metadata.name: one for one in all_of(MachineConfigNode)},
    )
    now = datetime.now(UTC)
    cold = [_cpu(lambda: assess(sources, now=of_datetime(now))) for _ in range(REPEATS)]
    status = write(assess(sources, now=of_datetime(now)), now=of_datetime(now))
    envelope = {"apiVersion": UpdateStatus.RESOURCE.api_version, "kind": "UpdateStatus", "spec": {}}
    metadata = {"name": "cluster", "uid": "u", "resourceVersion": "1"}
    tree = {**envelope, "metadata": metadata, "status": msgspec.to_builtins(status)}
    stored = seen(Object.of(UpdateStatus, tree))
    assert isinstance(stored, Present)
    assert stored.tree
    taken, settled = [], Settled()
    answers = Answers.of({FiringAlerts(): NoAlerts()}, at=now)
    gc.collect()
    gc.freeze()  # as the process of a controller does (`windlass.kube.process`), with its thresholds
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    for number in range(200):
        nodes = list(sources.nodes) if isinstance(sources.nodes, tuple) else []
        spec = msgspec.structs.replace(nodes[number].spec, unschedulable=True)
        nodes[number] = msgspec.structs.replace(nodes[number], spec=spec)
        changed = msgspec.structs.replace(sources, nodes=tuple(nodes))
        found = UpdateStatusSnapshot(
            stored=stored, records=Population(()), sources=changed, settled=settled, answers=answers
        )
        taken.append(_cpu(partial(decide, found, now=now)))
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    p99 = statistics.quantiles(taken, n=100)[-1]
    rows: list[dict[str, Cell]] = [
        {"what": "assess", "median, ms": statistics.median(cold), "verdict": against(max(cold), 10, unit="ms")},
        {
            "what": "decide, one changed",
            "median, ms": statistics.median(taken),
            "p99, ms": p99,
            "verdict": against(p99, 5, unit="ms"),
        },
    ]
    note = f"The status has {len(msgspec.json.encode(status)) / 1000:.0f} KB."
    return Table("33 operators and 500 nodes: CPU of one decision", list(rows[1]), rows, [note])


def _cpu(work: Any) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


async def _controller(directory: Path, nodes: int) -> list[dict[str, Cell]]:
    async with Arena(directory) as arena:
        ours = [owned.manifest() for owned in installation().owned]
        await arena.plane.apply_crds(*crds.documents(*crds.UPDATES), *ours)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
        await arena.seed.create(Namespace, body)
        await _played(arena.seed, nodes - 3)
        argv = [str(Path(sys.executable).with_name("windlass-update-status"))]
        argv += [f"--kubeconfig={arena.kubeconfig('windlass')}", "--health-probe-bind-address=0"]
        argv += ["--metrics-bind-address=0"]
        with Contestant(argv, log=directory / "update-status.log") as process:
            await _until_written(arena.seed, nodes)
            await asyncio.sleep(10)
            lags = await _lags(arena.seed)
            await asyncio.sleep(10)
            version, cpu = await _version(arena.seed), process.usage.cpu
            writes = await _heartbeats(arena.seed)
            moved = await _version(arena.seed) != version
            share, peak = (process.usage.cpu - cpu) / SECONDS, process.usage.peak
        to_stderr(f"updates: {nodes} nodes")
        middle, slowest, percent = statistics.median(lags), max(lags), 100 * share

        def row(what: str, figure: Cell, verdict: str = "") -> dict[str, Cell]:
            return {"nodes": nodes, "what": what, "figure": figure, "verdict": verdict}

        return [
            row("from the change of a Node to the object: median of 20, s", middle),
            row("the slowest, s", slowest, against(slowest, LAG[nodes], unit="s")),
            row(f"has the object changed after {writes} heartbeats?", str(moved), "False wanted"),
            row("CPU meanwhile, % of a core", percent, against(percent, 3, unit="%")),
            row("peak memory, MB", peak, against(peak, 120, unit="MB")),
        ]


async def _version(api: Api) -> str:
    return (await api.get(UpdateStatus, "cluster")).resource_version


async def _nodes_written(api: Api) -> dict[str, ReportedNode]:
    status = (await api.get(UpdateStatus, "cluster")).decode().status
    try:
        return {node.name: node for pool in read(status, now=0).pools for node in pool.nodes}
    except NothingWritten:
        return {}


async def _until_written(api: Api, nodes: int) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                if len(await _nodes_written(api)) == nodes:
                    return
            except NotFound:
                pass
            await asyncio.sleep(0.5)


async def _lags(api: Api) -> list[float]:
    """Seconds until each of 20 changes, one after the other, can be read."""
    found = []
    for number in range(20):
        name = f"worker-{number}"
        await api.patch(Node, name, {"spec": {"unschedulable": True}}, type=PatchType.MERGE)
        began = time.perf_counter()
        while (await _nodes_written(api))[name].message != "Node is marked unschedulable":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        found.append(time.perf_counter() - began)
    return found


async def _heartbeats(api: Api) -> int:
    """Write Node statuses as kubelets do, so many a second; returns how many."""
    conditions = {found.name: found.tree()["status"]["conditions"] for found in (await api.list(Node)).items}
    names = list(conditions)
    began, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < SECONDS:
        due = int(passed * HEARTBEATS)
        while sent < due:
            beat = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            name = names[sent % len(names)]
            body = {"status": {"conditions": [{**one, "lastHeartbeatTime": beat} for one in conditions[name]]}}
            await api.patch(Node, name, body, type=PatchType.MERGE, subresource="status")
            sent += 1
        await asyncio.sleep(0.01)
    return sent
