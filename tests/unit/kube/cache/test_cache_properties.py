"""Whatever becomes of connections and history, a cache ends up with what the server has and has told the way there.

That holds although it was told of deletions that never were: no sequence of answers hides an object that a later list
shows.
"""

import asyncio
from random import Random

import hypothesis.strategies as st
from hypothesis import example, given

from tests.explore import examples
from windlass.kube.cache import Cache
from windlass.kube.cache.store import Change
from windlass.kube.errors import Busy, Gone, NotServed, Status, TransportError
from windlass.testing.clock import VirtualLoop, run
from windlass.testing.scripted import ScriptedServer, Widget

NAMES = st.sampled_from(["a", "b", "c"])
ERRORS = st.sampled_from(
    [
        TransportError("connection reset"),
        Gone(Status("Failure", "too old resource version", "Expired", 410)),
        Busy(Status("Failure", "overloaded", "TooManyRequests", 429), retry_after=2.0),
        NotServed(Status("Failure", "the server could not find the requested resource", "NotFound", 404)),
    ]
)
HAPPENINGS = st.one_of(
    st.tuples(st.sampled_from(["others put", "others delete", "we put", "we delete", "ask", "mistake"]), NAMES),
    st.tuples(st.sampled_from(["cut", "fail"]), ERRORS),
    st.tuples(st.sampled_from(["end", "compact", "mute", "unmute", "bookmark", "repeat"]), st.none()),
    st.tuples(st.just("pass"), st.sampled_from([0.0, 0.3, 5.0, 100.0])),
)


class Weather:
    def __init__(self, server: ScriptedServer, cache: Cache[Widget]) -> None:
        self.server = server
        self.cache = cache
        self.account: dict[str, str] = {}
        self.mistaken: set[str] = set()
        cache.subscribe(self.listen)

    def listen(self, change: Change[Widget]) -> None:
        subject = change.new or change.old
        assert subject is not None
        assert self.account.get(subject.name) == (change.old.resource_version if change.old else None)
        assert change.old is None or change.new is None or change.old.resource_version != change.new.resource_version
        if change.new is None:
            del self.account[subject.name]
        else:
            self.account[subject.name] = change.new.resource_version

    async def happen(self, what: str, detail: object) -> None:
        server, cache = self.server, self.cache
        match what, detail:
            case "others put", str(name):
                server.put(name)
            case "others delete", str(name) if name in server.objects:
                server.delete(name)
            case "we put", str(name):
                written = server.put(name)
                cache.wrote(written)
                found = cache.get(name)
                assert name in self.mistaken or (found and found.resource_version) == written.resource_version
            case "we delete", str(name):
                known, there = cache.get(name), server.objects.get(name)
                if known is not None and there is not None and known.uid == there.uid:
                    server.delete(name)
                    cache.removed(
                        name=name, namespace="default", uid=known.uid, resource_version=known.resource_version
                    )
                    assert cache.get(name) is None
            case "ask", str(name):
                try:
                    await cache.ask(name)
                except (TransportError, Gone, Busy, NotServed):
                    return
                self.mistaken.discard(name)
                shown, there = cache.get(name), server.objects.get(name)
                assert (shown and shown.resource_version) == (there and there.resource_version)
            case "mistake", str(name) if name in server.objects:
                there = server.objects[name]
                cache.removed(name=name, namespace="default", uid=there.uid, resource_version=there.resource_version)
                self.mistaken.add(name)
            case "cut", TransportError() | Gone() | Busy() | NotServed() as error:
                server.cut(error)
            case "fail", TransportError() | Gone() | Busy() | NotServed() as error:
                server.fail(error)
            case "pass", float(seconds):
                await asyncio.sleep(seconds)
            case "end", _:
                server.cut()
            case (("compact" | "mute" | "unmute" | "bookmark" | "repeat"), _):
                getattr(server, what)()

    def agrees(self) -> bool:
        truth = {name: found.resource_version for name, found in self.server.objects.items()}
        shown = {item.name: item.resource_version for item in self.cache.items()}
        return truth == shown == self.account


@examples(100)
@given(happenings=st.lists(HAPPENINGS, max_size=25), streams_lists=st.booleans(), seed=st.integers(0, 3))
@example(happenings=[("pass", 0.0), ("mistake", "a")], streams_lists=False, seed=0)
def test_a_cache_converges_and_tells_the_truth_on_the_way(
    happenings: list[tuple[str, object]], streams_lists: bool, seed: int
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        server = ScriptedServer(Widget)
        server.streams_lists = streams_lists
        server.put("a")
        cache = Cache(server, Widget, namespace="default", clock=loop.clock, random=Random(seed))
        weather = Weather(server, cache)
        task = asyncio.create_task(cache.run())
        for what, detail in happenings:
            await weather.happen(what, detail)
        server.unmute()
        # A server counts the writes to all kinds. A list of the version at which an object was written cannot show that
        # it is gone, so until then a mistake is not found out.
        server.version += 1
        server.compact()
        server.cut(Gone(Status("Failure", "too old resource version", "Expired", 410)))
        async with asyncio.timeout(1200):
            while not weather.agrees() or cache.health.pending or cache.health.trouble:
                await asyncio.sleep(1)
                server.bookmark()
        task.cancel()
        await asyncio.wait([task])

    run(main())
