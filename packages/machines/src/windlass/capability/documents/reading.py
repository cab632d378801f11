"""Reads files and streams of Kubernetes objects into documents: YAML or JSON, several in a file, lists unpacked.

A `Document` has its kind, name and place, and is decoded on demand. Until then JSON stays text; YAML is parsed at once,
in the dialect of kubectl.

An object that is nested too deeply (`windlass.kube.nesting`) or whose aliases explode (`yaml_composer`) is a
document that cannot be decoded; those beside it can. An input of more than `LARGEST_INPUT` bytes is not read.
"""

import codecs
import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec
import yaml
from msgspec import Struct

from windlass.api.meta import without_nulls
from windlass.capability.documents.archive import archive_kind
from windlass.capability.documents.insights import Identity, identity_by_place
from windlass.capability.documents.must_gather import Interest, files
from windlass.capability.documents.yaml_dialect import Excessive, as_json, load_all
from windlass.kube import decoding
from windlass.kube.nesting import CUT, TOO_DEEP, cut, is_deep
from windlass.kube.yaml_composer import Cut

T = TypeVar("T")

LARGEST_INPUT: Final = 256 * 2**20

_NOTHING_SAID: Final[Identity] = ("", "")


class UnreadableInput(Exception):
    """Input that is missing, or neither YAML nor JSON: `source:line: problem`."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(f"{source}:{line}: {problem}" if line else f"{source}: {problem}")


class Undecodable(Exception):
    """A document that is no valid object of its kind; the text names the field and what was expected."""


class Document(Struct, frozen=True, eq=False):
    """One object. `body` is JSON text, or a tree of dicts and lists; `line` counts from 1 in `source`.

    `layer`: the number of its input (`inputs`). `excess`: the limit that it exceeds, if any; then `body` lacks the
    excess.
    """

    source: str
    line: int
    kind: str
    api_version: str
    name: str
    namespace: str
    body: bytes | dict[str, Any]
    layer: int = 0
    excess: str = ""

    @property
    def title(self) -> str:
        """Its name in errors and warnings: `Machine/worker-0`."""
        return f"{self.kind}/{self.name}"

    @property
    def place(self) -> str:
        """Where it starts, as `source:line`."""
        return f"{self.source}:{self.line}"

    @property
    def group(self) -> str:
        """The API group, empty for the core group or if there is no apiVersion."""
        return self.api_version.rpartition("/")[0]

    def decode(self, kind: type[T]) -> T:
        """The object as `kind`. Explicit nulls are taken as absent. Raises Undecodable."""
        if self.excess:
            raise Undecodable(f"object: {self.excess}")
        try:
            if isinstance(self.body, bytes):
                return decoding.decode(self.body, kind)
            return decoding.convert(self.body, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
        tree: Any = None
        try:
            tree = json.loads(self.body) if isinstance(self.body, bytes) else self.body
            tree = without_nulls(as_json(tree))
            return decoding.convert(tree, kind)
        except msgspec.ValidationError as error:
            raise Undecodable(_explained(error, tree, kind)) from None
        except ValueError as error:
            # Where nobody had to look before: bytes that are no UTF-8, a number of thousands of digits.
            raise Undecodable(f"object: {error}") from None


class _Meta(Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class _Envelope(Struct, rename="camel", frozen=True, gc=False):
    """The fields that identify an object."""

    kind: str = ""
    api_version: str = ""
    metadata: _Meta = _Meta()
    items: list[msgspec.Raw] | None = None


_BETWEEN = re.compile(r"(?:\s|^---(?=\s|$))*", re.MULTILINE)
# Braces or brackets, then something that JSON cannot have there: a plain or single-quoted scalar of YAML.
_YAML_FLOW = re.compile(r"\s*[\[{]+\s*[^\s\[{\"\]}]")

# How msgspec writes the path of a value in a map, whose key it does not tell, and the steps of a path.
_ANY_KEY: Final = "[...]"
_STEP = re.compile(r"\[\.\.\.\]|\[\d+\]|[^.\[\]]+")

_CUT_TEXT: Final = CUT.decode()

_ENVELOPE = decoding.decoder(_Envelope)


def read_path(path: Path, *, interest: Interest, shown: Callable[[Path], str] = str) -> Iterator[Document]:
    """The documents of a file, or of the files of a directory and those below it, in the order of their names.

    Of the output of `oc adm must-gather`, only files of `interest` and manifests added beside them are read. `shown`
    names a file in errors and as the source of its documents.
    """
    try:
        for file in files(path, interest) if path.is_dir() else (path,):
            with file.open("rb") as opened:
                yield from read_stream(opened, shown(file), identity_by_place(file))
    except OSError as error:
        raise UnreadableInput(error.filename or str(path), 0, error.strerror or str(error)) from None


def read_stream(stream: BinaryIO, source: str = "stdin", identity: Identity = _NOTHING_SAID) -> Iterator[Document]:
    """The documents of an open stream. `identity`: apiVersion and kind of objects that have neither."""
    data = stream.read(LARGEST_INPUT + 1)
    if len(data) > LARGEST_INPUT:
        raise UnreadableInput(source, 0, f"larger than {LARGEST_INPUT // 2**20} MiB: split it")
    if kind := archive_kind(data):
        raise UnreadableInput(source, 0, f"a {kind} archive inside another input: give the archive itself, by its name")
    yield from read(source, data, identity)


def read(source: str, data: bytes, identity: Identity = _NOTHING_SAID) -> Iterator[Document]:
    """The documents in `data`; `source` names it in errors. Raises UnreadableInput.

    >>> [document.name for document in read("two.yaml", b"kind: A\\nmetadata: {name: x}\\n---\\nkind: B\\n")]
    ['x', '']
    """
    data = _utf8(source, data).removeprefix(codecs.BOM_UTF8)
    start = data.lstrip()
    if start[:1] in (b"{", b"["):
        try:
            documents = list(_unpacked(source, 1 + data[: len(data) - len(start)].count(b"\n"), data, identity))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            documents = list(_slowly(source, data))
        yield from documents
    else:
        yield from _from_yaml(source, _text(source, data))


def _unpacked(
    source: str, line: int, body: bytes | msgspec.Raw, listed: Identity = _NOTHING_SAID
) -> Iterator[Document]:
    """The one object that `body` (JSON) is, or the items of a list. Raises msgspec's errors."""
    envelope = _ENVELOPE.decode(body)
    if envelope.items is not None and envelope.kind.endswith("List"):
        for item in envelope.items:
            yield from _unpacked(source, line, item, _items_of(envelope.kind, envelope.api_version))
        return
    api_version, kind = _identity(envelope.api_version, envelope.kind, listed)
    text = bytes(body)
    yield Document(
        source=source,
        line=line,
        kind=kind,
        api_version=api_version,
        name=envelope.metadata.name,
        namespace=envelope.metadata.namespace,
        body=text,
        excess=TOO_DEEP if CUT in text or is_deep(text) else "",
    )


