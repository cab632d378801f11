"""Captures the log lines of a controller in a test.

with captured() as lines:
    ...
assert [(line["level"], line["event"]) for line in lines] == [("warning", "reconcile failed")]
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from windlass.kube.logger import Facts, Logger, Output


@contextmanager
def captured() -> Iterator[list[Facts]]:
    """The lines that are written meanwhile, of every level, as their facts with `level` and `logger`."""
    lines: list[Facts] = []

    def write(level: int, name: str, facts: Facts) -> None:
        lines.append({**facts, "level": logging.getLevelName(level).lower(), "logger": name})

    before, Logger.output = Logger.output, Output(logging.NOTSET, write)
    try:
        yield lines
    finally:
        Logger.output = before
