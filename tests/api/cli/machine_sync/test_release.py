"""`windlass release` against a real API server."""

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.api.cli.conftest import HELD, Sides, Windlass
from tests.authorizer import until_allowed
from tests.objects import Kind
from windlass.api import capi, capo, mapi
from windlass.api.coordination import Lease
from windlass.api.meta import Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.executor import Executor
from windlass.machine_sync.cli.release import releasing
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    LEASE_NAME,
    MACHINE_SET_LABEL,
    MIRRORED_LABELS_ANNOTATION,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.release import Holder
from windlass.testing import BlockingAccess, ControlPlane, crds

pytestmark = pytest.mark.plane

FORCE = "--force"
"""Tests share a plane; a controller that another test runs there must not make these refuse."""


def held(sides: Sides, name: str = "worker-0") -> list[str]:
    kinds: dict[str, Kind] = {"mapi": mapi.Machine, "capi": capi.Machine, "infra": capo.OpenStackMachine}
    return [side for side, kind in kinds.items() if SYNC_FINALIZER in sides.finalizers(kind, name)]


def annotated(sides: Sides, kind: Kind, name: str, annotations: Mapping[str, str], *, held: bool = True) -> None:
    sides.patch(kind, name, {"metadata": {"annotations": annotations, **(HELD if held else {})}})


def annotations(sides: Sides, kind: Kind, name: str) -> dict[str, str]:
    found: dict[str, str] = sides.there(kind, name)["metadata"].get("annotations", {})
    return found


def mirrored_set(sides: Sides, name: str = "workers") -> None:
    """A MachineSet that Machine sync holds, the Machine API authoritative, with the template that was made for it."""
    sides.mirrored_set(name)
    annotated(sides, mapi.MachineSet, name, {})
    annotated(sides, capi.MachineSet, name, {PAUSED_ANNOTATION: "", AUTHORITY_ANNOTATION: "MachineAPI"})
    sides.make(
        capo.OpenStackMachineTemplate,
        f"{name}-0a1b2c3d",
        {"template": {"spec": {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}}}},
        labels={MACHINE_SET_LABEL: name},
        annotations={PAUSED_ANNOTATION: ""},
    )


def said(output: str) -> list[str]:
    """What became of each object."""
    return [line.split(": ")[1].partition(";")[0] for line in output.splitlines()]


