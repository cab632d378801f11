"""Measures migration of Machines on AWS to Cluster API and back, from the user's first change until all are in sync.

Three programs write: the user, who changes `spec.authoritativeAPI` of every Machine at once; Windlass; and the program
that reports `Paused` (`paused`). "Raw" sends the writes of all three again, in one loop.
"""

import asyncio
import collections
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import in_sync, machines, steady
from bench.arena import EXEMPT, RECORDED, SEED, Arena, with_hands
from bench.cold import QUIET_SECONDS
from bench.contestant import Contestant
from bench.contestants import IN_FLIGHT, machine_sync, raw, who_is_paused
from bench.machine import Noise, NoiseMeter
from bench.machines import Place
from bench.policies import ours_in_force
from bench.recording import Recording
from bench.requests import Request, RequestLog
from bench.tables import Cell, Table, against
from windlass.api import mapi
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.testing import crds
from windlass.testing.binaries import to_stderr
from windlass.testing.plane.ports import free_ports

TARGET_RAW, TARGET_WRITES = 0.8, 8
LONGEST = 900.0
DIRECTIONS = (CLUSTER_API, MACHINE_API)
"""Which API is to be authoritative, in the order in which it becomes so."""
PAUSED = "paused"
WINDLASS, POLICED = "windlass", "windlass, all policies"


@dataclass(frozen=True)
class Move:
    """One direction of all machines. `requests` are everybody's, by user; `writer` is the one that is measured.

    `cpu` and `peak` are the writer's, `paused_cpu` is that of those who say that they are paused.
    """

    to: str
    objects: int
    writer: str
    cpu: float
    paused_cpu: float
    peak: float
    noise: Noise
    requests: Mapping[str, list[Request]]

    @property
    def wall(self) -> float:
        """Seconds from the receipt of the first write to the answer to the last."""
        written = [request for user in self.requests for request in self.writes(user)]
        began = min(request.received for request in written)
        return (max(request.answered for request in written) - began).total_seconds()

    @property
    def rate(self) -> float:
        """Machines a second."""
        return self.objects / self.wall

    def writes(self, user: str) -> list[Request]:
        """Refused ones too."""
        return [request for request in self.requests[user] if request.is_write and not request.is_of_lease]

    def a_machine(self, user: str) -> float:
        return len(self.writes(user)) / self.objects


Moves = dict[tuple[str, str], list[Move]]
"""By direction and contestant."""


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """There and back, contestants in turn."""
    async with Arena(directory) as arena:
        await arena.plane.apply_crds(*crds.documents(*crds.MACHINES))
        await machines.configure_cluster(arena.seed)
        recorded = await _place(arena, RECORDED, objects)
        recordings = {
            move.to: Recording.of(request for asked in move.requests.values() for request in asked)
            for move in await _windlass(arena, recorded, objects)
        }
        moves: Moves = {}
        for number in range(rounds):
            for in_flight in IN_FLIGHT:
                again = await _place(arena, f"round-{number}-raw-{in_flight}", objects)
                _note(moves, f"raw, {in_flight} in flight", await _raw(arena, recordings, recorded, again, in_flight))
            place = await _place(arena, f"round-{number}-windlass", objects)
            _note(moves, WINDLASS, await _windlass(arena, place, objects))
            place = await _place(arena, f"round-{number}-policies", objects)
            async with ours_in_force(arena, place, exempt=[PAUSED]):
                _note(moves, POLICED, await _windlass(arena, place, objects, user=EXEMPT))
        return [_table(moves, objects=objects, rounds=rounds), _written(moves)]


async def _place(arena: Arena, name: str, objects: int) -> Place:
    return await in_sync.make(arena, name, authorities=[MACHINE_API], machines_each=objects)


async def _windlass(arena: Arena, place: Place, objects: int, *, user: str = "windlass") -> list[Move]:
    port = free_ports(1)[0]
    entry, other = machine_sync(arena, place, *steady.metrics_on(port), user=user), who_is_paused(arena, place)
    with (
        Contestant(entry.argv, log=arena.log("windlass")) as contestant,
        Contestant(other.argv, log=arena.log("paused")) as paused,
    ):
        await steady.until(port, lambda sight: sight.looked_at(machines=objects, sets=1), contestant)
        await in_sync.rest([arena.requests(user), arena.requests(PAUSED)])
        moves = []
        for to in DIRECTIONS:
            watched = _Watched(arena, user, PAUSED, SEED)
            before, paused_before = contestant.usage.cpu, paused.usage.cpu
            await _ask(arena, place, objects, to=to)
            await watched.until_done(contestant, place, objects, to=to)
            used, paused_used = contestant.usage.cpu - before, paused.usage.cpu - paused_before
            moves.append(watched.move(contestant, objects, to=to, cpu=used, paused_cpu=paused_used))
    return moves


async def _raw(
    arena: Arena, recordings: Mapping[str, Recording], recorded: Place, place: Place, in_flight: int
) -> list[Move]:
    replaced = {recorded.machine_api: place.machine_api, recorded.cluster_api: place.cluster_api}
    moves = []
    for to, recording in recordings.items():
        script = recording.script(arena, replaced, path=arena.directory / f"{place.machine_api}-{to}.json")
        objects = len(recording.chains)
        watched = _Watched(arena, "raw")
        entry = raw(script, in_flight=in_flight)
        with Contestant(entry.argv, log=arena.log(entry.name)) as contestant:
            await watched.until_done(contestant, place, objects, to=to)
            moves.append(watched.move(contestant, objects, to=to, cpu=contestant.usage.cpu))
    return moves


