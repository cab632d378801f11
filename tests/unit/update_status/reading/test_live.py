"""A cluster is read with the requests of oc; what cannot be read is a gap, not the end."""

from collections.abc import Sequence
from typing import Any

import pytest

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion, Infrastructure
from windlass.api.core import Namespace, Node, Pod
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.meta import KubernetesObject
from windlass.api.policy import PodDisruptionBudget
from windlass.api.route import Route
from windlass.api.update_record import UpdateRecord
from windlass.kube.errors import Busy, Forbidden, Status, TransportError
from windlass.kube.verbs import ApiRequest, ReadApi
from windlass.model import MemoryApi
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading import Reading
from windlass.update_status.reading.live import read_live
from windlass.update_status.sources import Unknown

KINDS: Sequence[type[KubernetesObject]] = (
    ClusterVersion,
    ClusterOperator,
    MachineConfigPool,
    Node,
    MachineConfig,
    Deployment,
    Route,
    Infrastructure,
    MachineConfigNode,
)
LAYOUT = Layout(
    operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=1))
)


class Requests(ReadApi):
    """Passes requests on, and remembers them."""

    def __init__(self, api: ReadApi, made: list[str], *, suffix: str = "") -> None:
        self._api = api
        self._made = made
        self._suffix = suffix

    async def send(self, request: ApiRequest[Any], /) -> Any:
        name = getattr(request, "name", "")
        kind = request.kind.RESOURCE.kind
        self._made.append(f"{request.VERB} {kind}{f' {name}' if name else ''}{self._suffix}")
        return await self._api.send(request)


class World:
    """A cluster in memory, and a service of alerts that answers `body`."""

    def __init__(self, *kinds: type[KubernetesObject]) -> None:
        self.api = MemoryApi(Namespace, *(kinds or KINDS))
        self.made: list[str] = []
        self.bodies: dict[str, bytes | Exception] = {}
        self.cluster = PlayedCluster(self.api, LAYOUT, pace=0)

    async def ask(self, host: str) -> bytes:
        self.made.append(f"ask {host}")
        answer = self.bodies[host]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def route(self, *hosts: str) -> None:
        self.api.load(
            {
                "apiVersion": "route.openshift.io/v1",
                "kind": "Route",
                "metadata": {"name": "thanos-querier", "namespace": "openshift-monitoring"},
                "status": {"ingress": [{"host": host} for host in hosts]},
            }
        )

    async def read(self, *, steps: bool = False) -> Reading:
        self.made.clear()
        return await read_live(
            Requests(self.api, self.made),
            metadata=Requests(self.api, self.made, suffix=" (metadata)"),
            alerts=self.ask,
            clock=lambda: 5,
            steps=steps,
        )

    def forbid(self, verb: str, kind: type[KubernetesObject]) -> None:
        text = f"{kind.RESOURCE.name} is forbidden: User u cannot {verb} it"
        self.api.fail_next(verb, kind, Forbidden(Status("Failure", text, "Forbidden", 403)))


@pytest.fixture
async def world() -> World:
    world = World()
    await world.cluster.install()
    return world


async def test_the_requests_are_those_of_oc_in_its_order(world: World) -> None:
    await world.read()

    master, worker = (pool.rendered("4.16.0") for pool in LAYOUT.pools)
    assert world.made == [
        "get ClusterVersion version",
        "list ClusterOperator",
        "list MachineConfigPool",
        "list Node",
        f"get MachineConfig {master} (metadata)",
        f"get MachineConfig {worker} (metadata)",
        "get Deployment machine-config-operator",
    ]


async def test_records_of_updates_are_read_where_there_are_any() -> None:
    world = World(*KINDS, UpdateRecord)
    await world.cluster.install()
    envelope = {"apiVersion": UpdateRecord.RESOURCE.api_version, "kind": UpdateRecord.RESOURCE.kind}
    world.api.load({**envelope, "metadata": {"name": "r"}, "spec": {"target": "4.16.0", "startedAt": ""}})
    assert [one.name for one in (await world.read(steps=True)).sources.records] == ["r"]
    assert (await world.read()).sources.records == ()
    world.forbid("list", UpdateRecord)
    sources = (await world.read(steps=True)).sources
    assert (sources.records, sources.gaps) == ((), ())


