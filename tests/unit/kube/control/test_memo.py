"""What is kept of decoded objects, and for how long."""

from typing import Any

from windlass.api.core import Secret
from windlass.kube.control.memo import Memo
from windlass.kube.object import Object
from windlass.testing.scripted import Widget


class Decoder:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, found: Object[Any]) -> str:
        self.asked += 1
        return found.name


def an_object(name: str = "w", *, kind: type[Any] = Widget, padding: int = 0) -> Object[Any]:
    return Object.of(kind, {"metadata": {"name": name, "annotations": {"x": "x" * padding}}})


def test_an_object_is_decoded_once() -> None:
    decode, found = Decoder(), an_object()
    memo = Memo(decode, objects=2, size=1000)
    assert [memo(found), memo(found)] == ["w", "w"]
    assert decode.asked == 1


def test_two_objects_with_the_same_content_are_two() -> None:
    decode, one, other = Decoder(), an_object(), an_object()
    memo = Memo(decode, objects=2, size=1000)
    memo(one), memo(other)
    assert decode.asked == 2


def test_nothing_is_kept_of_an_object_that_nobody_holds() -> None:
    memo = Memo(Decoder(), objects=2, size=1000)
    found = an_object()
    memo(found)
    assert (len(memo), memo.size) == (1, len(found.raw))
    del found
    assert (len(memo), memo.size) == (0, 0)


def test_nothing_is_kept_of_a_secret() -> None:
    decode, found = Decoder(), an_object(kind=Secret)
    memo = Memo(decode, objects=2, size=1000)
    memo(found), memo(found)
    assert decode.asked == 2
    assert len(memo) == 0


def test_of_many_objects_those_looked_at_last_are_kept() -> None:
    decode, (a, b, c) = Decoder(), map(an_object, "abc")
    memo = Memo(decode, objects=2, size=10_000)
    memo(a), memo(b), memo(a), memo(c)
    assert decode.asked == 3
    memo(a), memo(c)
    assert decode.asked == 3
    memo(b)
    assert decode.asked == 4


def test_no_more_is_kept_than_so_many_bytes() -> None:
    decode, small, large, huge = Decoder(), an_object("s"), an_object("l", padding=700), an_object("h", padding=2000)
    memo = Memo(decode, objects=256, size=1000)
    memo(small), memo(large), memo(huge)
    assert memo.size == len(small.raw) + len(large.raw), "the huge one pushes nobody out"
    other = an_object("o", padding=700)
    memo(other)
    assert memo.size == len(other.raw)
