"""MachineSets of both APIs on a real API server, as users make them, and ways to look at them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.machine_sync.constants import MACHINE_SET_LABEL

from ...unit.machine_sync.trees import PROVIDER_SPEC
from .examples import EXAMPLES, Tree
from .stage import CLUSTER, Stage, condition

NAME: Final = "workers"
CORE_FINALIZER: Final = "cluster.x-k8s.io/machineset"
MADE = {MACHINE_SET_LABEL: NAME}

PROVIDER_SPECS: Final[dict[str, Mapping[str, Any]]] = {
    "OpenStack": PROVIDER_SPEC,
    "AWS": {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "ami": {"id": "ami-0123456789abcdef0"},
        "instanceType": "m6i.large",
        "placement": {"availabilityZone": "us-east-1a", "region": "us-east-1"},
        "userDataSecret": {"name": "worker-user-data"},
    },
    "GCP": EXAMPLES["GCP"].provider_spec,
}


async def ground(stage: Stage) -> None:
    """The cluster as it describes itself, its core Cluster and its infra cluster."""
    kind = stage.example.platform.infra_cluster.RESOURCE
    described = {"type": stage.example.name, **stage.example.described}
    await stage.singleton(Infrastructure, "cluster", {"infrastructureName": CLUSTER, "platformStatus": described})
    reference = {"apiGroup": kind.group, "kind": kind.kind, "name": CLUSTER}
    await stage.make(capi.Cluster, CLUSTER, {"infrastructureRef": reference})
    await stage.infra_cluster()


async def machine_api_set(stage: Stage, *, authority: str = "MachineAPI", **spec: Any) -> Tree:
    """A MachineSet of the Machine API as a user makes it."""
    labels = {**MADE, "machine.openshift.io/cluster-api-machine-role": "worker"}
    template = {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": PROVIDER_SPECS[stage.example.name]}}}
    usual = {"authoritativeAPI": authority, "replicas": 2, "selector": {"matchLabels": MADE}, "template": template}
    return await stage.make(mapi.MachineSet, NAME, {**usual, **spec}, labels={"team": "a"})


async def cluster_api_set(stage: Stage, *, template: str = "made-by-a-user") -> Tree:
    """A MachineSet of Cluster API and its template, as a user makes them; looked at by Cluster API once."""
    await infra_template(stage, template)
    labels = {**MADE, "cluster.x-k8s.io/cluster-name": CLUSTER}
    made = {**stage.source_spec(template), "infrastructureRef": reference(stage, template)}
    spec = {
        "clusterName": CLUSTER,
        "replicas": 2,
        "selector": {"matchLabels": MADE},
        "template": {"metadata": {"labels": labels}, "spec": made},
    }
    await stage.make(capi.MachineSet, NAME, spec, finalizers=[CORE_FINALIZER])
    return await observed(stage, replicas=2)


async def infra_template(stage: Stage, name: str, **spec: Any) -> Tree:
    inner = {**stage.example.infra_spec, **spec}
    return await stage.make(stage.example.platform.infra_template, name, {"template": {"spec": inner}})


def reference(stage: Stage, template: str) -> Tree:
    kind = stage.example.platform.infra_template.RESOURCE
    return {"apiGroup": kind.group, "kind": kind.kind, "name": template}


async def observed(stage: Stage, *, replicas: int, ready: int = 0) -> Tree:
    """Cluster API has looked at its MachineSet."""
    found = await get(stage, capi.MachineSet)
    old = {"v1beta1": {"fullyLabeledReplicas": replicas, "readyReplicas": ready, "availableReplicas": ready}}
    status = {"replicas": replicas, "observedGeneration": found["metadata"]["generation"], "deprecated": old}
    return await stage.patch(capi.MachineSet, NAME, {"status": status}, part="status")


async def get(stage: Stage, kind: type[Any]) -> Tree:
    found = await stage.get(kind, NAME)
    assert found is not None
    return found


async def in_sync(stage: Stage, *, authority: str) -> Tree:
    """The MachineSet of the Machine API, once it is in sync with what the one of `authority` is now."""
    source = mapi.MachineSet if authority == "MachineAPI" else capi.MachineSet

    async def look() -> tuple[Tree | None, Tree | None]:
        return await stage.get(mapi.MachineSet, NAME), await stage.get(source, NAME)

    def holds(found: tuple[Tree | None, Tree | None]) -> bool:
        one, other = found
        if one is None or other is None or condition(one).get("status") != "True":
            return False
        noted = one["status"]["synchronizedGeneration"] == other["metadata"]["generation"]
        return bool(noted and one["status"]["authoritativeAPI"] == authority)

    found, _ = await eventually(look, holds, what=f"{NAME} in sync under {authority}")
    assert found is not None
    return found


async def eventually_is(stage: Stage, kind: type[Any], holds: Callable[[Tree], Any]) -> Tree:
    found = await eventually(
        lambda: stage.get(kind, NAME), lambda tree: tree is not None and holds(tree), what=f"{kind.__module__} {NAME}"
    )
    assert found is not None
    return found


async def templates(stage: Stage) -> dict[str, Tree]:
    """The infra templates by name."""
    kind = stage.example.platform.infra_template
    listed = await stage.admin.list(kind, namespace=stage.namespaces.cluster_api)
    return {one.name: one.tree() for one in listed.items}


def size_of(stage: Stage, template: Tree) -> str:
    found: str = template["spec"]["template"]["spec"][stage.example.size]
    return found
