"""Removing the CRDs or the namespace of a mirror is no wish to delete the machine, on a real API server.

The plane is one of its own, because these tests remove its CRDs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

import pytest

from tests.authorizer import until_allowed
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Namespace
from windlass.api.meta import KubernetesObject
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.kube.errors import NotFound, NotServed
from windlass.kube.verbs import PatchType
from windlass.machine_sync.cli.release.releasing import ReleaseRequest, release
from windlass.machine_sync.cli.selection import Selection
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, SYNC_FINALIZER
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT
from windlass.testing import crds
from windlass.testing.plane.pool import PlanePool

from .examples import Tree
from .sets import NAME, cluster_api_set, machine_api_set
from .stage import Stage, condition, finalizers, held_by_us, new_stage

pytestmark = pytest.mark.plane

Named: TypeAlias = tuple[type[KubernetesObject], str]

MACHINES = ("w-0", "w-1", "w-2")
ROLE = DEFAULT_SERVICE_ACCOUNT.name


@pytest.fixture
async def stage(windlass_planes: PlanePool, untouched_gc: None) -> AsyncIterator[Stage]:
    """A cluster whose CRDs may be removed, with Machine sync's account where nothing is removed."""
    known = crds.documents(*crds.MACHINES)
    plane = windlass_planes.plane("uninstall", crds=known)
    await plane.apply_crds(*known)
    async with new_stage(plane, "OpenStack") as stage:
        await stage.grant(await plane.create_namespace("windlass-"))
        yield stage
        kinds: tuple[type[Any], ...] = (mapi.Machine, mapi.MachineSet, *of_cluster_api(stage))
        for kind in kinds:
            with suppress(NotServed):
                await release_by_force(stage, kind)


async def release_by_force(stage: Stage, kind: type[KubernetesObject]) -> None:
    """What a test leaves would hold the CRD of its kind, and fail the next test."""
    for left in (await stage.admin.list(kind)).items:
        with suppress(NotFound):
            body = {"metadata": {"finalizers": None}}
            await stage.admin.patch(kind, left.name, body, type=PatchType.MERGE, namespace=left.namespace)


async def remove_crds(stage: Stage, *kinds: type[KubernetesObject]) -> None:
    await asyncio.gather(*(stage.admin.delete(CustomResourceDefinition, kind.RESOURCE.name) for kind in kinds))


async def crds_are_gone(stage: Stage, *kinds: type[KubernetesObject]) -> None:
    async def left() -> list[str]:
        there = await stage.admin.list(CustomResourceDefinition)
        return [one.name for one in there.items if one.name in {kind.RESOURCE.name for kind in kinds}]

    await eventually(left, lambda found: not found, what="CRDs gone")


def of_cluster_api(stage: Stage) -> tuple[type[Any], ...]:
    platform = stage.example.platform
    return (capi.Machine, capi.MachineSet, platform.infra_machine, platform.infra_template)


async def under_the_machine_api(stage: Stage) -> None:
    """Machines and a MachineSet of the Machine API, with mirrors that Cluster API's controllers have seen."""
    await stage.cluster()
    await machine_api_set(stage)
    await stage.patch(mapi.MachineSet, NAME, {"status": {"authoritativeAPI": "MachineAPI"}}, part="status")
    for name in MACHINES:
        await stage.machine_of_machine_api(name)
        await stage.in_sync(name)
        held = [stage.example.simulated.machine_finalizer, SYNC_FINALIZER]
        await stage.patch(stage.infra_kind, name, {"metadata": {"finalizers": held}})
    await set_that(stage, lambda found: condition(found).get("status") == "True")


async def set_that(stage: Stage, holds: Callable[[Tree], Any]) -> Tree:
    found = await eventually(
        lambda: stage.get(mapi.MachineSet, NAME), lambda tree: tree is not None and holds(tree), what="the MachineSet"
    )
    assert found is not None
    return found


async def none_is_deleted(stage: Stage, *which: Named) -> None:
    for kind, name in which:
        found = await stage.get(kind, name)
        assert found is not None, f"{kind.RESOURCE.kind} {name} is gone"
        assert "deletionTimestamp" not in found["metadata"], f"{kind.RESOURCE.kind} {name} is being deleted"


OURS: Final[tuple[Named, ...]] = ((mapi.MachineSet, NAME), *((mapi.Machine, name) for name in MACHINES))
THEIRS: Final[tuple[Named, ...]] = ((capi.MachineSet, NAME), *((capi.Machine, name) for name in MACHINES))


async def released(stage: Stage) -> Exit:
    """`windlass release --all`, with the rights of an administrator."""
    request = ReleaseRequest(Selection(), dry_run=False, ask=False, force=False)
    return await release(Settings(kubeconfig=str(stage.plane.kubeconfig())), stage.namespaces, request)


async def namespace_is_gone(stage: Stage, name: str) -> None:
    async def look() -> Tree | None:
        try:
            return (await stage.admin.get(Namespace, name)).tree()
        except NotFound:
            return None

    await eventually(look, lambda found: found is None, what=f"namespace {name} gone")


async def test_removing_the_crds_of_cluster_api_keeps_all_of_the_machine_api(stage: Stage) -> None:
    async with stage.syncing(resync=5.0):
        await under_the_machine_api(stage)
        await remove_crds(stage, *of_cluster_api(stage))
        await crds_are_gone(stage, *of_cluster_api(stage))
        await none_is_deleted(stage, *OURS)
        for name in MACHINES:
            told = await stage.reports(name, reason="MirrorRemoved")
            assert told["message"].startswith("CustomResourceDefinition machines.cluster.x-k8s.io ")
        told = condition(await set_that(stage, lambda found: condition(found).get("reason") == "MirrorRemoved"))
        assert "Create CustomResourceDefinition" in told["message"]

        await stage.plane.apply_crds(*crds.documents(*crds.MACHINES))
        for name in MACHINES:
            await stage.in_sync(name)
        await set_that(stage, lambda found: condition(found).get("status") == "True")


