"""Completes documents as an API server would store them, for a model of one.

An object from a cluster keeps its uid, resourceVersion and status, because plans depend on them. An object written by
hand has none, and gets those that an API server gives to a new object.

If an object is given more than once, the later input counts, so that a user can ask for the effect of a change. Within
one input, such as a must-gather, the newer version counts. As on an API server, a changed object keeps its identity
and status, and its generation counts the change.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject, ObjectMeta, without_nulls
from windlass.capability.documents import Document, Undecodable

Tree = dict[str, Any]


Default = tuple[Sequence[str], str, Any]
"""The path of a map, a field in it, and the default value of that field."""


class Scope(Struct, frozen=True, kw_only=True):
    """The objects that the controllers of a capability read.

    kinds       all kinds that they may read or write, on any cluster
    subjects    the kinds that plans are about
    filled      the kinds whose status they set: without a status, only the first step can be planned
    namespaces  the namespaces that they read; empty for all
    home        the namespace of a kind, for a document that has none
    defaults    the CRDs' defaults of fields that decisions depend on
    elsewhere   the note about a subject in another namespace: why it is left out, and what to do
    older       earlier apiVersions, and what makes an object of today of one of these
    """

    kinds: tuple[type[KubernetesObject], ...]
    subjects: tuple[type[KubernetesObject], ...]
    filled: tuple[type[KubernetesObject], ...] = ()
    namespaces: tuple[str, ...] = ()
    home: Callable[[type[KubernetesObject]], str] = lambda _: "default"
    defaults: Mapping[type[KubernetesObject], Sequence[Default]] = {}
    elsewhere: str = ""
    older: Mapping[str, Callable[[Tree], Tree]] = {}


class Given(Struct, frozen=True):
    """The objects, `notes` about omissions and corrections, and `errors`.

    With errors nothing can be planned: an object that could not be read looks like one that does not exist.
    """

    trees: tuple[Tree, ...]
    notes: tuple[str, ...]
    errors: tuple[str, ...]

    def count(self, kinds: Iterable[type[KubernetesObject]], *, without_status: bool = False) -> int:
        """How many of the objects are of `kinds`; `without_status`: only those without a status."""
        wanted = {(kind.RESOURCE.api_version, kind.RESOURCE.kind) for kind in kinds}
        return sum(
            (tree["apiVersion"], tree["kind"]) in wanted and not (without_status and tree.get("status"))
            for tree in self.trees
        )


def take_in(documents: Iterable[Document], scope: Scope) -> Given:
    """The objects that controllers read, each once. Other kinds and namespaces are allowed and left out."""
    known = {(kind.RESOURCE.group, kind.RESOURCE.kind): kind for kind in scope.kinds}
    kept: dict[tuple[Any, ...], _Placed] = {}
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
            tree = _tree(document, kind, scope)
        except ValueError as problem:
            errors.append(f"{_place(document)}: {problem}")
            continue
        place = tree["metadata"].get("namespace", "")
        if kind.RESOURCE.namespaced and scope.namespaces and place not in scope.namespaces:
            if kind in scope.subjects:
                elsewhere[kind.RESOURCE.kind, place] += 1
            continue
        key = (kind, place, document.name)
        before = kept.get(key)
        if before is None or before[1] == tree:
            kept[key] = (document, tree)
            continue
        counts, other = _that_counts(before, (document, tree))
        notes.append(_twice(counts, other))
        kept[key] = (counts[0], _changed(other[1], counts[1])) if counts[0].layer > other[0].layer else counts
    notes += [_left_out(kind, place, count, scope) for (kind, place), count in elsewhere.items()]
    return Given(tuple(tree for _, tree in kept.values()), tuple(notes), tuple(errors))


def _tree(document: Document, kind: type[KubernetesObject], scope: Scope) -> Tree:
    """The whole object. ValueError says what is wrong with it."""
    convert = scope.older.get(document.api_version)
    if document.api_version != kind.RESOURCE.api_version and convert is None:
        served = kind.RESOURCE.api_version
        raise ValueError(f"apiVersion {document.api_version} is not supported, only {served}: get it in that version")
    if not document.name:
        raise ValueError("metadata.name is missing")
    try:
        document.decode(_Identified)
        tree = document.decode(Tree)
        tree = convert(tree) if convert is not None else tree
    except Undecodable as problem:
        raise ValueError(str(problem)) from None
    metadata = without_nulls(tree["metadata"])
    if not kind.RESOURCE.namespaced:
        metadata.pop("namespace", None)
    elif not document.namespace:
        metadata["namespace"] = scope.home(kind)
    metadata.setdefault("generation", 1)
    for path, field, value in scope.defaults.get(kind, ()):
        tree = _filled(tree, path, field, value)
    return {**tree, "apiVersion": kind.RESOURCE.api_version, "kind": document.kind, "metadata": metadata}


def _filled(tree: Any, path: Sequence[str], field: str, value: Any) -> Any:
    """`tree` with a field that is absent or null in the mapping at `path`, if that is there."""
    if not isinstance(tree, dict):
        return tree
    if not path:
        return {**tree, field: value} if tree.get(field) is None else tree
    return {**tree, path[0]: _filled(tree[path[0]], path[1:], field, value)} if path[0] in tree else tree


class _Identified(Struct):
    """The part of an object that must be readable; controllers report errors in the rest."""

    metadata: ObjectMeta


_Placed = tuple[Document, Tree]


def _that_counts(earlier: _Placed, later: _Placed) -> tuple[_Placed, _Placed]:
    """The one of two documents for an object that counts, then the other."""
    if later[0].layer == earlier[0].layer and _version(later[1]) < _version(earlier[1]):
        return earlier, later
    return later, earlier


def _twice(counts: _Placed, other: _Placed) -> str:
    new, old = _version(counts[1]), _version(other[1])
    although = f", although its resourceVersion is older, {new} and not {old}" if 0 < new < old else ""
    return f"{_place(other[0])}: given more than once, what counts is in {counts[0].place}{although}"


_STORED = ("uid", "resourceVersion", "creationTimestamp")
"""The metadata that an API server sets and nobody can change."""


def _changed(before: Tree, after: Tree) -> Tree:
    """`after`, as an API server would store it over `before`; two different uids are two objects."""
    stored, metadata = before["metadata"], dict(after["metadata"])
    if stored.get("uid") != metadata.get("uid", stored.get("uid")):
        return after
    metadata = {**{key: stored[key] for key in _STORED if key in stored}, **metadata}
    if isinstance(stored["generation"], int) and isinstance(metadata["generation"], int):
        counted = stored["generation"] + (before.get("spec") != after.get("spec"))
        metadata["generation"] = max(metadata["generation"], counted)
    kept = {"status": before["status"]} if "status" in before and "status" not in after else {}
    return {**after, "metadata": metadata, **kept}


def _version(tree: Mapping[str, Any]) -> int:
    """How new an object is; one that no cluster stored is oldest."""
    version = str(tree["metadata"].get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0


def _left_out(kind: str, place: str, count: int, scope: Scope) -> str:
    what = f"1 {kind}" if count == 1 else f"{count} {kind}s"
    because = f": {scope.elsewhere}" if scope.elsewhere else ""
    return f"{what} in namespace {place} left out{because}"


def _place(document: Document) -> str:
    return f"{document.kind}/{document.name or '?'} ({document.place})"
