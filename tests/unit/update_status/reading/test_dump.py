"""Must-gathers and other dumps are read like a cluster; what they lack is a gap."""

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from windlass.capability.documents.must_gather import files
from windlass.capability.documents.yaml_dialect import dump_all
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading import Reading
from windlass.update_status.reading.dump import INTEREST, read_dump
from windlass.update_status.sources import Unknown
from windlass.update_status.times import rfc3339, rfc3339_nano

Tree = dict[str, Any]

MC = "machineconfiguration.openshift.io"
WALL = 1_000_000_000


def made(api_version: str, kind: str, name: str, *, namespace: str = "", **rest: Any) -> Tree:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **rest.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def condition(kind: str, status: str, time: str = "2024-02-27T15:00:00Z") -> Tree:
    return {"type": kind, "status": status, "lastTransitionTime": time}


VERSION = made(
    "config.openshift.io/v1", "ClusterVersion", "version", status={"conditions": [condition("Progressing", "True")]}
)
OPERATOR = made("config.openshift.io/v1", "ClusterOperator", "etcd", status={"conditions": []})
POOL = made(f"{MC}/v1", "MachineConfigPool", "master")
NODE = made("v1", "Node", "master-0", metadata={"annotations": {f"{MC}/currentConfig": "rendered-a"}})
CONFIG = made(
    f"{MC}/v1", "MachineConfig", "rendered-a", metadata={"annotations": {f"{MC}/release-image-version": "4.15.0"}}
)
STEPS = made(f"{MC}/v1", "MachineConfigNode", "master-0")
DEPLOYMENT = made(
    "apps/v1",
    "Deployment",
    "machine-config-operator",
    namespace="openshift-machine-config-operator",
    spec={"template": {"spec": {"containers": [{"name": "machine-config-operator", "image": "quay.io/x"}]}}},
)
ALERTS = {"data": {"alerts": [{"labels": {"alertname": "A"}, "state": "firing"}]}}
RULES = {"data": {"groups": [{"rules": [{"alerts": [{"labels": {"alertname": "B"}, "state": "firing"}]}]}]}}
RECORD = made(
    "update.openshift.io/v1alpha1",
    "UpdateRecord",
    "4.16.1-x",
    spec={"target": "4.16.1", "startedAt": ""},
    status={"state": "Completed"},
)
EVERYTHING = (VERSION, OPERATOR, POOL, NODE, CONFIG, STEPS, DEPLOYMENT, RECORD)


def read(*inputs: Path | str, stdin: bytes = b"") -> Reading:
    return read_dump([str(one) for one in inputs], stdin=io.BytesIO(stdin), wall=WALL)


@pytest.fixture
def gathering(tmp_path: Path) -> Path:
    """A must-gather, in the directory of its image."""
    image = tmp_path / "quay-io-openshift-release-dev-sha256-0"
    cluster = image / "cluster-scoped-resources"
    for path, tree in {
        cluster / "config.openshift.io/clusterversions/version.yaml": VERSION,
        cluster / "config.openshift.io/clusteroperators/etcd.yaml": OPERATOR,
        cluster / f"{MC}/machineconfigpools/master.yaml": POOL,
        cluster / f"{MC}/machineconfigs/rendered-a.yaml": CONFIG,
        cluster / f"{MC}/machineconfignodes/master-0.yaml": STEPS,
        cluster / "core/nodes/master-0.yaml": NODE,
        image / "namespaces/openshift-machine-config-operator/apps/deployments.yaml": {
            "apiVersion": "apps/v1",
            "kind": "DeploymentList",
            "items": [DEPLOYMENT],
        },
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dump_all([tree]))
    other = image / "namespaces/other/apps/deployments.yaml"
    other.parent.mkdir(parents=True)
    other.write_text("[nobody reads: this")
    rules = image / "monitoring/prometheus/rules.json"
    rules.parent.mkdir(parents=True)
    rules.write_text(json.dumps(RULES))
    (tmp_path / "timestamp").write_text(
        "2024-02-27 16:00:00.25 +0100 CET m=+0.12\n2024-02-27 16:20:00.5 +0100 CET m=+1200.1\n"
    )
    return tmp_path


