"""What a pre-flight says of machines and sets in every state that they can be in before a migration."""

from typing import Any

import pytest

from tests.unit.machine_sync.conversion.vectors import (
    TO_CLUSTER_API,
    TO_MACHINE_API,
    convert,
    platform_of,
    row_id,
    rows,
)
from tests.unit.machine_sync.preflight_cases import (
    IN_SYNC,
    INFRASTRUCTURE,
    MACHINE_API_ACTS,
    MACHINE_API_PAUSED,
    OUT_OF_SYNC,
    PAUSED,
    PROVIDER_SPEC,
    RESYNC,
    SINCE,
    Tree,
    candidate,
    changed,
    cluster_api,
    decoded,
    look,
    machine_api,
    machine_set,
    meta,
    set_candidate,
    set_owner,
)
from windlass.api import capa, capi, capo, mapi
from windlass.api.config import Infrastructure
from windlass.kube.control.seen import Absent, NotServedKind, Unreadable
from windlass.machine_sync.preflight import (
    Answer,
    Candidate,
    Check,
    Hidden,
    Look,
    PreflightReport,
    PreflightVerdict,
    Trial,
    Tried,
    preflight,
)

PAUSED_CLUSTER = look(capi.Cluster, {"metadata": meta("c", "openshift-cluster-api"), "spec": {"paused": True}})


def said(report: PreflightReport, check: Check) -> str:
    """What the check said at its worst."""
    worst = report.answer(check)
    return "; ".join(one.text for one in report.findings if one.check is check and one.answer is worst)


# What may be moved


@pytest.mark.parametrize("target", ["ClusterAPI", "MachineAPI"])
def test_a_machine_in_sync_is_ready_and_every_check_says_yes(target: str) -> None:
    report = preflight(candidate(target))

    assert report.verdict is PreflightVerdict.READY
    assert {check: report.answer(check) for check in Check} == dict.fromkeys(Check, Answer.YES), report.findings


@pytest.mark.parametrize("target", ["ClusterAPI", "MachineAPI"])
def test_a_set_in_sync_is_ready_and_has_no_phase(target: str) -> None:
    report = preflight(set_candidate(target, mapi_changes={"spec__template__spec__authoritativeAPI": "MachineAPI"}))

    assert report.verdict is PreflightVerdict.READY
    assert report.answer(Check.PHASE) is None
    assert {report.answer(check) for check in Check if check is not Check.PHASE} == {Answer.YES}, report.findings


@pytest.mark.parametrize(
    ("target", "authority", "paused"),
    [("ClusterAPI", "MachineAPI", "ClusterAPI"), ("MachineAPI", "ClusterAPI", "MachineAPI")],
)
def test_a_report_says_who_acts_and_who_is_paused(target: str, authority: str, paused: str) -> None:
    report = preflight(candidate(target, mapi_changes={"metadata__ownerReferences": [set_owner()]}))

    assert (report.authority, report.desired) == (authority, authority)
    assert (report.phase, report.paused, report.owner) == ("Running", paused, "machineset/workers")


# Where it stands


@pytest.mark.parametrize(
    ("status", "spec", "conditions", "verdict"),
    [
        ("ClusterAPI", "ClusterAPI", [IN_SYNC], PreflightVerdict.THERE),
        ("ClusterAPI", "ClusterAPI", [OUT_OF_SYNC], PreflightVerdict.THERE),
        ("ClusterAPI", "ClusterAPI", [RESYNC], PreflightVerdict.UNDER_WAY),
        ("ClusterAPI", "ClusterAPI", [], PreflightVerdict.THERE),
        ("ClusterAPI", "MachineAPI", [OUT_OF_SYNC], PreflightVerdict.READY),
        ("Migrating", "ClusterAPI", [RESYNC], PreflightVerdict.UNDER_WAY),
        ("Migrating", "MachineAPI", [RESYNC], PreflightVerdict.READY),
        ("MachineAPI", "ClusterAPI", [IN_SYNC, MACHINE_API_ACTS], PreflightVerdict.UNDER_WAY),
        ("MachineAPI", "ClusterAPI", [OUT_OF_SYNC], PreflightVerdict.REFUSED),
        ("MachineAPI", "MachineAPI", [OUT_OF_SYNC], PreflightVerdict.REFUSED),
    ],
)
def test_the_verdict_follows_from_where_it_stands(
    status: str, spec: str, conditions: list[Tree], verdict: PreflightVerdict
) -> None:
    changes = {
        "status__authoritativeAPI": status,
        "spec__authoritativeAPI": spec,
        "status__conditions": conditions,
        "status__synchronizedAPI": "MachineAPI",
    }

    assert preflight(candidate(mapi_changes=changes)).verdict is verdict


