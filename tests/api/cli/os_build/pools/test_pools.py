"""`windlass os-build list`, `describe` and `rebuild` as processes, on a real API server."""

import json
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from tests.api.cli.conftest import Begin, Windlass
from tests.patience import PATIENCE
from tests.waiting import wait_until
from windlass.os_build.constants import LAYERING
from windlass.os_build.identity import rebuild_of

from .pools import ANY_IMAGE, Pools, items

VIEW = Path(__file__).parents[5] / "deploy" / "os-build" / "base" / "view.yaml"


def test_list_shows_pools_that_are_opted_in_and_all_if_asked(pools: Pools, windlass: Windlass) -> None:
    pools.make("worker")
    pools.make("infra")
    pools.make("master", opted_in=False)
    pools.built("worker", config="rendered-worker-0")
    pools.says("infra", "BuildFailed", reason="StepFailed", message="it failed\nlog")

    some, every = windlass("os-build", "list"), windlass("os-build", "list", "--all", "-o", "json")

    assert (some.returncode, some.stderr) == (0, "")
    heading, infra, worker = [line.split() for line in some.stdout.splitlines()]
    assert heading == ["POOL", "STATE", "CONFIG", "IMAGE", "UP-TO-DATE", "SINCE", "MESSAGE"]
    assert infra[:5] == ["infra", "failed", "rendered-infra-1", "-", "-"]
    assert infra[6:] == ["it", "failed"]
    assert worker[:5] == ["worker", "built", "rendered-worker-1", ANY_IMAGE.rpartition(":")[2][:12], "False"]
    assert every.returncode == 0, every.stderr
    assert {each["pool"]: each["state"] for each in items(every.stdout)} == {
        "infra": "failed",
        "master": "out",
        "worker": "built",
    }


def test_list_of_pools_by_name_says_which_do_not_exist(pools: Pools, windlass: Windlass) -> None:
    pools.make("worker")

    done = windlass("os-build", "list", "worker", "nobody", "-o", "name")

    assert done.stdout == "machineconfigpool.machineconfiguration.openshift.io/worker\n"
    assert done.stderr == "error: no MachineConfigPool 'nobody'\n"
    assert done.returncode == 1


def test_describe_finds_the_problem_before_any_controller_does(pools: Pools, windlass: Windlass) -> None:
    pools.make("worker")
    before = windlass("os-build", "describe", "worker")
    pools.unprepare()
    after = windlass("os-build", "describe", "worker", "-o", "json")
    gone = windlass("os-build", "describe", "nobody")

    assert (before.returncode, before.stderr) == (0, "")
    assert "Backend:        openshift (the default here)" in before.stdout
    assert "Unseen: no controller has said anything" in before.stdout
    assert [each["reason"] for each in json.loads(after.stdout)["problems"]] == ["ConfigurationMissing"]
    assert (gone.returncode, gone.stderr) == (1, "error: no MachineConfigPool 'nobody'\n")


def test_who_may_view_needs_no_right_to_secrets(pools: Pools, windlass: Windlass) -> None:
    pools.make("worker")
    pools.let_view(list(yaml.safe_load_all(VIEW.read_text(encoding="utf-8"))))

    rows = windlass("os-build", "list", "-o", "wide", "--as", "pool-viewer")
    page = windlass("os-build", "describe", "worker", "--as", "pool-viewer")

    assert (rows.returncode, rows.stderr) == (0, "")
    assert (page.returncode, page.stderr) == (0, "")
    assert "Target:         registry.example.com/machines/os" in page.stdout


def test_who_sees_no_controller_config_is_told_that_a_build_may_only_seem_to_be_another(
    pools: Pools, windlass: Windlass
) -> None:
    pools.make("worker")
    pools.built("worker", inputs="0123")
    pools.let_view(list(yaml.safe_load_all(VIEW.read_text(encoding="utf-8"))))

    viewer, admin = (
        windlass("os-build", "describe", "worker", "--as", "pool-viewer"),
        windlass("os-build", "describe", "worker"),
    )

    assert viewer.stderr.startswith("warning: ControllerConfigs may not be listed with these rights")
    assert admin.stderr == ""


def test_rebuild_asks_and_says_so(pools: Pools, windlass: Windlass) -> None:
    pools.make("worker")
    pools.make("master", opted_in=False)

    done = windlass("os-build", "rebuild", "worker", "master", "nobody")

    assert done.stdout == "machineconfigpool/worker: asked for another build of rendered-worker-1\n"
    assert datetime.fromisoformat(pools.asked_again("worker")).tzinfo is not None
    refused, missing = done.stderr.splitlines()
    assert refused.endswith(f"kubectl annotate machineconfigpool master {LAYERING}=")
    assert missing == "error: no MachineConfigPool 'nobody'"
    assert pools.asked_again("master") == ""
    assert done.returncode == 1


@pytest.mark.parametrize("fails", [False, True], ids=["built", "failed"])
def test_rebuild_waits_for_the_end_of_this_build(pools: Pools, begin: Begin, fails: bool) -> None:
    pools.make("worker")
    earlier = "2026-01-02T03:04:05Z"
    pools.says("worker", "BuildFailed", reason="StepFailed", message="the failure of before", since=earlier)
    waiting = begin("os-build", "rebuild", "worker", "--wait", text=True)
    wait_until("the request", lambda: pools.asked_again("worker"))

    pools.says("worker", "Building", reason="BuildRunning")
    if fails:
        pools.says("worker", "BuildFailed", reason="StepFailed", message="RUN failed")
    else:
        pools.built("worker", inputs=f"0123.{rebuild_of(pools.asked_again('worker'))}")

    out, err = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == (1 if fails else 0), err
    assert ("RUN failed" in err) == fails
    assert (f"built {ANY_IMAGE}" in out) != fails


def test_rebuild_that_nobody_carries_out_ends_at_its_time_limit(pools: Pools, windlass: Windlass) -> None:
    pools.make("worker")

    done = windlass("os-build", "rebuild", "worker", "--wait", "--timeout", "1s")

    assert done.returncode == 124
    assert "not all images were built after 1 s" in done.stderr
