"""The CRD of UpdateStatus on the real API server: it takes the CRD, and enforces each rule."""

import copy
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from tests.unit.update_status.drawn import NOW, clusters, odd_clusters
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.connection import ADMIN
from windlass.testing.plane.errors import Refused
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.document import write
from windlass.update_status.installation import UPDATE_STATUS
from windlass.update_status.sources import Sources

pytestmark = pytest.mark.plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATH = UpdateStatus.RESOURCE.path()

NOON = "2023-11-21T15:04:15Z"
CLUSTER_VERSION = {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"}
NODE_NAME = "ip-10-0-4-159.us-east-2.compute.internal"

Tree = dict[str, Any]


def pool_ref(name: str) -> Tree:
    return {"group": "machineconfiguration.openshift.io", "resource": "machineconfigpools", "name": name}


def condition(kind: str, status: str, reason: str, message: str = "") -> Tree:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": NOON}


def entry(uid: str, kind: str, member: str, insight: Tree) -> Tree:
    return {"uid": uid, "acquiredAt": NOON, "insight": {"type": kind, member: insight}}


def cluster_version(**versions: Tree) -> Tree:
    return entry(
        "cv-version",
        "ClusterVersion",
        "clusterVersion",
        {
            "resource": CLUSTER_VERSION,
            "assessment": "Progressing",
            "completionPercent": 3,
            "startedAt": "2023-11-21T15:02:46Z",
            "estimatedCompletedAt": "2023-11-21T16:29:15Z",
            "baselineSeconds": 4342,
            "progressingReason": "ClusterOperatorUpdating",
            "versions": {
                "previous": {"version": "4.14.1", "metadata": [{"key": "Partial"}]},
                "target": {"version": "4.15.0-ec.2"},
            }
            | versions,
            "conditions": [condition("Updating", "True", "ClusterVersionProgressing")],
        },
    )


def operator(*conditions: Tree) -> Tree:
    return entry(
        "co-etcd",
        "ClusterOperator",
        "clusterOperator",
        {
            "name": "etcd",
            "resource": {"group": "config.openshift.io", "resource": "clusteroperators", "name": "etcd"},
            "conditions": list(conditions),
            "progressingReason": "NodeInstaller",
        },
    )


def health(**changes: Any) -> Tree:
    return entry(
        "health-9f86d081884c7d65",
        "Health",
        "health",
        {
            "startedAt": "2023-11-21T15:02:46Z",
            "firstSeenAt": "2023-11-21T15:02:50Z",
            "scope": {"type": "ControlPlane", "resources": [CLUSTER_VERSION]},
            "impact": {
                "level": "Warning",
                "type": "None",
                "summary": "Previous update to 4.14.1 never completed, last complete update was 4.14.0-rc.7",
            },
            "remediation": {"reference": "https://docs.openshift.com/container-platform/latest"},
        }
        | changes,
    )


def pool(name: str, **changes: Any) -> Tree:
    return entry(
        f"mcp-{name}",
        "MachineConfigPool",
        "machineConfigPool",
        {
            "name": name,
            "resource": pool_ref(name),
            "scopeType": "WorkerPool",
            "assessment": "Completed",
            "completionPercent": 100,
            "rolloutState": "Unpaused",
            "summaries": [{"type": "Total", "count": 3}, {"type": "Available", "count": 3}],
            "conditions": [condition("Updating", "False", "Updated")],
        }
        | changes,
    )


def node(*conditions: Tree, **changes: Any) -> Tree:
    pending = (
        condition("Updating", "False", "Pending", "The update of the node is pending"),
        condition("Available", "True", "AsExpected", "The node is available"),
        condition("Degraded", "False", "AsExpected", "The node is not degraded"),
    )
    return entry(
        "node-ip-10-0-4-159-us-east-2-compute-internal",
        "Node",
        "node",
        {
            "name": NODE_NAME,
            "resource": {"resource": "nodes", "name": NODE_NAME},
            "poolResource": pool_ref("worker"),
            "scopeType": "WorkerPool",
            "version": "4.14.1",
            "observedSince": NOON,
            "conditions": list(conditions or pending),
        }
        | changes,
    )


def worked_instance() -> Tree:
    return {
        "apiVersion": "update.openshift.io/v1alpha1",
        "kind": "UpdateStatus",
        "metadata": {"name": "cluster"},
        "spec": {},
        "status": {
            "conditions": [condition("Available", "True", "AsExpected", "2 informers reporting")],
            "overview": {
                "state": "Updating",
                "assessment": "Progressing",
                "previous": "4.14.1",
                "target": "4.15.0-ec.2",
                "completionPercent": 3,
                "totalOperators": 33,
                "operatorsLeft": 32,
                "totalWorkers": 3,
                "workersLeft": 3,
                "worstLevel": "Warning",
                "warningInsights": 1,
                "errorInsights": 0,
                "criticalInsights": 0,
            },
            "controlPlane": {
                "resource": CLUSTER_VERSION,
                "poolResource": pool_ref("master"),
                "conditions": [condition("Updating", "True", "ClusterVersionProgressing")],
                "informers": [
                    {
                        "name": "cpi",
                        "insights": [
                            cluster_version(),
                            operator(
                                condition("Updating", "True", "Progressing", "NodeInstallerProgressing: ..."),
                                condition("Healthy", "True", "AsExpected"),
                            ),
                            health(),
                        ],
                    },
                    {"name": "ni", "insights": [pool("master", scopeType="ControlPlane")]},
                ],
            },
            "workerPools": [
                {
                    "name": "worker",
                    "resource": pool_ref("worker"),
                    "conditions": [condition("Updating", "False", "Pending")],
                    "informers": [{"name": "ni", "insights": [node()]}],
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def plane(installed: BlockingAccess) -> BlockingAccess:
    return installed


def test_the_api_server_knows_every_field_of_the_manifest(plane: BlockingAccess) -> None:
    manifest = UPDATE_STATUS.manifest()
    path = f"{CRDS}/{UpdateStatus.RESOURCE.name}"
    version = plane.rest.request("GET", path)["metadata"]["resourceVersion"]
    body = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
    plane.rest.request("PUT", f"{path}?fieldValidation=Strict&dryRun=All", body)


class Server:
    """Writes the one UpdateStatus, which is there without a status."""

    def __init__(self, plane: BlockingAccess) -> None:
        self._rest = plane.rest

    def create(self, body: Tree) -> Tree:
        created: Tree = self._rest.request("POST", f"{PATH}?fieldValidation=Strict", body)
        return created

    def write(self, body: Tree) -> Tree:
        found = self._rest.request("GET", f"{PATH}/cluster")
        whole = body | {"metadata": found["metadata"]}
        written: Tree = self._rest.request("PUT", f"{PATH}/cluster/status?fieldValidation=Strict", whole)
        return written


@pytest.fixture
def server(plane: BlockingAccess) -> Iterator[Server]:
    server = Server(plane)
    plane.rest.request("POST", PATH, worked_instance() | {"status": {}})
    yield server
    plane.rest.request("DELETE", f"{PATH}/cluster")


def in_control_plane(*insights: Tree, informer: str = "cpi") -> Callable[[Tree], None]:
    def change(status: Tree) -> None:
        status["controlPlane"]["informers"] = [{"name": informer, "insights": list(insights)}]

    return change


def in_worker_pool(*insights: Tree) -> Callable[[Tree], None]:
    def change(status: Tree) -> None:
        status["workerPools"][0]["informers"] = [{"name": "ni", "insights": list(insights)}]

    return change


def control_plane(**fields: Any) -> Callable[[Tree], None]:
    return lambda status: status["controlPlane"].update(fields)


def worker_pool(**fields: Any) -> Callable[[Tree], None]:
    return lambda status: status["workerPools"][0].update(fields)


def union(entry: Tree, **changes: Any) -> Tree:
    """The entry with members of its union changed; None removes one."""
    changed = copy.deepcopy(entry)
    changed["insight"] = {key: value for key, value in (changed["insight"] | changes).items() if value is not None}
    return changed


def new_installation() -> Tree:
    return cluster_version(previous={"version": "<none>", "metadata": [{"key": "Installation"}]})


def test_the_worked_instance_is_stored_whole(server: Server) -> None:
    body = worked_instance()
    assert server.write(body)["status"] == body["status"]


def test_a_minimal_object_is_accepted(server: Server) -> None:
    assert server.write(worked_instance() | {"status": {}}).get("status", {}) == {}


def test_the_only_name_is_cluster(plane: BlockingAccess, server: Server) -> None:
    with pytest.raises(Refused, match="the only UpdateStatus is named cluster"):
        server.create(worked_instance() | {"metadata": {"name": "mine"}})


def test_spec_is_required(plane: BlockingAccess) -> None:
    body = worked_instance()
    del body["spec"]
    with pytest.raises(Refused, match="spec: Required value"):
        plane.rest.request("POST", PATH, body)


HOSTED = {"group": "hypershift.openshift.io", "resource": "hostedclusters", "name": "one", "namespace": "clusters"}
NODE_POOL = {"group": "hypershift.openshift.io", "resource": "nodepools", "name": "worker", "namespace": "clusters"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(in_control_plane(new_installation()), id="an installation"),
        pytest.param(in_control_plane(cluster_version(previous={"version": "4.14.1"})), id="an update"),
        pytest.param(control_plane(resource=HOSTED), id="a hosted cluster"),
        pytest.param(worker_pool(resource=NODE_POOL), id="a NodePool"),
        pytest.param(
            in_control_plane(
                operator(condition("Updating", "False", "Pending"), condition("Healthy", "False", "Degraded", "sick"))
            ),
            id="an operator that is pending and degraded",
        ),
        pytest.param(in_worker_pool(pool("worker")), id="a pool that is completed"),
        pytest.param(
            in_worker_pool(
                node(
                    condition("Updating", "True", "Draining", "The node is draining"),
                    condition("Available", "False", "Unavailable", "Unschedulable | Disk Pressure"),
                    message="Unschedulable | Disk Pressure",
                    estimatedSecondsToComplete=600,
                )
            ),
            id="a node that is draining",
        ),
        pytest.param(
            in_control_plane(
                health(
                    scope={"type": "ControlPlane", "resources": [CLUSTER_VERSION, pool_ref("master")]},
                    remediation={"estimatedFinish": NOON},
                )
            ),
            id="a health insight about two objects, with an end and without documentation",
        ),
        pytest.param(
            in_worker_pool(pool("pool.a") | {"uid": "mcp-pool-a-12345678"}), id="a pool with a dot in its name"
        ),
        pytest.param(
            in_control_plane(
                health(
                    scope={
                        "type": "ControlPlane",
                        "resources": [{"group": "config.openshift.io", "resource": "alerts", "name": "KubePodDown"}],
                    }
                )
            ),
            id="an alert, which is named in capitals",
        ),
    ],
)
def test_it_is_accepted(server: Server, change: Callable[[Tree], None]) -> None:
    body = worked_instance()
    change(body["status"])
    assert server.write(body)["status"] == body["status"]


def versions_error(side: str) -> str:
    if side == "previous":
        return "previous version must be '<none>' iff marked with Installation metadata"
    return "target version must not be '<none>' or have Installation metadata"


def many(count: int) -> list[Tree]:
    return [health() | {"uid": f"health-{number}"} for number in range(count)]


def pools(count: int) -> Callable[[Tree], None]:
    def change(status: Tree) -> None:
        status["workerPools"] = [{"name": f"p{one}", "resource": pool_ref(f"p{one}")} for one in range(count)]

    return change


INSTALLATION = [{"key": "Installation"}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            in_control_plane(cluster_version(previous={"version": "<none>"})), versions_error("previous"), id="unmarked"
        ),
        pytest.param(
            in_control_plane(cluster_version(previous={"version": "4.14.1", "metadata": INSTALLATION})),
            versions_error("previous"),
            id="marked",
        ),
        pytest.param(
            in_control_plane(cluster_version(target={"version": "<none>"})), versions_error("target"), id="no target"
        ),
        pytest.param(
            in_control_plane(cluster_version(target={"version": "4.15.0", "metadata": INSTALLATION})),
            versions_error("target"),
            id="a target that was installed",
        ),
        pytest.param(in_control_plane(cluster_version(target={"version": "latest"})), "should match", id="no version"),
        pytest.param(
            control_plane(resource=pool_ref("master")),
            "controlPlane.resource must be either a clusterversions.config.openshift.io or a "
            "hostedclusters.hypershift.openshift.io resource",
            id="control plane",
        ),
        pytest.param(
            control_plane(poolResource=CLUSTER_VERSION),
            "controlPlane.poolResource must be a machineconfigpools.machineconfiguration.openshift.io resource",
            id="pool of the control plane",
        ),
        pytest.param(
            worker_pool(resource=CLUSTER_VERSION | {"name": "worker"}),
            "workerPools[].poolResource must be a machineconfigpools.machineconfiguration.openshift.io or "
            "hostedclusters.hypershift.openshift.io resource",
            id="pool of workers",
        ),
        pytest.param(
            worker_pool(resource=pool_ref("infra")), "workerPools .name must match .resource.name", id="two names"
        ),
        pytest.param(
            in_worker_pool(node(poolResource=CLUSTER_VERSION)),
            'supported values: "machineconfigpools"',
            id="pool of a node",
        ),
        pytest.param(
            in_worker_pool(node(resource=CLUSTER_VERSION)), "resource must be a nodes resource", id="another node"
        ),
        pytest.param(in_worker_pool(cluster_version()), "unknown field", id="ClusterVersion in a pool"),
        pytest.param(in_worker_pool(operator()), "unknown field", id="ClusterOperator in a pool"),
        *(
            pytest.param(
                in_control_plane(union(entry, **{member: None})),
                f"{member} is required when type is {kind}, and forbidden otherwise",
                id=f"{kind} without its member",
            )
            for kind, member, entry in (
                ("ClusterVersion", "clusterVersion", cluster_version()),
                ("ClusterOperator", "clusterOperator", operator()),
                ("MachineConfigPool", "machineConfigPool", pool("master")),
                ("Node", "node", node()),
                ("Health", "health", health()),
            )
        ),
        pytest.param(
            in_worker_pool(union(node(), health=health()["insight"]["health"])),
            "health is required when type is Health, and forbidden otherwise",
            id="two members",
        ),
        pytest.param(in_control_plane(health(), health()), "Duplicate value", id="one uid twice"),
        pytest.param(in_control_plane(health() | {"uid": "Health/Ab+="}), "should match", id="a uid in base64"),
        pytest.param(in_control_plane(health() | {"uid": "h" * 64}), "may not be more than 63", id="a long uid"),
        pytest.param(
            in_control_plane(health(remediation={"reference": "javascript:alert(1)"})), "should match", id="a script"
        ),
        pytest.param(
            in_control_plane(operator(condition("Updating", "True", "Node is marked unschedulable | Not ready"))),
            "Unsupported value",
            id="a reason in free text",
        ),
        pytest.param(
            in_control_plane(operator(condition("Updating", "True", "Progressing") | {"lastTransitionTime": None})),
            "lastTransitionTime: Required value",
            id="a condition since never",
        ),
        pytest.param(in_worker_pool(node(message="m" * 101)), "may not be more than 100", id="a long message"),
        pytest.param(
            in_worker_pool(pool("worker", completionPercent=101)), "less than or equal to 100", id="beyond 100 %"
        ),
        pytest.param(in_control_plane(*many(129)), "must have at most 128 items", id="129 insights"),
        pytest.param(in_worker_pool(*many(1025)), "must have at most 1024 items", id="1025 insights of a pool"),
        pytest.param(pools(33), "must have at most 32 items", id="33 pools"),
        pytest.param(
            in_control_plane(health(scope={"type": "ControlPlane", "resources": [CLUSTER_VERSION] * 17})),
            "must have at most 16 items",
            id="17 objects",
        ),
    ],
)
def test_it_is_refused(server: Server, change: Callable[[Tree], None], message: str) -> None:
    body = worked_instance()
    change(body["status"])
    with pytest.raises(Refused) as refused:
        server.write(body)
    assert message in str(refused.value)


def test_the_biggest_object_is_accepted_and_its_managed_fields_stay_small(server: Server) -> None:
    body = worked_instance()
    conditions = [condition("Available", "False", "Unavailable", "m" * 400), condition("Updating", "False", "Pending")]
    nodes = [
        union(node()) | {"uid": f"node-{number}", "insight": node(*conditions, message="m" * 100)["insight"]}
        for number in range(500)
    ]
    in_worker_pool(*nodes, *many(100))(body["status"])
    in_control_plane(*many(127), cluster_version())(body["status"])
    written = server.write(body)
    owned = written["metadata"].pop("managedFields")
    assert written["status"] == body["status"]
    assert len(msgspec.json.encode(owned)) < len(msgspec.json.encode(body["status"])) / 4


def as_kubectl_gets(plane: BlockingAccess, path: str) -> Tree:
    """The table that the server makes of the columns."""
    connection = plane.connection
    request = urllib.request.Request(
        connection.url + path,
        headers={
            "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io",
            "Authorization": f"Bearer {connection.tokens[ADMIN]}",
        },
    )
    trusted = ssl.create_default_context(cafile=str(connection.ca_file))
    with urllib.request.urlopen(request, context=trusted) as answer:
        table: Tree = msgspec.json.decode(answer.read())
    return table


def test_kubectl_shows_the_update_in_a_line(plane: BlockingAccess, server: Server) -> None:
    server.write(worked_instance())
    table = as_kubectl_gets(plane, PATH)
    shown = dict(zip([column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    del shown["Age"]
    assert shown == {
        "Name": "cluster",
        "State": "Updating",
        "Assessment": "Progressing",
        "From": "4.14.1",
        "To": "4.15.0-ec.2",
        "Percent": 3,
        "Operators Left": 32,
        "Workers Left": 3,
        "Health": "Warning",
        "Operators": 33,
        "Workers": 3,
        "Critical": 0,
        "Errors": 0,
        "Warnings": 1,
        "Trusted": "True",
    }


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(clusters() | odd_clusters())
def test_whatever_the_cluster_is_the_server_stores_what_was_written(server: Server, sources: Sources) -> None:
    try:
        status = write(assess(sources, now=NOW), now=NOW)
    except Problem:
        return
    stored = server.write(worked_instance() | {"status": msgspec.to_builtins(status)})
    assert msgspec.convert(stored["status"], UpdateStatusStatus) == status
