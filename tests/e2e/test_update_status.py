"""One update, played on a real API server, as update-status reports it under the rights that are shipped.

Operators progress, and one degrades and recovers; a pool is paused for a while; a drain hangs on a budget; an alert
fires; the process is replaced.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
import yaml
from msgspec import Struct, field

from tests.api.update_status.keeper import (
    CRDS,
    DEPLOY,
    HOME,
    NAME,
    USER,
    events,
    install,
    keeping,
    records,
    until_status,
)
from tests.program import Program
from tests.waiting import eventually, wait_until
from windlass.api.coordination import Lease
from windlass.api.core import Event, Node
from windlass.api.meta import ObjectMeta, Resource
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_record import FORMER, UpdateRecord
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock
from windlass.kube.verbs import PatchType
from windlass.testing import BlockingControlPlane, ControlPlane, crds
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.rest import Rest
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.testing.updates.drain import Pod
from windlass.testing.updates.thanos import ThanosQuerier, alert
from windlass.update_status.assessment import assess
from windlass.update_status.document import health_insights, read
from windlass.update_status.reading.kept import read_kept
from windlass.update_status.reading.live import read_live
from windlass.update_status.record import Record
from windlass.update_status.report import Phase, State
from windlass.update_status.text import Details, render
from windlass.update_status.times import of_datetime

from .rights import granted, uses

pytestmark = pytest.mark.plane

TARGET = "4.16.1"
LAYOUT = Layout(
    pools=(
        Pool(name="master", nodes=3),
        Pool(name="worker", nodes=3),
        Pool(name="infra", nodes=2),
        Pool(name="gpu", nodes=1),
    )
)
STEPS_OF_NODES = {Phase.PENDING: 0, Phase.PAUSED: 0, Phase.DRAINING: 1, Phase.UPDATING: 2, Phase.REBOOTING: 3}
STEPS_OF_OPERATORS = {State.PENDING: 0, State.PROGRESSING: 1}
UPDATED = 9
AFTER_A_CONFLICT = {
    ("", "update.openshift.io", "updatestatuses", "get"),
    ("", "update.openshift.io", "updaterecords", "get"),
}
"""What the process reads when somebody else has written one of its objects at the same time."""
RBAC = "rbac.authorization.k8s.io"


class PodDisruptionBudget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Played(Struct):
    """What there was to see while the update went on, and what is left.

    joined  the object once it shows a worker that joined after the update, and `after` the records then
    """

    seen: list[UpdateStatusStatus]
    record: Record
    joined: UpdateStatusStatus
    after: list[Record]
    events: list[Event]
    texts: list[tuple[str, str]]
    metrics: str


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    """Without streaming lists, so that caches list and watch."""
    known: list[Path | Mapping[str, Any]] = [*crds.documents(*crds.UPDATES), CRDS]
    flags, assets = ["--feature-gates=WatchList=false"], request.config.getoption("windlass_assets")
    with BlockingControlPlane(apiserver_flags=flags, assets=assets, crds=known) as plane:
        yield plane


@pytest.fixture(scope="module")
def played(plane: BlockingControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return asyncio.run(play(ControlPlane.around(plane), tmp_path_factory.mktemp("played")))


async def play(plane: ControlPlane, folder: Path) -> Played:
    account = await asyncio.to_thread(install, plane.blocking)
    viewer = await asyncio.to_thread(a_viewer, plane.blocking)
    token = token_of(account)
    async with (
        Client(connections.load(kubeconfig=plane.kubeconfig())) as admin,
        Client(connections.load(kubeconfig=viewer)) as reader,
        ThanosQuerier(token=token) as thanos,
    ):
        await thanos.announce(admin)
        (folder / "token").write_text(token)
        (folder / "authority.pem").write_bytes(thanos.authority)
        for number in range(10):
            await admin.create(UpdateRecord, an_old_record(number))
        cluster = PlayedCluster(admin, LAYOUT, pace=0.8, patience=1.0)
        await cluster.install()
        alerts = (
            f"--alerts-url=https://{thanos.host}",
            f"--alerts-ca={folder / 'authority.pem'}",
            f"--alerts-token={folder / 'token'}",
        )
        texts: list[tuple[str, str]] = []
        async with keeping(account, folder, *alerts, metrics=True) as keeper:
            await until_status(reader, lambda found: found.overview is not None, "the object")
            await eventually(lambda: former_records(admin), lambda found: not found, what="the move of old records")
            async with watching(reader) as seen:
                await play_update(admin, reader, plane, cluster, thanos, keeper, texts)
                (record,) = await eventually(lambda: ended(reader), bool, what="the record of the update")
            joined = await a_worker_joins(admin, reader)
            after = await ended(reader)
            metrics = await asyncio.to_thread(scrape, plane.blocking, keeper.metrics)
            told = await events(admin)
            assert await keeper.end() == 0
        return Played(seen, record, joined, after, told, texts, metrics)


async def play_update(
    admin: Client,
    reader: Client,
    plane: ControlPlane,
    cluster: PlayedCluster,
    thanos: ThanosQuerier,
    keeper: Program,
    texts: list[tuple[str, str]],
) -> None:
    async def compare(holds: Any, what: str) -> None:
        await until_status(reader, holds, what)
        texts.append(await eventually(lambda: both(admin, reader, thanos), lambda pair: pair[0] == pair[1], within=10))

    namespace = await plane.create_namespace()
    await a_protected_pod(admin, namespace, node="worker-0")
    begin, *_, pools, _ = cluster.healthy_update(TARGET)
    await begin.play()
    # The first operator begins later than its record does, as on any cluster.
    await eventually(
        lambda: records(reader), lambda all_: TARGET in {one.target for one in all_ if one.state}, what="its record"
    )
    await cluster.mco.pause("infra")
    await cluster.cvo.progress("etcd")
    await cluster.cvo.degrade("etcd", reason="EtcdMembersDegraded", message="2 of 3 members are available")
    await compare(lambda found: "Degraded" in reasons(found, "etcd"), "etcd is degraded")
    await cluster.cvo.recover("etcd")
    await cluster.cvo.finish("etcd")
    for name in LAYOUT.operators[1:-1]:
        await cluster.cvo.progress(name)
        await until_status(reader, partial(is_progressing, name), f"{name} progresses")
        await cluster.cvo.finish(name)
    now = datetime.now(UTC)
    thanos.alerts = [alert("KubeNodeNotReady", severity="critical", active_at=now, summary="a node is not ready")]
    await pools.play()
    rolling = {pool: asyncio.ensure_future(cluster.mco.roll(pool)) for pool in ("master", "worker", "gpu", "infra")}
    await asyncio.gather(rolling["master"], rolling["gpu"])
    await compare(lambda found: {"Critical", "Error", "Warning"} <= levels(found), "alert, stuck drain and paused pool")
    assert await keeper.end() == 0
    await keeper.start()
    await cluster.mco.pause("infra", paused=False)
    resumed = await until_status(reader, lambda found: "Warning" not in levels(found), "infra goes on")
    assert "Critical" in levels(resumed), "a process that has just started reports an alert that fires as resolved"
    thanos.alerts = []
    await admin.delete(PodDisruptionBudget, "shop", namespace=namespace)
    await cluster.cvo.finish("machine-config")
    await cluster.cvo.complete()
    await asyncio.gather(*rolling.values())
    await compare(lambda found: found.overview and found.overview.state == "Idle", "the end")


def test_no_operator_and_no_node_goes_back(played: Played) -> None:
    for name, steps in progress(played).items():
        begun = list(itertools.dropwhile(lambda step: step == UPDATED, steps))
        assert begun == sorted(begun), (name, steps)
        assert begun[-1] == UPDATED, name


def progress(played: Played) -> dict[str, list[int]]:
    """How far each operator and node was, one after the other."""
    found: dict[str, list[int]] = {}
    for status in played.seen:
        report = read(status, now=0)
        for node in (node for pool in report.pools for node in pool.nodes):
            found.setdefault(f"node {node.name}", []).append(STEPS_OF_NODES.get(node.phase, UPDATED))
        for one in report.control_plane.operators:
            found.setdefault(f"operator {one.name}", []).append(STEPS_OF_OPERATORS.get(one.state, UPDATED))
    assert len(found) == 14
    return found


def test_what_needs_attention_appears_and_goes(played: Played) -> None:
    appeared = {one.impact.summary for status in played.seen for one in health_insights(status).values()}
    assert appeared == {
        "Alert is firing: a node is not ready",
        "Node worker-0 is degraded",
        "Outdated nodes in a paused pool 'infra' will not be updated",
    }
    assert health_insights(played.seen[-1]) == {}
    # Each once.
    for uid in {uid for status in played.seen for uid in health_insights(status)}:
        assert len([*itertools.groupby(uid in health_insights(status) for status in played.seen)]) == 3, uid
    first: dict[str, str] = {}
    for status in played.seen:
        for uid, one in health_insights(status).items():
            assert first.setdefault(uid, one.first_seen_at) == one.first_seen_at, one


def test_the_record_is_complete(played: Played) -> None:
    record = played.record
    assert (record.previous, record.target, record.state) == ("4.16.0", TARGET, "Completed")
    assert {one.name for one in record.operators} == set(LAYOUT.operators)
    assert {one.name for one in record.pools} == {pool.name for pool in LAYOUT.pools}
    assert {one.name for one in record.nodes} == {name for pool in LAYOUT.pools for name in pool.node_names}
    everything: list[Any] = [*record.operators, *record.pools, *record.nodes]
    assert all(one.started and one.completed and one.started <= one.completed for one in everything), everything
    assert all(one.resolved for one in record.troubles), record.troubles
    assert {one.level for one in record.troubles} == {"Critical", "Error", "Warning"}


def test_a_worker_that_joins_after_the_update_opens_nothing_again(played: Played) -> None:
    assert played.joined.overview
    joined = played.joined.overview
    assert (joined.state, joined.total_workers, joined.workers_left) == ("Idle", 6, 0)
    assert played.after == [played.record]
    assert 'windlass_update_nodes{phase="Unmanaged",pool="worker"} 1.0' in played.metrics


def test_every_event_is_recorded_once(played: Played) -> None:
    told = Counter((one.type, one.reason, one.message) for one in played.events)
    assert set(told.values()) == {1}, told
    assert all(one.count <= 1 for one in played.events)
    assert Counter(one.reason for one in played.events) == {
        "UpdateStarted": 1,
        "ControlPlaneUpdated": 1,
        "PoolUpdated": 4,
        "InsightAppeared": 2,
        "InsightResolved": 2,
        "UpdateCompleted": 1,
    }


def test_the_object_shows_what_the_cluster_shows(played: Played) -> None:
    degraded, stuck, end = played.texts
    assert all(kept == direct for kept, direct in played.texts)
    assert "4 Healthy, 1 Available but degraded" in degraded[0], degraded[0]
    assert "Alert is firing: a node is not ready" in stuck[0]
    assert end[0].startswith("The cluster is not updating.\n")


def test_the_metrics_are_as_documented(played: Played) -> None:
    documented = (DEPLOY.parents[1] / "docs" / "update-status.md").read_text()
    for name in ("in_progress", "stalled", "completion_ratio", "nodes", "insights", "informer_healthy"):
        assert f"`windlass_update_{name}`" in documented
        assert f"# TYPE windlass_update_{name} gauge" in played.metrics
    assert "windlass_update_in_progress 0.0" in played.metrics
    assert "windlass_update_completion_ratio 1.0" in played.metrics
    assert 'windlass_update_nodes{phase="Updated",pool="worker"} 3.0' in played.metrics


def test_each_right_is_used_and_no_other(plane: BlockingControlPlane, played: Played) -> None:
    grants, allowed = granted(DEPLOY / "base" / "rbac.yaml", NAME), uses(plane.audit, USER, "allow")
    assert {grant[:4] for grant in grants if not any(grant.covers(use) for use in allowed)} <= AFTER_A_CONFLICT
    assert {use for use in allowed if not any(grant.covers(use) for grant in grants)} == set()
    assert uses(plane.audit, USER, "forbid") == set()


def test_the_lease_is_given_back_at_the_end(plane: BlockingControlPlane, played: Played) -> None:
    lease = plane.rest.request("GET", Lease.RESOURCE.path(NAME, namespace=HOME))
    assert not lease["spec"].get("holderIdentity")


async def both(admin: Client, reader: Client, thanos: ThanosQuerier) -> tuple[str, str]:
    """What the object and what the cluster show at the same moment."""

    async def ask(_: str) -> bytes:
        return msgspec.json.encode({"status": "success", "data": {"alerts": thanos.alerts}})

    now = of_datetime(SystemClock().now())
    kept = await read_kept(reader, clock=lambda: now)
    found = await read_live(admin, metadata=admin.metadata, alerts=ask, clock=lambda: now, steps=True)
    direct = assess(found.sources, now=now)
    return render(kept, now=now, details=Details.ALL), render(direct, now=now, details=Details.ALL)


@asynccontextmanager
async def watching(reader: Client) -> AsyncIterator[list[UpdateStatusStatus]]:
    """All states of the object, from the one that is there on."""
    found: list[UpdateStatusStatus] = []

    async def watch() -> None:
        async for event in reader.watch(UpdateStatus, bookmarks=False):
            found.append(event.object.decode().status)  # noqa: PERF401 - it is looked at while it grows

    watcher = asyncio.create_task(watch())
    try:
        yield found
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def a_worker_joins(admin: Client, reader: Client) -> UpdateStatusStatus:
    """Its kubelet has registered it; no Machine Config Daemon has run on it yet."""
    await admin.create(Node, {"metadata": {"name": "worker-new", "labels": {"node-role.kubernetes.io/worker": ""}}})
    return await until_status(reader, lambda found: "worker-new" in nodes(found), "the worker that joined")


def nodes(found: UpdateStatusStatus) -> set[str]:
    return {node.name for pool in read(found, now=0).pools for node in pool.nodes}


async def ended(reader: Client) -> list[Record]:
    return [one for one in await records(reader) if one.target == TARGET and one.state == "Completed"]


def levels(found: UpdateStatusStatus) -> set[str]:
    return {one.impact.level for one in health_insights(found).values()}


def is_progressing(name: str, found: UpdateStatusStatus) -> bool:
    return "Progressing" in reasons(found, name)


def reasons(found: UpdateStatusStatus, name: str) -> list[str]:
    """Those of the conditions of an operator."""
    inside = found.control_plane.informers if found.control_plane else ()
    operators = [entry.insight.cluster_operator for one in inside for entry in one.insights]
    return [condition.reason for one in operators if one and one.name == name for condition in one.conditions]


def a_viewer(plane: BlockingControlPlane) -> Path:
    """Somebody who may read reports and nothing else."""
    plane.apply_files(DEPLOY / "base" / "view.yaml")
    bind(plane, "viewer", f"{NAME}-view")
    return plane.service_account_kubeconfig(HOME, "viewer")


def bind(plane: BlockingControlPlane, name: str, role: str) -> None:
    account = {"kind": "ServiceAccount", "name": name, "namespace": HOME}
    plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": HOME}},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [account],
        },
    )


def token_of(kubeconfig: Path) -> str:
    token: str = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
    return token


def scrape(plane: BlockingControlPlane, url: str) -> str:
    """The metrics, as somebody reads them who may."""
    bind(plane, "scraper", "windlass-update-status-metrics-reader")
    may = Rest(url, token=token_of(plane.service_account_kubeconfig(HOME, "scraper")))

    def look() -> str:
        try:
            return may.text("GET", "/metrics")
        except Refused:
            return ""

    return wait_until("the scraper may", look)


async def former_records(api: Client) -> list[str]:
    """Records that still have fields of an earlier version."""
    return [found.name for found in (await api.list(UpdateRecord)).items if found.tree().keys() & set(FORMER)]


def an_old_record(number: int) -> dict[str, Any]:
    """With these there are as many as are kept. An earlier version wrote them, and half of their move is done."""
    day = f"2026-01-{number + 1:02}T00:00:00Z"
    spec = {"target": f"4.15.{number}", "startedAt": day}
    former = {"target": f"4.15.{number}", "state": "Completed", "started": day, "completed": day}
    return {"metadata": {"name": f"old-{number}"}, "spec": spec, **former}


async def a_protected_pod(admin: Client, namespace: str, *, node: str) -> None:
    """A Pod on the Node that its budget does not allow to be evicted, once that is counted."""
    metadata = {"name": "shop", "labels": {"app": "shop"}}
    spec: dict[str, Any] = {"nodeName": node, "containers": [{"name": "c", "image": "none"}]}
    await admin.create(Pod, {"metadata": metadata, "spec": spec}, namespace=namespace)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    how: dict[str, Any] = {"type": PatchType.MERGE, "namespace": namespace, "subresource": "status"}
    await admin.patch(Pod, "shop", {"status": status}, **how)
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}
    await admin.create(PodDisruptionBudget, {"metadata": {"name": "shop"}, "spec": budget}, namespace=namespace)

    async def counted() -> Any:
        return (await admin.get(PodDisruptionBudget, "shop", namespace=namespace)).tree().get("status", {})

    await eventually(counted, lambda found: (found.get("currentHealthy"), found.get("disruptionsAllowed")) == (1, 0))
