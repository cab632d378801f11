"""What `windlass convert` prints is taken by an API server as it is: `windlass convert ... | kubectl apply -f -`."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.cli.conftest import Windlass
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE
from windlass.testing import BlockingAccess, ControlPlane, crds
from windlass.testing.plane.rest import APPLY_PATCH

pytestmark = pytest.mark.plane

OWNER = """
  ownerReferences:
  - {apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: converted, uid: abc, controller: true}
"""
PROVIDER_SPEC = """
apiVersion: machine.openshift.io/v1alpha1
kind: OpenstackProviderSpec
flavor: m1
image: rhcos
cloudName: openstack
cloudsSecret: {name: openstack-cloud-credentials}
userDataSecret: {name: worker-user-data}
"""
MACHINE_API = f"""
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {{name: cluster}}
status: {{infrastructureName: demo, platformStatus: {{type: OpenStack}}}}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {{name: converted, namespace: {MACHINE_API_NAMESPACE}, uid: abc, generation: 3, resourceVersion: "7"}}
spec:
  replicas: 0
  selector: {{matchLabels: {{machine.openshift.io/cluster-api-machineset: converted}}}}
  template:
    metadata: {{labels: {{machine.openshift.io/cluster-api-machineset: converted}}}}
    spec: {{providerSpec: {{value: {yaml.safe_load(PROVIDER_SPEC)}}}}}
status: {{replicas: 0, readyReplicas: 0}}
---
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata:
  name: converted-0
  namespace: {MACHINE_API_NAMESPACE}
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {{machine.openshift.io/cluster-api-machineset: converted}}
{OWNER}
spec: {{providerID: "openstack:///1", providerSpec: {{value: {yaml.safe_load(PROVIDER_SPEC)}}}}}
status: {{phase: Running, nodeRef: {{kind: Node, name: n}}}}
"""
OPENSTACK_CLUSTER = f"""
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {{name: demo, namespace: {CLUSTER_API_NAMESPACE}}}
spec: {{}}
"""


@pytest.fixture
def both_namespaces(windlass_module_plane: ControlPlane) -> BlockingAccess:
    """On a plane with the CRDs that the projects publish, which are the judges here."""
    plane = windlass_module_plane.blocking
    plane.apply_crds(*crds.documents(*crds.MACHINES))
    for name in (MACHINE_API_NAMESPACE, CLUSTER_API_NAMESPACE):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return plane


@pytest.mark.parametrize("options", [(), ("--no-status",)], ids=["with its status", "without"])
def test_what_is_printed_can_be_applied(
    options: tuple[str, ...], both_namespaces: BlockingAccess, windlass: Windlass, tmp_path: Path
) -> None:
    given = written(tmp_path / "machine-api.yaml", MACHINE_API)
    to_cluster_api = documents(windlass("convert", "--to", "capi", "-f", given, *options))
    back = written(tmp_path / "cluster-api.yaml", yaml.safe_dump_all(to_cluster_api) + "---\n" + OPENSTACK_CLUSTER)
    to_machine_api = documents(windlass("convert", "--to", "mapi", "-f", back, *options))

    assert [place(one) for one in to_cluster_api] == [
        ("MachineSet", CLUSTER_API_NAMESPACE),
        ("OpenStackMachineTemplate", CLUSTER_API_NAMESPACE),
        ("Machine", CLUSTER_API_NAMESPACE),
        ("OpenStackMachine", CLUSTER_API_NAMESPACE),
    ]
    assert [place(one) for one in to_machine_api] == [
        ("MachineSet", MACHINE_API_NAMESPACE),
        ("Machine", MACHINE_API_NAMESPACE),
    ]
    for document in (*to_cluster_api, *to_machine_api):
        assert ("status" in document) == (not options)
        apply(both_namespaces, document)


def apply(plane: BlockingAccess, document: dict[str, Any]) -> None:
    """As `kubectl apply` does, with and without `--server-side`: unknown fields and wrong types are refused."""
    kinds = {"MachineSet": "machinesets", "Machine": "machines"}
    plural = kinds.get(document["kind"], f"{document['kind'].lower()}s")
    path = f"/apis/{document['apiVersion']}/namespaces/{document['metadata']['namespace']}/{plural}"
    strict = "fieldValidation=Strict&dryRun=All"
    plane.rest.request("POST", f"{path}?{strict}", document)
    name = document["metadata"]["name"]
    plane.rest.request("PATCH", f"{path}/{name}?{strict}&fieldManager=me", document, content_type=APPLY_PATCH)


def documents(process: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    assert process.returncode == 0, process.stderr
    return [one for one in yaml.safe_load_all(process.stdout) if one]


def place(document: dict[str, Any]) -> tuple[str, str]:
    return document["kind"], document["metadata"]["namespace"]


def written(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)
