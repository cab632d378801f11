"""Sources: what each of them wakes, when, and how it stops."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

import pytest
from msgspec import Struct

from windlass.api.core import Namespace
from windlass.kube.control.queue import Priority
from windlass.kube.control.source import (
    AT_ONCE,
    Every,
    FromCache,
    Mailbox,
    any_difference,
    identity_differs,
    owned_by,
    spec_differs,
)
from windlass.kube.object import Object
from windlass.testing.clock import VirtualLoop
from windlass.testing.logs import captured
from windlass.testing.scripted import Widget


class Change(Struct, frozen=True):
    old: Object[Widget] | None = None
    new: Object[Widget] | None = None
    initial: bool = False


class Shelf:
    """Something that can be subscribed to, told by hand what changes."""

    def __init__(self, *widgets: Object[Widget]) -> None:
        self._widgets = widgets
        self._listeners: list[Callable[[Any], None]] = []

    def items(self, namespace: str | None = None) -> Iterator[Object[Widget]]:
        return iter(self._widgets)

    def subscribe(
        self, listener: Callable[[Any], None], /, *, returned: Callable[[], None] = lambda: None
    ) -> Callable[[], None]:
        self._listeners.append(listener)
        self.returns = returned
        return lambda: self._listeners.remove(listener)

    def tell(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)


class Woken:
    """Notes what it is woken for."""

    def __init__(self) -> None:
        self.keys: list[tuple[str, Priority]] = []

    def __call__(self, key: str, /, *, priority: Priority = Priority.NORMAL) -> None:
        self.keys.append((key, priority))


def widget(name: str, **labels: str) -> Object[Widget]:
    return Object.of(Widget, {"metadata": {"name": name, "namespace": "default", "labels": labels}})


def owner(found: Object[Widget]) -> list[str]:
    return [found.metadata.labels["owner"]]


@pytest.fixture
def woken() -> Woken:
    return Woken()


def in_virtual_time(main: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(main)
    finally:
        loop.close()


def test_the_old_and_the_new_state_of_an_object_are_mapped(woken: Woken) -> None:
    shelf = Shelf()
    FromCache(shelf, owner).attach(woken)
    shelf.tell(Change(old=widget("w", owner="a"), new=widget("w", owner="b")))
    assert woken.keys == [("a", Priority.NORMAL), ("b", Priority.NORMAL)]


def test_a_key_that_both_states_concern_is_woken_once(woken: Woken) -> None:
    shelf = Shelf()
    FromCache(shelf, owner).attach(woken)
    shelf.tell(Change(old=widget("w", owner="a"), new=widget("w", owner="a")))
    assert woken.keys == [("a", Priority.NORMAL)]


def test_a_deletion_wakes_what_the_object_concerned(woken: Woken) -> None:
    shelf = Shelf()
    FromCache(shelf, owner).attach(woken)
    shelf.tell(Change(old=widget("w", owner="a")))
    assert woken.keys == [("a", Priority.NORMAL)]


def state(uid: str = "u", generation: int = 1, **metadata: Any) -> Object[Widget]:
    named = {"name": "w", "namespace": "default", "labels": {"owner": "o"}}
    return Object.of(Widget, {"metadata": {**named, "uid": uid, "generation": generation, **metadata}})


@pytest.mark.parametrize(
    ("old", "new", "identity", "spec"),
    [
        (None, state(), True, True),
        (state(), None, True, True),
        (state(), state("recreated"), True, True),
        (state(), state(deletionTimestamp="2026-05-01T12:00:00Z"), True, True),
        (state(), state(generation=2), False, True),
        (state(), state(resourceVersion="2"), False, False),
    ],
)
def test_a_watch_may_leave_out_changes_that_concern_nobody(
    woken: Woken, old: Object[Widget] | None, new: Object[Widget] | None, *, identity: bool, spec: bool
) -> None:
    for when, wakes in ((any_difference, True), (identity_differs, identity), (spec_differs, spec)):
        woken.keys.clear()
        shelf = Shelf()
        FromCache(shelf, owner, when=when).attach(woken)
        shelf.tell(Change(old, new))
        assert bool(woken.keys) == wakes


def test_what_is_there_already_and_the_initial_list_come_at_low_priority(woken: Woken) -> None:
    shelf = Shelf(widget("w", owner="a"))
    FromCache(shelf, owner).attach(woken)
    shelf.tell(Change(new=widget("v", owner="b"), initial=True))
    assert woken.keys == [("a", Priority.LOW), ("b", Priority.LOW)]


def owned(*owners: dict[str, Any]) -> Object[Widget]:
    return Object.of(Widget, {"metadata": {"name": "w", "namespace": "shop", "ownerReferences": list(owners)}})


def an_owner(api_version: str = "example.com/v1", kind: str = "Widget", **how: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": "boss", "uid": "u", "controller": True, **how}


@pytest.mark.parametrize(
    ("found", "keys"),
    [
        (owned(an_owner()), (("shop", "boss"),)),
        (owned(an_owner("example.com/v1beta1")), (("shop", "boss"),)),
        (owned(an_owner(controller=False), an_owner(name="other")), (("shop", "other"),)),
        (owned(an_owner(controller=None)), ()),
        (owned(an_owner("example.org/v1")), ()),
        (owned(an_owner("v1")), ()),
        (owned(an_owner(kind="Gadget")), ()),
        (owned(), ()),
    ],
)
def test_an_owned_object_concerns_the_owner_that_controls_it(found: Object[Widget], keys: tuple[Any, ...]) -> None:
    assert owned_by(Widget)(found) == keys


def test_an_owner_that_is_cluster_scoped_or_of_the_core_group_is_found_too() -> None:
    assert owned_by(Namespace)(owned(an_owner("v1", "Namespace"))) == ((None, "boss"),)


def test_everything_is_looked_at_again_when_a_kind_is_served_again(woken: Woken) -> None:
    shelf = Shelf(widget("w", owner="a"))
    FromCache(shelf, owner, when=identity_differs).attach(woken)
    shelf.returns()
    assert woken.keys == [("a", Priority.LOW)] * 2


def test_of_many_objects_some_are_mapped_in_each_turn_until_detached(woken: Woken) -> None:
    shelf = Shelf(*(widget("w", owner=str(number)) for number in range(3 * AT_ONCE)))

    async def scenario() -> None:
        detach = FromCache(shelf, owner).attach(woken)
        assert len(woken.keys) == AT_ONCE
        await asyncio.sleep(0)
        assert len(woken.keys) == 2 * AT_ONCE
        detach()
        await asyncio.sleep(1)
        assert len(woken.keys) == 2 * AT_ONCE

    in_virtual_time(scenario())


def test_an_object_that_cannot_be_mapped_does_not_silence_the_others(woken: Woken) -> None:
    shelf = Shelf(widget("poisoned"), widget("sound", owner="a"))
    with captured() as logs:
        FromCache(shelf, owner).attach(woken)
    assert woken.keys == [("a", Priority.LOW)]
    assert logs[0]["object"] == "Widget ('default', 'poisoned')"


def test_nothing_is_woken_after_detaching(woken: Woken) -> None:
    shelf = Shelf()
    FromCache(shelf, owner).attach(woken)()
    shelf.tell(Change(new=widget("w", owner="a")))
    assert woken.keys == []


def test_a_resync_wakes_everything_again_and_again_at_low_priority(woken: Woken) -> None:
    async def scenario() -> None:
        detach = Every(600.0, lambda: ["a", "b"], jitter=0.1, random=Random(0)).attach(woken)
        await asyncio.sleep(599)
        assert woken.keys == []
        await asyncio.sleep(3 * 660 - 599)
        assert woken.keys == [("a", Priority.LOW), ("b", Priority.LOW)] * 3
        detach()
        await asyncio.sleep(3600)
        assert len(woken.keys) == 6

    in_virtual_time(scenario())


def test_a_period_must_be_positive() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Every(0, list)


def test_what_is_posted_reaches_everybody_attached(woken: Woken) -> None:
    mailbox: Mailbox[str] = Mailbox()
    other = Woken()
    mailbox.attach(woken)
    detach = mailbox.attach(other)
    mailbox.post("a")
    detach()
    mailbox.post("b")
    assert [key for key, _ in woken.keys] == ["a", "b"]
    assert [key for key, _ in other.keys] == ["a"]


def test_what_is_posted_before_anybody_attaches_is_kept_once(woken: Woken) -> None:
    mailbox: Mailbox[str] = Mailbox()
    mailbox.post("a", priority=Priority.LOW)
    mailbox.post("a")
    mailbox.attach(woken)
    assert woken.keys == [("a", Priority.NORMAL)]
