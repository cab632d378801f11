"""Machines on a real API server, and `windlass` as a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.objects import Kind, Objects, Tree, new_namespaces
from tests.patience import PATIENCE
from windlass.api import capi, capo, mapi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.kube.crd import custom_resource_definition
from windlass.machine_sync.constants import SYNC_FINALIZER
from windlass.testing import BlockingAccess, PlaneAccess, crds

DECIDED_BY_TESTS = {"NO_COLOR", "KUBECONFIG", "TERM", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
"""Variables of whoever runs the tests that change what a user would see."""

Windlass = Callable[..., "subprocess.CompletedProcess[str]"]
Begin = Callable[..., "subprocess.Popen[Any]"]

HELD: Tree = {"finalizers": [SYNC_FINALIZER]}
SERVED: tuple[type[Any], ...] = (capo.OpenStackMachine, OpenStackCluster, OpenStackServer, OpenStackFloatingIPPool)
IN_SYNC = "Successfully synchronized CAPI Machine to MAPI"


class Sides(Objects):
    """The two namespaces of one test, and makers of what can stand in them."""

    def __init__(self, plane: BlockingAccess) -> None:
        super().__init__(plane, new_namespaces(plane))
        self.machine_api, self.cluster_api = self.namespaces

    @property
    def flags(self) -> list[str]:
        return ["--machine-api-namespace", self.machine_api, "--cluster-api-namespace", self.cluster_api]

    def mapi_machine(self, name: str, *, held: bool = False, status: Tree | None = None) -> Tree:
        return self.make(mapi.Machine, name, {}, status=status, **(HELD if held else {}))

    def capi_machine(
        self, name: str, *, held: bool = False, status: Tree | None = None, infra: str = "", **metadata: Any
    ) -> Tree:
        metadata["finalizers"] = [*metadata.get("finalizers", []), *(HELD["finalizers"] if held else [])]
        spec = machine_spec(capo.OpenStackMachine, infra or name)
        return self.make(capi.Machine, name, spec, status=status, **metadata)

    def infra_machine(self, name: str, *, held: bool = False, **metadata: Any) -> Tree:
        spec = {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}}
        return self.make(capo.OpenStackMachine, name, spec, **(HELD if held else {}), **metadata)

    def mapi_set(self, name: str, *, replicas: int = 1, status: Tree | None = None) -> Tree:
        return self.make(mapi.MachineSet, name, {"replicas": replicas}, status=status)

    def capi_set(self, name: str, *, replicas: int = 1, status: Tree | None = None) -> Tree:
        labels = {"cluster.x-k8s.io/set-name": name}
        spec = {
            "clusterName": "test",
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": machine_spec(capo.OpenStackMachineTemplate, f"{name}-1"),
            },
        }
        return self.make(capi.MachineSet, name, spec, status=status)

    def mirrored(self, name: str, *, held: bool = True) -> None:
        """A machine in sync, Cluster API authoritative, with its infrastructure."""
        self.capi_machine(name, held=held, status={"phase": "Running"}, finalizers=["machine.cluster.x-k8s.io"])
        self.infra_machine(name, held=held, ownerReferences=[self.reference(capi.Machine, name)])
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
        for kind in (mapi.Machine, capi.Machine, capo.OpenStackMachine, mapi.MachineSet, capi.MachineSet):
            for item in self.all(kind):
                self.patch(kind, item["metadata"]["name"], {"metadata": {"finalizers": None}})

    def finalizers(self, kind: Kind, name: str) -> list[str]:
        found: list[str] = self.there(kind, name)["metadata"].get("finalizers", [])
        return found


def machine_spec(infra: Kind, name: str) -> Tree:
    """Of a Machine of Cluster API with that infrastructure."""
    return {
        "clusterName": "test",
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {"apiGroup": infra.RESOURCE.group, "kind": infra.RESOURCE.kind, "name": name},
    }


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
    """The shared plane, with the CRDs of both sides: ours where Windlass serves the kind, since the provider's in its
    place would change what other tests have at that moment."""
    plane = windlass_plane.blocking
    ours = {crd["metadata"]["name"]: crd for crd in map(custom_resource_definition, SERVED)}
    others = (crd for crd in crds.documents(*crds.MACHINES) if crd["metadata"]["name"] not in ours)
    plane.apply_crds(*others, *ours.values())
    return plane


@pytest.fixture
def sides(machine_plane: BlockingAccess) -> Iterator[Sides]:
    both = Sides(machine_plane)
    yield both
    both.let_go()


def environment_of(kubeconfig: Path, home: Path) -> dict[str, str]:
    """Of a process: a home of its own, a kubeconfig, and nothing that changes what a user sees."""
    kept = {name: value for name, value in os.environ.items() if name not in DECIDED_BY_TESTS}
    return {**kept, "HOME": str(home), "KUBECONFIG": str(kubeconfig), "COLUMNS": "120"}


@pytest.fixture
def environment(windlass_plane: PlaneAccess, tmp_path: Path) -> dict[str, str]:
    """Of the process: a home of its own, and the plane's kubeconfig."""
    return environment_of(windlass_plane.kubeconfig(), tmp_path)


@pytest.fixture
def begin(environment: dict[str, str]) -> Iterator[Begin]:
    """Start `windlass ARGUMENTS...` with pipes; it is killed after the test if it still runs. `env` adds to its
    environment."""
    started: list[subprocess.Popen[Any]] = []

    def start(*arguments: str, env: dict[str, str] | None = None, **options: Any) -> "subprocess.Popen[Any]":
        piped = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        argv = [sys.executable, "-m", "windlass", *arguments]
        process = subprocess.Popen(argv, env={**environment, **(env or {})}, **{**piped, **options})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


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
