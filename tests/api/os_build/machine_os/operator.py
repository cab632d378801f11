"""The Machine Config Operator's real builder and Windlass, which takes its place, on one plane; Pods are played."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.api.os_build.beside.cluster import Cluster, Tree
from tests.waiting import wait_until
from windlass.api.core import Node
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.os_build.backends.job import SERVICE_ACCOUNT
from windlass.os_build.constants import INPUTS_ANNOTATION, NAMESPACE, THEIR_LEASE
from windlass.os_build.machine_os.conditions import State, state_of
from windlass.testing import BlockingAccess
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import MERGE_PATCH
from windlass.testing.registry import Registry
from windlass.testing.updates.os_builder import OsBuilder

NAME: Final = "windlass"
HOME: Final = "windlass-os-build"
_PROGRAM: Final = str(Path(sys.executable).with_name("windlass"))
_DOOR: Final = ("os-build", "--machine-os-configs")
_CORE: Final = f"/api/v1/namespaces/{NAMESPACE}"
_JOBS: Final = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
_LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{THEIR_LEASE}"


class Builders(Cluster):
    """Both builders: `real` is the operator's, `start_ours` starts ours. `folder` gets the logs."""

    def __init__(
        self, plane: BlockingAccess, real: OsBuilder, rendered: dict[str, str], *, registry: Registry, folder: Path
    ) -> None:
        super().__init__(plane, real, rendered)
        self.log = folder / "windlass.log"
        self._registry = registry
        self._folder = folder
        self._processes = Processes(folders=[], log=folder / "windlass.supervisor.log")

    # our process

    def install_ours(self) -> None:
        """Apply the rights that the command prints."""
        printed = subprocess.run(
            [_PROGRAM, "manifests", "rbac", *_DOOR], check=True, capture_output=True, text=True
        ).stdout
        (file := self._folder / "rbac.yaml").write_text(printed)
        self.plane.apply_files(file)
        self.plane.apply(_named("ServiceAccount", SERVICE_ACCOUNT))

    def start_ours(self) -> None:
        (probes,) = free_ports(1)
        kubeconfig = self.plane.service_account_kubeconfig(HOME, HOME)
        argv = [
            *(_PROGRAM, "run", *_DOOR, f"--kubeconfig={kubeconfig}", "--debounce=0s", "--apply-by=tree"),
            *(f"--insecure-registry={self._registry.host}", "--metrics-bind-address=0"),
            *(f"--health-probe-bind-address=127.0.0.1:{probes}", "--leader-elect-retry-period=500ms"),
        ]
        self._processes.start(NAME, argv, log=self.log)

    def stop_ours(self) -> None:
        self._processes.stop(NAME, grace=60.0)

    def close(self) -> None:
        self._processes.close()

    @property
    def holder(self) -> str:
        """Who holds the Lease of the operator's builder; empty: nobody."""
        found: Tree = self.plane.rest.request("GET", _LEASE)
        return str(found["spec"].get("holderIdentity") or "")

    def refused(self) -> list[str]:
        """What the server did not take of us, other than for a conflict."""
        user = f"system:serviceaccount:{HOME}:{HOME}"
        return [
            f"{event['verb']} {event['requestURI']}: {event['responseStatus']}"
            for event in self.plane.audit.events(user=user)
            if event.get("responseStatus", {}).get("code") in (400, 403, 422)
        ]

    def until_ours_leads(self) -> None:
        wait_until(f"our process leads, see {self.log}", lambda: self.holder.startswith("windlass_"))

    # what is asked for, and what became of it

    def ask(self, pool: str, *, containerfile: str | None = None) -> None:
        """Create or change the MachineOSConfig of a pool."""
        self.real.ask(pool, target=f"{self._registry.host}/{pool}/os:latest", containerfile=containerfile)

    def build(self, pool: str) -> MachineOSBuild | None:
        """The one MachineOSBuild of the pool."""
        found = [one for one in self.all(MachineOSBuild) if one.spec.machine_os_config.name == pool]
        assert len(found) <= 1, found
        return found[0] if found else None

    def configs(self, pool: str) -> dict[str, State | None]:
        """How far the build of each rendered MachineConfig of the pool is."""
        return {
            one.spec.machine_config.name: state_of(one.status.conditions)
            for one in self.all(MachineOSBuild)
            if one.spec.machine_os_config.name == pool
        }

    def until_state(self, pool: str, state: State) -> MachineOSBuild:
        def there() -> MachineOSBuild | None:
            build = self.build(pool)
            return build if build and state_of(build.status.conditions) is state else None

        return wait_until(f"MachineOSBuild of {pool} is {state}, see {self.log} and {self.real.log}", there)

    def until_current(self, pool: str, digest: str) -> MachineOSBuild:
        image = f"{self._registry.host}/{pool}/os@{digest}"
        wait_until(
            f"{image} is the current image, see {self.log} and {self.real.log}",
            lambda: self.get(MachineOSConfig, pool).status.current_image_pull_spec == image,
        )
        return self.until_state(pool, State.SUCCEEDED)

    def jobs(self) -> dict[str, Tree]:
        return {one["metadata"]["name"]: one for one in self.plane.rest.request("GET", _JOBS)["items"]}

    def until_their_job(self, pool: str) -> str:
        """The name of the Job of the operator's builder for this pool."""

        def there() -> str | None:
            build = self.build(pool)
            name = f"build-{build.metadata.name}" if build else ""
            return name if name in self.jobs() else None

        return wait_until(f"the operator's Job of {pool}, see {self.real.log}", there)

    def until_our_job(self, pool: str) -> str:
        def there() -> str | None:
            ours = (name for name, job in self.jobs().items() if INPUTS_ANNOTATION in job["metadata"]["annotations"])
            return next((name for name in ours if name.startswith(f"build-{pool}-")), None)

        return wait_until(f"our Job of {pool}, see {self.log}", there)

    # what a kubelet does

    def run(self, job: str) -> None:
        self._report(job, {"phase": "Running"})

    def succeed(self, job: str, digest: str, *, of: str) -> None:
        """The Pod has pushed an image: it says so as ours does, and as the operator's does for its build `of`."""
        said = _named("ConfigMap", f"digest-{of}", data={"digest": digest})
        if INPUTS_ANNOTATION not in self.jobs()[job]["metadata"]["annotations"]:
            said["metadata"]["labels"] = self.jobs()[job]["metadata"].get("labels", {})
            self.plane.apply(said)
        ended = {"exitCode": 0, "reason": "Completed", "message": digest}
        self._report(job, {"phase": "Succeeded"}, {"terminated": ended})

    def _report(self, job: str, status: Tree, state: Tree | None = None) -> None:
        pod = wait_until(f"a Pod of {job}", lambda: self._pod(job))
        containers = [
            {"name": one["name"], "image": one["image"], "imageID": "", "ready": False, "restartCount": 0}
            | {"state": state or {"running": {}}}
            for one in pod["spec"]["containers"]
        ]
        body = {"status": {**status, "containerStatuses": containers}}
        path = f"{_CORE}/pods/{pod['metadata']['name']}/status"
        self.plane.rest.request("PATCH", path, body, content_type=MERGE_PATCH)

    def _pod(self, job: str) -> Tree | None:
        path = f"{_CORE}/pods?labelSelector=batch.kubernetes.io/job-name%3D{job}"
        items: list[Tree] = self.plane.rest.request("GET", path)["items"]
        return items[-1] if items else None

    def make_node(self, pool: str) -> str:
        """A Node of the pool, which has its configuration and is ready; nobody plays its daemon."""
        name, config = f"{pool}-0", self.rendered[pool]
        labels = {f"node-role.kubernetes.io/{role}": "" for role in ("worker", pool)}
        metadata = {"name": name, "labels": labels, "annotations": {"a": "b"}}
        self.plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        self.annotate(Node, name, currentConfig=config, desiredConfig=config, state="Done", reason="")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
        self.patch(Node, name, {"status": {"conditions": [ready]}}, status=True)
        return name


def _named(kind: str, name: str, **content: Any) -> Tree:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **content}


def auths(registry: Registry) -> str:
    """Of a user who may push, as Secrets have it."""
    return json.dumps(registry.auths("pusher"))
