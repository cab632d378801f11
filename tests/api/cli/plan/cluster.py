"""A cluster where Machine sync is enabled, and somebody there who may get and list, and no more."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.api.cli.conftest import DECIDED_BY_TESTS
from tests.authorizer import until_allowed
from tests.patience import PATIENCE
from tests.unit.machine_sync.planning.documents import UNMIRRORED
from windlass.api import capi, config, mapi
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE
from windlass.machine_sync.platforms import OPENSTACK
from windlass.testing import BlockingAccess
from windlass.testing.machines import crds
from windlass.testing.plane.access import found
from windlass.testing.plane.rest import MERGE_PATCH

Tree = dict[str, Any]

HOME, VIEWER = "default", "viewer"
USER = f"system:serviceaccount:{HOME}:{VIEWER}"
DOCS = Path(__file__).parents[4] / "docs" / "plan.md"


class PlanCluster:
    """The documents that the offline tests have, on an API server."""

    def __init__(self, plane: BlockingAccess, home: Path) -> None:
        self.plane = plane
        self.rest = plane.rest
        self.home = home
        plane.apply_crds(*crds.documents(*crds.MACHINES))
        for name in (MACHINE_API_NAMESPACE, CLUSTER_API_NAMESPACE):
            plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._remove_what_others_left()
        self._let_the_viewer_read()
        gate = {"version": "4.21.0", "enabled": [{"name": "MachineAPIMigration"}]}
        self.make({**_kind(config.FeatureGate), "metadata": {"name": "cluster"}, "status": {"featureGates": [gate]}})
        self._make_documents()

    def make(self, document: Tree) -> Tree:
        """Create it, with its status."""
        resource = f"{document['kind'].lower()}s"
        place = document["metadata"].get("namespace")
        path = f"/apis/{document['apiVersion']}" + (f"/namespaces/{place}" if place else "") + f"/{resource}"
        made: Tree = self.rest.request("POST", path, {"spec": {}, **document})
        if status := document.get("status"):
            path = f"{path}/{document['metadata']['name']}/status"
            made = self.rest.request("PATCH", path, {"status": status}, content_type=MERGE_PATCH)
        return made

    def machine(self, kind: type[Any], name: str) -> Tree | None:
        namespace = MACHINE_API_NAMESPACE if kind is mapi.Machine else CLUSTER_API_NAMESPACE
        return found(self.rest, kind.RESOURCE.path(name, namespace=namespace))

    @contextlib.contextmanager
    def changed(self, kind: type[Any], **status: Any) -> Iterator[None]:
        """For a while, this status of the singleton `cluster`."""
        path = kind.RESOURCE.path("cluster")
        before = self.rest.request("GET", path)["status"]
        self._put_status(path, status)
        try:
            yield
        finally:
            self._put_status(path, before)

    def windlass(self, *arguments: str, as_viewer: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run it with no more than the right to read."""
        return subprocess.run(
            [sys.executable, "-m", "windlass", *arguments],
            env=self._environment(as_viewer=as_viewer),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    @contextlib.contextmanager
    def machine_sync(self) -> Iterator[None]:
        """While `windlass run machine-sync` runs."""
        argv = [sys.executable, "-m", "windlass", "run", "machine-sync", "--no-leader-elect"]
        argv += ["--health-probe-bind-address", "0", "--metrics-bind-address", "0"]
        process = subprocess.Popen(
            argv,
            env=self._environment(as_viewer=False),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def verbs_of_the_viewer(self) -> set[str]:
        """Everything that it asked for, allowed or not."""
        return {event["verb"] for event in self.plane.audit.events(user=USER) if "resource" in event["objectRef"]}

    def refused_to_the_viewer(self) -> set[str]:
        return {
            event["requestURI"]
            for event in self.plane.audit.events(user=USER)
            if event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
        }

    def _environment(self, *, as_viewer: bool) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in DECIDED_BY_TESTS}
        file = self.plane.service_account_kubeconfig(HOME, VIEWER) if as_viewer else self.plane.kubeconfig()
        return {**kept, "HOME": str(self.home), "KUBECONFIG": str(file), "COLUMNS": "120"}

    def _put_status(self, path: str, status: Tree) -> None:
        self.rest.request("PATCH", f"{path}/status", {"status": status}, content_type=MERGE_PATCH)

    def _remove_what_others_left(self) -> None:
        """The plane had other tests before, and these namespaces have the names that they have on a cluster."""
        infra = (OPENSTACK.infra_machine, OPENSTACK.infra_template, OPENSTACK.infra_cluster)
        # Owners last: the garbage collector would be at work on the others.
        for kind in (mapi.Machine, capi.Machine, *infra, mapi.MachineSet, capi.MachineSet, capi.Cluster):
            namespace = MACHINE_API_NAMESPACE if kind in (mapi.MachineSet, mapi.Machine) else CLUSTER_API_NAMESPACE
            for item in self.rest.request("GET", kind.RESOURCE.path(namespace=namespace))["items"]:
                path = kind.RESOURCE.path(item["metadata"]["name"], namespace=namespace)
                self.rest.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
                if "deletionTimestamp" not in item["metadata"]:
                    self.rest.request("DELETE", f"{path}?propagationPolicy=Background")

    def _make_documents(self) -> None:
        """Owners first: what they own names their uid."""
        documents = [one for one in yaml.safe_load_all(UNMIRRORED) if one is not None]
        uids: dict[str, str] = {}
        for document in sorted(documents, key=lambda one: "ownerReferences" in one["metadata"]):
            metadata = document["metadata"]
            before = metadata.pop("uid", "")
            metadata.pop("resourceVersion", None)
            metadata.pop("generation", None)
            for owner in metadata.get("ownerReferences", []):
                owner["uid"] = uids[owner["uid"]]
            if document["kind"] == "OpenStackCluster":
                document["spec"] = {"identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"}}
            uids[before] = self.make(document)["metadata"]["uid"]

    def _let_the_viewer_read(self) -> None:
        """With the role that the docs have."""
        role = yaml.safe_load(DOCS.read_text().partition("```yaml\n")[2].partition("```")[0])
        rbac = "rbac.authorization.k8s.io"
        self.plane.apply(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": VIEWER, "namespace": HOME}},
            role,
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": VIEWER},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role["metadata"]["name"]},
                "subjects": [{"kind": "ServiceAccount", "name": VIEWER, "namespace": HOME}],
            },
        )
        until_allowed(self.plane.rest, f"system:serviceaccount:{HOME}:{VIEWER}", "list", "machines.cluster.x-k8s.io")


def _kind(kind: type[Any]) -> Tree:
    return {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind}


def synchronized(cluster: PlanCluster, name: str) -> bool:
    """Whether the Machine of the Machine API says so."""
    mirror = cluster.machine(mapi.Machine, name) or {}
    conditions = mirror.get("status", {}).get("conditions", [])
    return any(one["type"] == "Synchronized" and one["status"] == "True" for one in conditions)