def test_a_must_gather_has_all_sources(gathering: Path) -> None:
    sources = read(gathering).sources

    assert sources.cluster_version.metadata.name == "version"
    assert [one.metadata.name for one in sources.operators] == ["etcd"]
    assert not isinstance(sources.pools, Unknown)
    assert not isinstance(sources.nodes, Unknown)
    assert [one.metadata.name for one in sources.pools] == ["master"]
    assert [one.metadata.name for one in sources.nodes] == ["master-0"]
    assert (sources.versions, sources.operator_image) == ({"rendered-a": "4.15.0"}, "quay.io/x")
    assert list(sources.progress) == ["master-0"]
    assert [alert.labels.alertname for alert in sources.alerts] == ["B"]
    assert sources.gaps == ()


UPDATING = made(
    "config.openshift.io/v1",
    "ClusterVersion",
    "version",
    status={
        "conditions": [condition("Progressing", "True")],
        "history": [{"state": "Partial", "version": "4.16.0", "startedTime": "2024-02-27T14:00:00Z"}],
    },
)
DRAINING = made(
    "v1",
    "Node",
    "master-0",
    metadata={
        "labels": {"node-role.kubernetes.io/master": ""},
        "annotations": {
            f"{MC}/{name}": value
            for name, value in {
                "currentConfig": "rendered-a",
                "desiredConfig": "rendered-b",
                "desiredDrain": "drain-b",
                "lastAppliedDrain": "uncordon-a",
            }.items()
        },
    },
    spec={"taints": [{"key": "node.kubernetes.io/unschedulable", "timeAdded": "2024-02-27T14:50:00Z"}]},
)


def held(gathering: Path) -> Path:
    """The directory of namespace `shop` in a gathering of which a node drains."""
    (cluster,) = gathering.glob("*/cluster-scoped-resources")
    selector = {"matchLabels": {"node-role.kubernetes.io/master": ""}}
    wanted = made(f"{MC}/v1", "MachineConfigPool", "master", spec={"nodeSelector": selector})
    wanted["spec"]["configuration"] = {"name": "rendered-b"}
    target: Tree = {"metadata": {"annotations": {f"{MC}/release-image-version": "4.16.0"}}}
    for path, tree in {
        "config.openshift.io/clusterversions/version.yaml": UPDATING,
        "core/nodes/master-0.yaml": DRAINING,
        f"{MC}/machineconfigpools/master.yaml": wanted,
        f"{MC}/machineconfigs/rendered-b.yaml": made(f"{MC}/v1", "MachineConfig", "rendered-b", **target),
    }.items():
        (cluster / path).write_text(dump_all([tree]))
    return cluster.parent / "namespaces" / "shop"


def put(path: Path, kind: str, *items: Tree) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_all([{"apiVersion": items[0]["apiVersion"], "kind": f"{kind}List", "items": list(items)}]))


def test_of_a_node_that_drains_for_long_the_pods_and_budgets_are_read(gathering: Path) -> None:
    shop = held(gathering)
    gap = "what holds the drain of master-0: not among the files"
    reading = read(gathering)
    assert gap in assess(reading.sources, now=reading.now).gaps
    pod = made("v1", "Pod", "shop-0", namespace="shop", spec={"nodeName": "master-0"}, status={"phase": "Running"})
    put(shop / "core" / "pods.yaml", "Pod", pod)
    budget = made("policy/v1", "PodDisruptionBudget", "shop", namespace="shop", spec={"selector": {}})
    put(shop / "policy" / "poddisruptionbudgets.yaml", "PodDisruptionBudget", budget)
    reading = read(gathering)
    report = assess(reading.sources, now=reading.now)
    assert [cause.kind for cause in report.causes] == ["PodDisruptionBudget"]
    assert gap not in report.gaps