async def test_alerts_are_asked_for_during_an_update(world: World) -> None:
    world.route("a.example.com", "b.example.com")
    world.bodies = {
        "a.example.com": TransportError("no answer"),
        "b.example.com": b'{"data": {"alerts": [{"labels": {"alertname": "A"}}]}}',
    }
    await world.cluster.cvo.start("4.16.1")

    sources = (await world.read()).sources

    assert world.made[7:] == ["get Route thanos-querier", "ask a.example.com", "ask b.example.com"]
    assert [alert.labels.alertname for alert in sources.alerts] == ["A"]
    assert sources.alerts_trouble == ""


async def test_that_alerts_are_missing_is_said_in_the_words_of_oc(world: World) -> None:
    await world.cluster.cvo.start("4.16.1")
    beginning = "Unable to fetch alerts, ignoring alerts in 'Update Health':  "

    assert (await world.read()).sources.alerts_trouble.startswith(f"{beginning}routes.route.openshift.io")

    world.route()
    assert (await world.read()).sources.alerts_trouble == (
        f"{beginning}Route openshift-monitoring/thanos-querier has no host"
    )

    world.route("a.example.com")
    world.bodies = {"a.example.com": TransportError("no answer")}
    assert (await world.read()).sources.alerts_trouble == f"{beginning}no answer"


async def test_steps_of_nodes_are_read_if_they_are_wanted(world: World) -> None:
    sources = (await world.read(steps=True)).sources

    assert "list MachineConfigNode" in world.made
    assert set(sources.progress) == {"master-0", "worker-0"}


SHOP = {"name": "shop", "namespace": "shop", "labels": {"app": "shop"}}
HEALTH = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2, "disruptionsAllowed": 0}


async def drained(*nodes: str) -> World:
    """A cluster whose nodes do not drain, because a budget waits for a Pod elsewhere."""
    world = World(*KINDS, Pod, PodDisruptionBudget)
    await world.cluster.install()
    await world.cluster.cvo.start("4.16.1")
    await world.cluster.mco.render("4.16.1")
    for name in nodes:
        node = world.cluster.mco.node(name)
        await node.prepare(LAYOUT.pool(name[:-2]).rendered("4.16.1"))
        await node.degrade("failed to drain")
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {**SHOP, "name": f"on-{name}"}
        pod = {"metadata": metadata, "spec": {"nodeName": name}, "status": status}
        world.api.load({"apiVersion": "v1", "kind": "Pod", **pod})
    waits = {"name": "c", "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}
    world.api.load(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**SHOP, "name": "elsewhere"},
            "spec": {"nodeName": "other"},
            "status": {"phase": "Pending", "containerStatuses": [waits]},
        }
    )
    spec = {"selector": {"matchLabels": {"app": "shop"}}}
    envelope = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    world.api.load({**envelope, "metadata": SHOP, "spec": spec, "status": HEALTH})
    return world


def of_drains(world: World) -> list[str]:
    return [one for one in world.made if one.endswith((" Pod", " PodDisruptionBudget"))]


async def test_pods_and_budgets_are_read_for_nodes_that_drain_for_long() -> None:
    world = await drained("master-0", "worker-0")
    sources = (await world.read(steps=True)).sources
    assert of_drains(world) == ["list PodDisruptionBudget", "list Pod", "list Pod", "list Pod"]
    assert sources.workload.nodes == ("master-0", "worker-0")
    (cause,) = assess(sources, now=5).causes
    assert cause.summary == (
        "Pod shop/elsewhere cannot pull its image, so PodDisruptionBudget shop does not allow the eviction of 2 Pods "
        "on nodes master-0 and worker-0"
    )


async def test_no_pods_are_read_while_no_node_drains_for_long() -> None:
    world = await drained()
    await world.cluster.mco.node("worker-0").prepare(LAYOUT.pool("worker").rendered("4.16.1"))
    await world.read(steps=True)
    assert of_drains(world) == []


async def test_the_text_of_oc_takes_no_further_requests() -> None:
    world = await drained("worker-0")
    await world.read()
    assert of_drains(world) == []


@pytest.mark.parametrize("kind", [Pod, PodDisruptionBudget])
async def test_what_holds_a_drain_is_unknown_if_it_may_not_be_read(kind: type[KubernetesObject]) -> None:
    world = await drained("worker-0")
    world.forbid("list", kind)
    report = assess((await world.read(steps=True)).sources, now=5)
    assert report.causes == ()
    assert [gap for gap in report.gaps if gap.startswith("what holds the drain of worker-0: ")]
    assert report.pools


async def test_a_cluster_without_budgets_says_so() -> None:
    world = await drained("worker-0")
    bare = World(*KINDS, Pod)
    kinds: Sequence[type[KubernetesObject]] = (*KINDS, Pod)
    for kind in kinds:
        for one in world.api.listing(kind):
            bare.api.load(one.tree())
    report = assess((await bare.read(steps=True)).sources, now=5)
    assert report.causes == ()
    assert [gap for gap in report.gaps if gap.startswith("what holds the drain of worker-0: ")]


