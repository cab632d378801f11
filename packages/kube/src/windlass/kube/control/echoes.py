"""Recognises the watch events of our own writes, so that they do not wake the key that wrote them.

A reconcile ends when an observation of its own writes finds nothing more to do, or when it fails and its key is
retried. So the event of such a write brings nothing new to that key, and would cost one more reconcile. Other keys are
woken by it.

    echoes: Echoes[str] = Echoes()
    echoes.begin("worker-1")                     # the key is in work from now on
    echoes.expect("worker-1", answer)            # what the API server answered to a write by this key
    echoes.holds("worker-1", change.new)         # True: no reason to wake the key, or not yet
    echoes.end("worker-1")                       # True: there was news meanwhile, so wake it now

An echo may arrive before the answer to its write. Therefore nothing wakes a key in work: events for it are kept until
it is done, and then compared with all answers.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeAlias, TypeVar

from windlass.kube.object import Object

Key = TypeVar("Key", bound=Hashable)

Version: TypeAlias = tuple[str, str]
"""(uid, resourceVersion): one state of one object."""

REMEMBERED = 2048
"""Writes remembered: far more than can await their echo at a time."""


class Echoes(Generic[Key]):
    """The last writes of a controller with the key that wrote each, and the events for keys in work."""

    def __init__(self) -> None:
        self._writers: OrderedDict[Version, Key] = OrderedDict()
        self._told: dict[Key, list[Version]] = {}

    def begin(self, key: Key) -> None:
        """`key` is in work from now on."""
        self._told[key] = []

    def expect(self, key: Key, written: Object[Any]) -> None:
        """The API server answered a write by `key` with this object."""
        self._writers[_version(written)] = key
        if len(self._writers) > REMEMBERED:
            self._writers.popitem(last=False)

    def holds(self, key: Key, told: Object[Any] | None) -> bool:
        """Whether `key` need not be woken by this state of an object (None: it is gone, which always wakes)."""
        if told is None:
            return False
        version = _version(told)
        if self._writers.get(version) == key:
            return True
        kept = self._told.get(key)
        if kept is None:
            return False
        kept.append(version)
        return True

    def end(self, key: Key) -> bool:
        """`key` is done. Returns whether an event that is not its own write came meanwhile."""
        return any(self._writers.get(version) != key for version in self._told.pop(key, ()))


def _version(found: Object[Any]) -> Version:
    return found.uid, found.resource_version
