"""Tests of the web page drive Debian's Chromium: without it their module is one skip, and under CI it fails.

Playwright's own browsers are not used: nothing is downloaded.
"""

import os
import shutil
from typing import Final

import pytest

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS: Final = (
    "--disable-background-networking",  # it would call its maker
    "--no-sandbox",  # root has none
)


def require_browser() -> None:
    """Skip or fail the module that calls it, unless there is a browser."""
    if CHROMIUM:
        return
    why = "no Chromium: make install-browser, or apt-get install chromium"
    if os.environ.get("CI"):
        raise RuntimeError(why)
    pytest.skip(why, allow_module_level=True)
