"""`windlass migrate`: its stages, tables, remarks and exit codes, without a cluster."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.machine_sync.preflight_cases import (
    IN_SYNC,
    MACHINE_API_ACTS,
    MACHINE_API_PAUSED,
    OUT_OF_SYNC,
    RESYNC,
    SINCE,
    candidate,
    look,
    machine_api,
    set_candidate,
)
from windlass.api import mapi
from windlass.api.coordination import Lease, LeaseSpec
from windlass.api.meta import ObjectMeta
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.table import Table
from windlass.cli import main
from windlass.kube.control.seen import Absent, Present, Seen, Unreadable
from windlass.kube.object import Object
from windlass.machine_sync.cli.actors import Acting, judge
from windlass.machine_sync.cli.migrate import view
from windlass.machine_sync.cli.migrate.last_seen import Following, LastSeen
from windlass.machine_sync.cli.migrate.look import refusal
from windlass.machine_sync.cli.migrate.migrator import MigrationOutcome, MigrationResult
from windlass.machine_sync.cli.migrate.moving import exit_code
from windlass.machine_sync.cli.migrate.progress import Bar, Lines
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.cli.migrate.stage import MigrationStage, Reached, how_far
from windlass.machine_sync.preflight import Answer, Trial, Tried, preflight

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MACHINE = ObjectKey(mapi.Machine, "w-0")

# How far one is


def moving(authority: str, *conditions: Any, **changes: Any) -> Seen[Any]:
    found = machine_api(
        status__authoritativeAPI=authority,
        status__conditions=list(conditions),
        **{"spec__authoritativeAPI": "ClusterAPI", **changes},
    )
    seen = look(mapi.Machine, found)
    assert isinstance(seen, Present)
    return seen


@pytest.mark.parametrize(
    ("seen", "stage", "text", "stuck"),
    [
        (moving("MachineAPI", IN_SYNC), MigrationStage.ASKED, "", False),
        (
            moving("MachineAPI", OUT_OF_SYNC),
            MigrationStage.ASKED,
            "FailedToConvertMAPIMachineToCAPI: spec.taints: no",
            True,
        ),
        (
            moving("Migrating", IN_SYNC, MACHINE_API_ACTS),
            MigrationStage.MIGRATING,
            "waits until the Machine API has paused",
            False,
        ),
        (moving("Migrating", IN_SYNC, MACHINE_API_PAUSED), MigrationStage.MIGRATING, "", False),
        (moving("ClusterAPI", RESYNC), MigrationStage.SYNCHRONIZING, "", False),
        (
            moving("ClusterAPI", OUT_OF_SYNC),
            MigrationStage.SYNCHRONIZING,
            "FailedToConvertMAPIMachineToCAPI: spec.taints: no",
            True,
        ),
        (moving("ClusterAPI", IN_SYNC), MigrationStage.THERE, "", False),
        (
            moving("Migrating", spec__authoritativeAPI="MachineAPI"),
            MigrationStage.LOST,
            "somebody set spec.authoritativeAPI to MachineAPI",
            False,
        ),
        (moving("Migrating", metadata__deletionTimestamp=SINCE), MigrationStage.LOST, "it is being deleted", False),
        (Absent(), MigrationStage.LOST, "it was deleted", False),
        (Unreadable(ObjectMeta(), "spec: odd"), MigrationStage.ASKED, "it cannot be read: spec: odd", True),
    ],
)
def test_an_object_says_how_far_it_is(seen: Seen[Any], stage: MigrationStage, text: str, stuck: bool) -> None:
    assert how_far(seen, "ClusterAPI") == Reached(stage, text, stuck)


def test_on_the_way_back_cluster_api_is_waited_for() -> None:
    seen = moving("Migrating", spec__authoritativeAPI="MachineAPI")

    assert how_far(seen, "MachineAPI").text == "waits until Cluster API has paused"


# What was heard last


def stored(name: str, version: str) -> Object[Any]:
    return Object.of(mapi.Machine, machine_api(metadata__name=name, metadata__resourceVersion=version))


def test_a_board_knows_nothing_until_it_is_told_and_believes_no_older_state() -> None:
    last_seen = LastSeen()
    assert last_seen.latest(MACHINE, since="5") is None

    Following(last_seen, mapi.Machine).put(stored("w-0", "4"))
    assert last_seen.latest(MACHINE, since="5") is None

    Following(last_seen, mapi.Machine).put(stored("w-0", "5"))
    assert isinstance(last_seen.latest(MACHINE, since="5"), Present)


async def test_what_is_missing_in_a_new_list_is_gone() -> None:
    last_seen = LastSeen()
    sink = Following(last_seen, mapi.Machine)
    await sink.replace({item.key: item for item in (stored("w-0", "4"), stored("w-1", "4"))}, "4")
    last_seen.bell(MACHINE).clear()

    await sink.replace({item.key: item for item in (stored("w-1", "4"),)}, "6")

    assert isinstance(last_seen.latest(MACHINE, since="4"), Absent)
    assert last_seen.bell(MACHINE).is_set()


# Who acts


OPENSHIFT = "capi-controllers-6d9f_1"


def lease(holder: str = "windlass_pod-1", renewed: str = "2026-01-02T03:04:00.000000Z") -> Lease:
    return Lease(
        metadata=ObjectMeta(name="machine-api-migration-leader", namespace="openshift-cluster-api"),
        spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=15, renew_time=renewed),
    )


def test_whoever_renewed_its_lease_lately_acts() -> None:
    acting = judge(lease(), now=NOW)

    held = "Lease openshift-cluster-api/machine-api-migration-leader is held by windlass_pod-1"
    assert acting == Acting(f"Machine sync ({held})")
    assert acting.idles == ""


def test_the_operator_of_openshift_acts_too_and_then_machine_sync_idles() -> None:
    acting = judge(lease(OPENSHIFT), now=NOW)

    held = f"Lease openshift-cluster-api/machine-api-migration-leader is held by {OPENSHIFT}"
    assert acting == Acting(f"OpenShift's migration operator ({held})")
    assert acting.idles == f"Machine sync idles: the work is done by OpenShift's migration operator ({held})"


@pytest.mark.parametrize("found", [None, lease("")])
def test_without_a_holder_nothing_will_happen(found: Lease | None) -> None:
    doubt = "no Machine sync is running (its Lease has no holder), so nothing will happen until one runs"
    assert judge(found, now=NOW) == Acting("", doubt)


def test_a_holder_that_fell_silent_is_named_with_how_long_ago() -> None:
    acting = judge(lease(renewed="2026-01-02T02:04:05.000000Z"), now=NOW)

    assert acting.who == acting.idles == ""
    place = "Lease openshift-cluster-api/machine-api-migration-leader"
    assert f"windlass_pod-1 renewed {place} 60m ago" in acting.doubt


# What the API server says to a dry run


def test_only_rbac_speaks_of_what_a_user_cannot_do() -> None:
    rbac = (
        'machines.machine.openshift.io "w-0" is forbidden: User "v" cannot patch resource "machines" in API group "x"'
    )
    policy = "machines.machine.openshift.io \"w-0\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"

    assert refusal(rbac, 403).outcome is Tried.NOT_ALLOWED
    assert refusal(policy, 403).outcome is Tried.REFUSED
    assert refusal(policy, 422).outcome is Tried.REFUSED


# What is printed

READY = preflight(candidate())
REFUSED = preflight(candidate(mapi_changes={"status__phase": "Provisioning"}))
THERE = preflight(
    candidate(
        "MachineAPI", mapi_changes={"status__authoritativeAPI": "MachineAPI", "spec__authoritativeAPI": "MachineAPI"}
    )
)
WARNED = preflight(set_candidate("MachineAPI"))


def test_the_report_is_a_table_with_one_answer_per_check() -> None:
    lines = Table(view.report_columns()).lines([READY, REFUSED, WARNED])

    assert [line.split() for line in lines] == [
        ["NAME", "AUTHORITY", "PHASE", "OWNER", "PAUSED", "CONVERTIBLE", "SYNCHRONIZED", "POLICIES", "VERDICT"],
        ["machine/w-0", "MachineAPI", "Running", "-", "ClusterAPI", "yes", "yes", "yes", "ready"],
        ["machine/w-0", "MachineAPI", "Provisioning", "-", "ClusterAPI", "yes", "yes", "yes", "refused"],
        ["machineset/workers", "ClusterAPI", "-", "-", "MachineAPI", "yes", "yes", "yes", "ready"],
    ]


def test_the_result_says_from_where_to_where_how_long_and_why_not() -> None:
    endings = [
        view.Ending(READY, MigrationResult(MigrationOutcome.MIGRATED, "", 2.345)),
        view.Ending(REFUSED, MigrationResult(MigrationOutcome.REFUSED, "it is Provisioning")),
    ]

    lines = Table(view.result_columns()).lines(endings)

    assert lines[1].split() == ["machine/w-0", "MachineAPI", "ClusterAPI", "migrated", "2.3s", "-"]
    assert lines[2].endswith("refused    -      it is Provisioning")


def test_remarks_come_worst_first_and_shared_ones_once() -> None:
    failed = [preflight(candidate(name=f"w-{number}", mapi_changes={"status__phase": "Failed"})) for number in range(5)]

    said = view.remarks([*failed, REFUSED, WARNED])

    assert [severity for severity, _ in said] == ["error", "warning", "note"]
    assert said[0][1].startswith("machine/w-0: phase: it is Provisioning")
    assert said[1][1].startswith("machine/w-0, machine/w-1, machine/w-2 and 2 more: phase: it is Failed")


def test_the_summary_counts_verdicts() -> None:
    assert view.summary([READY, READY, REFUSED, THERE]) == "2 ready, 1 already there, 1 refused"


def test_json_has_every_check_and_result() -> None:
    results = {MACHINE: MigrationResult(MigrationOutcome.TIMED_OUT, "migrating", 600.0001)}
    text = view.as_json([READY], results, target="ClusterAPI", dry_run=False, acting=Acting("Machine sync"))

    whole = json.loads(text)

    assert (whole["target"], whole["dryRun"], whole["controller"]) == ("ClusterAPI", False, "Machine sync")
    (item,) = whole["items"]
    assert (item["kind"], item["name"], item["verdict"]) == ("Machine", "w-0", "ready")
    assert set(item["checks"].values()) == {"yes"}
    assert item["findings"] == []
    assert item["result"] == {"outcome": "timed out", "reason": "migrating", "seconds": 600.0}


def test_json_of_a_dry_run_has_reasons_and_no_result() -> None:
    whole = json.loads(view.as_json([REFUSED], {}, target="ClusterAPI", dry_run=True, acting=Acting("", "nobody")))

    (item,) = whole["items"]
    assert item["result"] is None
    assert item["checks"]["phase"] == "no"
    assert item["findings"][0]["check"] == "phase"


# What is said meanwhile


def test_lines_say_each_stage_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(2) as lines:
        lines.update(MACHINE, Reached(MigrationStage.ASKED))
        lines.update(MACHINE, Reached(MigrationStage.ASKED))
        lines.update(MACHINE, Reached(MigrationStage.MIGRATING, "waits"))
        lines.finish(MACHINE, "info", "migrated after 2.0 s")
        lines.say("interrupted")

    assert capsys.readouterr().err.splitlines() == [
        "info: machine/w-0: asked for",
        "info: machine/w-0: migrating: waits",
        "info: machine/w-0: migrated after 2.0 s (1/2)",
        "info: interrupted",
    ]


def test_a_bar_names_what_is_under_way_and_keeps_what_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with Bar(2) as bar:
        bar.update(MACHINE, Reached(MigrationStage.MIGRATING))
        bar.finish(ObjectKey(mapi.Machine, "w-1"), "error", "failed: [no] place for it")
        bar.say("interrupted")

    shown = capsys.readouterr().err
    assert "error: machine/w-1: failed: [no] place for it" in shown
    assert "info: interrupted" in shown
    assert "1/2" in shown
    assert "machine/w-0 migrating" in shown


# Exit codes


@pytest.mark.parametrize(
    ("outcomes", "interrupted", "code"),
    [
        ([MigrationOutcome.MIGRATED, MigrationOutcome.THERE], False, Exit.OK),
        ([MigrationOutcome.REQUESTED], False, Exit.OK),
        ([MigrationOutcome.MIGRATED, MigrationOutcome.REFUSED], False, Exit.REFUSED),
        ([MigrationOutcome.REFUSED, MigrationOutcome.FAILED], False, Exit.FAILED),
        ([MigrationOutcome.FAILED, MigrationOutcome.TIMED_OUT, MigrationOutcome.NOT_BEGUN], False, Exit.TIMED_OUT),
        ([MigrationOutcome.TIMED_OUT, MigrationOutcome.LEFT], True, Exit.INTERRUPTED),
    ],
)
def test_the_exit_code_is_the_worst_that_happened(
    outcomes: list[MigrationOutcome], interrupted: bool, code: Exit
) -> None:
    reports = [REFUSED if outcome is MigrationOutcome.REFUSED else READY for outcome in outcomes]
    results = {
        ObjectKey(mapi.Machine, str(number)): MigrationResult(outcome) for number, outcome in enumerate(outcomes)
    }

    assert exit_code(reports, results, interrupted=interrupted) is code


def test_a_dry_run_that_says_no_to_some_has_its_own_exit_code() -> None:
    assert exit_code([READY, REFUSED], {}, interrupted=False) is Exit.REFUSED
    assert exit_code([READY, THERE], {}, interrupted=False) is Exit.OK


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--to", "cluster-api"], "say what to migrate: either NAMEs, or --selector, or --all"),
        (["-l", "a=b", "--all", "--to", "capi"], "say what to migrate"),
        (
            ["--all", "--to", "capi"],
            "--all changes many objects and needs a terminal to ask for confirmation: add --yes",
        ),
        (["-l", "a=b", "--to", "capi"], "--selector changes many objects and needs a terminal"),
        (["x", "--all", "--to", "cluster-api"], "say what to migrate"),
        (["x"], "Missing option '--to'"),
        (["x", "--to", "elsewhere"], "'elsewhere' is neither API: write cluster-api (capi) or machine-api (mapi)"),
        (["x", "--to", "cluster-api", "--max-in-flight", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrate", *arguments]) == Exit.USAGE
    assert text in capsys.readouterr().err


def test_an_unasked_policy_is_no_answer() -> None:
    report = preflight(candidate(trial=Trial()))

    assert report.reasons(Answer.UNKNOWN) == ["policies: not asked"]
