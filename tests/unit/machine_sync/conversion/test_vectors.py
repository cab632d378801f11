"""Recorded conversions, one test each: the result, every error, every warning and the joined text are the same."""

from typing import Any

import pytest

from .deviations import DEVIATIONS
from .vectors import convert, convert_template, plain, row_id, rows

MACHINES = list(rows("Machine"))
SETS = [row for row in rows("MachineSet") if row["input"]["machineSet"] and row["input"]["infraMachineTemplate"]]


@pytest.mark.parametrize("row", [row for row in MACHINES if row_id(row) not in DEVIATIONS], ids=row_id)
def test_a_machine_converts_as_recorded(row: dict[str, Any]) -> None:
    converted = convert(row)

    assert list(converted.errors) == row["errors"]
    assert list(converted.warnings) == row["warnings"]
    assert converted.error == row.get("error", "")
    machine = None if converted.machine is None else {"machine": plain(converted.machine)}
    assert machine == row["output"]


@pytest.mark.parametrize("row", [row for row in MACHINES if row_id(row) in DEVIATIONS], ids=row_id)
def test_a_deviation_gives_its_listed_result(row: dict[str, Any]) -> None:
    _, errors = DEVIATIONS[row_id(row)]
    converted = convert(row)

    assert row["panic"]
    assert converted.errors == errors
    assert (converted.machine is None) == bool(errors)


def test_every_listed_deviation_is_a_recorded_case() -> None:
    assert set(DEVIATIONS) <= {row_id(row) for row in MACHINES}


@pytest.mark.parametrize("row", SETS, ids=row_id)
def test_the_template_of_a_set_converts_like_a_machine(row: dict[str, Any]) -> None:
    converted = convert_template(row)

    if row.get("panic"):
        assert converted.machine is not None or converted.errors
    elif row["output"] is None:
        assert set(converted.errors) <= set(row["errors"])
        assert converted.errors or row["errors"]
    else:
        assert converted.machine is not None, converted.errors
        assert plain(converted.machine)["spec"] == row["output"]["machineSet"]["spec"]["template"]["spec"]
