"""Files and streams become documents, or an error that says where and what."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.api import capi, capo
from windlass.capability.documents import Document, Interest, Undecodable, UnreadableInput, read, read_path, read_stream
from windlass.capability.documents.reading import LARGEST_INPUT


def kinds(data: bytes) -> list[tuple[str, int]]:
    return [(document.kind, document.line) for document in read("input", data)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"\n---\n# only a comment\n---\n", [], id="empty documents"),
        pytest.param(b'{"kind": "A"}', [("A", 1)], id="one JSON object"),
        pytest.param(b'\n\n {"kind": "A"}\n', [("A", 3)], id="JSON after space"),
        pytest.param(b'\xef\xbb\xbf{"kind": "A"}', [("A", 1)], id="a byte order mark"),
        pytest.param(b"\xef\xbb\xbfkind: A", [("A", 1)], id="a byte order mark before YAML"),
        pytest.param(b'{"kind": "A"}{"kind": "B"}\n{"kind": "C"}\n', [("A", 1), ("B", 1), ("C", 2)], id="JSON lines"),
        pytest.param(b'[{"kind": "A"}, {"kind": "B"}]', [("A", 1), ("B", 1)], id="a JSON array"),
        pytest.param(b'{"kind": "A"}\n---\n{"kind": "B"}\n', [("A", 1), ("B", 3)], id="JSON as YAML documents"),
        pytest.param(b"{kind: A}", [("A", 1)], id="YAML that looks like JSON"),
        pytest.param(b"[{'kind': A}]", [("A", 1)], id="YAML with other quotes that looks like JSON"),
        pytest.param(b"kind: A\n---\nkind: B\n", [("A", 1), ("B", 3)], id="YAML documents"),
        pytest.param(b"- kind: A\n- kind: B\n", [("A", 1), ("B", 1)], id="a YAML sequence"),
        pytest.param(
            b'{"kind": "List", "items": [{"kind": "A"}, {"kind": "AList", "items": [{"kind": "B"}]}]}',
            [("A", 1), ("B", 1)],
            id="lists in JSON",
        ),
        pytest.param(
            b'{"kind": "AList", "apiVersion": "g/v1", "items": [{"metadata": {}}, {"kind": "B"}]}',
            [("A", 1), ("B", 1)],
            id="items that are what their list says",
        ),
        pytest.param(b"kind: AList\nitems:\n- {metadata: {}}\n", [("A", 1)], id="and in YAML"),
        pytest.param(b'{"kind": "List", "items": [{}]}', [("", 1)], id="items of which nobody says what they are"),
        pytest.param("\ufeffkind: A\n---\nkind: \u00e9\n".encode("utf-16-le"), [("A", 1), ("\u00e9", 3)], id="UTF-16"),
        pytest.param('\ufeff{"kind": "A"}'.encode("utf-16-be"), [("A", 1)], id="UTF-16 the other way round"),
        pytest.param(b"kind: MachineList\nitems:\n- {kind: A}\n- {kind: B}\n", [("A", 1), ("B", 1)], id="a YAML list"),
        pytest.param(b'{"kind": "List", "items": []}', [], id="an empty list"),
        pytest.param(b'{"kind": "Kiosk", "items": ["not", "objects"]}', [("Kiosk", 1)], id="items of another kind"),
        pytest.param(b"apiVersion: v1", [("", 1)], id="no kind"),
        pytest.param(b"kind: 5\nmetadata: [1]\n", [("", 1)], id="a kind that is none"),
    ],
)
def test_documents_are_found_with_their_line(data: bytes, expected: list[tuple[str, int]]) -> None:
    assert kinds(data) == expected


@pytest.mark.parametrize("text", ["kind: K\napiVersion: g/v1\nmetadata: {name: n, namespace: s}", None])
def test_a_document_knows_its_identity(text: str | None) -> None:
    tree = {"kind": "K", "apiVersion": "g/v1", "metadata": {"name": "n", "namespace": "s"}}
    [document] = read("input", (text or json.dumps(tree)).encode())
    assert (document.kind, document.group, document.name, document.namespace) == ("K", "g", "n", "s")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"kind": "A",\n "x": }', "input:2: invalid JSON: Expecting value (column 7)"),
        (b'{"kind": "A"}\n{"kind": ', "input:2: invalid JSON: Expecting value (column 10)"),
        (b'{"kind": "A"} // comment', "input:1: invalid JSON: Expecting value (column 15)"),
        (b"{kind: A\n", "input:2: invalid YAML: did not find expected ',' or '}'"),
        (b"kind: A\nx: y: z\n", "input:2: invalid YAML: mapping values are not allowed in this context"),
        (b"kind: A\n---\nx: [1\n", "input:4: invalid YAML: did not find expected ',' or ']'"),
        (b"a: b\nx: !secret y\n", "input:2: invalid YAML: could not determine a constructor for the tag '!secret'"),
        (b"a: b\nc: d\na: e\n", "input:3: invalid YAML: 'a' is set twice, first on line 1: keep one of them"),
        (b"a: b\nx: *nowhere\n", "input:2: invalid YAML: found undefined alias"),
        (b"a: b\nc: \x01\n", "input:2: invalid YAML: control characters are not allowed"),
        (b"\xff\xfea", "input:1: not UTF-16 text: truncated data"),
        (b"a: b\nc: \xff\n", "input:2: not UTF-8 text: invalid start byte 0xff"),
        (b"[" * 100_000, "input:1: nested more than 200 levels deep"),
        (b"a: !!int ''\n", "input:1: invalid YAML: the value is not of its type"),
        (b"a: !!int '" + b"1:" * 200_000 + b"1'\n", "input:1: invalid YAML: a number of more than 1000 characters"),
        (b"a: " + b"{b: " * 100_000, "input:1: invalid YAML: nested more than 900 levels deep"),
        (b"- &a [&b [*a], *b, *b]\n", "input:1: an alias stands inside of what it names"),
        (b"just words", "input:1: expected a Kubernetes object, found 'just words'"),
        (b"kind: A\n---\n5\n", "input:3: expected a Kubernetes object, found 5"),
        (b'{"kind": "List", "items": [null]}', "input:1: expected a Kubernetes object, found null"),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_what_cannot_be_read_is_an_error_with_its_line(data: bytes, problem: str) -> None:
    with pytest.raises(UnreadableInput) as error:
        kinds(data)
    assert str(error.value) == problem


def test_directories_are_read_recursively_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.yaml", "b/x.json", "a.yml", "b/ignored.txt", "README.md", "z.YAML"):
        (tmp_path / name).write_text(json.dumps({"kind": Path(name).name}))
    (tmp_path / "dir.yaml").mkdir()
    documents = list(read_path(tmp_path, interest=Interest()))
    assert [document.kind for document in documents] == ["a.yml", "x.json", "c.yaml", "z.YAML"]
    assert documents[1].source == str(tmp_path / "b/x.json")


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"none\.yaml: No such file or directory$"):
        list(read_path(tmp_path / "none.yaml", interest=Interest()))


def test_a_stream_is_named_stdin() -> None:
    [document] = read_stream(io.BytesIO(b"kind: A"))
    assert document.source == "stdin"


def one(tree: Any, *, as_json: bool) -> Document:
    text = json.dumps({"kind": "K", **tree})
    [document] = read("input", text.encode() if as_json else f"---\n{text}".encode())
    return document


@pytest.mark.parametrize("as_json", [True, False], ids=["JSON", "YAML"])
class TestDecoding:
    def test_explicit_nulls_are_absent(self, as_json: bool) -> None:
        tree = {
            "metadata": {"name": "n", "creationTimestamp": None, "labels": None},
            "spec": {"ports": None, "image": {"filter": {"name": "i", "tags": None}}, "flavor": None},
            "status": None,
        }
        machine = one(tree, as_json=as_json).decode(capo.OpenStackMachine)
        assert machine.spec == capo.OpenStackMachineSpec(image=capo.Image(filter=capo.ImageFilter(name="i")))

    def test_unknown_fields_are_ignored(self, as_json: bool) -> None:
        assert one({"spec": {"new": [1]}}, as_json=as_json).decode(capi.Machine) == capi.Machine()

    @pytest.mark.parametrize(
        ("tree", "problem"),
        [
            ({"spec": 5}, "spec: expected object, got int"),
            ({"spec": {"clusterName": 5}}, "spec.clusterName: expected str, got int (in YAML, quote it)"),
            (
                {"status": {"addresses": [{}, {"type": True}]}},
                "status.addresses[1].type: expected str, got bool (in YAML, quote it)",
            ),
            ({"metadata": {"labels": {"a": "b", "c/d": {}}}}, "metadata.labels[c/d]: expected str, got object"),
            (
                {"metadata": {"annotations": {"a": "b"}, "labels": {"a": "b", "c": 1, "d": 2}}},
                "metadata.labels[c]: expected str, got int (in YAML, quote it)",
            ),
            ({"spec": {"minReadySeconds": "1"}}, "spec.minReadySeconds: expected int | null, got str"),
            ({"spec": {"minReadySeconds": 2**31}}, "spec.minReadySeconds: expected int <= 2147483647"),
        ],
    )
    def test_an_error_names_the_field_and_what_was_expected(self, as_json: bool, tree: Any, problem: str) -> None:
        with pytest.raises(Undecodable) as error:
            one(tree, as_json=as_json).decode(capi.Machine)
        assert str(error.value) == problem


def test_half_a_surrogate_pair_is_read_as_the_replacement_character() -> None:
    [document] = read("input", b'{"kind": "K", "metadata": {"name": "n"}, "spec": {"version": "a\\ud800b"}}')
    assert document.decode(capi.Machine).spec.version == "a\ufffdb"


def deep(levels: int) -> str:
    return '{"kind": "K", "metadata": {"name": "deep"}, "spec": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize("levels", [300, 900, 1_100, 50_000])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("DEEP", id="an object"),
        pytest.param('DEEP\n\n{"kind": "K", "metadata": {"name": "beside"}}', id="JSON objects"),
        pytest.param('[DEEP,\n\n{"kind": "K", "metadata": {"name": "beside"}}]', id="a JSON array"),
        pytest.param(
            '{"kind": "List", "items": [DEEP,\n\n{"kind": "K", "metadata": {"name": "beside"}}]}', id="a JSON list"
        ),
    ],
)
def test_a_json_object_that_is_nested_too_deeply_is_no_trouble_of_others(text: str, levels: int) -> None:
    first, *others = read("input", text.replace("DEEP", deep(levels)).encode())
    with pytest.raises(Undecodable, match=r"^object: nested more than 200 levels deep$"):
        first.decode(capi.Machine)
    assert (first.kind, first.name) == ("K", "deep")
    assert [one.decode(capi.Machine).metadata.name for one in others] == ["beside"] * len(others)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("[" * 300 + "]" * 300, "nested more than 200 levels deep"),
        ("&a [*a]", "an alias stands inside of what it names"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kind: K\nspec: SPEC\n---\nkind: K\nmetadata: {name: beside}\n", id="documents"),
        pytest.param(
            "kind: List\nitems:\n- kind: K\n  spec: SPEC\n- kind: K\n  metadata: {name: beside}\n", id="a list"
        ),
    ],
)
def test_a_yaml_object_beyond_a_limit_is_no_trouble_of_others(text: str, spec: str, problem: str) -> None:
    excessive, beside = read("input", text.replace("SPEC", spec).encode())
    with pytest.raises(Undecodable, match=f"^object: {problem}$"):
        excessive.decode(capi.Machine)
    assert beside.decode(capi.Machine).metadata.name == "beside"


def test_an_input_that_is_too_large_is_not_read() -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            assert 0 < size <= LARGEST_INPUT + 1
            return bytes(size)

    with pytest.raises(UnreadableInput, match=r"^stdin: larger than 256 MiB: split it$"):
        list(read_stream(Endless()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(b'{"version": "\xff"}', id="no UTF-8"),
        pytest.param(b'{"version": ' + b"1" * 5000 + b"}", id="a huge number"),
        pytest.param(b'{"version": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", id="deep nesting"),
    ],
)
def test_what_only_decoding_finds_is_an_error_too(spec: bytes) -> None:
    with pytest.raises((Undecodable, UnreadableInput)):
        _ = [one.decode(capi.Machine) for one in read("input", b'{"kind": "K", "spec": ' + spec + b"}")]


def test_keys_that_are_no_strings_become_strings() -> None:
    [document] = read("input", b"kind: K\nmetadata: {labels: {1: a, true: b, null: c}}")
    assert document.decode(capi.Machine).metadata.labels == {"1": "b", "null": "c"}


@pytest.mark.slow
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@examples()
def test_any_bytes_are_documents_or_unreadable(data: bytes) -> None:
    with contextlib.suppress(UnreadableInput):
        for document in read("input", data):
            with contextlib.suppress(Undecodable):
                document.decode(capi.Machine)
