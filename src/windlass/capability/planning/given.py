"""Documents as an API server would hold them, for a model of one.

What a cluster stored has a uid, a resourceVersion and a status, and keeps them: plans depend on them. What somebody
wrote by hand has none, and gets what an API server would give to a new object.

Of an object that is given more than once, the later input counts, for that is how somebody asks what a change would do;
within one input, as in a must-gather, the newer version. An API server would keep the identity and the status of what
somebody changes, and count the change, and so it is here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject, ObjectMeta, without_nulls
from windlass.capability.documents import Document, Undecodable

Tree = dict[str, Any]


Default = tuple[Sequence[str], str, Any]
"""Below the fields of a path, a field and the value that it has if nobody gave it one."""


class Scope(Struct, frozen=True, kw_only=True):
    """What the controllers of a capability look at.

    kinds       everything that they may look at or write, on any cluster
    subjects    of these, the kinds that plans are about
    filled      of these, the kinds whose status is theirs to fill: without one, only the first step can be planned
    namespaces  where they look; empty for everywhere
    home        the namespace of a kind, for a document that has none
    defaults    what CRDs say of fields that decisions depend on
    elsewhere   what to tell about a subject in another namespace: why it is left out, and what to do
    """

    kinds: tuple[type[KubernetesObject], ...]
    subjects: tuple[type[KubernetesObject], ...]
    filled: tuple[type[KubernetesObject], ...] = ()
    namespaces: tuple[str, ...] = ()
    home: Callable[[type[KubernetesObject]], str] = lambda _: "default"
    defaults: Mapping[type[KubernetesObject], Sequence[Default]] = {}
    elsewhere: str = ""


class Given(Struct, frozen=True):
    """The objects, and what there is to say about them: `notes` about what was left out or put right, and `errors`.

    With errors nothing can be planned: an object that is missing in a plan looks like one that does not exist.
    """

    trees: tuple[Tree, ...]
    notes: tuple[str, ...]
    errors: tuple[str, ...]

    def count(self, kinds: Iterable[type[KubernetesObject]], *, without_status: bool = False) -> int:
        """How many of them are of `kinds`; `without_status`: that nobody has looked at yet."""
        wanted = {(kind.RESOURCE.api_version, kind.RESOURCE.kind) for kind in kinds}
        return sum(
            (tree["apiVersion"], tree["kind"]) in wanted and not (without_status and tree.get("status"))
            for tree in self.trees
        )


def take_in(documents: Iterable[Document], scope: Scope) -> Given:
    """The objects that controllers look at, each once; of other kinds and in other namespaces there may be any."""
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
        metadata["namespace"] = scope.home(kind)
    metadata.setdefault("generation", 1)
    for path, field, value in scope.defaults.get(kind, ()):
        tree = _filled(tree, path, field, value)
    return {"apiVersion": document.api_version, "kind": document.kind, **tree, "metadata": metadata}


def _filled(tree: Any, path: Sequence[str], field: str, value: Any) -> Any:
    """`tree` with a field that is absent or null in the mapping at `path`, if that is there."""
    if not isinstance(tree, dict):
        return tree
    if not path:
        return {**tree, field: value} if tree.get(field) is None else tree
    return {**tree, path[0]: _filled(tree[path[0]], path[1:], field, value)} if path[0] in tree else tree


class _Identified(Struct):
    """What must be readable of any object; the rest may be wrong, and controllers say so."""

    metadata: ObjectMeta


_Placed = tuple[Document, Tree]


def _that_counts(earlier: _Placed, later: _Placed) -> tuple[_Placed, _Placed]:
    """Of two that are given for one object the one that counts, and the other."""
    if later[0].layer == earlier[0].layer and _version(later[1]) < _version(earlier[1]):
        return earlier, later
    return later, earlier


def _twice(counts: _Placed, other: _Placed) -> str:
    new, old = _version(counts[1]), _version(other[1])
    although = f", although its resourceVersion is older, {new} and not {old}" if 0 < new < old else ""
    return f"{_place(other[0])}: given more than once, what counts is in {counts[0].place}{although}"


_STORED = ("uid", "resourceVersion", "creationTimestamp")
"""What an API server gives to an object and nobody can change."""


def _changed(before: Tree, after: Tree) -> Tree:
    """`after`, as an API server would hold it if it had held `before`; two with uids of their own are two objects."""
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
