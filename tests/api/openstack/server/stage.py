"""OpenStackServers on a real API server and a real cloud, and our controller in this process."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from msgspec import to_builtins

from tests.waiting import eventually
from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.meta import KubernetesObject
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.object import Object
from windlass.kube.process.manager import Manager
from windlass.kube.process.tasks import end
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds, PollTimes
from windlass.openstack.cloud.gates import Pauses
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.server.controller import server_controller
from windlass.openstack.server.snapshot import Timing
from windlass.openstack.trouble import DelayRange, Delays
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project
from windlass.testing.crash import CrashPoint, MortalCarrier

SECRET, CLUSTER = "cloud", "c"
QUICK = Timing(
    delays=Delays(
        unavailable=DelayRange(0.5, 1.0),
        quota=DelayRange(1.0, 2.0),
        dependency=DelayRange(1.0, 2.0),
        invalid=DelayRange(3.0, 3.0),
        credentials=DelayRange(3.0, 3.0),
    ),
    lost=2.0,
)
"""What takes minutes, in seconds."""
TIMES = Times(request=2.0)


class Writes(Client):
    """Counts the writes of objects that are sent; Events do not count."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sent: list[tuple[str, str, Any]] = []

    async def patch(self, kind: type[Any], name: str, body: Any, **more: Any) -> Any:
        self.sent.append((kind.RESOURCE.kind, name, body))
        return await super().patch(kind, name, body, **more)


class Stage:
    """`client` is somebody else's, `ours` the controller's."""

    def __init__(self, client: Client, ours: Writes, namespace: str, project: Project) -> None:
        self.client = client
        self.ours = ours
        self.namespace = namespace
        self.project = project
        self.image = project.sdk.image.find_image("cirros", ignore_missing=False).id

    async def make(self, kind: type[KubernetesObject], name: str, **body: Any) -> Object[Any]:
        meta = {"name": name, **body.pop("metadata", {})}
        tree = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": meta, **body}
        return await self.client.create(kind, tree, namespace=self.namespace, field_manager="kubectl")

    async def secret(self, name: str = SECRET, /, **texts: str) -> None:
        """A Secret with these keys (`clouds_yaml` is `clouds.yaml`); by default the project's credentials."""
        texts = texts or {"clouds_yaml": self.project.clouds_yaml}
        data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        body = {"data": data}
        try:
            await self.patch(Secret, name, body)
        except NotFound:
            await self.make(Secret, name, **body)

    async def cluster(self, *, paused: bool = False) -> None:
        spec = {"paused": paused, "infrastructureRef": {"apiGroup": "g.io", "kind": "K", "name": "n"}}
        await self.make(Cluster, CLUSTER, spec=spec)

    async def server(self, name: str = "a", /, *, metadata: Any = None, **spec: Any) -> None:
        await self.make(
            OpenStackServer,
            name,
            metadata=metadata or {},
            spec={
                "identityRef": {"type": "Secret", "name": SECRET, "cloudName": "openstack"},
                "image": {"filter": {"name": "cirros"}},
                "flavor": "m1.tiny",
                "sshKeyName": "",
                "ports": [{"network": {"id": self.project.network_id}}],
                **spec,
            },
        )

    async def patch(self, kind: type[KubernetesObject], name: str, body: Any, *, part: str = "") -> None:
        await self.client.patch(
            kind, name, body, type=PatchType.MERGE, namespace=self.namespace, subresource=part, field_manager="kubectl"
        )

    async def delete(self, name: str = "a") -> None:
        await self.client.delete(OpenStackServer, name, namespace=self.namespace)

    async def get(self, name: str = "a") -> OpenStackServer:
        return (await self.client.get(OpenStackServer, name, namespace=self.namespace)).decode()

    async def until(
        self, holds: Callable[[OpenStackServer], Any], *, name: str = "a", what: str = ""
    ) -> OpenStackServer:
        return await eventually(lambda: self.get(name), holds, what=what)

    async def until_ready(self, name: str = "a") -> OpenStackServer:
        return await self.until(lambda server: says(server, "Ready") == "True Ready", name=name, what="Ready")

    async def until_told(self, kind: str, reason: str, name: str = "a") -> str:
        """Wait for the reason of a condition; returns its message."""
        found = await self.until(lambda server: says(server, kind).endswith(f" {reason}"), name=name, what=reason)
        return message(found, kind)

    async def until_gone(self, name: str = "a") -> None:
        async def is_gone() -> bool | Any:
            try:
                return to_builtins((await self.get(name)).status)
            except NotFound:
                return True

        await eventually(is_gone, lambda found: found is True, what=f"{name} is gone")

    def writes(self, name: str = "a") -> int:
        return sum(sent[:2] == (OpenStackServer.RESOURCE.kind, name) for sent in self.ours.sent)

    def asked(self, service: str | None = None, **which: Any) -> list[str]:
        """The requests of this project to its cloud by our programs, without tokens and polls."""
        found = self.project.requests(service, user_agent="^windlass-openstack/", **which)
        return [
            f"{each.method} {each.service} {each.path}"
            for each in found
            if each.service != "keystone" and "(poll)" not in each.user_agent
        ]


