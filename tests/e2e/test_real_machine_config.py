"""Reports follow the Nodes that the Machine Config Operator's own controller renders for, picks, cordons and drains.

The Cluster Version Operator is played; the daemon of each Node is played here.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.api.update_status.keeper import CRDS, install, keeping, records
from tests.explore import EXPLORING
from tests.program import ALONE
from tests.waiting import eventually
from windlass.api.core import Node
from windlass.api.machineconfiguration import GROUP, MachineConfig, MachineConfigPool
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock
from windlass.testing import ControlPlane, crds
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.testing.updates.machine_config import MachineConfigController
from windlass.testing.updates.mco import pool_status
from windlass.testing.updates.nodes import annotations
from windlass.testing.updates.objects import Objects, Tree, condition, is_true
from windlass.update_status.assessment import assess
from windlass.update_status.reading.kept import NotKept, read_object
from windlass.update_status.reading.live import read_live
from windlass.update_status.report import Report

pytestmark = [
    pytest.mark.plane,
    pytest.mark.skipif(not EXPLORING, reason="takes two minutes, and three to build the controller: make explore"),
]

OLD, NEW = "4.16.0", "4.16.1"
POOLS = (Pool(name="master", nodes=1), Pool(name="worker", nodes=2), Pool(name="infra", nodes=1, paused=True))
LAYOUT = Layout(version=OLD, operators=("etcd", "machine-config"), pools=POOLS)
UPDATED = ["Draining", "Updating", "Draining", "Updating", "Updated"]
"""How `oc` names what happens: a Node drains until its daemon begins, and updates until that asks for the drain."""

Said = dict[str, str]
STATES: dict[str, tuple[Said, bool, bool]] = {
    "at-rest": ({}, True, False),
    "cordoned": ({}, True, True),
    "not-ready": ({}, False, False),
    "waits": ({"currentConfig": "old", "desiredConfig": "old"}, True, False),
    "begins": ({"currentConfig": "old"}, True, False),
    "works": ({"currentConfig": "old", "state": "Working"}, True, False),
    "reboots": ({"currentConfig": "old", "state": "Working", "post-config-action": "Rebooting"}, False, True),
    "fails": ({"currentConfig": "old", "state": "Degraded", "reason": "disk full"}, True, False),
    "fails-cordoned": ({"currentConfig": "old", "state": "Degraded", "reason": "disk full"}, True, True),
    "fails-silently": ({"currentConfig": "old", "state": "Degraded"}, True, False),
    "fails-at-rest": ({"state": "Degraded", "reason": "drift"}, True, False),
    "refuses": ({"currentConfig": "old", "state": "Unreconcilable", "reason": "cannot"}, True, False),
}
"""Annotations of a Node, whether it is ready, and whether it is cordoned."""


class Watched:
    """The cluster as both reports tell of it, and the daemons of its Nodes."""

    def __init__(self, admin: Client) -> None:
        self.admin = admin
        self.cluster = PlayedCluster(admin, LAYOUT, pace=0)
        self.live = defaultdict[str, list[str]](list)
        self.kept = defaultdict[str, list[str]](list)
        self.most_away = 0
        self._objects = Objects(admin, SystemClock())

    async def look(self) -> dict[str, str]:
        """The phases of the Nodes. Where both reports agree, each daemon takes a step."""
        nodes = await self._objects.all(Node)
        live, kept = phases(await self.from_sources()), phases(await self.from_object())
        note(self.live, live)
        note(self.kept, kept)
        away = [node for node in nodes if node["spec"].get("unschedulable") and "worker" in node["metadata"]["name"]]
        self.most_away = max(self.most_away, len(away))
        if live == kept:
            for node in nodes:
                await self._step(node)
        return live if live == kept else {}

    async def from_sources(self) -> Report:
        async def none(host: str) -> bytes:
            raise AssertionError(f"no Route names {host}")

        reading = await read_live(self.admin, metadata=self.admin.metadata, alerts=none, clock=time.time_ns)
        return assess(reading.sources, now=reading.now)

    async def from_object(self) -> Report | None:
        try:
            return await read_object(self.admin, clock=time.time_ns)
        except NotKept:
            return None

    async def equipped(self, pools: Sequence[Pool]) -> dict[str, str]:
        """Once the pools have their rendered MachineConfigs, create their Nodes with them."""
        wanted = await eventually(self.wanted, lambda found: len(found) == len(pools))
        for pool in pools:
            for name in pool.node_names:
                await self.cluster.mco.node(name).install(wanted[pool.name])
        return wanted

    async def be(self, node: str, said: Said, *, ready: bool, cordoned: bool) -> None:
        await self._annotate(node, said)
        await self._objects.patch(Node, node, {"spec": {"unschedulable": cordoned}})
        await self._objects.report(Node, node, condition("Ready", ready))

    async def misjudged(self) -> Tree:
        """The pools of which the simulator says something else than the real controller did: both."""
        nodes, found = await self._objects.all(Node), {}
        for pool in await self.pools():
            name, spec, status = pool["metadata"]["name"], pool["spec"], pool.get("status", {})
            own = [one for one in nodes if f"node-role.kubernetes.io/{name}" in one["metadata"]["labels"]]
            counts, conditions = pool_status(own, spec["configuration"]["name"], paused=spec["paused"])
            played = (counts, told(conditions))
            real = ({key: status.get(key) for key in counts}, told(status.get("conditions", [])))
            if played != real:
                found[name] = {"simulator": played, "controller": real}
        return found

    async def unpause(self, pool: str) -> None:
        await self._objects.patch(MachineConfigPool, pool, {"spec": {"paused": False}})

    async def wanted(self) -> dict[str, str]:
        """The rendered MachineConfig of each pool that has one."""
        pools = {one["metadata"]["name"]: one["spec"].get("configuration") for one in await self.pools()}
        return {name: found["name"] for name, found in pools.items() if found and found.get("name")}

    async def pools(self) -> list[Tree]:
        return await self._objects.all(MachineConfigPool)

    async def _step(self, node: Tree) -> None:
        """The next thing that the daemon does. Source: machine-config-operator, pkg/daemon: update, completeUpdate."""
        name, said = node["metadata"]["name"], annotations(node)
        config, asked = said["desiredConfig"], said["desiredDrain"]
        if config == said["currentConfig"] or asked != said["lastAppliedDrain"]:
            return
        if said["state"] == "Done":
            await self._annotate(name, {"state": "Working"})
        elif asked not in (f"drain-{config}", f"uncordon-{config}"):
            await self._annotate(name, {"desiredDrain": f"drain-{config}"})
        elif asked == f"uncordon-{config}":
            await self._annotate(name, {"state": "Done", "currentConfig": config, "reason": ""})
        elif is_true(node, "Ready"):
            await self._annotate(name, {"post-config-action": "Rebooting"})
            await self._objects.report(Node, name, condition("Ready", False, "KubeletNotReady", "it reboots"))
        else:
            await self._objects.report(Node, name, condition("Ready", True, "KubeletReady", "it is back"))
            await self._annotate(name, {"post-config-action": "", "desiredDrain": f"uncordon-{config}"})

    async def _annotate(self, name: str, said: dict[str, str]) -> None:
        named = {f"{GROUP}/{key}": value for key, value in said.items()}
        await self._objects.patch(Node, name, {"metadata": {"annotations": named}})


def phases(report: Report | None) -> dict[str, str]:
    return {node.name: node.phase for pool in report.pools for node in pool.nodes} if report else {}


def told(conditions: list[Tree]) -> dict[str, tuple[str, str, str]]:
    return {one["type"]: (one["status"], one.get("reason", ""), one["message"]) for one in conditions}


def everywhere(phase: str, *, infra: str = "") -> Callable[[dict[str, str]], bool]:
    """Whether all Nodes are in this phase; those of `infra` in that one, if it is given."""
    expected = {name: infra or phase if pool.name == "infra" else phase for pool in POOLS for name in pool.node_names}
    return lambda found: found == expected


def note(seen: dict[str, list[str]], now: dict[str, str]) -> None:
    for name, phase in now.items():
        if seen[name][-1:] != [phase]:
            seen[name].append(phase)


def is_part(some: list[str], of: Iterable[str]) -> bool:
    """Whether `some` are among `of`, in that order."""
    rest = iter(of)
    return all(one in rest for one in some)


@asynccontextmanager
async def running(plane: ControlPlane, pools: Sequence[Pool], folder: Path) -> AsyncIterator[MachineConfigController]:
    """The controller of the release `OLD`, with these pools."""
    found = await asyncio.to_thread(MachineConfigController, plane.blocking, pools=pools, folder=folder)
    try:
        await asyncio.to_thread(found.install)
        await asyncio.to_thread(found.start, OLD)
        yield found
    finally:
        await asyncio.to_thread(found.close)


@pytest.fixture
async def plane(windlass_fresh_plane: ControlPlane) -> ControlPlane:
    await windlass_fresh_plane.apply_crds(*crds.documents(*crds.UPDATES), CRDS)
    return windlass_fresh_plane


@pytest.fixture
async def watched(plane: ControlPlane) -> AsyncIterator[Watched]:
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as admin:
        yield Watched(admin)


async def test_an_update_by_the_real_controller_is_told_from_its_beginning_to_its_end(
    plane: ControlPlane, watched: Watched, tmp_path: Path
) -> None:
    cvo = watched.cluster.cvo
    await cvo.install()
    async with (
        running(plane, POOLS, tmp_path) as controller,
        keeping(await asyncio.to_thread(install, plane.blocking), tmp_path, *ALONE),
    ):
        old = await watched.equipped(POOLS)
        await eventually(watched.pools, lambda found: all(is_true(pool, "Updated") for pool in found))
        await eventually(watched.look, everywhere("Updated"))
        await cvo.start(NEW)
        for operator in LAYOUT.operators:
            await cvo.progress(operator)
        await cvo.finish("etcd")
        await eventually(watched.look, everywhere("Pending", infra="Paused"))
        await asyncio.to_thread(controller.start, NEW)
        await eventually(watched.look, everywhere("Updated", infra="Paused"))
        kept = await watched.from_object()
        assert kept
        assert {pool.name: pool.summary.assessment for pool in kept.pools} == {
            "master": "Completed",
            "worker": "Completed",
            "infra": "Excluded",
        }
        await watched.unpause("infra")
        await eventually(watched.look, everywhere("Updated"))
        await cvo.finish("machine-config")
        await cvo.complete()
        await eventually(watched.from_object, lambda found: found and not found.updating)
        [ended] = await eventually(
            lambda: records(watched.admin), lambda found: [one.state for one in found] == ["Completed"]
        )
    for name, seen in watched.live.items():
        waited = ["Paused", "Pending"] if name == "infra-0" else ["Pending"]
        assert seen == ["Updated", *waited, *UPDATED], name
        assert is_part(watched.kept[name], seen), (name, watched.kept[name])
        assert watched.kept[name][-1] == "Updated"
    assert watched.most_away == 1, "the controller takes the workers one by one"
    assert all(node.started and node.completed for node in ended.nodes)
    new = await watched.wanted()
    rendered = {config.name: config.decode() for config in (await watched.admin.list(MachineConfig)).items}
    releases = {rendered[name].metadata.annotations[f"{GROUP}/release-image-version"] for name in new.values()}
    assert (new.keys(), releases) == (old.keys(), {NEW})


async def test_the_simulator_says_of_a_pool_what_the_real_controller_says(
    plane: ControlPlane, watched: Watched, tmp_path: Path
) -> None:
    pools = [Pool(name=name, nodes=2, paused="desiredConfig" in said) for name, (said, _, _) in STATES.items()]
    watched.cluster = PlayedCluster(watched.admin, Layout(version=OLD, pools=tuple(pools)), pace=0)
    await watched.cluster.cvo.install()
    async with running(plane, pools, tmp_path):
        await watched.equipped(pools)
        for pool in pools:
            said, ready, cordoned = STATES[pool.name]
            await watched.be(pool.node_names[0], said, ready=ready, cordoned=cordoned)
        await eventually(watched.misjudged, lambda found: not found)


async def test_what_the_real_controller_cannot_render_and_a_node_that_it_refuses_are_told(
    plane: ControlPlane, watched: Watched, tmp_path: Path
) -> None:
    pools = (Pool(name="worker", nodes=1), Pool(name="infra", nodes=2), Pool(name="gpu", nodes=1))
    watched.cluster = PlayedCluster(watched.admin, Layout(version=OLD, pools=pools), pace=0)
    await watched.cluster.cvo.install()
    objects = Objects(watched.admin, SystemClock())
    async with (
        running(plane, pools, tmp_path),
        keeping(await asyncio.to_thread(install, plane.blocking), tmp_path, *ALONE),
    ):
        await watched.equipped(pools)
        await eventually(watched.pools, lambda found: counted(found) == {"worker": 1, "infra": 2, "gpu": 1})
        # A label of another custom pool: the controller counts the node in neither.
        label = {f"{ROLE}/gpu": ""}
        await objects.patch(Node, "infra-1", {"metadata": {"labels": label}})
        await eventually(watched.pools, lambda found: counted(found) == {"worker": 1, "infra": 1, "gpu": 1})
        broken = {"labels": {f"{GROUP}/role": "worker"}, "name": "99-broken"}
        spec = {"config": {"ignition": {"version": "9.9.9"}}}
        await objects.create(MachineConfig, {"metadata": broken, "spec": spec})
        found = await eventually(
            watched.from_object,
            lambda found: (
                found and {"Node infra-1 is in 2 custom pools: gpu and infra", CANNOT_RENDER} <= own(found).keys()
            ),
        )
        assert found
        assert "unknown version" in own(found)[CANNOT_RENDER]
        assert {pool.name: pool.assessment for pool in found.pools}["worker"] == "Degraded"
        assert own(await watched.from_sources()) == own(found)
        await watched.admin.delete(MachineConfig, "99-broken")
        await eventually(watched.from_object, lambda found: found and CANNOT_RENDER not in own(found))


ROLE = "node-role.kubernetes.io"
CANNOT_RENDER = "Pool worker cannot render its configuration"


def own(report: Report) -> dict[str, str]:
    """The insights that `oc` does not have: their descriptions by their summaries."""
    return {one.summary: one.description for one in report.insights if one.remedy}


def counted(pools: list[Tree]) -> dict[str, int]:
    return {pool["metadata"]["name"]: pool.get("status", {}).get("machineCount", 0) for pool in pools}
