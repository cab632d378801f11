"""What a look at one object found: it is there, it is not, it cannot be read, or its kind is not served.

A decision that treats "not there" and "could not tell" alike loses data, so a snapshot never holds a bare None.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias

from msgspec import Struct

from windlass.api.meta import K, ObjectMeta
from windlass.kube.control.memo import Memo
from windlass.kube.errors import DecodeError
from windlass.kube.object import Object, plain


class Present(Struct, Generic[K], frozen=True, dict=True):
    """The object is there and readable.

    `object` is the typed view that rules read. `tree` is everything the server sent (without managedFields),
    from which writes are computed. Neither may be changed: whoever looks next may get the same.
    """

    object: K
    raw: bytes

    @cached_property
    def tree(self) -> Mapping[str, Any]:
        return plain(self.raw)

    @property
    def metadata(self) -> ObjectMeta:
        return self.object.metadata

    @property
    def deleting(self) -> bool:
        return self.object.metadata.deletion_timestamp is not None


class Absent(Struct, frozen=True):
    """No object of that name. `confirmed`: the API server itself said so just now, not only a cache."""

    confirmed: bool = False


class Unreadable(Struct, frozen=True):
    """The object is there, but its content does not have the shape of its type; `why` names the field."""

    metadata: ObjectMeta
    why: str


class NotServedKind(Struct, frozen=True):
    """The API server does not know the kind, now: its CRD is not installed, or being replaced. Nobody can tell."""

    why: str


Seen: TypeAlias = Present[K] | Absent | Unreadable | NotServedKind


def metadata_of(found: Seen[Any]) -> ObjectMeta | None:
    """The metadata of what is there, readable or not; None if it is not there."""
    return found.metadata if isinstance(found, Present | Unreadable) else None


def seen(found: Object[K] | None, *, confirmed: bool = False) -> Seen[K]:
    """Decode what a cache or a GET returned."""
    return Absent(confirmed=confirmed) if found is None else _READ(found)


def read(found: Object[K]) -> Present[K] | Unreadable:
    """Decode what is there, and keep nothing."""
    try:
        return Present(found.decode(), found.raw)
    except DecodeError as error:
        return Unreadable(found.metadata, str(error))


_READ: Memo[Present[Any] | Unreadable] = Memo(read, objects=256, size=2**22)


class Reader(Protocol):
    """Who looks: the caches with an eye on the API server (`windlass.kube.control.reader`), or a model of one."""

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """Look at one object.

        `confirm`: an absence decides something, so have the API server itself say so. `live`: a presence does too.
        """
        ...
