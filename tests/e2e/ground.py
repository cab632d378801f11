"""Where authority is moved: the real Cluster API core manager, simulators of the rest, `windlass` as a process.

    async with ground.syncing():
        await ground.machine("w-0", MACHINE_API)
        await ground.settled("w-0", MACHINE_API)
        await ground.hand_over(mapi.Machine, "w-0", CLUSTER_API)
        await ground.settled("w-0", CLUSTER_API)
    ground.assert_one_instance(await ground.instance("w-0"), hands=[MACHINE_API, CLUSTER_API])

Everything is in namespaces of its own and named after them, so that Nodes, which have no namespace, do not meet.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from tests.program import ALONE
from tests.waiting import eventually
from windlass.api import capi, core, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.conditions import is_true
from windlass.machine_sync.constants import (
    CLUSTER_API,
    MACHINE_API,
    PAUSED_ANNOTATION,
)
from windlass.testing.machines.machine_api import MachineApi
from windlass.testing.machines.simulators.instances import Instance, instances
from windlass.testing.plane.processes import Processes

from ..api.machine_sync.examples import EXAMPLES, Tree
from ..api.machine_sync.replicas import replica
from ..api.machine_sync.stage import CLUSTER, Stage, describe_cluster
from .claims import set_shortcoming, shortcoming, status_of

T = TypeVar("T")

SIMULATORS = "simulators"
"""Who they are on the plane, where a user of that name must exist."""

SIMULATED, REAL = "simulated", "real"
"""Whether a simulator is the Machine API, or its own controllers and webhooks."""

PROVIDER_SPECS: Mapping[str, Tree] = {
    "OpenStack": {
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudName": "openstack",
        "cloudsSecret": {"name": "openstack-cloud-credentials", "namespace": "openshift-machine-api"},
        "flavor": "m1.large",
        "image": "rhcos",
        "networks": [{"subnets": [{"filter": {"name": "nodes", "tags": "openshiftClusterID=c"}}]}],
        "securityGroups": [{"name": "worker"}],
        "serverGroupName": "worker",
        "serverMetadata": {"Name": "worker", "openshiftClusterID": "c"},
        "tags": ["openshiftClusterID=c"],
        "trunk": True,
        "userDataSecret": {"name": "worker-user-data"},
    },
    "AWS": {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "ami": {"id": "ami-0123456789abcdef0"},
        "instanceType": "m6i.large",
        "blockDevices": [{"ebs": {"encrypted": True, "volumeSize": 120, "volumeType": "gp3"}}],
        "credentialsSecret": {"name": "aws-cloud-credentials"},
        "deviceIndex": 0,
        "iamInstanceProfile": {"id": "worker"},
        "placement": {"availabilityZone": "us-east-1a", "region": "us-east-1"},
        "subnet": {"filters": [{"name": "tag:Name", "values": ["worker"]}]},
        "tags": [{"name": "kubernetes.io/cluster/c", "value": "owned"}],
        "userDataSecret": {"name": "worker-user-data"},
    },
    "GCP": {
        **EXAMPLES["GCP"].provider_spec,
        "credentialsSecret": {"name": "gcp-cloud-credentials"},
        "labels": {"team": "docks"},
        "tags": ["c-worker"],
    },
}
"""What a user of the Machine API would write on each platform."""

INFRA_SPECS: Mapping[str, Mapping[str, Any]] = {
    "OpenStack": EXAMPLES["OpenStack"].infra_spec,
    "GCP": EXAMPLES["GCP"].infra_spec,
    "AWS": {
        "ami": {"id": "ami-0123456789abcdef0"},
        "instanceType": "m6i.large",
        "hostAffinity": "default",
        "iamInstanceProfile": "worker",
        "ignition": {"storageType": "UnencryptedUserData"},
        "instanceMetadataOptions": {"httpTokens": "optional"},
        "rootVolume": {"size": 120, "type": "gp3", "encrypted": True},
        "subnet": {"filters": [{"name": "tag:Name", "values": ["worker"]}]},
    },
}
"""What a user of Cluster API would write who says nothing that the Machine API cannot."""


class Ground:
    """See the module. `stage` has the namespaces, and the ServiceAccount that Windlass runs as; `folder` gets logs."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder
        self.prefix = stage.namespaces.machine_api.rpartition("-")[2]

    def name(self, suffix: str) -> str:
        """A name that nothing else on the plane has."""
        return f"{self.prefix}-{suffix}"

    # who acts

    @asynccontextmanager
    async def simulated(self, *, machine_api: str = SIMULATED) -> AsyncIterator["Actors"]:
        """The Machine API, the infrastructure provider and the installer, until the end."""
        actors = Actors(self.stage, self.folder, machine_api)
        try:
            await actors.start()
            yield actors
        finally:
            await asyncio.to_thread(actors.close)

    @asynccontextmanager
    async def syncing(self) -> AsyncIterator[None]:
        """`windlass run machine-sync` under the ServiceAccount that is shipped with it."""
        async with replica(self.stage, self.folder, *ALONE):
            yield

    # what is there

    async def cluster(self) -> None:
        """A Cluster with its infra cluster, provisioned."""
        await self.stage.cluster()
        await eventually(
            lambda: self.stage.get(capi.Cluster, CLUSTER), _is_provisioned, what="a Cluster with a control plane"
        )

    async def machine(self, name: str, authority: str, *, machine_set: str = "") -> Tree:
        """A Machine of the Machine API that nobody owns; `machine_set`: whose labels it has all the same."""
        labels = {
            "machine.openshift.io/cluster-api-cluster": CLUSTER,
            "machine.openshift.io/cluster-api-machine-role": "worker",
            "machine.openshift.io/cluster-api-machine-type": "worker",
            **({"machine.openshift.io/cluster-api-machineset": machine_set} if machine_set else {}),
        }
        return await self.stage.make(mapi.Machine, name, self._spec(authority), labels=labels)

    async def machine_set(self, name: str, authority: str, *, replicas: int, machines: str = "") -> Tree:
        """A MachineSet of the Machine API; `machines`: authority of those it makes, if it is another."""
        labels = {
            "machine.openshift.io/cluster-api-cluster": CLUSTER,
            "machine.openshift.io/cluster-api-machineset": name,
        }
        roles = {f"machine.openshift.io/cluster-api-machine-{kind}": "worker" for kind in ("role", "type")}
        spec = {
            "authoritativeAPI": authority,
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": {**labels, **roles}}, "spec": self._spec(machines or authority)},
        }
        return await self.stage.make(mapi.MachineSet, name, spec)

    async def cluster_api_machine(
        self, name: str, *, paused: bool = False, infra: Mapping[str, Any] | None = None
    ) -> None:
        """A Machine of Cluster API that nobody owns, as a user would make it, with its infra machine."""
        stage = self.stage
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER, "node-role.kubernetes.io/worker": ""}
        metadata = {"labels": labels, "annotations": {PAUSED_ANNOTATION: ""} if paused else {}}
        deletion = {"deletion": {"nodeDeletionTimeoutSeconds": 10}}
        await stage.make(capi.Machine, name, {**stage.source_spec(name), **deletion}, **metadata)
        owner = await stage.reference(capi.Machine, name, controller=True)
        spec = infra or INFRA_SPECS[stage.example.name]
        await stage.make(stage.infra_kind, name, spec, **metadata, ownerReferences=[owner])

    def _spec(self, authority: str) -> Tree:
        return {"authoritativeAPI": authority, "providerSpec": {"value": PROVIDER_SPECS[self.stage.example.name]}}

    # what a user does

    async def hand_over(self, kind: type[KubernetesObject], name: str, to: str) -> None:
        await self.stage.patch(kind, name, {"spec": {"authoritativeAPI": to}})

    async def scale(self, kind: type[KubernetesObject], name: str, replicas: int) -> None:
        await self.stage.patch(kind, name, {"spec": {"replicas": replicas}})

    async def mark_for_deletion(self, name: str) -> None:
        """The next machine that its set deletes is this one of Cluster API.

        Returns when Cluster API's manager has seen it, which sees machines and sets by different watches: it gives the
        Node a label that the machine gets at the same time.
        """
        mark = "node.cluster.x-k8s.io/marked"
        marked = {"annotations": {"cluster.x-k8s.io/delete-machine": "true"}, "labels": {mark: ""}}
        machine = await self.stage.patch(capi.Machine, name, {"metadata": marked})
        node = machine["status"]["nodeRef"]["name"]
        await eventually(
            lambda: self.stage.get(core.Node, node),
            lambda found: found is not None and mark in (found["metadata"].get("labels") or {}),
            what=f"a label on Node {node}",
        )

    # what is seen

    async def machines(self, kind: type[KubernetesObject] = mapi.Machine, *, prefix: str = "") -> dict[str, Tree]:
        """The Machines of one API that are not on their way out, by name."""
        listed = await self.stage.admin.list(kind, namespace=self.stage.home(kind))
        return {item.name: item.tree() for item in listed.items if item.name.startswith(prefix) and not item.deleting}

    async def instance(self, machine: str) -> Instance:
        """The one instance of a machine; fails if there were none, or several."""
        (only,) = [one for one in await self.instances() if one.machine == machine]
        return only

    async def instances(self) -> list[Instance]:
        return await instances(self.stage.admin, namespace=self.stage.namespaces.cluster_api)

    # what is waited for

    async def settled(self, name: str, authority: str) -> dict[str, Tree]:
        """The three objects of a machine, once nothing is missing for `authority` to be in charge of it, at rest."""
        found = await _come_true(
            lambda: self.stage.everything(name),
            lambda found: shortcoming(found, authority, example=self.stage.example),
            what=f"{name} under {authority}",
        )
        await self.held([name], authority)
        return _there(found)

    async def all_settled(self, names: list[str], authority: str) -> dict[str, dict[str, Tree]]:
        """`settled` for many machines, by name."""
        stage = self.stage
        kinds: dict[str, type[Any]] = {"mirror": mapi.Machine, "source": capi.Machine, "infra": stage.infra_kind}

        async def look() -> dict[str, dict[str, Tree | None]]:
            sides = {side: await self.machines(kind) for side, kind in kinds.items()}
            return {name: {side: found.get(name) for side, found in sides.items()} for name in names}

        def problems(found: Mapping[str, Mapping[str, Tree | None]]) -> str:
            missing = {name: shortcoming(one, authority, example=stage.example) for name, one in found.items()}
            return ", ".join(f"{name}: {problem}" for name, problem in missing.items() if problem)

        found = await _come_true(look, problems, what=f"{len(names)} machines under {authority}")
        await self.held(names, authority)
        return {name: _there(one) for name, one in found.items()}

    async def held(self, names: Iterable[str], by: str) -> None:
        """Return when it is `by` who holds the instance of each of these machines.

        That is the last thing to come true when authority has moved to Cluster API: the provider of OpenStack cannot
        say that it has taken up its work.
        """

        async def look() -> dict[str, str]:
            return {one.machine: one.holder for one in await self.instances() if one.alive}

        wanted = dict.fromkeys(names, by)
        await eventually(look, lambda found: found.items() >= wanted.items(), what=f"{[*wanted]} held by {by}")

    async def set_settled(self, name: str, authority: str, *, replicas: int) -> dict[str, Tree]:
        """Both MachineSets, once nothing is missing for `authority` to be in charge, with `replicas` that run."""

        async def look() -> dict[str, Tree | None]:
            return {
                "mirror": await self.stage.get(mapi.MachineSet, name),
                "source": await self.stage.get(capi.MachineSet, name),
            }

        found = await _come_true(
            look,
            lambda found: set_shortcoming(found, authority, replicas=replicas),
            what=f"MachineSet {name} under {authority}",
        )
        return _there(found)

    async def gone(self, *names: str) -> None:
        """Nothing is left of these machines, on either side, nor their Nodes."""
        kinds: tuple[Any, ...] = (mapi.Machine, capi.Machine, self.stage.infra_kind, core.Node)

        async def left() -> list[str]:
            found = []
            for kind in kinds:
                namespace = self.stage.home(kind) if kind.RESOURCE.namespaced else None
                listed = await self.stage.admin.list(kind, namespace=namespace)
                items = [item for item in listed.items if item.name in names]
                found += [f"{'deleting' if item.deleting else 'lasting'} {item} {item.metadata}" for item in items]
            return found

        await eventually(left, lambda found: not found, what=f"{', '.join(names)} gone")


