"""The options of every command, and how a command line is read."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import click
import pytest
from click.testing import CliRunner

from windlass.capability.conventions.connection import impersonation
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.options import adopt
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli import main
from windlass.cli.program import COMMANDS, CommandTable, cli
from windlass.kube.config import Impersonation
from windlass.kube.errors import ConfigError
from windlass.kube.version import VERSION

OF_THE_PROGRAM = {"--log-level", "--version"}
OF_A_CLUSTER = {"--kubeconfig", "--context", "--namespace", "-n", "--request-timeout", "--as", "--as-group"}


@pytest.fixture
def group() -> click.Group:
    """A group with a command, and a command in a group, that print what they were told."""
    outer = click.Group("outer")
    inner = click.Group("inner")
    outer.add_command(inner)
    for parent in (outer, inner):

        @parent.command("show")
        @settings_of
        def show(settings: Settings) -> None:
            click.echo(repr(settings))

    return adopt(outer)


def told(group: click.Group, *arguments: str) -> Settings:
    result = CliRunner().invoke(group, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    settings = eval(result.stdout, {"Settings": Settings})
    assert isinstance(settings, Settings)
    return settings


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n", "one", "--context", "c", "show"],
        ["show", "-n", "one", "--context", "c"],
        ["-n", "one", "show", "--context", "c"],
        ["inner", "-n", "one", "show", "--context=c"],
        ["inner", "show", "--namespace", "one", "--context", "c"],
        ["-n", "zero", "inner", "-n", "half", "show", "-n", "one", "--context", "c"],
    ],
)
def test_common_options_are_taken_anywhere_and_the_last_one_wins(group: click.Group, arguments: Sequence[str]) -> None:
    settings = told(group, *arguments)

    assert (settings.namespace, settings.context) == ("one", "c")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("1m", 60),
        ("500ms", 0.5),
        ("0", 0),
        ("0s", 0),
        ("15", 15),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("2.5", 2.5),
    ],
)
def test_a_request_timeout_is_written_as_for_kubectl(group: click.Group, text: str, seconds: float) -> None:
    assert told(group, "show", "--request-timeout", text).request_timeout == seconds


@pytest.mark.parametrize("text", ["", "s", "10 s", "-1s", "10x", "1s2", "nan", "10ss"])
def test_what_is_no_duration_is_refused_with_an_example(group: click.Group, text: str) -> None:
    result = CliRunner().invoke(group, ["show", "--request-timeout", text])

    assert result.exit_code == 2
    assert "is not a duration: write it as 10s, 1m30s or 500ms" in result.stderr


OFFLINE_VERBS = {("os-build", "render"), ("os-build", "build"), ("os-build", "trust")}
"""Commands without a cluster in a group whose other commands have one."""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_common_options_and_those_of_a_cluster_if_it_asks_one(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)

    assert command is not None
    for each in _with_children(command):
        assert _flags(each) >= OF_THE_PROGRAM
        if COMMANDS[name].offline or (name, each.name) in OFFLINE_VERBS:
            assert not _flags(each) & {"--kubeconfig", "--context", "--request-timeout", "--as", "--as-group"}
        else:
            assert _flags(each) >= OF_A_CLUSTER


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == Exit.OK

    assert f"Usage: windlass {name}" in capsys.readouterr().out


def test_groups_may_be_several_and_need_a_user(group: click.Group) -> None:
    said = told(group, "show", "--as", "me", "--as-group", "a", "--as-group", "b")

    assert impersonation(said) == Impersonation(user="me", groups=("a", "b"))
    assert impersonation(Settings()) is None
    with pytest.raises(ConfigError, match="--as-group needs --as USER"):
        impersonation(Settings(as_groups=("a",)))


def test_the_version_is_printed_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == Exit.OK
    assert capsys.readouterr().out.startswith(f"windlass {VERSION} (Python 3.")
    assert main(["version", "-o", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["windlass"] == VERSION


def test_adopting_twice_changes_nothing(group: click.Group) -> None:
    before = [_flags(each) for each in _with_children(group)]

    adopt(group)

    assert [_flags(each) for each in _with_children(group)] == before
    assert len(group.params) == len({parameter.name for parameter in group.params})


def test_the_version_may_be_asked_for_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--version"], ["machines", "--version"], ["dev", "up", "--version"]):
        assert main(arguments) == Exit.OK
        assert capsys.readouterr().out == f"windlass {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["machins"], "No such command 'machins'. Did you mean 'machines'?"),
        (["get", "machines"], "there is no command 'get': use `windlass machines [NAME]...`"),
        (["describe", "machine", "x"], "there is no command 'describe': use `windlass machines describe NAME`"),
        (["convert", "--context", "c"], "No such option '--context'."),
        (["--kubeconfig", "k", "dev", "status"], "--kubeconfig makes no sense here: `windlass dev` works only on what"),
        (
            ["release", "--all"],
            "--all changes many objects and needs a terminal to ask for confirmation: add --yes",
        ),
        (["machines", "--outptu", "json"], "No such option '--outptu'."),
        (["machines", "-o", "xml"], "Invalid value for '-o' / '--output': 'xml' is not one of"),
        (["release"], "say which machines: either NAMEs, or --all"),
        (["release", "--all", "worker-0"], "say which machines: either NAMEs, or --all"),
        (["completion"], "Missing argument"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
    ],
)
def test_a_wrong_command_line_is_one_error_with_the_way_to_help(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == Exit.USAGE

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert message in said.err
    assert "Try 'windlass" in said.err


def test_no_command_at_all_is_a_usage_error_that_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == Exit.USAGE

    said = capsys.readouterr()
    assert said.out == ""
    assert all(name in said.err for name in COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == Exit.OK

    assert f"_WINDLASS_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_help_loads_nothing_heavy() -> None:
    heavy = {"aiohttp", "msgspec", "rich", "yaml", "asyncio", "prometheus_client"}
    script = (
        f"import sys; from windlass.cli import main; main(['--help']); sys.exit(repr({heavy!r} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "set()"


@pytest.mark.slow
def test_a_process_of_controllers_loads_nothing_for_terminals() -> None:
    script = (
        "import sys, windlass.machine_sync.service; sys.exit(repr({'click', 'rich', 'pygments'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "set()"


def test_a_defect_is_one_line_unless_debugging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    @settings_of
    def broken(_: Settings) -> None:
        raise RuntimeError("on\nfire")

    def only_this(_: CommandTable, __: click.Context, ___: str) -> click.Command:
        return adopt(broken)

    monkeypatch.setattr(CommandTable, "get_command", only_this)

    assert main(["machines"]) == Exit.BUG
    assert capsys.readouterr().err == (
        "error: RuntimeError: on fire: this is a defect of Windlass; --log-level debug shows where\n"
    )
    assert main(["machines", "--log-level", "debug"]) == Exit.BUG
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def _flags(command: click.Command) -> set[str]:
    return {flag for parameter in command.params for flag in parameter.opts}


def _with_children(command: click.Command) -> list[click.Command]:
    children: list[Any] = []
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        children = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
    return [command, *(below for child in children for below in _with_children(child))]
