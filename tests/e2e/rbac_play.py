"""What happens on a cluster until Machine sync has used each of its rights, on one platform after the other."""

from typing import Any, NamedTuple

from tests.api.machine_sync.examples import EXAMPLES
from tests.objects import Kind, Tree
from tests.waiting import wait_until
from windlass.api import capa, capg, capi, capo, capo_cluster, mapi
from windlass.machine_sync.constants import (
    CLUSTER_API,
    CLUSTER_API_NAMESPACE,
    MACHINE_API,
    MACHINE_API_NAMESPACE,
    MIGRATING,
    PAUSED_ANNOTATION,
)

from .rbac_cluster import Cluster

MACHINE_SETS = (mapi.MachineSet, capi.MachineSet)


class Scenery(NamedTuple):
    """A platform: its kinds, and what a user writes there.

    `size` is the field that says how large a machine is, of the infra machine and of the provider spec, which calls it
    `size_in_machine_api` where that is another name.
    """

    infra_machine: Kind
    infra_template: Kind
    infra_cluster: Kind
    infra: Tree
    cluster: Tree
    provider_spec: Tree
    size: str
    reports_pause: bool
    size_in_machine_api: str = ""

    def larger(self) -> Tree:
        return {**self.provider_spec, self.size_in_machine_api or self.size: "larger"}

    @property
    def incomplete(self) -> tuple[str, str]:
        """The names of two machines, one without an infra machine and one without a cluster.

        They are of this platform alone: Events outlive what they are about, and are looked up by name.
        """
        plural = self.infra_machine.RESOURCE.plural
        return f"{plural}-no-infra", f"{plural}-no-cluster"


def openstack_machine(**image: Any) -> Tree:
    return {"flavor": "m1.large", "image": {"filter": {"name": "rhcos", **image}}}


OPENSTACK = Scenery(
    infra_machine=capo.OpenStackMachine,
    infra_template=capo.OpenStackMachineTemplate,
    infra_cluster=capo_cluster.OpenStackCluster,
    infra=openstack_machine(),
    cluster={"identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"}},
    provider_spec={
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudName": "openstack",
        "cloudsSecret": {"name": "cloud", "namespace": MACHINE_API_NAMESPACE},
        "flavor": "m1.large",
        "image": "rhcos",
        "userDataSecret": {"name": "worker-user-data"},
    },
    size="flavor",
    reports_pause=False,
)
AWS = Scenery(
    infra_machine=capa.AWSMachine,
    infra_template=capa.AWSMachineTemplate,
    infra_cluster=capa.AWSCluster,
    infra={"instanceType": "m6i.xlarge", "ami": {"id": "ami-1"}},
    cluster={"region": "us-east-1"},
    provider_spec={
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "ami": {"id": "ami-1"},
        "instanceType": "m6i.xlarge",
        "credentialsSecret": {"name": "aws-cloud-credentials"},
        "deviceIndex": 0,
        "placement": {"availabilityZone": "us-east-1a", "region": "us-east-1"},
        "subnet": {"id": "subnet-1"},
        "userDataSecret": {"name": "worker-user-data"},
    },
    size="instanceType",
    reports_pause=True,
)
GCP = Scenery(
    infra_machine=capg.GCPMachine,
    infra_template=capg.GCPMachineTemplate,
    infra_cluster=capg.GCPCluster,
    infra=dict(EXAMPLES["GCP"].infra_spec),
    cluster=dict(EXAMPLES["GCP"].cluster_spec),
    provider_spec=dict(EXAMPLES["GCP"].provider_spec),
    size="instanceType",
    reports_pause=False,
    size_in_machine_api="machineType",
)


def play_everything(cluster: Cluster) -> None:
    """Ends on AWS, with a Cluster and the MachineSets `workers` of both sides."""
    play_on_openstack(cluster)
    play_on_google_cloud(cluster)
    play_on_aws(cluster)


def play_on_openstack(cluster: Cluster) -> None:
    cluster.make(capo_cluster.OpenStackCluster, "c", OPENSTACK.cluster)
    cluster.make_sets()
    play_from_cluster_api(cluster)
    play_missing_infrastructure(cluster, OPENSTACK)
    cluster.make_machine("e", infra=openstack_machine())
    cluster.until_synchronized("e")
    play_end_of_sets(cluster, "e", *OPENSTACK.incomplete)
    # Nobody has made the Cluster, which owns every mirror that has no other owner.
    cluster.make_machine_api_machine("m", OPENSTACK.provider_spec)
    cluster.until_reported(mapi.Machine, "m", 'clusters.cluster.x-k8s.io "c" not found')
    cluster.make_core_cluster(capo_cluster.OpenStackCluster)
    play_from_machine_api(cluster, OPENSTACK)
    # Deleted where authority is, the MachineSet with its Machine.
    cluster.delete(mapi.Machine, "m")
    cluster.let_instance_go("m")
    cluster.until_gone(mapi.Machine, capi.Machine, capo.OpenStackMachine, name="m")
    cluster.delete(mapi.MachineSet, "pool")
    cluster.until_gone(*MACHINE_SETS, name="pool")
    cluster.until_gone(mapi.Machine, capi.Machine, capo.OpenStackMachine, name="p")
    assert templates(cluster, OPENSTACK) == []