def test_the_pods_of_a_must_gather_are_not_read_without_need(gathering: Path) -> None:
    (image,) = gathering.glob("quay*")
    path = image / "namespaces" / "shop" / "core" / "pods.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("[nobody reads: this")
    assert read(gathering).sources.workload.nodes == ()


def test_the_moment_of_a_must_gather_is_its_beginning(gathering: Path) -> None:
    reading = read(gathering)

    assert rfc3339_nano(reading.now) == "2024-02-27T15:00:00.25Z"
    assert reading.wall == reading.now


def test_the_moment_is_not_before_the_last_transition(gathering: Path) -> None:
    (gathering / "timestamp").write_text("2024-02-27 14:00:00 +0000 UTC m=+0.12\n")

    assert rfc3339(read(gathering).now) == "2024-02-27T15:00:00Z"


def test_without_any_time_the_moment_is_the_present(tmp_path: Path) -> None:
    timeless = made("config.openshift.io/v1", "ClusterVersion", "version", status={"conditions": []})
    timeless["status"]["conditions"] = [{"type": "Progressing", "status": "False"}]
    (tmp_path / "all.yaml").write_text(dump_all([timeless, OPERATOR]))

    assert read(tmp_path / "all.yaml").now == WALL


def test_files_and_standard_input_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(dump_all(EVERYTHING))
    (tmp_path / "alerts.json").write_text(json.dumps(ALERTS))
    other = {**OPERATOR, "metadata": {"name": "dns"}}

    sources = read(tmp_path / "all.yaml", tmp_path / "alerts.json", "-", stdin=json.dumps(other).encode()).sources

    assert [one.metadata.name for one in sources.operators] == ["etcd", "dns"]
    assert [alert.labels.alertname for alert in sources.alerts] == ["A"]
    assert sources.gaps == ()


def test_of_an_object_that_is_there_twice_the_later_input_counts(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(dump_all(EVERYTHING))
    changed = {**VERSION, "status": {"desired": {"version": "4.15.1"}, "conditions": VERSION["status"]["conditions"]}}
    (tmp_path / "b.yaml").write_text(dump_all([changed]))

    assert read(tmp_path / "a.yaml", tmp_path / "b.yaml").sources.cluster_version.status.desired.version == "4.15.1"


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "few.yaml").write_text(dump_all([VERSION, OPERATOR, NODE]))

    sources = read(tmp_path / "few.yaml").sources

    assert sources.pools == Unknown("not among the files")
    assert isinstance(sources.operator_image, Unknown)
    assert sources.gaps == ("MachineConfig rendered-a: not among the files", "alerts: not among the files")


def test_a_node_that_cannot_be_read_is_a_gap(tmp_path: Path) -> None:
    broken = made("v1", "Node", "broken", spec={"unschedulable": "yes"})
    (tmp_path / "all.yaml").write_text(dump_all([*EVERYTHING, broken]))

    gaps = read(tmp_path / "all.yaml").sources.gaps

    assert "Node broken: spec.unschedulable: expected bool, got str" in gaps[0]


def test_an_operator_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    broken = made("config.openshift.io/v1", "ClusterOperator", "dns", status={"conditions": "none"})
    (tmp_path / "all.yaml").write_text(dump_all([*EVERYTHING, broken]))

    with pytest.raises(Problem, match=r"all\.yaml:\d+: ClusterOperator dns: status\.conditions: expected array"):
        read(tmp_path / "all.yaml")


LACKING = [
    ((OPERATOR,), "it lacks ClusterVersion version; found: 1 ClusterOperator."),
    ((VERSION, NODE), "it lacks ClusterOperators; found: 1 ClusterVersion, 1 Node."),
    ((NODE, POOL, {**NODE, "metadata": {"name": "b"}}), "ClusterVersion version and ClusterOperators; found: 2 Node, "),
    ((), "it lacks ClusterVersion version and ClusterOperators; found: no object of a cluster."),
    (({"metadata": {"name": "version"}},), "found: 1 objects without a kind."),
]


@pytest.mark.parametrize(("trees", "told"), LACKING)
def test_without_what_a_report_needs_the_error_says_what_was_found(
    tmp_path: Path, trees: tuple[Tree, ...], told: str
) -> None:
    (tmp_path / "all.yaml").write_text(dump_all(trees))

    with pytest.raises(Problem) as raised:
        read(tmp_path / "all.yaml")

    assert str(raised.value).startswith(f"no report can be made of {tmp_path}/all.yaml: it lacks ")
    assert told in str(raised.value)
    assert "oc get clusterversion,clusteroperators" in str(raised.value)


def test_a_must_gather_that_arrives_as_an_archive_is_read_like_its_directory(gathering: Path, tmp_path: Path) -> None:
    packed = tmp_path / "mg.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(
            gathering, arcname="must-gather.local.4711", filter=lambda one: None if "mg.tar" in one.name else one
        )
    whole, unpacked = read(packed), read(gathering)

    assert whole.sources == unpacked.sources
    assert whole.now == unpacked.now
    assert rfc3339_nano(whole.now) == "2024-02-27T15:00:00.25Z"


