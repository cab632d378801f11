"""`windlass plan openstack -f FILE --os-cloud NAME`: what is told before anything is created; the cloud is a model."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.openstack.cluster import bastioned
from windlass.api.capi import Cluster
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.manifests.rights import Unread
from windlass.cli.plan import carry_out
from windlass.kube.control.controller import Controller
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure, Unauthenticated, Unavailable
from windlass.openstack.controllers import makers
from windlass.openstack.planning.planner import AskedClouds, planner
from windlass.testing.memory_cloud import MemoryCloud

PROJECT = "project"
PASSWORD = "not-to-be-shown"

Tree = dict[str, Any]

SERVER: Tree = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
    "kind": "OpenStackServer",
    "metadata": {"name": "jump", "namespace": "prod"},
    "spec": {
        "identityRef": {"name": "cloud", "cloudName": "one"},
        "image": {"filter": {"name": "rhcos"}},
        "flavor": "m1.small",
        "sshKeyName": "",
        "ports": [{"network": {"filter": {"name": "machines"}}}],
    },
}
IDENTITY = {"name": "cloud", "cloudName": "one"}
NETWORK = {"id": "network-of-machines", "name": "machines", "subnets": []}
FOUND: Tree = {
    "network": {"filter": {"name": "machines"}},
    "controlPlaneEndpoint": {"host": "api", "port": 6443},
    "disableExternalNetwork": True,
    "disableAPIServerFloatingIP": True,
}
INFRA = "infrastructure.cluster.x-k8s.io/v1beta1"
CORE = "cluster.x-k8s.io/v1beta2"


def machines(replicas: int) -> list[Tree]:
    """A Cluster on a network that was found, and a set of machines, as a user writes them."""
    labels = {"set": "workers"}
    infra = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachineTemplate", "name": "workers"}
    template = {"clusterName": "one", "bootstrap": {"dataSecretName": "user-data"}, "infrastructureRef": infra}
    port = {"network": {"filter": {"name": "machines"}}}
    machine = {"flavor": "m1.small", "image": {"filter": {"name": "rhcos"}}, "ports": [port], "identityRef": IDENTITY}
    return [
        named(CORE, "Cluster", "one", {"infrastructureRef": {**infra, "kind": "OpenStackCluster", "name": "one"}}),
        {
            **named(INFRA, "OpenStackCluster", "one", {**FOUND, "identityRef": IDENTITY}),
            "status": {"network": NETWORK, "initialization": {"provisioned": True}},
        },
        named(INFRA, "OpenStackMachineTemplate", "workers", {"template": {"spec": machine}}),
        named(
            CORE,
            "MachineSet",
            "workers",
            {
                "clusterName": "one",
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": template},
            },
        ),
    ]


def named(version: str, kind: str, name: str, spec: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "prod"}, "spec": spec}


def no_answer(service: str, write: bool, slow: bool) -> CloudFailure:
    return Unavailable(service, "no answer")


class Check:
    """The command, on a model of the user's cloud."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cloud = MemoryCloud(no_answer=no_answer)
        self.cloud.services.image("rhcos")
        self.cloud.services.flavor("m1.small")
        self.cloud.services.network("machines")
        self.credentials = partial(Credentials, {"auth": {"auth_url": "http://k/v3", "password": PASSWORD}}, "mine")
        self._folder = folder
        self._capsys = capsys
        self.machine_api = ""
        self.out = self.err = ""

    async def __call__(self, *objects: Tree, form: str = "text") -> Exit:
        file = self._folder / "objects.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        clouds = AskedClouds(wire=lambda _: self.cloud.wire(PROJECT))

        def controllers(reader: Any, clouds: Clouds) -> tuple[Controller[Any, Any], ...]:
            return tuple(make(reader) for make in makers(clouds, machine_api=self.machine_api))

        common: Tree = {"credentials": self.credentials, "clouds": clouds, "machine_api": self.machine_api}
        how = planner(controllers, reader=Unread(), **common)
        done = await carry_out.follow_files([str(file)], [carry_out.Question(how)], carry_out.Form(form, every=False))
        self.out, self.err = self._capsys.readouterr()
        return done

    def changed(self, tree: Tree, **spec: Any) -> Tree:
        return {**tree, "spec": {**tree["spec"], **spec}}


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    return Check(tmp_path, capsys)


