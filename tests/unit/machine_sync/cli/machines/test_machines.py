"""`windlass machines`: what a line asks for, which rows that is, and how they look."""

from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime
from typing import Any

import click
import pytest
from click.testing import CliRunner

from windlass.capability.conventions.options import adopt
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.capability.conventions.verbs import Itself, WithVerbs
from windlass.cli import completion
from windlass.machine_sync.cli.machines import command
from windlass.machine_sync.cli.machines.follow import RowFilter
from windlass.machine_sync.cli.machines.show import report, summary
from windlass.machine_sync.cli.machines.view import Tables, name, tree
from windlass.machine_sync.cli.selection import Selection, parse
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.overview import (
    KINDS,
    MACHINE_SETS,
    MACHINES,
    AnyKind,
    AnyRow,
    Generation,
    MachineSetSide,
    MachineSide,
    Replicas,
    Row,
    Synchronized,
)

IN_SYNC = Synchronized("True", "ResourceSynchronized", since="2026-01-01T00:00:00Z")
STRAY = Synchronized("False", "FailedToConvertCAPIMachineToMAPI", "no\n  place", since="2026-01-01T00:00:00Z")


def machine(called: str, synchronized: Synchronized | None = IN_SYNC) -> AnyRow:
    left = MachineSide(namespace="mapi", uid="1", generation=1, phase="Running")
    right = MachineSide(namespace="capi", uid="2", generation=1, phase="Provisioned")
    return Row("Machine", called, left, right, "ClusterAPI", "ClusterAPI", synchronized, Generation(1, 1))


def machine_set(called: str, synchronized: Synchronized | None = IN_SYNC) -> AnyRow:
    left = MachineSetSide(namespace="mapi", uid="3", generation=1, replicas=Replicas(3, 3, 2, 2))
    right = MachineSetSide(namespace="capi", uid="4", generation=1, replicas=Replicas(3, None, None, None))
    return Row("MachineSet", called, left, right, "MachineAPI", "MachineAPI", synchronized, Generation(1, 1))


def gone(row: AnyRow) -> AnyRow:
    return Row(row.kind, row.name)


def tables(*, wide: bool = False, headings: bool = True) -> Tables:
    return Tables(lambda: datetime(2026, 1, 1, 0, 5, tzinfo=UTC), wide=wide, headings=headings, colour=False)


def words(lines: Sequence[str]) -> list[list[str]]:
    return [line.split() for line in lines]


# what a line asks for


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("a", ["Machine", "MachineSet"]),
        ("machine/a", ["Machine"]),
        ("machines/a", ["Machine"]),
        ("Machine/a", ["Machine"]),
        ("machine.machine.openshift.io/a", ["Machine"]),
        ("machines.cluster.x-k8s.io/a", ["Machine"]),
        ("machineset/a", ["MachineSet"]),
        ("machinesets.machine.openshift.io/a", ["MachineSet"]),
        ("machineset.cluster.x-k8s.io/a", ["MachineSet"]),
    ],
)
def test_a_name_may_say_its_kind_as_kubectl_writes_it(word: str, kinds: list[str]) -> None:
    selection = parse([word])

    rows = [machine("a"), machine("b"), machine_set("a"), machine_set("b")]
    assert [(row.kind, row.name) for row in rows if selection.names(row)] == [(kind, "a") for kind in kinds]
    assert selection.missing(rows) == []


@pytest.mark.parametrize(
    ("kind", "row"), [(MACHINES, machine("a")), (MACHINE_SETS, machine_set("a"))], ids=["machine", "machine set"]
)
def test_names_as_they_are_printed_are_taken(kind: AnyKind, row: AnyRow) -> None:
    (wanted,) = parse([name(row)]).wanted

    assert (wanted.kind, wanted.name) == (kind, "a")


def test_a_name_that_no_api_server_takes_does_not_reach_the_terminal_as_it_is() -> None:
    assert name(machine("a\x1b]0;b\x07")) == r"machine.machine.openshift.io/a\x1b]0;b\x07"


@pytest.mark.parametrize("word", ["node/a", "machine/", "machine.example.com/a", "machine/a/b", "/a"])
def test_what_names_nothing_is_refused_with_the_forms_that_do(word: str) -> None:
    with pytest.raises(click.UsageError, match=r"write NAME, machine/NAME or machineset/NAME"):
        parse([word])


def test_a_name_of_a_kind_that_is_not_shown_is_refused() -> None:
    with pytest.raises(click.UsageError, match="machineset/a is no machine, and --kind selects nothing else"):
        parse(["machineset/a"], kinds=[MACHINES])


def test_what_is_not_there_is_told_by_the_kinds_it_could_be() -> None:
    selection = parse(["a", "machine/b", "machineset/c"])

    assert selection.missing([machine("c")]) == ["MachineSet 'c'", "machine 'b'", "machine or MachineSet 'a'"]


