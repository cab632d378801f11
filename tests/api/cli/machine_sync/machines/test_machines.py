"""`windlass machines` against a real API server."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from tests.api.cli.conftest import Sides, Windlass, condition
from tests.authorizer import until_allowed
from windlass.api.coordination import Lease
from windlass.machine_sync.constants import LEASE_NAME
from windlass.testing import BlockingAccess

pytestmark = pytest.mark.plane


def cells(line: str) -> list[str]:
    return line.split()


def test_a_machine_on_both_sides_is_one_row(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    shown = windlass("machines", *sides.flags)

    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    heading, row = shown.stdout.splitlines()
    assert heading.split("   ")[0] == "NAME"
    name, authority, mapi, capi, synchronized, reason, since, generation = cells(row)
    assert (name, authority, mapi, capi) == ("worker-0", "ClusterAPI", "Running", "Running")
    assert (synchronized, reason, generation) == ("True", "ResourceSynchronized", "1/1")
    assert since.endswith(("d", "h", "y")) or since == "0s"


def test_while_openshifts_operator_does_the_work_machine_sync_is_said_to_idle(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "capi-controllers-6d9f_1", "leaseDurationSeconds": 137, "renewTime": now}
    sides.make(Lease, LEASE_NAME, spec)

    shown = windlass("machines", *sides.flags)

    assert shown.returncode == 0
    assert "worker-0" in shown.stdout
    assert shown.stderr == (
        "note: Machine sync idles: the work is done by OpenShift's migration operator "
        f"(Lease {sides.cluster_api}/{LEASE_NAME} is held by capi-controllers-6d9f_1)\n"
    )


def test_a_side_where_the_machine_does_not_exist_is_a_dash(sides: Sides, windlass: Windlass) -> None:
    sides.mapi_machine("only-mapi", status={"phase": "Provisioned", "authoritativeAPI": "MachineAPI"})
    sides.capi_machine("only-capi", status={"phase": "Pending"})

    rows = windlass("machines", "--no-headers", *sides.flags).stdout.splitlines()

    assert cells(rows[0]) == ["only-capi", "-", "-", "Pending", "-", "-", "-", "-"]
    assert cells(rows[1]) == ["only-mapi", "MachineAPI", "Provisioned", "-", "-", "-", "-", "0/1"]


def test_json_has_every_documented_key(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    shown = windlass("machines", "-o", "json", *sides.flags)

    document = json.loads(shown.stdout)
    assert document["unavailable"] == []
    (item,) = document["items"]
    for side in ("machineAPI", "clusterAPI"):
        assert len(item[side].pop("uid")) == 36
    assert item == {
        "kind": "Machine",
        "name": "worker-0",
        "machineAPI": {
            "namespace": sides.machine_api,
            "generation": 1,
            "phase": "Running",
            "providerID": "",
            "node": "",
            "infrastructure": None,
            "deleting": False,
            "held": True,
            "paused": True,
            "unreadable": "",
        },
        "clusterAPI": {
            "namespace": sides.cluster_api,
            "generation": 1,
            "phase": "Running",
            "providerID": "",
            "node": "",
            "infrastructure": {"kind": "OpenStackMachine", "name": "worker-0"},
            "deleting": False,
            "held": True,
            "paused": False,
            "unreadable": "",
        },
        "authority": "ClusterAPI",
        "desiredAuthority": "MachineAPI",
        "synchronized": {
            "status": "True",
            "reason": "ResourceSynchronized",
            "message": "Successfully synchronized CAPI Machine to MAPI",
            "severity": "",
            "since": "2026-01-02T03:04:05Z",
        },
        "generation": {"synchronized": 1, "source": 1},
    }


def test_yaml_says_the_same_as_json(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    as_json = json.loads(windlass("machines", "-o", "json", *sides.flags).stdout)
    as_yaml: Any = yaml.safe_load(windlass("machines", "-o", "yaml", *sides.flags).stdout)

    assert as_yaml == as_json


def test_names_can_be_handed_to_kubectl(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    sides.capi_machine("worker-1")

    shown = windlass("machines", "-o", "name", *sides.flags)

    assert shown.stdout.splitlines() == ["machine.machine.openshift.io/worker-0", "machine.cluster.x-k8s.io/worker-1"]


def test_wide_says_why_a_machine_is_not_synchronized(sides: Sides, windlass: Windlass) -> None:
    sides.mapi_machine(
        "worker-0",
        status={
            "authoritativeAPI": "ClusterAPI",
            "synchronizedGeneration": 2,
            "conditions": [condition("False", "CAPIMachineNotFound", "Cluster API machine not found")],
        },
    )

    row = windlass("machines", "-o", "wide", "--no-headers", *sides.flags).stdout

    assert "CAPIMachineNotFound" in row
    assert "   2/-   " in row
    assert row.rstrip().endswith("Cluster API machine not found")


def test_nothing_at_all_is_success_and_said_on_standard_error(sides: Sides, windlass: Windlass) -> None:
    shown = windlass("machines", *sides.flags)

    assert (shown.returncode, shown.stdout) == (0, "")
    assert shown.stderr == f"No machines or MachineSets found in {sides.machine_api} or {sides.cluster_api}.\n"


def test_what_is_asked_for_by_name_must_exist(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    shown = windlass("machines", "worker-0", "worker-9", "-o", "name", *sides.flags)

    assert shown.returncode == 1
    assert shown.stdout == "machine.machine.openshift.io/worker-0\n"
    assert shown.stderr == f"error: no machine or MachineSet 'worker-9' in {sides.machine_api} or {sides.cluster_api}\n"


def test_a_side_that_may_not_be_listed_is_a_warning_and_the_other_is_shown(
    sides: Sides, windlass: Windlass, machine_plane: BlockingAccess
) -> None:
    sides.mirrored("worker-0")
    machine_plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "list-machines", "namespace": sides.cluster_api},
            "rules": [{"apiGroups": ["cluster.x-k8s.io"], "resources": ["machines"], "verbs": ["list"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "list-machines", "namespace": sides.cluster_api},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "list-machines"},
            "subjects": [{"kind": "User", "name": "viewer", "apiGroup": "rbac.authorization.k8s.io"}],
        },
    )

    until_allowed(machine_plane.rest, "viewer", "list", "machines.cluster.x-k8s.io", namespace=sides.cluster_api)

    shown = windlass("machines", "--as", "viewer", "--kind", "machine", "--no-headers", *sides.flags)

    assert shown.returncode == 1
    assert cells(shown.stdout) == ["worker-0", "-", "-", "Running", "-", "-", "-", "-"]
    (line,) = shown.stderr.splitlines()
    assert line.startswith("warning: machines.machine.openshift.io cannot be listed, so that side is missing: ")
    assert "forbidden" in line
    assert "ask an administrator" in line


def test_machine_sets_have_a_table_of_their_own(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    sides.mirrored_set("workers", replicas=3)

    shown = windlass("machines", *sides.flags)

    assert (shown.returncode, shown.stderr) == (0, "")
    machines, sets = (block.splitlines() for block in shown.stdout.split("\n\n"))
    assert [line.split()[0] for line in machines] == ["NAME", "worker-0"]
    assert cells(sets[0])[0] == "MACHINESET"
    *row, _, generation = cells(sets[1])
    assert row == ["workers", "MachineAPI", "3/3", "3/3", "True", "ResourceSynchronized"]
    assert generation == "1/1"


def test_a_machine_set_in_json_has_every_documented_key(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored_set("workers", replicas=2)

    (item,) = json.loads(windlass("machines", "-o", "json", *sides.flags).stdout)["items"]

    replicas = {"desired": 2, "current": 2, "ready": 2, "available": 2}
    template = {"kind": "OpenStackMachineTemplate", "name": "workers-1"}
    for side, namespace, infra in (
        ("machineAPI", sides.machine_api, None),
        ("clusterAPI", sides.cluster_api, template),
    ):
        assert len(item[side].pop("uid")) == 36
        assert item.pop(side) == {
            "namespace": namespace,
            "generation": 1,
            "deleting": False,
            "held": False,
            "paused": False,
            "unreadable": "",
            "replicas": replicas,
            "infrastructureTemplate": infra,
        }
    assert item.pop("synchronized")["status"] == "True"
    assert item == {
        "kind": "MachineSet",
        "name": "workers",
        "authority": "MachineAPI",
        "desiredAuthority": "MachineAPI",
        "generation": {"synchronized": 1, "source": 1},
    }


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            [],
            [
                "machine.machine.openshift.io/a",
                "machineset.machine.openshift.io/a",
                "machineset.machine.openshift.io/b",
            ],
        ),
        (["--kind", "machine"], ["machine.machine.openshift.io/a"]),
        (["a"], ["machine.machine.openshift.io/a", "machineset.machine.openshift.io/a"]),
        (["machineset/a"], ["machineset.machine.openshift.io/a"]),
        (
            ["machineset.machine.openshift.io/b", "machine/a"],
            ["machine.machine.openshift.io/a", "machineset.machine.openshift.io/b"],
        ),
    ],
)
def test_a_kind_or_a_name_of_it_may_be_asked_for(
    sides: Sides, windlass: Windlass, arguments: list[str], printed: list[str]
) -> None:
    sides.mapi_machine("a")
    sides.mapi_set("a")
    sides.mapi_set("b")

    assert windlass("machines", "-o", "name", *arguments, *sides.flags).stdout.splitlines() == printed


def test_what_is_out_of_sync_can_be_asked_for_and_is_an_exit_code_of_its_own(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    sides.mapi_machine("master-0", status={"authoritativeAPI": "MachineAPI"})
    sides.mirrored_set("workers")

    well = windlass("machines", "--unsynced", *sides.flags)
    sides.mirrored_set("stray", conditions=[condition("False", "FailedToConvertMAPIMachineSetToCAPI", "no place")])
    sides.mirrored_set("lagging", synchronizedGeneration=0)
    ill = windlass("machines", "--unsynced", "-o", "name", *sides.flags)
    named = windlass("machines", "--unsynced", "workers", "worker-0", *sides.flags)
    missing = windlass("machines", "--unsynced", "stray", "no-such", *sides.flags)

    assert (well.returncode, well.stdout) == (0, "")
    assert well.stderr == "note: nothing is out of sync: looked at 2 machines and 1 MachineSet\n"
    assert ill.returncode == 3
    assert ill.stdout.split() == [f"machineset.machine.openshift.io/{name}" for name in ("lagging", "stray")]
    assert ill.stderr == "note: 2 of 3 MachineSets are not known to be in sync\n"
    assert (named.returncode, named.stdout) == (0, "")
    assert missing.returncode == 1, "what could not be looked at counts for more than what was found"
    assert "FailedToConvertMAPIMachineSetToCAPI" in missing.stdout


def test_whether_all_is_in_sync_is_unknown_while_a_side_may_not_be_listed(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    shown = windlass("machines", "--unsynced", "--as", "nobody", *sides.flags)

    assert (shown.returncode, shown.stdout) == (1, "")
    warned = [line for line in shown.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 4
    assert len(warned) == len(shown.stderr.splitlines()), "that nothing is out of sync, or that there is nothing"


def test_a_name_that_says_a_kind_there_is_not_is_a_usage_error(sides: Sides, windlass: Windlass) -> None:
    shown = windlass("machines", "node/worker-0", *sides.flags)

    assert shown.returncode == 64
    assert "write NAME, machine/NAME or machineset/NAME" in shown.stderr
    assert "Try 'windlass machines --help'." in shown.stderr


def test_a_namespace_that_is_neither_side_is_refused(sides: Sides, windlass: Windlass) -> None:
    shown = windlass("machines", "-n", "default", *sides.flags)

    assert shown.returncode == 64
    assert "--machine-api-namespace" in shown.stderr
    assert windlass("-n", sides.cluster_api, "machines", *sides.flags).returncode == 0
