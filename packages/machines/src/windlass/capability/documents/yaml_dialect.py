"""Reads and writes YAML as kubectl does.

kubectl turns YAML into JSON by YAML 1.1, but with Go's numbers and without dates. PyYAML differs in both: it reads
`2024-01-01T00:00:00Z` as a date, `1:30` as ninety and `1e3` as a string. Its dumper quotes only what PyYAML itself
would misread; ours also quotes what kubectl would misread.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from windlass.kube.foreign import harmless_yaml, is_harmless
from windlass.kube.nesting import CUT, TOO_DEEP
from windlass.kube.yaml_composer import Cut, constructs_cuts, documents
from windlass.kube.yaml_reader import BoundedLoader

try:
    from yaml import CSafeDumper as _SafeDumper
except ImportError:  # PyYAML was built without libyaml: ten times slower, otherwise the same
    from yaml import SafeDumper as _SafeDumper  # type: ignore[assignment]

_INT = re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"""^(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?
    |[-+]?[0-9]+[eE][-+]?[0-9]+
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
_CUT_STRING: str = json.loads(CUT)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT_BOOL = re.compile(r"^[yYnN]$")

# Resolved by other patterns, or (`=`, a value of YAML 1.1 that nobody constructs) not at all.
_DROPPED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp", "value"))


class Excessive(ValueError):
    """A tree beyond a limit; the text says which."""


class _Loader(BoundedLoader):
    """Scalars resolve as for kubectl."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's protocol
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _DROPPED]
        for first, resolvers in BoundedLoader.yaml_implicit_resolvers.items()
    }


constructs_cuts(_Loader)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


class _Dumper(_SafeDumper):
    """Strings are quoted if PyYAML or kubectl would take them for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        # Anchors are correct YAML, but nobody expects them in a Kubernetes object.
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_harmless(text) else '"')


_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", _SHORT_BOOL, list("yYnN"))


def load_all(text: str, *, unique_keys: bool = False) -> Iterator[tuple[int, Any]]:
    """Every document in `text` with the line that it starts on, counted from 1. Raises yaml.YAMLError.

    Of a key that is set twice in one mapping the last value counts, as for kubectl; `unique_keys`: it is an error.
    Branches beyond the limits of `yaml_composer` are a `Cut` in the tree, which `as_json` refuses.

    >>> list(load_all("when: 2024-01-01\\n---\\n[yes, 1e3]\\n"))
    [(1, {'when': '2024-01-01'}), (3, [True, 1000.0])]
    """
    loader = _Loader(text)
    try:
        for node in documents(loader, unique_keys=unique_keys):
            yield node.start_mark.line + 1, loader.construct_document(node)
    finally:
        loader.dispose()


def as_json(tree: Any) -> Any:
    """`tree`, of a YAML document, as JSON can say it: string keys, and no half of a surrogate pair.

    Raises Excessive for a tree with a `Cut` in it, of YAML or (`windlass.kube.nesting`) of JSON.

    >>> as_json({1: {True: "a"}})
    {'1': {'true': 'a'}}
    """
    if isinstance(tree, dict):
        return {as_json(_key(key)): as_json(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [as_json(item) for item in tree]
    if isinstance(tree, Cut):
        raise Excessive(tree)
    if isinstance(tree, str):
        if tree == _CUT_STRING:
            raise Excessive(TOO_DEEP)
        return _SURROGATE.sub("\ufffd", tree)
    return tree


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def dump_all(trees: Iterable[Any]) -> str:
    """`trees` as a stream of documents, keys in their order. What a terminal would obey is escaped.

    >>> print(dump_all([{"b": "yes", "a": None}, {"c": "1e3"}]), end="")
    b: 'yes'
    a: null
    ---
    c: '1e3'
    """
    text = yaml.dump_all(trees, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)
    return harmless_yaml(text)
