"""A Pod that its PodDisruptionBudget protects holds the instance of a deleted machine, whoever drains its Node.

Either API is the authority, and the machine is deleted on either side. Cluster API's manager and the Machine API's own
controllers drain; the API server refuses to evict.

Cluster API drains nothing unless it knows a machine of the control plane. Where it knows none, the instance goes.
"""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from msgspec import Struct

from tests.waiting import eventually
from windlass.api import capi, core, mapi
from windlass.kube.errors import NotFound
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, PAUSED_ANNOTATION
from windlass.machine_sync.conversion.metadata import CLUSTER_NAME_LABEL, CONTROL_PLANE_LABEL

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import CLUSTER
from .ground import REAL, SIMULATORS, Actors, Ground, assert_one_instance

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

TOO_MANY_REQUESTS = 429
MERGE = "application/merge-patch+json"


@pytest.fixture
def machine_api() -> str:
    """The real one."""
    return REAL


class ProtectedPod(Struct):
    """A Pod that runs on a Node, and a PodDisruptionBudget that it alone belongs to, both of this name."""

    ground: Ground
    node: str
    name: str

    @classmethod
    async def on(cls, ground: Ground, node: str) -> "ProtectedPod":
        """One that may not be evicted."""
        pod = cls(ground, node, f"{node}-protected")
        metadata = {"name": pod.name, "namespace": pod.namespace, "labels": {"app": pod.name}}
        # Nobody plays the kubelet: an evicted Pod must not wait for it.
        running = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [{"name": "a", "image": "a"}]}
        guarding = {"selector": {"matchLabels": {"app": pod.name}}}
        await ground.stage.plane.apply(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": running},
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": guarding},
        )
        # A Pod that has not run yet is evicted whatever its budget says.
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "conditions": [ready]}
        await pod._patch(f"{pod._path}/status", {"status": status})
        await pod.allow(0)
        return pod

    @property
    def namespace(self) -> str:
        return self.ground.stage.namespaces.machine_api

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    async def is_gone(self) -> bool:
        try:
            await self.ground.stage.admin.request("GET", self._path)
        except NotFound:
            return True
        return False

    async def allow(self, disruptions: int) -> None:
        """Return when the controller of budgets has counted the Pod, and allows so many; or the Pod is evicted."""
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/{self.name}"
        await self._patch(path, {"spec": {"minAvailable": 1 - disruptions}})

        async def status() -> Tree:
            found: Tree = json.loads(await self.ground.stage.admin.request("GET", path))
            return found.get("status") or {}

        async def counted() -> bool:
            is_allowed = {"currentHealthy": 1, "disruptionsAllowed": disruptions}.items() <= (await status()).items()
            return is_allowed or await self.is_gone()

        await eventually(counted, bool, what=f"{disruptions} disruptions allowed of {self.name}")

    async def _patch(self, path: str, body: Tree) -> None:
        await self.ground.stage.admin.request("PATCH", path, body=body, content_type=MERGE)

    def evictions(self) -> list[int]:
        """What the API server answered to those who wanted to evict it."""
        return [
            event["responseStatus"]["code"]
            for event in self.ground.stage.plane.audit.events(user=SIMULATORS)
            if event.get("objectRef", {}).get("subresource") == "eviction" and event["objectRef"]["name"] == self.name
        ]

    async def refused_again(self) -> None:
        """Return when its eviction was asked for, and refused, after the call."""
        before = len(self.evictions())

        async def look() -> list[int]:
            await heartbeat(self.ground, self.node)
            return self.evictions()

        answers = await eventually(look, lambda found: len(found) > before, what=f"an eviction of {self.name}")
        assert {*answers} == {TOO_MANY_REQUESTS}


async def control_plane(ground: Ground) -> None:
    """A machine of the control plane that Cluster API knows and leaves alone."""
    name = ground.name("master-0")
    labels = {CLUSTER_NAME_LABEL: CLUSTER, CONTROL_PLANE_LABEL: ""}
    spec = ground.stage.source_spec(name)
    await ground.stage.make(capi.Machine, name, spec, labels=labels, annotations={PAUSED_ANNOTATION: ""})


async def heartbeat(ground: Ground, node: str) -> None:
    """What a kubelet does all the time. Cluster API looks at the machine then; else it does each 20 seconds."""
    with suppress(NotFound):
        await ground.stage.patch(core.Node, node, {"metadata": {"annotations": {"example.com/beat": str(time.time())}}})


@pytest.mark.parametrize("deleted", [mapi.Machine, capi.Machine], ids=lambda kind: str(kind.RESOURCE))
@pytest.mark.parametrize("authority", [MACHINE_API, CLUSTER_API])
async def test_a_budget_holds_the_instance_until_it_allows_the_drain(
    ground: Ground, actors: Actors, authority: str, deleted: type[Any]
) -> None:
    name, stage = ground.name("w-0"), ground.stage

    async def deleting() -> list[bool]:
        sides = [await stage.get(kind, name) for kind in (mapi.Machine, capi.Machine)]
        return [side is not None and "deletionTimestamp" in side["metadata"] for side in sides]

    async def alive() -> bool:
        await heartbeat(ground, name)
        return (await ground.instance(name)).alive

    await control_plane(ground)
    async with ground.syncing():
        await ground.machine(name, authority)
        await ground.settled(name, authority)
        pod = await ProtectedPod.on(ground, name)
        await stage.delete(deleted, name)
        await eventually(deleting, all, what=f"both machines {name} being deleted")
        await pod.refused_again()
        assert await deleting() == [True, True]
        assert_one_instance(await ground.instance(name), hands=[authority])
        node = await stage.get(core.Node, name)
        assert node is not None
        assert node["spec"]["unschedulable"]

        await pod.allow(1)
        await eventually(alive, lambda found: not found, what=f"the instance of {name} deleted")
        assert await pod.is_gone()
        await ground.gone(name)
    gone = await ground.instance(name)
    assert_one_instance(gone, hands=[authority], alive=False)
    assert gone.entries[-1].side == authority


async def test_cluster_api_drains_nothing_where_it_knows_no_control_plane(ground: Ground, actors: Actors) -> None:
    name = ground.name("w-0")
    async with ground.syncing():
        await ground.machine(name, CLUSTER_API)
        await ground.settled(name, CLUSTER_API)
        pod = await ProtectedPod.on(ground, name)
        await ground.stage.delete(capi.Machine, name)
        await ground.gone(name)
    assert pod.evictions() == []
    assert not await pod.is_gone()
    assert_one_instance(await ground.instance(name), hands=[CLUSTER_API], alive=False)
