"""Which finalizers come off before an uninstall, and what stays paused."""

from typing import Any

import pytest

from windlass.api import capa, capi, capo, mapi
from windlass.kube.object import Object
from windlass.kube.plan import RemoveFinalizers
from windlass.machine_sync import release
from windlass.machine_sync.constants import PAUSED_ANNOTATION, SYNC_FINALIZER
from windlass.machine_sync.release import Holder, group, holder, plan, stays

PAUSED = {PAUSED_ANNOTATION: ""}


def machine(kind: Any, name: str = "worker-0", *, spec: Any = None, status: Any = None, **metadata: Any) -> Holder:
    metadata.setdefault("finalizers", [SYNC_FINALIZER])
    tree = {"metadata": {"name": name, "namespace": "ns", "uid": f"{kind.__name__}-{name}", **metadata}}
    return holder(Object.of(kind, tree | {"spec": spec or {}, "status": status or {}}))


def refers_to(kind: str, name: str) -> Any:
    return {"infrastructureRef": {"kind": kind, "name": name}}


def owned_by(name: str, *, api_version: str = "cluster.x-k8s.io/v1beta2") -> Any:
    return [{"apiVersion": api_version, "kind": "Machine", "name": name, "uid": "1"}]


def names(groups: dict[str, tuple[Holder, ...]]) -> dict[str, list[str]]:
    return {name: [f"{found.kind.RESOURCE.kind}/{found.meta.name}" for found in held] for name, held in groups.items()}


def test_infrastructure_belongs_to_the_machine_that_refers_to_it() -> None:
    capi_machine = machine(capi.Machine, spec=refers_to("OpenStackMachine", "infra-7"))
    infra = machine(capo.OpenStackMachine, "infra-7", ownerReferences=owned_by("another"))

    assert names(group([], [capi_machine], [infra])) == {"worker-0": ["Machine/worker-0", "OpenStackMachine/infra-7"]}


def test_a_reference_to_another_kind_of_the_same_name_is_not_a_reference_to_this_one() -> None:
    capi_machine = machine(capi.Machine, spec=refers_to("AWSMachine", "infra-7"))
    infra = machine(capo.OpenStackMachine, "infra-7")

    assert names(group([], [capi_machine], [infra])) == {
        "infra-7": ["OpenStackMachine/infra-7"],
        "worker-0": ["Machine/worker-0"],
    }


def test_infrastructure_that_nobody_refers_to_belongs_to_its_owner() -> None:
    infra = machine(
        capa.AWSMachine, "infra-7", ownerReferences=owned_by("worker-0", api_version="cluster.x-k8s.io/v1beta1")
    )

    assert names(group([machine(mapi.Machine)], [], [infra])) == {
        "worker-0": ["Machine/worker-0", "AWSMachine/infra-7"]
    }


def test_an_owner_of_the_machine_api_is_not_one_of_cluster_api() -> None:
    infra = machine(
        capa.AWSMachine, "infra-7", ownerReferences=owned_by("w", api_version="machine.openshift.io/v1beta1")
    )

    assert list(group([], [], [infra])) == ["infra-7"]


def test_only_our_finalizer_is_taken_off_and_infrastructure_goes_first() -> None:
    held = [
        machine(mapi.Machine, finalizers=["machine.machine.openshift.io", SYNC_FINALIZER], resourceVersion="3"),
        machine(capi.Machine, finalizers=["machine.cluster.x-k8s.io"]),
        machine(capo.OpenStackMachine),
    ]

    actions = plan(held).actions

    assert [action.target.kind.RESOURCE.kind for action in actions] == ["OpenStackMachine", "Machine"]
    assert all(isinstance(action, RemoveFinalizers) for action in actions)
    last = actions[-1]
    assert isinstance(last, RemoveFinalizers)
    assert last.desired == ["machine.machine.openshift.io"]
    assert (last.target.uid, last.target.resource_version) == ("Machine-worker-0", "3")


def test_what_is_not_held_needs_no_plan() -> None:
    assert plan([machine(mapi.Machine, finalizers=[])]).actions == ()


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


def test_a_paused_machine_without_a_machine_api_machine_is_to_be_unpaused() -> None:
    assert [stay.advice for stay in stays([machine(capi.Machine, annotations=PAUSED)])] == [release.UNPAUSE]


def test_a_machine_of_cluster_api_that_runs_leaves_only_its_copy_paused() -> None:
    held = [machine(mapi.Machine, status={"authoritativeAPI": "ClusterAPI"}), machine(capi.Machine)]

    (stay,) = stays(held)

    assert str(stay.holder) == "machine.machine.openshift.io/worker-0"
    assert stay.why == "status.authoritativeAPI is ClusterAPI"
