"""`windlass migrate` against a real API server, whose Machine API objects are moved by an actor of this file.

The controllers that act on a request are not here: `PlayedControllers` writes the status that they would write.
"""

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.conftest import Begin, Sides, environment_of
from tests.api.cli.ptys import read_to_the_end, see
from tests.authorizer import until_allowed
from tests.objects import Kind, Tree
from tests.patience import PATIENCE
from tests.unit.machine_sync import preflight_cases as cases
from tests.waiting import wait_until
from windlass.api import capi, capo, capo_cluster, mapi
from windlass.api.coordination import Lease
from windlass.machine_sync.cli.migrate import moving
from windlass.machine_sync.constants import LEASE_NAME, MACHINE_API_NAMESPACE
from windlass.testing import BlockingAccess, ControlPlane, crds
from windlass.testing.plane.errors import PlaneError, Refused
from windlass.testing.plane.rest import MERGE_PATCH

pytestmark = pytest.mark.plane

TO_CLUSTER_API = {"spec": {"authoritativeAPI": "ClusterAPI"}}

Run = Callable[..., "subprocess.CompletedProcess[str]"]

DENIAL = "Cannot update .spec.authoritativeAPI when machine has the label locked"


class Fleet(Sides):
    """Machines and MachineSets on both sides, with all that a migration needs."""

    def __init__(self, plane: BlockingAccess) -> None:
        super().__init__(plane)
        identity = {"name": "openstack-cloud-credentials", "cloudName": "openstack"}
        self.make(capo_cluster.OpenStackCluster, "c", {"identityRef": identity})

    def machine(self, name: str, *, authority: str = "MachineAPI", status: Tree | None = None, **metadata: Any) -> None:
        """A Machine in sync under `authority`; `status` changes that of the Machine API."""
        original = self._at_home(cases.machine_api(authority))
        twin, infra = cases.cluster_api(authority)
        self._mapi(mapi.Machine, name, original, status=status, **metadata)
        twin["spec"]["infrastructureRef"]["name"] = name
        self._capi(capi.Machine, name, twin)
        self.make(capo.OpenStackMachine, name, infra["spec"])

    def _at_home(self, tree: Tree) -> Tree:
        """With its Secrets in the namespace of the machine."""
        home: Tree = json.loads(json.dumps(tree).replace(MACHINE_API_NAMESPACE, self.machine_api))
        return home

    def machine_set(self, name: str, *, authority: str = "MachineAPI") -> None:
        twin, infra = cases.cluster_api_set(authority)
        self._mapi(mapi.MachineSet, name, self._at_home(cases.machine_set(authority)))
        self._capi(capi.MachineSet, name, twin)
        if not self.all(capo.OpenStackMachineTemplate):
            self.make(capo.OpenStackMachineTemplate, infra["metadata"]["name"], infra["spec"])

    def _mapi(self, kind: Kind, name: str, tree: Tree, *, status: Tree | None = None, **metadata: Any) -> None:
        told = {**tree["status"], "synchronizedGeneration": 1, **(status or {})}
        self.make(kind, name, tree["spec"], status=told, **metadata)

    def _capi(self, kind: Kind, name: str, tree: Tree) -> None:
        conditions = [{**one, "reason": "Known"} for one in tree["status"]["conditions"] if one["type"] == "Paused"]
        for one in conditions:
            one.pop("severity", None)
        told: Tree = {"conditions": conditions}
        if kind is capi.Machine:
            told["initialization"] = {"infrastructureProvisioned": True}
        self.make(kind, name, tree["spec"], status=told, annotations=tree["metadata"].get("annotations", {}))

    def spec(self, name: str, kind: Kind = mapi.Machine) -> str:
        """The authority that is asked for."""
        return str(self.there(kind, name)["spec"]["authoritativeAPI"])

    def authority(self, name: str, kind: Kind = mapi.Machine) -> str:
        return str(self.there(kind, name)["status"]["authoritativeAPI"])