def test_nobody_may_be_asked_as_long_as_nobody_has_said_who_is_authoritative() -> None:
    report = preflight(candidate(mapi_changes={"status__authoritativeAPI": None}))

    assert report.verdict is PreflightVerdict.REFUSED
    assert "status.authoritativeAPI is empty" in said(report, Check.AUTHORITY)


def test_a_migration_under_way_is_named_with_where_to_and_since_when() -> None:
    changes = {
        "status__authoritativeAPI": "Migrating",
        "spec__authoritativeAPI": "ClusterAPI",
        "status__conditions": [IN_SYNC, MACHINE_API_PAUSED],
    }

    report = preflight(candidate(mapi_changes=changes))

    text = f"it is Migrating from the Machine API to Cluster API, the Machine API is paused since {SINCE}"
    assert said(report, Check.AUTHORITY) == text


def test_a_migration_whose_old_side_has_not_paused_yet_says_so() -> None:
    changes = {"status__authoritativeAPI": "Migrating", "spec__authoritativeAPI": "MachineAPI"}

    report = preflight(candidate("MachineAPI", mapi_changes=changes))

    assert said(report, Check.AUTHORITY).endswith("Cluster API has not said yet that it is paused")


def test_a_migration_may_be_taken_back_when_it_is_known_where_it_came_from() -> None:
    changes = {"status__authoritativeAPI": "Migrating", "status__synchronizedAPI": "MachineAPI"}
    migrating = {**changes, "spec__authoritativeAPI": "ClusterAPI"}

    back = preflight(candidate("MachineAPI", mapi_changes=migrating))
    unknown = preflight(candidate("MachineAPI", mapi_changes={**migrating, "status__synchronizedAPI": None}))

    assert back.verdict is PreflightVerdict.READY
    assert said(back, Check.AUTHORITY).endswith(": it goes back")
    assert unknown.verdict is PreflightVerdict.REFUSED
    assert "status.synchronizedAPI does not say where it came from" in said(unknown, Check.AUTHORITY)


def test_one_that_is_on_its_way_back_may_be_sent_forth_again() -> None:
    changes = {
        "status__authoritativeAPI": "Migrating",
        "status__synchronizedAPI": "MachineAPI",
        "spec__authoritativeAPI": "MachineAPI",
    }

    report = preflight(candidate("ClusterAPI", mapi_changes=changes))

    assert report.verdict is PreflightVerdict.READY
    assert said(report, Check.AUTHORITY) == "it is Migrating, on its way back to the Machine API"


def test_a_request_is_a_generation_of_its_own_and_its_lag_no_reason_to_give_up() -> None:
    report = preflight(candidate(mapi_changes={"spec__authoritativeAPI": "ClusterAPI", "metadata__generation": 4}))

    assert (report.verdict, report.answer(Check.SYNCHRONIZED)) == (PreflightVerdict.UNDER_WAY, Answer.NOTE)


def test_one_that_is_there_but_not_in_sync_is_a_warning() -> None:
    report = preflight(candidate("MachineAPI", mapi_changes=machine_api_is_there(OUT_OF_SYNC)))

    assert (report.verdict, report.answer(Check.AUTHORITY)) == (PreflightVerdict.THERE, Answer.WARNING)
    assert "FailedToConvertMAPIMachineToCAPI: spec.taints: no" in said(report, Check.AUTHORITY)


def machine_api_is_there(told: Tree) -> Tree:
    return {
        "status__authoritativeAPI": "MachineAPI",
        "spec__authoritativeAPI": "MachineAPI",
        "status__conditions": [told],
    }


# The reasons for a no


NOT_PROVISIONED: Tree = {"status__initialization": {}}

