"""Recorded conversions, one test each: results, every error, every warning, the joined text and what names hash."""

import re
from collections import Counter
from typing import Any

import pytest

from windlass.api import capo
from windlass.machine_sync.conversion.gojson import compact

from .deviations import CRASH_ERRORS, CRASHES, DEVIATIONS, INDEX_OF_NETWORK, SOURCE_UUID, TAINTS, Reason
from .recorded_losses import LOSSES
from .vectors import TO_CLUSTER_API, TO_MACHINE_API, Result, as_recorded, convert, decode, differences, row_id, rows

ROWS = [*rows(TO_MACHINE_API), *rows(TO_CLUSTER_API)]
LOSS = re.compile(r".*: .* has no equivalent in .* and (is dropped|becomes .*)", re.DOTALL)
TEMPLATE_NAME = re.compile(r"infraMachineTemplate\.metadata\.name$|machineSet\..*\.infrastructureRef\.name$")


@pytest.mark.parametrize("row", [row for row in ROWS if row_id(row) not in DEVIATIONS], ids=row_id)
def test_conversion_gives_what_was_recorded(row: dict[str, Any]) -> None:
    result = convert(row)

    assert result.errors == row["errors"]
    assert result.warnings == row["warnings"]
    assert result.error == row.get("error", "")
    output, hashed = in_recorded_form(row, result)
    if hashed != result.hashed:  # templates are named by a hash of their spec
        assert {path for path in differences(output, row["output"]) if not TEMPLATE_NAME.search(path)} == set()
    else:
        assert output == row["output"]
    assert hashed == row.get("templateSpecJSON")


@pytest.mark.parametrize("row", [row for row in ROWS if row_id(row) in DEVIATIONS], ids=row_id)
def test_a_deviation_is_for_its_reasons_alone(row: dict[str, Any]) -> None:
    reasons = DEVIATIONS[row_id(row)]
    result = convert(row)
    if reasons == (CRASHES,):
        assert row["panic"]
        assert result.errors == list(CRASH_ERRORS[row_id(row)])
        assert (result.output is None) == bool(result.errors)
        return

    if reasons == (TAINTS,):
        others = [error for error in row["errors"] if not error.startswith("spec.taints: ")]
        assert len(others) < len(row["errors"])
        assert result.errors == others
        assert (result.output is None) == bool(others)
        return

    assert result.errors == row["errors"]
    assert result.error == row.get("error", "")
    assert (result.warnings != row["warnings"]) == (INDEX_OF_NETWORK in reasons or SOURCE_UUID in reasons)
    told = [text for text in row["warnings"] if SOURCE_UUID not in reasons or ".sourceUUID: " not in text]
    assert list(map(without_index, result.warnings)) == list(map(without_index, told))

    output, hashed = in_recorded_form(row, result)
    paths = set(differences(output, row["output"]))
    spec = {path for path in paths if not TEMPLATE_NAME.search(path)}
    assert {path for path in spec if not any(allows(reason, path) for reason in reasons)} == set()
    assert [reason.text for reason in reasons if reason.paths and not any(allows(reason, path) for path in spec)] == []
    if row["kind"] == "MachineSet" and row["direction"] == TO_CLUSTER_API:
        assert bool(paths - spec) == bool(spec) or hashed != result.hashed
        assert (hashed == row.get("templateSpecJSON")) == (not spec)


def in_recorded_form(row: dict[str, Any], result: Result) -> tuple[Any, str | None]:
    """The output, and what names hash, without what differs in every OpenStackMachine."""
    output = result.output
    if output is None or row["provider"] != "openstack" or row["direction"] != TO_CLUSTER_API:
        return output, result.hashed
    if row["kind"] == "Machine":
        infra = output["infraMachine"]
        return {**output, "infraMachine": {**infra, "spec": as_recorded(row, infra["spec"])}}, None
    template = output["infraMachineTemplate"]
    spec = as_recorded(row, template["spec"]["template"]["spec"])
    made = {**template, "spec": {"template": {**template["spec"]["template"], "spec": spec}}}
    return {**output, "infraMachineTemplate": made}, compact(decode(capo.OpenStackMachineSpec, spec))


def allows(reason: Reason, path: str) -> bool:
    return reason.paths is not None and reason.paths.search(path) is not None


def without_index(text: str) -> str:
    return re.sub(r"networks\[\d+\]", "networks[]", text)


def test_what_is_dropped_without_a_word_is_told_as_a_loss() -> None:
    found: dict[str, Counter[str]] = {file: Counter() for file in LOSSES}
    for row in ROWS:
        losses = convert(row).losses
        found[f"{row['provider']}-{row['direction']}"].update({field_of(text) for text in losses})
        assert all(LOSS.fullmatch(text) for text in losses)

    assert found == LOSSES


def field_of(loss: str) -> str:
    """The path, without indexes and without the keys of a port's profile, which may be any."""
    path = re.sub(r"\[\d+\]", "[]", loss.partition(": Invalid value")[0])
    return re.sub(r"\.profile\..*", ".profile.*", path, flags=re.DOTALL)


def test_all_recorded_conversions_are_here_and_every_deviation_is_one_of_them() -> None:
    assert len(ROWS) == 1107
    assert set(DEVIATIONS) <= {row_id(row) for row in ROWS}
    assert {name for name, reasons in DEVIATIONS.items() if reasons == (CRASHES,)} == set(CRASH_ERRORS)