async def test_every_write_and_every_request_is_shown_and_nothing_is_sent(check: Check) -> None:
    assert await check(SERVER) is Exit.CHANGES
    assert "merge OpenStackServer.infrastructure.cluster.x-k8s.io prod/jump: what is created can be found" in check.out
    assert "create port (OpenStack) for OpenStackServer" in check.out
    assert "not sent" in check.out
    assert {each.method for each in check.cloud.requests} == {"GET"}


async def test_a_request_that_is_not_sent_is_shown_once(check: Check) -> None:
    await check(SERVER, *machines(1))
    assert check.out.count("create port (OpenStack) for OpenStackServer.infrastructure.cluster.x-k8s.io prod/jump") == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({"flavor": "m9"}, "no flavor matches flavor (name m9)", id="flavor"),
        pytest.param({"image": {"filter": {"name": "none"}}}, "no image matches image (name none)", id="image"),
        pytest.param({"ports": [{"network": {"filter": {"name": "x"}}}]}, "no network matches", id="network"),
        pytest.param({"floatingIPPoolRef": {"kind": "P", "name": "p"}}, "floatingIPPoolRef.apiGroup", id="pool"),
    ],
)
async def test_a_wrong_reference_is_an_error_with_the_field(check: Check, spec: Tree, said: str) -> None:
    assert await check(check.changed(SERVER, **spec)) is Exit.FAILED
    assert check.err.startswith("error: openstackserver/prod/jump: ")
    assert said in check.err


async def test_a_set_is_planned_by_one_machine_and_counted_by_its_replicas(check: Check) -> None:
    assert await check(*machines(3)) is Exit.CHANGES
    assert "openstackmachine/prod/workers-0" in check.out
    assert "openstackserver/prod/workers-0" in check.out
    assert "workers-1" not in check.out
    assert "note: cloud mine of your clouds.yaml: instances: 3 wanted" in check.err


async def test_a_quota_that_is_too_small_is_a_warning(check: Check) -> None:
    check.cloud.services.quotas[PROJECT] = {"instances": 2}
    assert await check(*machines(3)) is Exit.CHANGES
    assert "warning: cloud mine of your clouds.yaml: instances: 3 wanted, 2 of 2 left" in check.err


@pytest.mark.parametrize("form", ["text", "json"])
async def test_credentials_of_the_user_are_never_shown(check: Check, form: str) -> None:
    await check(SERVER, *machines(1), form=form)
    assert check.out
    assert PASSWORD not in check.out + check.err
    assert "Secret.core" not in check.out
    assert '"kind": "Secret"' not in check.out
    assert "clouds.yaml" not in check.out, "the key of the Secret, whose value is base64"


async def test_a_cloud_that_is_not_in_the_users_file_is_an_error(check: Check) -> None:
    def none() -> Credentials:
        raise Unauthenticated("identity", "cloud 'mine' of your clouds.yaml: not found")

    check.credentials = none  # type: ignore[assignment]
    assert await check(SERVER) is Exit.UNREADABLE
    assert check.err == "error: cloud 'mine' of your clouds.yaml: not found\n"


async def test_the_network_of_a_cluster_is_planned_and_is_no_error(check: Check) -> None:
    check.cloud.services.external_network()
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": "one"}
    spec = {"identityRef": IDENTITY, "managedSubnets": [{"cidr": "10.6.0.0/24"}], "managedSecurityGroups": {}}
    cluster = named(CORE, "Cluster", "one", {"infrastructureRef": reference})
    infra = named(INFRA, "OpenStackCluster", "one", {**spec, "controlPlaneEndpoint": {"host": "api", "port": 6443}})
    assert await check(cluster, infra) is Exit.CHANGES
    for what in ("create network", "create router", "create security group"):
        assert what in check.out
    assert {each.method for each in check.cloud.requests} == {"GET"}
    wrong = {**infra["spec"], "managedSubnets": [{"cidr": "lan"}], "apiServerLoadBalancer": {"enabled": False}}
    assert await check(cluster, {**infra, "spec": wrong}) is Exit.FAILED
    assert "spec.managedSubnets[0]: 'lan' does not appear to be" in check.err


