"""Reads the YAML of others: a document that would crash or freeze the process is refused like one that is malformed.

| document | refused because of |
|---|---|
| nested deeply, or made large by aliases | the limits of `yaml_composer` |
| a number of many digits, such as `1:1:1:...` | `DIGITS`: Python takes quadratic time for it |
| of too many values | the caller's `most`: a value takes 5 µs, an empty one too |
| `!!int x`, `!!bool x`, `!name x` | the value is not of its type, or nobody knows the type |

A file of megabytes takes seconds although it is harmless; where others choose its size, the caller gives a limit.
"""

import math
from typing import Any, Final

import yaml

from windlass.kube.nesting import DEEPEST, TOO_DEEP
from windlass.kube.yaml_composer import CUT, LARGEST, documents

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML was built without libyaml: ten times slower, otherwise the same
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

DIGITS: Final = 1000
"""Characters of a number."""

_NUMBERS: Final = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_DATE: Final = "tag:yaml.org,2002:timestamp"
_TEXT: Final = "tag:yaml.org,2002:str"
_MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class BoundedLoader(_SafeLoader):
    """PyYAML's safe loader, whose only errors are those of YAML, and which takes no quadratic time for a number."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > DIGITS:
            raise _wrong(f"a number of more than {DIGITS} characters", node)
        try:
            return super().construct_object(node, deep)
        except _MALFORMED:
            raise _wrong("the value is not of its type", node) from None


class _StrictLoader(BoundedLoader):
    """Refuses a document beyond a limit, at the place where it is. Its errors never quote a value, which may be a
    password.

    A plain 2026-01-01 or 1:30 is text, as for Go programs. YAML 1.1 reads a date and the number 90.
    """

    def __init__(self, text: str | bytes, most: float) -> None:
        super().__init__(text)
        self._most = self._left = most
        self._level = 0

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return _TEXT if tag == _DATE or (tag in _NUMBERS and ":" in value) else tag

    def get_event(self) -> Any:
        event: Any = super().get_event()
        if isinstance(event, yaml.NodeEvent):
            self._left -= 1
            self._level += isinstance(event, yaml.CollectionStartEvent)
        else:
            self._level -= isinstance(event, yaml.CollectionEndEvent)
        if self._left < 0 or self._level > DEEPEST:
            problem = TOO_DEEP if self._left >= 0 else f"it has more than {self._most} values"
            raise yaml.composer.ComposerError(problem=problem, problem_mark=event.start_mark)
        return event


def load(text: str | bytes, *, longest: int | None = None, most: float = math.inf, unique_keys: bool = False) -> Any:
    """The only document of `text`, None if it is empty. Raises yaml.YAMLError.

    `longest`: the most characters of `text`, and of what its aliases add; None: no limit for the text. `most`: values,
    keys among them. `unique_keys`: a key that is set twice in one map is an error.

    >>> load("a: &a [1, 2]\\nb: *a\\n")
    {'a': [1, 2], 'b': [1, 2]}
    """
    if longest is not None and len(text) > longest:
        raise yaml.YAMLError(f"it has more than {longest // 2**10} KiB")
    loader = _StrictLoader(text, most)
    try:
        found = documents(loader, unique_keys=unique_keys, largest=LARGEST if longest is None else longest)
        first = next(found, None)
        tree = None if first is None else loader.construct_document(first)
        if (second := next(found, None)) is not None:
            raise _wrong("a second document", second)
        return tree
    finally:
        loader.dispose()


def problem_of(error: yaml.YAMLError) -> tuple[str, yaml.Mark | None]:
    """What is wrong, and where. The text of `error` quotes the line, which may hold a password or a token."""
    if isinstance(error, yaml.MarkedYAMLError):
        return str(error.problem or error.context), error.problem_mark
    if isinstance(error, yaml.reader.ReaderError):
        return "it has characters that YAML does not allow", None
    return str(error), None


def _wrong(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)


def _unknown(_: Any, node: yaml.Node) -> Any:
    raise _wrong("a tag of an unknown type: a text that begins with ! needs quotes", node)


def _refused(_: Any, node: yaml.Node) -> Any:
    raise _wrong(node.value, node)


_StrictLoader.add_constructor(None, _unknown)
_StrictLoader.add_constructor(CUT, _refused)
