"""`windlass openstack tree` and `orphans` on a real API server and a real cloud."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.api.cli.conftest import Windlass
from tests.api.openstack.server.stage import SECRET, Stage, Writes, at_work
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_server import OpenStackServer
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.kube.crd import custom_resource_definition
from windlass.openstack.cloud.marks import described
from windlass.openstack.constants import CLUSTER_LABEL, MARK_ANNOTATION
from windlass.openstack.create import mark_of_owner
from windlass.testing import PlaneAccess, crds
from windlass.testing.cloud import Project
from windlass.testing.cloud.project import ENTRY

pytestmark = pytest.mark.plane

KINDS: tuple[type[Any], ...] = (OpenStackServer, OpenStackClusterIdentity, OpenStackCluster, OpenStackMachine)
MARK = str(uuid4())


@pytest.fixture
async def stage(windlass_plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    """Without a controller."""
    await windlass_plane.apply_crds(
        *crds.documents("cluster.x-k8s.io"), *(custom_resource_definition(kind) for kind in KINDS)
    )
    kubeconfig = config.load(kubeconfig=windlass_plane.kubeconfig())
    async with Client(kubeconfig) as client, Writes(kubeconfig) as ours:
        yield Stage(client, ours, windlass_namespace, project)


def networking(project: Project, mark: str) -> dict[str, str]:
    """What a cluster with this mark has, by kind, with the IDs."""
    network, description = project.sdk.network, described("Created by Windlass", mark)
    made = network.create_network(name="net", description=description)
    subnet = network.create_subnet(
        name="sub", network_id=made.id, ip_version=4, cidr="10.9.0.0/24", description=description
    )
    public = network.find_network("public", ignore_missing=False)
    router = network.create_router(
        name="router", description=description, external_gateway_info={"network_id": public.id}
    )
    network.add_interface_to_router(router, subnet.id)
    group = network.create_security_group(name="group", description=description)
    address = network.create_ip(floating_network_id=public.id, description=description)
    return {
        "network": made.id,
        "subnet": subnet.id,
        "router": router.id,
        "security group": group.id,
        "floating IP": address.id,
    }


async def test_a_cluster_is_shown_with_its_resources_and_what_it_leaves_is_found_and_deleted(
    stage: Stage, windlass: Windlass, tmp_path: Path
) -> None:
    project, place = stage.project, f"{stage.namespace}/c"
    programs = project.sdk.network.create_security_group(name="p", description=described("", mark_of_owner("fleet-7")))
    made = networking(project, MARK)
    await stage.secret()
    identity = {"name": SECRET, "cloudName": ENTRY}
    await stage.make(
        OpenStackCluster, "c", spec={"identityRef": identity}, metadata={"annotations": {MARK_ANNOTATION: MARK}}
    )
    gone = str(uuid4())
    status = {"network": {"id": made["network"], "name": "net"}, "router": {"id": gone, "name": "lost"}}
    await stage.patch(OpenStackCluster, "c", {"status": status}, part="status")
    await stage.cluster()
    async with at_work(stage):
        await stage.server("w", metadata={"labels": {CLUSTER_LABEL: "c"}})
        server = await stage.until_ready("w")

    shown = windlass("openstack", "tree", place, "-o", "json")
    assert (shown.returncode, shown.stderr) == (0, "")
    (cluster,) = json.loads(shown.stdout)["items"]
    below = {(each["kind"], each["id"]): each for each in cluster["children"]}
    assert below["network", made["network"]]["notes"] == []
    assert [each["name"] for each in below["network", made["network"]]["children"]] == ["sub"]
    assert below["router", made["router"]]["notes"] == ["has the mark of this object, which does not record it"]
    assert below["router", gone]["notes"] == ["recorded, but it does not exist"]
    (node,) = (each for each in cluster["children"] if each["kind"] == "OpenStackServer")
    assert (node["name"], node["ready"]["status"]) == (f"{stage.namespace}/w", "True")
    assert [(each["kind"], each["state"]) for each in node["children"]] == [("server", "ACTIVE"), ("port", "ACTIVE")]
    assert node["children"][0]["id"] == server.status.instance_id
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text(project.clouds_yaml)
    env = {"OS_CLIENT_CONFIG_FILE": str(clouds)}
    asked = ("openstack", "orphans", "--os-cloud", ENTRY)
    none = windlass(*asked, env=env)
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "No orphans.\n")

    for kind, name in ((OpenStackServer, "w"), (OpenStackCluster, "c")):
        await stage.patch(kind, name, {"metadata": {"finalizers": None}})
        await stage.client.delete(kind, name, namespace=stage.namespace)
    dry = windlass(*asked, "-o", "json", env=env)
    assert dry.returncode == 3
    found = json.loads(dry.stdout)["items"]
    assert {each["id"] for each in found} == {*made.values(), server.status.instance_id, *ports_of(server)}
    cleaned = windlass(*asked, "--delete", "--yes", "--all-ages", "-o", "json", env=env)
    results = json.loads(cleaned.stdout)["items"]
    assert [(each["kind"], each["problem"]) for each in results if each["result"] != "deleted"] == []
    assert (cleaned.returncode, len(results)) == (0, len(found))
    assert project.sdk.network.find_security_group(programs.id) is not None
    project.sdk.network.delete_security_group(programs.id)


def ports_of(server: OpenStackServer) -> set[str]:
    assert server.status.resources is not None
    return {each.id for each in server.status.resources.ports}
