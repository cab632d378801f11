"""What comes off before an uninstall, and what stays paused."""

from typing import Any

import pytest

from windlass.api import capa, capi, capo, mapi
from windlass.kube.control.plan import Delete, Merge
from windlass.kube.object import Object
from windlass.machine_sync import release
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    BOOKKEEPING,
    MACHINE_SET_LABEL,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.release import MACHINE_SETS, MACHINES, Holder, Mirrored, group, holder, plan, stays

PAUSED = {PAUSED_ANNOTATION: ""}


def machine(kind: Any, name: str = "worker-0", *, spec: Any = None, status: Any = None, **metadata: Any) -> Holder:
    metadata.setdefault("finalizers", [SYNC_FINALIZER])
    tree = {"metadata": {"name": name, "namespace": "ns", "uid": f"{kind.__name__}-{name}", **metadata}}
    return holder(Object.of(kind, tree | {"spec": spec or {}, "status": status or {}}))


def refers_to(kind: str, name: str) -> Any:
    return {"infrastructureRef": {"kind": kind, "name": name}}


def owned_by(name: str, *, api_version: str = "cluster.x-k8s.io/v1beta2") -> Any:
    return [{"apiVersion": api_version, "kind": "Machine", "name": name, "uid": "1"}]


def names(groups: list[Mirrored]) -> dict[str, list[str]]:
    return {one.name: [f"{found.kind.RESOURCE.kind}/{found.meta.name}" for found in one.holders] for one in groups}


def written(found: Holder) -> dict[str, Any]:
    """The metadata of the one write about it."""
    (action,) = plan([found]).actions
    assert isinstance(action, Merge)
    assert action.patch.keys() == {"metadata"}
    return dict(action.patch["metadata"])


def test_infrastructure_belongs_to_the_machine_that_refers_to_it() -> None:
    capi_machine = machine(capi.Machine, spec=refers_to("OpenStackMachine", "infra-7"))
    infra = machine(capo.OpenStackMachine, "infra-7", ownerReferences=owned_by("another"))

    assert names(group(MACHINES, [], [capi_machine], [infra])) == {
        "worker-0": ["Machine/worker-0", "OpenStackMachine/infra-7"]
    }


def test_a_reference_to_another_kind_of_the_same_name_is_not_a_reference_to_this_one() -> None:
    capi_machine = machine(capi.Machine, spec=refers_to("AWSMachine", "infra-7"))
    infra = machine(capo.OpenStackMachine, "infra-7")

    assert names(group(MACHINES, [], [capi_machine], [infra])) == {
        "infra-7": ["OpenStackMachine/infra-7"],
        "worker-0": ["Machine/worker-0"],
    }


def test_infrastructure_that_nobody_refers_to_belongs_to_its_owner() -> None:
    infra = machine(
        capa.AWSMachine, "infra-7", ownerReferences=owned_by("worker-0", api_version="cluster.x-k8s.io/v1beta1")
    )

    assert names(group(MACHINES, [machine(mapi.Machine)], [], [infra])) == {
        "worker-0": ["Machine/worker-0", "AWSMachine/infra-7"]
    }


def test_an_owner_of_the_machine_api_is_not_one_of_cluster_api() -> None:
    infra = machine(
        capa.AWSMachine, "infra-7", ownerReferences=owned_by("w", api_version="machine.openshift.io/v1beta1")
    )

    assert [one.name for one in group(MACHINES, [], [], [infra])] == ["infra-7"]


def machine_set(kind: Any, *, template: str = "", **rest: Any) -> Holder:
    reference = {"template": {"spec": refers_to("OpenStackMachineTemplate", template)}} if template else {}
    return machine(kind, "workers", spec=reference, **rest)


def infra_template(name: str, *, made_for: str = "", **metadata: Any) -> Holder:
    labels = {MACHINE_SET_LABEL: made_for} if made_for else {}
    return machine(capo.OpenStackMachineTemplate, name, finalizers=[], labels=labels, **metadata)


