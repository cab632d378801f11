"""A stream of documents with the provider's objects in the other version; all others pass unchanged."""

import json
from collections.abc import Sequence
from typing import Final

from windlass.capability.documents import ConversionOutcome, Document, Interest
from windlass.openstack.versions import CLUSTERS, GROUP, MACHINES, convert, is_convertible

INTEREST: Final = Interest(groups=frozenset({GROUP}))
MEANT: Final = " or ".join(sorted(CLUSTERS | MACHINES))


def convert_documents(documents: Sequence[Document], target: str) -> list[ConversionOutcome]:
    """The outcome for each document, in their order; none at all if none can be converted."""
    if not any(is_convertible(document.kind, document.group) for document in documents):
        return []
    return [_outcome(document, target) for document in documents]


def _outcome(document: Document, target: str) -> ConversionOutcome:
    if document.excess:
        return ConversionOutcome(document.title, errors=(f"object: {document.excess} ({document.place})",))
    tree = json.loads(document.body) if isinstance(document.body, bytes) else document.body
    # The items of a list may leave out what the list says.
    said = {"apiVersion": document.api_version, "kind": document.kind}
    tree = {**{key: value for key, value in said.items() if value}, **tree}
    if not is_convertible(document.kind, document.group):
        return ConversionOutcome(document.title, results=(tree,))
    converted = convert(tree, target)
    results = (converted.tree,) if converted.tree is not None else ()
    return ConversionOutcome(document.title, results, converted.errors, converted.warnings)
