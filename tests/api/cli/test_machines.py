"""`windlass machines` against a real API server."""

import json
from typing import Any

import pytest
import yaml

from tests.api.cli.conftest import Sides, Windlass, condition
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


def test_no_machines_at_all_is_success_and_said_on_standard_error(sides: Sides, windlass: Windlass) -> None:
    shown = windlass("machines", *sides.flags)

    assert (shown.returncode, shown.stdout) == (0, "")
    assert shown.stderr == f"No machines found in {sides.machine_api} or {sides.cluster_api}.\n"


def test_a_machine_asked_for_by_name_must_exist(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    shown = windlass("machines", "worker-0", "worker-9", "-o", "name", *sides.flags)

    assert shown.returncode == 1
    assert shown.stdout == "machine.machine.openshift.io/worker-0\n"
    assert shown.stderr == f"error: no machine 'worker-9' in {sides.machine_api} or {sides.cluster_api}\n"


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

    shown = windlass("machines", "--as", "viewer", "--no-headers", *sides.flags)

    assert shown.returncode == 1
    assert cells(shown.stdout) == ["worker-0", "-", "-", "Running", "-", "-", "-", "-"]
    (line,) = shown.stderr.splitlines()
    assert line.startswith("warning: machines.machine.openshift.io cannot be listed, so that side is missing: ")
    assert "forbidden" in line
    assert "ask an administrator" in line


def test_a_namespace_that_is_neither_side_is_refused(sides: Sides, windlass: Windlass) -> None:
    shown = windlass("machines", "-n", "default", *sides.flags)

    assert shown.returncode == 64
    assert "--machine-api-namespace" in shown.stderr
    assert windlass("-n", sides.cluster_api, "machines", *sides.flags).returncode == 0