async def test_machines_wait_for_a_network_that_is_yet_to_be_made(check: Check) -> None:
    check.cloud.services.external_network()
    cluster, infra, template, workers = machines(2)
    plain = {name: value for name, value in template["spec"]["template"]["spec"].items() if name != "ports"}
    template = {**template, "spec": {"template": {"spec": plain}}}
    made = {**infra["spec"], "managedSubnets": [{"cidr": "10.6.0.0/24"}]}
    new = {**infra, "spec": {name: value for name, value in made.items() if name != "network"}, "status": {}}
    assert await check(cluster, new, template, workers) is Exit.CHANGES
    assert check.err == ""
    assert "Waiting for the infrastructure of Cluster one: OpenStackCluster one is not provisioned" in check.out
    there = {**new, "status": {"network": {**NETWORK, "subnets": [{"id": "s"}]}}}
    assert await check(cluster, there, template, workers) is not Exit.UNREADABLE
    assert "Waiting for the infrastructure" not in check.out


async def test_the_replacement_of_a_bastion_is_planned_before_its_cluster_is_changed(check: Check) -> None:
    world, _ = await bastioned.made()
    check.cloud = world.cloud
    there = world.api.peek(Cluster, "one", namespace="ns")
    changed, server = world.tree(), world.server
    assert there is not None
    assert server is not None
    assert await check(there.tree(), changed, server) is Exit.OK
    changed["spec"]["bastion"]["spec"]["flavor"] = "m1.medium"
    before = len(world.cloud.requests)
    assert await check({"apiVersion": "v1", "kind": "List", "items": [there.tree(), server]}, changed) is Exit.CHANGES
    planned = "delete OpenStackServer.infrastructure.cluster.x-k8s.io ns/one-bastion: flavor m1.small -> m1.medium: the"
    assert planned in check.out
    assert {each.method for each in world.cloud.requests[before:]} == {"GET"}


def machine(name: str, **metadata: str) -> Tree:
    value = {"kind": "OpenstackProviderSpec", "image": "rhcos", "flavor": ""}
    labels = {"machine.openshift.io/cluster-api-cluster": "c"}
    return {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {"name": name, "labels": labels, **metadata},
        "spec": {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": value}},
    }


async def test_machines_of_the_machine_api_are_planned_in_its_namespace_only(check: Check) -> None:
    check.machine_api = "mapi"
    await check(machine("ours", namespace="mapi"), machine("placed"), machine("theirs", namespace="evil"))
    assert "mapi/ours" in check.out
    assert "mapi/placed" in check.out
    assert "theirs" not in check.out
    note = "1 Machine in namespace evil left out: with --machine-api, Machines in mapi are served; "
    assert f"note: {note}--machine-api-namespace says otherwise" in check.err


def as_v1beta1(tree: Tree) -> Tree:
    """As most manifests are: references name a version."""
    if tree["apiVersion"] != CORE:
        return tree
    text = yaml.safe_dump(tree).replace(CORE, "cluster.x-k8s.io/v1beta1")
    return dict(yaml.safe_load(text.replace(f"apiGroup: {INFRA.partition('/')[0]}", f"apiVersion: {INFRA}")))


async def test_manifests_of_the_earlier_version_of_cluster_api_are_planned_alike(check: Check) -> None:
    assert await check(*machines(2)) is Exit.CHANGES
    expected = check.out
    old = list(map(as_v1beta1, machines(2)))
    assert {each["apiVersion"] for each in old} == {INFRA, "cluster.x-k8s.io/v1beta1"}
    assert await check(*old) is Exit.CHANGES
    random = re.compile(r"20\d\d-\d\d-\S+Z|[0-9a-f]{8}-[0-9a-f-]{27}\S*|\b[0-9a-f]{16,}\b")
    assert random.sub("(new)", check.out) == random.sub("(new)", expected)
    assert "create port (OpenStack)" in expected