class PlayedControllers:
    """Plays Machine sync and all that it waits for, as long as the block lasts: moves status where spec points.

    One step at each look, so that every stage is there to be seen. Objects named in `idle` are left alone; those in
    `halfway` have their authority moved and wait there for a resync.
    """

    def __init__(
        self, fleet: Fleet, *, idle: Sequence[str] = (), halfway: Sequence[str] = (), failing: Sequence[str] = ()
    ) -> None:
        self.idle = list(idle)
        self.halfway = list(halfway)
        self.failing = list(failing)
        self._fleet = fleet
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._play)

    def _play(self) -> None:
        while not self._stop.wait(0.05):
            try:
                for kind in (mapi.Machine, mapi.MachineSet):
                    for item in self._fleet.all(kind):
                        if (name := item["metadata"]["name"]) not in self.idle and (status := self._next(item)):
                            self._fleet.patch(kind, name, {"status": status}, part="status")
            except PlaneError:
                # The API server is away, or somebody was faster: the next look shows.
                continue

    def _next(self, item: Tree) -> Tree | None:
        target, status = item["spec"]["authoritativeAPI"], item["status"]
        told: Tree = next((one for one in status["conditions"] if one["type"] == "Synchronized"), {})
        others = [one for one in status["conditions"] if one["type"] != "Synchronized"]
        if status["authoritativeAPI"] == "Migrating":
            waiting = cases.condition("Synchronized", "Unknown", "AuthoritativeAPIChanged", "Waiting for resync")
            return {
                "authoritativeAPI": target,
                "synchronizedAPI": target,
                "synchronizedGeneration": 0,
                "conditions": [*others, waiting],
            }
        if status["authoritativeAPI"] != target:
            return {"authoritativeAPI": "Migrating"}
        if told.get("status") == "Unknown" and item["metadata"]["name"] not in self.halfway:
            ok = item["metadata"]["name"] not in self.failing
            reached = cases.IN_SYNC if ok else cases.OUT_OF_SYNC
            return {"synchronizedGeneration": item["metadata"]["generation"], "conditions": [*others, reached]}
        return None

    def __enter__(self) -> "PlayedControllers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture(scope="module")
def openshift(windlass_module_plane: ControlPlane) -> BlockingAccess:
    """An OpenStack cluster."""
    plane = windlass_module_plane.blocking
    plane.apply_crds(*crds.documents(*crds.MACHINES))
    plane.apply({"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", **cases.INFRASTRUCTURE, "spec": {}})
    path = "/apis/config.openshift.io/v1/infrastructures/cluster/status"
    plane.rest.request("PATCH", path, {"status": cases.INFRASTRUCTURE["status"]}, content_type=MERGE_PATCH)
    return plane


@pytest.fixture
def fleet(openshift: BlockingAccess) -> Fleet:
    return Fleet(openshift)


@pytest.fixture
def environment(openshift: BlockingAccess, tmp_path: Path) -> dict[str, str]:
    return environment_of(openshift.kubeconfig(), tmp_path)


@pytest.fixture
def start(fleet: Fleet, begin: Begin) -> Callable[..., "subprocess.Popen[str]"]:
    """Start `windlass migrate ARGUMENTS...`."""
    return partial(begin, "migrate", *fleet.flags, text=True)


@pytest.fixture
def migrate(start: Callable[..., "subprocess.Popen[str]"]) -> Run:
    """Run `windlass migrate ARGUMENTS...` to its end."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        process = start(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run


def until_said(process: "subprocess.Popen[str]", text: str) -> str:
    """What a process writes to standard error up to the line with `text`."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return said
    pytest.fail(f"it ended without a word of {text!r}, after: {said}")


def rows(table: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in table.splitlines()[1:]}


def guard_locked(plane: BlockingAccess, namespace: str, *, action: str = "Deny") -> None:
    """A policy about the migration of Machines with the label `locked`: it refuses that, or warns of it (`Warn`)."""
    name = f"locked-{namespace}"
    api = "admissionregistration.k8s.io/v1"
    plane.apply(
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["machine.openshift.io"],
                            "apiVersions": ["v1beta1"],
                            "operations": ["UPDATE"],
                            "resources": ["machines"],
                        }
                    ]
                },
                "validations": [
                    {
                        "expression": "object.spec.authoritativeAPI == oldObject.spec.authoritativeAPI || "
                        "!has(object.metadata.labels) || !('locked' in object.metadata.labels)",
                        "message": DENIAL,
                    }
                ],
            },
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": [action],
                "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}},
            },
        },
    )


def denied(fleet: Fleet, name: str) -> bool:
    path = fleet.path(mapi.Machine, name) + "?dryRun=All"
    try:
        fleet.rest.request("PATCH", path, {"spec": {"authoritativeAPI": "ClusterAPI"}}, content_type=MERGE_PATCH)
    except Refused:
        return True
    return False


