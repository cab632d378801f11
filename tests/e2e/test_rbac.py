"""The ServiceAccount that we ship may do what Machine sync does, and nothing else: the audit log proves it.

`windlass run machine-sync` runs under it through everything that makes it read or write, on both platforms. The API
server has no streaming lists here, so that caches list and watch; with them they only watch.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.authorizer import until_allowed
from tests.objects import Kind, Tree
from tests.waiting import wait_until
from windlass.api import config, mapi
from windlass.api.coordination import Lease
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME, MACHINE_API_NAMESPACE
from windlass.testing import BlockingControlPlane, crds
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.manifests import read_manifests
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import APPLY_PATCH, MERGE_PATCH, Rest

from ..api.machine_sync.stage import CLUSTER_ID, REPORTED
from .rbac_cluster import NAME, OURS, USER, Cluster, MachineSync
from .rbac_play import AWS, play_everything
from .rights import granted, uses

pytestmark = pytest.mark.plane


DEPLOY = Path(__file__).parents[2] / "deploy" / "machine-sync"
RBAC_FILE = DEPLOY / "base" / "rbac.yaml"
RBAC = "rbac.authorization.k8s.io"
NOT_SERVED = {"monitoring.coreos.com/v1"}
"""The Prometheus Operator's, which is not here."""
MANIFESTS = [
    file
    for file in sorted(DEPLOY.rglob("*.yaml"))
    if file.name != "kustomization.yaml" and file != DEPLOY / "components" / "metrics" / "deployment.yaml"
]
"""All but what only kustomize reads: its own files, and a patch."""
ASKED_BY_ADMISSION = {
    (MACHINE_API_NAMESPACE, "machine.openshift.io", "machinesets/finalizers", "update"),
    (CLUSTER_API_NAMESPACE, "cluster.x-k8s.io", "machinesets/finalizers", "update"),
    (CLUSTER_API_NAMESPACE, "cluster.x-k8s.io", "machines/finalizers", "update"),
    (CLUSTER_API_NAMESPACE, "cluster.x-k8s.io", "clusters/finalizers", "update"),
}
"""What is granted and stands in no audit line: OwnerReferencesPermissionEnforcement asks the authorizer whether a
mirror may block the deletion of its owner. Without it no mirror is made, as a test here shows for each."""


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster with CRDs, namespaces, the feature gate on, and our RBAC as it is shipped."""
    flags = ["--feature-gates=WatchList=false"]
    assets, known = request.config.getoption("windlass_assets"), crds.documents(*crds.MACHINES)
    with BlockingControlPlane(apiserver_flags=flags, assets=assets, crds=known) as plane:
        cluster = Cluster(plane)
        plane.apply_files(RBAC_FILE)
        for kind, name, content in _SINGLETONS:
            cluster.make(kind, name, content.get("spec", {}), status=content["status"])
        yield cluster


@pytest.fixture(scope="module")
def machine_sync(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSync]:
    """The process, after it has played through everything."""
    folder = tmp_path_factory.mktemp("rbac")
    processes = Processes(folders=[], log=folder / "supervisor.log")
    try:
        process = MachineSync(cluster, processes, folder / "machine-sync.log")
        play_everything(cluster)
        play_scraping(cluster, process)
        yield process
    finally:
        processes.close()


def play_scraping(cluster: Cluster, process: MachineSync) -> None:
    """Somebody who may, and somebody who may not."""
    for name in ("scraper", "curious"):
        cluster.plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _placed(name)})
    cluster.plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "scraper"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "windlass-machine-sync-metrics-reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "scraper", "namespace": OURS}],
        }
    )
    may = Rest(process.metrics_url, token=_token(cluster, "scraper"))
    wait_until("the scraper may", lambda: _status(may) == 200)
    scraped = may.text("GET", "/metrics")
    assert 'windlass_machines{authority="ClusterAPI"' in scraped
    assert 'windlass_machinesets{authority="ClusterAPI"' in scraped
    assert _status(Rest(process.metrics_url, token=_token(cluster, "curious"))) == 403


def test_everything_that_is_granted_is_used(cluster: Cluster, machine_sync: MachineSync) -> None:
    used = uses(cluster.plane.audit, USER, "allow")
    unused = {grant[:4] for grant in granted(RBAC_FILE, NAME) if not any(grant.covers(use) for use in used)}
    assert unused == ASKED_BY_ADMISSION


def test_nothing_is_refused(cluster: Cluster, machine_sync: MachineSync) -> None:
    assert uses(cluster.plane.audit, USER, "forbid") == set()


def test_nothing_beyond_the_grants_is_used(cluster: Cluster, machine_sync: MachineSync) -> None:
    """Rights that every ServiceAccount has would hide what a stricter cluster refuses."""
    grants = granted(RBAC_FILE, NAME)
    assert {
        use for use in uses(cluster.plane.audit, USER, "allow") if not any(grant.covers(use) for grant in grants)
    } == set()


@pytest.mark.parametrize(
    ("namespace", "group", "owner", "name"),
    [(namespace, group, owner, f"h{n}") for n, (namespace, group, owner, _) in enumerate(sorted(ASKED_BY_ADMISSION))],
)
def test_no_mirror_is_made_without_what_admission_asks_for(
    cluster: Cluster, machine_sync: MachineSync, namespace: str, group: str, owner: str, name: str
) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{NAME}"
    whole = cluster.rest.request("GET", path)["rules"]
    less = [rule for rule in whole if rule["resources"] != [owner]]
    assert len(less) == len(whole) - 1
    cluster.rest.request("PATCH", path, {"rules": less}, content_type=MERGE_PATCH)
    try:
        until_allowed(
            cluster.rest, USER, "update", owner.replace("/", f".{group}/"), namespace=namespace, allowed=False
        )
        if namespace == MACHINE_API_NAMESPACE:
            cluster.make_machine(name, infra=AWS.infra, kind=AWS.infra_machine)
            cluster.until_event(CLUSTER_API_NAMESPACE, name, "SynchronizationWarning", "blockOwnerDeletion")
        else:
            of_set = "workers" if owner.startswith("machinesets") else ""
            cluster.make_machine_api_machine(name, AWS.provider_spec, of_set=of_set)
            cluster.until_reported(mapi.Machine, name, "blockOwnerDeletion")
    finally:
        cluster.rest.request("PATCH", path, {"rules": whole}, content_type=MERGE_PATCH)
    cluster.until_synchronized(name)


def test_the_lease_is_given_back_at_the_end(cluster: Cluster, machine_sync: MachineSync) -> None:
    machine_sync.stop()
    lease = cluster.rest.request("GET", Lease.RESOURCE.path(LEASE_NAME, namespace=CLUSTER_API_NAMESPACE))
    assert not lease["spec"].get("holderIdentity")


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_the_api_server_takes_every_manifest(cluster: Cluster, file: Path) -> None:
    documents = [one for one in read_manifests([file]) if one["apiVersion"] not in NOT_SERVED]
    for document in documents:
        place = document["metadata"].get("namespace")
        prefix = f"/apis/{document['apiVersion']}" if "/" in document["apiVersion"] else "/api/v1"
        path = f"{prefix}/namespaces/{place}" if place else prefix
        singular = document["kind"].lower()
        plural = f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
        answer = cluster.rest.request(
            "PATCH",
            f"{path}/{plural}/{document['metadata']['name']}?dryRun=All&fieldManager=test&force=true"
            "&fieldValidation=Strict",
            document,
            content_type=APPLY_PATCH,
        )
        assert answer["metadata"]["name"] == document["metadata"]["name"]


def _token(cluster: Cluster, name: str) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = cluster.rest.request("POST", f"/api/v1/namespaces/{OURS}/serviceaccounts/{name}/token", body)
    token: str = answer["status"]["token"]
    return token


def _status(rest: Rest) -> int:
    try:
        rest.text("GET", "/metrics")
    except Refused as refused:
        return refused.status
    return 200


def _placed(name: str) -> Tree:
    return {"name": name, "namespace": OURS}


_SINGLETONS: tuple[tuple[Kind, str, Tree], ...] = (
    (
        config.FeatureGate,
        "cluster",
        {"status": {"featureGates": [{"version": "4.21.0", "enabled": [{"name": "MachineAPIMigration"}]}]}},
    ),
    (
        config.ClusterVersion,
        "version",
        {
            "spec": {"clusterID": CLUSTER_ID},
            "status": {"desired": {"version": "4.21.0", "image": "quay.io/release"}, **REPORTED},
        },
    ),
    (
        config.Infrastructure,
        "cluster",
        {"status": {"infrastructureName": "c", "platformStatus": {"type": "OpenStack"}}},
    ),
)
