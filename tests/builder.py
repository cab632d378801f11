"""Tests that build images need buildah: without it they skip, and under CI they fail."""

import os

import pytest

from windlass.testing.builder import missing_builder


def require_builder() -> None:
    """Skip or fail the test that calls it, unless images can be built here."""
    if why := missing_builder():
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
