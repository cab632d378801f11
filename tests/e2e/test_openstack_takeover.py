"""The documented take-over from Cluster API's OpenStack provider, there and back, by the commands of docs/openstack.md.

The plane has the provider's own CRDs and ValidatingWebhookConfiguration. Its program is never there, as after `scale
--replicas=0`: so the API server refuses to create and to change its objects while the webhooks are registered.
"""

import asyncio
import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession

from tests.program import Program, starting
from tests.waiting import eventually
from windlass.openstack.beside import PROVIDER_NAMESPACE
from windlass.openstack.installation import HOME
from windlass.testing import BlockingControlPlane, crds
from windlass.testing.binaries import CLUSTER_API_OPENSTACK, obtain
from windlass.testing.cloud import Project
from windlass.testing.crds import openstack as provider
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.manifests import read_manifests
from windlass.testing.plane.rest import MERGE_PATCH

from .openstack import NAME, PROGRAM, QUICK

pytestmark = [
    pytest.mark.plane,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="the documented commands need kubectl"),
]

Tree = dict[str, Any]

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "openstack.md"
GROUP = "/apis/infrastructure.cluster.x-k8s.io"
SERVERS = f"{GROUP}/v1alpha1/namespaces/prod/openstackservers"
CLUSTERS = f"{GROUP}/v1beta1/namespaces/prod/openstackclusters"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{PROVIDER_NAMESPACE}/deployments"
HOOK = "validation.openstackserver.infrastructure.cluster.x-k8s.io"


def theirs() -> list[Tree]:
    """The provider's CRDs as its kustomization makes them."""
    found = read_manifests([obtain([CLUSTER_API_OPENSTACK]).crds[CLUSTER_API_OPENSTACK.name]])
    made = [each for each in found if each["kind"] == "CustomResourceDefinition"]
    for each in made:
        each["metadata"]["labels"] = {**provider.LABELS, "cluster.x-k8s.io/v1beta1": "v1beta1"}
    return made


def commands(heading: str) -> str:
    """The first block of commands below a heading of the page."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n{heading}\n")
    block = re.search(r"(?:^    .*\n)+", section, re.MULTILINE)
    assert block is not None, heading
    return re.sub(r"^    ", "", block[0], flags=re.MULTILINE)


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    known: list[Path | Mapping[str, Any]] = [*crds.documents(*crds.CLUSTER_API_CORE), *theirs()]
    with BlockingControlPlane(assets=request.config.getoption("windlass_assets"), crds=known) as plane:
        yield plane


class Operator:
    """Types the commands of the page, in a folder of its own beside `deploy`."""

    def __init__(self, plane: BlockingControlPlane, folder: Path) -> None:
        self.rest = plane.rest
        self._kubeconfig = plane.kubeconfig()
        self._folder = folder
        (folder / "deploy").symlink_to(REPOSITORY / "deploy")

    async def types(self, script: str) -> None:
        said = await asyncio.to_thread(self._run, ["bash", "-e", "-o", "pipefail", "-c", script])
        assert said.returncode == 0, f"{script}\n{said.stdout}{said.stderr}"

    async def plans(self) -> str:
        said = await asyncio.to_thread(self._run, [PROGRAM[0], "plan", "openstack", f"--kubeconfig={self._kubeconfig}"])
        return said.stderr + said.stdout

    def _run(self, argv: list[str]) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "KUBECONFIG": str(self._kubeconfig)}
        return subprocess.run(argv, cwd=self._folder, env=env, capture_output=True, text=True, check=False, timeout=300)

    def make(self, path: str, kind: str, version: str, name: str, **content: Any) -> Tree:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}
        made: Tree = self.rest.request("POST", path, body)
        return made

    def get(self, path: str, name: str) -> Tree:
        found: Tree = self.rest.request("GET", f"{path}/{name}")
        return found

    async def until(self, name: str, condition: str, reason: str) -> str:
        """Wait for the reason of a condition of an OpenStackServer; returns its message."""

        async def look() -> Tree:
            said = self.get(SERVERS, name).get("status", {}).get("conditions", [])
            return next((each for each in said if each["type"] == condition), {})

        found = await eventually(look, lambda one: one.get("reason") == reason, what=f"{condition} {reason} of {name}")
        return str(found["message"])

    def refusal(self, name: str) -> str:
        """What the API server has against a new OpenStackServer; empty if it takes one."""
        spec = {**self.get(SERVERS, "a")["spec"]}
        body = {"apiVersion": f"{GROUP[6:]}/v1alpha1", "kind": "OpenStackServer", "metadata": {"name": name}}
        try:
            self.rest.request("POST", f"{SERVERS}?dryRun=All", {**body, "spec": spec})
        except Refused as refused:
            return str(refused)
        return ""


async def deploys(operator: Operator) -> None:
    """The Deployment controller, and kubelets: the provider's Pods become ready when it is scaled up."""
    while True:
        found = operator.get(DEPLOYMENTS, "capo-controller-manager")
        wanted, generation = found["spec"]["replicas"], found["metadata"]["generation"]
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), wanted)
        status = {"status": {"observedGeneration": generation, **counts}}
        path = f"{DEPLOYMENTS}/capo-controller-manager/status"
        operator.rest.request("PATCH", path, status, content_type=MERGE_PATCH)
        await asyncio.sleep(0.2)


