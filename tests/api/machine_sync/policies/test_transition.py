"""When users may move authority, on a real API server."""

from typing import Any

import pytest

from windlass.api import mapi
from windlass.machine_sync.constants import SYNC_FINALIZER

from .messages import DELETING, NO_INFRASTRUCTURE, NOT_SYNCHRONIZED, PROVISIONING, SET_DELETING, TWIN_DELETING
from .policed import Kind, Policed, Tree

TO_CLUSTER_API: Tree = {"spec": {"authoritativeAPI": "ClusterAPI"}}
TO_MACHINE_API: Tree = {"spec": {"authoritativeAPI": "MachineAPI"}}
HELD: Tree = {"finalizers": [SYNC_FINALIZER]}


def status(phase: str | None, *, authority: str = "MachineAPI") -> Tree:
    return {"authoritativeAPI": authority, **({"phase": phase} if phase else {})}


RUNNING: dict[Kind, Tree] = {mapi.Machine: status("Running"), mapi.MachineSet: status(None)}
"""What those of each kind say that are past their beginning. A MachineSet has no phase."""


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("Provisioning", PROVISIONING),
        (None, NO_INFRASTRUCTURE),
        ("Failed", NO_INFRASTRUCTURE),
        ("Provisioned", ""),
        ("Running", ""),
        ("Deleting", TWIN_DELETING),
    ],
)
async def test_from_the_machine_api_the_phase_decides(policed: Policed, phase: str | None, expected: str) -> None:
    name = await policed.make(mapi.Machine, status=status(phase), **HELD)
    assert await policed.refusal(mapi.Machine, name, TO_CLUSTER_API) == expected


@pytest.mark.parametrize(
    ("phase", "provider_id", "expected"),
    [
        ("Provisioning", "", PROVISIONING),
        (None, "", NO_INFRASTRUCTURE),
        (None, "openstack:///1", ""),
        ("Failed", "", NO_INFRASTRUCTURE),
        ("Failed", "openstack:///1", ""),
        ("Provisioned", "", ""),
        ("Running", "", ""),
        ("Deleting", "openstack:///1", TWIN_DELETING),
    ],
)
async def test_from_cluster_api_a_provider_id_does_too(
    policed: Policed, phase: str | None, provider_id: str, expected: str
) -> None:
    spec = {"authoritativeAPI": "ClusterAPI", **({"providerID": provider_id} if provider_id else {})}
    name = await policed.make(mapi.Machine, spec, status=status(phase, authority="ClusterAPI"), **HELD)
    assert await policed.refusal(mapi.Machine, name, TO_MACHINE_API) == expected


@pytest.mark.parametrize("phase", [None, "Failed", "Running"])
async def test_a_machine_without_a_mirror_has_no_infrastructure_to_wait_for(
    policed: Policed, phase: str | None
) -> None:
    name = await policed.make(mapi.Machine, status=status(phase))
    assert await policed.refusal(mapi.Machine, name, TO_CLUSTER_API) == ""


@pytest.mark.parametrize("phase", [None, "Provisioning", "Failed", "Deleting"])
async def test_other_changes_are_free_in_every_phase(policed: Policed, phase: str | None) -> None:
    name = await policed.make(mapi.Machine, status=status(phase), **HELD)
    change: Tree = {"metadata": {"labels": {"a": "b"}}, "spec": {"providerID": "openstack:///1"}}
    assert await policed.refusal(mapi.Machine, name, change) == ""


@pytest.mark.parametrize(("kind", "expected"), [(mapi.Machine, DELETING), (mapi.MachineSet, SET_DELETING)])
async def test_what_is_being_deleted_keeps_its_authority(policed: Policed, kind: Kind, expected: str) -> None:
    name = await policed.make(kind, status=RUNNING[kind], **HELD)
    assert await policed.refusal(kind, name, TO_CLUSTER_API) == ""
    await policed.delete(kind, name)
    assert await policed.refusal(kind, name, TO_CLUSTER_API) == expected
    assert await policed.refusal(kind, name, {"metadata": {"labels": {"a": "b"}}}) == ""


async def test_controllers_need_not_wait_for_infrastructure(
    policed: Policed, machine_sync: str, controllers: tuple[str, ...]
) -> None:
    name = await policed.make(mapi.Machine, status=status(None), **HELD)
    for user in (machine_sync, *controllers):
        assert await policed.refusal(mapi.Machine, name, TO_CLUSTER_API, by=user) == "", user


async def test_only_machine_sync_may_while_the_machine_is_being_provisioned(
    policed: Policed, machine_sync: str, controllers: tuple[str, ...]
) -> None:
    name = await policed.make(mapi.Machine, status=status("Provisioning"))
    assert await policed.refusal(mapi.Machine, name, TO_CLUSTER_API, by=machine_sync) == ""
    for user in controllers:
        assert await policed.refusal(mapi.Machine, name, TO_CLUSTER_API, by=user) == PROVISIONING, user


@pytest.mark.parametrize("kind", [mapi.Machine, mapi.MachineSet], ids=lambda kind: str(kind.RESOURCE))
@pytest.mark.parametrize("synchronized", ["True", "False", "Unknown", None])
async def test_who_moves_what_is_not_in_sync_is_warned(policed: Policed, kind: Kind, synchronized: str | None) -> None:
    condition: Any = {"type": "Synchronized", "status": synchronized, "lastTransitionTime": "2026-01-26T01:30:52Z"}
    name = await policed.make(kind, status={**RUNNING[kind], "conditions": [condition] if synchronized else []})
    told = await policed.warnings(kind, name, TO_CLUSTER_API)
    assert [one for one in told if NOT_SYNCHRONIZED in one] == ([] if synchronized == "True" else told)
    assert bool(told) == (synchronized != "True")
    assert await policed.warnings(kind, name, {"metadata": {"labels": {"a": "b"}}}) == []
