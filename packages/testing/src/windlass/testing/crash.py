"""Crash a scenario at every write, start it again, and expect the same end.

A scenario is a world (a `MemoryApi` with its first objects), a process (`settle`: everything our program does until it
has nothing left to do), other systems that it calls, and actors (whoever else is in the world: simulators, the garbage
collector). Played to rest without disturbance it gives the state that is expected. Then it is played again for every
write n = 1, 2, 3, ... in two flavours: the process dies before the n-th write is stored, or after it was stored and
before it could know.

    def mirrored() -> Scenario:
        world = MemoryApi(Machine, Mirror)
        world.load(machine)
        return Scenario(world, settle=run_controllers, actors=(provision, collect_garbage), leaked=our_finalizer_alone)

    async def test_a_crash_anywhere_is_harmless() -> None:
        report = await crash_everywhere(mirrored)
        assert report.points > 0

`systems` are what the process calls outside Kubernetes (`windlass.kube.control.effects`): a carrier for each name, made
anew for each life of the process, since what a carrier remembers dies with it. `settle` is then given them as well. A
Call is a write: the process dies before the other system has it, or after the effect and before the answer. At the end
`unowned` says what exists in those systems that no object of the world accounts for.

    Scenario(world, settle, systems={"buckets": lambda: BucketCarrier(url)}, unowned=service.strays)

What a process remembers must live inside `settle`: it is called anew after a crash, and again whenever an actor has
changed something. `make` is called once per run, so actors may have memory of their own; they survive the crash.

A process that dies after one write, or before the next one, leaves the same world if nothing happened between the two.
Of such points only the first is played, where `moment` tells the time of the models.

Ends are compared after `comparable`: uids become the name of the object they belong to, times a word; resourceVersions
and Events are left out (an Event is best effort, a crash may lose it).
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field

from windlass.kube.control.effects import Carrier
from windlass.kube.control.merge import changes
from windlass.kube.control.plan import Request
from windlass.kube.verbs import Api, ApiRequest
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.model.schema import Tree

T = TypeVar("T")

Systems: TypeAlias = Mapping[str, Carrier[Any]]
Settle: TypeAlias = Callable[[Api, MemoryReader], Awaitable[object]]
SettleWithSystems: TypeAlias = Callable[[Api, MemoryReader, Systems], Awaitable[object]]
Actor: TypeAlias = Callable[[MemoryApi], Awaitable[object]]

MAX_LAPS = 50
"""Turns of process and actors within which a scenario must come to rest."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class When(StrEnum):
    """When the process dies, as seen from the write."""

    BEFORE = "before it was stored"
    AFTER = "after it was stored"


class Crashed(BaseException):
    """The process died. Not an Exception: no error handling of a living process may catch it."""


class Harm(AssertionError):
    """A crash made a difference; the message names the write, the flavour and the fields."""


class NoRest(AssertionError):
    """A scenario went on and on; the message shows its last writes."""


def nothing_leaks(tree: Tree) -> str:
    """The default of `Scenario.leaked`."""
    return ""


class Scenario(Struct):
    """See the module.

    `leaked` says what an object holds on to that it should not at the end, empty if nothing. `unowned` is given all
    objects, and names what other systems hold for none of them. `compared` is what of the objects must be the same at
    each end. `moment`: what changes between two writes although nobody writes, such as the time of the models; None:
    unknown, so every point is played.
    """

    world: MemoryApi
    settle: Settle | SettleWithSystems
    actors: Sequence[Actor] = ()
    leaked: Callable[[Tree], str] = nothing_leaks
    reader: Callable[[MemoryApi], MemoryReader] = MemoryReader
    systems: Mapping[str, Callable[[], Carrier[Any]]] = field(default_factory=dict)
    unowned: Callable[[Sequence[Tree]], Iterable[str]] = lambda _: ()
    compared: Callable[[Sequence[Tree]], dict[str, Any]] = lambda trees: comparable(trees)
    moment: Callable[[], object] | None = None


class Report(Struct, frozen=True):
    """`points`: writes after and before which the process was killed, or which leave the same world as such a one.
    `end`: the state all runs agree on."""

    points: int
    end: Mapping[str, Any] = field(default_factory=dict)


class CrashPoint:
    """Counts writes, Calls among them, and ends the process at the n-th; 0 never."""

    def __init__(self, number: int = 0, when: When = When.BEFORE) -> None:
        self.number = number
        self.when = when
        self.writes: list[str] = []
        self.calls = 0
        self.reached = False
        self.state: Callable[[], object] = object
        """What a new process would find, for comparison; by default it never is the same."""
        self._done = 0
        self._left: list[object] = []
        self._found: list[object] = []

    def same_as_after_the_write_before(self, number: int) -> bool:
        """Whether dying before this write leaves what dying after the one before it leaves."""
        return 1 < number <= len(self._found) and self._found[number - 1] == self._left[number - 2]

    async def write(self, what: str, do: Callable[[], Awaitable[T]]) -> T:
        """Carry out `do`, the write `what`, unless the process dies on the way. A dead process does nothing more."""
        self.check()
        self.writes.append(what)
        number = len(self.writes)
        fatal = number == self.number
        # How many writes are done tells writes that are sent at the same time from one after the other.
        self._found.append((self._done, self.state()))
        self._left.append(object())
        if fatal and self.when is When.BEFORE:
            self._die()
        answer = await do()
        self._done += 1
        self._left[number - 1] = self._done, self.state()
        if fatal:
            self._die()
        return answer

    def check(self) -> None:
        """To be called before reads, so that tasks of a dead process end."""
        if self.reached:
            raise Crashed

    def _die(self) -> None:
        self.reached = True
        raise Crashed

    def __str__(self) -> str:
        return f"a crash at write {self.number} ({self.writes[self.number - 1]}), {self.when}"


