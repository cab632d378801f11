"""What became of one Machine or MachineSet among documents, and what conversion of any of them needs."""

from typing import Any, TypeVar

from msgspec import Struct

from windlass.api.meta import Resource
from windlass.machine_sync.documents.reading import Document, Undecodable

T = TypeVar("T")


class Outcome(Struct, frozen=True):
    """What became of one object, named `<kind>/<name>` by `object`.

    Either `results` are there or `errors` are; to Cluster API there are two results, the second is the infrastructure
    object. `notes` are remarks about how the documents were put together.
    """

    object: str
    results: tuple[Any, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Refused(Exception):
    """The object cannot be converted; the text says why."""


def is_candidate(document: Document, resource: Resource) -> bool:
    """Whether `document` is, or without an apiVersion may be, of the kind of `resource`."""
    return document.kind == resource.kind and document.group in (resource.group, "")


def decoded(document: Document, kind: type[T], resource: Resource) -> T:
    """The object that is to be converted. Raises Refused."""
    if document.api_version not in ("", resource.api_version):
        served = resource.api_version
        raise Refused(f"apiVersion: {document.api_version} is not supported, only {served}: get it in that version")
    try:
        return document.decode(kind)
    except Undecodable as problem:
        raise Refused(f"{problem} ({place(document)})") from None


class Referred:
    """Decoded documents that others refer to; each is decoded once, for many Machines share a cluster."""

    def __init__(self) -> None:
        self._decoded: dict[Document, Any] = {}

    def decode(self, document: Document | None, kind: type) -> Any:
        """The document as `kind`, None if there is none. Raises Refused."""
        if document is None:
            return None
        if document not in self._decoded:
            try:
                self._decoded[document] = document.decode(kind)
            except Undecodable as problem:
                raise Refused(f"{document.kind}/{document.name}: {problem} ({place(document)})") from None
        return self._decoded[document]


def place(document: Document) -> str:
    """Where the document starts, as `source:line`."""
    return f"{document.source}:{document.line}"
