"""Documents as an API server would hold them, for a model of one.

What a cluster stored has a uid, a resourceVersion and a status, and keeps them: plans depend on them. What somebody
wrote by hand has none, and gets what an API server would give to a new object.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from windlass.api import mapi
from windlass.api.meta import KubernetesObject, ObjectMeta, without_nulls
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.documents import Document, Undecodable
from windlass.machine_sync.documents.outcome import place as place_of
from windlass.machine_sync.planning.deciders import MIRRORED, kinds

Tree = dict[str, Any]


class Given(Struct, frozen=True):
    """The objects, and what there is to say about them: `notes` about what was left out or put right, and `errors`.

    With errors nothing can be planned: an object that is missing in a plan looks like one that does not exist.
    """

    trees: tuple[Tree, ...]
    notes: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def has_machines(self) -> bool:
        """Whether there is anything to plan for."""
        return any(
            (tree["apiVersion"], tree["kind"]) == (kind.RESOURCE.api_version, kind.RESOURCE.kind)
            for tree in self.trees
            for kind in MIRRORED
        )


def take_in(documents: Iterable[Document], namespaces: Namespaces) -> Given:
    """The objects that controllers look at, each once; of other kinds and in other namespaces there may be any."""
    known = {(kind.RESOURCE.group, kind.RESOURCE.kind): kind for kind in kinds()}
    kept: dict[tuple[Any, ...], tuple[Document, Tree]] = {}
    notes: list[str] = []
    errors: list[str] = []
    elsewhere: Counter[tuple[str, str]] = Counter()
    for document in documents:
        kind = known.get((document.group, document.kind))
        if kind is None:
            if not document.api_version and any(name == document.kind for _, name in known):
                errors.append(f"{_place(document)}: apiVersion is missing: add it")
            continue
        try:
            tree = _tree(document, kind, namespaces)
        except ValueError as problem:
            errors.append(f"{_place(document)}: {problem}")
            continue
        place = tree["metadata"].get("namespace", "")
        if kind.RESOURCE.namespaced and place not in namespaces:
            if kind in MIRRORED:
                elsewhere[kind.RESOURCE.kind, place] += 1
            continue
        key = (kind, place, document.name)
        before = kept.get(key)
        if before is not None and before[1] != tree:
            newer, older = sorted((before, (document, tree)), key=lambda one: _version(one[1]), reverse=True)
            notes.append(f"{_place(older[0])}: given more than once, what counts is in {place_of(newer[0])}")
            kept[key] = newer
        else:
            kept[key] = (document, tree)
    notes += [_left_out(kind, place, count, namespaces) for (kind, place), count in elsewhere.items()]
    return Given(tuple(tree for _, tree in kept.values()), tuple(notes), tuple(errors))


def _tree(document: Document, kind: type[KubernetesObject], namespaces: Namespaces) -> Tree:
    """The whole object. ValueError says what is wrong with it."""
    if document.api_version != kind.RESOURCE.api_version:
        served = kind.RESOURCE.api_version
        raise ValueError(f"apiVersion {document.api_version} is not supported, only {served}: get it in that version")
    if not document.name:
        raise ValueError("metadata.name is missing")
    try:
        document.decode(_Identified)
        tree = document.decode(Tree)
    except Undecodable as problem:
        raise ValueError(str(problem)) from None
    metadata = without_nulls(tree["metadata"])
    if not kind.RESOURCE.namespaced:
        metadata.pop("namespace", None)
    elif not document.namespace:
        metadata["namespace"] = _usual(kind, namespaces)
    metadata.setdefault("generation", 1)
    return {**tree, "metadata": metadata}


class _Identified(Struct):
    """What must be readable of any object; the rest may be wrong, and controllers say so."""

    metadata: ObjectMeta


def _usual(kind: type[KubernetesObject], namespaces: Namespaces) -> str:
    return namespaces.machine_api if kind.RESOURCE.group == mapi.Machine.RESOURCE.group else namespaces.cluster_api


def _version(tree: Mapping[str, Any]) -> int:
    """How new an object is; one that no cluster stored is oldest."""
    version = str(tree["metadata"].get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0


def _left_out(kind: str, place: str, count: int, namespaces: Namespaces) -> str:
    what = f"1 {kind}" if count == 1 else f"{count} {kind}s"
    return (
        f"{what} in namespace {place} left out: machines are looked for in {namespaces.machine_api} and "
        f"{namespaces.cluster_api}; --machine-api-namespace and --cluster-api-namespace say otherwise"
    )


def _place(document: Document) -> str:
    return f"{document.kind}/{document.name or '?'} ({place_of(document)})"