class MortalApi(Api):
    """The API server as one process has it: gone with the process."""

    def __init__(self, api: Api, point: CrashPoint) -> None:
        self._api = api
        self._point = point

    async def send(self, request: ApiRequest[Any], /) -> Any:
        if request.WRITES:
            return await self._point.write(str(request), lambda: self._api.send(request))
        self._point.check()
        return await self._api.send(request)


class MortalCarrier:
    """A carrier as one process has it: gone with the process, and what it remembered with it."""

    def __init__(self, carrier: Carrier[Any], point: CrashPoint) -> None:
        self._carrier = carrier
        self._point = point

    async def send(self, request: Request, /) -> Any:
        answer = await self._point.write(f"{request.verb} ({request.SYSTEM})", lambda: self._carrier.send(request))
        self._point.calls += 1
        return answer

    def doubt(self, request: Request, /) -> None:
        self._carrier.doubt(request)

    def __getattr__(self, name: str) -> Any:
        """What else it offers: looks."""
        self._point.check()
        return getattr(self._carrier, name)


async def crash_everywhere(
    make: Callable[[], Scenario], *, limit: int = 1000, first: int = 1, sparse: bool = False
) -> Report:
    """Play `make()` undisturbed, then once per write and flavour with a crash. Raises Harm or NoRest.

    `limit` is the number of writes after which a scenario is taken to be without end. The writes before `first` set the
    scene, and are not crashed at. `sparse`: only every other write, and each in one flavour, for scenarios that take
    long.
    """
    undisturbed = CrashPoint()
    expected = await _end(make(), undisturbed)
    harms: list[str] = []
    points = 0
    played: set[int] = set()
    """The writes after which the process has died."""
    for number in range(first, limit + 1, 2 if sparse else 1):
        reached = False
        for when in [[*When][number // 2 % 2]] if sparse else When:
            played_before = when is When.BEFORE and number - 1 in played
            if played_before and undisturbed.same_as_after_the_write_before(number):
                points += 1
                continue
            point = CrashPoint(number, when)
            end = await _end(make(), point)
            reached = reached or len(point.writes) >= number  # one that is refused cannot be crashed after
            if point.reached:
                points += 1
                if when is When.AFTER:
                    played.add(number)
                harms += [f"{point}: {harm}" for harm in differences(expected, end)]
        if not reached:
            break
    else:
        raise NoRest(f"still writing after {limit} writes; the last ones were {undisturbed.writes[-5:]}")
    if harms:
        raise Harm("\n".join([f"{len(harms)} differences to the undisturbed end:", *harms]))
    return Report(points, expected)


async def play(scenario: Scenario, point: CrashPoint | None = None) -> None:
    """Take a scenario to rest, with one crash at `point` if it is reached."""
    world, fate = scenario.world, point or CrashPoint()
    process = _born(scenario, fate)
    for lap in range(MAX_LAPS):
        before = world.version, fate.calls
        if scenario.moment is not None:
            fate.state = partial(_state, scenario, lap)
        with suppress(Crashed):
            await scenario.settle(*process)
        if fate.reached:
            fate = CrashPoint()
            process = _born(scenario, fate)
            continue
        for actor in scenario.actors:
            await actor(world)
        if (world.version, fate.calls) == before:
            return
    last = "\n".join(str(change) for change in world.changes_since(0)[-10:])
    raise NoRest(f"no rest after {MAX_LAPS} laps; the last writes were:\n{last}")


def _state(scenario: Scenario, lap: int) -> object:
    return lap, scenario.world.version, scenario.moment and scenario.moment()


def _born(scenario: Scenario, fate: CrashPoint) -> tuple[Any, ...]:
    """The objects of a new process, which has no memory of an earlier process."""
    api, reader = MortalApi(scenario.world, fate), scenario.reader(scenario.world)
    if not scenario.systems:
        return api, reader
    return api, reader, {name: MortalCarrier(make(), fate) for name, make in scenario.systems.items()}


async def _end(scenario: Scenario, point: CrashPoint) -> dict[str, Any]:
    await play(scenario, point)
    trees = scenario.world.dump()
    leaks = [f"{_name(tree)}: {why}" for tree in trees if (why := scenario.leaked(tree))]
    leaks += [f"without an owner: {what}" for what in scenario.unowned(trees)]
    if leaks:
        where = str(point) if point.reached else "undisturbed"
        raise Harm("\n".join([f"{where}: something is leaked:", *leaks]))
    return scenario.compared(trees)


def comparable(trees: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Objects by name, less what differs between runs that end alike."""
    kept = [tree for tree in trees if tree.get("kind") != "Event"]
    owners = {tree["metadata"]["uid"]: f"<uid of {_name(tree)}>" for tree in kept}
    return {_name(tree): _timeless(tree, owners) for tree in kept}


def _timeless(value: Any, owners: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _timeless(inner, owners) for key, inner in value.items() if key != "resourceVersion"}
    if isinstance(value, list):
        return [_timeless(item, owners) for item in value]
    if isinstance(value, str):
        return owners.get(value) or ("<time>" if _TIME.fullmatch(value) else value)
    return value


def differences(expected: Mapping[str, Any], end: Mapping[str, Any]) -> list[str]:
    """What is different in `end`, a line per field."""
    lines = []
    for name in sorted({*expected, *end}):
        if name not in end:
            lines.append(f"{name} is missing")
        elif name not in expected:
            lines.append(f"{name} should not be there")
        else:
            lines += [f"{name}: {change}" for change in changes(expected[name], end[name])]
    return lines


def _name(tree: Mapping[str, Any]) -> str:
    meta = tree["metadata"]
    place = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{tree['kind']}.{tree['apiVersion']} {place}{meta['name']}"
