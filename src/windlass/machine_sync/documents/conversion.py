"""From documents to Machines of the Machine API.

Only Machines of Cluster API are converted; whatever else the input holds is there to be referred to, or of no concern.
Each Machine succeeds or fails by itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.machine_sync.conversion.gojson import quote
from windlass.machine_sync.documents.pairing import Inventory
from windlass.machine_sync.documents.reading import Document, Undecodable
from windlass.machine_sync.platforms import PLATFORMS, platform_of_kind

_KIND = capi.Machine.RESOURCE.kind
_GROUP = capi.Machine.RESOURCE.group
_API_VERSION = capi.Machine.RESOURCE.api_version
_INFRA_KINDS = ", ".join(platform.infra_machine.RESOURCE.kind for platform in PLATFORMS.values())


class Outcome(Struct, frozen=True):
    """What became of one Machine, named `<kind>/<name>` by `object`.

    Either `machine` is set or `errors` are. `notes` are remarks about how the documents were put together.
    """

    object: str
    machine: mapi.Machine | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def convert_to_machine_api(documents: Iterable[Document]) -> Iterator[Outcome]:
    """The outcome for every Cluster API Machine among `documents`, in their order."""
    documents = list(documents)
    inventory = Inventory(documents)
    infrastructure: dict[Document, Any] = {}
    for document in documents:
        if document.kind == _KIND and document.group in (_GROUP, ""):
            yield _outcome(document, inventory, infrastructure)


def _outcome(document: Document, inventory: Inventory, infrastructure: dict[Document, Any]) -> Outcome:
    """`infrastructure` remembers what was decoded: many Machines share one cluster."""
    name = f"{_KIND}/{document.name}"
    if document.api_version not in ("", _API_VERSION):
        text = f"apiVersion: {document.api_version} is not supported, only {_API_VERSION}: get it in that version"
        return Outcome(name, errors=(text,))
    try:
        machine = document.decode(capi.Machine)
    except Undecodable as problem:
        return Outcome(name, errors=(f"{problem} ({_place(document)})",))

    reference = machine.spec.infrastructure_ref
    if not document.api_version and not reference.kind:
        text = f"apiVersion: missing, and no Cluster API Machine by its content; say {_API_VERSION} if it is one"
        return Outcome(name, errors=(text,))
    platform = platform_of_kind(reference.kind)
    if platform is None or platform.infra_machine.RESOURCE.kind != reference.kind:
        text = f"spec.infrastructureRef.kind: {quote(reference.kind)} is not supported, only {_INFRA_KINDS}"
        return Outcome(name, errors=(text,))
    infra_machine = inventory.infra_machine(document, reference)
    infra_cluster = inventory.infra_cluster(document, machine.spec.cluster_name, platform.infra_cluster.RESOURCE.kind)
    notes = tuple(found.note for found in (infra_machine, infra_cluster) if found.note)
    if not document.api_version:
        notes = (f"has no apiVersion, taken as {_API_VERSION}", *notes)
    try:
        converted = platform.to_machine_api(
            machine,
            _decoded(infra_machine.document, platform.infra_machine, infrastructure),
            _decoded(infra_cluster.document, platform.infra_cluster, infrastructure),
        )
    except Undecodable as problem:
        return Outcome(name, errors=(str(problem),), notes=notes)
    return Outcome(name, converted.machine, converted.errors, converted.warnings, notes)


def _decoded(document: Document | None, kind: type, infrastructure: dict[Document, Any]) -> Any:
    if document is None:
        return None
    if document not in infrastructure:
        try:
            infrastructure[document] = document.decode(kind)
        except Undecodable as problem:
            raise Undecodable(f"{document.kind}/{document.name}: {problem} ({_place(document)})") from None
    return infrastructure[document]


def _place(document: Document) -> str:
    return f"{document.source}:{document.line}"
