"""Whatever the order in which writes, answers, events and lists arrive, four promises hold.

(a) nothing older than an acknowledged own write is shown, (b) no deleted object is shown again, (c) the store ends up
with what the server has, (d) listeners are told of exactly the changes of the stream.
"""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Struct

from tests.explore import examples
from windlass.kube.cache.store import Change, Store
from windlass.kube.client.watch import EventType
from windlass.kube.object import NamespacedName, Object
from windlass.testing.scripted import ScriptedServer, Widget

NAMES = st.sampled_from(["a", "b"])


class Happened(Struct, frozen=True):
    """One entry of the server's history. `object` is the state after it (of a deletion: the last, with its version)."""

    type: EventType
    object: Object[Widget]

    @property
    def version(self) -> int:
        return int(self.object.resource_version)


class Answer(Struct, frozen=True):
    """What a write of ours was answered: the object, or that `removed` (as we knew it) is gone."""

    version: int
    object: Object[Widget] | None = None
    removed: Object[Widget] | None = None


class StoreAgainstServer(RuleBasedStateMachine):
    """A store, a server that others write to as well, and a stream between them that lags and stutters."""

    def __init__(self) -> None:
        super().__init__()
        self.server = ScriptedServer(Widget)
        self.store: Store[Widget] = Store()
        self.store.add_index("size", lambda item: [str(value) for value in item.decode().spec.values()])
        self.history: list[Happened] = []
        self.streamed = self.asked = 0
        """How much of the history the stream has delivered."""
        self.on_the_way: list[Answer] = []
        self.told: dict[NamespacedName, Object[Widget]] = {}
        self.acknowledged: dict[str, int] = {}
        self.known_dead: set[str] = set()
        self.listen(self.store.replace({}, str(self.server.version)))

    def listen(self, changes: list[Change[Widget]]) -> None:
        for change in changes:
            subject = change.new or change.old
            assert subject is not None
            assert self.told.get(subject.key) is change.old, "a change goes on from the state announced before"
            if change.new is None:
                del self.told[subject.key]
            else:
                if change.old is not None:
                    assert change.old.resource_version != change.new.resource_version, "nothing changed"
                self.told[subject.key] = change.new

    # the server

    def write(self, name: str, size: int) -> Object[Widget]:
        known = name in self.server.objects
        stored = self.server.put(name, {"size": size})
        self.history.append(Happened(EventType.MODIFIED if known else EventType.ADDED, stored))
        return stored

    def erase(self, name: str) -> Object[Widget]:
        last = self.server.delete(name)
        self.history.append(Happened(EventType.DELETED, last))
        return last

    def state_at(self, length: int) -> dict[NamespacedName, Object[Widget]]:
        state: dict[NamespacedName, Object[Widget]] = {}
        for happened in self.history[:length]:
            if happened.type is EventType.DELETED:
                del state[happened.object.key]
            else:
                state[happened.object.key] = happened.object
        return state

    def version_at(self, length: int) -> int:
        return self.history[length - 1].version if length else 100

    @rule(name=NAMES, size=st.integers(0, 1))
    def somebody_writes(self, name: str, size: int) -> None:
        self.write(name, size)

    @rule(name=NAMES)
    def somebody_deletes(self, name: str) -> None:
        if name in self.server.objects:
            self.erase(name)

    # our own writes

    @rule(name=NAMES, size=st.integers(0, 1), late=st.booleans())
    def we_write(self, name: str, size: int, late: bool) -> None:
        stored = self.write(name, size)
        self.answered(Answer(int(stored.resource_version), object=stored), late=late)

    @rule(name=NAMES, late=st.booleans(), back=st.integers(0, 3))
    def we_delete(self, name: str, late: bool, back: int) -> None:
        """Decided on the object as it is shown, or as it was seen some writes ago."""
        shown = self.store.get(("default", name))
        there = self.server.objects.get(name)
        if shown is None or there is None or shown.uid != there.uid:
            return  # the uid precondition refuses it
        versions = [h.object for h in self.history if h.object.uid == shown.uid and h.object is not there] or [shown]
        last = self.erase(name)
        known = shown if back == 0 else versions[-min(back, len(versions))]
        self.answered(Answer(int(last.resource_version), removed=known), late=late)

    @rule(name=NAMES, late=st.booleans())
    def we_recreate(self, name: str, late: bool) -> None:
        self.we_delete(name, late, 0)
        self.we_write(name, 1, not late)

    def answered(self, answer: Answer, *, late: bool) -> None:
        self.on_the_way.append(answer)
        if not late:
            self.answer_arrives(len(self.on_the_way) - 1)

    @precondition(lambda self: self.on_the_way)
    @rule(which=st.integers(0, 100))
    def answer_arrives(self, which: int) -> None:
        answer = self.on_the_way.pop(which % len(self.on_the_way))
        if answer.object is not None:
            self.store.wrote(answer.object)
            name = answer.object.name
        else:
            assert answer.removed is not None
            known = answer.removed
            self.store.removed(known.key, uid=known.uid, resource_version=known.resource_version)
            self.known_dead.add(known.uid)
            name = known.name
        self.acknowledged[name] = max(self.acknowledged.get(name, 0), answer.version)

    @precondition(lambda self: self.on_the_way)
    @rule()
    def answer_is_lost(self) -> None:
        self.on_the_way.pop()

    @rule(name=NAMES)
    def we_look(self, name: str) -> None:
        found = self.server.objects.get(name)
        if found is not None:
            self.store.wrote(found)
            self.acknowledged[name] = max(self.acknowledged.get(name, 0), int(found.resource_version))

    # the stream

    @rule(count=st.integers(1, 4))
    def stream_delivers(self, count: int) -> None:
        for happened in self.history[self.streamed : self.streamed + count]:
            self.deliver(happened)
            self.streamed += 1

    @rule(back=st.integers(1, 5))
    def stream_repeats(self, back: int) -> None:
        if 0 < back <= self.streamed:
            self.deliver(self.history[self.streamed - back])

    @rule()
    def bookmark(self) -> None:
        self.store.reach(str(self.version_at(self.streamed)))

    @rule()
    def the_stream_asks_for_a_list(self) -> None:
        """It is answered with a state that is not older than this moment."""
        self.store.asking()
        self.asked = len(self.history)

    @rule(ahead=st.integers(0, 6))
    def relist(self, ahead: int) -> None:
        """A list is consistent at some moment between what was seen before, or when it was asked for, and now."""
        length = min(max(self.streamed, self.asked) + ahead, len(self.history))
        fresh = {key: Object.parse(Widget, found.raw) for key, found in self.state_at(length).items()}
        self.bury(length)
        self.listen(self.store.replace(fresh, str(self.version_at(length))))
        self.streamed, self.asked = length, 0

    def deliver(self, happened: Happened) -> None:
        if happened.type is EventType.DELETED:
            self.known_dead.add(happened.object.uid)
            self.listen(self.store.delete(happened.object))
        else:
            self.listen(self.store.put(happened.object))

    def bury(self, length: int) -> None:
        self.known_dead.update(h.object.uid for h in self.history[:length] if h.type is EventType.DELETED)

    # the promises

    @invariant()
    def nothing_older_than_an_own_write_is_shown(self) -> None:
        for name, version in self.acknowledged.items():
            found = self.store.get(("default", name))
            if found is not None:
                assert int(found.resource_version) >= version, f"{found} is older than {version}"
            else:
                assert any(
                    h.type is EventType.DELETED and h.object.name == name and h.version >= version for h in self.history
                ), f"{name} was there at {version} and never deleted after"

    @invariant()
    def no_deleted_object_is_shown(self) -> None:
        assert not self.known_dead & {item.uid for item in self.store.items()}

    @invariant()
    def listeners_know_what_the_stream_has_shown(self) -> None:
        expected = self.state_at(self.streamed)
        assert {k: o.resource_version for k, o in self.told.items()} == {
            k: o.resource_version for k, o in expected.items()
        }

    @invariant()
    def the_index_finds_what_is_shown(self) -> None:
        for size in range(2):
            shown = {i.name for i in self.store.items() if i.decode().spec["size"] == size}
            assert {i.name for i in self.store.indexed("size", str(size))} == shown

    @invariant()
    def a_drained_stream_leaves_what_the_server_has(self) -> None:
        if self.streamed == len(self.history):
            shown = {item.name: item.resource_version for item in self.store.items()}
            assert shown == {name: found.resource_version for name, found in self.server.objects.items()}
            assert self.store.pending == 0, "entries of the overlay do not outlive their reason"


StoreAgainstServer.TestCase.settings = settings(examples(150), stateful_step_count=30)
TestStoreAgainstServer = StoreAgainstServer.TestCase