NOS: list[tuple[str, Candidate, Check, str]] = [
    (
        "not in the Machine API",
        candidate(machine_api=Absent()),
        Check.AUTHORITY,
        "the Machine API has no Machine of this name, only Cluster API has",
    ),
    (
        "nowhere",
        candidate(machine_api=Absent(), cluster_api=Absent()),
        Check.AUTHORITY,
        "the Machine API has no Machine of this name",
    ),
    (
        "unreadable",
        candidate(machine_api=Unreadable(decoded(mapi.Machine, machine_api()).metadata, "spec: not an object")),
        Check.AUTHORITY,
        "it cannot be read: spec: not an object",
    ),
    ("kind not served", candidate(machine_api=NotServedKind("not served")), Check.AUTHORITY, "not served"),
    ("may not be read", candidate(machine_api=Hidden("you may not")), Check.AUTHORITY, "you may not"),
    (
        "being deleted",
        candidate(mapi_changes={"metadata__deletionTimestamp": SINCE}),
        Check.DELETION,
        "the Machine API is deleting it",
    ),
    (
        "twin being deleted",
        candidate(capi_changes={"metadata__deletionTimestamp": SINCE}),
        Check.DELETION,
        "Cluster API is deleting it",
    ),
    (
        "provisioning",
        candidate(mapi_changes={"status__phase": "Provisioning"}),
        Check.PHASE,
        "it is Provisioning: wait until",
    ),
    (
        "not provisioned",
        candidate(capi_changes=NOT_PROVISIONED),
        Check.INFRASTRUCTURE,
        "does not say status.initialization.infrastructureProvisioned",
    ),
    (
        "not provisioned, other way",
        candidate("MachineAPI", capi_changes=NOT_PROVISIONED),
        Check.INFRASTRUCTURE,
        "does not say status.initialization.infrastructureProvisioned",
    ),
    (
        "no twin",
        candidate(cluster_api=Absent(), infra=Absent()),
        Check.INFRASTRUCTURE,
        "Cluster API has no Machine of this name",
    ),
    (
        "Cluster API not served",
        candidate(cluster_api=NotServedKind("machines.cluster.x-k8s.io are not served"), infra=Absent()),
        Check.INFRASTRUCTURE,
        "not served",
    ),
    (
        "control plane machine set",
        candidate(mapi_changes={"metadata__ownerReferences": [set_owner("cluster", "ControlPlaneMachineSet")]}),
        Check.OWNER,
        "conversion of control plane machines owned by control plane machine set is currently not supported",
    ),
    (
        "two owners",
        candidate(mapi_changes={"metadata__ownerReferences": [set_owner("a"), set_owner("b")]}),
        Check.OWNER,
        "at most 1 item",
    ),
    (
        "foreign owner",
        candidate(mapi_changes={"metadata__ownerReferences": [set_owner("a", "Deployment", "apps/v1")]}),
        Check.OWNER,
        "its owner Deployment/a (apps/v1) has no counterpart",
    ),
    (
        "set with an owner",
        set_candidate(mapi_changes={"metadata__ownerReferences": [set_owner()]}),
        Check.OWNER,
        "MachineSets with owners cannot be converted",
    ),
    (
        "sets that select different machines",
        set_candidate(mapi_changes={"spec__selector__matchLabels": {"other": "x"}}),
        Check.SYNCHRONIZED,
        "spec.selector of the MachineSets differs",
    ),
    (
        "the name of a Node",
        candidate(mapi_changes={"spec__metadata__name": "n"}),
        Check.CONVERTIBLE,
        'spec.metadata.name: Invalid value: "n": name is not supported',
    ),
    (
        "taints that Cluster API does not have",
        candidate(mapi_changes={"spec__taints": [{"key": "a", "effect": "NoSchedule"}]}),
        Check.CONVERTIBLE,
        "Cluster API takes taints only with its feature gate MachineTaintPropagation: turn the gate on and run "
        "machine-sync with --machine-taint-propagation, or remove the taints",
    ),
    (
        "drain time-out",
        candidate("MachineAPI", capi_changes={"spec__deletion__nodeDrainTimeoutSeconds": 60}),
        Check.CONVERTIBLE,
        "spec.deletion.nodeDrainTimeoutSeconds: Invalid value: 60: nodeDrainTimeoutSeconds is not supported",
    ),
    (
        "could not be mirrored back",
        candidate("ClusterAPI", capi_changes={"spec__deletion__nodeDrainTimeoutSeconds": 60}),
        Check.CONVERTIBLE,
        "the Machine API could not mirror it afterwards: spec.deletion.nodeDrainTimeoutSeconds",
    ),
    (
        "infrastructure machine missing",
        candidate("MachineAPI", infra=Absent()),
        Check.CONVERTIBLE,
        "can not be nil",
    ),
    (
        "set with taints that Cluster API does not have",
        set_candidate(mapi_changes={"spec__template__spec__taints": [{"key": "a", "effect": "NoSchedule"}]}),
        Check.CONVERTIBLE,
        'spec.taints: Invalid value: [{"key":"a","effect":"NoSchedule"}]: not on the object in Cluster API',
    ),
    (
        "out of sync",
        candidate(mapi_changes={"status__conditions": [OUT_OF_SYNC]}),
        Check.SYNCHRONIZED,
        "condition Synchronized is False: FailedToConvertMAPIMachineToCAPI: spec.taints: no",
    ),
    (
        "never in sync",
        candidate(mapi_changes={"status__conditions": []}),
        Check.SYNCHRONIZED,
        "nobody has set the condition Synchronized",
    ),
    (
        "a policy",
        candidate(trial=Trial(Tried.REFUSED, "ValidatingAdmissionPolicy 'p' denied request: no")),
        Check.POLICIES,
        "denied request: no",
    ),
]


