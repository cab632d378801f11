"""Texts that users append to Containerfiles, and what is said of them: `tests/data/os_build/containerfiles`."""

from pathlib import Path

import msgspec
from msgspec import Struct

_TABLE = Path(__file__).parent / "data" / "os_build" / "containerfiles" / "table.jsonl"


class Row(Struct, frozen=True):
    """`findings` are lines and texts; README.md beside the table says what the words mean."""

    name: str
    text: str
    findings: tuple[tuple[int, str], ...]
    operator: str = ""
    builder: str = ""


ROWS = tuple(msgspec.json.Decoder(Row).decode_lines(_TABLE.read_bytes()))
