"""A Kubernetes object as the API server sent it: raw JSON, decoded on demand.

Caches hold thousands of objects and read few of them at a time, so an `Object` keeps the bytes and its identity.
managedFields, half of the bytes, are dropped: no decision depends on them. `decode()` gives the typed view for rules.
`tree()` gives the untyped one for writes: types drop fields they do not declare, and patches must not. An object that
is nested too deeply (`windlass.kube.nesting`) keeps its identity, but decoding it raises DecodeError.
"""

from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from windlass.api.meta import K, ObjectMeta, without_nulls
from windlass.kube import decoding
from windlass.kube.errors import DecodeError
from windlass.kube.nesting import CUT, TOO_DEEP, cut, is_deep

T = TypeVar("T")

NamespacedName: TypeAlias = tuple[str | None, str]
"""(namespace, name); the namespace is None for cluster-scoped kinds."""

_ENVELOPE = decoding.decoder(dict[str, msgspec.Raw])
_ANY = msgspec.json.Decoder()
_META = decoding.decoder(ObjectMeta)
_ENCODE = msgspec.json.Encoder().encode


class _Holder(msgspec.Struct, gc=False):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


_HOLDER = decoding.decoder(_Holder)


class Object(Generic[K]):
    """One object of kind `kind`.

    `resource_version` orders writes to one object (Kubernetes promises comparable integers since 1.35, and etcd has
    always behaved so). `deleting` is whether a deletionTimestamp is set.
    """

    __slots__ = ("__weakref__", "deleting", "generation", "kind", "name", "namespace", "raw", "resource_version", "uid")

    def __init__(self, kind: type[K], raw: bytes, meta: ObjectMeta) -> None:
        self.kind = kind
        self.raw = raw
        self.name = meta.name
        self.namespace = meta.namespace or None
        self.uid = meta.uid
        self.resource_version = meta.resource_version
        self.generation = meta.generation
        self.deleting = meta.deletion_timestamp is not None

    @classmethod
    def parse(cls, kind: type[K], raw: bytes | msgspec.Raw) -> "Object[K]":
        """Parse the server's JSON. Raises DecodeError if it is not an object with readable metadata."""
        try:
            try:
                whole, meta = _taken_in(raw)
                if is_deep(whole):
                    whole, meta = _taken_in(cut(whole))
            except RecursionError:
                whole, meta = _taken_in(cut(bytes(raw)))
        except msgspec.MsgspecError as error:
            raise DecodeError(f"{kind.RESOURCE}: not a Kubernetes object: {error}") from error
        return cls(kind, whole, meta)

    @classmethod
    def of(cls, kind: type[K], tree: Any) -> "Object[K]":
        """The object that the plain JSON tree `tree` describes."""
        return cls.parse(kind, _ENCODE(tree))

    @property
    def key(self) -> NamespacedName:
        return self.namespace, self.name

    @property
    def metadata(self) -> ObjectMeta:
        """Decoded afresh at each call: about 2 us."""
        return _HOLDER.decode(self.raw).metadata

    def decode(self) -> K:
        """The typed view. Raises DecodeError that names object, field and what was expected there."""
        if CUT in self.raw:
            raise DecodeError(f"{self._named}: {TOO_DEEP}")
        try:
            return decoding.decode(self.raw, self.kind)
        except msgspec.ValidationError:
            pass
        try:
            return decoding.convert(without_nulls(self.tree()), self.kind)
        except msgspec.ValidationError as error:
            raise DecodeError(f"{self._named}: {error}") from error

    @property
    def _named(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.RESOURCE.kind} {place}{self.name}"

    def glimpse(self, shape: type[T]) -> T | None:
        """The fields that `shape`, a Struct, declares, even if others are malformed; None if those fields are too."""
        try:
            return decoding.decode(self.raw, shape)
        except msgspec.ValidationError:
            return None

    def tree(self) -> dict[str, Any]:
        """A fresh untyped copy, which the caller may change."""
        return plain(self.raw)

    def __repr__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"<{self.kind.RESOURCE} {place}{self.name} rv={self.resource_version}>"


def _taken_in(raw: bytes | msgspec.Raw) -> tuple[bytes, ObjectMeta]:
    """The JSON without managedFields, and its metadata."""
    top = _ENVELOPE.decode(raw)
    fields = _ENVELOPE.decode(top.get("metadata", b"{}"))
    fields.pop("managedFields", None)
    metadata = _ENCODE(fields)
    try:
        meta = _META.decode(metadata)
    except msgspec.ValidationError:
        # `labels: null`: Go programs read null as absent, and servers in other languages write it.
        metadata = _ENCODE(without_nulls(_ANY.decode(metadata)))
        meta = _META.decode(metadata)
    top["metadata"] = msgspec.Raw(metadata)
    # The copy has the exact size: the encoder's buffer is about half again as large, and caches keep thousands.
    return bytes(memoryview(_ENCODE(top))), meta


def plain(raw: bytes) -> dict[str, Any]:
    """The untyped tree of an object's JSON."""
    value: dict[str, Any] = _ANY.decode(raw)
    return value