def says(server: OpenStackServer, kind: str) -> str:
    """Status and reason of a condition."""
    return next((f"{each.status} {each.reason}" for each in server.status.conditions if each.type == kind), "missing")


def message(server: OpenStackServer, kind: str) -> str:
    return next((each.message for each in server.status.conditions if each.type == kind), "")


def held(project: Project) -> dict[str, int]:
    """What the project has of what servers are made of."""
    sdk = project.sdk
    return {
        "servers": len(list(sdk.compute.servers())),
        "ports": len(list(sdk.network.ports(project_id=project.id))),
        "trunks": len(list(sdk.network.trunks())),
        "volumes": len(list(sdk.block_storage.volumes())),
    }


@asynccontextmanager
async def staged(
    plane: PlaneAccess,
    namespace: str,
    project: Project,
    *,
    timing: Timing = QUICK,
    at_rest: float = 2.0,
    times: Times = TIMES,
    others: Sequence[Callable[..., Any]] = (),
) -> AsyncIterator[Stage]:
    """A stage with the controller at work, and `others` beside it."""
    kubeconfig = config.load(kubeconfig=plane.kubeconfig())
    async with Client(kubeconfig) as client, Writes(kubeconfig) as ours:
        stage = Stage(client, ours, namespace, project)
        async with at_work(stage, timing=timing, at_rest=at_rest, times=times, others=others):
            yield stage


@asynccontextmanager
async def at_work(
    stage: Stage,
    *,
    timing: Timing = QUICK,
    at_rest: float = 2.0,
    times: Times = TIMES,
    point: CrashPoint | None = None,
    others: Sequence[Callable[..., Any]] = (),
) -> AsyncIterator[Clouds]:
    """The controller at work, as a new process that leads. One with a `point` does not shut down, it is cut off."""
    clouds = Clouds(
        polls=PollTimes(after_write=0.3, building=1.0, at_rest=at_rest),
        pauses=Pauses(unavailable=(0.5, 2.0), quota=(1.0, 2.0), credentials=(1.0, 1.0)),
        times=times,
    )
    carrier = clouds if point is None else MortalCarrier(clouds, point)
    async with clouds, Manager(stage.ours, systems={OPENSTACK: carrier}) as manager:
        await manager.start(lambda reader: server_controller(reader, clouds, namespace=stage.namespace, timing=timing))
        for other in others:
            await manager.start(partial(other, clouds=clouds, namespace=stage.namespace))
        running = asyncio.create_task(manager.run())
        try:
            yield clouds
        finally:
            if point is None:
                manager.shut_down()
                await running
            else:
                await end(running)
