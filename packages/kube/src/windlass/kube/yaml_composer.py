"""Composes YAML documents within limits of depth and size, so that a hostile one is cheap to refuse.

PyYAML composes documents by recursion, in C: 100,000 brackets crash the process. It shares the nodes of aliases, which
become copies later: nine lines can become 10^9 values. Here nodes are composed in a loop over events. A branch beyond a
limit becomes a `Cut`, which names the limit; the rest of the document and the documents after it are read as written.

| limit | for what |
|---|---|
| `DEEPEST` levels | maps and lists in one another, those behind aliases included |
| `LARGEST` bytes, or fewer | the JSON that aliases add to one document; an API server accepts 3 MiB for an object |
| `HOPELESS` levels | an error for the whole stream: libyaml is slow then, and newer versions of it refuse 1,000 |
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import yaml
from msgspec import Struct

from windlass.kube.nesting import DEEPEST, TOO_DEEP

LARGEST: Final = 4 * 2**20
HOPELESS: Final = 900

CUT: Final = "tag:windlass.dev,2026:cut"
"""The tag of a node that replaces what was cut."""
_MERGE: Final = "tag:yaml.org,2002:merge"
_TEXT: Final = "tag:yaml.org,2002:str"
_VALUE: Final = 8
"""Bytes of a value beside its text: about what quotes, commas and indentation are."""

_ENDLESS: Final = "an alias stands inside of what it names"


class Cut(str):
    """Replaces a branch beyond a limit; its text names the limit."""


class _Open(Struct, eq=False):
    """A map or list whose end has not come yet. `height`: levels below it; `size`: bytes, with aliases expanded."""

    node: yaml.CollectionNode
    anchor: str | None
    key: yaml.Node | None = None
    first: dict[Hashable, yaml.Node] | None = None
    height: int = 0
    size: int = _VALUE

    def take(self, child: yaml.Node, *, height: int, size: int) -> None:
        self.height = max(self.height, height)
        self.size += size
        if isinstance(self.node, yaml.SequenceNode):
            self.node.value.append(child)
        elif self.key is None:
            self.key = child
            if self.first is not None:
                _refuse_second(child, self.first)
        else:
            key = self.key
            if key.tag == _MERGE and any(one.tag == CUT for one in (child, *_items(child))):
                key = yaml.ScalarNode(_TEXT, key.value, key.start_mark)  # what was cut cannot be merged
            self.node.value.append((key, child))
            self.key = None


class _Anchored(Struct, eq=False):
    """What an anchor names; `size` is 0 until its end has come."""

    node: yaml.Node
    height: int = 0
    size: int = 0


def documents(loader: Any, *, unique_keys: bool, largest: int = LARGEST) -> Iterator[yaml.Node]:
    """The root nodes of the documents that `loader` (an event source and resolver of PyYAML) reads.

    `unique_keys`: a key that is set twice in one map is an error. `largest`: bytes that aliases may add. Raises
    yaml.YAMLError.
    """
    while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            yield _Composer(loader, unique_keys=unique_keys, largest=largest).document()


class _Composer:
    """Composes one document. Events are Any: the stubs of PyYAML know two kinds of marks that do not fit each other."""

    def __init__(self, loader: Any, *, unique_keys: bool, largest: int) -> None:
        self._loader = loader
        self._unique_keys = unique_keys
        self._largest = largest
        self._open: list[_Open] = []
        self._anchored: dict[str, _Anchored] = {}
        self._added = 0

    def document(self) -> yaml.Node:
        while True:
            done: yaml.Node | None
            event = self._loader.get_event()
            if isinstance(event, yaml.ScalarEvent):
                done = self._scalar(event)
            elif isinstance(event, yaml.AliasEvent):
                done = self._alias(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                done = self._end(event)
            else:
                done = self._begin(event)
            if done is not None and not self._open:
                return done

    def _scalar(self, event: Any) -> yaml.Node:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark, style=event.style)
        size = _VALUE + len(event.value)
        if event.anchor is not None:
            self._anchored[event.anchor] = _Anchored(node, size=size)
        return self._placed(node, height=0, size=size)

    def _begin(self, event: Any) -> yaml.Node | None:
        if len(self._open) == DEEPEST:
            return self._placed(self._skipped(event), height=0, size=_VALUE)
        is_map = isinstance(event, yaml.MappingStartEvent)
        shape = yaml.MappingNode if is_map else yaml.SequenceNode
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(shape, None, event.implicit)
        node = shape(tag, [], event.start_mark, None, flow_style=event.flow_style)
        if event.anchor is not None:
            self._anchored[event.anchor] = _Anchored(node)
        self._open.append(_Open(node, event.anchor, first={} if is_map and self._unique_keys else None))
        return None

    def _end(self, event: Any) -> yaml.Node:
        ended = self._open.pop()
        ended.node.end_mark = event.end_mark
        height = ended.height + 1
        if ended.anchor is not None and (named := self._anchored[ended.anchor]).node is ended.node:
            named.height, named.size = height, ended.size
        return self._placed(ended.node, height=height, size=ended.size)

    def _alias(self, event: Any) -> yaml.Node:
        named = self._anchored.get(event.anchor)
        if named is None:
            raise yaml.composer.ComposerError(problem="found undefined alias", problem_mark=event.start_mark)
        self._added += named.size
        problem = ""
        if not named.size:
            problem = _ENDLESS
        elif self._added > self._largest:
            problem = f"its aliases expand to more than {_size(self._largest)}"
        elif len(self._open) + named.height > DEEPEST:
            problem = TOO_DEEP
        if problem:
            self._added -= named.size
            return self._placed(_cut(problem, event), height=0, size=_VALUE)
        return self._placed(named.node, height=named.height, size=named.size)

    def _placed(self, node: yaml.Node, *, height: int, size: int) -> yaml.Node:
        if self._open:
            self._open[-1].take(node, height=height, size=size)
        return node

    def _skipped(self, begin: Any) -> yaml.Node:
        """Read on to the end of what began."""
        level = DEEPEST + 1
        while level > DEEPEST:
            event = self._loader.get_event()
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > HOPELESS:
                problem = f"nested more than {HOPELESS} levels deep"
                raise yaml.composer.ComposerError(problem=problem, problem_mark=event.start_mark)
        return _cut(TOO_DEEP, begin)


def _size(number: int) -> str:
    return f"{number // 2**20} MiB" if number >= 2**20 else f"{number // 2**10} KiB"


def _items(node: yaml.Node) -> list[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _cut(problem: str, event: Any) -> yaml.Node:
    return yaml.ScalarNode(CUT, problem, event.start_mark, event.end_mark)


def constructs_cuts(loader: type[yaml.constructor.SafeConstructor]) -> None:
    """Let `loader` construct nodes that were cut."""
    loader.add_constructor(CUT, lambda _, node: Cut(node.value))


def _refuse_second(key: yaml.Node, first: dict[Hashable, yaml.Node]) -> None:
    if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
        return
    earlier = first.setdefault(key.value, key)
    if earlier is not key:
        problem = f"{key.value!r} is set twice, first on line {earlier.start_mark.line + 1}: keep one of them"
        raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
