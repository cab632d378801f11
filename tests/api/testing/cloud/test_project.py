"""A test's project: what it leaves is named, and fails the test that did not say so."""

import re
import subprocess
import sys
from pathlib import Path

from tests.api.testing.cloud.conftest import Boot
from tests.patience import PATIENCE
from windlass.testing.cloud import CloudAccess, Project

CONFTEST = """
import pytest
from windlass.testing.cloud import CloudAccess, CloudConnection

@pytest.fixture(scope="session")
def windlass_cloud():
    return CloudAccess(CloudConnection.from_json({connection!r}))
"""

TESTS = """
import pytest

def leave_a_port(project):
    project.sdk.network.create_port(network_id=project.network_id, name="forgotten")

def test_careless(windlass_project):
    leave_a_port(windlass_project)

def test_allowed(windlass_project):
    windlass_project.may_leave("port")
    leave_a_port(windlass_project)

def test_failing(windlass_project):
    leave_a_port(windlass_project)
    assert False, "its own failure"
"""


def test_leftovers_are_named_with_kind_name_and_status(project: Project) -> None:
    assert project.leftovers() == []
    network = project.sdk.network
    port = network.create_port(network_id=project.network_id, name="forgotten")
    group = network.create_security_group(name="ours")
    assert sorted(map(str, project.leftovers())) == [
        f"port forgotten {port.id} (DOWN)",
        f"security group ours {group.id} (no status)",
    ]
    network.delete_port(port)
    network.delete_security_group(group)


def test_a_test_that_leaves_something_fails_and_its_project_is_deleted(
    windlass_cloud: CloudAccess, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (tmp_path / "conftest.py").write_text(CONFTEST.format(connection=windlass_cloud.connection.to_json()))
    (tmp_path / "test_leaving.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "windlass.testing"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "1 failed, 2 passed, 1 error" in run.stdout, run.stdout + run.stderr
    [left] = {line for line in run.stdout.splitlines() if line.startswith("the test left behind")}
    assert re.search(r"in its project: port forgotten [0-9a-f-]{36} \(DOWN\)$", left)
    assert [*windlass_cloud.admin.network.ports(name="forgotten")] == []


def test_what_is_being_deleted_is_no_leftover(project: Project, boot: Boot) -> None:
    server = boot(metadata={"windlass:destroy_delay": "1"})
    project.sdk.compute.delete_server(server)
    assert project.leftovers() == []
