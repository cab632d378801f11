"""Measures the first list of a large kind: how long a process takes to read it, and how long its event loop is blocked.

A blocked loop renews no Lease and answers no probe. The server is a process of its own that has its answer
ready; the contestant is a process of its own too, with a manager, one controller with three indexes that decode, and
16 workers that find nothing to do. A task that asks for a turn all the time measures what is computed between two.

    python -m bench.first_list serve 20000              prints its URL
    python -m bench.first_list follow URL 20000         prints seconds and the longest turn as JSON
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from bench.contestant import ROOT, environment
from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against
from windlass.api import capi
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.object import Object
from windlass.kube.process import logs
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process

TARGET = 50.0
"""Milliseconds that may be computed without giving the loop back."""
VERSION = "1000000"
TURN = "longest turn, ms of CPU"


def machine(number: int) -> bytes:
    """A Machine of 3 KB."""
    metadata = {
        "name": f"machine-{number}",
        "namespace": "openshift-cluster-api",
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "resourceVersion": str(number + 1),
        "generation": 2,
        "creationTimestamp": "2026-05-01T12:00:00Z",
        "labels": {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/set-name": f"set-{number % 200}"},
        "annotations": {f"example.com/annotation-{each}": "x" * 100 for each in range(8)},
        "finalizers": ["machine.cluster.x-k8s.io"],
        "ownerReferences": [
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "MachineSet",
                "name": f"set-{number % 200}",
                "uid": f"set-{number % 200}",
                "controller": True,
            }
        ],
    }
    spec = {
        "clusterName": "prod",
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "AWSMachine",
            "name": f"machine-{number}",
        },
        "providerID": f"aws:///eu-central-1a/i-{number:017x}",
    }
    ready = {"status": "True", "lastTransitionTime": "2026-05-01T12:00:00Z", "message": "x" * 80}
    conditions = [{"type": f"Condition{each}", "reason": "AllIsWell", **ready} for each in range(8)]
    head = {"apiVersion": capi.Machine.RESOURCE.api_version, "kind": "Machine"}
    return json.dumps({**head, "metadata": metadata, "spec": spec, "status": {"conditions": conditions}}).encode()


async def serve(count: int) -> None:
    """Answer streaming lists until killed."""
    end = {"resourceVersion": VERSION, "annotations": {"k8s.io/initial-events-end": "true"}}
    bookmark = json.dumps({"type": "BOOKMARK", "object": {"kind": "Machine", "metadata": end}}).encode()
    lines = [b'{"type":"ADDED","object":' + machine(number) + b"}\n" for number in range(count)]
    body = b"".join([*lines, bookmark, b"\n"])

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if request.query.get("sendInitialEvents") == "true":
            await response.write(body)
        await asyncio.Event().wait()
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


def by_cluster(found: Object[Any]) -> Iterable[str]:
    return (found.decode().spec.cluster_name,)


def by_infra_machine(found: Object[Any]) -> Iterable[str]:
    return (found.decode().spec.infrastructure_ref.name,)


def by_owner(found: Object[Any]) -> Iterable[str]:
    return [owner.name for owner in found.metadata.owner_references]


async def follow(url: str, count: int) -> dict[str, float]:
    """Seconds until all is taken in, and until all was looked at, and the longest turn until then."""
    looked: set[str] = set()

    async def observe(key: str, last: Outcome) -> str:
        looked.add(key)
        return key

    def decide(snapshot: str, *, now: datetime) -> Plan:
        return Plan.nothing()

    indexes = {"cluster": by_cluster, "infra": by_infra_machine, "owner": by_owner}
    watch: Watch[str] = Watch(capi.Machine, lambda found: [found.name], indexes=indexes)
    controller = Controller(name="bench", watches=(watch,), observe=observe, decide=decide, workers=16)
    worst = 0.0

    async def be_impatient() -> None:
        nonlocal worst
        while True:
            asked = time.process_time()
            await asyncio.sleep(0.001)
            worst = max(worst, time.process_time() - asked)

    logs.configure(level="warning")
    async with Process() as process, Client(ClusterConfig(server=url)) as client, Manager(client) as manager:
        process.add(manager)
        impatient = asyncio.create_task(be_impatient())
        running = asyncio.create_task(process.run())
        began = time.perf_counter()
        await manager.start(controller)
        await manager.synced()
        taken_in = time.perf_counter() - began
        while len(looked) < count:  # noqa: ASYNC110 - an event would have to be set by what is measured
            await asyncio.sleep(0.005)
        looked_at = time.perf_counter() - began
        await asyncio.sleep(0.005)  # the last turn is noticed when it is over
        impatient.cancel()
        process.shut_down()
        await running
    return {"taken in, s": taken_in, "looked at, s": looked_at, "CPU, s": time.process_time(), TURN: worst * 1000}


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """The same list again and again, by a new process each time."""
    meter = NoiseMeter()
    runs = _runs(objects, rounds)
    noise = meter.read()
    row: dict[str, Cell] = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    row["verdict"] = against(statistics.median(run[TURN] for run in runs), TARGET, unit="ms")
    notes = [
        f"Medians of {rounds} runs. A turn is counted in CPU time, which others' load does not stretch.",
        f"Others used {noise.others + noise.stolen:.2f} cores meanwhile.",
    ]
    return [Table(f"First list of {objects:,} Machines of 3 KB, three indexes", list(row), [row], notes)]


def _runs(objects: int, rounds: int) -> list[dict[str, float]]:
    argv = [sys.executable, "-m", "bench.first_list"]
    how: dict[str, Any] = {"cwd": ROOT, "env": environment(), "text": True}
    with subprocess.Popen([*argv, "serve", str(objects)], stdout=subprocess.PIPE, **how) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            follow = [*argv, "follow", url, str(objects)]
            done = [subprocess.run(follow, check=True, capture_output=True, **how) for _ in range(rounds)]
        finally:
            server.kill()
    return [json.loads(each.stdout.splitlines()[-1]) for each in done]


def main() -> None:
    role, *rest = sys.argv[1:]
    if role == "serve":
        asyncio.run(serve(int(rest[0])))
    else:
        print(json.dumps(asyncio.run(follow(rest[0], int(rest[1])))))


if __name__ == "__main__":
    main()
