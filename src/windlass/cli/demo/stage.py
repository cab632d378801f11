"""Where the story plays: a control plane of its own, the processes beside it, and what a user does there.

Everything that is started here ends with this process, however that ends.
"""

import asyncio
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from windlass.api import capi, capo, config, mapi
from windlass.api.coordination import Lease
from windlass.api.meta import KubernetesObject
from windlass.cli.demo.audience import Audience
from windlass.cli.demo.identity import Identity, install_identity
from windlass.cli.demo.scene import Scene
from windlass.kube import config as kubeconfig
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME
from windlass.testing import ControlPlane
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import Rest

FOREIGN_GROUPS: Final = ("machine.openshift.io", "config.openshift.io", "infrastructure.cluster.x-k8s.io")
"""API groups whose CRDs a user's cluster has already. Those of Cluster API core come with its manager."""

USER: Final = "demo-user"
SIMULATORS: Final = "demo-simulators"
_ADMINISTRATORS: Final = "system:masters"

_WITH_STATUS: Final[Mapping[str, type[KubernetesObject]]] = {
    kind.RESOURCE.kind: kind for kind in (config.FeatureGate, config.ClusterVersion, config.Infrastructure)
}


class Stage:
    """Used with `async with`; what is on it is brought there by the steps of the story, and taken down at the end.

    `directory` gets logs, keys and kubeconfigs. If it is `temporary` it is removed at the end, unless `keep_logs`.
    """

    def __init__(self, directory: Path, *, temporary: bool = True) -> None:
        self.directory = directory
        self.plane = ControlPlane(
            cluster_api=True,
            users={USER: [_ADMINISTRATORS], SIMULATORS: [_ADMINISTRATORS]},
            directory=directory,
        )
        self.logs.mkdir(parents=True, exist_ok=True)
        self._processes = Processes(folders=[directory] if temporary else [], log=self.logs / "supervisor.log")
        self._companions: list[str] = []
        self._client: Client | None = None
        self._audience: Audience | None = None
        self._identity: Identity | None = None
        self._probes: Rest | None = None
        self._version = ""
        self._errand = ""

    # life

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._audience is not None:
                await self._audience.leave()
            if self._client is not None:
                await self._client.close()
            errand = [self._errand] if self._errand else []
            await asyncio.to_thread(self._processes.stop, *errand, *self._companions)
            await self.plane.stop()
        finally:
            await asyncio.to_thread(self._processes.close)

    @property
    def logs(self) -> Path:
        """The folder with a log of each process."""
        return self.directory / "logs"

    def keep_logs(self) -> None:
        """Do not remove the directory at the end: somebody will want to look."""
        self._processes.keep_folders()

    # what is brought on

    async def start_control_plane(self) -> None:
        """etcd, kube-apiserver, kube-controller-manager and the Cluster API core manager."""
        await self.plane.start()
        self._client = Client(kubeconfig.load(kubeconfig=str(self.plane.kubeconfig(USER))), field_manager="kubectl")

    async def install(self) -> None:
        """The CRDs of other projects that a user's cluster has already, and what Windlass ships."""
        await self.plane.install_foreign_crds(*FOREIGN_GROUPS)
        await self.apply("namespaces.yaml")
        self._identity = await install_identity(self.plane)
        self._audience = Audience(self._user)

    async def start_simulators(self) -> None:
        """Stand-ins for the infrastructure provider, the Machine API operator and the installer."""
        await self._start(
            "simulators",
            "windlass.testing.simulators",
            f"--kubeconfig={self.plane.kubeconfig(SIMULATORS)}",
            f"--workload-kubeconfig={self.plane.kubeconfig()}",
            "--platform=OpenStack",
        )

    async def start_windlass(self) -> None:
        """`windlass run machine-sync`, as its own ServiceAccount."""
        assert self._identity is not None
        (port,) = free_ports(1)
        await self._start(
            "windlass",
            "windlass",
            "run",
            "machine-sync",
            f"--kubeconfig={self._identity.kubeconfig}",
            f"--health-probe-bind-address=127.0.0.1:{port}",
            "--metrics-bind-address=0",
        )
        self._probes = Rest(f"http://127.0.0.1:{port}")

    async def _start(self, name: str, module: str, *arguments: str) -> None:
        """Run what is to stay."""
        await self._run(name, module, *arguments)
        self._companions.append(name)

    async def _run(self, name: str, module: str, *arguments: str) -> None:
        argv = [sys.executable, "-m", module, *arguments]
        await asyncio.to_thread(self._processes.start, name, argv, log=self.logs / f"{name}.log")

    # what a user does

    async def apply(self, *names: str) -> None:
        """`kubectl apply -f`, and `--subresource=status` for documents with a status."""
        for name in names:
            text = resources.files("windlass.cli.demo").joinpath("manifests", name).read_text(encoding="utf-8")
            for document in yaml.safe_load_all(text):
                await self.plane.apply(document)
                if kind := _WITH_STATUS.get(document["kind"]):
                    named, status = document["metadata"]["name"], {"status": document["status"]}
                    await self._user.patch(kind, named, status, type=PatchType.MERGE, subresource="status")

    async def scale(self, kind: type[KubernetesObject], name: str, *, replicas: int) -> None:
        """`kubectl scale`."""
        path = kind.RESOURCE.path(name, namespace=CLUSTER_API_NAMESPACE, subresource="scale")
        body = {"spec": {"replicas": replicas}}
        await self._user.request("PATCH", path, body=body, content_type=PatchType.MERGE.value)

    async def delete(self, kind: type[KubernetesObject], name: str) -> None:
        """`kubectl delete --wait=false`."""
        await self._user.delete(kind, name, namespace=CLUSTER_API_NAMESPACE)

    async def merge(self, kind: type[KubernetesObject], name: str, body: Mapping[str, Any]) -> None:
        """`kubectl patch --type=merge`."""
        await self._user.patch(kind, name, body, type=PatchType.MERGE, namespace=CLUSTER_API_NAMESPACE)

    async def migrate(self, *names: str, to: str) -> None:
        """Begin `windlass migrate`; `Scene.code` tells when it has ended, and how."""
        self._errand = f"migrate-to-{to}"
        await self._run(
            self._errand, "windlass", f"--kubeconfig={self.plane.kubeconfig(USER)}", "migrate", *names, "--to", to
        )

    @property
    def _user(self) -> Client:
        assert self._client is not None, "there is no control plane yet"
        return self._client

    # what is seen

    async def look(self) -> Scene:
        """The scene as it is now."""
        if self._client is None:
            return Scene()
        audience = self._audience
        if audience is None:
            return Scene(version=await self._ask_version())
        return Scene(
            version=await self._ask_version(),
            unwatched=audience.unwatched,
            cluster=audience.see(capi.Cluster).get("demo"),
            machines=audience.see(capi.Machine),
            mirrors=audience.see(mapi.Machine),
            infrastructure=audience.see(capo.OpenStackMachine),
            sets=audience.see(capi.MachineSet),
            mirror_sets=audience.see(mapi.MachineSet),
            instances=audience.instances(),
            ready=await self._ask_ready(),
            leader=await self._ask_leader(),
            code=await asyncio.to_thread(self._processes.exit_code, self._errand) if self._errand else None,
        )

    async def change(self, *, seconds: float) -> None:
        """Return when something changed, or after `seconds`."""
        if self._audience is None:
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._audience.changed.wait()
        except TimeoutError:
            return
        self._audience.changed.clear()

    def casualty(self) -> str:
        """Which of the processes has ended although it should run, and what its log says; empty if none has."""
        for name in self._companions:
            if (code := self._processes.exit_code(name)) is not None:
                lines = (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
                last = lines[-1] if lines else "(it wrote nothing)"
                return f"{name} ended with code {code}; the last line of its log: {last}"
        return ""

    async def _ask_version(self) -> str:
        if not self._version:
            answer = yaml.safe_load(await self._user.request("GET", "/version"))
            self._version = answer["gitVersion"]
        return self._version

    async def _ask_ready(self) -> bool:
        if self._probes is None:
            return False
        try:
            await asyncio.to_thread(self._probes.text, "GET", "/readyz", seconds=5.0)
        except PlaneError:
            return False
        return True

    async def _ask_leader(self) -> str:
        if self._identity is None or self._probes is None:
            return ""
        try:
            lease = await self._user.get(Lease, LEASE_NAME, namespace=CLUSTER_API_NAMESPACE)
        except NotFound:
            return ""
        return lease.decode().spec.holder_identity or ""
