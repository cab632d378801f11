"""Ctrl-C, whenever it comes, is exit code 130 and no traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from windlass.capability.conventions.exit_codes import Exit

INTERRUPTED_BY_IMPORT = """
import signal, sys

class Finder:
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)

# Python leaves it ignored in what a script started in its background.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder)
from windlass.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("arguments", [["machines"], ["migrate", "--all", "--to", "cluster-api", "--dry-run"]], ids=str)
@pytest.mark.parametrize(
    "moment",
    [
        "windlass.cli.program",
        "click",
        "windlass.capability.conventions.options",
        "asyncio",
        "windlass.capability.conventions.connection",
        "yaml",
    ],
)
def test_while_something_is_imported(moment: str, arguments: list[str], tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text("{}")

    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_BY_IMPORT, moment, *arguments, "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (done.returncode, done.stdout) == (Exit.INTERRUPTED, "")
    assert done.stderr.strip() == ""
