"""Objects that were stored before their CRD had rules: nobody can write them today, but they are there.

The CRDs are replaced by lax ones, the poison goes in, the strict ones come back. Every machine that is not poisoned is
mirrored as if nothing were, and of each poisoned one is said where people look what is wrong with it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.errors import ApiError
from windlass.testing import ControlPlane, crds

from ...api.machine_sync.stage import CLUSTER, Stage

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

GROUPS = ("machine.openshift.io", "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io")
CAREFREE = ("early", "w-0", "w-1")


@asynccontextmanager
async def without_rules(stage: Stage, plane: ControlPlane) -> AsyncIterator[None]:
    """Anything may be stored meanwhile; the rules are in force again afterwards."""
    strict = crds.documents(*GROUPS)
    await plane.apply_crds(*map(crds.lax, strict))
    await eventually(lambda: _takes_anything(stage), bool, what="lax CRDs in force")
    try:
        yield
    finally:
        await plane.apply_crds(*strict)
        await eventually(lambda: _takes_anything(stage), lambda anything: not anything, what="strict CRDs in force")


async def _takes_anything(stage: Stage) -> bool:
    """Whether the server would take what has no field of its kind, on all sides."""
    taken = []
    for kind in (capi.MachineSet, mapi.MachineSet, stage.infra_kind):
        path = f"/apis/{kind.RESOURCE.api_version}/namespaces/{stage.home(kind)}/{kind.RESOURCE.plural}"
        body = {
            "apiVersion": kind.RESOURCE.api_version,
            "kind": kind.RESOURCE.kind,
            "metadata": {"name": "probe"},
            "spec": {"template": "none"},
        }
        try:
            await stage.admin.request("POST", path, query={"dryRun": "All", "fieldValidation": "Strict"}, body=body)
        except ApiError:
            taken.append(False)
        else:
            taken.append(True)
    return all(taken)


async def poison(stage: Stage) -> None:
    """One object of every sort that nobody should be able to store."""
    await stage.make(capi.MachineSet, "null", {"clusterName": CLUSTER, "template": None})
    await stage.make(mapi.MachineSet, "null", {"template": None})
    await stage.machine("of-a-poisoned-set", owner="null")

    await stage.machine("undecodable", spec={"clusterName": 5})
    await stage.machine("undecodable-mirrored", owner=None, spec={"clusterName": 5})
    await stage.adoptable("undecodable-mirrored")

    for name, spec in (("clusterless", {"clusterName": ""}), ("infraless", {"infrastructureRef": {}})):
        await stage.machine(name, spec=spec)
        await stage.machine(f"{name}-mirrored", owner=None, spec=spec)
        await stage.adoptable(f"{name}-mirrored")

    await stage.machine("infra-undecodable", infra=False)
    await _poisoned_infra(stage, "infra-undecodable")
    await stage.machine("infra-undecodable-mirrored", owner=None, infra=False)
    await _poisoned_infra(stage, "infra-undecodable-mirrored")
    await stage.adoptable("infra-undecodable-mirrored")

    await stage.machine("mirror-undecodable")
    await stage.make(mapi.Machine, "mirror-undecodable", {"authoritativeAPI": "ClusterAPI", "providerSpec": "none"})

    await stage.machine("unknown-enum")
    await stage.adoptable("unknown-enum", authority="Nobody")

    heavy = "x" * 250 * 1024
    await stage.machine("heavy", annotations={"example.com/heavy": heavy})


async def _poisoned_infra(stage: Stage, name: str) -> None:
    owners = [await stage.reference(capi.Machine, name, controller=True)]
    await stage.make(stage.infra_kind, name, {"flavor": ["not", "a", "name"]}, ownerReferences=owners)


async def test_poisoned_objects_are_reported_and_stop_nobody(weather_plane: ControlPlane, stage: Stage) -> None:
    await stage.machine("early")
    async with without_rules(stage, weather_plane):
        await poison(stage)
    for name in CAREFREE[1:]:
        await stage.machine(name)
    async with stage.syncing():
        for name in CAREFREE:
            await stage.in_sync(name)

        told = await stage.told("undecodable", "SynchronizationError")
        text = "failed to convert Cluster API machine to Machine API machine: "
        assert told["message"].startswith(text)
        assert "clusterName" in told["message"]
        said = await stage.reports("undecodable-mirrored", reason="FailedToConvertCAPIMachineToMAPI")
        assert said["message"] == told["message"].replace("/undecodable:", "/undecodable-mirrored:")

        await _ms26_empty_references(stage)

        told = await stage.told("infra-undecodable", "SynchronizationError")
        text = "failed to fetch Cluster API infra resources: failed to get Cluster API infrastructure machine: "
        assert told["message"].startswith(text)
        assert "flavor" in told["message"]
        said = await stage.reports("infra-undecodable-mirrored", reason="FailedToGetCAPIInfraResources")
        assert said["message"].startswith(text)
        assert said["status"] == "False"

        told = await stage.told("mirror-undecodable", "SynchronizationError")
        assert told["message"].startswith("This Machine cannot be read, so it is not synchronized: ")
        assert told["message"].endswith("Fix the field or delete the Machine.")
        assert told["involvedObject"]["apiVersion"] == "machine.openshift.io/v1beta1"

        heavy = await stage.in_sync("heavy")
        assert len(heavy["metadata"]["annotations"]["example.com/heavy"]) == 250 * 1024

        await stage.all_seen()
        unknown = await stage.get(mapi.Machine, "unknown-enum")
        assert unknown is not None
        assert unknown["status"] == {"authoritativeAPI": "Nobody"}
        # Its sets cannot be read, so they may be two, and a mirror would be the replica of a set that does not own it.
        assert await stage.get(mapi.Machine, "of-a-poisoned-set") is None

        await _mended(stage)


async def _ms26_empty_references(stage: Stage) -> None:
    for name, what in (
        ("clusterless", "cluster name is empty in Cluster API machine spec"),
        ("infraless", "infrastructure machine reference is invalid or incomplete"),
    ):
        place = f"machine {stage.namespaces.cluster_api}/{name}"
        told = await stage.told(name, "SynchronizationError")
        assert told["message"] == f"failed to fetch Cluster API infra resources: {place}: {what}"
        said = await stage.reports(f"{name}-mirrored", reason="FailedToGetCAPIInfraResources")
        assert said["message"] == f"failed to fetch Cluster API infra resources: {place}-mirrored: {what}"


async def _mended(stage: Stage) -> None:
    """What is mended is synchronized, what is deleted goes: nothing is stuck because it was poisoned."""
    await stage.patch(stage.infra_kind, "infra-undecodable-mirrored", {"spec": stage.example.infra_spec})
    await stage.in_sync("infra-undecodable-mirrored")
    await stage.delete(mapi.Machine, "mirror-undecodable")
    await stage.in_sync("mirror-undecodable")
    gone: list[tuple[type[KubernetesObject], str]] = []
    for name in ("undecodable", "undecodable-mirrored"):
        await stage.delete(capi.Machine, name)
        gone += [(capi.Machine, name), (mapi.Machine, name)]
        await stage.delete(stage.infra_kind, name)
        await stage.take_off(stage.infra_kind, name, stage.example.simulated.machine_finalizer)
        await stage.gone((stage.infra_kind, name))
        await stage.take_off(capi.Machine, name, "machine.cluster.x-k8s.io")
    await stage.gone(*gone)
