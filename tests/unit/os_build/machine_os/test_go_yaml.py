"""What is written is, byte for byte, what the operator's own library wrote: see the table's README."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.os_build.machine_os.go_yaml import written

TABLE = Path(__file__).parents[3] / "data" / "os_build" / "go_yaml" / "table.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t", exclude_characters="\u2028\u2029")
)


def test_the_table_has_rows_of_all_sorts() -> None:
    assert len(ROWS) > 150
    assert {one for row in ROWS for one in ('"', "'", "|-", "|+", "|2", "- ") if one in row["yaml"]} == {
        '"', "'", "|-", "|+", "|2", "- ",
    }  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row["document"])[:60])
def test_a_document_is_written_as_the_library_writes_it(row: dict[str, Any]) -> None:
    assert written(row["document"]).decode() == row["yaml"]


@given(TEXTS)
@examples(300)
def test_any_text_reads_back_as_itself(text: str) -> None:
    tree = {"next": "x", "text": text}
    assert yaml.load(written(tree), Loader=yaml.BaseLoader) == tree


def test_the_order_of_keys_does_not_matter() -> None:
    assert written({"b": "1", "a": {"d": None, "c": []}}) == written({"a": {"c": [], "d": None}, "b": "1"})