def play_on_google_cloud(cluster: Cluster) -> None:
    cluster.runs_on("GCP", **EXAMPLES["GCP"].described)
    cluster.make(capg.GCPCluster, "c", GCP.cluster)
    cluster.make_machine_api_machine("m", GCP.provider_spec)
    play_from_machine_api(cluster, GCP)
    cluster.delete(mapi.Machine, "m")
    cluster.let_instance_go("m")
    cluster.until_gone(mapi.Machine, capi.Machine, capg.GCPMachine, name="m")
    cluster.delete(mapi.MachineSet, "pool")
    cluster.until_gone(*MACHINE_SETS, name="pool")
    cluster.until_gone(mapi.Machine, capi.Machine, capg.GCPMachine, name="p")
    cluster.make_sets()
    cluster.make_machine("f", infra=GCP.infra, kind=capg.GCPMachine, **EXAMPLES["GCP"].machine_spec)
    cluster.until_synchronized("f")
    play_missing_infrastructure(cluster, GCP)
    play_end_of_sets(cluster, "f", *GCP.incomplete)


def play_on_aws(cluster: Cluster) -> None:
    cluster.runs_on("AWS")
    cluster.make(capa.AWSCluster, "c", AWS.cluster)
    cluster.make_machine_api_machine("m", AWS.provider_spec)
    play_from_machine_api(cluster, AWS)
    # Deleted where the mirrors are.
    cluster.delete(capi.Machine, "m")
    cluster.until_deleting("m", kind=mapi.Machine)
    cluster.let_instance_go("m")
    cluster.until_gone(mapi.Machine, capi.Machine, capa.AWSMachine, name="m")
    cluster.delete(capi.MachineSet, "pool")
    cluster.until_gone(*MACHINE_SETS, name="pool")
    cluster.make_sets()
    cluster.make_machine("g", infra=AWS.infra, kind=capa.AWSMachine)
    cluster.until_synchronized("g")
    play_missing_infrastructure(cluster, AWS)


def play_from_cluster_api(cluster: Cluster) -> None:
    """Machines of the MachineSet `workers`, of which Cluster API is the authority."""
    # Created, updated, deleted with the Cluster API Machine.
    cluster.make_machine("a", infra=openstack_machine())
    cluster.until_synchronized("a")
    cluster.patch(capi.Machine, "a", {"metadata": {"labels": {"colour": "blue"}}})
    wait_until("the label arrives", lambda: cluster.metadata(mapi.Machine, "a")["labels"].get("colour"))
    cluster.delete(capi.Machine, "a")
    cluster.let_machine_go("a")
    cluster.until_gone(capi.Machine, mapi.Machine, name="a")
    # Converted with a warning, deleted with the mirror.
    cluster.make_machine("b", infra=openstack_machine(tags=["one"]))
    cluster.until_event(MACHINE_API_NAMESPACE, "b", "ConversionWarning")
    cluster.until_synchronized("b")
    cluster.delete(mapi.Machine, "b")
    cluster.until_deleting("b")
    cluster.let_machine_go("b")
    cluster.until_gone(capi.Machine, mapi.Machine, name="b")
    # Not convertible, and deleted before it ever had a mirror.
    cluster.make_machine("c", infra=openstack_machine(), deletion={"nodeDrainTimeoutSeconds": 60})
    cluster.until_event(CLUSTER_API_NAMESPACE, "c", "SynchronizationWarning", "nodeDrainTimeoutSeconds")
    cluster.delete(capi.Machine, "c")
    cluster.let_machine_go("c")
    cluster.until_gone(capi.Machine, name="c")
    # The Cluster API Machine vanishes under a mirror that is being deleted; under another it would be recreated.
    cluster.make_machine("d", infra=openstack_machine())
    cluster.until_synchronized("d")
    cluster.delete(mapi.Machine, "d")
    cluster.until_deleting("d")
    cluster.force_away(capi.Machine, "d")
    cluster.force_away(capo.OpenStackMachine, "d")
    cluster.until_gone(mapi.Machine, name="d")


