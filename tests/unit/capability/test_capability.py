"""What adding a capability takes: a registration line, and it is in every command. Those that were there stay."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.cli import main
from windlass.cli.capabilities import CAPABILITIES, Entry

from ..machine_sync.planning.documents import AT_REST

GREETING = """
apiVersion: toys.example.com/v1
kind: Greeting
metadata: {name: first, namespace: toys}
spec: {text: world}
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(CAPABILITIES) - {"machine-sync"}:
        monkeypatch.delitem(CAPABILITIES, name)
    monkeypatch.setitem(CAPABILITIES, "toy", Entry("tests.unit.capability.toy"))


class Said:
    """Runs commands, and tells what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.complaints = ""

    def __call__(self, *arguments: str, code: int = 0) -> str:
        assert main(list(arguments)) == code, self._capsys.readouterr()
        out, self.complaints = self._capsys.readouterr()
        return out

    def documents(self, *arguments: str) -> list[tuple[str, str]]:
        """Kind and name of each document that is printed."""
        found: list[Any] = list(yaml.safe_load_all(self(*arguments)))
        return [(one["kind"], one["metadata"]["name"]) for one in found]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(capsys)


def written(folder: Path, *texts: str) -> list[str]:
    arguments = []
    for number, text in enumerate(texts):
        file = folder / f"{number}.yaml"
        file.write_text(text)
        arguments += ["-f", str(file)]
    return arguments


def test_it_can_be_run_with_the_options_of_every_capability(said: Said) -> None:
    assert "toy           Greet." in said("run", "--help")
    assert "--leader-elect-lease-duration" in said("run", "toy", "--help")
    assert "--machine-api-namespace" not in said("run", "toy", "--help")


def test_it_can_be_planned_for(said: Said, tmp_path: Path) -> None:
    assert said("plan", "toy", *written(tmp_path, GREETING), code=3).splitlines() == [
        "greeting/toys/first",
        "  merge Greeting.toys.example.com toys/first (status)",
        '    + status.text: "Hello, world!"',
        "  then look again at once",
    ]
    asked = said("plan", "toy", *written(tmp_path, GREETING), "--questions", code=3).splitlines()
    assert asked[:2] == ["greeting/toys/first", "  asked: live Namespace toys"]
    items = json.loads(said("plan", "toy", *written(tmp_path, GREETING), "--questions", "-o", "json", code=3))["items"]
    assert [one["questions"] for one in items] == [[["live Namespace toys"]]]
    followed = json.loads(said("plan", "toy", *written(tmp_path, GREETING), "--rounds", "-o", "json", code=3))
    assert [one["status"] for one in followed["objects"]] == [{"text": "Hello, world!"}]


def test_without_a_name_all_capabilities_are_planned_for(said: Said, tmp_path: Path) -> None:
    lines = said("plan", *written(tmp_path, AT_REST, GREETING), code=3).splitlines()
    assert (lines[0], lines[-1]) == ("greeting/toys/first", "Nothing to do for 1 Machine.")
    assert said("plan", *written(tmp_path, AT_REST)) == "Nothing to do for 1 Machine.\n", "greetings are not asked for"


def test_with_one_capability_its_name_may_be_left_out(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(CAPABILITIES, "toy")
    given = [*written(tmp_path, AT_REST), "-o", "json", "--all"]
    assert said("plan", *given) == said("plan", "machine-sync", *given)


def test_when_the_files_concern_nobody_each_capability_says_so(said: Said, tmp_path: Path) -> None:
    said("plan", *written(tmp_path, "kind: Other"), code=1)
    assert said.complaints.splitlines() == [
        "error: no Machine or MachineSet among the 0 objects that were read",
        "error: no Greeting among the 0 objects that were read",
    ]


def test_options_before_the_name_are_not_ignored(said: Said) -> None:
    said("plan", "--all", "toy", code=64)
    assert "error: --all goes after the capability: `windlass plan toy ...`" in said.complaints


def test_it_has_rights_of_its_own_beside_those_of_the_others(said: Said) -> None:
    ours = said.documents("manifests", "rbac", "toy")
    theirs = said.documents("manifests", "rbac", "machine-sync")
    assert ours == [
        ("Namespace", "windlass-system"),
        ("ServiceAccount", "windlass-toy"),
        ("ClusterRole", "windlass-toy"),
        ("ClusterRoleBinding", "windlass-toy"),
        ("Role", "windlass-toy"),
        ("RoleBinding", "windlass-toy"),
        ("ClusterRole", "windlass-toy-metrics-reader"),
    ]
    assert said.documents("manifests", "rbac", "machine-sync", "toy") == [
        *theirs,
        *(one for one in ours if one not in theirs),
    ]


def test_it_has_policies_and_crds(said: Said) -> None:
    assert said.documents("manifests", "policies", "toy") == [
        ("ValidatingAdmissionPolicy", "windlass-polite"),
        ("ValidatingAdmissionPolicyBinding", "windlass-polite"),
    ]
    assert said.documents("manifests", "crds", "machine-sync", "toy") == [
        ("CustomResourceDefinition", "greetings.toys.example.com")
    ]
    assert said.complaints == "note: machine-sync has no kinds of its own\n"


def test_machine_sync_owns_no_kind_and_prints_nothing(said: Said) -> None:
    assert said("manifests", "crds", "machine-sync") == ""


@pytest.mark.parametrize("what", ["rbac", "policies", "crds"])
def test_without_a_name_nothing_is_printed_and_the_message_has_the_names(said: Said, what: str) -> None:
    """What is printed goes into a cluster: rights of a capability that nobody meant must not be in it."""
    assert said("manifests", what, code=64) == ""
    remedy = f"which capability? Name it: `windlass manifests {what} machine-sync`; there are machine-sync, toy"
    assert remedy in said.complaints


def test_a_capability_that_is_not_there_is_a_usage_error(said: Said) -> None:
    said("manifests", "rbac", "none", code=64)
    assert "there is no capability none, only machine-sync, toy" in said.complaints


@pytest.mark.parametrize("command", ["'run', 'toy', '--help'", "'manifests', 'rbac', 'toy'"])
def test_asking_for_one_capability_imports_no_other(command: str) -> None:
    """But for the options of the others, where a command has those of all."""
    script = (
        "import sys; from windlass.cli import main; from windlass.cli.capabilities import CAPABILITIES, Entry; "
        "CAPABILITIES['toy'] = Entry('tests.unit.capability.toy'); "
        f"assert main([{command}]) == 0; "
        "print(sorted(name for name in sys.modules if name.startswith('windlass.machine_sync.')), file=sys.stderr)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    names = ast.literal_eval(done.stderr.strip().splitlines()[-1])
    assert {name.split(".")[2] for name in names} <= {"capability", "cli", "constants", "platform_list"}
    assert {name for name in names if ".cli." in name} <= {
        f"windlass.machine_sync.cli.{each}" for each in ("names", "sides")
    }
