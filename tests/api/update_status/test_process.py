"""The process `windlass-update-status` is killed, misses rights, has a wrong clock, and somebody edits its object."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from tests.authorizer import allowed
from tests.e2e.weather.front import Front
from tests.patience import QUIET
from tests.program import ALONE, QUICK
from tests.waiting import eventually
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock
from windlass.kube.conditions import find
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.updates import PlayedCluster
from windlass.update_status.document import health_insights, read
from windlass.update_status.record import Record
from windlass.update_status.text import Details, render
from windlass.update_status.text.records import render_record, render_records
from windlass.update_status.text.wide import render_wide
from windlass.update_status.times import SECOND, moment, of_datetime

from .keeper import HOME, NAME, events, install, keeping, records, status, timeless, until_status

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

TARGET = "4.16.1"
SKEWED = (sys.executable, "-m", "tests.api.update_status.skewed")


def updating(found: UpdateStatusStatus) -> bool:
    return bool(found.overview and found.overview.state == "Updating")


def finished(found: UpdateStatusStatus) -> bool:
    return bool(found.overview and found.overview.state == "Idle" and found.overview.target.startswith(TARGET))


def operators_left(count: int) -> Any:
    return lambda found: found.overview and found.overview.operators_left == count


async def ended(api: Client) -> Record:
    """The one record, once it is complete."""

    async def the_one() -> list[Record]:
        return await records(api)

    (found,) = await eventually(the_one, lambda all_: [one.state for one in all_] == ["Completed"])
    return found


async def roll(api: Client, cluster: PlayedCluster) -> None:
    """The last step of the update; every pool is seen while it is under way, as only that is recorded."""
    for pool in cluster.layout.pools:
        await cluster.mco.node(pool.node_names[0]).prepare(pool.rendered(TARGET))
    under_way = {pool.node_names[0] for pool in cluster.layout.pools}
    await until_status(api, lambda found: under_way <= at_work(found), "pools under way")
    await cluster.healthy_update(TARGET)[-1].play()


def reasons(found: list[Any]) -> list[str]:
    return sorted(one.reason for one in found)


AT_THE_END = ["ControlPlaneUpdated", "PoolUpdated", "PoolUpdated", "UpdateCompleted", "UpdateStarted"]


class Fatal(Front):
    """An API server that stores the write `method`, `ending` of its path, and does not answer who sent it."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._aim = ("", "")
        self._over = asyncio.Event()
        self.struck = asyncio.Event()

    def kubeconfig(self, account: Path, folder: Path) -> Path:
        """That of `account`, with this server."""
        tree = yaml.safe_load(account.read_text())
        tree["clusters"][0]["cluster"]["server"] = self.url
        (behind := folder / "behind.yaml").write_text(yaml.safe_dump(tree))
        return behind

    def condemn(self, method: str, part: str) -> None:
        self._aim, self.struck, self._over = (method, part), asyncio.Event(), asyncio.Event()

    def pardon(self) -> None:
        self._aim = ("", "")
        self._over.set()

    def calm(self) -> None:
        self.pardon()
        super().calm()

    async def answered(self, request: web.Request, body: bytes, *, status: int) -> None:
        method, part = self._aim
        if status < 300 and request.method == method and part in request.path:
            self.struck.set()
            await self._over.wait()
            raise web.HTTPServiceUnavailable


