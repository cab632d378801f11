"""Stories in which the controller is killed at every write, and which must all come to the end of an undisturbed one.

    resized = Story(title="resized", before=..., happens=..., end=...)
    (told,) = await killed_at_every_write(ground, resized)

A story is told of several subjects at the same time, to one real process: of one it is told undisturbed, of the others
it breaks off after their first, second, third ... write. Then the process is killed, and a successor has to bring them
to the end that the undisturbed one came to.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import yaml
from msgspec import Struct

from tests.program import ALONE
from tests.waiting import eventually
from windlass.kube.control.merge import changes

from ...api.machine_sync.examples import Tree
from ...api.machine_sync.replicas import replica
from ..ground import Ground
from ..history import recorded
from ..rest import at_rest
from .fatal_writes import FatalFront

_PATIENT = ("--request-timeout=120s", "--workers=128")
"""Every key may be held up at the same time, and no request may give up before its process is killed."""

_VERSIONS = ("resourceVersion", "generation", "observedGeneration", "synchronizedGeneration", "managedFields")
_BY_THE_CLOCK = "MachinesUpToDate"
"""A condition in which Cluster API counts no machine that is younger than ten seconds, whenever it happens to look."""
_DIGESTS = re.compile(r"\b(instanceID|providerID)=[0-9a-f]{12}")
"""What is noted of an infra machine's spec: digests, here of what is made from its name."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Story(Struct, frozen=True, kw_only=True):
    """What is told of a subject, by its name: what is there before, what happens, and all there is of it at the end.

    `title` is part of the names. `end` waits until nothing is missing any more. `lives`: how many subjects there are
    whose controller dies, after the first write about them to the last of so many; as many as the story has writes.
    `meanwhile`: what users do about all of them between that death and the successor's first look. `over` is the end
    that the undisturbed one comes to before that. All come to `end` then, but how far each had come may show: ends are
    not compared.
    """

    title: str
    lives: int
    before: Callable[[str], Awaitable[object]]
    happens: Callable[[str], Awaitable[object]]
    end: Callable[[str], Awaitable[Mapping[str, Tree]]]
    meanwhile: Callable[[str], Awaitable[object]] | None = None
    over: Callable[[str], Awaitable[object]] | None = None


class Told(Struct, frozen=True):
    """`undisturbed` is one of the subjects, `writes` are those about it. `fatal`: the others, and where theirs ends.

    `breaks`: after how many writes stories did end so.
    """

    story: Story
    undisturbed: str
    fatal: Mapping[str, int]
    writes: list[str]
    breaks: list[int]

    @property
    def names(self) -> list[str]:
        return [self.undisturbed, *self.fatal]


async def nothing(_: str) -> None:
    """There is nothing before."""


async def killed_at_every_write(ground: Ground, *stories: Story) -> list[Told]:
    """Tell these, and compare the ends. At no time may Cluster API be awake beside the Machine API."""
    async with recorded(ground.stage) as history, _front(ground) as front:
        async with replica(ground.stage, ground.folder, *ALONE, *_PATIENT) as victim:
            told = await asyncio.gather(*(_told_until_all_break_off(ground, front, story) for story in stories))
            await victim.kill()
        await asyncio.gather(*(one.story.meanwhile(name) for one in told if one.story.meanwhile for name in one.names))
        front.pardon()
        async with replica(ground.stage, ground.folder, *ALONE, *_PATIENT):
            for one in told:
                if one.story.meanwhile:
                    await asyncio.gather(*map(one.story.end, one.names))
                    continue
                await eventually(partial(_unlike, one), lambda harms: not harms, what=f"one end of '{one.story.title}'")
            await at_rest(ground)
    assert history.two_authorities() == []
    return told


@asynccontextmanager
async def _front(ground: Ground) -> AsyncIterator[FatalFront]:
    """The API server, as Windlass finds it on this ground from now on."""
    async with FatalFront(ground.stage.plane.connection) as front:
        config = yaml.safe_load(ground.stage.account.read_text())
        config["clusters"][0]["cluster"]["server"] = front.url
        behind = ground.folder / "behind-the-front.yaml"
        behind.write_text(yaml.safe_dump(config))
        ground.stage.account = behind
        yield front


async def _told_until_all_break_off(ground: Ground, front: FatalFront, story: Story) -> Told:
    undisturbed = ground.name(f"{story.title}-0")
    fatal = {ground.name(f"{story.title}-{number}"): number for number in range(1, story.lives + 1)}
    names = [undisturbed, *fatal]
    await asyncio.gather(*map(story.before, names))
    front.condemn(undisturbed, None)
    for name, number in fatal.items():
        front.condemn(name, number)
    await asyncio.gather(*map(story.happens, names))
    await (story.over or story.end)(undisturbed)
    writes = list(front.writes[undisturbed])
    for name in fatal:
        await _struck_or_over(front, story, name)
    # How often status changes, and which write is repeated, is up to others as well; the rest is not.
    least = len({write for write in writes if "/status" not in write})
    assert 0 < least <= story.lives

    async def struck() -> list[int]:
        return [number for name, number in fatal.items() if front.is_struck(name)]

    # What the last write did is seen before its answer has passed the front.
    breaks = await eventually(
        struck, lambda found: len(found) >= least, what=f"a story that breaks off at each of {writes}"
    )
    return Told(story, undisturbed, fatal, writes, breaks)


async def _struck_or_over(front: FatalFront, story: Story, name: str) -> None:
    """Return at the fatal write of a subject, or at the end of its story if that comes first."""
    struck = asyncio.ensure_future(front.struck(name))
    over = asyncio.ensure_future((story.over or story.end)(name))
    try:
        done, _ = await asyncio.wait((struck, over), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (struck, over):
            task.cancel()
        await asyncio.wait((struck, over))


async def _unlike(told: Told) -> list[str]:
    """What is different from the undisturbed end, a line per field."""
    expected = _comparable(told.undisturbed, await told.story.end(told.undisturbed))
    found = []
    for name in told.fatal:
        end = _comparable(name, await told.story.end(name))
        found += [f"{name}: {change}" for change in changes(expected, end)]
    return found


def _comparable(name: str, trees: Mapping[str, Tree]) -> Any:
    """The objects of one subject, less versions and times, and less what is made from its name and its uids."""
    words = {name: "<name>"}
    for side, tree in trees.items():
        words[tree["metadata"]["uid"]] = f"<uid of {side}>"
        words[(tree.get("spec") or {}).get("providerID", "").rpartition("/")[2]] = "<instance>"
        status = tree.get("status") or {}
        words[(status.get("nodeRef") or {}).get("uid", "")] = "<uid of the Node>"
        for address in status.get("addresses") or []:
            words[address["address"]] = f"<{address['type']}>"
    text = json.dumps(trees)
    for word in sorted(filter(None, words), key=len, reverse=True):
        text = text.replace(word, words[word])
    return _timeless(json.loads(_DIGESTS.sub(r"\1=<digest>", text)))


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _timeless(inner) for key, inner in value.items() if key not in _VERSIONS}
    if isinstance(value, list):
        kept = (one for one in value if not (isinstance(one, Mapping) and one.get("type") == _BY_THE_CLOCK))
        # Of conditions, owners and finalizers the order says who was first.
        return sorted(map(_timeless, kept), key=json.dumps)
    return "<time>" if isinstance(value, str) and _TIME.fullmatch(value) else value
