"""Trivial custom resources from cold until all have a status: Windlass, controller-runtime, kopf, the bare protocol."""

import json
from collections.abc import Callable
from pathlib import Path

from bench import widgets
from bench.arena import RECORDED, Arena, with_hands
from bench.cold import Entry, Run, cold, median, spread
from bench.contestants import (
    IN_FLIGHT,
    raw,
    widgets_on_controller_runtime,
    widgets_on_kopf,
    widgets_on_windlass,
)
from bench.recording import Recording
from bench.requests import Request
from bench.tables import Cell, Table, against
from bench.widgets import Widget

TARGET_RAW, TARGET_KOPF = 0.9, 1.5


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """Contestants in turn, `rounds` times over, each on fresh objects."""
    async with Arena(directory) as arena:
        await arena.plane.apply_crds(widgets.CRD)
        first = await _run(arena, widgets_on_windlass, RECORDED, objects=objects)
        recording = Recording.of(first.requests)
        runs: dict[str, list[Run]] = {}
        for number in range(rounds):
            for name, entry in _entries(arena, recording).items():
                run = await _run(arena, entry, f"round-{number}-{name}", objects=objects)
                runs.setdefault(name, []).append(run)
    return [_table(runs, objects=objects, rounds=rounds)]


def _entries(arena: Arena, recording: Recording) -> dict[str, Callable[[Arena, str], Entry]]:
    def replay(in_flight: int) -> Callable[[Arena, str], Entry]:
        def entry(_: Arena, namespace: str) -> Entry:
            path = arena.directory / f"{namespace}.json"
            script = recording.script(arena, {f"/namespaces/{RECORDED}/": f"/namespaces/{namespace}/"}, path=path)
            return raw(script, in_flight=in_flight)

        return entry

    return {
        **{f"raw, {in_flight} in flight": replay(in_flight) for in_flight in IN_FLIGHT},
        "windlass": widgets_on_windlass,
        "controller-runtime": widgets_on_controller_runtime,
        "kopf, on.event": lambda arena, namespace: widgets_on_kopf(arena, namespace, way="event"),
        "kopf, on.create": lambda arena, namespace: widgets_on_kopf(arena, namespace, way="create"),
    }


async def _run(arena: Arena, entry: Callable[[Arena, str], Entry], namespace: str, *, objects: int) -> Run:
    namespace = namespace.replace(" ", "-").replace(",", "").replace(".", "-")
    await arena.namespaces(namespace)
    await with_hands(
        range(objects), lambda number: arena.seed.create(Widget, widgets.body(number), namespace=namespace)
    )
    run = await cold(arena, entry(arena, namespace), objects=objects, completes=_completes)
    listed = await arena.seed.list(Widget, namespace=namespace)
    ready = sum(item.decode().status.phase == "Ready" for item in listed.items)
    if ready != objects:
        raise RuntimeError(f"{run.name}: {ready} of {objects} Widgets have a status")
    return run


def _completes(request: Request) -> bool:
    return request.object_ref.resource == "widgets" and request.object_ref.subresource == "status"


def _table(runs: dict[str, list[Run]], *, objects: int, rounds: int) -> Table:
    raws = {name: these for name, these in runs.items() if name.startswith("raw")}
    best = min(raws, key=lambda name: median(raws[name], lambda run: run.wall))
    rates = {name: median(these, lambda run: run.rate) for name, these in runs.items()}
    rows: list[dict[str, Cell]] = []
    for name, these in runs.items():
        rows.append(
            {
                "contestant": name,
                "wall, s": spread(these, lambda run: run.wall),
                "objects/s": rates[name],
                "of raw": rates[name] / rates[best],
                "CPU, s": median(these, lambda run: run.cpu),
                "peak, MB": median(these, lambda run: run.peak),
                "writes": median(these, lambda run: run.writes),
                "others, cores": spread(these, lambda run: run.noise.others + run.noise.stolen),
            }
        )
    to_raw = rates["windlass"] / rates[best]
    to_create = rates["windlass"] / rates["kopf, on.create"]
    to_event = rates["windlass"] / rates["kopf, on.event"]
    to_go = rates["windlass"] / rates["controller-runtime"]
    verdicts = [
        f"Windlass to raw: {to_raw:.2f} ({against(to_raw, TARGET_RAW, at_least=True)}).",
        f"Windlass to controller-runtime: {to_go:.2f} ({_verdict(runs['windlass'], runs['controller-runtime'])}).",
        f"Windlass to kopf: {to_create:.2f} by on.create ({against(to_create, TARGET_KOPF, at_least=True)}), "
        f"{to_event:.2f} by on.event ({against(to_event, TARGET_KOPF, at_least=True)}).",
        f"The writes of raw alone took {_writes_alone(runs[best]):.2f} s at best; its wall, like everybody's, begins "
        "with its process.",
    ]
    title = f"Converge: {objects} trivial custom resources from cold, median (range) of {rounds} rounds"
    return Table(title, list(rows[0]), rows, verdicts)


def _verdict(mine: list[Run], theirs: list[Run]) -> str:
    if median(mine, lambda run: run.wall) <= median(theirs, lambda run: run.wall):
        return "not slower: reached"
    overlap = min(run.wall for run in mine) <= max(run.wall for run in theirs)
    return "not slower within noise: reached" if overlap else "not slower: MISSED"


def _writes_alone(runs: list[Run]) -> float:
    said = (run.log.read_text(encoding="utf-8").splitlines()[-1] for run in runs)
    return min(float(json.loads(line)["seconds"]) for line in said)
