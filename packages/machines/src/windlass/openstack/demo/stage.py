"""The stage of machines on OpenStack: a cloud and a cluster of its own, and Windlass as two processes.

Each process has the ServiceAccount of its manifests. Cluster API's manager and the Machine API's MachineSet controller
and webhooks are the real ones; nothing but kubelets and the installer is played.
"""

import asyncio
import base64
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from msgspec.structs import replace

from openstack.exceptions import SDKException
from windlass.api import capi, capo, mapi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.demo import stage
from windlass.kube.verbs import PatchType
from windlass.machine_sync import installation as machine_sync
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME, MACHINE_API_NAMESPACE
from windlass.openstack import installation as openstack
from windlass.openstack.demo.scene import BASTION, CLUSTER, CloudResource, Scene, Write
from windlass.openstack.service import OWN_LEASE
from windlass.testing import cloud, crds
from windlass.testing.binaries import MACHINE_API, PARTS, obtain
from windlass.testing.cloud import clouds, leftovers
from windlass.testing.cloud.errors import CloudError
from windlass.testing.machines import cluster_api
from windlass.testing.machines.machine_api import MachineApi
from windlass.testing.plane.access import Document
from windlass.testing.plane.errors import PlaneError

ENTRY: Final = "openstack"
"""The name of the cloud in clouds.yaml, as OpenShift has it."""
POLL: Final = "5s"
"""Time between two lists of servers at rest: a minute by default, but nobody wants to watch that long."""

_USER: Final = "demo"
_LOOK_SECONDS: Final = 1.0
"""Between two looks at the project."""

_FOREIGN_GROUPS: Final = ("machine.openshift.io", "config.openshift.io")

_WRITER: Final = re.compile(r"^windlass-openstack/\S* \((\S+)\)$")
"""The User-Agent of Windlass; its group is the controller that sent a write."""

R = TypeVar("R")


def prepare() -> None:
    """Build the programs and install the cloud, before any deadline begins. Raises BinariesError or PlaneError."""
    obtain((*PARTS, MACHINE_API))
    try:
        cloud.install()
    except CloudError as problem:
        raise PlaneError(str(problem)) from None


