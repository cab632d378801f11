"""Measures how late insights of informers stand in the UpdateStatus, alone and beside informers of all hostile kinds.

An update is played meanwhile. `bench.informer_crowd` serves the informers: the good ones with `windlass.informer`, so
that the API server reviews each token.
"""

import asyncio
import base64
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from bench.arena import Arena
from bench.contestant import Contestant
from bench.informer_crowd import KINDS, NAMESPACE, Place
from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against
from bench.updates import OPERATORS, _played
from windlass.api.core import Namespace, Service, ServiceAccount
from windlass.api.update import UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.kube.errors import NotFound
from windlass.kube.verbs import Api
from windlass.testing import crds
from windlass.testing.binaries import to_stderr
from windlass.testing.updates import PlayedCluster
from windlass.update_status.installation import NAME, installation
from windlass.update_status.reading.kept import HOME

INTERVAL = 10
"""Seconds between two questions: the least that may be asked for."""
ALLOWED = 1.0
"""Seconds over the interval: the target."""
SECONDS = 180
WORKERS = 6
"""Few: a larger object is written more slowly for all informers (see the table of updates)."""
LOOK = 0.1
"""Seconds between two looks at the object: figures are too large by as much."""
CONTROLLER = [sys.executable, "-m", "tests.api.update_status.nearby"]
"""`windlass-update-status` that finds every Service on this machine."""


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: informers in all."""
    meter = NoiseMeter()
    good = objects - len(KINDS)
    rows = [
        await _round(directory / "alone", good, hostile=False),
        await _round(directory / "beside", good, hostile=True),
    ]
    noise = meter.read()
    notes = [
        f"Hostile: {', '.join(KINDS)}.",
        f"Late: seconds from the change of an insight to the object, over the interval of {INTERVAL} s.",
        "An operator: seconds from its end of the update to the object, which tells how slowly the object is written.",
        f"Others used {noise.others + noise.stolen:.2f} cores meanwhile.",
    ]
    return [Table(f"{objects} informers for {SECONDS} s of an update", list(rows[0]), rows, notes)]


async def _round(directory: Path, good: int, *, hostile: bool) -> dict[str, Cell]:
    async with Arena(directory) as arena, AsyncExitStack() as stack:
        ours = [owned.manifest() for owned in installation().owned]
        await arena.plane.apply_crds(*crds.documents(*crds.UPDATES), *ours)
        for name in (HOME, NAMESPACE):
            await arena.seed.create(Namespace, {"metadata": {"name": name}})
        await arena.seed.create(ServiceAccount, {"metadata": {"name": f"windlass-{NAME}"}}, namespace=HOME)
        cluster = await _played(arena.seed, WORKERS)
        folder = directory / "crowd"
        folder.mkdir()
        for kind, count in (("good", good), *((("hostile", 0),) if hostile else ())):
            argv = [sys.executable, "-m", "bench.informer_crowd", kind, str(count), f"--into={folder}"]
            argv += [f"--kubeconfig={arena.kubeconfig('seed')}"]
            crowd = stack.enter_context(Contestant(argv, log=directory / f"{kind}.log"))
            for name, place in (await _places(folder / f"{kind}.json", crowd)).items():
                await _register(arena.seed, name, place)
        argv = [*CONTROLLER, f"--kubeconfig={arena.kubeconfig('windlass')}", "--informers"]
        argv += ["--health-probe-bind-address=0", "--metrics-bind-address=0"]
        process = stack.enter_context(Contestant(argv, log=directory / "update-status.log"))
        await _until_all_told(arena.seed, good, process)
        requests = arena.requests("windlass")
        cpu, began = process.usage.cpu, time.time()
        seen, finished = await _watched(arena.seed, cluster)
        share, peak = (process.usage.cpu - cpu) / SECONDS, process.usage.peak
        writes = [one for one in requests.read() if one.is_write and not one.is_of_lease]
        changes = _changes(folder / "changes", since=began)
        late = [each - INTERVAL for each in _lags(changes, seen)]
        own = list(_lags(finished, seen))
    to_stderr(f"informers: {'beside hostile ones' if hostile else 'alone'}, {len(late)} changes")
    worst = max(late)
    return {
        "informers": f"{good} good, {len(KINDS) if hostile else 0} hostile",
        "changes": len(late),
        "late, median, s": statistics.median(late),
        "late, worst, s": worst,
        "verdict": against(worst, ALLOWED, unit="s"),
        "an operator, worst, s": max(own),
        "CPU, % of a core": 100 * share,
        "peak, MB": peak,
        "writes of the object": sum(one.object_ref.resource == "updatestatuses" for one in writes),
        "of informers": sum(one.object_ref.resource == "updateinformers" for one in writes),
        "other writes": sum(one.object_ref.resource not in ("updatestatuses", "updateinformers") for one in writes),
    }


async def _places(file: Path, crowd: Contestant) -> dict[str, Place]:
    async with asyncio.timeout(60):
        while not (text := _content(file)):
            if crowd.ended:
                raise RuntimeError(crowd.last_words())
            await asyncio.sleep(0.1)
    return msgspec.json.decode(text, type=dict[str, Place])


def _content(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


async def _register(api: Api, name: str, place: Place) -> None:
    ports = {"ports": [{"port": place.port, "protocol": "TCP"}], "selector": {"app": name}}
    await api.create(Service, {"metadata": {"name": name}, "spec": ports}, namespace=NAMESPACE)
    bundle = base64.b64encode(place.authority.encode()).decode()
    client = {"service": {"namespace": NAMESPACE, "name": name, "port": place.port}, "caBundle": bundle}
    spec = {"enabled": True, "intervalSeconds": INTERVAL, "timeoutSeconds": 10, "clientConfig": client}
    await api.create(UpdateInformer, {"metadata": {"name": name}, "spec": spec})


async def _told(api: Api) -> dict[str, int]:
    """By the object: the number of the insight of each good informer, and 1 for each operator that is updated."""
    try:
        status: Any = (await api.get(UpdateStatus, "cluster")).decode().status
    except NotFound:
        return {}
    found = {}
    for informer in status.control_plane.informers if status.control_plane else ():
        for entry in informer.insights:
            if informer.name.startswith("good-"):
                found[informer.name] = int(entry.uid.rpartition("-")[2])
            elif entry.insight.cluster_operator and _is_updated(entry.insight.cluster_operator):
                found[entry.insight.cluster_operator.name] = 1
    return found


def _is_updated(operator: Any) -> bool:
    return any(one.type == "Updating" and one.reason == "Updated" for one in operator.conditions)


async def _until_all_told(api: Api, good: int, process: Contestant) -> None:
    async with asyncio.timeout(120):
        while sum(name.startswith("good-") for name in await _told(api)) < good:
            if process.ended:
                raise RuntimeError(process.last_words())
            await asyncio.sleep(0.5)


Sight = tuple[float, dict[str, int]]
"""When the object was read, and what `_told` found."""
Change = tuple[str, int, float]
"""A name, the number that it has from then on, and the time."""


async def _watched(api: Api, cluster: PlayedCluster) -> tuple[list[Sight], list[Change]]:
    """What the object says for `SECONDS`, and when operators were updated meanwhile."""
    found: list[Sight] = []
    finished: list[Change] = []
    end = time.time() + SECONDS

    async def play() -> None:
        for name in OPERATORS:
            await cluster.cvo.progress(name)
            await asyncio.sleep(2)
            await cluster.cvo.finish(name)
            finished.append((name, 1, time.time()))
            await asyncio.sleep(2)

    playing = asyncio.create_task(play())
    while time.time() < end:
        now = await _told(api)
        if not found or now != found[-1][1]:
            found.append((time.time(), now))
        await asyncio.sleep(LOOK)
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    return found, finished


def _changes(file: Path, *, since: float) -> Iterator[Change]:
    for line in file.read_text(encoding="utf-8").splitlines():
        name, number, changed = line.split()
        if float(changed) >= since:
            yield name, int(number), float(changed)


def _lags(changes: Iterable[Change], seen: list[Sight]) -> Iterator[float]:
    """Seconds from each change until the object had its number, or a later one; not of the last, which had no time."""
    for name, number, changed in changes:
        when = next((at for at, now in seen if now.get(name, -1) >= number), None)
        if changed <= seen[-1][0] - 2 * INTERVAL:
            yield float("inf") if when is None else when - changed
