"""Cluster API Machines on AWS from cold until each has a synchronized mirror; then what being in sync costs.

One control plane for each round; after the last, `steady` and `scale_up` on the machines of its last run.
"""

import collections
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from bench import machines, scale_up, steady
from bench.arena import EXEMPT, RECORDED, Arena
from bench.cold import Run, cold, median, spread
from bench.contestants import IN_FLIGHT, machine_sync, raw
from bench.machines import Place, make_place, provisioned
from bench.policies import ours_in_force
from bench.recording import Recording
from bench.requests import Request
from bench.tables import Cell, Table, against
from windlass.api import mapi
from windlass.testing import crds

TARGET_RAW, TARGET_WRITES, TARGET_CPU, TARGET_PEAK = 0.88, 6, 9, 110
WINDLASS, POLICED = "windlass", "windlass, all policies"

_UPSTREAM: dict[str, Cell] = {
    "contestant": "upstream operator (Go) *",
    "wall, s": "120",
    "machines/s": 16.7,
    "writes a machine": 11.1,
    "CPU, s": 29.5,
    "peak, MB": 141.0,
}


class Contest(Protocol):
    """One run of a contestant, from cold."""

    async def __call__(self, arena: Arena, place: Place, /, *, objects: int) -> Run: ...


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """The runs from cold, contestants in turn; then steady state and scale-up in the namespaces of the last.

    Each round has a control plane of its own, and begins with another contestant: the API server gets slower with each
    run, and needs 20 GB after two rounds.
    """
    async with _arena(directory / "recorded") as arena:
        recorded = await _place(arena, RECORDED, objects=objects)
        recording = Recording.of((await _windlass(arena, recorded, objects=objects)).requests)
    contestants: dict[str, Contest] = {
        **{
            f"raw, {in_flight} in flight": partial(_raw, recording, recorded, in_flight=in_flight)
            for in_flight in IN_FLIGHT
        },
        POLICED: _policed,
        WINDLASS: _windlass,
    }
    names = [*contestants]
    runs: dict[str, list[Run]] = {name: [] for name in names}
    in_sync: list[Table] = []
    for number in range(rounds):
        async with _arena(directory / f"round-{number}") as arena:
            places: dict[str, Place] = {}
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                places[name] = await _place(arena, name.replace(", ", "-").replace(" ", "-"), objects=objects)
                runs[name].append(await contestants[name](arena, places[name], objects=objects))
            if number == rounds - 1:
                in_sync += await steady.measure(arena, places[WINDLASS], objects=objects)
                in_sync += await scale_up.measure(arena, places[WINDLASS], existing=objects)
    return [_table(runs, objects=objects, rounds=rounds), _written(runs[WINDLASS][-1]), *in_sync]


@asynccontextmanager
async def _arena(directory: Path) -> AsyncIterator[Arena]:
    async with Arena(directory) as arena:
        await arena.plane.apply_crds(*crds.documents(*crds.MACHINES))
        await machines.configure_cluster(arena.seed)
        yield arena


async def _place(arena: Arena, name: str, *, objects: int) -> Place:
    await arena.namespaces(f"{name}-mapi", f"{name}-capi")
    place = await make_place(arena.seed, machine_api=f"{name}-mapi", cluster_api=f"{name}-capi")
    await provisioned(arena.seed, place, count=objects)
    return place


async def _windlass(arena: Arena, place: Place, *, objects: int, user: str = "windlass") -> Run:
    run = await cold(arena, machine_sync(arena, place, user=user), objects=objects, completes=_completes)
    await _check(arena, place, objects=objects)
    return run


async def _policed(arena: Arena, place: Place, *, objects: int) -> Run:
    async with ours_in_force(arena, place):
        return await _windlass(arena, place, objects=objects, user=EXEMPT)


