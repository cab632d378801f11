"""What having the plugin installed costs a test run that does not use it."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import sys

def test_what_is_loaded(request):
    assert request.config.pluginmanager.hasplugin("windlass.testing")
    allowed = {"windlass", "windlass.testing", "windlass.testing.pytest_plugin"}
    assert {name for name in sys.modules if name.partition(".")[0] == "windlass"} == allowed
    assert "aiohttp" not in sys.modules
"""


@pytest.mark.parametrize(
    "arguments",
    [[], ["-p", "windlass.testing"], ["-p", "windlass.testing", "-p", "windlass.testing"]],
    ids=["by entry point", "by option as well", "by option twice"],
)
def test_an_unused_plugin_is_registered_once_and_imports_nothing_else(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (tmp_path / "test_loaded.py").write_text(TESTS)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in run.stdout, run.stdout + run.stderr


def test_the_plugin_can_be_turned_off(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (tmp_path / "test_off.py").write_text("def test_off(windlass_plane):\n    pass\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:windlass.testing"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "fixture 'windlass_plane' not found" in run.stdout, run.stdout