async def test_deleting_the_namespace_of_cluster_api_keeps_all_of_the_machine_api(stage: Stage) -> None:
    home = stage.namespaces.cluster_api
    async with stage.syncing():
        await under_the_machine_api(stage)
        await stage.plane.delete_namespace(home)
        for name in MACHINES:
            told = await stage.reports(name, reason="MirrorRemoved")
            assert f"namespace {home} is being deleted" in told["message"]
    # Its rights are deleted with the namespace, so it may not have released everything.
    assert await released(stage) is Exit.OK
    await namespace_is_gone(stage, home)
    await none_is_deleted(stage, *OURS)
    assert not any([held_by_us(await stage.get(kind, name)) for kind, name in OURS])


async def under_cluster_api(stage: Stage) -> None:
    """Machines and a MachineSet of Cluster API, each with a mirror that the Machine API's controllers have seen."""
    await stage.cluster()
    await cluster_api_set(stage)
    await machine_api_set(stage, authority="ClusterAPI")
    await stage.patch(mapi.MachineSet, NAME, {"status": {"authoritativeAPI": "ClusterAPI"}}, part="status")
    for name in MACHINES:
        await stage.machine(name, owner=None)
        await stage.adoptable(name, finalizers=[MACHINE_API_FINALIZER])
        await stage.in_sync(name)
    await set_that(stage, lambda found: condition(found).get("status") == "True")


async def test_removing_the_crds_of_the_machine_api_keeps_all_of_cluster_api(stage: Stage) -> None:
    async with stage.syncing():
        await under_cluster_api(stage)
        await remove_crds(stage, mapi.Machine, mapi.MachineSet)
        await crds_are_gone(stage, mapi.Machine, mapi.MachineSet)
        await none_is_deleted(stage, *THEIRS, *((stage.infra_kind, name) for name in MACHINES))
        assert not any([held_by_us(await stage.get(kind, name)) for kind, name in THEIRS])
        told = await stage.told("w-0", "MirrorReleased")
        assert "CustomResourceDefinition machines.machine.openshift.io is being deleted" in told["message"]


async def test_deleting_the_namespace_of_the_machine_api_keeps_all_of_cluster_api(stage: Stage) -> None:
    async with stage.syncing():
        await under_cluster_api(stage)
        await stage.plane.delete_namespace(stage.namespaces.machine_api)
        for kind, name in THEIRS:
            await eventually(
                lambda kind=kind, name=name: stage.get(kind, name),  # type: ignore[misc]
                lambda found: not held_by_us(found),
                what=f"{name} released",
            )
    assert await released(stage) is Exit.OK
    await namespace_is_gone(stage, stage.namespaces.machine_api)
    await none_is_deleted(stage, *THEIRS, *((stage.infra_kind, name) for name in MACHINES))


async def machine_api_finishes(stage: Stage, name: str) -> None:
    """Its controllers remove their finalizer, whoever else writes the Machine meanwhile."""

    async def finish() -> list[str]:
        await stage.let_go(mapi.Machine, name, MACHINE_API_FINALIZER)
        return finalizers(await stage.get(mapi.Machine, name))

    await eventually(finish, lambda held: MACHINE_API_FINALIZER not in held, what=f"{name} finished")


async def test_deleting_many_mirrors_at_once_still_deletes_their_machines(stage: Stage) -> None:
    """`kubectl delete machines.cluster.x-k8s.io -l team=a`."""
    async with stage.syncing():
        await stage.cluster()
        for name in MACHINES:
            await stage.machine_of_machine_api(name, labels={"team": "a"})
            await stage.in_sync(name)
        path = f"{capi.Machine.RESOURCE.path(namespace=stage.namespaces.cluster_api)}?labelSelector=team%3Da"
        await asyncio.to_thread(stage.plane.blocking.rest.request, "DELETE", path)
        for name in MACHINES:
            await stage.mirror_that(name, lambda found: "deletionTimestamp" in found["metadata"])
            await machine_api_finishes(stage, name)
        await stage.gone(*((kind, name) for kind in (mapi.Machine, capi.Machine) for name in MACHINES))


async def test_without_the_right_to_look_a_deleted_mirror_leaves_its_machine_alone_and_that_is_told(
    stage: Stage,
) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ROLE}}
    async with stage.syncing():
        await stage.cluster()
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        whole = stage.plane.blocking.rest.request("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{ROLE}")
        less = [rule for rule in whole["rules"] if rule["resources"] != ["namespaces"]]
        assert less != whole["rules"]
        await stage.plane.apply({**role, "rules": less})
        rest, home = stage.plane.blocking.rest, stage.namespaces.cluster_api
        await asyncio.to_thread(until_allowed, rest, stage.user, "get", "namespaces", name=home, allowed=False)
        await stage.delete(capi.Machine, "w-0")
        told = await stage.reports("w-0", reason="FailedToUpdateCAPIMachine")
        assert "windlass manifests rbac machine-sync" in told["message"]
        await none_is_deleted(stage, (mapi.Machine, "w-0"))
        await stage.plane.apply({**role, "rules": whole["rules"]})
        await stage.mirror_that("w-0", lambda found: "deletionTimestamp" in found["metadata"])
