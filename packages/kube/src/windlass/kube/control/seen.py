"""The result of reading one object: it is present, absent, unreadable, or its kind is not served.

A decision that treats "absent" and "unknown" alike loses data, so a snapshot never holds a bare None.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from windlass.api.meta import K, ObjectMeta
from windlass.kube.control.memo import Memo
from windlass.kube.errors import DecodeError, NotFound, NotServed
from windlass.kube.object import Object, plain

T = TypeVar("T")


class Present(Struct, Generic[K], frozen=True, dict=True):
    """The object is there and readable.

    `object` is the typed view that rules read. `tree` is everything the server sent (without managedFields),
    from which writes are computed. Neither may be changed: the next reader may get the same values.
    """

    object: K
    raw: bytes

    @cached_property
    def tree(self) -> Mapping[str, Any]:
        return plain(self.raw)

    @property
    def metadata(self) -> ObjectMeta:
        return self.object.metadata

    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    def derived(self, rule: Callable[["Present[K]"], T]) -> T:
        """What the rule makes of the object alone, computed once."""
        if rule not in self._derived:
            self._derived[rule] = rule(self)
        found: T = self._derived[rule]
        return found

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
    """The API server does not serve the kind now: its CRD is missing or being replaced. The object may exist."""

    why: str


class ForbiddenKind(Struct, frozen=True):
    """The kind is watched as optional, and may not be listed: whether there are objects is unknown."""

    why: str


Seen: TypeAlias = Present[K] | Absent | Unreadable | NotServedKind


def metadata_of(found: Seen[Any]) -> ObjectMeta | None:
    """The metadata of a present object, readable or not; None if it is absent."""
    return found.metadata if isinstance(found, Present | Unreadable) else None


def seen(found: Object[K] | None, *, confirmed: bool = False) -> Seen[K]:
    """Decode what a cache or a GET returned."""
    return Absent(confirmed=confirmed) if found is None else _READ(found)


async def answered(answer: Awaitable[Object[K] | None], kind: type[K], name: str, *, namespace: str | None) -> Seen[K]:
    """Decode the `answer` of the API server to one GET. Raises the KubeErrors that say nothing about the object."""
    try:
        return seen(await answer, confirmed=True)
    except NotServed as error:
        return NotServedKind(f"{kind.RESOURCE} is not served: {error}")
    except NotFound:
        return Absent(confirmed=True)
    except DecodeError as error:
        return Unreadable(ObjectMeta(name=name, namespace=namespace or ""), str(error))


def read(found: Object[K]) -> Present[K] | Unreadable:
    """Decode the object without keeping the result."""
    try:
        return Present(found.decode(), found.raw)
    except DecodeError as error:
        return Unreadable(found.metadata, str(error))


_READ: Memo[Present[Any] | Unreadable] = Memo(read, objects=256, size=2**22)


class Reader(Protocol):
    """Reads objects: from caches and the API server (`windlass.kube.control.reader`), or from a model of one."""

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """Look at one object.

        `confirm`: the decision relies on an absence, so ask the API server. `live`: it relies on a presence too.
        """
        ...


class IndexedReader(Reader, Protocol):
    """Reads objects, and finds cached ones by an index."""

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The objects for which `index` gives `value`, for decisions."""
        ...

    def known(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The same, for waking keys: while the kind is not served, the objects that were known before."""
        ...


class ListingReader(IndexedReader, Protocol):
    """The same, and lists objects of kinds that are too many to be cached, such as Pods."""

    async def listed(
        self, kind: type[K], *, label_selector: str = "", field_selector: str = "", namespace: str | None = None
    ) -> list[Seen[K]]:
        """The objects that the API server selects now; in all namespaces without `namespace`."""
        ...
