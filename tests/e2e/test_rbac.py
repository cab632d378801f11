"""The ServiceAccount that we ship may do what Machine sync does, and nothing else: the audit log proves it.

`windlass run machine-sync` runs under it through everything that makes it read or write, on both platforms. The API
server has no streaming lists here, so that caches list and watch; with them they only watch.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from windlass.api import capa, capi, capo, config, core, mapi
from windlass.api.coordination import Lease
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME, MACHINE_API_NAMESPACE
from windlass.testing import BlockingControlPlane
from windlass.testing.plane.access import found
from windlass.testing.plane.errors import Refused, Unreachable
from windlass.testing.plane.manifests import read_manifests
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import APPLY_PATCH, MERGE_PATCH, Rest
from windlass.testing.plane.waiting import wait_for

pytestmark = [pytest.mark.plane, pytest.mark.xdist_group("rbac")]

Tree = dict[str, Any]
T = TypeVar("T")
Kind = type[KubernetesObject]

DEPLOY = Path(__file__).parents[2] / "deploy" / "machine-sync"
RBAC = "rbac.authorization.k8s.io"
OURS, NAME = "windlass-system", "windlass-machine-sync"
USER = f"system:serviceaccount:{OURS}:{NAME}"
PATIENCE = 60.0
CLUSTER_API_FINALIZER = "machine.cluster.x-k8s.io"
NOT_SERVED = {"monitoring.coreos.com/v1"}
"""The Prometheus Operator's, which is not here."""
MANIFESTS = [
    file
    for file in sorted(DEPLOY.rglob("*.yaml"))
    if file.name != "kustomization.yaml" and file != DEPLOY / "components" / "metrics" / "deployment.yaml"
]
"""All but what only kustomize reads: its own files, and a patch."""
MACHINE_SETS = (mapi.MachineSet, capi.MachineSet)

ASKED_BY_ADMISSION = {
    (MACHINE_API_NAMESPACE, "machine.openshift.io", "machinesets/finalizers", "update"): (
        "OwnerReferencesPermissionEnforcement asks whether a mirror may block the deletion of its MachineSet; "
        "it asks the authorizer, so no request names it"
    ),
}
"""What is granted and stands in no audit line, and why. Without it no mirror is made, as a test here shows."""


class Grant(NamedTuple):
    """One verb on one resource; `namespace` empty: cluster-wide; `names` empty: all objects."""

    namespace: str
    group: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()

    def covers(self, use: "Use") -> bool:
        return use[:4] == self[:4] and (not self.names or use.name in self.names)


class Use(NamedTuple):
    """One request, in the words of a grant."""

    namespace: str
    group: str
    resource: str
    verb: str
    name: str


