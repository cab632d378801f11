"""The platforms that can be simulated: their kinds, and the fields of an instance on each.

All fields of an instance are derived from its ID, and the ID from the object it was created for. So a simulator that
is restarted goes on with the same instances, and a side that takes one over reports the same fields.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from windlass.api import capa, capg, capo, capo_cluster
from windlass.api.meta import KubernetesObject

Tree = dict[str, Any]


class SimulatedPlatform(Struct, frozen=True, kw_only=True):
    """One platform.

    `instance(name, uid)` is the ID of the instance that is made for that object, `provider_id(instance)` what
    Nodes and Machines call it. `spec(instance)`, `status(instance, name)` are the fields that the provider sets on the
    infrastructure machine `name` once its instance runs; `addresses(instance, name)` those that both APIs show.
    `provider_status(instance)` is what the Machine API says of it beside them. `reports_paused`: the provider has a
    condition Paused on its machines. `cluster_status` are the fields of a cluster that is ready.
    """

    name: str
    machine: type[KubernetesObject]
    machine_finalizer: str
    reports_paused: bool
    instance: Callable[[str, str], str]
    instance_state: str
    provider_id: Callable[[str], str]
    addresses: Callable[[str, str], list[Tree]]
    spec: Callable[[str], dict[str, str]]
    status: Callable[[str, str], Tree]
    provider_status: Callable[[str], Tree | None]
    cluster: type[KubernetesObject]
    cluster_finalizer: str
    cluster_status: Mapping[str, Any]


def address(instance: str) -> str:
    """The internal IP of an instance."""
    first, second, third = hashlib.sha256(instance.encode()).digest()[:3]
    return f"10.{first}.{second}.{third}"


def instance_named_by(provider_id: str) -> str:
    """The ID of the instance that a provider ID means: what stands after the last slash."""
    return provider_id.rpartition("/")[2]


def _openstack_addresses(instance: str, name: str) -> list[Tree]:
    return [{"type": "InternalIP", "address": address(instance)}, {"type": "Hostname", "address": name}]


def _openstack_status(instance: str, name: str) -> Tree:
    return {
        "ready": True,
        "initialization": {"provisioned": True},
        "instanceID": instance,
        "instanceState": "ACTIVE",
        "addresses": _openstack_addresses(instance, name),
    }


def _aws_provider_id(instance: str) -> str:
    return f"aws:///us-east-1a/{instance}"


def _aws_addresses(instance: str, _: str) -> list[Tree]:
    dns = f"ip-{address(instance).replace('.', '-')}.ec2.internal"
    return [{"type": "InternalIP", "address": address(instance)}, {"type": "InternalDNS", "address": dns}]


def _gcp_addresses(instance: str, _: str) -> list[Tree]:
    dns = f"{instance}.us-east4-a.c.project.internal"
    return [{"type": "InternalIP", "address": address(instance)}, {"type": "InternalDNS", "address": dns}]


OPENSTACK = SimulatedPlatform(
    name="OpenStack",
    machine=capo.OpenStackMachine,
    machine_finalizer="openstackmachine.infrastructure.cluster.x-k8s.io",
    reports_paused=False,
    instance=lambda _, uid: uid,
    instance_state="ACTIVE",
    provider_id=lambda instance: f"openstack:///{instance}",
    addresses=_openstack_addresses,
    spec=lambda instance: {"providerID": f"openstack:///{instance}"},
    status=_openstack_status,
    provider_status=lambda _: None,
    cluster=capo_cluster.OpenStackCluster,
    cluster_finalizer="openstackcluster.infrastructure.cluster.x-k8s.io",
    cluster_status={"ready": True, "initialization": {"provisioned": True}},
)

# AWSMachine v1beta2 follows the older contract of Cluster API, whose status has no `initialization`.
AWS = SimulatedPlatform(
    name="AWS",
    machine=capa.AWSMachine,
    machine_finalizer="awsmachine.infrastructure.cluster.x-k8s.io",
    reports_paused=True,
    instance=lambda _, uid: f"i-{hashlib.sha256(uid.encode()).hexdigest()[:17]}",
    instance_state="running",
    provider_id=_aws_provider_id,
    addresses=_aws_addresses,
    spec=lambda instance: {"providerID": _aws_provider_id(instance), "instanceID": instance},
    status=lambda instance, name: {
        "ready": True,
        "instanceState": "running",
        "addresses": _aws_addresses(instance, name),
    },
    provider_status=lambda instance: {"instanceId": instance, "instanceState": "running"},
    cluster=capa.AWSCluster,
    cluster_finalizer="awscluster.infrastructure.cluster.x-k8s.io",
    cluster_status={"ready": True},
)

# The instance has the name of the machine, in both APIs: whoever comes second finds it.
GCP = SimulatedPlatform(
    name="GCP",
    machine=capg.GCPMachine,
    machine_finalizer="gcpmachine.infrastructure.cluster.x-k8s.io",
    reports_paused=False,
    instance=lambda name, _: name,
    instance_state="RUNNING",
    provider_id=lambda instance: f"gce://project/us-east4-a/{instance}",
    addresses=_gcp_addresses,
    spec=lambda instance: {"providerID": f"gce://project/us-east4-a/{instance}"},
    status=lambda instance, name: {
        "ready": True,
        "instanceState": "RUNNING",
        "addresses": _gcp_addresses(instance, name),
    },
    provider_status=lambda instance: {"instanceId": instance, "instanceState": "RUNNING"},
    cluster=capg.GCPCluster,
    cluster_finalizer="gcpcluster.infrastructure.cluster.x-k8s.io",
    cluster_status={"ready": True},
)

PLATFORMS = {platform.name: platform for platform in (OPENSTACK, AWS, GCP)}
"""By the name that `Infrastructure.status.platformStatus.type` has."""
