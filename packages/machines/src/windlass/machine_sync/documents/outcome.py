"""What all conversions of Machines and MachineSets among documents share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import structs

from windlass.api.meta import Resource
from windlass.capability.documents import ConversionOutcome, Document, Undecodable
from windlass.machine_sync.documents.pairing import DocumentIndex

T = TypeVar("T")


class Refused(Exception):
    """The object cannot be converted; the text says why."""


def decoded(document: Document, kind: type[T], resource: Resource) -> T:
    """The object that is to be converted. Raises Refused."""
    if document.api_version not in ("", resource.api_version):
        served = resource.api_version
        raise Refused(f"apiVersion: {document.api_version} is not supported, only {served}: get it in that version")
    try:
        return document.decode(kind)
    except Undecodable as problem:
        raise Refused(f"{problem} ({document.place})") from None


class Referred:
    """Decoded documents that others refer to; each is decoded once, because many Machines share a cluster."""

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
                raise Refused(f"{document.title}: {problem} ({document.place})") from None
        return self._decoded[document]


Convert = Callable[[Document, DocumentIndex, Referred, list[str]], ConversionOutcome]
"""Converts a document; it adds remarks to the notes of the outcome. Raises Refused."""


def outcomes(
    documents: Iterable[Document], converters: Mapping[Resource, Convert], *, namespace: str
) -> Iterator[ConversionOutcome]:
    """The outcome for each document of one of these kinds, in their order; without an apiVersion, by its content.

    All results are in `namespace`: a Machine's two objects must be in one, even if the document named another.
    """
    documents = list(documents)
    index, referred = DocumentIndex(documents), Referred()
    for document in documents:
        for resource, convert in converters.items():
            if document.kind == resource.kind and document.group in (resource.group, ""):
                again = index.said_again(document)
                notes = [again] if again else []
                try:
                    outcome = convert(document, index, referred, notes)
                    yield structs.replace(outcome, results=tuple(_in(namespace, one) for one in outcome.results))
                except Refused as problem:
                    yield ConversionOutcome(document.title, errors=(str(problem),), notes=tuple(notes))


def _in(namespace: str, result: Any) -> Any:
    return structs.replace(result, metadata=structs.replace(result.metadata, namespace=namespace))


def check_content(document: Document, resource: Resource, notes: list[str], *, api: str, is_one: bool) -> None:
    """A document without an apiVersion is recognized by its content: `is_one` of `api`. Raises Refused."""
    if document.api_version:
        return
    if not is_one:
        text = f"missing, and no {api} {document.kind} by its content; say {resource.api_version} if it is one"
        raise Refused(f"apiVersion: {text}")
    notes.append(f"has no apiVersion, taken as {resource.api_version}")
