"""`windlass demo` from end to end, as a process: the real Cluster API core manager, and Windlass as it ships."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builder import require_builder
from tests.explore import EXPLORING, in_turn
from windlass.capability.conventions.exit_codes import Exit
from windlass.demo.story import Step
from windlass.machine_sync.demo.expectations import REFUSAL
from windlass.machine_sync.demo.story import STORY
from windlass.openstack.demo import story as openstack
from windlass.os_build.demo import story as os_build
from windlass.testing.plane.waiting import wait_for
from windlass.update_status.demo import story as update_status

pytestmark = pytest.mark.plane

SERVICE_ACCOUNT = "system:serviceaccount:windlass-system:windlass-machine-sync"

PLAYED = in_turn("machine-sync", "update-status", "openstack", "os-build")
"""The demos that are played to their end: a minute each, and their parts have tests of their own."""

PATIENCE = 900.0
"""Seconds; the longest demo takes 130. It has deadlines of its own, this is for a test machine in trouble."""
WRITERS = ("openstack-server", "openstack-machine-api")
"""The controllers that have the servers of machines under Cluster API and under the Machine API."""


def in_its_turn(demo: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(demo not in PLAYED, reason="the turn of another demo; all of them: make test WHOLE=1")


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """Temporary files and state in a folder of this test, where nothing may be left; nor may a process know it."""
    for name in ("tmp", "state"):
        (tmp_path / name).mkdir()
    yield os.environ | {"TMPDIR": str(tmp_path / "tmp"), "XDG_STATE_HOME": str(tmp_path / "state")}
    assert wait_for(lambda: True if not processes_of(tmp_path) else None, seconds=PATIENCE), processes_of(tmp_path)
    assert [*(tmp_path / "tmp").iterdir()] == []


def processes_of(folder: Path) -> list[str]:
    """The command lines of running processes that have to do with `folder`."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder) in line]