def test_only_what_is_out_of_sync_is_shown_if_that_is_wanted() -> None:
    rows = [machine("a"), machine("b", STRAY), machine_set("a", None), machine_set("b")]

    assert [row for row in rows if Selection(unsynced=True).shows(row)] == [rows[1], rows[2]]
    assert [row for row in rows if parse(["a"], unsynced=True).shows(row)] == [rows[2]]
    assert [row for row in rows if Selection().shows(row)] == rows


# how rows look


def test_each_kind_has_its_table() -> None:
    lines = tables().page([machine("worker-0"), machine("worker-1", None), machine_set("workers")])

    assert words(lines) == [
        ["NAME", "AUTHORITY", "MAPI", "PHASE", "CAPI", "PHASE", "SYNCHRONIZED", "REASON", "SINCE", "GENERATION"],
        ["worker-0", "ClusterAPI", "Running", "Provisioned", "True", "ResourceSynchronized", "5m", "1/1"],
        ["worker-1", "ClusterAPI", "Running", "Provisioned", "-", "-", "-", "1/1"],
        [],
        ["MACHINESET", "AUTHORITY", "MAPI", "READY", "CAPI", "READY", "SYNCHRONIZED", "REASON", "SINCE", "GENERATION"],
        ["workers", "MachineAPI", "2/3", "0/3", "True", "ResourceSynchronized", "5m", "1/1"],
    ]


def test_a_kind_of_which_there_is_nothing_has_no_table() -> None:
    assert tables().page([]) == []
    assert tables().page([machine_set("workers")])[0].startswith("MACHINESET")


def test_wide_tables_end_with_the_message() -> None:
    lines = tables(wide=True, headings=False).page([machine("a", STRAY), machine_set("a", STRAY)])

    assert [line.split("   ")[-1].strip() for line in lines] == ["no place", "no place"]


def test_rows_that_follow_others_have_headings_where_the_kind_changes() -> None:
    running = tables()
    running.lines([machine("a")])

    assert [line[:1] for line in words(running.lines([machine("b")]))] == [["b"]]
    assert [line[:1] for line in words(running.lines([machine_set("c")]))] == [[], ["MACHINESET"], ["c"]]
    assert [line[:1] for line in words(running.lines([machine("a")]))] == [[], ["NAME"], ["a"]]


def test_without_headings_there_is_one_row_a_line() -> None:
    lines = tables(headings=False).page([machine("a"), machine_set("b")])

    assert [line[0] for line in words(lines)] == ["a", "b"]


@pytest.mark.parametrize(
    ("side", "shown"),
    [
        (None, "-"),
        (MachineSetSide(namespace="n", uid="1", generation=1, unreadable="no"), "Unreadable"),
        (MachineSetSide(namespace="n", uid="1", generation=1, replicas=Replicas(None, 1, 1, 1)), "1/-"),
        (MachineSetSide(namespace="n", uid="1", generation=1, replicas=Replicas(0, 0, None, None)), "0/0"),
    ],
)
def test_a_machine_set_shows_how_many_are_ready_of_those_there_shall_be(
    side: MachineSetSide | None, shown: str
) -> None:
    (line,) = tables(headings=False).page([Row("MachineSet", "a", None, side)])

    assert line.split()[3] == shown


def test_an_item_says_its_kind() -> None:
    item = tree(machine_set("workers"))

    assert (item["kind"], item["name"]) == ("MachineSet", "workers")
    assert item["machineAPI"]["replicas"] == {"desired": 3, "current": 3, "ready": 2, "available": 2}
    assert item["clusterAPI"]["infrastructureTemplate"] is None


def test_names_are_those_of_the_side_that_there_is() -> None:
    only_capi: AnyRow = Row("MachineSet", "a", None, machine_set("a").cluster_api)

    assert name(machine_set("a")) == "machineset.machine.openshift.io/a"
    assert name(only_capi) == "machineset.cluster.x-k8s.io/a"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([machine("a"), machine_set("a")], "nothing is out of sync: looked at 1 machine and 1 MachineSet"),
        ([machine("a"), machine("b")], "nothing is out of sync: looked at 2 machines"),
        ([machine("a", STRAY), machine("b"), machine_set("a")], "1 of 2 machines is not known to be in sync"),
        (
            [machine("a", STRAY), machine_set("a", STRAY), machine_set("b")],
            "1 of 1 machine and 1 of 2 MachineSets are not known to be in sync",
        ),
    ],
)
def test_what_is_out_of_sync_is_counted_in_words(rows: list[AnyRow], text: str) -> None:
    assert summary(rows, Selection()) == text


# what a watch prints


def printed(passage: RowFilter, *rows: AnyRow) -> list[str]:
    return [row.name for row in passage.of(rows)]