def test_templates_belong_to_the_sets_that_refer_to_them_and_to_the_one_they_were_made_for() -> None:
    sets = [machine_set(mapi.MachineSet)], [machine_set(capi.MachineSet, template="users")]
    templates = [infra_template("users"), infra_template("ours", made_for="workers"), infra_template("of-nobody")]

    (one,) = group(MACHINE_SETS, *sets, templates)

    assert (one.kind, one.name, one.held) == ("MachineSet", "workers", True)
    assert names([one])["workers"][2:] == ["OpenStackMachineTemplate/users", "OpenStackMachineTemplate/ours"]


def test_only_what_is_ours_is_taken_off_and_infrastructure_goes_first() -> None:
    held = [
        machine(mapi.Machine, finalizers=["machine.machine.openshift.io", SYNC_FINALIZER], resourceVersion="3"),
        machine(capi.Machine, finalizers=["machine.cluster.x-k8s.io"]),
        machine(capo.OpenStackMachine),
    ]

    actions = plan(held).actions

    assert [action.target.kind.RESOURCE.kind for action in actions] == ["OpenStackMachine", "Machine"]
    last = actions[-1]
    assert isinstance(last, Merge)
    assert last.patch == {"metadata": {"finalizers": ["machine.machine.openshift.io"]}}
    assert (last.target.uid, last.target.resource_version) == ("Machine-worker-0", "3")


@pytest.mark.parametrize(
    "kind", [mapi.Machine, mapi.MachineSet, capi.Machine, capi.MachineSet, capo.OpenStackMachine, capa.AWSMachine]
)
def test_the_finalizer_and_what_is_written_down_go_in_one_write_as_the_policies_ask(kind: Any) -> None:
    found = machine(kind, annotations={**dict.fromkeys(BOOKKEEPING, "x"), **PAUSED, "theirs": "stays"})

    assert found.ours == (SYNC_FINALIZER, *BOOKKEEPING)
    assert written(found) == {"finalizers": [], "annotations": dict.fromkeys(BOOKKEEPING)}


def test_what_is_written_down_goes_even_where_the_finalizer_has_gone_before() -> None:
    found = machine(capi.Machine, finalizers=["theirs"], annotations={AUTHORITY_ANNOTATION: "MachineAPI"})

    assert found.held
    assert written(found) == {"annotations": {AUTHORITY_ANNOTATION: None}}


def test_what_is_not_held_needs_no_plan() -> None:
    assert plan([machine(mapi.Machine, finalizers=[], annotations=PAUSED)]).actions == ()


def test_an_object_that_nobody_can_decode_is_released_too() -> None:
    broken = machine(mapi.Machine, status={"phase": ["not", "text"], "authoritativeAPI": 7})

    assert broken.authority == ""
    assert len(plan([broken]).actions) == 1


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("MachineAPI", [release.KEEP_COPY_PAUSED]),
        ("", [release.KEEP_COPY_PAUSED]),
        ("ClusterAPI", [release.COPY_OF_CLUSTER_API, release.UNPAUSE]),
        ("Migrating", [release.HALFWAY, release.HALFWAY]),
    ],
)
def test_what_stays_paused_depends_on_who_owns_the_instance(authority: str, expected: list[str]) -> None:
    held = [
        machine(mapi.Machine, status={"authoritativeAPI": authority} if authority else {}),
        machine(capi.Machine, annotations=PAUSED),
    ]

    assert [stay.advice for stay in stays(held)] == expected


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("MachineAPI", [release.KEEP_SET_PAUSED] * 2),
        ("", [release.KEEP_SET_PAUSED] * 2),
        ("ClusterAPI", [release.SET_COPY_OF_CLUSTER_API, release.UNPAUSE, release.UNPAUSE]),
        ("Migrating", [release.HALFWAY] * 3),
    ],
)
def test_a_set_stays_paused_with_its_template(authority: str, expected: list[str]) -> None:
    held = [
        machine_set(mapi.MachineSet, status={"authoritativeAPI": authority} if authority else {}),
        machine_set(capi.MachineSet, annotations=PAUSED),
        infra_template("workers-1", annotations=PAUSED),
    ]

    assert [stay.advice for stay in stays(held)] == expected


def test_a_paused_machine_without_a_machine_api_machine_is_to_be_unpaused() -> None:
    assert [stay.advice for stay in stays([machine(capi.Machine, annotations=PAUSED)])] == [release.UNPAUSE]