class Actors:
    """The simulators of a ground as a process, and the real Machine API as another where that is wanted."""

    def __init__(self, stage: Stage, folder: Path, machine_api: str) -> None:
        self._stage = stage
        kubeconfig = stage.plane.kubeconfig(SIMULATORS)
        self.log = folder / "simulators.log"
        self._argv = [
            *(sys.executable, "-m", "windlass.testing.machines.simulators", f"--platform={stage.example.name}"),
            *(f"--kubeconfig={kubeconfig}", f"--workload-kubeconfig={kubeconfig}"),
            *(f"--machine-api-namespace={stage.namespaces.machine_api}",),
            *(f"--cluster-api-namespace={stage.namespaces.cluster_api}",),
            *("--boot-seconds=0.5", "--register-seconds=0.5"),
        ]
        self._processes = Processes(folders=[], log=folder / "supervisor.log")
        self._machine_api: MachineApi | None = None
        if machine_api == REAL:
            self._argv.append("--no-machine-api")
            self._machine_api = MachineApi(
                stage.plane.blocking,
                platform=stage.example.name,
                folder=folder,
                namespace=stage.namespaces.machine_api,
                cloud=stage.namespaces.cluster_api,
                kubeconfig=kubeconfig,
            )

    async def start(self) -> None:
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        if self._machine_api is not None:
            describe_cluster(self._stage.plane.blocking, platform=self._stage.example.name)
            self._machine_api.start()
            self._machine_api.admit(self._stage.namespaces.machine_api)
        self._processes.start("simulators", self._argv, log=self.log)

    async def kill(self) -> None:
        """None of them acts any more."""
        await asyncio.to_thread(self._processes.kill, "simulators")
        if self._machine_api is not None:
            await asyncio.to_thread(self._machine_api.kill)

    def close(self) -> None:
        if self._machine_api is not None:
            self._machine_api.close()
        self._processes.stop("simulators")
        self._processes.close()


