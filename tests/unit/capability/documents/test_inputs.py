"""Several inputs become documents in layers."""

import io
from pathlib import Path

from windlass.capability.documents import Interest, read_inputs


def test_documents_know_with_which_input_they_came(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second.yaml"
    first.mkdir()
    (first / "a.yaml").write_text("kind: A\n---\nkind: B\n")
    second.write_text("kind: C")

    documents, problems = read_inputs([str(first), "-", str(second)], stdin=io.BytesIO(b"kind: D"), interest=Interest())

    assert [(one.kind, one.layer) for one in documents] == [("A", 0), ("B", 0), ("D", 1), ("C", 2)]
    assert problems == []


def test_each_input_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    documents, problems = read_inputs(
        [str(tmp_path / "none"), "-"], stdin=io.BytesIO(b"kind: A\n---\nx: ["), interest=Interest()
    )

    assert documents == []
    assert problems == [
        f"{tmp_path / 'none'}: No such file or directory",
        "stdin:4: invalid YAML: did not find expected node content",
    ]