class Cluster:
    """The plane with what a cluster has before Windlass comes, and what people and other controllers do there."""

    def __init__(self, plane: BlockingControlPlane) -> None:
        self.plane = plane
        self.rest = plane.rest
        self.sets: dict[Kind, Tree] = {}

    def make(self, kind: Kind, name: str, content: Tree, **metadata: Any) -> Tree:
        resource = kind.RESOURCE
        place = _namespace(kind)
        made: Tree = self.rest.request(
            "POST",
            resource.path(namespace=place),
            {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **metadata}}
            | content,
        )
        return made

    def merge(self, kind: Kind, name: str, body: Tree, *, subresource: str = "") -> None:
        path = kind.RESOURCE.path(name, namespace=_namespace(kind), subresource=subresource)
        self.rest.request("PATCH", path, body, content_type=MERGE_PATCH)

    def delete(self, kind: Kind, name: str) -> None:
        self.rest.request("DELETE", kind.RESOURCE.path(name, namespace=_namespace(kind)))

    def look(self, kind: Kind, name: str) -> Tree | None:
        return found(self.rest, kind.RESOURCE.path(name, namespace=_namespace(kind)))

    def force_away(self, kind: Kind, name: str) -> None:
        """Deleted, and the finalizers that hold it taken off by force."""
        with contextlib.suppress(Refused):  # somebody may have been faster
            self.delete(kind, name)
            self.merge(kind, name, {"metadata": {"finalizers": None}})

    # what people do

    def runs_on(self, platform: str) -> None:
        self.merge(config.Infrastructure, "cluster", {"status": {"platformStatus": {"type": platform}}}, **_STATUS)

    def make_sets(self) -> None:
        """A MachineSet on both sides."""
        selector = {"matchLabels": {"set": "workers"}}
        template = {"metadata": {"labels": {"set": "workers"}}, "spec": _machine_spec("template", "OpenStackMachine")}
        twin = {"authoritativeAPI": "ClusterAPI", "selector": selector, "template": {"spec": {}}}
        spec = {"clusterName": "c", "selector": selector, "template": template}
        self.sets = {
            mapi.MachineSet: self.make(mapi.MachineSet, "workers", {"spec": twin}),
            capi.MachineSet: self.make(capi.MachineSet, "workers", {"spec": spec}),
        }

    def make_machine(
        self, name: str, *, infra: Tree | None, kind: Kind = capo.OpenStackMachine, cluster: str = "c", **spec: Any
    ) -> None:
        """A Cluster API Machine of the MachineSet, and its infrastructure machine unless `infra` is None."""
        owner = {
            "apiVersion": capi.MachineSet.RESOURCE.api_version,
            "kind": "MachineSet",
            "name": "workers",
            "uid": self.sets[capi.MachineSet]["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        made = self.make(
            capi.Machine,
            name,
            {"spec": {**_machine_spec(name, kind.RESOURCE.kind), "clusterName": cluster, **spec}},
            ownerReferences=[owner],
            # Here and below: what Cluster API's core controller does, which does not run here.
            finalizers=[CLUSTER_API_FINALIZER],
        )
        if infra is not None:
            resource = capi.Machine.RESOURCE
            owned_by = {"apiVersion": resource.api_version, "kind": resource.kind, "uid": made["metadata"]["uid"]}
            self.make(kind, name, {"spec": infra}, ownerReferences=[{**owned_by, "name": name}])

    def let_machine_go(self, name: str) -> None:
        """What Cluster API's core controller does when the infrastructure of a machine is gone."""
        before = self.look(capi.Machine, name)
        if before is not None:
            kept = [one for one in before["metadata"].get("finalizers", []) if one != CLUSTER_API_FINALIZER]
            self.merge(capi.Machine, name, {"metadata": {"finalizers": kept}})

    # what is seen

    def until(self, what: str, look: Callable[[], T | None]) -> T:
        seen = wait_for(look, seconds=PATIENCE)
        assert seen is not None, f"not within {PATIENCE:.0f} s: {what}"
        return seen

    def until_synchronized(self, name: str) -> None:
        self.until(f"{name} is synchronized", lambda: self._synchronized(name) or None)

    def until_gone(self, *kinds: Kind, name: str) -> None:
        self.until(f"{name} is gone", lambda: all(self.look(kind, name) is None for kind in kinds) or None)

    def until_event(self, namespace: str, about: str, reason: str, text: str = "") -> None:
        self.until(f"event {reason} about {about}", lambda: self._reported(namespace, about, reason, text) or None)

    def until_deleting(self, name: str) -> None:
        self.until(f"{name} is being deleted", lambda: self.metadata(capi.Machine, name).get("deletionTimestamp"))

    def metadata(self, kind: Kind, name: str) -> Tree:
        there = self.look(kind, name)
        assert there is not None, f"{name} is gone"
        metadata: Tree = there["metadata"]
        return metadata

    def _synchronized(self, name: str) -> bool:
        mirror = self.look(mapi.Machine, name) or {}
        conditions = mirror.get("status", {}).get("conditions", [])
        return any(one["type"] == "Synchronized" and one["status"] == "True" for one in conditions)

    def _reported(self, namespace: str, about: str, reason: str, text: str) -> bool:
        events = self.rest.request("GET", core.Event.RESOURCE.path(namespace=namespace))["items"]
        return any(
            event["involvedObject"]["name"] == about and event["reason"] == reason and text in event["message"]
            for event in events
        )

    def uses(self, decision: str) -> set[Use]:
        """What the ServiceAccount asked for and was allowed ("allow") or refused ("forbid")."""
        result = set()
        for event in self.plane.audit.events(user=USER):
            target = event.get("objectRef", {})
            if event.get("annotations", {}).get("authorization.k8s.io/decision") == decision and "resource" in target:
                resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
                result.add(
                    Use(
                        target.get("namespace", ""),
                        target.get("apiGroup", ""),
                        resource,
                        event["verb"],
                        target.get("name", ""),
                    )
                )
        return result


class MachineSync:
    """The process under test, with the rights of the ServiceAccount alone."""

    def __init__(self, cluster: Cluster, processes: Processes, log: Path) -> None:
        probes, metrics = free_ports(2)
        self.log = log
        self.probes = Rest(f"http://127.0.0.1:{probes}")
        self.metrics_url = f"http://127.0.0.1:{metrics}"
        self._processes = processes
        argv = [
            *(sys.executable, "-m", "windlass", "run", "machine-sync"),
            f"--kubeconfig={cluster.plane.service_account_kubeconfig(OURS, NAME)}",
            f"--leader-election-namespace={OURS}",
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
        ]
        processes.start("machine-sync", argv, log=log)
        cluster.until("machine-sync is ready", self._ready)

    def _ready(self) -> bool | None:
        assert self._processes.exit_code("machine-sync") is None, self.log.read_text(encoding="utf-8")
        try:
            self.probes.text("GET", "/readyz")
        except (Refused, Unreachable):
            return None
        return True

    def stop(self) -> None:
        self._processes.stop("machine-sync")


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster with CRDs, namespaces, the feature gate on, and our RBAC as it is shipped."""
    flags = ["--feature-gates=WatchList=false"]
    with BlockingControlPlane(apiserver_flags=flags, assets=request.config.getoption("windlass_assets")) as plane:
        plane.install_foreign_crds(
            "machine.openshift.io", "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "config.openshift.io"
        )
        for name in (MACHINE_API_NAMESPACE, CLUSTER_API_NAMESPACE):
            plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        plane.apply_files(DEPLOY / "base" / "rbac.yaml")
        cluster = Cluster(plane)
        for kind, name, content in _SINGLETONS:
            cluster.make(kind, name, {"spec": content.get("spec", {})})
            cluster.merge(kind, name, {"status": content["status"]}, **_STATUS)
        yield cluster


@pytest.fixture(scope="module")
def machine_sync(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSync]:
    """The process, after it has played through everything."""
    folder = tmp_path_factory.mktemp("rbac")
    processes = Processes(folders=[], log=folder / "supervisor.log")
    try:
        process = MachineSync(cluster, processes, folder / "machine-sync.log")
        play_on_openstack(cluster)
        play_on_aws(cluster)
        play_scraping(cluster, process)
        yield process
    finally:
        processes.close()


def play_on_openstack(cluster: Cluster) -> None:
    cluster.make(capo.OpenStackCluster, "c", {"spec": _OPENSTACK_CLUSTER})
    cluster.make_sets()
    # Created, updated, deleted with the Cluster API Machine.
    cluster.make_machine("a", infra=_openstack())
    cluster.until_synchronized("a")
    cluster.merge(capi.Machine, "a", {"metadata": {"labels": {"colour": "blue"}}})
    cluster.until("the label arrives", lambda: cluster.metadata(mapi.Machine, "a")["labels"].get("colour"))
    cluster.delete(capi.Machine, "a")
    cluster.let_machine_go("a")
    cluster.until_gone(capi.Machine, mapi.Machine, name="a")
    # Converted with a warning, deleted with the mirror.
    cluster.make_machine("b", infra=_openstack(tags=["one"]))
    cluster.until_event(MACHINE_API_NAMESPACE, "b", "ConversionWarning")
    cluster.until_synchronized("b")
    cluster.delete(mapi.Machine, "b")
    cluster.until_deleting("b")
    cluster.let_machine_go("b")
    cluster.until_gone(capi.Machine, mapi.Machine, name="b")
    # Not convertible, and deleted before it ever had a mirror.
    cluster.make_machine("c", infra=_openstack(), deletion={"nodeDrainTimeoutSeconds": 60})
    cluster.until_event(CLUSTER_API_NAMESPACE, "c", "SynchronizationWarning", "nodeDrainTimeoutSeconds")
    cluster.delete(capi.Machine, "c")
    cluster.let_machine_go("c")
    cluster.until_gone(capi.Machine, name="c")
    # The Cluster API Machine vanishes under its mirror.
    cluster.make_machine("d", infra=_openstack())
    cluster.until_synchronized("d")
    cluster.force_away(capi.Machine, "d")
    cluster.force_away(capo.OpenStackMachine, "d")
    with contextlib.suppress(Refused):  # Machine sync has deleted it, if it saw the deletion of the other in time
        cluster.delete(mapi.Machine, "d")
    cluster.until_gone(mapi.Machine, name="d")
    play_missing_infrastructure(cluster, capo.OpenStackMachine, _openstack())
    # Both MachineSets go, and the garbage collector takes their Machines along.
    cluster.make_machine("e", infra=_openstack())
    cluster.until_synchronized("e")
    for kind in MACHINE_SETS:
        cluster.delete(kind, "workers")
    for machine in ("e", "no-infra", "no-cluster"):
        cluster.until_deleting(machine)
        cluster.let_machine_go(machine)
        cluster.until_gone(capi.Machine, mapi.Machine, name=machine)


def play_on_aws(cluster: Cluster) -> None:
    cluster.runs_on("AWS")
    cluster.make(capa.AWSCluster, "c", {"spec": {"region": "us-east-1"}})
    cluster.make_sets()
    cluster.make_machine("g", infra=_AWS, kind=capa.AWSMachine)
    cluster.until_synchronized("g")
    play_missing_infrastructure(cluster, capa.AWSMachine, _AWS)


def play_missing_infrastructure(cluster: Cluster, kind: Kind, infra: Tree) -> None:
    cluster.make_machine("no-infra", infra=None, kind=kind)
    cluster.until_event(CLUSTER_API_NAMESPACE, "no-infra", "SynchronizationWarning", "unexpected InfraMachine")
    cluster.make_machine("no-cluster", infra=infra, kind=kind, cluster="elsewhere")
    cluster.until_event(CLUSTER_API_NAMESPACE, "no-cluster", "SynchronizationWarning", '"elsewhere" not found')


def play_scraping(cluster: Cluster, process: MachineSync) -> None:
    """Somebody who may, and somebody who may not."""
    for name in ("scraper", "curious"):
        cluster.plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _placed(name)})
    cluster.plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "scraper"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "windlass-metrics-reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "scraper", "namespace": OURS}],
        }
    )
    may = Rest(process.metrics_url, token=_token(cluster, "scraper"))
    cluster.until("the scraper may", lambda: _status(may) == 200 or None)
    assert 'windlass_machines{authority="ClusterAPI"' in may.text("GET", "/metrics")
    assert _status(Rest(process.metrics_url, token=_token(cluster, "curious"))) == 403


def test_everything_that_is_granted_is_used(cluster: Cluster, machine_sync: MachineSync) -> None:
    used = cluster.uses("allow")
    unused = {grant[:4] for grant in granted() if not any(grant.covers(use) for use in used)}
    assert unused == set(ASKED_BY_ADMISSION)


def test_nothing_is_refused(cluster: Cluster, machine_sync: MachineSync) -> None:
    assert cluster.uses("forbid") == set()


def test_nothing_beyond_the_grants_is_used(cluster: Cluster, machine_sync: MachineSync) -> None:
    """Rights that every ServiceAccount has would hide what a stricter cluster refuses."""
    grants = granted()
    assert {use for use in cluster.uses("allow") if not any(grant.covers(use) for grant in grants)} == set()


def test_no_mirror_is_made_without_what_admission_asks_for(cluster: Cluster, machine_sync: MachineSync) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{MACHINE_API_NAMESPACE}/roles/{NAME}"
    whole = cluster.rest.request("GET", path)["rules"]
    less = [rule for rule in whole if rule["resources"] != ["machinesets/finalizers"]]
    assert len(less) == len(whole) - 1
    cluster.rest.request("PATCH", path, {"rules": less}, content_type=MERGE_PATCH)
    try:
        cluster.make_machine("h", infra=_AWS, kind=capa.AWSMachine)
        cluster.until_event(CLUSTER_API_NAMESPACE, "h", "SynchronizationWarning", "blockOwnerDeletion")
    finally:
        cluster.rest.request("PATCH", path, {"rules": whole}, content_type=MERGE_PATCH)
    cluster.until_synchronized("h")


def test_the_lease_is_given_back_at_the_end(cluster: Cluster, machine_sync: MachineSync) -> None:
    machine_sync.stop()
    lease = cluster.rest.request("GET", Lease.RESOURCE.path(LEASE_NAME, namespace=OURS))
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


def granted() -> set[Grant]:
    """What the roles that are bound to the ServiceAccount allow."""
    documents = list(read_manifests([DEPLOY / "base" / "rbac.yaml"]))
    roles = [one for one in documents if one["kind"] in ("Role", "ClusterRole") and one["metadata"]["name"] == NAME]
    return {
        Grant(role["metadata"].get("namespace", ""), group, resource, verb, tuple(rule.get("resourceNames", ())))
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


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


def _namespace(kind: Kind) -> str | None:
    if not kind.RESOURCE.namespaced:
        return None
    return MACHINE_API_NAMESPACE if kind.RESOURCE.group == mapi.Machine.RESOURCE.group else CLUSTER_API_NAMESPACE


def _machine_spec(name: str, kind: str) -> Tree:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name}
    bootstrap = {"dataSecretName": "worker-user-data"}
    return {"clusterName": "c", "bootstrap": bootstrap, "infrastructureRef": reference}


def _openstack(**image: Any) -> Tree:
    return {"flavor": "m1.large", "image": {"filter": {"name": "rhcos", **image}}}


_STATUS = {"subresource": "status"}
_AWS: Tree = {"instanceType": "m6i.xlarge", "ami": {"id": "ami-1"}}
_OPENSTACK_CLUSTER: Tree = {"identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"}}
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
            "spec": {"clusterID": "11111111-2222-4333-8444-555555555555"},
            "status": {"desired": {"version": "4.21.0", "image": "quay.io/release"}},
        },
    ),
    (config.Infrastructure, "cluster", {"status": {"platformStatus": {"type": "OpenStack"}}}),
)
