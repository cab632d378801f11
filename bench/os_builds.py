"""Measures OS builds: from the opt-in to the pullspec, beside the same buildah in a shell loop; and what that costs.

Both build images of the same rendered MachineConfigs in stores that have the base image already, and push them to the
same registry, in turn. Times of Windlass are those of the audit log.
"""

import asyncio
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench import os_build_inputs
from bench.machine import NoiseMeter
from bench.os_build_place import ADMIN, REPOSITORY, USER, Place, Starts, until
from bench.requests import Request, RequestLog
from bench.tables import Cell, Table, against
from windlass.os_build.demo.scene import processes
from windlass.os_build.pool.conditions import FAILED, SUCCESS
from windlass.testing.registry.front import Asked

SLOTS = 4
ROUNDS = 3
CHANGES = 10
BUILT, LARGE, LARGE_BYTES = 50, 200, 1_500_000
REST_SECONDS = 30.0
_SLOW = "sleep 60"
Row = dict[str, Cell]


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: the pools that are built one by one, and again as many at a time. All of it is done once."""
    return await asyncio.to_thread(_measure, directory, objects)


def _measure(directory: Path, count: int) -> list[Table]:
    directory.mkdir(parents=True, exist_ok=True)
    with Place.open(directory) as place:
        names = [f"pool-{number}" for number in range(max(BUILT, (1 + ROUNDS) * count + SLOTS + 2))]
        place.add(*names)
        left = iter(names)
        rows = [*_one_by_one(place, [next(left) for _ in range(count + 1)])]
        rows += _at_a_time(place, [next(left) for _ in range(ROUNDS * count + SLOTS)])
        rows += _changes(place, next(left))
        with place.at_work("others"):
            place.opt_in(*left)
            until(lambda: place.built(*names))
        rows += _restart(place, len(names))
        rows += _refused(place)
    notes = (
        "raw: buildah's build and push in a shell loop, for the same pools, in the same run",
        "writes: of all objects, Events included, but for the Lease",
    )
    return [Table("OS builds on this machine", [*rows[0]], rows, notes), *os_build_inputs.tables()]


def _row(what: str, figure: Cell, wanted: str, noise: NoiseMeter, *, raw: Cell = None) -> Row:
    return {"what": what, "figure": figure, "raw": raw, "wanted": wanted, "others, cores": noise.read().others}


def _one_by_one(place: Place, pools: Sequence[str]) -> Iterator[Row]:
    """Each pool by buildah alone, then by Windlass; the first of them warms both up."""
    first, *rest = pools
    raw, ours, starts, writes, asked = [], [], [], [], list[Asked]()
    noise = NoiseMeter()
    with place.at_work("one", "--local-slots=1"), Starts(place.builds("one")) as folders:
        place.raw([first])
        place.opt_in(first)
        until(lambda: place.built(first))
        for pool in rest:
            # The store is tidied after a build, which must not slow the loop down.
            until(lambda: not processes(place.builds("one").parent))
            raw.append(place.raw([pool]))
            admin, windlass = place.log(ADMIN), place.log(USER)
            place.registry.forget_requests()
            place.opt_in(pool)
            until(lambda pool=pool: place.says(pool, SUCCESS) != "")  # type: ignore[misc]
            # The Event comes last.
            time.sleep(0.5)
            began, requests = _opted_in(admin, pool), [*windlass.read()]
            ours.append(_last(requests, pool, "") - began)
            starts += [came - began for name, came in folders.came.items() if f"-{pool}-" in name]
            writes.append(_writes(requests))
            asked += place.registry.requests()
        place.registry.forget_requests()
        time.sleep(REST_SECONDS)
        at_rest = len(place.registry.requests())
    bare, mine, slowest, most = statistics.median(raw), statistics.median(ours), max(starts), max(writes)
    own, of_all = sum(each.user_agent == "windlass" for each in asked) / len(rest), len(asked) / len(rest)
    wanted = against(mine, round(bare + 0.5, 2), unit="s")
    yield _row(f"opt-in to pullspec, s, median of {len(rest)}", mine, wanted, noise, raw=bare)
    yield _row(f"opt-in to buildah, s, slowest of {len(rest)}", slowest, against(slowest, 1.0, unit="s"), noise)
    yield _row("writes a success, most", most, against(most, 5), noise)
    yield _row("requests to the registry a build, ours", own, against(own, 8), noise)
    yield _row("requests to the registry a build, buildah's included", of_all, "", noise)
    yield _row(f"requests to the registry in {REST_SECONDS:.0f} s at rest", at_rest, against(at_rest, 0), noise)


def _at_a_time(place: Place, pools: Sequence[str]) -> Iterator[Row]:
    """All at once, in turn with the loops, after as many as there are slots have warmed both up."""
    warm, rest = pools[:SLOTS], pools[SLOTS:]
    turns = [rest[number::ROUNDS] for number in range(ROUNDS)]
    raw, ours = [], []
    noise = NoiseMeter()
    with place.at_work("four", f"--local-slots={SLOTS}"):
        place.opt_in(*warm)
        until(lambda: place.built(*warm))
        before = _images(place)
        for number, turn in enumerate(turns):
            stores = f"raw-{number}"
            place.raw(*([pool] for pool in warm), stores=stores)
            # The stores are tidied after the last build, which must not slow the loops down.
            until(lambda: not processes(place.builds("four").parent))
            raw.append(place.raw(*(turn[slot::SLOTS] for slot in range(SLOTS)), stores=stores))
            admin, windlass = place.log(ADMIN), place.log(USER)
            place.opt_in(*turn)
            # Seldom: each look lists all pools, and the API server is on the same cores.
            until(lambda turn=turn: place.built(*turn), pace=1.0)  # type: ignore[misc]
            requests = [*windlass.read()]
            ours.append(max(_last(requests, pool, "") for pool in turn) - _opted_in(admin, turn[0]))
    seconds, bare = statistics.median(ours), statistics.median(raw)
    wanted = f"{against(seconds, round(1.15 * bare, 1), unit='s')}; {_images(place) - before} builds"
    what = f"{len(turns[0])} pools, {SLOTS} at a time, s, median of {ROUNDS}"
    yield _row(what, seconds, wanted, noise, raw=bare)


def _changes(place: Place, pool: str) -> Iterator[Row]:
    """The Containerfile changes while an image builds."""
    noise = NoiseMeter()
    place.write_containerfile(pool, f"RUN {_SLOW}")
    with place.at_work("changes", "--debounce=5s"), Starts(place.builds("changes")) as folders:
        place.opt_in(pool)
        until(lambda: any(_SLOW in command for command in processes(place.builds("changes")).values()))
        (superseded,) = folders.came
        before, began = _images(place), time.time()
        for number in range(CHANGES):
            place.write_containerfile(pool, f"RUN echo {number} > /etc/number")
            time.sleep(0.2)
        until(lambda: place.built(pool) and superseded in folders.went)
        gone, images = folders.went[superseded] - began, _images(place) - before
    wanted = f"{against(gone, 3.0, unit='s')}; {images} more image"
    yield _row(f"{CHANGES} changes in a build: superseded builder gone, s", gone, wanted, noise)


def _restart(place: Place, count: int) -> Iterator[Row]:
    """A process that finds all pools built; then large MachineConfigs are made, which it does not watch."""
    noise, requests, images, began = NoiseMeter(), place.log(USER), _images(place), time.monotonic()
    with place.at_work("restart") as process:
        ready = time.monotonic() - began
        time.sleep(REST_SECONDS)
        made, memory = [*requests.read()], process.usage.peak
        reads = sum(each.object_ref.resource == "machineconfigs" for each in made)
        idle = f"{_writes(made)} writes, {_images(place) - images} builds, {reads} reads of MachineConfigs"
        wanted = f"{against(ready, 3.0, unit='s')}; {idle}"
        yield _row(f"restart with {count} built pools: ready, s", ready, wanted, noise)
        yield _row(f"memory with {count} built pools, MB", memory, against(memory, 90.0, unit="MB"), noise)
        noise, spec = NoiseMeter(), os_build_inputs.machine_config(LARGE_BYTES)
        for number in range(LARGE):
            place.add_config(f"rendered-large-{number}", spec)
        time.sleep(REST_SECONDS / 3)
        more = process.usage.peak - memory
    what = f"more with {LARGE} MachineConfigs of {LARGE_BYTES / 1e6:g} MB, MB"
    yield _row(what, more, against(more, 5.0, unit="MB"), noise)


def _refused(place: Place) -> Iterator[Row]:
    """A pool whose push Secret the registry does not take."""
    noise = NoiseMeter()
    place.add("refused")
    place.configure(password="wrong")
    with place.at_work("refused"), Starts(place.builds("refused")) as folders:
        admin, windlass = place.log(ADMIN), place.log(USER)
        place.opt_in("refused")
        until(lambda: place.says("refused", FAILED) == "PushDenied")
        seconds = _last(windlass.read(), "refused", "status") - _opted_in(admin, "refused")
        time.sleep(5.0)
        builders = len(folders.came)
    wanted = f"{against(seconds, 1.0, unit='s')}; {builders} builders"
    yield _row("bad push Secret: opt-in to the reason, s", seconds, wanted, noise)


def _images(place: Place) -> int:
    """How many images there are that the shell loops have not pushed."""
    return sum(not tag.startswith("raw-") for tag in place.registry.images.tags(REPOSITORY))


def _writes(requests: Iterable[Request]) -> int:
    return sum(each.is_write and not each.is_of_lease for each in requests)


def _opted_in(log: RequestLog, pool: str) -> float:
    """When the API server was asked to opt the pool in."""
    return next(each.received.timestamp() for each in log.read() if each.is_write and _is_of(each, pool, ""))


def _last(requests: Iterable[Request], pool: str, subresource: str) -> float:
    """When the last write of the pool was answered."""
    return max(each.answered.timestamp() for each in requests if each.is_write and _is_of(each, pool, subresource))


def _is_of(request: Request, pool: str, subresource: str) -> bool:
    of = request.object_ref
    return (of.resource, of.name, of.subresource) == ("machineconfigpools", pool, subresource)