def _items_of(kind: str, api_version: str) -> Identity:
    """The kind of list items that do not state theirs: the items of a MachineList are Machines."""
    return (api_version, kind.removesuffix("List")) if kind != "List" else _NOTHING_SAID


def _identity(api_version: str, kind: str, listed: Identity) -> Identity:
    return (api_version, kind) if api_version or kind else listed


def _slowly(source: str, data: bytes) -> Iterator[Document]:
    """What starts like JSON but is not one well-formed object: several in a row, an array, YAML, or an error."""
    text = _text(source, data)
    if _YAML_FLOW.match(text):
        return _from_yaml(source, text)
    return _from_json(source, cut(data).decode() if is_deep(data) else text)


def _from_json(source: str, text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder()
    at = _between(text, 0)
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        try:
            tree, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if _CUT_TEXT in text[at : error.pos]:
                raise UnreadableInput(source, line, TOO_DEEP) from None
            raise UnreadableInput(source, error.lineno, f"invalid JSON: {error.msg} (column {error.colno})") from None
        except ValueError as error:
            raise UnreadableInput(source, line, f"invalid JSON: {error}") from None
        yield from _from_tree(source, line, tree)
        at = _between(text, end)


def _from_yaml(source: str, text: str) -> Iterator[Document]:
    line = 1
    try:
        for line, tree in load_all(text, unique_keys=True):
            if tree is not None:
                yield from _from_tree(source, line, tree)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnreadableInput(source, line, f"invalid YAML: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = line if mark is None else mark.line + 1
        raise UnreadableInput(source, where, f"invalid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableInput(source, line, f"invalid YAML: {error}") from None


def _from_tree(source: str, line: int, tree: Any, listed: Identity = _NOTHING_SAID) -> Iterator[Document]:
    if isinstance(tree, list):
        for item in tree:
            yield from _from_tree(source, line, item, listed)
        return
    if isinstance(tree, Cut):
        raise UnreadableInput(source, line, tree)
    if not isinstance(tree, dict):
        raise UnreadableInput(source, line, f"expected a Kubernetes object, found {_shown(tree)}")
    api_version, kind, items = _string(tree, "apiVersion"), _string(tree, "kind"), tree.get("items")
    if kind.endswith("List") and isinstance(items, list):
        yield from _from_tree(source, line, items, _items_of(kind, api_version))
        return
    api_version, kind = _identity(api_version, kind, listed)
    metadata = tree.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    body, excess = {}, ""
    try:
        body = as_json(tree)
    except Excessive as problem:
        excess = str(problem)
    yield Document(
        source=source,
        line=line,
        kind=kind,
        api_version=api_version,
        name=_string(metadata, "name"),
        namespace=_string(metadata, "namespace"),
        body=body,
        excess=excess,
    )


def _string(tree: dict[str, Any], key: str) -> str:
    value = tree.get(key)
    return value if isinstance(value, str) else ""


def _utf8(source: str, data: bytes) -> bytes:
    """`data`, which some shells redirect into files as UTF-16, with a mark at its beginning."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise UnreadableInput(source, 1, f"not UTF-16 text: {error.reason}") from None


def _text(source: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(source, line, f"not UTF-8 text: {error.reason} 0x{data[error.start]:02x}") from None


def _between(text: str, at: int) -> int:
    """Where the next JSON value starts: after space and, as YAML has them, lines of `---`."""
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _explained(error: msgspec.ValidationError, tree: Any, kind: type) -> str:
    """msgspec's `Expected `int`, got `str` - at `$.spec.replicas`` as `spec.replicas: expected int, got str`."""
    problem, _, path = str(error).replace("`", "").partition(" - at ")
    if _ANY_KEY in path and path.startswith("$"):
        path = _with_keys(path, str(error), tree, kind)
    text = f"{problem[:1].lower()}{problem[1:]}"
    if "expected str" in text and text.endswith(("got int", "got float", "got bool")):
        text += " (in YAML, quote it)"
    return f"{path.removeprefix('$').removeprefix('.') or 'object'}: {text}"


def _with_keys(path: str, error: str, tree: Any, kind: type) -> str:
    """`path` with the keys of maps: of each map the one that alone gives the same `error`."""
    named: list[str] = []
    place: list[str | int] = []
    at = tree
    for step in _STEP.findall(path.removeprefix("$")):
        if step == _ANY_KEY:
            key = next((key for key in at if _error_of(_replaced(tree, place, {key: at[key]}), kind) == error), None)
            if key is None:
                return path
            named.append(f"[{key}]")
        else:
            key = int(step[1:-1]) if step.startswith("[") else step
            named.append(step if step.startswith("[") else f".{step}")
        place.append(key)
        at = at[key]
    return "".join(named)


def _error_of(tree: Any, kind: type) -> str:
    try:
        decoding.convert(tree, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _replaced(tree: Any, place: Sequence[str | int], value: Any) -> Any:
    """A copy of `tree` with `value` at `place`."""
    if not place:
        return value
    copied = copy.copy(tree)
    copied[place[0]] = _replaced(tree[place[0]], place[1:], value)
    return copied
