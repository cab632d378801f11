"""Reads the events of a watch from a stream of bytes that arrives in arbitrary pieces.

A watch line is one JSON document of any length: an object near the size limit and its managedFields make lines of
more than a megabyte, so lines are assembled here and not by an HTTP library with a limit of its own.

    async with transport.stream(path, inactivity=75) as pieces:
        async for event in events(pieces, Machine, request=f"WATCH {path}"):
            print(event.type, event.object.name, event.object.resource_version)

The stream ends normally after the server's `timeoutSeconds`; continue from the last resource version. Every other end
is an error: an ERROR event raises its ApiError (410: `Gone`), an end in the middle of an event raises TransportError,
and so does an event that is not complete after `SLOWEST_EVENT` seconds.
"""

import time
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Generic

import msgspec
from msgspec import Struct

from windlass.api.meta import K
from windlass.kube import decoding
from windlass.kube.client.refusal import read_status
from windlass.kube.errors import ApiError, DecodeError, Status, TransportError, api_error
from windlass.kube.nesting import DEEPEST, cut
from windlass.kube.object import Object

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that follows the initial events of a WatchList."""
SLOWEST_EVENT = 150.0
"""Bytes that never become an event would keep a watch open for ever."""


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing happened up to `object.resource_version`; the object has no other content."""


class Event(Struct, Generic[K], frozen=True):
    """One change. `object` is the state after it; for DELETED the last state, with the version of the deletion."""

    type: EventType
    object: Object[K]

    @property
    def ends_initial_events(self) -> bool:
        """Whether this bookmark ends the initial events: all objects that existed at the start have been sent."""
        return self.type is EventType.BOOKMARK and self.object.metadata.annotations.get(INITIAL_EVENTS_END) == "true"


class _Line(Struct, frozen=True):
    type: str
    object: msgspec.Raw


_LINE = decoding.decoder(_Line)


async def events(
    pieces: AsyncIterator[bytes],
    kind: type[K],
    *,
    request: str,
    on_unreadable: Callable[[DecodeError], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Event[K]]:
    """The events in `pieces`.

    An object whose metadata cannot be read raises DecodeError, or is passed to `on_unreadable` and skipped. Unknown
    event types are skipped.
    """
    async for line in _lines(pieces, request, clock):
        try:
            said = _event(line)
        except msgspec.MsgspecError as error:
            raise TransportError(f"{request}: sent what is not a watch event: {line[:100]!r}") from error
        if said.type == "ERROR":
            raise _refused(said.object, request)
        if said.type not in EventType.__members__:
            continue
        try:
            seen = Object.parse(kind, said.object)
        except DecodeError as error:
            if on_unreadable is None:
                raise
            on_unreadable(error)
            continue
        yield Event(EventType[said.type], seen)


def _event(line: bytes) -> _Line:
    try:
        return _LINE.decode(line)
    except RecursionError:
        return _LINE.decode(cut(line, deepest=DEEPEST + 1))


async def _lines(pieces: AsyncIterator[bytes], request: str, clock: Callable[[], float]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    since = clock()
    async for piece in pieces:
        first, *others = piece.split(b"\n")
        if first and not any(begun):
            since = clock()
        begun.append(first)
        for following in others:
            if line := b"".join(begun):
                yield line
            begun, since = [following], clock()
        if clock() - since > SLOWEST_EVENT and any(begun):
            raise TransportError(f"{request}: sent no whole event for {SLOWEST_EVENT:g} s")
    if last := b"".join(begun):
        try:
            _event(last)
        except msgspec.MsgspecError as error:
            raise TransportError(f"{request}: broke off in the middle of an event") from error
        yield last  # only its newline is missing


def _refused(raw: msgspec.Raw, request: str) -> ApiError:
    status = read_status(raw)
    if status is None:
        status = Status("Failure", f"the watch ended with an error in no known form: {bytes(raw)[:200]!r}", "", 500)
    return api_error(status, request=request)
