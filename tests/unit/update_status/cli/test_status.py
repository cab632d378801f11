"""`windlass status` on files: what it prints, and its exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.documents.yaml_dialect import dump_all
from windlass.cli import main

MC = "machineconfiguration.openshift.io"
START = "2024-02-27T15:00:00Z"
LATER = "2024-02-27T15:40:00Z"
PLATFORM = {"include.release.openshift.io/self-managed-high-availability": "true"}


def condition(kind: str, status: str, time: str = START) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": time, "message": "said", "reason": "Why"}


def version(*, progressing: str = "True") -> dict[str, Any]:
    done = {"state": "Completed", "startedTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T01:00:00Z"}
    history = [
        {"state": "Partial", "startedTime": START, "version": "4.15.1", "image": "b"},
        {**done, "version": "4.15.0", "image": "a"},
    ]
    status = {
        "desired": {"version": "4.15.1", "image": "b"},
        "history": history,
        "conditions": [condition("Progressing", progressing), condition("Failing", "False")],
    }
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "status": status,
    }


def operator(name: str, *, at: str, degraded: str = "False", time: str = "2024-02-27T15:20:00Z") -> dict[str, Any]:
    conditions = [
        condition("Available", "True"),
        condition("Progressing", "True", time),
        condition("Degraded", degraded, time),
    ]
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {"name": name, "annotations": PLATFORM},
        "status": {"versions": [{"name": "operator", "version": at}], "conditions": conditions},
    }


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


class Files:
    """The files of a mock cluster whose control plane is being updated."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "x-cv.yaml")
        self.folder = folder
        self.write("cv", version())
        self.write("co", listed(operator("etcd", at="4.15.1"), operator("dns", at="4.15.0")))
        for suffix in ("mcp", "mc", "node"):
            self.write(suffix, listed())

    def write(self, suffix: str, tree: dict[str, Any]) -> None:
        (self.folder / f"x-{suffix}.yaml").write_text(dump_all([tree]))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def status(files: Files, *arguments: str) -> int:
    return main(["status", f"--mock-clusterversion={files.path}", *arguments])