class Stage(stage.Stage[Scene]):
    """A cluster with machines in two APIs, and all that they have in one project."""

    MANIFESTS = "windlass.openstack.demo"
    WATCHED: ClassVar = {
        capi.Cluster: CLUSTER_API_NAMESPACE,
        capi.Machine: CLUSTER_API_NAMESPACE,
        capi.MachineSet: CLUSTER_API_NAMESPACE,
        capo.OpenStackMachine: CLUSTER_API_NAMESPACE,
        OpenStackCluster: CLUSTER_API_NAMESPACE,
        OpenStackServer: CLUSTER_API_NAMESPACE,
        mapi.Machine: MACHINE_API_NAMESPACE,
        mapi.MachineSet: MACHINE_API_NAMESPACE,
    }
    LEASES: ClassVar = {OWN_LEASE: openstack.HOME, LEASE_NAME: CLUSTER_API_NAMESPACE}

    opening = Scene()

    def __init__(self, directory: Path, *, temporary: bool = True) -> None:
        super().__init__(directory, temporary=temporary)
        self._cloud = cloud.Cloud(directory=directory / "cloud")
        self._project = ""
        self._seen = Scene()
        self._looked = -_LOOK_SECONDS
        self._failing_since = 0.0

    def crds(self) -> Sequence[Document]:
        return [*crds.documents(*_FOREIGN_GROUPS), *(kind.manifest() for kind in openstack.installation().owned)]

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super().environment, "OS_CLIENT_CONFIG_FILE": str(self._clouds_yaml), "OS_CLOUD": ENTRY}

    # what the steps install

    async def start_cloud_and_control_plane(self) -> None:
        """Both at once, with the security group that an administrator of the project makes."""
        await asyncio.gather(self._start_cloud(), self.start_control_plane())
        await asyncio.to_thread(cluster_api.start, self.plane.blocking)

    async def _start_cloud(self) -> None:
        self.at_end(self._cloud.stop)
        await self._with_cloud(self._cloud.start)
        await self._with_cloud(self._prepare_project)
        self._seen = Scene(at_first=await self._with_cloud(self._list))

    def _prepare_project(self) -> None:
        entry = self._cloud.clouds[_USER]
        self._clouds_yaml.write_text(clouds.text({ENTRY: entry}), encoding="utf-8")
        self._clouds_yaml.chmod(0o600)
        user = self._cloud.connect(_USER)
        self._project = user.current_project_id or ""
        user.network.create_security_group(name="workers")

    async def describe_cluster(self) -> None:
        """The manifests of Windlass, an OpenShift cluster on this cloud, and the Secrets with its credentials."""
        await self.apply("namespaces.yaml")
        await self.install(openstack.installation(machine_api=MACHINE_API_NAMESPACE))
        await self.install(machine_sync.installation())
        self.watch()
        data = {"clouds.yaml": base64.b64encode(self._clouds_yaml.read_bytes()).decode()}
        for namespace in (CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE):
            metadata = {"name": "openstack-cloud-credentials", "namespace": namespace}
            await self.plane.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        await self.apply("openshift.yaml", "cluster.yaml")

    async def start_windlass(self) -> None:
        """`windlass run` twice, each as its own ServiceAccount, the Machine API beside it, and what plays kubelets and
        the installer."""
        await self.run_windlass(
            openstack.installation(), "--machine-api", "--allow-loopback-clouds", f"--poll-period={POLL}"
        )
        await self.run_windlass(machine_sync.installation())
        await self.start(
            "simulators",
            "windlass.testing.machines.simulators",
            "--guest",
            f"--os-cloud={ENTRY}",
            f"--without={BASTION}",
            f"--kubeconfig={self.plane.kubeconfig(stage.SIMULATORS)}",
            f"--workload-kubeconfig={self.plane.kubeconfig()}",
            environment={"OS_CLIENT_CONFIG_FILE": str(self._clouds_yaml)},
        )
        await asyncio.to_thread(self._start_machine_api)

    def _start_machine_api(self) -> None:
        machine_api = MachineApi(self.plane.blocking, platform="OpenStack", folder=self.logs, machines=False)
        self.at_end(machine_api.close)
        machine_api.start()
        machine_api.admit(MACHINE_API_NAMESPACE)

    # what a user does

    async def plan(self, change: Mapping[str, Any]) -> None:
        """`windlass plan openstack` for the OpenStackCluster as it would be after this merge patch."""
        path = OpenStackCluster.RESOURCE.path(CLUSTER, namespace=CLUSTER_API_NAMESPACE)
        changed = await self._user.request(
            "PATCH", f"{path}?dryRun=All", body=change, content_type=PatchType.MERGE.value
        )
        items = [
            (await self._user.get(kind, name, namespace=CLUSTER_API_NAMESPACE)).tree()
            for kind, name in ((capi.Cluster, CLUSTER), (OpenStackServer, BASTION))
        ]
        there = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
        for name, content in (("changed.yaml", changed), ("there.yaml", there)):
            (self.directory / name).write_bytes(content)
        files = [f"--filename={self.directory / name}" for name in ("changed.yaml", "there.yaml")]
        await self.begin("plan", "plan", "openstack", *files, f"--os-cloud={ENTRY}", environment=self.environment)

    # what happens in the cloud

    async def neutron_fails(self) -> None:
        """Neutron answers 503 to Windlass, until `neutron_recovers`."""
        await self._with_cloud(lambda: self._cloud.fault("neutron", user_agent="windlass-openstack", status=503))
        self._failing_since = time.monotonic()

    async def neutron_recovers(self, *, after: float) -> None:
        """Neutron works again, `after` seconds after it failed."""
        await asyncio.sleep(self._failing_since + after - time.monotonic())
        await self._with_cloud(lambda: self._cloud.clear_faults("neutron"))

    async def delete_server(self, name: str) -> None:
        """`openstack server delete`."""
        await self._with_cloud(lambda: self._cloud.connect(_USER).delete_server(name))

    # what the scene shows

    async def complete(self, scene: Scene) -> Scene:
        if time.monotonic() - self._looked >= _LOOK_SECONDS:
            project, writes = await self._with_cloud(self._list), await self._with_cloud(self._log)
            self._seen = replace(self._seen, project=project, writes=writes)
            self._looked = time.monotonic()
        seen = self._seen
        return replace(scene, project=seen.project, at_first=seen.at_first, writes=seen.writes)

    def _list(self) -> frozenset[CloudResource]:
        """What the project has. It is looked at as an administrator, who sees all of it."""
        admin = self._cloud.admin
        found = leftovers.find(admin, self._project)
        details = {
            one.id: one.flavor["original_name"]
            for one in admin.compute.servers(all_projects=True, project_id=self._project)
        }
        details |= {
            one.id: (one.port_details or {}).get("device_id", "") for one in admin.network.ips(project_id=self._project)
        }
        return frozenset(
            CloudResource(one.kind, one.name, one.id, one.status, details.get(one.id, "")) for one in found
        )

    def _log(self) -> frozenset[Write]:
        """The writes of Windlass, from the logs of the services."""
        return frozenset(
            Write(one.time, found[1], one.service, one.method, one.path)
            for one in self._cloud.requests(project=self._project, sender="client")
            if one.service != "keystone" and one.method != "GET" and (found := _WRITER.search(one.user_agent))
        )

    @property
    def _clouds_yaml(self) -> Path:
        return self.directory / "clouds.yaml"

    async def _with_cloud(self, do: Callable[[], R]) -> R:
        """Blocking work with the cloud. Raises PlaneError."""
        try:
            return await asyncio.to_thread(do)
        except (CloudError, SDKException) as problem:
            raise PlaneError(f"the cloud: {problem}") from problem
