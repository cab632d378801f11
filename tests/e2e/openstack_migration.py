"""A cluster on a real OpenStack, with both APIs: Cluster API's core, Machine sync and the controllers of OpenStack.

    async with land.processes():
        await land.machine("a")
        await land.settled(["a"], MACHINE_API)
        await land.migrate("cluster-api")

Machine sync and `windlass run openstack --machine-api` are processes under the ServiceAccounts that are shipped, and
`land.sync` and `land.openstack` are the present ones, to be killed. No guest runs, so there are no Nodes.
"""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tests.program import ALONE, Program
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.capability.service import Make
from windlass.kube.conditions import is_true
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.controllers import makers as synchronizes
from windlass.machine_sync.platforms import PLATFORMS
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.controllers import makers
from windlass.openstack.installation import HOME
from windlass.testing.cloud import Project
from windlass.testing.cloud.faults import Fault, Request
from windlass.testing.crash import CrashPoint

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import CLUSTER, Stage, condition
from ..api.openstack.mortal import NOTHING_UNDER_WAY, MortalClient
from ..api.openstack.working import working
from .openstack import NAME, PROGRAM, QUICK, WITH_MACHINE_API

WRITER = "windlass-openstack"
"""The user agent of our requests to the cloud."""


class MigrationWorld:
    """See the module. `stage` has the objects, `project` what is in the cloud; `folder` gets logs."""

    def __init__(self, stage: Stage, project: Project, folder: Path) -> None:
        self.stage = stage
        self.project = project
        self.folder = folder
        self.sync: Program
        self.openstack: Program
        self._running = AsyncExitStack()

    # who acts

    @asynccontextmanager
    async def processes(self) -> AsyncIterator[None]:
        """Both processes, ready, until the end; whoever was started later too."""
        async with self._running:
            await asyncio.gather(self.start_sync(), self.start_openstack())
            await asyncio.gather(self.sync.ready(), self.openstack.ready())
            yield

    async def start_sync(self) -> None:
        account = f"--kubeconfig={self.stage.account}"
        self.sync = await self._start([*(sys.executable, "-m", "windlass", account, "run", "machine-sync"), *ALONE])

    async def start_openstack(self) -> None:
        account = await self.stage.plane.service_account_kubeconfig(HOME, NAME)
        argv = [*PROGRAM, f"--kubeconfig={account}", f"--namespace={HOME}", *WITH_MACHINE_API, *ALONE, *QUICK]
        self.openstack = await self._start(argv)

    async def _start(self, argv: Sequence[str]) -> Program:
        one = Program(argv, self.folder, metrics=False)
        self._running.push_async_callback(asyncio.to_thread, one.close)
        await one.start()
        return one

    def in_process(self, client: MortalClient, point: CrashPoint | None = None) -> AbstractAsyncContextManager[None]:
        """All controllers of both in this process instead; with a `point`, until they die there."""
        client.point = point or CrashPoint()
        synchronizing = synchronizes(platform=PLATFORMS["OpenStack"], namespaces=self.stage.namespaces)

        def all_makers(clouds: Clouds) -> tuple[Make, ...]:
            return (*synchronizing, *makers(clouds, machine_api=self.stage.namespaces.machine_api))

        return working(client, all_makers, times=NOTHING_UNDER_WAY, point=point)

    # what a user makes

    async def cluster(self) -> None:
        """The credentials on both sides, and a Cluster on the network of the project, provisioned."""
        clouds = {"clouds.yaml": base64.b64encode(self.project.clouds_yaml.encode()).decode()}
        data = {"userData": "e30=", "value": "e30=", "disableTemplating": "dHJ1ZQ=="}
        for place in self.stage.namespaces:
            for name, content in (("cloud", clouds), ("worker-user-data", data)):
                body: Any = {"metadata": {"name": name}, "data": content}
                await self.stage.admin.create(Secret, body, namespace=place)
        alone = {"disableExternalNetwork": True, "disableAPIServerFloatingIP": True, "apiServerFixedIP": "10.6.0.9"}
        infra = {"identityRef": IDENTITY, "network": {"id": self.project.network_id}, **alone}
        await self.stage.make(OpenStackCluster, CLUSTER, infra)
        kind = OpenStackCluster.RESOURCE
        reference = {"apiGroup": kind.group, "kind": kind.kind, "name": CLUSTER}
        await self.stage.make(capi.Cluster, CLUSTER, {"infrastructureRef": reference})

    async def machine(self, name: str) -> None:
        """A Machine of the Machine API."""
        value = {
            "apiVersion": "machine.openshift.io/v1alpha1",
            "kind": "OpenstackProviderSpec",
            "cloudsSecret": {"name": "cloud", "namespace": self.stage.namespaces.machine_api},
            "cloudName": "openstack",
            "flavor": "m1.tiny",
            "image": "cirros",
            "networks": [{"subnets": [{"uuid": self.project.subnet_id}]}],
            "userDataSecret": {"name": "worker-user-data"},
        }
        spec = {"authoritativeAPI": MACHINE_API, "providerSpec": {"value": value}}
        await self.stage.make(mapi.Machine, name, spec, labels=OF_CLUSTER)

    async def cluster_api_machine(self, name: str, **infra: Any) -> None:
        """A Machine of Cluster API, and the Machine of the Machine API that mirrors it."""
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
        await self.stage.make(capi.Machine, name, self.stage.source_spec(name), labels=labels)
        owner = await self.stage.reference(capi.Machine, name, controller=True)
        machine = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, "identityRef": IDENTITY, **infra}
        machine.setdefault("ports", [{"network": {"id": self.project.network_id}}])
        await self.stage.make(OpenStackMachine, name, machine, labels=labels, ownerReferences=[owner])
        await self.stage.adoptable(name, labels=OF_CLUSTER)

    async def migrate(self, to: str, *arguments: str) -> tuple[int, dict[str, str]]:
        """`windlass migrate --all`: its exit code, and what became of each machine."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "windlass", "--kubeconfig", str(self.stage.plane.kubeconfig()), "migrate"),
            *("--all", "--yes", "--to", to, "-o", "json", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            out, _ = await process.communicate()
        assert process.returncode is not None
        items = json.loads(out)["items"] if out else []
        return process.returncode, {item["name"]: item["result"]["outcome"] for item in items}

    # what is there

    async def settled(self, names: Iterable[str], authority: str) -> None:
        """Return once each is at home there: in sync, ready, and its mark is on all that it has in the cloud."""
        wanted = [*names]

        async def look() -> dict[str, str]:
            return {name: await self._missing(name, authority) for name in wanted}

        await eventually(look, lambda found: not any(found.values()), what=f"{wanted} under {authority}")

    async def is_settled(self, name: str, authority: str) -> bool:
        """Whether it is, as `settled` says it."""
        return not await self._missing(name, authority)

    async def all_of(self, names: Iterable[str], holds: Callable[[Tree], bool]) -> None:
        """Return once it holds of the status of each of these Machines of the Machine API."""
        for name in names:
            await self.stage.mirror_that(name, lambda tree: holds(tree.get("status") or {}))

    async def hit(self, fault: Fault) -> None:
        """Return once it has hit a request, which is under way then."""

        async def hits() -> int:
            return await asyncio.to_thread(lambda: fault.hits)

        await eventually(hits, bool, what="a request that is held up")

    async def _missing(self, name: str, authority: str) -> str:
        machine, infra, server = [
            await self.stage.get(kind, name) for kind in (mapi.Machine, OpenStackMachine, OpenStackServer)
        ]
        if machine is None or infra is None:
            return "one of the two"
        told = (machine if authority == MACHINE_API else infra).get("status") or {}
        holder, mark = (machine, MACHINE_MARK_ANNOTATION) if authority == MACHINE_API else (server, MARK_ANNOTATION)
        status = machine.get("status") or {}
        claims = {
            "authority": status.get("authoritativeAPI") == authority,
            "Synchronized": condition(machine).get("status") == "True",
            "Ready": is_true(told.get("conditions") or [], "Ready"),
            "provider ID": bool(machine["spec"].get("providerID")),
        }
        if not all(claims.values()):
            return f"{[claim for claim, holds in claims.items() if not holds]}: {told}"
        marks = await asyncio.to_thread(self.marks, machine["spec"]["providerID"].rpartition("/")[2])
        wanted = ((holder or {"metadata": {}})["metadata"].get("annotations") or {}).get(mark)
        return "" if marks == {wanted} else f"the marks {marks}, not {wanted}"

    def marks(self, server: str) -> set[str]:
        """Those on a server and its ports."""
        sdk = self.project.sdk
        ports = sdk.network.ports(device_id=server)
        described = {(each.description or "").rpartition(f"{MARK}=")[2] for each in ports}
        return {str((sdk.compute.get_server(server).metadata or {}).get(MARK)), *described}

    def servers(self) -> dict[str, str]:
        """Names by ID."""
        return {each.id: each.name for each in self.project.sdk.compute.servers()}

    def writes(self) -> list[Request]:
        """What we have asked the cloud to change, oldest first."""
        found = self.project.requests(user_agent=WRITER)
        return [each for each in found if each.method != "GET" and each.service != "keystone"]

    async def clear(self) -> None:
        """Delete every machine where its authority is, then the Cluster and the credentials. Returns when they are
        gone."""
        for item in (await self.stage.admin.list(mapi.Machine, namespace=self.stage.namespaces.machine_api)).items:
            at_home = (item.tree().get("status") or {}).get("authoritativeAPI") == MACHINE_API
            await self.stage.delete(mapi.Machine if at_home else capi.Machine, item.name)
        await self._none_left(mapi.Machine, capi.Machine, OpenStackMachine, OpenStackServer)
        await self.stage.delete(capi.Cluster, CLUSTER)
        await self._none_left(capi.Cluster, OpenStackCluster)
        for place in self.stage.namespaces:
            for name in SECRETS:
                await self.stage.admin.delete(Secret, name, namespace=place)
        await self._none_left(Secret)

    async def _none_left(self, *kinds: type[Any]) -> None:
        async def left() -> list[str]:
            found = [await self.stage.admin.list(kind, namespace=self.stage.home(kind)) for kind in kinds]
            return [str(item) for each in found for item in each.items]

        await eventually(left, lambda found: not found, what=f"no {', '.join(kind.__name__ for kind in kinds)}")


SECRETS = ("cloud", "worker-user-data")
OF_CLUSTER = {"machine.openshift.io/cluster-api-cluster": CLUSTER}
"""The label that the webhooks of the Machine API set, and without which it does not accept a Machine."""
IDENTITY: Tree = {"name": "cloud", "cloudName": "openstack"}
TARGETS = ((CLUSTER_API, "cluster-api"), (MACHINE_API, "machine-api"))
"""Authorities, and how the command calls them."""


def is_mark(request: Request) -> bool:
    """A mark is written: in the metadata of a server or volume, or in a description."""
    return (request.method, request.service) in (("POST", "nova"), ("PUT", "neutron"), ("POST", "cinder")) and (
        request.service == "neutron" or request.path.endswith("/metadata")
    )