# The pre-flight


def test_a_dry_run_reports_on_each_and_changes_nothing(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("ready")
    fleet.machine("provisioning", status={"phase": "Provisioning"})
    fleet.machine("behind", status={"synchronizedGeneration": 0})
    fleet.machine("there", authority="ClusterAPI")
    fleet.machine_set("workers")
    before = {
        name: fleet.there(mapi.Machine, name)["metadata"] for name in ("ready", "provisioning", "behind", "there")
    }

    done = migrate("--all", "--to", "cluster-api", "--dry-run")

    assert done.returncode == 4, done.stderr
    found = rows(done.stdout)
    assert list(found) == [
        "machineset/workers",
        "machine/behind",
        "machine/provisioning",
        "machine/ready",
        "machine/there",
    ]
    assert found["machine/ready"] == ["MachineAPI", "Running", "-", "ClusterAPI", "yes", "yes", "yes", "ready"]
    assert found["machineset/workers"] == ["MachineAPI", "-", "-", "ClusterAPI", "yes", "yes", "yes", "ready"]
    assert found["machine/behind"][-3:] == ["note", "yes", "ready"]
    assert found["machine/there"][-2:] == ["already", "there"]
    assert "error: machine/provisioning: phase: it is Provisioning" in done.stderr
    assert "note: machine/behind: synchronized: up to generation 0 of 1 of the Machine API's" in done.stderr
    assert "note: no Machine sync is running" in done.stderr
    assert "info: 3 ready, 1 already there, 1 refused" in done.stderr
    assert {name: fleet.there(mapi.Machine, name)["metadata"] for name in before} == before


def test_a_policy_that_would_refuse_is_found_out_beforehand(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("locked", labels={"locked": ""})
    guard_locked(fleet.plane, fleet.machine_api)
    wait_until("the policy acts", lambda: denied(fleet, "locked"))

    done = migrate("locked", "--to", "cluster-api", "-o", "json")

    assert done.returncode == 4, done.stderr
    (item,) = json.loads(done.stdout)["items"]
    assert (item["verdict"], item["checks"]["policies"]) == ("refused", "no")
    assert item["result"]["outcome"] == "refused"
    assert DENIAL in item["result"]["reason"]
    assert fleet.spec("locked") == "MachineAPI"


def test_what_a_policy_only_warns_of_is_shown_once_and_the_machine_is_moved(fleet: Fleet, migrate: Run) -> None:
    for name in ("locked-0", "locked-1"):
        fleet.machine(name, labels={"locked": ""})
    guard_locked(fleet.plane, fleet.machine_api, action="Warn")
    wanted = ("--all", "--yes", "--to", "cluster-api")
    wait_until("the policy acts", lambda: "Warning: " in migrate(*wanted, "--dry-run").stderr)

    done = migrate(*wanted, "--no-wait")

    assert done.returncode == 0, done.stderr
    (warning,) = (line for line in done.stderr.splitlines() if DENIAL in line)
    assert warning.startswith("Warning: Validation failed for ValidatingAdmissionPolicy 'locked-")
    assert [fleet.spec(name) for name in ("locked-0", "locked-1")] == ["ClusterAPI", "ClusterAPI"]


def test_reading_rights_suffice_for_a_dry_run_without_policies(
    fleet: Fleet, migrate: Run, openshift: BlockingAccess
) -> None:
    fleet.machine("w-0")
    subject = {"kind": "User", "name": "viewer", "apiGroup": "rbac.authorization.k8s.io"}
    openshift.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "migrate-viewer"},
            "rules": [
                {
                    "apiGroups": [
                        "machine.openshift.io",
                        "cluster.x-k8s.io",
                        "infrastructure.cluster.x-k8s.io",
                        "config.openshift.io",
                    ],
                    "resources": ["*"],
                    "verbs": ["get", "list"],
                }
            ],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "migrate-viewer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "migrate-viewer"},
            "subjects": [subject],
        },
    )

    until_allowed(openshift.rest, "viewer", "list", "machines.cluster.x-k8s.io")

    done = migrate("w-0", "--to", "cluster-api", "--dry-run", "--as", "viewer")

    assert done.returncode == 0, done.stderr
    assert rows(done.stdout)["machine/w-0"][-3:] == ["yes", "unknown", "ready"]
    assert "warning: machine/w-0: policies: not asked: machines.machine.openshift.io" in done.stderr
    assert "note: cannot tell whether Machine sync is running" in done.stderr

    nobody = migrate("w-0", "--to", "cluster-api", "--as", "viewer")
    assert nobody.returncode == 1
    assert 'User "viewer" cannot patch resource "machines"' in nobody.stdout
    assert fleet.spec("w-0") == "MachineAPI"