@pytest.mark.parametrize(("given", "check", "text"), [row[1:] for row in NOS], ids=[row[0] for row in NOS])
def test_a_no_refuses_and_says_why(given: Candidate, check: Check, text: str) -> None:
    report = preflight(given)

    assert report.verdict is PreflightVerdict.REFUSED
    assert report.answer(check) is Answer.NO
    assert text in said(report, check)
    assert any(text in reason for reason in report.reasons(Answer.NO))


def test_all_reasons_are_given_at_once() -> None:
    report = preflight(
        candidate(
            mapi_changes={"status__phase": "Provisioning", "status__conditions": [OUT_OF_SYNC]},
            capi_changes=NOT_PROVISIONED,
        )
    )

    noes = [check for check in Check if report.answer(check) is Answer.NO]
    assert noes == [Check.PHASE, Check.SYNCHRONIZED, Check.INFRASTRUCTURE]


def test_load_balancers_of_a_control_plane_machine_must_be_those_of_the_cluster() -> None:
    aws = changed(INFRASTRUCTURE, status__platformStatus={"type": "AWS", "aws": {"region": "us-east-1"}})
    value = {"kind": "AWSMachineProviderConfig", "loadBalancers": [{"name": "lb", "type": "network"}]}
    report = preflight(
        candidate(
            mapi_changes={"spec__providerSpec__value": value},
            infrastructure=look(Infrastructure, aws),
            infra_cluster=look(capa.AWSCluster, {"metadata": meta("c", "openshift-cluster-api")}),
        )
    )

    assert "loadBalancers are not supported for non-control plane machines" in said(report, Check.CONVERTIBLE)


# Worse than yes, and no reason to refuse


