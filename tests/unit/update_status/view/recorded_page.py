"""Recorded clusters, and the document of the page that is made of one."""

from datetime import UTC, datetime
from typing import Any

from tests.shared import fixtures
from windlass.update_status.reading import Reading
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.times import of_datetime


def reading(name: str) -> Reading:
    path = fixtures("update_status") / f"{name}-cv.yaml"
    return read_mock(str(path), wall=of_datetime(datetime.now(UTC)))


def those(document: dict[str, Any], kind: str) -> dict[str, Any]:
    """The parts of a kind, by the rest of their keys."""
    return {key.partition("/")[2]: part for key, part in document.items() if key.startswith(f"{kind}/")}
