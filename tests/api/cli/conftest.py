"""Machines on a real API server, and `windlass` as a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.machine_sync.stage import new_namespaces
from tests.patience import PATIENCE
from windlass.machine_sync.constants import SYNC_FINALIZER
from windlass.testing import BlockingAccess, PlaneAccess
from windlass.testing.machines import crds
from windlass.testing.plane.rest import MERGE_PATCH

DECIDED_BY_TESTS = {"NO_COLOR", "KUBECONFIG", "TERM", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
"""Variables of whoever runs the tests that change what a user would see."""

Tree = dict[str, Any]
Windlass = Callable[..., "subprocess.CompletedProcess[str]"]

MACHINE_API = "machine.openshift.io/v1beta1"
CLUSTER_API = "cluster.x-k8s.io/v1beta2"
IN_SYNC = "Successfully synchronized CAPI Machine to MAPI"
OPENSTACK = "infrastructure.cluster.x-k8s.io/v1beta1"


class Sides:
    """The two namespaces of one test, and makers of what can stand in them."""

    def __init__(self, plane: BlockingAccess) -> None:
        self.rest = plane.rest
        self.machine_api, self.cluster_api = new_namespaces(plane)

    @property
    def flags(self) -> list[str]:
        return ["--machine-api-namespace", self.machine_api, "--cluster-api-namespace", self.cluster_api]

    def mapi_machine(self, name: str, *, held: bool = False, status: Tree | None = None) -> Tree:
        place = (MACHINE_API, "machines", self.machine_api, name)
        return self.make(*place, kind="Machine", spec={}, held=held, status=status)

    def capi_machine(
        self, name: str, *, held: bool = False, status: Tree | None = None, infra: str = "", **metadata: Any
    ) -> Tree:
        spec = {
            "clusterName": "test",
            "bootstrap": {"dataSecretName": "worker-user-data"},
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "OpenStackMachine",
                "name": infra or name,
            },
        }
        return self.make(
            CLUSTER_API,
            "machines",
            self.cluster_api,
            name,
            held=held,
            status=status,
            kind="Machine",
            spec=spec,
            **metadata,
        )

    def infra_machine(self, name: str, *, held: bool = False, **metadata: Any) -> Tree:
        spec = {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}}
        return self.make(
            OPENSTACK,
            "openstackmachines",
            self.cluster_api,
            name,
            held=held,
            kind="OpenStackMachine",
            spec=spec,
            **metadata,
        )

    def mapi_set(self, name: str, *, replicas: int = 1, status: Tree | None = None) -> Tree:
        place = (MACHINE_API, "machinesets", self.machine_api, name)
        return self.make(*place, kind="MachineSet", spec={"replicas": replicas}, status=status)

    def capi_set(self, name: str, *, replicas: int = 1, status: Tree | None = None) -> Tree:
        place = (CLUSTER_API, "machinesets", self.cluster_api, name)
        labels = {"cluster.x-k8s.io/set-name": name}
        infra = {"apiGroup": OPENSTACK.partition("/")[0], "kind": "OpenStackMachineTemplate", "name": f"{name}-1"}
        spec = {
            "clusterName": "test",
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "clusterName": "test",
                    "bootstrap": {"dataSecretName": "worker-user-data"},
                    "infrastructureRef": infra,
                },
            },
        }
        return self.make(*place, kind="MachineSet", spec=spec, status=status)

    def make(
        self,
        api_version: str,
        plural: str,
        namespace: str,
        name: str,
        *,
        kind: str,
        spec: Tree,
        held: bool = False,
        status: Tree | None = None,
        **metadata: Any,
    ) -> Tree:
        path = f"/apis/{api_version}/namespaces/{namespace}/{plural}"
        if held:
            metadata["finalizers"] = [*metadata.get("finalizers", []), SYNC_FINALIZER]
        made: Tree = self.rest.request(
            "POST",
            path,
            {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec},
        )
        if status is not None:
            made = self.rest.request("PATCH", f"{path}/{name}/status", {"status": status}, content_type=MERGE_PATCH)
        return made

    def mirrored(self, name: str, *, held: bool = True) -> None:
        """A machine in sync, Cluster API authoritative, with its infrastructure."""
        capi = self.capi_machine(name, held=held, status={"phase": "Running"}, finalizers=["machine.cluster.x-k8s.io"])
        self.infra_machine(
            name,
            held=held,
            ownerReferences=[
                {"apiVersion": CLUSTER_API, "kind": "Machine", "name": name, "uid": capi["metadata"]["uid"]}
            ],
        )
        self.mapi_machine(
            name,
            held=held,
            status={
                "phase": "Running",
                "authoritativeAPI": "ClusterAPI",
                "synchronizedGeneration": 1,
                "conditions": [condition("True", "ResourceSynchronized", IN_SYNC)],
            },
        )

    def mirrored_set(self, name: str, *, replicas: int = 1, **status: Any) -> None:
        """A MachineSet in sync, the Machine API authoritative, unless `status` says otherwise."""
        counts = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
        self.capi_set(name, replicas=replicas, status=counts)
        in_sync = {
            "authoritativeAPI": "MachineAPI",
            "synchronizedGeneration": 1,
            "conditions": [
                condition("True", "ResourceSynchronized", "Successfully synchronized MAPI MachineSet to CAPI")
            ],
        }
        self.mapi_set(name, replicas=replicas, status=counts | in_sync | status)

    def let_go(self) -> None:
        """Take all finalizers off everything, so that the namespaces can go."""
        for side in ("mapi", "capi", "infra", "mapi-set", "capi-set"):
            for item in self.rest.request("GET", self.path(side))["items"]:
                path = self.path(side, item["metadata"]["name"])
                self.rest.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)

    def finalizers(self, path: str) -> list[str]:
        found: list[str] = self.rest.request("GET", path)["metadata"].get("finalizers", [])
        return found

    def path(self, side: str, name: str = "") -> str:
        """Of a machine: `side` is mapi, capi or infra; of a MachineSet: mapi-set, capi-set or template."""
        collection = {
            "mapi": f"/apis/{MACHINE_API}/namespaces/{self.machine_api}/machines",
            "capi": f"/apis/{CLUSTER_API}/namespaces/{self.cluster_api}/machines",
            "mapi-set": f"/apis/{MACHINE_API}/namespaces/{self.machine_api}/machinesets",
            "capi-set": f"/apis/{CLUSTER_API}/namespaces/{self.cluster_api}/machinesets",
            "infra": f"/apis/{OPENSTACK}/namespaces/{self.cluster_api}/openstackmachines",
            "template": f"/apis/{OPENSTACK}/namespaces/{self.cluster_api}/openstackmachinetemplates",
        }[side]
        return f"{collection}/{name}" if name else collection


def condition(status: str, reason: str, message: str, *, since: str = "2026-01-02T03:04:05Z") -> Tree:
    return {
        "type": "Synchronized",
        "status": status,
        "reason": reason,
        "message": message,
        "severity": {"True": "", "False": "Error"}.get(status, "Info"),
        "lastTransitionTime": since,
    }


@pytest.fixture(scope="session")
def machine_plane(windlass_plane: PlaneAccess) -> BlockingAccess:
    """The shared plane, with the CRDs of both sides."""
    plane = windlass_plane.blocking
    plane.apply_crds(*crds.documents(*crds.MACHINES))
    return plane


@pytest.fixture
def sides(machine_plane: BlockingAccess) -> Iterator[Sides]:
    both = Sides(machine_plane)
    yield both
    both.let_go()


@pytest.fixture
def environment(windlass_plane: PlaneAccess, tmp_path: Path) -> dict[str, str]:
    """Of the process: a home of its own, and the plane's kubeconfig."""
    kept = {name: value for name, value in os.environ.items() if name not in DECIDED_BY_TESTS}
    return {**kept, "HOME": str(tmp_path), "KUBECONFIG": str(windlass_plane.kubeconfig()), "COLUMNS": "120"}


@pytest.fixture
def windlass(environment: dict[str, str]) -> Windlass:
    """Run `windlass ARGUMENTS...` and return what it printed and its exit code. `env` adds to its environment."""

    def run(*arguments: str, env: dict[str, str] | None = None, **options: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "windlass", *arguments],
            env={**environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            **options,
        )

    return run