async def _raw(
    recording: Recording, recorded: Place, arena: Arena, place: Place, *, objects: int, in_flight: int
) -> Run:
    replaced = {
        recorded.machine_api: place.machine_api,
        recorded.cluster_api: place.cluster_api,
        recorded.machine_api_set_uid: place.machine_api_set_uid,
    }
    script = recording.script(arena, replaced, path=arena.directory / f"{place.machine_api}.json")
    run = await cold(arena, raw(script, in_flight=in_flight), objects=objects, completes=_completes)
    await _check(arena, place, objects=objects)
    return run


def _completes(request: Request) -> bool:
    made = request.object_ref
    return made.resource == "machines" and made.subresource == "status" and made.namespace.endswith("-mapi")


async def _check(arena: Arena, place: Place, *, objects: int) -> None:
    """Every mirror is Synchronized=True, under authority of Cluster API, and has a status."""
    listed = await arena.seed.list(mapi.Machine, namespace=place.machine_api)
    wanting = [item.name for item in listed.items if not _in_sync(item.tree())]
    if wanting or len(listed.items) != objects:
        raise RuntimeError(f"{len(listed.items)} of {objects} mirrors, not in sync: {wanting[:3]}")


def _in_sync(machine: dict[str, object]) -> bool:
    status = msgspec.convert(machine.get("status") or {}, dict[str, object])
    conditions = msgspec.convert(status.get("conditions") or [], list[dict[str, str]])
    synchronized = {one["status"] for one in conditions if one["type"] == "Synchronized"}
    full = all(status.get(field) for field in ("phase", "addresses", "providerStatus", "synchronizedGeneration"))
    return synchronized == {"True"} and status.get("authoritativeAPI") == "ClusterAPI" and full


def _table(runs: dict[str, list[Run]], *, objects: int, rounds: int) -> Table:
    best = max((name for name in runs if name.startswith("raw")), key=lambda name: median(runs[name], _rate))
    rows: list[dict[str, Cell]] = []
    for name, these in runs.items():
        rows.append(
            {
                "contestant": name,
                "wall, s": spread(these, lambda run: run.wall),
                "machines/s": median(these, _rate),
                "of raw": median(these, _rate) / median(runs[best], _rate),
                "writes a machine": median(these, _writes),
                "CPU, s": median(these, lambda run: run.cpu),
                "peak, MB": median(these, lambda run: run.peak),
                "others, cores": spread(these, lambda run: run.noise.others + run.noise.stolen),
            }
        )
    mine = runs[WINDLASS]
    ratio, cpu = median(mine, _rate) / median(runs[best], _rate), median(mine, lambda run: run.cpu)
    peak = median(mine, lambda run: run.peak)
    verdicts = [
        f"Windlass to raw {ratio:.2f} ({against(ratio, TARGET_RAW, at_least=True)}); "
        f"writes a machine {median(mine, _writes):.2f} ({against(median(mine, _writes), TARGET_WRITES)}).",
        f"CPU {cpu:.1f} s ({against(cpu, TARGET_CPU, unit='s')}); "
        f"peak memory {peak:.0f} MB ({against(peak, TARGET_PEAK, unit='MB')}).",
        "\\* OpenShift's own operator was measured elsewhere by the same protocol (2 cores, kube-apiserver 1.36, AWS, "
        "2,000 machines), and is not part of this run. It also waits for phase Running.",
    ]
    title = f"Mirror: {objects} Machines on AWS from cold, median (range) of {rounds} rounds"
    return Table(title, list(rows[0]), [*rows, _UPSTREAM], verdicts)


def _rate(run: Run) -> float:
    return run.rate


def _writes(run: Run) -> float:
    return run.writes / run.objects


def _written(run: Run) -> Table:
    counted = collections.Counter(
        request.what for request in run.requests if not request.is_of_lease and request.response_status.code
    )
    rows: list[dict[str, Cell]] = [
        {"verb": verb, "resource": resource, "code": code, "a machine": count / run.objects, "in all": count}
        for (verb, resource, code), count in counted.most_common()
    ]
    return Table("Mirror: everything Windlass asked in its last run, but its Lease", list(rows[0]), rows)
