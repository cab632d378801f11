"""`windlass os-build list`: how rows look."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from windlass.os_build.builder import BuildState, Cause, Failed, Phase
from windlass.os_build.cli.show import ListRequest, Shown, render
from windlass.os_build.overview import PoolRow, State
from windlass.os_build.request import BackendName

NOW = datetime(2026, 11, 23, 10, 5, tzinfo=UTC)
SINCE = "2026-11-23T10:00:00Z"
IMAGE = "registry.example.com/org/os@sha256:" + "ab12" * 16
BUILD = BuildState(
    name="build-worker-1-2",
    backend=BackendName.JOB,
    pool="worker",
    inputs="x",
    phase=Phase.FAILED,
    attempt=2,
    failed=Failed(cause=Cause.STEP, step="RUN false", exit_code=1, tail="oh\nno"),
)
BUILT = Shown(
    PoolRow("infra", State.BUILT, "rendered-infra-1", IMAGE, "rendered-infra-1", SINCE, "Built", f"{IMAGE} ...")
)
BROKEN = Shown(
    PoolRow(
        "worker", State.FAILED, "rendered-worker-2", IMAGE, "rendered-worker-1", SINCE, "Step", "It\x1b failed\nlog"
    ),
    BUILD,
)
OUT = Shown(PoolRow("master", State.OUT))


def cells(shown: Sequence[Shown], form: str = "table", *, headings: bool = True) -> list[list[str]]:
    request = ListRequest((), form, headings=headings)
    return [line.split() for line in render(request, shown, now=lambda: NOW)]


def test_a_row_says_state_config_image_and_the_first_line_of_the_message() -> None:
    assert cells([BUILT, BROKEN, OUT]) == [
        ["POOL", "STATE", "CONFIG", "IMAGE", "UP-TO-DATE", "SINCE", "MESSAGE"],
        ["infra", "built", "rendered-infra-1", "ab12ab12ab12", "True", "5m", "-"],
        ["worker", "failed", "rendered-worker-2", "ab12ab12ab12", "False", "5m", "It\\x1b", "failed"],
        ["master", "out", "-", "-", "-", "-", "-"],
    ]


def test_wide_rows_have_the_whole_image_and_the_builder() -> None:
    heading, built, broken = cells([BUILT, BROKEN], "wide")
    assert heading[-3:] == ["BUILDER", "ATTEMPT", "MESSAGE"]
    assert built[3] == IMAGE
    assert broken[6:8] == ["job/build-worker-1-2", "2"]


def test_a_long_message_is_cut_in_the_table_but_not_in_a_wide_one() -> None:
    long = Shown(PoolRow("worker", State.FAILED, message="word " * 60))
    (line,) = cells([long], headings=False)
    assert line[-2:] == ["more", "characters)"]
    assert cells([long], "wide", headings=False)[0].count("word") == 60


def test_headings_can_be_left_out_and_no_rows_are_no_lines() -> None:
    assert len(cells([BUILT], headings=False)) == 1
    assert cells([]) == []


def test_a_name_that_no_api_server_takes_does_not_reach_the_terminal_as_it_is() -> None:
    odd = Shown(replace(BUILT.row, pool="a\x1b]0;b"), None)
    (line,) = render(ListRequest((), "name"), [odd], now=lambda: NOW)
    assert line == r"machineconfigpool.machineconfiguration.openshift.io/a\x1b]0;b"


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_get_everything_that_is_known(form: str) -> None:
    from windlass.capability.documents.yaml_dialect import load_all  # slow to import

    text = "\n".join(render(ListRequest((), form), [BUILT, BROKEN], now=lambda: NOW))
    tree = json.loads(text) if form == "json" else next(iter(load_all(text)))[1]
    built, broken = tree["items"]
    assert (built["pool"], built["state"], built["upToDate"], built["build"]) == ("infra", "built", True, None)
    assert broken["imageConfig"] == "rendered-worker-1"
    assert broken["build"]["failure"] == {"cause": "StepFailed", "step": "RUN false", "exitCode": 1, "log": "oh\nno"}


def test_names_are_those_that_kubectl_takes() -> None:
    assert cells([BUILT], "name") == [["machineconfigpool.machineconfiguration.openshift.io/infra"]]
