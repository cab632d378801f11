"""Recorded cases that lie beside the checkout, in `../shared/fixtures`: they are not ours to contain.

Where they are absent, tests that need them skip; under CI they fail, because there they have to be.
"""

import os
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "shared" / "fixtures"


def fixtures(name: str) -> Path:
    """The folder of these cases; skips or fails the test that calls it."""
    folder = FIXTURES / name
    if not folder.is_dir():
        missing = f"recorded cases are missing: {folder}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return folder