def test_a_healthy_gathering_at_rest_has_no_gap_although_it_lacks_the_image_of_an_operator(gathering: Path) -> None:
    image = next(gathering.glob("*/namespaces/openshift-machine-config-operator/apps/deployments.yaml"))
    image.unlink()
    (pools,) = gathering.glob(f"*/cluster-scoped-resources/{MC}/machineconfigpools")
    (pools / "worker.yaml").write_text(dump_all([made(f"{MC}/v1", "MachineConfigPool", "worker")]))
    version = next(gathering.glob("*/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml"))
    assert assess(read(gathering).sources, now=WALL).gaps != ()

    version.write_text(dump_all([{**VERSION, "status": {"conditions": [condition("Progressing", "False")]}}]))

    assert assess(read(gathering).sources, now=WALL).gaps == ()


INSIGHTS = {
    "version.json": VERSION,
    "clusteroperator/etcd.json": OPERATOR,
    "machineconfigpools/master.json": POOL,
    "machineconfigs/rendered-a.json": CONFIG,
    "node/master-0.json": NODE,
}


@pytest.mark.parametrize("named", [True, False], ids=["with-kinds", "without-kinds"])
def test_an_archive_of_the_insights_operator_is_read_by_the_places_of_its_files(tmp_path: Path, named: bool) -> None:
    config = tmp_path / "config"
    for name, tree in INSIGHTS.items():
        (config / name).parent.mkdir(parents=True, exist_ok=True)
        (config / name).write_text(
            json.dumps(tree if named else {key: tree[key] for key in tree if key not in ("kind", "apiVersion")})
        )
    related = config / "clusteroperator/operator.openshift.io/etcd/cluster.json"
    related.parent.mkdir(parents=True)
    related.write_text(json.dumps({"metadata": {"name": "cluster"}}))
    (config / "alerts.json").write_text("[1, 2]")
    (config / "running_containers.json").write_text("nothing that is JSON: [")
    packed = tmp_path / "insights-2026-11-01.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(config, arcname="config")

    for source in (tmp_path, packed):
        sources = read(source).sources
        assert sources.cluster_version.metadata.name == "version"
        assert [one.metadata.name for one in sources.operators] == ["etcd"]
        assert sources.nodes_known
        assert sources.versions == {"rendered-a": "4.15.0"}


def test_input_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="nowhere: No such file or directory"):
        read(tmp_path / "nowhere")


def test_a_pipe_in_a_must_gather_is_not_waited_for(gathering: Path) -> None:
    (cluster,) = gathering.glob("*/cluster-scoped-resources")
    os.mkfifo(cluster / "core/nodes.yaml")
    found = [*files(gathering, INTEREST)]
    assert cluster / "core/nodes/master-0.yaml" in found
    assert cluster / "core/nodes.yaml" not in found


def test_a_must_gather_in_which_prometheus_did_not_answer_has_no_alerts(gathering: Path) -> None:
    next(gathering.glob("*/monitoring/prometheus/rules.json")).write_text("curl: (7) refused")

    assert read(gathering).sources.gaps == ("alerts: not among the files",)


@pytest.mark.parametrize(("topology", "hosted"), [("External", True), ("HighlyAvailable", False)])
def test_a_gathering_of_a_hosted_cluster_says_so(tmp_path: Path, topology: str, *, hosted: bool) -> None:
    infrastructure = made(
        "config.openshift.io/v1", "Infrastructure", "cluster", status={"controlPlaneTopology": topology}
    )
    (tmp_path / "all.yaml").write_text(dump_all([VERSION, OPERATOR, infrastructure]))
    if hosted:
        with pytest.raises(Problem, match="this cluster has a hosted control plane"):
            read_dump([str(tmp_path)], stdin=io.BytesIO(), wall=WALL)
    else:
        assert read_dump([str(tmp_path)], stdin=io.BytesIO(), wall=WALL).sources.operators