async def test_killed_at_the_status_and_at_both_writes_of_the_record_it_comes_to_the_same_end(
    admin: Client, cluster: PlayedCluster, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    async with Fatal(plane.connection) as front:
        behind = front.kubeconfig(account, tmp_path)
        begin, *first, _ = cluster.healthy_update(TARGET)

        async def killed_at(method: str, part: str, *steps: Any) -> None:
            front.condemn(method, part)
            async with keeping(behind, tmp_path, *ALONE) as keeper:
                for step in steps:
                    await step.play()
                async with asyncio.timeout(60):
                    await front.struck.wait()
                await keeper.kill()
            front.pardon()

        await killed_at("PATCH", "/updatestatuses/")
        await killed_at("POST", "/updaterecords", begin)
        await killed_at("PATCH", "/updaterecords/", *first)
        async with keeping(behind, tmp_path, *ALONE):
            await roll(admin, cluster)
            await until_status(admin, finished, "the update is over")
            record = await ended(admin)
    assert {one.name for one in record.operators} == {"etcd", "machine-config"}
    everything: list[Any] = [*record.operators, *record.pools, *record.nodes]
    assert [one.name for one in everything if not one.completed] == []
    assert reasons(await events(admin)) == AT_THE_END
    told = timeless(await status(admin))
    # One that was never disturbed writes the same.
    await admin.delete(UpdateStatus, "cluster")
    async with keeping(account, tmp_path, *ALONE):
        await until_status(admin, lambda found: timeless(found) == told, "the same status")


async def test_another_replica_takes_over_and_both_outlive_the_api_server(
    admin: Client, cluster: PlayedCluster, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    degraded = {"reason": "EtcdMembersDegraded", "message": "2 of 3 members are available"}
    async with keeping(account, tmp_path, *QUICK) as leader, keeping(account, tmp_path, *QUICK):
        await cluster.cvo.start(TARGET)
        await cluster.mco.pause("worker")
        await cluster.mco.render(TARGET)
        await cluster.cvo.progress("etcd")
        await cluster.cvo.degrade("etcd", **degraded)
        before = await until_status(admin, first_seen, "the paused pool")
        await leader.kill()
        # What nobody sees: the time in between.
        await cluster.cvo.recover("etcd")
        await cluster.cvo.finish("etcd")
        after = await until_status(admin, operators_left(1), "the other replica works")
        assert first_seen(after) == first_seen(before) != {}
        assert transitions(before).items() <= transitions(after).items() | changed(before, after)
        await plane.restart_apiserver()
        await cluster.cvo.progress("machine-config")
        await cluster.mco.pause("worker", paused=False)
        await roll(admin, cluster)
        await until_status(admin, finished, "the update is over")
        await ended(admin)
    assert reasons(await events(admin)) == AT_THE_END


def first_seen(found: UpdateStatusStatus) -> dict[str, str]:
    """When the paused pool was first seen: nothing in the cluster says when it began."""
    paused = {uid: one for uid, one in health_insights(found).items() if "paused pool" in one.impact.summary}
    assert all(one.started_at is None for one in paused.values())
    return {uid: one.first_seen_at for uid, one in paused.items()}


def transitions(found: UpdateStatusStatus) -> dict[tuple[str, str, str], str]:
    """When each condition of an operator, a pool or a node got its status."""
    masters: Any = found.control_plane.informers if found.control_plane else ()
    workers: Any = (one for pool in found.worker_pools for one in pool.informers)
    made: dict[tuple[str, str, str], str] = {}
    for entry in (entry.insight for one in (*masters, *workers) for entry in one.insights):
        insight = getattr(entry, "cluster_operator", None) or entry.machine_config_pool or entry.node
        for one in insight.conditions if insight else ():
            made[insight.name, one.type, one.status] = one.last_transition_time
    return made


def at_work(found: UpdateStatusStatus) -> set[str]:
    """Names of nodes, pools and operators that are being updated."""
    return {of for of, kind, status in transitions(found) if (kind, status) == ("Updating", "True")}


def changed(before: UpdateStatusStatus, after: UpdateStatusStatus) -> set[tuple[tuple[str, str, str], str]]:
    """The conditions that got another status."""
    return {(key, when) for key, when in transitions(before).items() if key not in transitions(after)}


@pytest.mark.parametrize("seconds", [300, -300], ids=["ahead", "behind"])
async def test_a_clock_that_is_five_minutes_wrong_shows_nothing_negative_and_causes_no_writes(
    admin: Client, cluster: PlayedCluster, account: Path, tmp_path: Path, seconds: int
) -> None:
    await cluster.cvo.start(TARGET)
    await cluster.mco.pause("worker")
    await cluster.mco.render(TARGET)
    await cluster.cvo.progress("etcd")
    await cluster.cvo.degrade("etcd", reason="Broken", message="it is broken")
    await cluster.mco.node("worker-0").prepare(cluster.layout.pool("worker").rendered(TARGET))
    async with keeping(account, tmp_path, *ALONE, program=(*SKEWED, str(seconds))):
        await until_status(admin, updating, "the update")
        version = await rested(admin)
        found = await status(admin)
        present = of_datetime(SystemClock().now())
        report = read(found, now=present)
        assert_nothing_negative(render(report, now=present, details=Details.ALL))
        assert_nothing_negative(render_wide(report, now=present))
        (first,) = first_seen(found).values()
        assert abs(moment(first) - present - seconds * SECOND) < 60 * SECOND
        assert (await admin.get(UpdateStatus, "cluster")).resource_version == version
        await cluster.mco.pause("worker", paused=False)
        await cluster.cvo.recover("etcd")
        for step in cluster.healthy_update(TARGET)[1:-1]:
            await step.play()
        await roll(admin, cluster)
        record = await ended(admin)
        assert_nothing_negative(render_record(record, now=present))
        assert_nothing_negative(render_records([record], now=present))


def assert_nothing_negative(shown: str) -> None:
    assert not re.search(r"(?<![\w.-])-\d", shown), shown


async def rested(api: Client) -> str:
    """The resourceVersion that stays for `QUIET` seconds."""

    async def version() -> str:
        return (await api.get(UpdateStatus, "cluster")).resource_version

    async def quiet() -> str:
        before = await version()
        await asyncio.sleep(QUIET)
        return before if await version() == before else ""

    return await eventually(quiet, within=60, what="no more writes")


async def test_sources_that_it_may_not_read_are_gaps_and_it_is_ready(
    admin: Client, cluster: PlayedCluster, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    rest, role = plane.blocking.rest, f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAME}"
    rules = (await asyncio.to_thread(rest.request, "GET", role))["rules"]
    away = {"nodes", "machineconfigs", "machineconfigpools"}
    less = [rule for rule in rules if not away & set(rule["resources"])]
    merge = "application/merge-patch+json"
    await asyncio.to_thread(rest.request, "PATCH", role, {"rules": less}, content_type=merge)
    user = f"system:serviceaccount:{HOME}:{NAME}"
    for resource in ("nodes", "machineconfigpools.machineconfiguration.openshift.io"):
        await allowed(rest, user, "list", resource, allowed=False)
    await cluster.cvo.start(TARGET)
    async with keeping(account, tmp_path, *ALONE):
        found = await until_status(admin, updating, "the update")
        assert {one.partition(":")[0] for one in found.gaps} == {"pools and nodes", "the versions of nodes"}
        assert all("forbidden" in one for one in found.gaps), found.gaps
        degraded = find(found.conditions, "Degraded")
        assert degraded
        assert (degraded.status, degraded.reason) == ("True", "SourcesMissing")
        # They come back as soon as they may be read.
        await asyncio.to_thread(install, plane.blocking)
        await until_status(admin, lambda found: found.overview and not found.gaps, "no gaps")


async def test_what_somebody_deletes_or_edits_is_repaired(
    admin: Client, cluster: PlayedCluster, account: Path, tmp_path: Path
) -> None:
    await cluster.cvo.start(TARGET)
    await cluster.mco.pause("worker")
    await cluster.mco.render(TARGET)
    async with keeping(account, tmp_path, *ALONE):
        told = await until_status(admin, health_insights, "the paused pool")
        await admin.delete(UpdateStatus, "cluster")
        await until_status(admin, lambda found: timeless(found) == timeless(told), "it is back")
        before = await status(admin)
        (uid,) = health_insights(before)
        wrong = {"status": {"overview": {**vars_of(before), "worstLevel": "Critical"}, "controlPlane": None}}
        await admin.patch(UpdateStatus, "cluster", wrong, type=PatchType.MERGE, subresource="status")
        after = await until_status(admin, lambda found: timeless(found) == timeless(told), "it is repaired")
        assert health_insights(after)[uid].first_seen_at == health_insights(before)[uid].first_seen_at


def vars_of(found: UpdateStatusStatus) -> dict[str, Any]:
    assert found.overview
    return {"state": found.overview.state, "assessment": found.overview.assessment}
