"""A mirror set that is deleted with its CRD or namespace is released, and its authority stays."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Namespace
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Emit, Plan, Retry
from windlass.kube.errors import Forbidden, Status
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.mirroring.removal import Removal
from windlass.model.reader import MemoryReader

from .cases import (
    BEHIND_CLUSTER_API,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    MAPI_SET,
    NAME,
    NOW,
    OURS,
    SYNC,
    THEIRS,
    Tree,
    snapshot,
)
from .deletions import MIRROR, going, machine, steps, taken_off
from .world import at_rest, capi_of, mapi_of, reconciled, synchronized, typed

IN_CLUSTER_API = Removal(capi.MachineSet, cause=f"namespace {THEIRS}")
IN_THE_MACHINE_API = Removal(mapi.MachineSet, cause=f"namespace {OURS}")


def decided(removal: Removal, **case: Any) -> Plan:
    return decide(replace(snapshot(**case), removal=removal), now=NOW)


def condition(plan: Plan) -> Tree:
    (write,) = [action for action in plan.needed if getattr(action, "part", "") == "status"]
    (found,) = [one for one in write.desired["status"]["conditions"] if one["type"] == "Synchronized"]  # type: ignore[attr-defined]
    return dict(found)


def terminating(kind: type[KubernetesObject], name: str) -> Tree:
    meta = {"name": name, "uid": f"{name}-uid", "resourceVersion": "1", "finalizers": ["example.com/all-gone"], **GONE}
    return typed(kind, {"metadata": meta})


def test_the_mirror_is_released_and_the_condition_says_why() -> None:
    mirror = going(MIRROR, finalizers=[CLUSTER_API_FINALIZER, SYNC, "foregroundDeletion"])
    plan = decided(IN_CLUSTER_API, cluster_api=mirror)
    assert taken_off(plan) == {capi.MachineSet: []}
    assert (mapi.MachineSet, "Delete") not in [(kind, name) for name, kind in steps(plan)]
    told = condition(plan)
    assert told["reason"] == "MirrorRemoved"
    assert told["message"].startswith(
        f"namespace {THEIRS} is being deleted, so there are no mirrors in Cluster API; the MachineSet"
    )


def test_without_an_answer_nothing_is_deleted_and_the_condition_names_the_right() -> None:
    plan = decided(Removal(capi.MachineSet, unknown="forbidden"), cluster_api=going(MIRROR))
    assert taken_off(plan) == {}
    assert "Delete" not in dict(steps(plan))
    assert isinstance(plan.next, Retry)
    assert condition(plan)["reason"] == "FailedToUpdateCAPIMachineSet"
    assert "`windlass manifests rbac machine-sync`" in condition(plan)["message"]


def test_machines_of_cluster_api_stay_when_their_set_goes_with_its_namespace() -> None:
    there = {"machine_api": going(MAPI_SET), "cluster_api": MIRROR, "acting": (machine("w-1"),)}
    assert capi.Machine not in dict(map(reversed, steps(decided(IN_THE_MACHINE_API, **there))))  # type: ignore[arg-type]
    unknown = decided(Removal(mapi.MachineSet, unknown="forbidden"), **there)
    assert "Delete" not in dict(steps(unknown))
    assert condition(unknown)["reason"] == "FailedToUpdateMAPIMachineSet"


def test_the_event_on_a_set_of_cluster_api_says_why_its_mirror_goes() -> None:
    plan = decided(IN_THE_MACHINE_API, cluster_api=CAPI_SET, machine_api=going(BEHIND_CLUSTER_API))
    assert taken_off(plan) == {capi.MachineSet: [CLUSTER_API_FINALIZER], mapi.MachineSet: []}
    (told,) = [action for action in plan.needed if isinstance(action, Emit)]
    assert f"because namespace {OURS} is being deleted" in told.note


CAUSES = ((Namespace, THEIRS), (CustomResourceDefinition, "machinesets.cluster.x-k8s.io"))


@pytest.mark.parametrize(("kind", "name"), CAUSES, ids=["namespace", "CRD"])
async def test_a_mirror_that_is_deleted_with_its_namespace_or_crd_leaves_its_set(kind: Any, name: str) -> None:
    api = await at_rest()
    api.load(terminating(kind, name))
    await api.delete(capi.MachineSet, NAME, namespace=THEIRS)
    refusal = Forbidden(Status("Failure", "it is being terminated", "Forbidden", 403))
    api.fail_next("create", capi.MachineSet, refusal, times=9)
    await reconciled(api, MemoryReader(api))
    found = mapi_of(api)
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]
    assert capi_of(api) is None
    assert synchronized(found)["reason"] == "MirrorRemoved"


async def test_a_template_that_cannot_be_created_in_a_namespace_that_goes_is_told_so() -> None:
    api = await at_rest()
    api.load(terminating(Namespace, THEIRS))
    for one in api.listing(capo.OpenStackMachineTemplate):
        await api.delete(capo.OpenStackMachineTemplate, one.name, namespace=THEIRS)
    refusal = Forbidden(Status("Failure", "it is being terminated", "Forbidden", 403))
    api.fail_next("create", capo.OpenStackMachineTemplate, refusal, times=9)
    await reconciled(api, MemoryReader(api))
    assert synchronized(mapi_of(api))["reason"] == "MirrorRemoved"


async def test_a_mirror_that_a_user_deletes_takes_its_set_along_while_another_namespace_goes() -> None:
    api = await at_rest()
    api.load(terminating(Namespace, OURS))
    await api.delete(capi.MachineSet, NAME, namespace=THEIRS)
    await reconciled(api, MemoryReader(api))
    assert mapi_of(api) is None
