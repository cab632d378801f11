"""`examples/informer` as it is shipped: its manifests, its process, its rights, and what it adds to an UpdateStatus."""

import asyncio
import base64
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from examples.informer.informer import REFERENCE
from tests.waiting import eventually
from windlass.api.core import Service
from windlass.api.update import UpdateStatusStatus
from windlass.api.update_informer import UpdateInformer
from windlass.api.update_insights import HealthInsight
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.plane.audit import Permission
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.updates import PlayedCluster

from .asked import NEARBY, online
from .keeper import keeping, until_status

pytestmark = pytest.mark.plane

EXAMPLE = Path(__file__).parents[3] / "examples" / "informer"
HOME = NAME = "webhook-informer"
USER = f"system:serviceaccount:{HOME}:{NAME}"
NEVER = {"matchLabels": {"no-object-has": "this-label"}}


@asynccontextmanager
async def informing(plane: ControlPlane, folder: Path) -> AsyncIterator[tuple[int, str]]:
    """The example's process with its own account; yields its port and the PEM of its authority."""
    await asyncio.to_thread(plane.blocking.apply_files, EXAMPLE / "rbac.yaml")
    kubeconfig = await asyncio.to_thread(plane.blocking.service_account_kubeconfig, HOME, NAME)
    authority = trustme.CA()
    made = authority.issue_cert(f"{NAME}.{HOME}.svc")
    made.private_key_pem.write_to_path(str(folder / "key"))
    made.cert_chain_pems[0].write_to_path(str(folder / "certificate"))
    (port,) = free_ports(1)
    program = ["/usr/bin/env", f"KUBECONFIG={kubeconfig}", sys.executable, str(EXAMPLE / "informer.py")]
    flags = [f"--certificate={folder / 'certificate'}", f"--key={folder / 'key'}", "--host=127.0.0.1", f"--port={port}"]
    processes = Processes(folders=[], log=folder / "supervisor.log")
    try:
        await asyncio.to_thread(processes.start, NAME, [*program, *flags], log=folder / "informer.log")
        yield port, authority.cert_pem.bytes().decode()
        await asyncio.to_thread(processes.stop, NAME)
        assert await asyncio.to_thread(processes.exit_code, NAME) == 0, (folder / "informer.log").read_text()
    finally:
        await asyncio.to_thread(processes.close)


async def register(plane: ControlPlane, admin: Client, port: int, authority: str) -> None:
    """What is shipped, with the port and the authority of the process, and enabled as its comment says."""
    service = yaml.safe_load((EXAMPLE / "service.yaml").read_text())
    service["spec"]["ports"][0] |= {"port": port, "targetPort": port}
    await asyncio.to_thread(plane.blocking.apply, service)
    await asyncio.to_thread(plane.blocking.apply_files, EXAMPLE / "update-informer.yaml")
    client = {"service": {"port": port}, "caBundle": base64.b64encode(authority.encode()).decode()}
    enabled = {"spec": {"state": "Enabled", "clientConfig": client, "intervalSeconds": 10}}
    await admin.patch(UpdateInformer, "webhooks", enabled, type=PatchType.MERGE)


def configuration(kind: str, name: str, resource: str, service: str, **fields: Any) -> dict[str, Any]:
    """One webhook, which no request of this cluster matches."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    webhook = {
        "name": f"{name}.example.com",
        "clientConfig": {"service": {"namespace": HOME, "name": service}, "caBundle": ""},
        "rules": [rule],
        "objectSelector": NEVER,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }
    api = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "webhooks": [webhook]}


def endpoints(service: str, *, ready: bool) -> dict[str, Any]:
    """As kube-controller-manager writes them for the Pods of a Service."""
    labels = {"kubernetes.io/service-name": service}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{service}-1", "namespace": HOME, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": ready}}],
        "ports": [],
    }


@pytest.fixture
async def webhooks(plane: ControlPlane, asking: Path) -> AsyncIterator[None]:
    """Those of a guard, of labels and of a janitor, whose Service is dead, and one whose Service answers."""
    await asyncio.to_thread(plane.blocking.apply_files, EXAMPLE / "rbac.yaml")
    objects = [
        endpoints("dead", ready=False),
        endpoints("alive", ready=True),
        configuration("ValidatingWebhookConfiguration", "guard", "pods", "dead"),
        configuration("MutatingWebhookConfiguration", "labels", "configmaps", "missing"),
        configuration("ValidatingWebhookConfiguration", "janitor", "pods", "dead", failurePolicy="Ignore"),
        configuration("ValidatingWebhookConfiguration", "healthy", "pods", "alive"),
    ]
    await asyncio.to_thread(plane.blocking.apply, *objects)
    yield
    for one in objects[2:]:
        path = f"/apis/admissionregistration.k8s.io/v1/{one['kind'].lower()}s/{one['metadata']['name']}"
        await asyncio.to_thread(plane.blocking.rest.request, "DELETE", path)


def of_example(found: UpdateStatusStatus) -> list[HealthInsight]:
    informers = found.control_plane.informers if found.control_plane else ()
    entries = [entry for one in informers if one.name == "webhooks" for entry in one.insights]
    return [entry.insight.health for entry in entries if entry.insight.health]


async def test_dead_webhooks_stand_in_the_update_status_and_the_shipped_rights_are_those_used(
    admin: Client, plane: ControlPlane, cluster: PlayedCluster, asking: Path, webhooks: None, tmp_path: Path
) -> None:
    async with informing(plane, tmp_path) as (port, authority):
        await register(plane, admin, port, authority)
        async with keeping(asking, tmp_path, "--no-leader-elect", "--informers", program=NEARBY):
            await eventually(lambda: online(admin), lambda all_: all_ == {"webhooks": "Answering"}, what="it is tried")
            await cluster.cvo.start("4.16.1")
            found = await until_status(admin, lambda found: len(of_example(found)) == 2, "its two insights")
    said = {one.impact.summary: one for one in of_example(found)}
    guard = said["Nobody answers for webhook guard.example.com: Service webhook-informer/dead has no ready endpoint"]
    labels = said[
        "Nobody answers for webhook labels.example.com: Service webhook-informer/missing has no ready endpoint"
    ]
    assert (guard.impact.level, labels.impact.level) == ("Error", "Warning")
    assert {one.impact.type for one in said.values()} == {"Update Stalled"}
    assert {one.remediation.reference for one in said.values()} == {REFERENCE}
    assert [(one.resource, one.namespace, one.name) for one in guard.scope.resources] == [
        ("validatingwebhookconfigurations", None, "guard"),
        ("services", HOME, "dead"),
    ]
    assert "nodes do not drain" in guard.impact.description
    assert "nodes do not drain" not in labels.impact.description
    reviews = Permission("create", "authentication.k8s.io", "tokenreviews")  # of system:auth-delegator
    assert plane.blocking.audit.permissions_used(USER) == shipped() | {reviews}
    await admin.delete(Service, NAME, namespace=HOME)


def shipped() -> set[Permission]:
    (role,) = [one for one in yaml.safe_load_all((EXAMPLE / "rbac.yaml").read_text()) if one["kind"] == "ClusterRole"]
    return {
        Permission(verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