async def _come_true(look: Callable[[], Awaitable[T]], problem: Callable[[T], str], *, what: str) -> T:
    """What `look` finds once there is no problem with it any more."""

    async def judged() -> tuple[str, T]:
        found = await look()
        return problem(found), found

    _, found = await eventually(judged, lambda judged: not judged[0], what=what)
    return found


def _there(found: Mapping[str, Tree | None]) -> dict[str, Tree]:
    return {side: tree for side, tree in found.items() if tree is not None}


def _is_provisioned(cluster: Tree | None) -> bool:
    status = status_of(cluster or {})
    return status.get("phase") == "Provisioned" and all(
        is_true(status.get("conditions") or [], kind) for kind in ("ControlPlaneInitialized", "RemoteConnectionProbe")
    )


def assert_one_instance(instance: Instance, *, hands: Iterable[str], alive: bool = True) -> None:
    """It went through these hands and no others, one after the other; and it still is, or is no more.

    That the same hand takes it again is no matter: a move that could not go on has gone back.
    """
    history = "\n".join(map(str, instance.entries))
    assert not instance.seizures, history
    assert [hand for hand, _ in groupby(instance.hands)] == list(hands), history
    assert instance.alive == alive
    if alive:
        assert instance.holder == instance.hands[-1]


OTHER = {MACHINE_API: CLUSTER_API, CLUSTER_API: MACHINE_API}
