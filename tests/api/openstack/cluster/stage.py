"""An OpenStackCluster on a real API server and a real cloud, and its controllers in this process."""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from tests.api.openstack.working import TIMES, working
from tests.waiting import eventually
from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Secret
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.kube.conditions import find
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.controllers import makers
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project
from windlass.testing.crash import CrashPoint

Tree = dict[str, Any]

NAME: Final = "one"
LABELS: Final = {"cluster.x-k8s.io/cluster-name": NAME, "cluster.x-k8s.io/control-plane": ""}


class Stage:
    """A namespace in which our controllers work, and somebody who uses it."""

    def __init__(self, client: Client, namespace: str, project: Project) -> None:
        self.client = client
        self.namespace = namespace
        self.project = project

    async def make(self, kind: type[Any], name: str, **body: Any) -> Tree:
        meta = {"name": name, **body.pop("metadata", {})}
        tree = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": meta, **body}
        return (await self.client.create(kind, tree, namespace=self.namespace, field_manager="kubectl")).tree()

    async def cluster(self, **spec: Any) -> None:
        """The OpenStackCluster with this spec, the Cluster that owns it, and credentials."""
        data = {"clouds.yaml": base64.b64encode(self.project.clouds_yaml.encode()).decode()}
        await self.make(Secret, "cloud", data=data)
        reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": NAME}
        owner = await self.make(Cluster, NAME, spec={"infrastructureRef": reference})
        reference = {"apiVersion": owner["apiVersion"], "kind": "Cluster", "name": NAME}
        await self.make(
            OpenStackCluster,
            NAME,
            metadata={"ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}]},
            spec={"identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"}, **spec},
        )

    async def infrastructure_is_provisioned(self) -> None:
        """The Cluster says so, as Cluster API makes it when the OpenStackCluster does."""
        done = {"status": {"initialization": {"infrastructureProvisioned": True}}}
        await self.change(Cluster, NAME, done, subresource="status", field_manager="core")

    async def control_machine(self, name: str) -> None:
        """A Machine of the control plane with its OpenStackMachine, as Cluster API makes them when it may."""
        await self.infrastructure_is_provisioned()
        await self.make(Secret, "data", stringData={"value": "#!/bin/sh"})
        reference = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": name}
        spec = {"clusterName": NAME, "bootstrap": {"dataSecretName": "data"}, "infrastructureRef": reference}
        owner = await self.make(Machine, name, spec=spec, metadata={"labels": LABELS})
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": "Machine",
            "name": name,
            "uid": owner["metadata"]["uid"],
        }
        await self.make(
            OpenStackMachine,
            name,
            metadata={"labels": LABELS, "ownerReferences": [reference]},
            spec={"image": {"filter": {"name": "cirros"}}, "flavor": "m1.tiny", "sshKeyName": ""},
        )

    async def machine(self, name: str) -> Tree | None:
        """The OpenStackMachine as it is now; None if it is gone."""
        try:
            return (await self.client.get(OpenStackMachine, name, namespace=self.namespace)).tree()
        except NotFound:
            return None

    async def until_machine_ready(self, name: str) -> Tree:
        found = await eventually(
            lambda: self.machine(name),
            lambda found: found is not None and says(found, "Ready") == "True Ready",
            what=f"machine {name} is ready",
        )
        assert found is not None
        return found

    async def delete_machine(self, name: str) -> None:
        """Delete it as Cluster API does, and wait until it is gone."""
        for kind in (OpenStackMachine, Machine):
            await self.client.delete(kind, name, namespace=self.namespace)
        await eventually(lambda: self.machine(name), lambda found: found is None, what=f"machine {name} is gone")

    async def get(self) -> Tree:
        return (await self.client.get(OpenStackCluster, NAME, namespace=self.namespace)).tree()

    async def patch(self, body: Any) -> None:
        await self.change(OpenStackCluster, NAME, body)

    async def change(self, kind: type[Any], name: str, body: Any, **how: Any) -> None:
        how = {"field_manager": "kubectl", **how}
        await self.client.patch(kind, name, body, type=PatchType.MERGE, namespace=self.namespace, **how)

    async def until(self, holds: Callable[[Tree], Any], *, what: str) -> Tree:
        return await eventually(self.get, holds, what=what)

    async def until_ready(self) -> Tree:
        return await self.until(is_ready, what="Ready")

    async def delete(self) -> None:
        """Delete it, and wait until it is gone."""
        await self.client.delete(OpenStackCluster, NAME, namespace=self.namespace)

        async def left() -> Any:
            try:
                return (await self.get()).get("status")
            except NotFound:
                return None

        await eventually(left, lambda status: status is None, what="the OpenStackCluster is gone")

    def asked(self) -> list[str]:
        """The requests of this project to its cloud by our controllers, without those for tokens."""
        found = self.project.requests(user_agent="^windlass-openstack/")
        return [f"{each.method} {each.path}" for each in found if each.service != "keystone"]


def held(project: Project) -> dict[str, set[str]]:
    """The IDs of what the project has."""
    sdk, own = project.sdk, {"project_id": project.id}
    found = {
        "servers": sdk.compute.servers(),
        "networks": sdk.network.networks(**own),
        "subnets": sdk.network.subnets(**own),
        "routers": sdk.network.routers(**own),
        "ports": sdk.network.ports(**own),
        "security groups": sdk.network.security_groups(**own),
        "floating IPs": sdk.network.ips(**own),
    }
    return {kind: {each.id for each in some} for kind, some in found.items()}


def says(tree: Tree, kind: str) -> str:
    """Status and reason of a condition."""
    found = find(tree.get("status", {}).get("conditions", []), kind)
    return f"{found['status']} {found['reason']}" if found else "missing"


def is_ready(tree: Tree) -> bool:
    """Whether it is, as its spec is now."""
    done = says(tree, "Ready") == "True Ready" and says(tree, "Progressing") == "False Success"
    return done and all(
        each["observedGeneration"] == tree["metadata"]["generation"] for each in tree["status"]["conditions"]
    )


@asynccontextmanager
async def staged(plane: PlaneAccess, namespace: str, project: Project) -> AsyncIterator[Stage]:
    """A stage with all our controllers at work."""
    async with Client(config.load(kubeconfig=plane.kubeconfig())) as client, at_work(client, namespace):
        yield Stage(client, namespace, project)


def at_work(
    client: Client, namespace: str, *, times: Times = TIMES, point: CrashPoint | None = None
) -> AbstractAsyncContextManager[None]:
    """All our controllers; see `working`."""
    return working(client, lambda clouds: makers(clouds, [namespace]), times=times, point=point)