def test_the_text_is_the_default(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(files) == Exit.OK

    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == (
        "= Control Plane =\n"
        "Assessment:      Progressing\n"
        "Target Version:  4.15.1 (from 4.15.0)\n"
        "Updating:        dns\n"
        "Completion:      50% (1 operators updated, 1 updating, 0 waiting)\n"
        "Duration:        20m (Est. Time Remaining: 38m)\n"
        "Operator Health: 2 Healthy\n"
        "\n"
        "= Update Health =\n"
        "SINCE   LEVEL   IMPACT   MESSAGE\n"
        "20m     Info    None     Update is proceeding well\n"
    )


def test_details_add_to_the_text(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(files, "--details=operators") == Exit.OK

    assert "\nUpdating Cluster Operators\nNAME   SINCE" in capsys.readouterr().out


def test_the_wide_form_leaves_nothing_out(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(files, "-o", "wide") == Exit.OK

    assert "= Updating Cluster Operators =\n" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_get_all_of_the_report(files: Files, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(files, "-o", form) == Exit.OK

    said = capsys.readouterr().out
    tree = json.loads(said) if form == "json" else yaml.safe_load(said)
    plane = tree.pop("controlPlane")
    operators = plane.pop("operators")
    assert tree == {
        "time": "2024-02-27T15:20:00.000368975Z",
        "headline": {"text": "Updating to 4.15.1: 1 of 2 operators updated", "why": "", "tone": "busy"},
        "updating": True,
        "topology": None,
        "pools": [],
        "unassignedNodes": [],
        "causes": [],
        "insights": [],
        "alerts": "",
        "gaps": [],
        "informers": [],
    }
    assert plane == {
        "assessment": "Progressing",
        "completion": 50.0,
        "versions": {
            "target": "4.15.1",
            "previous": "4.15.0",
            "incomplete": False,
            "multiArch": False,
            "rollback": False,
        },
        "progressing": {"status": "True", "reason": "Why", "message": "said", "since": START},
        "request": None,
        "started": START,
        "completed": None,
        "duration": 1200,
        "estimate": 2280,
        "expected": 3480,
        "expectedEnd": {
            "earliest": "2024-02-27T15:21:00Z",
            "middle": "2024-02-27T15:23:12Z",
            "latest": "2024-02-27T15:30:18Z",
            "basis": "usual times of operators",
        },
    }
    assert operators[1] == {
        "name": "dns",
        "state": "Progressing",
        "since": "2024-02-27T15:20:00Z",
        "reason": "Why",
        "message": "said",
        "health": "Healthy",
        "healthSince": START,
        "healthReason": "Why",
        "healthMessage": "said",
    }


def test_a_positional_argument_is_an_error_in_the_words_of_oc(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "4.16", "--details=foo"]) == Exit.FAILED

    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "error: positional arguments given\nSee 'windlass status -h' for help and examples\n",
    )


def test_other_details_are_an_error_in_the_words_of_oc(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(files, "--details=foo") == Exit.FAILED

    assert capsys.readouterr().err == (
        "error: invalid value for --details: foo (must be one of none, all, nodes, health, operators)\n"
    )


def test_a_missing_file_is_an_error_in_the_words_of_oc(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--mock-clusterversion=/nowhere-cv.yaml"]) == Exit.FAILED

    assert capsys.readouterr().err == "error: open /nowhere-cv.yaml: no such file or directory\n"


def test_no_operators_and_no_progressing_are_errors_in_the_words_of_oc(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    conditions = version()
    conditions["status"]["conditions"] = []
    files.write("cv", conditions)
    assert status(files) == Exit.FAILED
    assert capsys.readouterr().err == (
        "error: no current Progressing info, see `oc describe clusterversion` for more details.\n"
    )

    files.write("co", listed())
    assert status(files) == Exit.FAILED
    assert capsys.readouterr().err == (
        "error: no cluster operator information available - you must be connected to an OpenShift version 4 server\n"
    )


def test_the_exit_code_is_0_whatever_the_health(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    files.write("co", listed(operator("etcd", at="4.15.0", degraded="True"), operator("dns", at="4.15.1", time=LATER)))

    assert status(files) == Exit.OK
    assert "Cluster Operator etcd is degraded" in capsys.readouterr().out


@pytest.mark.parametrize(("level", "code"), [("info", 5), ("warning", 5), ("error", 0), ("critical", 0)], ids=str)
def test_a_level_makes_the_exit_code_5(files: Files, level: str, code: int) -> None:
    files.write("co", listed(operator("etcd", at="4.15.0", degraded="True"), operator("dns", at="4.15.1", time=LATER)))

    assert status(files, f"--fail-on={level}") == code


def test_an_update_that_has_stalled_is_an_error(files: Files) -> None:
    late = "2024-02-27T19:00:00Z"
    files.write("co", listed(operator("etcd", at="4.15.0"), operator("dns", at="4.15.1", time=late)))
    assert status(files, "--fail-on=error") == Exit.OK

    other = operator("zzz", at="4.15.1", time=late)
    other["metadata"]["annotations"] = {}
    files.write("co", listed(operator("etcd", at="4.15.0"), operator("dns", at="4.15.0"), other))

    assert (status(files, "--fail-on=error"), status(files, "--fail-on=critical")) == (5, 0)


def test_a_cluster_that_is_not_updating_needs_nobody(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    files.write("cv", version(progressing="False"))

    assert status(files, "--fail-on=info") == Exit.OK
    assert capsys.readouterr().out == "The cluster is not updating.\n"


def test_what_a_dump_lacks_is_a_warning_and_exit_code_1(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [f"--from={files.folder / name}" for name in ("x-cv.yaml", "x-co.yaml")]

    assert main(["status", *paths]) == Exit.FAILED

    said = capsys.readouterr()
    assert said.out.startswith("= Control Plane =\n")
    assert "warning: pools and nodes: not among the files\n" in said.err
    assert "warning: alerts: not among the files\n" in said.err


def test_files_of_which_no_report_can_be_made_are_exit_code_2(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", f"--from={files.folder / 'x-cv.yaml'}"]) == Exit.UNREADABLE
    assert "it lacks ClusterOperators; found: 1 ClusterVersion. " in capsys.readouterr().err

    assert main(["status", f"--from={files.folder / 'nowhere'}"]) == Exit.UNREADABLE
    assert capsys.readouterr().err == f"error: {files.folder / 'nowhere'}: No such file or directory\n"


@pytest.mark.parametrize("option", ["--watch", "--wait", "--wait=5s"])
def test_files_cannot_be_watched(files: Files, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(files, option) == Exit.USAGE

    assert "files do not change" in capsys.readouterr().err


def test_files_are_named_in_one_way(files: Files) -> None:
    assert status(files, f"--from={files.path}") == Exit.USAGE


@pytest.mark.parametrize("option", ["--mock-clusterversion", "--from"])
def test_files_need_no_http_stack(files: Files, option: str) -> None:
    script = (
        f"import sys; from windlass.cli import main; main(['status', {option!r}, {files.path!r}]); "
        "sys.exit(repr({'aiohttp', 'asyncio', 'rich', 'prometheus_client'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == "set()"
