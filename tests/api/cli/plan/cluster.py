"""A cluster where Machine sync is enabled, and somebody there who may get and list, and no more."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.api.cli.conftest import environment_of
from tests.authorizer import until_allowed
from tests.objects import Kind, Objects, Tree, usual_namespaces
from tests.patience import PATIENCE
from tests.unit.machine_sync.planning.documents import UNMIRRORED
from windlass.api import capi, config, mapi
from windlass.machine_sync.platforms import OPENSTACK
from windlass.testing import BlockingAccess, crds
from windlass.testing.plane.rest import MERGE_PATCH

HOME, VIEWER = "default", "viewer"
USER = f"system:serviceaccount:{HOME}:{VIEWER}"
DOCS = Path(__file__).parents[4] / "docs" / "plan.md"


class PlanCluster(Objects):
    """The documents that the offline tests have, on an API server."""

    def __init__(self, plane: BlockingAccess, home: Path) -> None:
        super().__init__(plane, usual_namespaces(plane))
        self.home = home
        plane.apply_crds(*crds.documents(*crds.MACHINES))
        self._remove_what_others_left()
        self._let_the_viewer_read()
        gate = {"version": "4.21.0", "enabled": [{"name": "MachineAPIMigration"}]}
        self.make(config.FeatureGate, "cluster", {}, status={"featureGates": [gate]})
        self._make_documents()

    def _make_document(self, document: Tree) -> Tree:
        """Create it, with its status."""
        resource = f"{document['kind'].lower()}s"
        place = document["metadata"].get("namespace")
        path = f"/apis/{document['apiVersion']}" + (f"/namespaces/{place}" if place else "") + f"/{resource}"
        made: Tree = self.rest.request("POST", path, {"spec": {}, **document})
        if status := document.get("status"):
            path = f"{path}/{document['metadata']['name']}/status"
            made = self.rest.request("PATCH", path, {"status": status}, content_type=MERGE_PATCH)
        return made

    @contextlib.contextmanager
    def changed(self, kind: Kind, **status: Any) -> Iterator[None]:
        """For a while, this status of the singleton `cluster`."""
        before = self.there(kind, "cluster")["status"]
        self.patch(kind, "cluster", {"status": status}, part="status")
        try:
            yield
        finally:
            self.patch(kind, "cluster", {"status": before}, part="status")

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
        file = self.plane.service_account_kubeconfig(HOME, VIEWER) if as_viewer else self.plane.kubeconfig()
        return environment_of(file, self.home)

    def _remove_what_others_left(self) -> None:
        """The plane had other tests before, and these namespaces have the names that they have on a cluster."""
        infra = (OPENSTACK.infra_machine, OPENSTACK.infra_template, OPENSTACK.infra_cluster)
        # Owners last: the garbage collector would be at work on the others.
        for kind in (mapi.Machine, capi.Machine, *infra, mapi.MachineSet, capi.MachineSet, capi.Cluster):
            for item in self.all(kind):
                name = item["metadata"]["name"]
                self.patch(kind, name, {"metadata": {"finalizers": None}})
                if "deletionTimestamp" not in item["metadata"]:
                    self.rest.request("DELETE", f"{self.path(kind, name)}?propagationPolicy=Background")

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
            uids[before] = self._make_document(document)["metadata"]["uid"]

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


def synchronized(cluster: PlanCluster, name: str) -> bool:
    """Whether the Machine of the Machine API says so."""
    mirror = cluster.get(mapi.Machine, name) or {}
    conditions = mirror.get("status", {}).get("conditions", [])
    return any(one["type"] == "Synchronized" and one["status"] == "True" for one in conditions)
