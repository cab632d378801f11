"""What holds for every command, shown with `windlass machines` as a process."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.api.cli.conftest import Sides, Windlass
from tests.api.cli.ptys import read_to_the_end
from tests.patience import PATIENCE
from windlass.kube.process.colour import colourful
from windlass.testing import ControlPlane, crds

pytestmark = pytest.mark.plane

GREEN = b"\x1b[32m"


PATIENT = f"""
from windlass.cli import main
from windlass.capability.conventions import candidates
candidates.PATIENCE = {PATIENCE}
raise SystemExit(main())
"""
"""`windlass`, but for how long a Tab waits for the API server."""


def shell(command: str, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a pipeline; `windlass` in it is this checkout's, and the exit code that of the first failing part."""
    script = f'set -o pipefail; windlass() {{ "{sys.executable}" -m windlass "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def on_terminal(arguments: list[str], environment: dict[str, str]) -> bytes:
    """What `windlass ARGUMENTS...` writes to a terminal."""
    master, slave = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "windlass", *arguments], env=environment, stdout=slave, timeout=PATIENCE, check=True
        )
        os.close(slave)
        return read_to_the_end(master)
    finally:
        os.close(master)


def test_a_pipe_that_is_closed_early_is_quiet(sides: Sides, environment: dict[str, str]) -> None:
    for number in range(3):
        sides.capi_machine(f"worker-{number}")

    read_first = shell(f"windlass machines {' '.join(sides.flags)} | head -1", environment)
    read_nothing = shell(f"windlass machines {' '.join(sides.flags)} | true", environment)

    assert read_first.stdout.startswith("NAME")
    assert read_first.stderr == ""
    assert read_first.returncode in (0, 141)
    assert (read_nothing.returncode, read_nothing.stderr) in [(0, ""), (141, "")]


def test_a_reader_that_is_gone_before_we_write_is_exit_code_141(sides: Sides, environment: dict[str, str]) -> None:
    sides.capi_machine("worker-0")
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [sys.executable, "-m", "windlass", "machines", *sides.flags],
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_an_error_and_not_a_traceback(environment: dict[str, str]) -> None:
    done = shell("windlass --version > /dev/full", environment)

    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"


def test_colour_is_for_terminals_only_and_no_color_turns_it_off(sides: Sides, environment: dict[str, str]) -> None:
    sides.mirrored("worker-0")
    arguments = ["machines", *sides.flags]
    terminal = environment | {"TERM": "xterm-256color"}

    assert GREEN in on_terminal(arguments, terminal)
    assert b"\x1b" not in on_terminal(arguments, terminal | {"NO_COLOR": "1"})
    assert b"\x1b" not in on_terminal(arguments, terminal | {"TERM": "dumb"})
    assert "\x1b" not in shell(f"windlass {' '.join(arguments)}", terminal).stdout


def test_an_empty_no_color_means_nothing() -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    assert colourful(Terminal(), {"NO_COLOR": "", "TERM": "xterm"})  # type: ignore[arg-type]


def test_the_common_options_may_stand_before_or_after_the_command(
    sides: Sides, windlass: Windlass, environment: dict[str, str]
) -> None:
    kubeconfig = environment.pop("KUBECONFIG")
    common = ["--kubeconfig", kubeconfig, "--request-timeout", "20s", "--log-level", "error"]

    before = windlass(*common, "machines", *sides.flags)
    after = windlass("machines", *sides.flags, *common)
    neither = windlass("machines", *sides.flags)

    assert (before.returncode, after.returncode) == (0, 0), before.stderr + after.stderr
    assert neither.returncode == 2
    assert "give --kubeconfig FILE, or set KUBECONFIG" in neither.stderr


def test_said_twice_the_later_one_wins(sides: Sides, windlass: Windlass, environment: dict[str, str]) -> None:
    done = windlass("--kubeconfig", "/nowhere", "machines", "--kubeconfig", environment["KUBECONFIG"], *sides.flags)

    assert done.returncode == 0, done.stderr


def test_an_unknown_context_names_the_ones_there_are(windlass: Windlass) -> None:
    done = windlass("machines", "--context", "prod")

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "there is no context 'prod'" in line


def test_an_api_server_that_does_not_answer_is_one_line_with_a_remedy(
    windlass: Windlass, environment: dict[str, str], tmp_path: Path
) -> None:
    dead = tmp_path / "dead.yaml"
    dead.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster: {server: 'https://127.0.0.1:1'}\n"
        "contexts:\n- name: c\n  context: {cluster: c}\n"
    )

    done = windlass("machines", "--kubeconfig", str(dead))
    debugged = windlass("machines", "--kubeconfig", str(dead), "--log-level", "debug")

    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: GET https://127.0.0.1:1/")
    assert line.endswith("--request-timeout gives it more time")
    assert debugged.returncode == 1
    assert "Traceback" in debugged.stderr


def test_refused_credentials_are_exit_code_2(windlass: Windlass, environment: dict[str, str], tmp_path: Path) -> None:
    kubeconfig = yaml.safe_load(Path(environment["KUBECONFIG"]).read_text())
    for user in kubeconfig["users"]:
        user["user"] = {"token": "wrong"}
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(yaml.safe_dump(kubeconfig))

    done = windlass("machines", "--kubeconfig", str(wrong))

    assert done.returncode == 2, done.stderr
    assert "log in again" in done.stderr


def test_a_kind_that_is_not_served_is_a_warning_that_names_it(
    windlass_fresh_plane: ControlPlane, windlass: Windlass
) -> None:
    plane = windlass_fresh_plane.blocking
    plane.apply_crds(*crds.documents("machine.openshift.io"))
    sides = Sides(plane)
    sides.mapi_machine("worker-0", status={"phase": "Running"})

    shown = windlass("machines", *sides.flags, env={"KUBECONFIG": str(windlass_fresh_plane.kubeconfig())})

    assert shown.returncode == 1
    assert shown.stdout.splitlines()[1].split()[:4] == ["worker-0", "<none>", "Running", "-"]
    for kind, line in zip(("machines", "machinesets"), shown.stderr.splitlines(), strict=True):
        assert line.startswith(f"warning: {kind}.cluster.x-k8s.io cannot be listed, so that side is missing: ")
        assert line.endswith("install its CustomResourceDefinition")


@pytest.mark.parametrize(
    ("word", "offered"),
    [
        ("worker-1", ["worker-1"]),
        ("worker", ["worker-0", "worker-1", "workers"]),
        ("machine/", ["machine/worker-0", "machine/worker-1"]),
        ("machineset/w", ["machineset/workers"]),
        ("node/", []),
    ],
)
def test_tab_completes_names_of_machines_and_sets(
    sides: Sides, environment: dict[str, str], word: str, offered: list[str]
) -> None:
    sides.mirrored("worker-0")
    sides.capi_machine("worker-1")
    sides.mapi_set("workers")
    line = f"windlass machines {' '.join(sides.flags)} {word}"
    asked = {"_WINDLASS_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(2 + len(sides.flags))}

    done = shell(f'"{sys.executable}" -c "{PATIENT}"', environment | asked)

    assert done.returncode == 0, done.stderr
    names = [answer.removeprefix("plain,") for answer in done.stdout.split()]
    assert names == offered


def test_tab_is_silent_when_there_is_no_cluster(environment: dict[str, str]) -> None:
    asked = {"_WINDLASS_COMPLETE": "bash_complete", "COMP_WORDS": "windlass release ", "COMP_CWORD": "2"}

    done = shell("windlass", environment | asked | {"KUBECONFIG": "/nowhere"})

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