ROWS_WITHOUT_A_NO: list[tuple[str, Candidate, Check, Answer, str]] = [
    (
        "a taint that its set in Cluster API puts on it",
        candidate(capi_changes={"spec__taints": [{"key": "a", "effect": "NoSchedule", "propagation": "Always"}]}),
        Check.CONVERTIBLE,
        Answer.WARNING,
        "on the object in Cluster API alone: its MachineSet puts them on its Nodes",
    ),
    (
        "taints that are in Cluster API too",
        candidate(
            mapi_changes={"spec__taints": [{"key": "a", "effect": "NoSchedule"}]},
            capi_changes={"spec__taints": [{"key": "a", "effect": "NoSchedule", "propagation": "Always"}]},
        ),
        Check.CONVERTIBLE,
        Answer.YES,
        "",
    ),
    (
        "taints of Cluster API that the Machine API gets",
        candidate(
            "MachineAPI",
            capi_changes={"spec__taints": [{"key": "a", "effect": "NoSchedule", "propagation": "OnInitialization"}]},
        ),
        Check.CONVERTIBLE,
        Answer.WARNING,
        "propagation has no equivalent in the Machine API and becomes Always",
    ),
    (
        "a field that is lost",
        candidate(mapi_changes={"spec__providerSpec__value": {**PROVIDER_SPEC, "floatingIP": "203.0.113.7"}}),
        Check.CONVERTIBLE,
        Answer.WARNING,
        "floatingIP has no equivalent in Cluster API and is dropped",
    ),
    (
        "behind the Machine API",
        candidate(mapi_changes={"metadata__generation": 4}),
        Check.SYNCHRONIZED,
        Answer.NOTE,
        "up to generation 3 of 4 of the Machine API's: authority moves when Machine sync has caught up",
    ),
    (
        "behind Cluster API",
        candidate("MachineAPI", capi_changes={"metadata__generation": 5}),
        Check.SYNCHRONIZED,
        Answer.NOTE,
        "up to generation 3 of 5 of Cluster API's: authority moves when Machine sync has caught up",
    ),
    (
        "a failed machine",
        candidate(mapi_changes={"status__phase": "Failed"}),
        Check.PHASE,
        Answer.WARNING,
        "it is Failed",
    ),
    (
        "its set stays behind",
        candidate(
            mapi_changes={"metadata__ownerReferences": [set_owner()]}, owner=look(mapi.MachineSet, machine_set())
        ),
        Check.OWNER,
        Answer.NOTE,
        "its owner machineset/workers has the authority MachineAPI: machines that it makes",
    ),
    (
        "its set is missing",
        candidate(mapi_changes={"metadata__ownerReferences": [set_owner()]}),
        Check.OWNER,
        Answer.WARNING,
        "its owner machineset/workers does not exist",
    ),
    (
        "a template of the other authority",
        set_candidate("MachineAPI"),
        Check.AUTHORITY,
        Answer.NOTE,
        "machines that it makes get the authority ClusterAPI even so",
    ),
    (
        "nobody acts",
        candidate("MachineAPI", capi_changes={"metadata__annotations": {PAUSED: "by me"}}),
        Check.PAUSED,
        Answer.WARNING,
        "both sides are paused, so nobody acts on it: see who paused Cluster API",
    ),
    (
        "the Cluster is paused",
        candidate(cluster=PAUSED_CLUSTER),
        Check.PAUSED,
        Answer.WARNING,
        "Cluster c is paused, so Cluster API acts on none of its machines, also not on this one after the move: set "
        "spec.paused of the Cluster to false",
    ),
    (
        "the Cluster is paused, and the machine leaves Cluster API",
        candidate("MachineAPI", cluster=PAUSED_CLUSTER),
        Check.PAUSED,
        Answer.NOTE,
        "Cluster c is paused, so Cluster API acts on none of its machines",
    ),
    (
        "both act",
        candidate(capi_changes={"metadata__annotations": {}}),
        Check.PAUSED,
        Answer.WARNING,
        "neither side is paused, so both act on it",
    ),
    (
        "controllers that do not know Paused",
        candidate(mapi_changes={"status__conditions": [IN_SYNC]}),
        Check.PAUSED,
        Answer.WARNING,
        "the Machine API has no condition Paused on it",
    ),
    (
        "infrastructure may not be read",
        candidate(infrastructure=Hidden("forbidden")),
        Check.CONVERTIBLE,
        Answer.UNKNOWN,
        "Infrastructure cluster cannot be read: forbidden",
    ),
    (
        "infrastructure machine may not be read",
        candidate("MachineAPI", infra=Hidden("forbidden")),
        Check.CONVERTIBLE,
        Answer.UNKNOWN,
        "what it refers to cannot be read: forbidden",
    ),
    (
        "twin may not be read",
        candidate(cluster_api=Hidden("forbidden")),
        Check.INFRASTRUCTURE,
        Answer.UNKNOWN,
        "forbidden",
    ),
    (
        "may not be tried",
        candidate(trial=Trial(Tried.NOT_ALLOWED, 'User "viewer" cannot patch')),
        Check.POLICIES,
        Answer.UNKNOWN,
        'not asked: User "viewer" cannot patch',
    ),
    ("not tried", candidate(trial=Trial()), Check.POLICIES, Answer.UNKNOWN, "not asked"),
]


