"""Our finalizer: put on what is there and stays, taken off what goes."""

from typing import Any

from windlass.api import capi, mapi
from windlass.kube.control.plan import AddFinalizer
from windlass.kube.control.seen import Absent, Seen, seen
from windlass.kube.object import Object
from windlass.machine_sync.constants import SYNC_FINALIZER
from windlass.machine_sync.mirroring.finalizers import hold, let_go


def machine(*finalizers: str, **metadata: Any) -> Seen[mapi.Machine]:
    tree = {"metadata": {"name": "w", "namespace": "n", "uid": "u", "finalizers": list(finalizers), **metadata}}
    return seen(Object.of(mapi.Machine, tree))


GOING = {"deletionTimestamp": "2026-05-01T12:00:00Z"}


def test_it_is_put_on_what_is_there_and_stays() -> None:
    there = (machine("a"), machine(SYNC_FINALIZER), machine("b", **GOING), Absent())
    held = [action for action in hold(*((mapi.Machine, one) for one in there)) if action.needed]
    assert [action.desired for action in held] == [["a", SYNC_FINALIZER]]
    assert isinstance(held[0], AddFinalizer)


def test_what_cannot_be_read_is_held_too() -> None:
    broken = seen(Object.of(capi.Machine, {"metadata": {"name": "w", "uid": "u"}, "spec": "none"}))
    (action,) = hold((capi.Machine, broken))
    assert action.desired == [SYNC_FINALIZER]


def test_it_comes_off_with_those_that_are_named_and_no_others() -> None:
    off = let_go(mapi.Machine, machine("theirs", "named", SYNC_FINALIZER, **GOING), "named", why="")
    assert off is not None
    assert off.desired == ["theirs"]


def test_what_does_not_bear_it_is_not_written() -> None:
    off = let_go(mapi.Machine, machine("theirs"), why="")
    assert off is not None
    assert not off.needed
    assert let_go(mapi.Machine, Absent(), why="") is None
