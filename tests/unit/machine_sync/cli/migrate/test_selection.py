"""Which objects the names on the command line of `windlass migrate` mean."""

import click
import pytest

from tests.unit.machine_sync.preflight_cases import look, machine_api, machine_set
from windlass.api import mapi
from windlass.kube.control.seen import Absent
from windlass.machine_sync.cli.migrate.selection import ObjectKey, bare, parse, resolve

MACHINE, SET = ObjectKey(mapi.Machine, "x"), ObjectKey(mapi.MachineSet, "x")
A_MACHINE, A_SET = look(mapi.Machine, machine_api()), look(mapi.MachineSet, machine_set())


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("machine/x", MACHINE),
        ("machines/x", MACHINE),
        ("Machine/x", MACHINE),
        ("machine.machine.openshift.io/x", MACHINE),
        ("machine.cluster.x-k8s.io/x", MACHINE),
        ("machineset/x", SET),
        ("machinesets.machine.openshift.io/x", SET),
        ("machineset.cluster.x-k8s.io/x", SET),
    ],
)
def test_a_name_with_a_kind_is_that(text: str, meant: ObjectKey) -> None:
    assert resolve([parse(text)], {}) == [meant]
    assert bare([parse(text)]) == []


@pytest.mark.parametrize("text", ["node/x", "machine/", "", "a/b/x", "machine.example.com/x"])
def test_what_names_nothing_is_a_usage_error_that_says_how_to_write_it(text: str) -> None:
    with pytest.raises(click.UsageError, match="write NAME, machine/NAME or machineset/NAME"):
        parse(text)


def test_a_bare_name_is_the_machine_whether_it_exists_or_not() -> None:
    assert resolve([parse("x")], {MACHINE: A_MACHINE, SET: Absent()}) == [MACHINE]
    assert resolve([parse("x")], {MACHINE: Absent(), SET: Absent()}) == [MACHINE]


def test_a_bare_name_is_the_set_if_only_that_exists() -> None:
    assert bare([parse("x")]) == [SET, MACHINE]
    assert resolve([parse("x")], {MACHINE: Absent(), SET: A_SET}) == [SET]


def test_a_bare_name_of_both_is_a_usage_error_with_the_remedy() -> None:
    with pytest.raises(click.UsageError, match="write machine/x or machineset/x"):
        resolve([parse("x")], {MACHINE: A_MACHINE, SET: A_SET})


def test_sets_come_first_and_everything_once() -> None:
    words = [parse(text) for text in ("machine/b", "machine/a", "machineset/z", "machine/b")]

    assert [str(key) for key in resolve(words, {})] == ["machineset/z", "machine/b", "machine/a"]
