"""The quick start of Cluster API's own provider, unchanged, on a real cloud: it comes up, and leads back to it.

The provider's templates are read, not copied. The kubeadm providers of Cluster API and its core are played: they make a
machine of the control plane and a worker from the templates.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.openstack.cluster.stage import Stage, is_ready, says, staged
from tests.waiting import eventually
from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.kube.verbs import PatchType
from windlass.openstack.installation import OWNED
from windlass.testing import PlaneAccess, crds
from windlass.testing.cloud import Project

from .provider import of_credentials, quick_start, refused

pytestmark = [pytest.mark.sampled, pytest.mark.cloud]

Tree = dict[str, Any]

NAME = "one"
KINDS: dict[str, type[Any]] = {
    each.RESOURCE.kind: each for each in (Secret, Cluster, OpenStackCluster, OpenStackMachineTemplate)
}
PLAYED = {"KubeadmConfigTemplate", "KubeadmControlPlane", "MachineDeployment"}
"""Kinds of the templates that are for others than an infrastructure provider."""


@pytest.fixture
async def stage(windlass_plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    known = [*crds.documents("cluster.x-k8s.io"), *crds.documents("ipam.cluster.x-k8s.io")]
    await windlass_plane.apply_crds(*known, *(owned.manifest() for owned in OWNED))
    async with staged(windlass_plane, windlass_namespace, project) as stage:
        yield stage


async def applied(stage: Stage, file: str) -> dict[str, Tree]:
    """Apply the template as its reader does. Returns the specs of its machine templates, by the end of their names."""
    project = stage.project
    project.sdk.compute.create_keypair(name=project.name)
    [external] = project.sdk.network.networks(is_router_external=True)
    variables = {
        **of_credentials(project.clouds_yaml),
        "CLUSTER_NAME": NAME,
        "KUBERNETES_VERSION": "v1.34.2",
        "CONTROL_PLANE_MACHINE_COUNT": "1",
        "WORKER_MACHINE_COUNT": "1",
        "OPENSTACK_FAILURE_DOMAIN": "az1",
        "OPENSTACK_DNS_NAMESERVERS": "10.6.0.2",
        "OPENSTACK_EXTERNAL_NETWORK_ID": external.id,
        "OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR": "m1.small",
        "OPENSTACK_NODE_MACHINE_FLAVOR": "m1.tiny",
        "OPENSTACK_IMAGE_NAME": "cirros",
        "OPENSTACK_SSH_KEY_NAME": project.name,
    }
    found = await asyncio.to_thread(quick_start, file, variables)
    assert {each["kind"] for each in found} == {*KINDS, *PLAYED}
    uid = ""
    for tree in sorted(found, key=lambda each: each["kind"] != "Cluster"):
        if tree["kind"] in KINDS:
            meta, rest = tree["metadata"], {key: tree[key] for key in tree if key in ("spec", "data")}
            owner = {"apiVersion": Cluster.RESOURCE.api_version, "kind": "Cluster", "name": NAME, "uid": uid}
            owners = {"ownerReferences": [owner]} if tree["kind"] == "OpenStackCluster" else {}
            made = await stage.make(KINDS[tree["kind"]], meta["name"], metadata={**meta, **owners}, **rest)
            uid = uid or made["metadata"]["uid"]
    templates = (each for each in found if each["kind"] == "OpenStackMachineTemplate")
    return {each["metadata"]["name"].removeprefix(f"{NAME}-"): each["spec"]["template"]["spec"] for each in templates}


async def cloned(stage: Stage, name: str, spec: Tree, labels: Tree) -> None:
    """A Machine with an OpenStackMachine from a template, as core makes them."""
    meta: Tree = {"labels": {"cluster.x-k8s.io/cluster-name": NAME, **labels}}
    reference = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": name}
    wanted = {"clusterName": NAME, "bootstrap": {"dataSecretName": "data"}, "infrastructureRef": reference}
    owner = await stage.make(Machine, name, metadata=meta, spec={**wanted, "failureDomain": "az1"})
    by = {"apiVersion": owner["apiVersion"], "kind": "Machine", "name": name, "uid": owner["metadata"]["uid"]}
    await stage.make(OpenStackMachine, name, metadata={**meta, "ownerReferences": [by]}, spec=spec)


async def every(stage: Stage, *kinds: type[Any]) -> list[Tree]:
    found = [await stage.client.list(kind, namespace=stage.namespace) for kind in kinds]
    return [each.tree() for listed in found for each in listed.items]


@pytest.mark.parametrize("file", ["cluster-template.yaml", "cluster-template-without-lb.yaml"])
async def test_the_quick_start_of_the_provider_comes_up_and_its_types_decode_all_objects(
    stage: Stage, file: str
) -> None:
    templates = await applied(stage, file)
    await stage.until(is_ready, what="the cluster is ready")
    await stage.infrastructure_is_provisioned()
    await stage.make(Secret, "data", stringData={"value": "#!/bin/sh"})
    await cloned(stage, "cp-0", templates["control-plane"], {"cluster.x-k8s.io/control-plane": ""})
    await cloned(stage, "md-0", templates["md-0"], {})
    pool = {"identityRef": {"name": f"{NAME}-cloud-config", "cloudName": "openstack"}, "reclaimPolicy": "Delete"}
    await stage.make(OpenStackFloatingIPPool, "pool", spec=pool)
    for name in ("cp-0", "md-0"):
        machine = await stage.until_machine_ready(name)
        assert machine["status"]["initialization"]["provisioned"]
        server = stage.project.sdk.compute.get_server(machine["spec"]["providerID"].rpartition("/")[2])
        assert server.availability_zone == "az1"
        assert server.key_name == stage.project.name
    await eventually(
        lambda: every(stage, OpenStackFloatingIPPool),
        lambda found: all(each.get("status", {}).get("conditions") for each in found),
        what="the pool is looked at",
    )

    back = await every(
        stage,
        OpenStackCluster,
        OpenStackMachine,
        OpenStackMachineTemplate,
        OpenStackServer,
        OpenStackFloatingIPPool,
    )
    said = await asyncio.to_thread(refused, back)
    assert list(said) == [f"OpenStackCluster/{NAME}"], "our failure domains are a list, as contract v1beta2 has them"
    assert "failureDomains" in said[f"OpenStackCluster/{NAME}"]
    # The step of the way back in docs/openstack.md.
    gone = {"status": {"failureDomains": None}}
    told = await stage.client.patch(
        OpenStackCluster, NAME, gone, type=PatchType.MERGE, namespace=stage.namespace, subresource="status"
    )
    assert says(told.tree(), "Ready") == "True Ready"
    assert await asyncio.to_thread(refused, [told.tree()]) == {}

    for name in ("cp-0", "md-0"):
        await stage.delete_machine(name)
    await stage.client.delete(OpenStackFloatingIPPool, "pool", namespace=stage.namespace)
    await stage.delete()
