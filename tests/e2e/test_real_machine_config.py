"""Reports follow the Nodes that the Machine Config Operator's own controller renders for, picks, cordons and drains.

The Cluster Version Operator is played; the daemon of each Node is played here.
"""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.explore import EXPLORING
from tests.waiting import eventually
from windlass.api.core import Node
from windlass.api.machineconfiguration import GROUP, MachineConfig, MachineConfigPool
from windlass.api.update_record import UpdateRecord
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool
from windlass.testing.plane.processes import Processes
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.testing.updates.machine_config import MachineConfigController
from windlass.testing.updates.nodes import annotations
from windlass.testing.updates.objects import Objects, Tree, condition, is_true
from windlass.update_status.assessment import assess
from windlass.update_status.capability import capability
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
            return await read_object(self.admin, now=time.time_ns())
        except NotKept:
            return None

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


def everywhere(phase: str, *, infra: str = "") -> Callable[[dict[str, str]], bool]:
    """Whether all Nodes are in this phase; those of `infra` in that one, if it is given."""
    expected = {name: infra or phase if pool.name == "infra" else phase for pool in POOLS for name in pool.node_names}
    return lambda found: found == expected


def note(told: dict[str, list[str]], now: dict[str, str]) -> None:
    for name, phase in now.items():
        if told[name][-1:] != [phase]:
            told[name].append(phase)


def is_part(some: list[str], of: Iterable[str]) -> bool:
    """Whether `some` are among `of`, in that order."""
    rest = iter(of)
    return all(one in rest for one in some)


@asynccontextmanager
async def update_status(plane: ControlPlane, folder: Path) -> AsyncIterator[None]:
    """`windlass run update-status` as a process."""
    await plane.apply_crds(*(owned.manifest() for owned in capability().owned))
    processes = Processes(folders=[], log=folder / "windlass.supervisor.log")
    command = [sys.executable, "-m", "windlass", f"--kubeconfig={plane.kubeconfig()}", "run", "update-status"]
    options = ["--no-leader-elect", "--health-probe-bind-address=0", "--metrics-bind-address=0"]
    try:
        await asyncio.to_thread(processes.start, "windlass", [*command, *options], log=folder / "windlass.log")
        yield
    finally:
        await asyncio.to_thread(processes.close)


@pytest.fixture
def plane(windlass_planes: PlanePool) -> ControlPlane:
    return windlass_planes.plane("module", crds=crds.documents(*crds.UPDATES))


@pytest.fixture
async def watched(plane: ControlPlane) -> AsyncIterator[Watched]:
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as admin:
        yield Watched(admin)


@pytest.fixture
async def controller(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[MachineConfigController]:
    found = await asyncio.to_thread(MachineConfigController, plane.blocking, pools=POOLS, folder=tmp_path)
    yield found
    await asyncio.to_thread(found.close)


async def test_an_update_by_the_real_controller_is_told_from_its_beginning_to_its_end(
    plane: ControlPlane, watched: Watched, controller: MachineConfigController, tmp_path: Path
) -> None:
    cvo = watched.cluster.cvo
    await cvo.install()
    await asyncio.to_thread(controller.install)
    await asyncio.to_thread(controller.start, OLD)
    old = await eventually(watched.wanted, lambda found: len(found) == len(POOLS))
    for pool in POOLS:
        for name in pool.node_names:
            await watched.cluster.mco.node(name).install(old[pool.name])
    await eventually(watched.pools, lambda found: all(is_true(pool, "Updated") for pool in found))
    async with update_status(plane, tmp_path):
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

        async def record() -> UpdateRecord:
            [found] = (await watched.admin.list(UpdateRecord)).items
            decoded: UpdateRecord = found.decode()
            return decoded

        ended = await eventually(record, lambda found: found.state == "Completed")
    for name, told in watched.live.items():
        waited = ["Paused", "Pending"] if name == "infra-0" else ["Pending"]
        assert told == ["Updated", *waited, *UPDATED], name
        assert is_part(watched.kept[name], told), (name, watched.kept[name])
        assert watched.kept[name][-1] == "Updated"
    assert watched.most_away == 1, "the controller takes the workers one by one"
    assert all(node.started and node.completed for node in ended.nodes)
    new = await watched.wanted()
    rendered = {config.name: config.decode() for config in (await watched.admin.list(MachineConfig)).items}
    releases = {rendered[name].metadata.annotations[f"{GROUP}/release-image-version"] for name in new.values()}
    assert (new.keys(), releases) == (old.keys(), {NEW})