async def _ask(arena: Arena, place: Place, objects: int, *, to: str) -> None:
    """What the user does, as fast as it goes."""
    body = {"spec": {"authoritativeAPI": to}}

    async def ask(number: int) -> None:
        named, where = machines.name(number), place.machine_api
        await arena.seed.patch(mapi.Machine, named, body, type=PatchType.MERGE, namespace=where)

    await with_hands(range(objects), ask)


class _Watched:
    """What the users ask from now on, the first of whom is measured."""

    def __init__(self, arena: Arena, *users: str) -> None:
        self._arena = arena
        self._users = users
        self._logs: dict[str, RequestLog] = {user: arena.requests(user) for user in users}
        self._requests: dict[str, list[Request]] = {user: [] for user in users}
        self._noise = NoiseMeter()

    async def until_done(self, contestant: Contestant, place: Place, objects: int, *, to: str) -> None:
        """Until nobody writes for a second and all is as it should be. Nothing is listed before."""
        began = quiet_since = time.monotonic()
        while True:
            await asyncio.sleep(0.1)
            if self._read():
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > QUIET_SECONDS and any(self._requests.values()):
                wanting = await _wanting(self._arena, place, objects, to=to)
                if not wanting:
                    return
                if time.monotonic() - began > LONGEST:
                    raise RuntimeError(f"after {LONGEST:.0f} s authority has not moved to {to}: {wanting}")
                quiet_since = time.monotonic()
            if contestant.ended:
                raise RuntimeError(f"it ended: {contestant.last_words()}")

    def move(self, contestant: Contestant, objects: int, *, to: str, cpu: float, paused_cpu: float = 0.0) -> Move:
        noise = self._noise.read()
        move = Move(to, objects, self._users[0], cpu, paused_cpu, contestant.usage.peak, noise, self._requests)
        to_stderr(f"to {to}: {objects} in {move.wall:.1f} s; others used {noise.others:.2f} cores")
        return move

    def _read(self) -> bool:
        """Whether somebody wrote."""
        news = {user: list(log.read()) for user, log in self._logs.items()}
        for user, asked in news.items():
            self._requests[user] += asked
        return any(request.is_write and not request.is_of_lease for asked in news.values() for request in asked)


async def _wanting(arena: Arena, place: Place, objects: int, *, to: str) -> list[str]:
    """The machines that are not in sync under authority of `to`."""
    found = {
        item.name
        for item in (await arena.seed.list(mapi.Machine, namespace=place.machine_api)).items
        if in_sync.synchronized(item.tree()) and item.tree()["status"]["authoritativeAPI"] == to
    }
    return sorted({machines.name(number) for number in range(objects)} - found)


def _note(moves: Moves, contestant: str, made: Iterable[Move]) -> None:
    for move in made:
        moves.setdefault((move.to, contestant), []).append(move)


# tables


def _table(moves: Moves, *, objects: int, rounds: int) -> Table:
    rows: list[dict[str, Cell]] = []
    verdicts: list[str] = []
    for to in DIRECTIONS:
        best = max(_median(these, _rate) for (way, name), these in moves.items() if way == to and name[:3] == "raw")
        for (way, name), these in moves.items():
            if way == to:
                rows.append({"authority to": to, "contestant": name, **_row(these, best=best)})
        mine = moves[to, WINDLASS]
        ratio, writes = _median(mine, _rate) / best, _median(mine, lambda move: move.a_machine(move.writer))
        verdicts.append(
            f"To {to}: Windlass to raw {ratio:.2f} ({against(ratio, TARGET_RAW, at_least=True)}); "
            f"writes a machine {writes:.2f} ({against(writes, TARGET_WRITES)})."
        )
    verdicts.append(
        "Raw sends what all three wrote: Windlass, the user (one write a machine) and those who are paused."
    )
    rows.sort(key=lambda row: DIRECTIONS.index(str(row["authority to"])))
    title = f"Migrate: authority over {objects} Machines on AWS, there and back, median (range) of {rounds} rounds"
    return Table(title, list(rows[0]), rows, verdicts)


def _row(these: list[Move], *, best: float) -> dict[str, Cell]:
    walls = sorted(move.wall for move in these)
    noise = sorted(move.noise.others + move.noise.stolen for move in these)
    beside = PAUSED in these[0].requests
    return {
        "wall, s": f"{statistics.median(walls):.1f} ({walls[0]:.1f}-{walls[-1]:.1f})",
        "machines/s": _median(these, _rate),
        "writes/s": _median(these, lambda move: sum(map(move.a_machine, move.requests)) * move.rate),
        "of raw": _median(these, _rate) / best,
        "writes a machine": _median(these, lambda move: move.a_machine(move.writer)),
        "of the paused": _median(these, lambda move: move.a_machine(PAUSED)) if beside else None,
        "CPU, s": _median(these, lambda move: move.cpu),
        "CPU of the paused": _median(these, lambda move: move.paused_cpu) if beside else None,
        "peak, MB": _median(these, lambda move: move.peak),
        "others, cores": f"{noise[0]:.1f}-{noise[-1]:.1f}",
    }


def _median(moves: Iterable[Move], figure: Callable[[Move], float]) -> float:
    return statistics.median(map(figure, moves))


def _rate(move: Move) -> float:
    return move.rate


def _written(moves: Moves) -> Table:
    rows: list[dict[str, Cell]] = []
    for to in DIRECTIONS:
        move = moves[to, WINDLASS][-1]
        for user in (move.writer, PAUSED):
            counted = collections.Counter(request.what for request in move.requests[user] if not request.is_of_lease)
            rows += [
                {
                    "authority to": to,
                    "who": user,
                    "verb": verb,
                    "resource": what,
                    "code": code,
                    "a machine": count / move.objects,
                    "in all": count,
                }
                for (verb, what, code), count in counted.most_common()
            ]
    return Table("Migrate: everything that was asked in Windlass's last round, but its Lease", list(rows[0]), rows)