def windlass(*arguments: str, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "windlass", *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def assert_whole_story(output: str, story: Sequence[Step[Any, Any]] = STORY) -> None:
    summary = output.rpartition("\nSummary\n")[2].splitlines()
    for number, (step, line) in enumerate(zip(story, summary, strict=False), start=1):
        assert re.fullmatch(rf" ?{number}  ok +[\d.]+ s  {re.escape(step.title)}", line), output
    assert summary[len(story)].startswith(f"All {len(story)} steps came true in "), output


@in_its_turn("machine-sync")
def test_every_step_of_the_demo_comes_true_and_what_is_kept_can_be_used_and_stopped(
    environment: Mapping[str, str],
) -> None:
    demo = windlass("demo", "--keep", environment=environment)
    try:
        assert demo.returncode == Exit.OK, demo.stdout + demo.stderr
        assert_whole_story(demo.stdout.partition("\nEverything still runs.")[0])
        assert f"ok  Synchronized=False, reason FailedToConvertCAPIMachineToMAPI, message: {REFUSAL}  " in demo.stdout
        assert (
            "$ kubectl -n openshift-cluster-api scale machineset.cluster.x-k8s.io/demo-worker --replicas=5"
            in demo.stdout
        )
        assert "$ windlass migrate machineset/demo-pool --with-machines --to cluster-api" in demo.stdout
        kubeconfig = demo.stdout.partition("export KUBECONFIG=")[2].split()[0]
        machines = windlass("machines", "--kubeconfig", kubeconfig, environment=environment)
        assert SERVICE_ACCOUNT in (Path(kubeconfig).parents[1] / "logs" / "audit.log").read_text(encoding="utf-8")
        rows = [line.split() for line in machines.stdout.partition("\nMACHINESET")[0].splitlines()[1:] if line]
        assert [row[1:5] for row in rows] == [
            *[["MachineAPI", "Running", "Running", "True"]] * 3,
            *[["ClusterAPI", "Running", "Running", "True"]] * 5,
        ]
        again = windlass("demo", "--keep", environment=environment)
        assert again.returncode == Exit.FAILED
        assert "`windlass dev down` stops it" in again.stderr
    finally:
        down = windlass("dev", "down", environment=environment)
    assert down.returncode == Exit.OK, down.stderr


@in_its_turn("update-status")
def test_the_demo_of_update_status_comes_true_and_its_record_can_be_read_afterwards(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    picture = tmp_path / "demo.svg"
    demo = windlass("demo", "update-status", "--keep", "--svg", str(picture), environment=environment)
    try:
        assert demo.returncode == Exit.OK, demo.stdout + demo.stderr
        told, _, afterwards = demo.stdout.partition("\nEverything still runs.")
        assert_whole_story(told, update_status.STORY)
        assert "      Operator Health: 4 Healthy, 1 Available but degraded\n" in told
        assert ">windlass demo update-status<" in picture.read_text(encoding="utf-8")
        assert "      windlass status history 1\n" in afterwards
        kubeconfig = afterwards.partition("export KUBECONFIG=")[2].split()[0]
        status = windlass("status", "--kubeconfig", kubeconfig, environment=environment)
        assert (status.returncode, status.stdout) == (Exit.OK, "The cluster is not updating.\n"), status.stderr
        history = windlass("status", "history", "1", "--kubeconfig", kubeconfig, environment=environment)
        shown = history.stdout.splitlines()
        assert shown[0].startswith("Update from 4.16.0 to 4.16.1: started ")
        assert [line for line in shown if line and f"      {line}\n" not in told] == []
    finally:
        down = windlass("dev", "down", environment=environment)
    assert down.returncode == Exit.OK, down.stderr


@in_its_turn("openstack")
def test_the_demo_of_openstack_comes_true_and_takes_its_cloud_with_it(environment: Mapping[str, str]) -> None:
    demo = windlass("demo", "openstack", environment=environment)
    assert demo.returncode == Exit.OK, demo.stdout + demo.stderr
    assert_whole_story(demo.stdout, openstack.STORY)
    assert re.search(r"Progressing=True TransientError: .*503.* Next attempt at 2", demo.stdout)
    assert "does not exist any more; in the Machine API its state is DELETED" in demo.stdout
    for writer, paused in (WRITERS, WRITERS[::-1]):
        assert re.search(
            rf"on the same server \S+\. The log .* all marks by {writer}, and none by {paused}", demo.stdout
        )
    planned = "nothing is done: delete OpenStackServer"
    assert re.search(rf"{planned}.*: flavor m1.tiny -> m1.small: the bastion is replaced", demo.stdout)
    assert re.search(r"server \S+ \(m1.tiny\) is gone; .* at the same floating IP 203\.0\.113\.", demo.stdout)
    assert "the project has what it had at first: security group workers" in demo.stdout


@in_its_turn("os-build")
def test_the_demo_of_os_build_comes_true_and_nothing_of_its_builds_is_left(environment: Mapping[str, str]) -> None:
    require_builder()
    demo = windlass("demo", "os-build", environment=environment)
    assert demo.returncode == Exit.OK, demo.stdout + demo.stderr
    assert_whole_story(demo.stdout, os_build.STORY)
    assert "BuildFailed=True StepFailed: The build failed in step 'RUN cp /opt/agent/setup" in demo.stdout
    assert "the next process built 1 image for each pool" in demo.stdout


@pytest.mark.skipif(not EXPLORING, reason="the story takes as long as all other tests of the demo: make explore")
def test_nothing_is_left_of_a_demo_that_has_come_to_its_end(environment: Mapping[str, str]) -> None:
    demo = windlass("demo", environment=environment)
    assert demo.returncode == Exit.OK, demo.stdout + demo.stderr
    assert_whole_story(demo.stdout)


def test_ctrl_c_leaves_nothing_behind(environment: Mapping[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "windlass", "demo"],
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        # The second step has begun, so there is a control plane to leave behind.
        assert any(line.startswith(" 2/") for line in demo.stdout)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=PATIENCE) == Exit.INTERRUPTED


def test_it_refuses_to_play_on_somebody_elses_cluster(environment: Mapping[str, str]) -> None:
    demo = windlass("--kubeconfig", "production.yaml", "demo", environment=environment)
    assert demo.returncode == Exit.USAGE
    assert "only on the control plane it starts" in demo.stderr
