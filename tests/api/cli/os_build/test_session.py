"""The session of docs/os-build.md, typed as it stands: a control plane of `windlass dev`, a registry, real buildah."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builder import require_builder
from tests.left import command_lines, mounts_below
from tests.pages import DOCS, session
from tests.shell import Shell
from tests.waiting import wait_until
from windlass.testing.builder import push_base
from windlass.testing.plane.ports import free_ports
from windlass.testing.registry import Registry

pytestmark = [
    pytest.mark.plane,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="pages are typed with kubectl"),
]

ADDRESS = "127.0.0.1:22558"
"""Of the registry on the page."""
RUN = "windlass run os-build"


@pytest.fixture
def laptop(tmp_path: Path, registry: Registry) -> Iterator[Shell]:
    """Has what the page says must be there; in the end nothing of it runs."""
    require_builder()
    push_base(registry, "base/os", "v1")
    (tmp_path / "auth.json").write_text(json.dumps(registry.auths("pusher")))
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    probes, metrics = free_ports(2)
    # The usual ports may be those of other tests.
    run = f"{RUN} --health-probe-bind-address 127.0.0.1:{probes} --metrics-bind-address 127.0.0.1:{metrics}"
    try:
        with Shell(tmp_path, replaced={ADDRESS: registry.host, RUN: run}, environment=environment) as shell:
            yield shell
    finally:
        down = [sys.executable, "-m", "windlass", "dev", "down"]
        subprocess.run(down, env=os.environ | environment, capture_output=True, check=False)
    wait_until(
        "nothing runs any more", lambda: not [each for each in command_lines().values() if str(tmp_path) in each]
    )
    assert mounts_below(tmp_path) == []


def test_the_session_of_os_builds_can_be_typed_from_its_beginning_to_its_end(laptop: Shell) -> None:
    turns = session(DOCS / "os-build.md", "## A session")
    assert len([turn for turn in turns if turn.answer]) > 8
    laptop.types(turns)