def test_what_comes_into_sync_is_printed_once_more_and_then_no_longer() -> None:
    passage = RowFilter(Selection(unsynced=True))

    assert printed(passage, machine("a", STRAY), machine("b")) == ["a"]
    assert printed(passage, machine("a"), machine_set("a")) == ["a"]
    assert printed(passage, machine("a")) == []


def test_what_was_out_of_sync_and_is_gone_is_printed_once_more() -> None:
    passage = RowFilter(Selection(unsynced=True))

    assert printed(passage, machine("a", STRAY)) == ["a"]
    assert printed(passage, gone(machine("a")), gone(machine("b"))) == ["a"]
    assert printed(passage, gone(machine("a"))) == []


def test_only_what_is_named_is_printed() -> None:
    passage = RowFilter(parse(["machine/a"]))

    assert printed(passage, machine("a"), machine("b"), machine_set("a")) == ["a"]
    assert printed(passage, gone(machine("a")), gone(machine_set("a"))) == ["a"]


# verbs


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> WithVerbs:
    """A command that prints what it was given, with one verb, which is a copy of the command `completion`."""
    own = copy(completion.command)
    own.params = [*own.params]
    monkeypatch.setattr(completion, "command", own)

    @click.command("things", cls=Itself)
    @click.argument("names", nargs=-1)
    @click.option("--loud", is_flag=True)
    @settings_of
    def things(settings: Settings, names: tuple[str, ...], *, loud: bool) -> None:
        """Show things."""
        click.echo(f"{names} {loud} {settings.context}")

    return adopt(WithVerbs(things, {"completion": "Print a script."}, package="windlass.cli"))


def said(command: click.Command, *arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout.rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "() False None"),
        (["a"], "('a',) False None"),
        (["a", "completion", "--loud"], "('a', 'completion') True None"),
        (["--loud", "a"], "('a',) True None"),
        (["--context", "c", "a"], "('a',) False c"),
        (["--context", "completion"], "() False completion"),
        (["--", "completion"], "('completion',) False None"),
        ([""], "('',) False None"),
    ],
)
def test_what_does_not_begin_with_a_verb_is_for_the_command_itself(
    verbs: WithVerbs, arguments: list[str], text: str
) -> None:
    assert said(verbs, *arguments) == text


@pytest.mark.parametrize("before", [[], ["--context", "c"]])
def test_a_verb_is_loaded_and_does_the_rest(verbs: WithVerbs, before: list[str]) -> None:
    assert "_WINDLASS_COMPLETE=bash_complete" in said(verbs, *before, "completion", "bash")


def test_the_help_of_the_command_lists_its_verbs(verbs: WithVerbs) -> None:
    text = said(verbs, "--help")

    assert text.startswith("Usage: things [OPTIONS] [NAMES]...\n")
    assert "--loud" in text
    assert "  completion  Print a script." in text


def test_errors_name_the_command_as_it_was_called(verbs: WithVerbs) -> None:
    result = CliRunner().invoke(verbs, ["--quiet"])

    assert result.exit_code == 2
    assert "Try 'things --help'" in result.stderr


def test_every_verb_of_machines_explains_itself() -> None:
    for verb in command.verbs:
        assert f"machines {verb}" in said(adopt(command), verb, "--help").splitlines()[0]


def test_every_kind_can_be_asked_for_by_itself() -> None:
    text = said(adopt(command), "--help")

    assert f"--kind [{'|'.join(kind.name.lower() for kind in KINDS)}]" in text


def completions(line: list[str], incomplete: str) -> list[Any]:
    from click.shell_completion import ShellComplete

    return [item.value for item in ShellComplete(adopt(command), {}, "machines", "_").get_completions(line, incomplete)]


def test_verbs_are_completed_where_the_first_word_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")

    assert set(command.verbs) <= set(completions([], ""))
    assert not set(command.verbs) & set(completions(["worker-0"], ""))


def test_options_are_completed_without_a_verb() -> None:
    assert "--unsynced" in completions([], "--un")
    assert completions(["-o"], "w") == ["wide"]


# what people are told beside the rows


def told(capsys: pytest.CaptureFixture[str], *wanted: str, complete: bool) -> str:
    """Of an empty cluster."""
    selection = parse(wanted)
    report(
        [], missing=selection.missing([]), places=Namespaces("ours", "theirs"), selection=selection, complete=complete
    )
    return capsys.readouterr().err


def test_that_there_is_nothing_is_said_only_if_all_sides_could_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, complete=True) == "No machines or MachineSets found in ours or theirs.\n"
    assert told(capsys, complete=False) == ""


def test_what_was_not_found_may_be_on_a_side_that_could_not_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "machine/a", complete=True) == "error: no machine 'a' in ours or theirs\n"
    assert told(capsys, "machine/a", complete=False) == "error: no machine 'a' on the sides that can be listed\n"