def provider_runs(operator: Operator, project: Project) -> None:
    """What clusterctl has installed, and two objects that the provider has not begun with."""
    for place in ("prod", PROVIDER_NAMESPACE):
        operator.make("/api/v1/namespaces", "Namespace", "v1", place)
    clouds = base64.b64encode(project.clouds_yaml.encode()).decode()
    operator.make("/api/v1/namespaces/prod/secrets", "Secret", "v1", "cloud", data={"clouds.yaml": clouds})
    labels = {"control-plane": "capo-controller-manager"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "capo"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    operator.make(DEPLOYMENTS, "Deployment", "apps/v1", "capo-controller-manager", spec=spec)
    identity = {"name": "cloud", "cloudName": "openstack"}
    machine = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, "sshKeyName": ""}
    ports = [{"network": {"id": project.network_id}}]
    version = "infrastructure.cluster.x-k8s.io"
    spec = {"identityRef": identity, **machine, "ports": ports}
    operator.make(SERVERS, "OpenStackServer", f"{version}/v1alpha1", "a", spec=spec)
    operator.make(CLUSTERS, "OpenStackCluster", f"{version}/v1beta1", "one", spec={"identityRef": identity})
    operator.rest.request("POST", WEBHOOKS, provider.webhooks())


async def readiness(process: Program) -> str:
    try:
        async with ClientSession() as session, session.get(f"{process.probes}/readyz?verbose") as answer:
            return await answer.text()
    except ClientError:
        return ""


def plain(found: Tree) -> Tree:
    """What people have written of an object."""
    labels = found["metadata"].get("labels")
    return {name: value for name, value in found.items() if name not in ("metadata", "status")} | {"labels": labels}


async def test_the_documented_road_leads_there_and_back_beside_the_webhooks_of_the_provider(
    plane: BlockingControlPlane, project: Project, tmp_path: Path
) -> None:
    operator = Operator(plane, tmp_path)
    await asyncio.to_thread(provider_runs, operator, project)
    names = [each["metadata"]["name"] for each in theirs()]
    before = {name: plain(operator.get(CRDS, name)) for name in names}
    hooks = plain(operator.get(WEBHOOKS, "capo-validating-webhook-configuration"))

    def working() -> Any:
        account = plane.service_account_kubeconfig(HOME, NAME)
        return starting([*PROGRAM, f"--kubeconfig={account}", f"--namespace={HOME}", *QUICK], tmp_path)

    there = commands("## Take over from Cluster API's provider").splitlines()
    forgotten = "kubectl delete -f capo-webhooks.yaml"
    assert forgotten in there
    await operator.types("\n".join(line for line in there if line != forgotten))
    async with working() as process:
        message = await operator.until("a", "Ready", "WriteRefused")
        assert f'failed calling webhook "{HOOK}"' in message
        assert "save and delete the ValidatingWebhookConfiguration" in message
        told = await eventually(lambda: readiness(process), lambda text: "[-]webhooks failed" in text, what="unready")
        assert HOOK in told
        assert (
            f"{HOOK} of ValidatingWebhookConfiguration capo-validating-webhook-configuration" in await operator.plans()
        )
        assert list(project.sdk.compute.servers()) == []
        assert "failed calling webhook" in operator.refusal("b")

        await operator.types(forgotten)
        await operator.until("a", "Ready", "Ready")
        assert operator.refusal("b") == ""
        await process.ready()
        assert "webhook" not in await operator.plans()
        (made,) = project.sdk.compute.servers()
        ours = {"status": {"failureDomains": [{"name": "nova", "controlPlane": True}]}}
        operator.rest.request("PATCH", f"{CLUSTERS}/one/status", ours, content_type=MERGE_PATCH)
        assert await process.end() == 0

    playing = asyncio.create_task(deploys(operator))
    await operator.types(commands("### The way back"))
    playing.cancel()
    assert {name: plain(operator.get(CRDS, name)) for name in names} == before
    assert plain(operator.get(WEBHOOKS, "capo-validating-webhook-configuration")) == hooks
    assert "failed calling webhook" in operator.refusal("b"), "they judge again, and nobody serves them here"
    assert "failureDomains" not in operator.get(CLUSTERS, "one").get("status", {})
    status = {"status": {"ready": True, "failureDomains": {"nova": {"controlPlane": True}}}}
    operator.rest.request("PATCH", f"{CLUSTERS}/one/status", status, content_type=MERGE_PATCH)
    assert operator.get(CLUSTERS, "one")["status"].items() >= status["status"].items()
    assert [each.id for each in project.sdk.compute.servers()] == [made.id]
    assert operator.get(SERVERS, "a")["status"]["instanceID"] == made.id

    await operator.types("\n".join(there))
    async with working() as process:
        await process.ready()
        operator.rest.request("DELETE", f"{SERVERS}/a")
        await eventually(
            lambda: asyncio.to_thread(lambda: list(project.sdk.compute.servers())), lambda found: not found, what="none"
        )

        async def left() -> list[Tree]:
            listed: Tree = operator.rest.request("GET", SERVERS)
            return list(listed["items"])

        await eventually(left, lambda found: not found, what="no OpenStackServer")
        assert await process.end() == 0