def test_a_machine_of_cluster_api_that_runs_leaves_only_its_copy_paused() -> None:
    held = [machine(mapi.Machine, status={"authoritativeAPI": "ClusterAPI"}), machine(capi.Machine)]

    (stay,) = stays(held)

    assert str(stay.holder) == "machine.machine.openshift.io/worker-0"
    assert stay.why == "status.authoritativeAPI is ClusterAPI"


class TestMirrorsThatAreBeingDeleted:
    """Their controllers are paused, so nobody else removes what holds them, or the namespace that goes."""

    GOING = "2026-05-01T12:00:00Z"

    def test_one_in_cluster_api_is_finished_and_what_it_owns_is_orphaned(self) -> None:
        for kind, theirs in (
            (capi.Machine, "machine.cluster.x-k8s.io"),
            (capi.MachineSet, "cluster.x-k8s.io/machineset"),
            (capo.OpenStackMachine, "openstackmachine.infrastructure.cluster.x-k8s.io"),
        ):
            found = self.going(kind, theirs, annotations=PAUSED)
            orphan, merge = plan([self.authority(), found]).actions[:2]
            assert isinstance(orphan, Delete)
            assert orphan.propagation == "Orphan"
            assert isinstance(merge, Merge)
            assert merge.patch["metadata"]["finalizers"] == ["example.com/mine", "orphan"]

    def test_once_its_deletion_has_orphaned_what_it_owns_it_is_not_deleted_again(self) -> None:
        found = self.going(capi.Machine, "machine.cluster.x-k8s.io", annotations=PAUSED)
        merge, _ = plan([self.authority(), found], orphaned={found.meta.uid}).actions
        assert isinstance(merge, Merge)
        assert merge.patch["metadata"]["finalizers"] == ["example.com/mine"]

    def test_one_in_the_machine_api_is_finished(self) -> None:
        found = self.going(mapi.Machine, "machine.machine.openshift.io", status={"authoritativeAPI": "ClusterAPI"})
        assert written(found)["finalizers"] == ["example.com/mine"]
        assert stays([found]) == []

    def test_an_authority_keeps_the_finalizers_of_those_who_delete_its_instance(self) -> None:
        for authority in ("MachineAPI", "Migrating", ""):
            status = {"authoritativeAPI": authority}
            found = self.going(mapi.Machine, "machine.machine.openshift.io", status=status)
            assert "machine.machine.openshift.io" in written(found)["finalizers"]
        found = self.going(capi.Machine, "machine.cluster.x-k8s.io")
        assert not release.ends(found, [self.authority(), found]), "Cluster API is not paused"

    @pytest.mark.parametrize("status", [{"authoritativeAPI": "ClusterAPI"}, {"authoritativeAPI": "Migrating"}])
    def test_one_that_is_only_paused_is_no_mirror(self, status: Any) -> None:
        found = self.going(capi.Machine, "machine.cluster.x-k8s.io", annotations=PAUSED)
        theirs = machine(mapi.Machine, status=status)
        assert not release.ends(found, [theirs, found])
        assert not release.ends(found, [found]), "nothing says that the Machine API has the machine"

    def test_while_its_authority_is_being_deleted_too_the_instance_may_not_be_gone(self) -> None:
        found = self.going(capi.Machine, "machine.cluster.x-k8s.io", annotations=PAUSED)
        assert not release.ends(found, [self.authority(deletionTimestamp=self.GOING), found])

    def test_the_mark_tells_of_an_authority_that_is_gone(self) -> None:
        marks = {**PAUSED, AUTHORITY_ANNOTATION: "MachineAPI"}
        found = self.going(capi.MachineSet, "cluster.x-k8s.io/machineset", annotations=marks)
        assert release.ends(found, [found])

    def going(self, kind: Any, theirs: str, **more: Any) -> Holder:
        held = [theirs, SYNC_FINALIZER, "example.com/mine"]
        return machine(kind, finalizers=held, deletionTimestamp=self.GOING, **more)

    def authority(self, **metadata: Any) -> Holder:
        return machine(mapi.Machine, status={"authoritativeAPI": "MachineAPI"}, **metadata)
