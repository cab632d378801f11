"""The content of files: data URLs, compression and hashes, right and corrupt."""

import base64
import gzip
import hashlib
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.os_build.inputs.cases import NAME, data_url, problem, with_files
from windlass.os_build.inputs.contents import LARGEST, decoded
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.inputs.machine_config import Resource, Verification


@pytest.mark.parametrize(
    ("source", "content"),
    [
        (None, b""),
        ("", b""),
        ("data:,", b""),
        ("data:,a%20b,c%C3%A9+", "a b,cé+".encode()),
        ("data:text/plain;charset=utf-8,x", b"x"),
        ("data:;base64,aGk=", b"hi"),
        ("data:text/plain;charset=utf-8;base64,aGk=", b"hi"),
        ("data:;base64,aGk%3D", b"hi"),
        ("data:text/x;name=base64,aGk=", b"aGk="),
    ],
    ids=["none", "empty", "empty data", "percent", "parameters", "base64", "both", "escaped padding", "a parameter"],
)
def test_a_data_url_is_decoded(source: str | None, content: bytes) -> None:
    assert decoded(Resource(source), where="x") == content


@examples(100)
@given(st.binary(max_size=400))
@example(bytes(range(256)) * 300)
@example(b"%" * 70_000)
@example(b"a" * 65_535 + b"%%" + b"b" * 70_000)
def test_every_content_survives_every_encoding(content: bytes) -> None:
    hashed = Verification(f"sha512-{hashlib.sha512(content).hexdigest()}")
    split = gzip.compress(content[:9]) + gzip.compress(content[9:])
    sources = {
        "data:," + quote(content): "",
        "data:," + "".join(f"%{byte:02X}" for byte in content): "",
        data_url(content): "",
        data_url(gzip.compress(content)): "gzip",
        data_url(split): "gzip",
    }
    for source, compression in sources.items():
        assert decoded(Resource(source, compression, hashed), where="x") == content


def hashed(form: str) -> dict[str, Any]:
    return {"source": "data:,abc", "verification": {"hash": form}}


ABC = hashlib.sha256(b"abc").hexdigest()
GOOD = gzip.compress(b"content " * 40)


@pytest.mark.parametrize("apply_by", ApplyBy)
@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"source": "data:abc"}, ".source: the data URL 'data:abc' has no comma before its data"),
        ({"source": "data:,a%2"}, ".source: the data URL is corrupt: it has a wrong percent-encoding"),
        ({"source": "data:,a%zz%20"}, ".source: the data URL is corrupt: it has a wrong percent-encoding"),
        (
            {"source": "data:,é"},
            ".source: the data URL is corrupt: it has characters that must be percent-encoded",
        ),
        ({"source": "data:;base64,aGk"}, ".source: the base64 of the data URL is corrupt: Incorrect padding"),
        (
            {"source": "data:;base64,a*k="},
            ".source: the base64 of the data URL is corrupt: Only base64 data is allowed",
        ),
        ({"source": data_url(b"plain"), "compression": "gzip"}, ": the gzip data is corrupt: Error -3"),
        ({"source": data_url(GOOD[:-9]), "compression": "gzip"}, ": the gzip data is corrupt: it ends too early"),
        ({"source": "", "compression": "gzip"}, ": the gzip data is corrupt: it ends too early"),
        ({"source": data_url(GOOD + b"tail"), "compression": "gzip"}, ": the gzip data is corrupt: Error -3"),
        ({"source": "data:,x", "compression": "xz"}, ".compression: 'xz' is unknown: Ignition knows gzip"),
        (hashed("sha256-" + "0" * 64), f".verification.hash: the content has sha256-{ABC}, not sha256-000"),
        (hashed("md5-1"), ".verification.hash: 'md5-1' has none of the forms sha512-... and sha256-..."),
    ],
    ids=[
        "no comma",
        "cut escape",
        "wrong escape",
        "not ASCII",
        "padding",
        "base64",
        "no gzip",
        "cut gzip",
        "empty gzip",
        "tail",
        "compression",
        "hash",
        "kind of hash",
    ],
)
def test_corrupt_contents_are_refused_before_anything_is_built(contents: Any, said: str, apply_by: ApplyBy) -> None:
    found = problem(with_files({"path": "/a"}, {"path": "/etc/foo", "contents": contents}), apply_by=apply_by)
    assert found.reason == "MachineConfigInvalid"
    assert found.text.startswith(f"MachineConfig {NAME}: spec.config.storage.files[1] /etc/foo: contents{said}")
    assert found.text.endswith(": correct it in the MachineConfig that it comes from")


def test_content_that_expands_without_end_is_refused() -> None:
    bomb = base64.b64encode(gzip.compress(bytes(LARGEST + 1))).decode()
    found = problem(with_files({"path": "/a", "contents": {"source": f"data:;base64,{bomb}", "compression": "gzip"}}))
    assert found.text.endswith("/a: contents: it expands to more than 32 MiB: make the file smaller")


def test_text_to_append_is_checked_too() -> None:
    appended = {"path": "/a", "append": [{"source": "data:,x"}, {"source": "data:;base64,?"}]}
    assert "files[0] /a: append[1].source: the base64" in problem(with_files(appended), apply_by=ApplyBy.IGNITION).text
