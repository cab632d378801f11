"""`windlass dev`, run as a person runs it: one command after the other, each its own process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.testing.plane.waiting import wait_for

pytestmark = pytest.mark.plane

Dev = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """Run `windlass dev ...` with state of its own; what is up is taken down in the end."""
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "windlass", "dev", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)

    yield run
    run("down")


def status(dev: Dev) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(dev("status", "-o", "json").stdout)
    return content


def test_a_plane_comes_up_is_used_and_goes_down(dev: Dev, tmp_path: Path) -> None:
    up = dev("up")
    assert up.returncode == 0, up.stderr
    [line] = up.stdout.splitlines()
    assert line.startswith("export KUBECONFIG=")
    assert Path(line.removeprefix("export KUBECONFIG=")).is_file()
    running = status(dev)
    assert running["running"]
    assert running["url"] in up.stderr

    again = dev("up")
    assert again.returncode == 0
    assert again.stdout == up.stdout
    assert "running already" in again.stderr

    down = dev("down")
    assert down.returncode == 0
    assert down.stdout == ""
    assert [left.name for left in (tmp_path / "windlass" / "dev").iterdir()] == ["lock"]
    assert status(dev) == {"running": False}


def test_down_refuses_what_it_did_not_start(dev: Dev, tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        state = tmp_path / "windlass" / "dev"
        state.mkdir(parents=True)
        (state / "lock").touch()
        (state / "plane.json").write_text(json.dumps({"pid": stranger.pid, "url": "https://127.0.0.1:6443"}))
        down = dev("down")
        assert down.returncode == 1
        assert "no control plane that `windlass dev up` started is running" in down.stderr
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("subcommand", ["up", "down", "status"])
def test_an_api_server_of_somebody_else_is_refused(dev: Dev, subcommand: str) -> None:
    refused = dev(subcommand, "--kubeconfig", "production.yaml")
    assert refused.returncode == 64
    assert "No such option '--kubeconfig'" in refused.stderr


def test_after_a_crash_the_next_up_starts_afresh(dev: Dev) -> None:
    assert dev("up").returncode == 0
    first = status(dev)
    os.kill(first["pid"], signal.SIGKILL)
    assert wait_for(lambda: None if status(dev)["running"] else True, seconds=PATIENCE)
    assert dev("up").returncode == 0
    assert status(dev)["pid"] != first["pid"]


def test_a_plane_that_cannot_start_is_an_error_with_its_reason(dev: Dev, tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / "assets" / name).write_text("#!/bin/sh\necho this is not etcd\nexit 7\n")
        (tmp_path / "assets" / name).chmod(0o755)
    up = dev("up", "--assets", str(tmp_path / "assets"))
    assert up.returncode == 1
    assert up.stdout == ""
    assert "etcd ended with code 7 before it was ready" in up.stderr
    assert "this is not etcd" in up.stderr
    assert not status(dev)["running"]