@pytest.mark.parametrize(
    ("given", "check", "answer", "text"),
    [row[1:] for row in ROWS_WITHOUT_A_NO],
    ids=[row[0] for row in ROWS_WITHOUT_A_NO],
)
def test_what_is_no_reason_to_refuse_is_said_all_the_same(
    given: Candidate, check: Check, answer: Answer, text: str
) -> None:
    report = preflight(given)

    assert report.verdict is PreflightVerdict.READY
    assert report.answer(check) is answer
    assert text in said(report, check)


def test_a_set_that_moves_along_is_nothing_to_be_told_of() -> None:
    owned = {"metadata__ownerReferences": [set_owner()]}
    report = preflight(candidate(mapi_changes=owned, owner=look(mapi.MachineSet, machine_set()), owner_moves=True))

    assert report.answer(Check.OWNER) is Answer.YES


def test_what_the_machine_api_drops_without_a_word_is_a_warning_on_the_way_there() -> None:
    _, infra = cluster_api("ClusterAPI")
    infra["spec"]["identityRef"]["region"] = "north"

    report = preflight(candidate("MachineAPI", infra=look(capo.OpenStackMachine, infra)))

    assert report.verdict is PreflightVerdict.READY
    assert "region has no equivalent in the Machine API and is dropped" in said(report, Check.CONVERTIBLE)


def test_a_lost_field_of_the_mirror_is_no_warning() -> None:
    _, infra = cluster_api()
    infra["spec"]["identityRef"]["region"] = "north"

    report = preflight(candidate("ClusterAPI", infra=look(capo.OpenStackMachine, infra)))

    assert report.answer(Check.CONVERTIBLE) is Answer.YES


# Every recorded input


def answered(row: Tree) -> Answer | None:
    """What the pre-flight says of converting the input of a recorded conversion."""
    platform, given = platform_of(row), row["input"]
    kind: Any = mapi.Machine if row["kind"] == "Machine" else mapi.MachineSet
    key, infra_key = ("machine", "infraMachine") if kind is mapi.Machine else ("machineSet", "infraMachineTemplate")
    infra: Any = platform.infra_machine if kind is mapi.Machine else platform.infra_template
    twin: Any = capi.Machine if kind is mapi.Machine else capi.MachineSet
    base = candidate if kind is mapi.Machine else set_candidate
    if row["direction"] == TO_CLUSTER_API:
        report = preflight(
            base(
                machine_api=recorded(kind, given[key], status__authoritativeAPI="MachineAPI"),
                cluster_api=Absent(),
                infrastructure=on_its_platform(row),
                infra_cluster=Hidden("not recorded"),
            )
        )
    else:
        report = preflight(
            base(
                "MachineAPI",
                cluster_api=recorded(twin, given[key]),
                infra=recorded(infra, given[infra_key]),
                infra_cluster=recorded(platform.infra_cluster, given.get("infraCluster")),
                # What could be mirrored back is not recorded.
                infrastructure=Hidden("not recorded"),
            )
        )
    return report.answer(Check.CONVERTIBLE)


def on_its_platform(row: Tree) -> Look[Any]:
    """The recorded Infrastructure, which does not always say its platform: converters were called by name."""
    given: Tree | None = row["input"].get("infrastructure")
    said = ((given or {}).get("status") or {}).get("platformStatus") or {}
    return recorded(Infrastructure, given, status__platformStatus={**said, "type": platform_of(row).name})


def recorded(kind: type[Any], of: Tree | None, **changes: Any) -> Look[Any]:
    """As a reader would report it; what has no name in the recording gets one."""
    if of is None:
        return Absent(confirmed=True)
    named = {"metadata": {}, **{key: value for key, value in of.items() if value is not None}}
    return look(kind, changed(named, **changes))


@pytest.mark.parametrize("direction", [TO_CLUSTER_API, TO_MACHINE_API])
def test_whatever_was_recorded_is_convertible_exactly_if_its_conversion_has_no_errors(direction: str) -> None:
    wrong = []
    for row in rows(direction):
        if row["input"]["machine" if row["kind"] == "Machine" else "machineSet"] is None:
            continue
        converted = convert(row)
        refused = answered(row) is Answer.NO
        if refused != bool(converted.errors):
            wrong.append((row_id(row), refused, converted.errors))

    assert wrong == []