def play_end_of_sets(cluster: Cluster, *machines: str) -> None:
    """Both MachineSets `workers` go, and the garbage collector takes their Machines along."""
    for kind in MACHINE_SETS:
        cluster.delete(kind, "workers")
    for machine in machines:
        cluster.until_deleting(machine)
        cluster.let_machine_go(machine)
        cluster.until_gone(capi.Machine, mapi.Machine, name=machine)


def play_missing_infrastructure(cluster: Cluster, scenery: Scenery) -> None:
    kind = scenery.infra_machine
    without, elsewhere = scenery.incomplete
    cluster.make_machine(without, infra=None, kind=kind)
    cluster.until_event(CLUSTER_API_NAMESPACE, without, "SynchronizationWarning", "does not exist: create it")
    cluster.make_machine(elsewhere, infra=scenery.infra, kind=kind, cluster="elsewhere")
    cluster.until_event(CLUSTER_API_NAMESPACE, elsewhere, "SynchronizationWarning", '"elsewhere" not found')


def play_from_machine_api(cluster: Cluster, scenery: Scenery) -> None:
    """The Machine `m`, which nobody owns, and the MachineSet `pool` with its Machine `p`, moved away and back."""
    cluster.until_synchronized("m")
    # The status of what runs is copied; another size makes another infrastructure machine.
    running = {"phase": "Running", "providerStatus": {"instanceId": "i-1", "instanceState": "running"}}
    cluster.patch(mapi.Machine, "m", {"status": running}, part="status")
    wait_until("m runs", lambda: (cluster.get(capi.Machine, "m") or {})["status"].get("phase") == "Running")
    cluster.patch(mapi.Machine, "m", {"spec": {"providerSpec": {"value": scenery.larger()}}})
    wait_until("the infrastructure machine of m has the larger size", lambda: size(cluster, scenery, "m") == "larger")
    cluster.until_synchronized("m")
    move(cluster, mapi.Machine, "m", (capi.Machine, scenery.infra_machine), scenery)
    # A MachineSet gets another template, and somebody meddles with that.
    cluster.make_machine_api_set("pool", scenery.provider_spec)
    cluster.until_synchronized("pool", kind=mapi.MachineSet)
    cluster.make_machine_api_machine("p", scenery.provider_spec, of_set="pool")
    cluster.until_synchronized("p")
    (before,) = templates(cluster, scenery)
    template = {"spec": {"providerSpec": {"value": scenery.larger()}}}
    cluster.patch(mapi.MachineSet, "pool", {"spec": {"template": template}})
    wait_until("the old template is gone", lambda: cluster.get(scenery.infra_template, before) is None)
    (after,) = templates(cluster, scenery)
    cluster.patch(scenery.infra_template, after, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})
    cluster.until_paused(scenery.infra_template, after)
    cluster.until_synchronized("pool", kind=mapi.MachineSet)
    move(cluster, mapi.MachineSet, "pool", (capi.MachineSet,), scenery)
    # Cluster API is to make the machine, which so far exists in the Machine API alone.
    cluster.make_machine_api_machine("u", scenery.provider_spec, authority=CLUSTER_API)
    cluster.until_synchronized("u")
    cluster.delete(capi.Machine, "u")
    cluster.let_machine_go("u")
    cluster.force_away(scenery.infra_machine, "u")
    cluster.until_gone(mapi.Machine, capi.Machine, name="u")


def move(cluster: Cluster, kind: Kind, name: str, mirrors: tuple[Kind, ...], scenery: Scenery) -> None:
    """Authority goes to Cluster API and back; the controllers of both sides do what they are asked to."""
    cluster.hand_over(kind, name, CLUSTER_API)
    cluster.until_authority(kind, name, MIGRATING)
    cluster.say_paused(kind, name)
    cluster.until_authority(kind, name, CLUSTER_API)
    cluster.until_synchronized(name, kind=kind)
    cluster.hand_over(kind, name, MACHINE_API)
    for mirror in mirrors:
        cluster.until_paused(mirror, name)
        if mirror is not scenery.infra_machine or scenery.reports_pause:
            cluster.say_paused(mirror, name)
    cluster.until_authority(kind, name, MACHINE_API)
    cluster.say_paused(kind, name, paused=False)
    cluster.until_synchronized(name, kind=kind)


def templates(cluster: Cluster, scenery: Scenery) -> list[str]:
    """Names of the infra templates that there are."""
    path = scenery.infra_template.RESOURCE.path(namespace=CLUSTER_API_NAMESPACE)
    return [item["metadata"]["name"] for item in cluster.rest.request("GET", path)["items"]]


def size(cluster: Cluster, scenery: Scenery, name: str) -> Any:
    """What the infra machine says; None while there is none."""
    return (cluster.get(scenery.infra_machine, name) or {}).get("spec", {}).get(scenery.size)
