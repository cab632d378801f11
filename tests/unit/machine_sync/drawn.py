"""Objects to draw: an example with anything JSON can hold in any place of its spec and status, and metadata as the API
server admits it.
"""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from .trees import GONE, SYNC, Tree

MEANINGFUL = ["", "ClusterAPI", "MachineAPI", "Migrating", "True", "Running", "w-0", "ms", "c", "made-by-a-user"]
"""Words that mean something in one place or another."""

TEXT = st.sampled_from(MEANINGFUL) | st.text(max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def disturbed(draw: st.DrawFn, example: Tree, *, times: int = 2) -> Tree:
    """`example` with anything in some places of its spec and status, or new fields there."""
    tree = copy.deepcopy(example)
    for _ in range(draw(st.integers(0, times))):
        part = draw(st.sampled_from(["spec", "status"]))
        content = tree.setdefault(part, {})
        if draw(st.booleans()) and isinstance(content, dict):
            content[draw(TEXT)] = draw(JSON)
        else:
            put(tree, (part, *draw(st.sampled_from(list(places(content))))), draw(JSON))
    return tree


@st.composite
def dressed(draw: st.DrawFn, trees: st.SearchStrategy[Tree], *finalizers: str) -> Tree:
    """With labels, annotations, finalizers and a deletion as they may come."""
    tree = copy.deepcopy(draw(trees))
    metadata = tree["metadata"]
    labels = st.sampled_from(["a", "machine.openshift.io/zone", "cluster.x-k8s.io/set-name"])
    for key in ("labels", "annotations"):
        metadata[key] = {**metadata.get(key, {}), **draw(st.dictionaries(labels, TEXT, max_size=2))}
    metadata["finalizers"] = draw(st.lists(st.sampled_from([*finalizers, SYNC, "others/finalizer"]), unique=True))
    if metadata["finalizers"] and not draw(st.integers(0, 3)):
        metadata.update(GONE)
    return tree


@st.composite
def owned(draw: st.DrawFn, trees: st.SearchStrategy[Tree]) -> Tree:
    """With its own owners, or any others."""
    tree = copy.deepcopy(draw(trees))
    if not draw(st.integers(0, 3)):
        kinds = st.sampled_from(["MachineSet", "Cluster", "Other"])
        versions = st.sampled_from(["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"])
        owner = st.fixed_dictionaries({"kind": kinds, "apiVersion": versions, "name": TEXT, "uid": TEXT})
        tree["metadata"]["ownerReferences"] = draw(st.lists(owner, max_size=2))
    return tree


def or_none(trees: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree | None]:
    return st.one_of(trees, trees, trees, st.none())


def places(tree: Any, *, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a tree."""
    yield at
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, at=(*at, key))


def put(tree: Tree, place: tuple[Any, ...], value: Any) -> None:
    *way, last = place
    for key in way:
        tree = tree[key]
    tree[last] = value
