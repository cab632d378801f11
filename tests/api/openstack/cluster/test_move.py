"""A cluster with a bastion and a machine that is moved as `clusterctl move` does, on a real cloud."""

from typing import Any

import pytest

from tests.api.openstack.cluster.stage import NAME, Stage, Tree, held, says, staged
from tests.waiting import eventually
from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

KINDS: tuple[type[Any], ...] = (Cluster, Machine, OpenStackCluster, OpenStackMachine, OpenStackServer)
"""Owners before what they own."""
OURS = KINDS[2:]
SPEC: Tree = {
    "managedSubnets": [{"cidr": "10.9.0.0/24"}],
    "managedSecurityGroups": {},
    "bastion": {"spec": {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}}},
}


async def test_a_cluster_is_moved_and_nothing_is_made_or_deleted(
    plane: PlaneAccess, windlass_namespace: str, project: Project
) -> None:
    async with staged(plane, windlass_namespace, project) as source:
        await source.cluster(**SPEC)
        await source.until_ready()
        await source.control_machine("cp-0")
        before = await until_reached(source)
        await source.until_ready()
        have, asked = held(project), len(source.asked())
        await pause(source, paused=True)
        moved = [(kind, tree) for kind in KINDS for tree in await every(source, kind)]
        for kind, tree in reversed(moved):
            name = tree["metadata"]["name"]
            await source.change(kind, name, {"metadata": {"finalizers": None}})
            await source.client.delete(kind, name, namespace=source.namespace)
        assert [each for kind in KINDS for each in await every(source, kind)] == []

    async with staged(plane, windlass_namespace, project) as there:
        await made_again(there, moved)
        await pause(there, paused=True)
        await pause(there, paused=False)
        await there.until_ready()
        await there.infrastructure_is_provisioned()
        after = await until_reached(there)
        status = (await there.until_ready())["status"]
        assert held(project) == have
        changes = writes(there.asked()[asked:])
        assert all(each.startswith("PUT") or each.endswith("/metadata") for each in changes), "marks follow, no more"
        assert status["bastion"]["id"] in have["servers"]
        for field in ("instanceID", "addresses"):
            assert after["status"][field] == before["status"][field]
        await there.delete_machine("cp-0")
        await there.delete()


async def until_reached(stage: Stage) -> Tree:
    """The machine, once it is ready and says that it has the floating IP of the endpoint."""
    await stage.until_machine_ready("cp-0")
    found = await eventually(
        lambda: stage.machine("cp-0"),
        lambda found: found is not None and any(each["type"] == "ExternalIP" for each in found["status"]["addresses"]),
        what="the machine has the floating IP of the endpoint",
    )
    assert found is not None
    return found


async def every(stage: Stage, kind: type[Any]) -> list[Tree]:
    return [each.tree() for each in (await stage.client.list(kind, namespace=stage.namespace)).items]


async def pause(stage: Stage, *, paused: bool) -> None:
    """The Cluster says so, and all of ours have answered."""
    await stage.change(Cluster, NAME, {"spec": {"paused": paused}})

    async def answers() -> list[str]:
        return [says(each, "Paused") for kind in OURS for each in await every(stage, kind)]

    expected = "True" if paused else "False"
    await eventually(
        answers,
        lambda found: len(found) >= len(OURS) and all(each.startswith(expected) for each in found),
        what=f"Paused is {expected}",
    )


async def made_again(stage: Stage, moved: list[tuple[type[Any], Tree]]) -> None:
    """Objects with other uids and without status, under a Cluster that is paused."""
    uids: dict[tuple[str, str], str] = {}
    for kind, tree in moved:
        meta = tree["metadata"]
        owners = [{**each, "uid": uids[each["kind"], each["name"]]} for each in meta.get("ownerReferences", [])]
        kept = {field: meta[field] for field in ("labels", "annotations", "finalizers") if field in meta}
        made = await stage.make(kind, meta["name"], metadata={**kept, "ownerReferences": owners}, spec=tree["spec"])
        uids[made["kind"], meta["name"]] = made["metadata"]["uid"]


def writes(asked: list[str]) -> list[str]:
    return [each for each in asked if not each.startswith("GET")]