def test_all_three_objects_of_a_machine_are_released(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    sides.mirrored("worker-1")

    done = windlass("release", "worker-0", FORCE, *sides.flags)

    assert done.returncode == 0, done.stderr
    assert held(sides) == []
    assert held(sides, "worker-1") == ["mapi", "capi", "infra"]
    assert done.stdout.splitlines() == [
        f"machine.machine.openshift.io/worker-0 -n {sides.machine_api}: released (finalizer); stays paused: "
        "status.authoritativeAPI is ClusterAPI",
        f"machine.cluster.x-k8s.io/worker-0 -n {sides.cluster_api}: released (finalizer)",
        f"openstackmachine.infrastructure.cluster.x-k8s.io/worker-0 -n {sides.cluster_api}: released (finalizer)",
    ]
    assert done.stderr.startswith("note: 1 object stays paused: right while Cluster API owns")


def test_finalizers_of_others_stay(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    windlass("release", "worker-0", FORCE, *sides.flags)

    assert sides.finalizers(capi.Machine, "worker-0") == ["machine.cluster.x-k8s.io"]


def test_doing_it_twice_changes_nothing(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    windlass("release", "worker-0", FORCE, *sides.flags)

    again = windlass("release", "worker-0", FORCE, *sides.flags)

    assert again.returncode == 0
    assert said(again.stdout) == ["nothing to release"] * 3


def test_a_dry_run_says_it_and_does_nothing(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    annotated(sides, capi.Machine, "worker-0", {MIRRORED_LABELS_ANNOTATION: "a=1", AUTHORITY_ANNOTATION: "MachineAPI"})

    done = windlass("release", "--all", "--dry-run", *sides.flags)

    assert done.returncode == 0
    assert said(done.stdout) == [
        "would be released (finalizer)",
        "would be released (finalizer, authoritative-api, mirrored-labels)",
        "would be released (finalizer)",
    ]
    assert held(sides) == ["mapi", "capi", "infra"]
    assert len(annotations(sides, capi.Machine, "worker-0")) == 2


def test_what_machine_sync_has_written_down_goes_and_what_others_did_stays(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    annotated(sides, capo.OpenStackMachine, "worker-0", {MIRRORED_LABELS_ANNOTATION: "a=1", "theirs": "stays"})

    windlass("release", "worker-0", FORCE, *sides.flags)

    assert annotations(sides, capo.OpenStackMachine, "worker-0") == {"theirs": "stays"}


def test_a_machine_set_is_released_on_both_sides_and_its_template_named(sides: Sides, windlass: Windlass) -> None:
    mirrored_set(sides)

    done = windlass("release", "machineset/workers", FORCE, *sides.flags)

    assert done.returncode == 0, done.stderr
    stays = "stays paused: annotation cluster.x-k8s.io/paused"
    template = "openstackmachinetemplate.infrastructure.cluster.x-k8s.io/workers-0a1b2c3d"
    assert done.stdout.splitlines() == [
        f"machineset.machine.openshift.io/workers -n {sides.machine_api}: released (finalizer)",
        f"machineset.cluster.x-k8s.io/workers -n {sides.cluster_api}: released (finalizer, authoritative-api); {stays}",
        f"{template} -n {sides.cluster_api}: nothing to release; {stays}",
    ]
    assert "note: 2 objects stay paused: right while the Machine API is the authority of the MachineSet" in done.stderr
    assert sides.finalizers(mapi.MachineSet, "workers") == []
    assert annotations(sides, capi.MachineSet, "workers") == {PAUSED_ANNOTATION: ""}


def test_a_name_with_a_kind_means_only_that_kind(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("workers")
    mirrored_set(sides)

    windlass("release", "machine/workers", FORCE, *sides.flags)

    assert held(sides, "workers") == []
    assert sides.finalizers(mapi.MachineSet, "workers") == [SYNC_FINALIZER]


def test_a_name_without_a_kind_means_whatever_is_called_so(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("workers")
    mirrored_set(sides)

    windlass("release", "workers", FORCE, *sides.flags)

    assert held(sides, "workers") == []
    assert sides.finalizers(capi.MachineSet, "workers") == []


def test_all_releases_machines_sets_and_infrastructure_that_nobody_refers_to(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")
    sides.mirrored("worker-1")
    sides.infra_machine("orphan", held=True)
    mirrored_set(sides)
    sides.mapi_machine("free")

    done = windlass("release", "--all", "--yes", FORCE, *sides.flags)

    assert done.returncode == 0, done.stderr
    assert held(sides) == held(sides, "worker-1") == []
    assert sides.finalizers(capo.OpenStackMachine, "orphan") == sides.finalizers(mapi.MachineSet, "workers") == []
    assert "/free " not in done.stdout
    nothing = windlass("release", "--all", "--yes", FORCE, *sides.flags)
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == f"Nothing to release in {sides.machine_api} or {sides.cluster_api}.\n"


def test_infrastructure_is_found_under_another_name(sides: Sides, windlass: Windlass) -> None:
    sides.capi_machine("worker-0", held=True, infra="other-name")
    sides.infra_machine("other-name", held=True)

    done = windlass("release", "worker-0", FORCE, *sides.flags)

    assert "openstackmachine.infrastructure.cluster.x-k8s.io/other-name" in done.stdout
    assert sides.finalizers(capo.OpenStackMachine, "other-name") == []


def test_a_machine_that_waits_only_for_us_is_gone_afterwards(sides: Sides, windlass: Windlass) -> None:
    sides.mapi_machine("worker-0", held=True)
    sides.delete(mapi.Machine, "worker-0")

    done = windlass("release", "worker-0", FORCE, *sides.flags)

    assert done.returncode == 0, done.stderr
    assert sides.all(mapi.Machine) == []


def test_a_paused_copy_is_named_with_what_to_do_about_it(sides: Sides, windlass: Windlass) -> None:
    sides.mapi_machine("worker-0", held=True, status={"authoritativeAPI": "MachineAPI"})
    sides.capi_machine("worker-0", held=True, annotations={"cluster.x-k8s.io/paused": ""})

    done = windlass("release", "worker-0", FORCE, *sides.flags)

    assert "/worker-0 -n " + sides.cluster_api + ": released (finalizer); stays paused: annotation" in done.stdout
    assert "would make two controllers run it" in done.stderr


def test_a_machine_that_does_not_exist_is_an_error_but_others_are_released(sides: Sides, windlass: Windlass) -> None:
    sides.mirrored("worker-0")

    done = windlass("release", "worker-0", "worker-9", FORCE, *sides.flags)

    assert done.returncode == 1
    assert f"error: no machine or MachineSet 'worker-9' in {sides.machine_api} or {sides.cluster_api}\n" in done.stderr
    assert held(sides) == []


def test_someone_who_may_not_write_gets_the_reason_and_nothing_is_lost(
    sides: Sides, windlass: Windlass, machine_plane: BlockingAccess
) -> None:
    sides.mirrored("worker-0")
    machine_plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "release-viewer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "release-viewer"},
            "subjects": [{"kind": "User", "name": "release-viewer", "apiGroup": "rbac.authorization.k8s.io"}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "release-viewer"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}],
        },
    )

    until_allowed(machine_plane.rest, "release-viewer", "list", "machines.cluster.x-k8s.io")

    done = windlass("release", "worker-0", "--as", "release-viewer", FORCE, *sides.flags)

    assert done.returncode == 1
    assert said(done.stdout) == ["not released (finalizer)"] * 3
    assert "forbidden" in done.stderr
    assert held(sides) == ["mapi", "capi", "infra"]


def test_nothing_is_released_while_a_controller_renews_its_lease_and_never_what_is_migrating(
    windlass_module_plane: ControlPlane, windlass: Windlass
) -> None:
    plane = windlass_module_plane.blocking
    plane.apply_crds(*crds.documents(*crds.MACHINES))
    sides = Sides(plane)
    sides.mirrored("worker-0")
    sides.mirrored("worker-1")
    moving = {"status": {"authoritativeAPI": "Migrating"}}
    sides.patch(mapi.Machine, "worker-1", moving, part="status")
    spec = {"holderIdentity": "windlass_0", "leaseDurationSeconds": 60, "renewTime": moment()}
    sides.make(Lease, LEASE_NAME, spec)

    def release(*arguments: str) -> "tuple[int, str]":
        kubeconfig = str(windlass_module_plane.kubeconfig())
        done = windlass("release", "--all", "--yes", *arguments, *sides.flags, env={"KUBECONFIG": kubeconfig})
        return done.returncode, done.stderr

    with Renewing(sides):
        code, errors = release()
    assert code == 1
    assert f"Machine sync (Lease {sides.cluster_api}/{LEASE_NAME} is held by windlass_0) is running" in errors
    assert "--force" in errors
    assert held(sides) == ["mapi", "capi", "infra"]

    sides.patch(Lease, LEASE_NAME, {"spec": {"holderIdentity": ""}})
    code, errors = release()
    assert code == 1
    assert "error: machine/worker-1: it is Migrating, so neither side acts on it" in errors
    assert held(sides) == []
    assert held(sides, "worker-1") == ["mapi", "capi", "infra"]

    assert release(FORCE)[0] == 0
    assert held(sides, "worker-1") == []


async def test_what_somebody_else_wrote_in_between_is_read_again(sides: Sides, windlass_kubeconfig: Path) -> None:
    sides.mirrored("worker-0")
    sides.mirrored("worker-1")
    async with Client(config.load(kubeconfig=windlass_kubeconfig)) as client:
        there = await releasing.observe(client, sides.namespaces)
        for kind in (mapi.Machine, capi.Machine):
            sides.patch(kind, "worker-0", {"metadata": {"labels": {"changed": "meanwhile"}}})
        sides.delete(capo.OpenStackMachine, "worker-0")
        sides.patch(capo.OpenStackMachine, "worker-0", {"metadata": {"finalizers": None}})

        assert there[0].name == "worker-0"
        result = await releasing.let_go(client, Executor(client), there[0].holders)

    assert result.error is None
    assert kinds(result.gone) == [capo.OpenStackMachine.RESOURCE]
    assert kinds(result.changed) == [capi.Machine.RESOURCE, mapi.Machine.RESOURCE]
    for kind in (mapi.Machine, capi.Machine):
        assert SYNC_FINALIZER not in sides.finalizers(kind, "worker-0")
    assert held(sides, "worker-1") == ["mapi", "capi", "infra"]


def kinds(holders: Sequence[Holder]) -> list[Resource]:
    return sorted((found.kind.RESOURCE for found in holders), key=str)


def moment() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Renewing:
    """A leader that renews its lease, as long as the block lasts."""

    def __init__(self, sides: Sides) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, args=(sides,))

    def _renew(self, sides: Sides) -> None:
        while not self._stop.wait(0.5):
            sides.patch(Lease, LEASE_NAME, {"spec": {"renewTime": moment()}})

    def __enter__(self) -> "Renewing":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