def test_what_does_not_exist_is_refused_with_the_reason(fleet: Fleet, migrate: Run) -> None:
    fleet.capi_machine("alone")

    done = migrate("nothing", "alone", "--to", "cluster-api", "--dry-run")

    assert done.returncode == 4
    assert "error: machine/nothing: authority: the Machine API has no Machine of this name\n" in done.stderr
    assert "error: machine/alone: authority: the Machine API has no Machine of this name, only Cluster" in done.stderr


def test_a_name_of_both_kinds_must_say_which(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("same")
    fleet.machine_set("same")

    done = migrate("same", "--to", "cluster-api")

    assert done.returncode == 64
    assert "write machine/same or machineset/same" in done.stderr


def test_an_empty_cluster_is_no_error(fleet: Fleet, migrate: Run) -> None:
    done = migrate("--all", "--yes", "--to", "cluster-api")

    assert (done.returncode, done.stdout) == (0, "")
    assert f"No Machines or MachineSets found in {fleet.machine_api}." in done.stderr
    assert json.loads(migrate("--all", "--yes", "--to", "cluster-api", "-o", "json").stdout)["items"] == []


def test_many_are_looked_at_alike(fleet: Fleet, migrate: Run) -> None:
    names = [f"w-{number:02}" for number in range(moving.MANY + 1)]
    for name in names:
        fleet.machine(name)

    many = migrate("--all", "--to", "cluster-api", "--dry-run")
    few = migrate(names[0], "--to", "cluster-api", "--dry-run")

    assert many.returncode == 0, many.stderr
    assert list(rows(many.stdout)) == [f"machine/{name}" for name in names]
    assert {tuple(row) for row in rows(many.stdout).values()} == {tuple(rows(few.stdout)[f"machine/{names[0]}"])}


def test_who_moves_a_set_alone_is_told_that_its_machines_stay(fleet: Fleet, migrate: Run) -> None:
    fleet.machine_set("workers")

    done = migrate("workers", "--to", "cluster-api", "--dry-run")

    assert "note: the machines of a MachineSet keep their authority: --with-machines moves them, too" in done.stderr


def test_a_set_takes_the_machines_that_it_owns_along_if_that_is_asked_for(fleet: Fleet, migrate: Run) -> None:
    fleet.machine_set("workers")
    fleet.machine_set("others")
    for name, owner in (("w-0", "workers"), ("o-0", "others")):
        fleet.machine(name, ownerReferences=[owned_by(fleet, owner)])
    fleet.machine("alone")

    done = migrate("machineset/workers", "--with-machines", "--to", "capi", "--dry-run")

    assert list(rows(done.stdout)) == ["machineset/workers", "machine/w-0"]
    assert "keep their authority" not in done.stderr


def test_labels_choose_machines_and_sets(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("w-0", labels={"zone": "a"})
    fleet.machine("w-1", labels={"zone": "b"})
    fleet.machine_set("workers")

    done = migrate("-l", "zone in (a,c)", "--to", "ClusterAPI", "--dry-run")

    assert list(rows(done.stdout)) == ["machine/w-0"]
    nothing = migrate("--selector", "zone=none", "--to", "ClusterAPI", "--dry-run")
    assert f"No Machines or MachineSets with the labels zone=none found in {fleet.machine_api}." in nothing.stderr
    wrong = migrate("-l", "zone in a", "--to", "ClusterAPI", "--dry-run")
    assert wrong.returncode == 1
    assert "error: " in wrong.stderr


def owned_by(fleet: Fleet, name: str) -> Tree:
    """As a MachineSet owns what it makes."""
    return fleet.reference(mapi.MachineSet, name, controller=True)


def test_whoever_holds_the_lease_of_machine_sync_is_named(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("w-0")
    renewed = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    spec = {"holderIdentity": "windlass_pod-1", "leaseDurationSeconds": 15, "renewTime": renewed}
    fleet.make(Lease, LEASE_NAME, spec)

    done = migrate("w-0", "--to", "cluster-api", "--dry-run", "-o", "json")

    held = f"Machine sync (Lease {fleet.cluster_api}/{LEASE_NAME} is held by windlass_pod-1)"
    assert json.loads(done.stdout)["controller"] == held


# The migrator


@pytest.mark.parametrize(("target", "source"), [("cluster-api", "MachineAPI"), ("machine-api", "ClusterAPI")])
def test_machines_and_sets_are_moved_and_waited_for(
    fleet: Fleet, start: Callable[..., "subprocess.Popen[str]"], target: str, source: str
) -> None:
    other = {"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[source]
    for number in range(3):
        fleet.machine(f"w-{number}", authority=source)
    fleet.machine_set("workers", authority=source)

    with PlayedControllers(fleet, halfway=["w-0"]) as played:
        process = start("--all", "--yes", "--to", target, "--max-in-flight", "2")
        said = until_said(process, "info: machine/w-0: synchronizing")
        played.halfway.clear()
        out, errors = process.communicate(timeout=PATIENCE)
    errors = said + errors

    assert process.returncode == 0, errors
    found = rows(out)
    assert list(found) == ["machineset/workers", "machine/w-0", "machine/w-1", "machine/w-2"]
    assert {row[2] for row in found.values()} == {"migrated"}
    assert {row[0] for row in found.values()} == {source}
    assert {fleet.authority(f"w-{number}") for number in range(3)} == {other}
    assert fleet.authority("workers", mapi.MachineSet) == other
    assert "(4/4)" in errors


def test_doing_it_again_finds_it_done(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("w-0")
    with PlayedControllers(fleet):
        migrate("w-0", "--to", "cluster-api")
        before = fleet.there(mapi.Machine, "w-0")["metadata"]["resourceVersion"]
        again = migrate("w-0", "--to", "cluster-api")

    assert again.returncode == 0
    assert "already there" in again.stdout
    assert fleet.there(mapi.Machine, "w-0")["metadata"]["resourceVersion"] == before


def test_without_waiting_the_request_is_all(fleet: Fleet, migrate: Run) -> None:
    for number in range(3):
        fleet.machine(f"w-{number}")

    done = migrate("--all", "--yes", "--to", "cluster-api", "--no-wait", "--max-in-flight", "2")

    assert done.returncode == 0, done.stderr
    assert {row[2] for row in rows(done.stdout).values()} == {"requested"}
    assert {fleet.spec(f"w-{number}") for number in range(3)} == {"ClusterAPI"}


def test_one_that_nobody_moves_times_out_with_an_exit_code_of_its_own_and_is_taken_up_again(
    fleet: Fleet, migrate: Run, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    fleet.machine("w-0")
    fleet.machine("w-1")
    # Asked for already, so that a second is enough even if that is all the command gets of the machine.
    fleet.patch(mapi.Machine, "w-0", TO_CLUSTER_API)

    done = migrate("w-0", "w-1", "--to", "cluster-api", "--timeout", "1s", "--max-in-flight", "1")

    assert done.returncode == 124
    assert "timed out" in done.stdout
    assert "not begun" in done.stdout
    assert "machine/w-0 failed; --keep-going continues" in done.stdout
    assert (fleet.spec("w-0"), fleet.spec("w-1")) == ("ClusterAPI", "MachineAPI")
    with PlayedControllers(fleet, idle=["w-0", "w-1"]) as played:
        again = start("w-0", "w-1", "--to", "cluster-api")
        wait_until("the other one is asked for too", lambda: fleet.spec("w-1") == "ClusterAPI")
        played.idle.clear()
        out, errors = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, errors
    assert [row[2] for row in rows(out).values()] == ["migrated", "migrated"]
    assert "note: machine/w-0: authority: the migration to Cluster API was asked for and has not begun" in errors


def test_others_are_moved_when_the_pre_flight_refuses_one(fleet: Fleet, migrate: Run) -> None:
    fleet.machine("w-0")
    fleet.machine("w-1", status={"phase": "Provisioning"})

    with PlayedControllers(fleet):
        done = migrate("w-0", "w-1", "--to", "cluster-api")

    assert done.returncode == 4
    assert [row[2] for row in rows(done.stdout).values()] == ["migrated", "refused"]
    assert fleet.spec("w-1") == "MachineAPI"


def test_a_half_finished_migration_is_taken_back(fleet: Fleet, start: Callable[..., "subprocess.Popen[str]"]) -> None:
    fleet.machine("w-0")
    fleet.patch(mapi.Machine, "w-0", TO_CLUSTER_API)
    halfway = {"status": {"authoritativeAPI": "Migrating"}}
    fleet.patch(mapi.Machine, "w-0", halfway, part="status")

    process = start("w-0", "--to", "machine-api")
    wait_until("it is asked back", lambda: fleet.spec("w-0") == "MachineAPI")
    with PlayedControllers(fleet):
        _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0, errors
    assert "note: machine/w-0: authority: it is Migrating from the Machine API to Cluster API" in errors
    assert (fleet.spec("w-0"), fleet.authority("w-0")) == ("MachineAPI", "MachineAPI")


# Ctrl-C


def test_ctrl_c_waits_for_those_under_way_and_begins_no_more(
    fleet: Fleet, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    for number in range(4):
        fleet.machine(f"w-{number}")
    process = start("--all", "--yes", "--to", "cluster-api", "--max-in-flight", "2")
    wait_until("the first wave is asked for", lambda: fleet.spec("w-1") == "ClusterAPI")

    process.send_signal(signal.SIGINT)
    until_said(process, "info: interrupted: no more objects are started; waiting for 2 in progress")
    with PlayedControllers(fleet):
        out, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert "Traceback" not in errors
    assert [row[2] for row in rows(out).values()] == ["migrated", "migrated", "not", "not"]
    assert (fleet.spec("w-2"), fleet.spec("w-3")) == ("MachineAPI", "MachineAPI")


def test_a_second_ctrl_c_leaves_at_once_and_says_what_is_under_way(
    fleet: Fleet, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    fleet.machine("w-0")
    process = start("w-0", "--to", "cluster-api")
    until_said(process, "info: machine/w-0: asked for")

    process.send_signal(signal.SIGINT)
    until_said(process, "Ctrl-C again")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert "left under way" in out
    assert "warning: machine/w-0: left under way: asked for" in errors


def test_on_a_terminal_there_is_a_bar_and_a_question_before_all(
    fleet: Fleet, environment: dict[str, str], start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    fleet.machine("w-0")
    master, slave = pty.openpty()
    environment["TERM"] = "xterm-256color"
    with PlayedControllers(fleet, idle=["w-0"]) as played:
        process = start("--all", "--to", "cluster-api", stdin=slave, stderr=slave)
        os.close(slave)
        try:
            see(master, b"Move authority over 1 object to Cluster API? [y/N]: ")
            assert fleet.spec("w-0") == "MachineAPI"
            os.write(master, b"y\n")
            see(master, b"machine/w-0 asked for")
            played.idle.clear()
            read_to_the_end(master)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            os.close(master)

    assert process.returncode == 0
    assert rows(out)["machine/w-0"][2] == "migrated"


def test_a_no_and_ctrl_c_at_the_question_change_nothing(
    fleet: Fleet, environment: dict[str, str], start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    fleet.machine("w-0")
    environment["TERM"] = "xterm-256color"
    for answer, code in ((b"n\n", 1), (b"\x03", 130)):
        master, slave = pty.openpty()
        process = start("--all", "--to", "cluster-api", stdin=slave, stderr=slave, preexec_fn=_own_terminal(slave))
        os.close(slave)
        try:
            see(master, b"[y/N]: ")
            os.write(master, answer)
            read_to_the_end(master)
            process.communicate(timeout=PATIENCE)
        finally:
            os.close(master)
        assert process.returncode == code
    assert fleet.spec("w-0") == "MachineAPI"


def _own_terminal(slave: int) -> Callable[[], None]:
    """Make the terminal that of the process, so that Ctrl-C on it is a signal."""

    def take() -> None:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    return take


# Weather


async def test_a_restart_of_the_api_server_is_survived(
    windlass_module_plane: ControlPlane, fleet: Fleet, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    fleet.machine("w-0")
    with PlayedControllers(fleet, idle=["w-0"]) as played:
        process = start("w-0", "--to", "cluster-api")
        wait_until("it is asked for", lambda: fleet.spec("w-0") == "ClusterAPI")

        await windlass_module_plane.kill_apiserver()
        await windlass_module_plane.restart_apiserver()
        played.idle.clear()
        out, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0, errors
    assert rows(out)["machine/w-0"][2] == "migrated"
