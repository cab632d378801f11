"""Measures OS builds: from the opt-in to the pullspec, beside the same buildah in a shell loop; and what that costs.

Both build images of the same rendered MachineConfigs in stores that have the base image already, and push them to the
same registry, in turn. Times of Windlass are those of the audit log.
"""

import asyncio
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import os_build_inputs
from bench.machine import NoiseMeter
from bench.os_build_place import ADMIN, REPOSITORY, USER, Place, Starts, until
from bench.requests import Request, RequestLog
from bench.tables import Cell, Table, against
from windlass.os_build.pool.conditions import BUILDING, FAILED
from windlass.testing.registry.front import Asked

SLOTS = 4
CHANGES = 10
BUILT, LARGE, LARGE_BYTES = 12, 4, 1_500_000
REST_SECONDS = 5.0
_SLOW = "RUN sleep 60"
Row = dict[str, Cell]


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: the pools that are built one by one, and again as many at a time."""
    return await asyncio.to_thread(_measure, directory, objects)


def _measure(directory: Path, count: int) -> list[Table]:
    directory.mkdir(parents=True, exist_ok=True)
    with Place.open(directory) as place:
        names = [f"pool-{number}" for number in range(max(BUILT, 2 * count + SLOTS + 2))]
        place.add(*names)
        left = iter(names)
        rows = [*_one_by_one(place, [next(left) for _ in range(count + 1)])]
        rows += _at_a_time(place, [next(left) for _ in range(count + SLOTS)])
        rows += _changes(place, next(left))
        with place.at_work("rest"):
            others = [*left]
            place.opt_in(*others)
            until(lambda: place.built(*names))
        rows += _restart(place, len(names))
        rows += _refused(place)
    notes = (
        "raw: buildah and the push in a shell loop, on the same pools, in the same run",
        "others: cores that processes beside the benchmark used meanwhile",
        "writes: of all objects, Events included, but those of the Lease",
    )
    columns = ["what", "figure", "raw", "wanted", "others, cores"]
    return [Table("OS builds on this machine", columns, rows, notes), *os_build_inputs.tables()]


def _one_by_one(place: Place, pools: Sequence[str]) -> Iterable[Row]:
    """Each pool by buildah alone, then by Windlass; the first of them warms both up."""
    first, *rest = pools
    raw, ours, starts, writes, asked = [], [], [], [], list[Asked]()
    noise = NoiseMeter()
    with place.at_work("one", "--local-slots=1"), Starts(place.builds("one")) as folders:
        place.raw([first])
        place.opt_in(first)
        until(lambda: place.built(first))
        for pool in rest:
            raw.append(place.raw([pool]))
            admin, windlass = place.log(ADMIN), place.log(USER)
            place.registry.forget_requests()
            place.opt_in(pool)
            until(lambda pool=pool: bool(place.says(pool, "BuildSuccess")))  # type: ignore[misc]
            began, requests = _opted_in(admin, pool), [*windlass.read()]
            ours.append(_recorded(requests, pool) - began)
            starts += [came - began for name, came in folders.came.items() if f"-{pool}-" in name]
            writes.append(sum(each.is_write and not each.is_of_lease for each in requests))
            asked += place.registry.requests()
        place.registry.forget_requests()
        time.sleep(REST_SECONDS)
        at_rest = len(place.registry.requests())
    others = noise.read().others
    bare, mine = statistics.median(raw), statistics.median(ours)
    own = sum(each.user_agent == "windlass" for each in asked) / len(rest)
    of_all = len(asked) / len(rest)

    def row(what: str, figure: Cell, wanted: str = "", raw: Cell = None) -> Row:
        return {"what": what, "figure": figure, "raw": raw, "wanted": wanted, "others, cores": others}

    yield row(
        f"opt-in to pullspec, s, median of {len(rest)}", mine, against(mine, round(bare + 0.5, 2), unit="s"), bare
    )
    slowest = max(starts)
    yield row(f"opt-in to buildah, s, slowest of {len(starts)}", slowest, against(slowest, 1.0, unit="s"))
    most = max(writes)
    yield row("writes a success, most", most, against(most, 5))
    yield row("requests to the registry a build, ours", own, against(own, 8))
    yield row("requests to the registry a build, buildah's included", of_all)
    yield row(f"requests to the registry in {REST_SECONDS:.0f} s at rest", at_rest, against(at_rest, 0))


def _at_a_time(place: Place, pools: Sequence[str]) -> Iterable[Row]:
    """All at once, after as many as there are slots have warmed them up."""
    warm, rest = pools[:SLOTS], pools[SLOTS:]
    queues = [rest[number::SLOTS] for number in range(SLOTS)]
    place.raw(*([pool] for pool in warm))
    noise = NoiseMeter()
    raw = place.raw(*queues)
    with place.at_work("four", f"--local-slots={SLOTS}"):
        place.opt_in(*warm)
        until(lambda: place.built(*warm))
        # The stores are tidied after a build.
        time.sleep(3.0)
        before, admin, windlass = _ours(place), place.log(ADMIN), place.log(USER)
        place.opt_in(*rest)
        until(lambda: place.built(*rest))
        requests = [*windlass.read()]
        began = _opted_in(admin, rest[0])
        seconds = max(_recorded(requests, pool) for pool in rest) - began
    others, builds = noise.read().others, _ours(place) - before
    wanted = f"{against(seconds, round(1.15 * raw, 1), unit='s')}; {builds} builds"
    yield {
        "what": f"{len(rest)} pools, {SLOTS} at a time, s",
        "figure": seconds,
        "raw": raw,
        "wanted": wanted,
        "others, cores": others,
    }


def _changes(place: Place, pool: str) -> Iterable[Row]:
    """The Containerfile changes while an image builds."""
    noise = NoiseMeter()
    place.write_containerfile(pool, _SLOW)
    with place.at_work("changes", "--debounce=5s"), Starts(place.builds("changes")) as folders:
        place.opt_in(pool)
        until(lambda: place.says(pool, BUILDING) != "")
        (superseded,) = folders.came
        before, began = _ours(place), time.time()
        for number in range(CHANGES):
            place.write_containerfile(pool, f"RUN echo {number} > /etc/number")
            time.sleep(0.2)
        until(lambda: place.built(pool) and superseded in folders.went)
        gone, images = folders.went[superseded] - began, _ours(place) - before
    others = noise.read().others
    yield {
        "what": f"{CHANGES} changes in a build: superseded builder gone, s",
        "figure": gone,
        "wanted": f"{against(gone, 3.0, unit='s')}; {images} more image",
        "others, cores": others,
    }


def _restart(place: Place, count: int) -> Iterable[Row]:
    """A process that finds all pools built; then large MachineConfigs are made, which it does not watch."""
    noise, requests, images, began = NoiseMeter(), place.log(USER), _ours(place), time.monotonic()
    with place.at_work("restart") as process:
        ready = time.monotonic() - began
        time.sleep(REST_SECONDS)
        made = [*requests.read()]
        memory = process.usage.peak
        others, noise = noise.read().others, NoiseMeter()
        spec = os_build_inputs.machine_config(LARGE_BYTES)
        for number in range(LARGE):
            place.add_config(f"rendered-large-{number}", spec)
        time.sleep(REST_SECONDS / 3)
        more, while_large = process.usage.peak - memory, noise.read().others
    writes = sum(each.is_write and not each.is_of_lease for each in made)
    reads = sum(each.object_ref.resource == "machineconfigs" for each in made)
    idle = f"{writes} writes, {_ours(place) - images} builds, {reads} reads of MachineConfigs"
    yield {
        "what": f"restart with {count} built pools: ready, s",
        "figure": ready,
        "wanted": f"{against(ready, 3.0, unit='s')}; {idle}",
        "others, cores": others,
    }
    yield {
        "what": f"memory with {count} built pools, MB",
        "figure": memory,
        "wanted": against(memory, 90.0, unit="MB"),
        "others, cores": others,
    }
    yield {
        "what": f"more with {LARGE} MachineConfigs of {LARGE_BYTES / 1e6:g} MB, MB",
        "figure": more,
        "wanted": against(more, 5.0, unit="MB"),
        "others, cores": while_large,
    }


def _refused(place: Place) -> Iterable[Row]:
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
    yield {
        "what": "bad push Secret: opt-in to the reason, s",
        "figure": seconds,
        "wanted": f"{against(seconds, 1.0, unit='s')}; {builders} builders",
        "others, cores": noise.read().others,
    }


def _ours(place: Place) -> int:
    """How many images there are that the shell loops have not pushed."""
    return sum(not tag.startswith("raw-") for tag in place.registry.images.tags(REPOSITORY))


def _opted_in(log: RequestLog, pool: str) -> float:
    """When the API server was asked to opt the pool in."""
    asked = (each for each in log.read() if each.verb == "patch" and _is_of(each, pool, ""))
    return next(asked).received.timestamp()


def _recorded(requests: Iterable[Request], pool: str) -> float:
    """When the API server had the pullspec."""
    return _last(requests, pool, "")


def _last(requests: Iterable[Request], pool: str, subresource: str) -> float:
    """When the last write of the pool was answered."""
    return max(each.answered.timestamp() for each in requests if each.is_write and _is_of(each, pool, subresource))


def _is_of(request: Request, pool: str, subresource: str) -> bool:
    of = request.object_ref
    return (of.resource, of.name, of.subresource) == ("machineconfigpools", pool, subresource)
