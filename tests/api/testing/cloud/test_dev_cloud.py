"""`windlass dev cloud`, run as a person runs it: one command after the other, each its own process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.left import command_lines
from tests.patience import PATIENCE
from tests.waiting import wait_until
from windlass.testing.cloud.services import listening

pytestmark = pytest.mark.cloud

Dev = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """Run `windlass dev cloud ...` with state of its own; what is up is taken down in the end."""
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "windlass", "dev", "cloud", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)

    yield run
    run("down")


def processes_in(folder: Path) -> list[int]:
    """The processes that have a path in that folder on their command line."""
    return [pid for pid, line in command_lines().items() if str(folder) in line]


def test_a_cloud_comes_up_fails_on_demand_and_leaves_nothing_when_its_owner_is_killed(dev: Dev, tmp_path: Path) -> None:
    up = dev("up", "--skip", "cinder", "--skip", "octavia", "--cloud", "admin")
    assert up.returncode == 0, up.stderr
    [line] = up.stdout.splitlines()
    assert line.startswith(f"export OS_CLIENT_CONFIG_FILE={tmp_path}/windlass/dev-cloud/cloud/clouds.yaml")
    assert line.endswith("OS_CLOUD=admin")
    assert dev("env", "--cloud", "admin").stdout == up.stdout
    running = json.loads(dev("status", "-o", "json").stdout)
    assert set(running["urls"]) == {"keystone", "placement", "glance", "neutron", "nova"}
    assert all(running["up"].values())
    assert "running already" in dev("up").stderr

    neutron = running["urls"]["neutron"]
    fault = dev("fault", "neutron", "--path", "/v2", "--status", "429", "--header", "Retry-After: 7", "--count", "1")
    assert (fault.returncode, fault.stdout) == (0, "")
    answers = [requests.get(f"{neutron}/v2.0/networks", timeout=PATIENCE) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [429, 401]
    assert answers[0].headers["Retry-After"] == "7"
    [rule] = map(json.loads, dev("fault", "neutron", "--list").stdout.splitlines())
    assert (rule["status"], rule["hits"], rule["seen"]) == (429, 1, 2)
    assert dev("fault", "neutron", "--clear").returncode == 0
    assert dev("fault", "neutron", "--list").stdout == ""
    assert "started without cinder" in dev("fault", "cinder", "--list").stderr

    assert len(processes_in(tmp_path)) >= len(running["urls"])
    os.kill(running["pid"], signal.SIGKILL)
    wait_until("no process of the cloud is left", lambda: not processes_in(tmp_path))
    # The kernel closes the sockets of a process a moment after its end.
    wait_until("nobody listens", lambda: not any(map(listening, running["urls"].values())))
    assert dev("status").returncode == 1
    assert "no cloud that `windlass dev cloud up` started is running" in dev("down").stderr
