"""`windlass dev cloud` where there is no cloud."""

import json
from pathlib import Path

import pytest

from windlass.cli.program import run


@pytest.fixture(autouse=True)
def _no_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--path", "/ports"], "say what is to happen"),
        (["--list", "--status", "500"], "say what is to happen"),
        (["--list", "--clear"], "say what is to happen"),
        (["--drop", "--body", "x"], "give its --status"),
        (["--status", "429", "--header", "Retry-After 1"], "is not a header"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert run(["dev", "cloud", "fault", "nova", *arguments]) == 64
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("command", [["status"], ["env"], ["fault", "nova", "--list"]], ids=lambda words: words[0])
def test_each_command_says_how_to_start_a_cloud(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert run(["dev", "cloud", *command]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "start one with `windlass dev cloud up`" in said.err


def test_down_has_nothing_to_stop(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dev", "cloud", "down"]) == 1
    assert "no cloud that `windlass dev cloud up` started is running" in capsys.readouterr().err


def test_status_as_json_says_that_it_does_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dev", "cloud", "status", "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"running": False}
