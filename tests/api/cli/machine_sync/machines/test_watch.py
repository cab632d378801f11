"""`windlass machines --watch` against a real API server."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.api.cli.conftest import Begin, Sides, condition
from tests.api.cli.pipes import Lines
from tests.api.cli.ptys import see
from tests.patience import PATIENCE
from windlass.api import capi, mapi
from windlass.testing import ControlPlane, crds

pytestmark = pytest.mark.plane

Watch = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def watch(begin: Begin) -> Watch:
    """Start `windlass machines --watch` on two sides."""
    return lambda sides, *arguments, env=None: begin("machines", "--watch", *sides.flags, *arguments, env=env)


def out(process: "subprocess.Popen[bytes]") -> Lines:
    assert process.stdout is not None
    return Lines(process.stdout)


def err(process: "subprocess.Popen[bytes]") -> Lines:
    assert process.stderr is not None
    return Lines(process.stderr)


def test_a_machine_that_changes_is_printed_again(sides: Sides, watch: Watch) -> None:
    sides.mirrored("worker-0")
    lines = out(watch(sides))
    assert lines.until(lambda line: line.startswith("NAME")).split()[:2] == ["NAME", "AUTHORITY"]
    lines.until(lambda line: line.split()[:4] == ["worker-0", "ClusterAPI", "Running", "Running"])

    sides.patch(mapi.Machine, "worker-0", {"status": {"phase": "Failed"}}, part="status")

    lines.until(lambda line: line.split()[:4] == ["worker-0", "ClusterAPI", "Failed", "Running"])


def test_a_machine_that_is_gone_is_printed_without_sides(sides: Sides, watch: Watch) -> None:
    sides.capi_machine("worker-0", status={"phase": "Running"})
    lines = out(watch(sides, "-o", "json"))
    lines.until(lambda line: json.loads(line)["clusterAPI"] is not None)

    sides.delete(capi.Machine, "worker-0")

    last = json.loads(lines.until(lambda line: json.loads(line)["clusterAPI"] is None))
    assert (last["name"], last["machineAPI"]) == ("worker-0", None)


def test_machine_sets_are_followed_too_below_headings_of_their_own(sides: Sides, watch: Watch) -> None:
    sides.mirrored("worker-0")
    sides.mirrored_set("workers", replicas=2)
    lines = out(watch(sides))
    lines.until(lambda line: line.startswith("worker-0"))
    lines.until(lambda line: line.startswith("MACHINESET"))
    lines.until(lambda line: line.split()[:4] == ["workers", "MachineAPI", "2/2", "2/2"])

    sides.patch(mapi.MachineSet, "workers", {"status": {"readyReplicas": 1}}, part="status")
    lines.until(lambda line: line.split()[:4] == ["workers", "MachineAPI", "1/2", "2/2"])
    sides.capi_machine("worker-1")

    lines.until(lambda line: line.startswith("NAME"))
    lines.until(lambda line: line.startswith("worker-1"))


def test_what_comes_into_sync_is_printed_once_more(sides: Sides, watch: Watch) -> None:
    sides.mirrored("worker-0")
    sides.mirrored_set("workers", conditions=[condition("False", "FailedToConvertMAPIMachineSetToCAPI", "no")])
    lines = out(watch(sides, "--unsynced", "-o", "json"))
    first = json.loads(lines.until(lambda _: True))
    assert (first["kind"], first["synchronized"]["status"]) == ("MachineSet", "False")

    well = {"status": {"conditions": [condition("True", "ResourceSynchronized", "yes")]}}
    sides.patch(mapi.MachineSet, "workers", well, part="status")

    assert json.loads(lines.until(lambda _: True))["synchronized"]["status"] == "True"


def test_a_change_that_shows_nothing_new_prints_nothing(sides: Sides, watch: Watch) -> None:
    sides.capi_machine("worker-0")
    lines = out(watch(sides, "-o", "name"))
    lines.until(lambda line: line.endswith("worker-0"))

    sides.patch(capi.Machine, "worker-0", {"metadata": {"labels": {"new": "label"}}})
    sides.capi_machine("worker-1")

    assert lines.until(lambda _: True).endswith("worker-1")


def test_interrupting_it_is_exit_code_130_and_no_traceback(sides: Sides, watch: Watch) -> None:
    sides.mirrored("worker-0")
    process = watch(sides)
    out(process).until(lambda line: line.startswith("worker-0"))

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_a_reader_that_goes_away_ends_it_quietly(sides: Sides, watch: Watch) -> None:
    sides.capi_machine("worker-0")
    process = watch(sides, "-o", "name")
    out(process).until(lambda line: line.endswith("worker-0"))
    assert process.stdout is not None
    process.stdout.close()

    sides.capi_machine("worker-1")

    assert process.wait(timeout=PATIENCE) == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""


def test_on_a_terminal_the_table_is_redrawn_in_place(sides: Sides, environment: dict[str, str]) -> None:
    sides.mirrored("worker-0")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "windlass", "machines", "--watch", *sides.flags],
        env=environment | {"TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
    )
    os.close(slave)
    try:
        see(master, b"Running")
        sides.patch(mapi.Machine, "worker-0", {"status": {"phase": "Deleting"}}, part="status")
        see(master, b"Deleting")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
    finally:
        process.kill()
        process.communicate()
        os.close(master)


async def test_a_restart_of_the_api_server_is_survived_and_said(
    windlass_module_plane: ControlPlane, watch: Watch
) -> None:
    plane = windlass_module_plane
    await plane.apply_crds(*crds.documents("machine.openshift.io", "cluster.x-k8s.io"))
    sides = Sides(plane.blocking)
    sides.capi_machine("worker-0")
    process = watch(sides, "-o", "name", env={"KUBECONFIG": str(plane.kubeconfig())})
    lines, errors = out(process), err(process)
    lines.until(lambda line: line.endswith("worker-0"))

    await plane.kill_apiserver()
    errors.until(lambda line: line.startswith("warning: machines."))
    await plane.restart_apiserver()
    errors.until(lambda line: line.endswith(": watched again"))
    sides.capi_machine("worker-1")

    assert lines.until(lambda _: True).endswith("worker-1")
