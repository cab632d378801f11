"""Tests that build images need buildah: without it they skip, and under CI they fail."""

import os
import shutil

import pytest

from windlass.testing.builder import missing_builder


def require_builder(*programs: str) -> None:
    """Skip or fail the test that calls it, unless images can be built here, with these `programs` in them."""
    missing = [each for each in programs if shutil.which(each) is None]
    if why := missing_builder() or (f"missing: {' and '.join(missing)}; run tools/install-builder" if missing else ""):
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