async def test_a_release_without_steps_of_nodes_has_none() -> None:
    world = World(*(kind for kind in KINDS if kind is not MachineConfigNode))
    await world.cluster.cvo.install()
    pool = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool"}
    world.api.load({**pool, "metadata": {"name": "master"}})

    sources = (await world.read(steps=True)).sources

    assert (sources.progress, sources.gaps) == ({}, ())


async def test_the_moment_is_that_of_the_clock(world: World) -> None:
    reading = await world.read()

    assert (reading.now, reading.wall) == (5, 5)


async def test_pools_and_nodes_that_may_not_be_listed_are_unknown(world: World) -> None:
    world.forbid("list", MachineConfigPool)
    world.forbid("list", Node)

    sources = (await world.read()).sources

    assert isinstance(sources.pools, Unknown)
    assert sources.pools.reason.startswith("machineconfigpools.machineconfiguration.openshift.io is forbidden")
    assert isinstance(sources.nodes, Unknown)
    assert sources.nodes.reason.startswith("nodes is forbidden")


async def test_a_deployment_that_may_not_be_read_is_unknown(world: World) -> None:
    world.forbid("get", Deployment)

    assert isinstance((await world.read()).sources.operator_image, Unknown)


async def test_a_deleted_machine_config_is_a_gap(world: World) -> None:
    name = LAYOUT.pools[1].rendered("4.16.0")
    await world.api.delete(MachineConfig, name)

    sources = (await world.read()).sources

    assert list(sources.versions) == [LAYOUT.pools[0].rendered("4.16.0")]
    assert sources.gaps == (
        f'MachineConfig {name}: machineconfigs.machineconfiguration.openshift.io "{name}" not found',
    )


async def test_an_api_server_that_is_gone_in_between_is_an_error(world: World) -> None:
    world.api.fail_next("list", Node, TransportError("no answer"))

    with pytest.raises(TransportError):
        await world.read()


@pytest.mark.parametrize("error", [Forbidden(Status(message="no", code=403)), Busy(Status(message="no", code=503))])
async def test_cluster_version_and_operators_must_be_readable(world: World, error: Exception) -> None:
    for verb, kind in (("get", ClusterVersion), ("list", ClusterOperator)):
        world.api.fail_next(verb, kind, error)  # type: ignore[arg-type]
        with pytest.raises(type(error)):
            await world.read()


@pytest.mark.parametrize("served", [True, False])
async def test_without_a_cluster_version_this_is_no_openshift(served: bool) -> None:
    world = World(*(KINDS if served else (Node,)))

    with pytest.raises(Problem, match=r"^no cluster version information available - you must be connected to an Open"):
        await world.read()


async def test_without_operators_there_is_no_report(world: World) -> None:
    for operator in LAYOUT.operators:
        await world.api.delete(ClusterOperator, operator)

    with pytest.raises(Problem, match=r"^no cluster operator information available - "):
        await world.read()


async def test_a_cluster_without_the_kind_of_pools_is_hosted() -> None:
    world = World(*(kind for kind in KINDS if kind is not MachineConfigPool))
    await world.cluster.cvo.install()

    with pytest.raises(Problem, match="hosted control plane"):
        await world.read()


@pytest.mark.parametrize(("topology", "hosted"), [("External", True), ("HighlyAvailable", False)])
async def test_a_cluster_without_pools_is_hosted_if_its_control_plane_is_external(topology: str, hosted: bool) -> None:
    world = World()
    await world.cluster.cvo.install()
    world.api.load(
        {
            "apiVersion": "config.openshift.io/v1",
            "kind": "Infrastructure",
            "metadata": {"name": "cluster"},
            "status": {"controlPlaneTopology": topology},
        }
    )
    if hosted:
        with pytest.raises(Problem, match="hosted control plane"):
            await world.read()
    else:
        assert (await world.read()).sources.pools == ()


async def test_a_malformed_time_names_its_object_and_field(world: World) -> None:
    tree = (await world.api.get(ClusterVersion, "version")).tree()
    tree["status"]["conditions"][0]["lastTransitionTime"] = "soon"
    world.api.load(tree)

    with pytest.raises(
        Problem, match=r"ClusterVersion version: status\.conditions\[0\]\.lastTransitionTime: 'soon' is"
    ):
        await world.read()
