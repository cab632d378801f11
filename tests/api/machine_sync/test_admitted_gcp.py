"""Google Cloud before its judges: what conversion makes is admitted, and comes to rest.

To Cluster API the real CRDs of its provider judge, to the Machine API the real webhooks, which fill in what is empty
and write the result. Nobody recorded conversions of this platform; the machines are those of
`tests/data/machine_sync/gcp.yaml`.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
import yaml

from windlass.api import capg, capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import tree
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE
from windlass.machine_sync.mirroring.infra_machine_spec import differing
from windlass.machine_sync.platforms import GCP
from windlass.testing import ControlPlane
from windlass.testing.machines.machine_api import MachineApi

from ...unit.machine_sync.conversion.vectors import DATA
from .examples import Tree
from .stage import describe_cluster

pytestmark = pytest.mark.plane

TABLE: Tree = yaml.safe_load((DATA / "gcp.yaml").read_text(encoding="utf-8"))
USUAL: Tree = TABLE["usual"]
WEBHOOK = "projects/rhcos-cloud/global/images/rhcos-414-92-202307070025-0-gcp-x86-64"


def over(base: Tree, fields: Tree) -> Tree:
    return {key: value for key, value in {**base, **fields}.items() if value is not None}


def converted(direction: str) -> Iterator[Tree]:
    return (case for case in TABLE[direction] if "gives" in case)


@pytest.fixture(scope="module")
def judged(machine_sync_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A plane on which the webhooks of the Machine API judge."""
    plane = machine_sync_plane.blocking
    for name in (MACHINE_API_NAMESPACE, CLUSTER_API_NAMESPACE):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    describe_cluster(plane, platform="GCP")
    # Its controllers look after another namespace: they are not what is asked here.
    folder = tmp_path_factory.mktemp("judge")
    judge = MachineApi(plane, platform="GCP", folder=folder, namespace="default", cloud="default")
    try:
        judge.start()
        judge.admit(MACHINE_API_NAMESPACE)
        yield machine_sync_plane
    finally:
        judge.close()


@pytest.fixture
async def client(judged: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=judged.blocking.kubeconfig()), field_manager="windlass") as client:
        yield client


def cluster_of(case: Tree) -> capg.GCPCluster:
    return msgspec.convert({"spec": over(USUAL["cluster"], case.get("cluster") or {})}, capg.GCPCluster)


def infra_spec_of(case: Tree) -> Tree:
    gcp = {**USUAL["infrastructure"], **case.get("infrastructure", {})}
    status = {"infrastructureName": "quay-x2", "platformStatus": {"type": "GCP", "gcp": gcp}}
    machine = {
        "metadata": {"name": "w-0", "labels": case.get("labels", {})},
        "spec": {"providerSpec": {"value": over(USUAL["provider_spec"], case["given"])}},
    }
    made = GCP.to_cluster_api(
        msgspec.convert(machine, mapi.Machine),
        msgspec.convert({"status": status}, Infrastructure),
        infra_cluster=cluster_of(case),
    )
    assert made.infra_machine is not None, made.errors
    spec: Tree = tree(made.infra_machine.spec)
    return spec


def provider_spec_of(case: Tree) -> Tree:
    machine = {
        "metadata": {"name": "w-0", "labels": case.get("labels", {})},
        "spec": {
            "clusterName": "quay-x2",
            "failureDomain": "us-east4-a",
            "bootstrap": {"dataSecretName": "worker-user-data"},
        },
    }
    made = GCP.to_machine_api(
        msgspec.convert(machine, capi.Machine),
        msgspec.convert({"spec": over(USUAL["infra_spec"], case["given"])}, capg.GCPMachine),
        cluster_of(case),
    )
    assert made.machine is not None, made.errors
    spec: Tree = tree(made.machine.spec.provider_spec.value)
    return spec


async def test_every_infra_machine_and_template_is_admitted_and_at_rest(client: Client) -> None:
    for case in converted("to_cluster_api"):
        spec = infra_spec_of(case)
        template = {"metadata": {"name": "w-0"}, "spec": {"template": {"spec": spec}}}
        for kind, body in (
            (capg.GCPMachine, {"metadata": {"name": "w-0"}, "spec": spec}),
            (capg.GCPMachineTemplate, template),
        ):
            made = (await client.create(kind, body, namespace=CLUSTER_API_NAMESPACE)).tree()["spec"]
            stored = made["template"]["spec"] if kind is capg.GCPMachineTemplate else made
            assert differing(GCP, stored, spec) == {}, case["name"]
            await client.delete(kind, "w-0", namespace=CLUSTER_API_NAMESPACE)


@pytest.mark.parametrize("of_a_set", [False, True], ids=["Machine", "MachineSet"])
async def test_every_mirror_in_the_machine_api_is_admitted_and_at_rest(client: Client, of_a_set: bool) -> None:
    for case in converted("to_machine_api"):
        converted_spec = {"value": provider_spec_of(case)}
        labels = {"machine.openshift.io/cluster-api-cluster": "quay-x2"}
        template = {"metadata": {"labels": labels}, "spec": {"providerSpec": converted_spec}}
        spec = {"selector": {"matchLabels": labels}, "template": template} if of_a_set else template["spec"]
        kind: Any = mapi.MachineSet if of_a_set else mapi.Machine
        body = {"metadata": {"name": "w-0", "labels": labels}, "spec": spec}
        made = (await client.create(kind, body, namespace=MACHINE_API_NAMESPACE)).tree()["spec"]
        observed = made["template"]["spec"]["providerSpec"] if of_a_set else made["providerSpec"]
        assert GCP.mirrored_provider_spec(observed, converted_spec) is observed, case["name"]
        await client.patch(
            kind, "w-0", {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=MACHINE_API_NAMESPACE
        )
        await client.delete(kind, "w-0", namespace=MACHINE_API_NAMESPACE)


async def test_the_webhook_gives_blank_data_disks_an_image_and_so_they_come_back(client: Client) -> None:
    blank = provider_spec_of({"given": {"additionalDisks": [{"size": 64}]}})
    body = {"metadata": {"name": "w-0"}, "spec": {"providerSpec": {"value": blank}}}
    made = (await client.create(mapi.Machine, body, namespace=MACHINE_API_NAMESPACE)).tree()
    value = made["spec"]["providerSpec"]["value"]
    assert value["disks"][1]["image"] == WEBHOOK
    await client.delete(mapi.Machine, "w-0", namespace=MACHINE_API_NAMESPACE)
    spec = infra_spec_of({"given": {"disks": value["disks"]}})
    assert spec["additionalDisks"] == [{"deviceType": "pd-standard", "size": 64}]
