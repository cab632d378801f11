"""The platforms whose infrastructure provider can be played: their kinds, and what an instance looks like there.

Everything about an instance follows from the uid of its infrastructure machine, so that a simulator which is killed and
started again goes on with the same instances.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from windlass.api import capa, capo
from windlass.api.meta import KubernetesObject, ObjectMeta


class SimulatedPlatform(Struct, frozen=True, kw_only=True):
    """One platform.

    `spec(metadata)` and `status(metadata)` are the fields that the provider sets on the machine with that metadata once
    its instance runs; `spec` always has `providerID`. `cluster_status` are those of a cluster that is ready.
    """

    name: str
    machine: type[KubernetesObject]
    machine_finalizer: str
    spec: Callable[[ObjectMeta], dict[str, str]]
    status: Callable[[ObjectMeta], dict[str, Any]]
    cluster: type[KubernetesObject]
    cluster_finalizer: str
    cluster_status: Mapping[str, Any]


def address(metadata: ObjectMeta) -> str:
    """The internal IP of the instance behind a machine."""
    first, second, third = hashlib.sha256(metadata.uid.encode()).digest()[:3]
    return f"10.{first}.{second}.{third}"


def _openstack_status(metadata: ObjectMeta) -> dict[str, Any]:
    return {
        "ready": True,
        "initialization": {"provisioned": True},
        "instanceID": metadata.uid,
        "instanceState": "ACTIVE",
        "addresses": [
            {"type": "InternalIP", "address": address(metadata)},
            {"type": "Hostname", "address": metadata.name},
        ],
    }


def _aws_spec(metadata: ObjectMeta) -> dict[str, str]:
    instance = f"i-{hashlib.sha256(metadata.uid.encode()).hexdigest()[:17]}"
    return {"providerID": f"aws:///us-east-1a/{instance}", "instanceID": instance}


def _aws_status(metadata: ObjectMeta) -> dict[str, Any]:
    dns = f"ip-{address(metadata).replace('.', '-')}.ec2.internal"
    return {
        "ready": True,
        "instanceState": "running",
        "addresses": [
            {"type": "InternalIP", "address": address(metadata)},
            {"type": "InternalDNS", "address": dns},
        ],
    }


OPENSTACK = SimulatedPlatform(
    name="OpenStack",
    machine=capo.OpenStackMachine,
    machine_finalizer="openstackmachine.infrastructure.cluster.x-k8s.io",
    spec=lambda metadata: {"providerID": f"openstack:///{metadata.uid}"},
    status=_openstack_status,
    cluster=capo.OpenStackCluster,
    cluster_finalizer="openstackcluster.infrastructure.cluster.x-k8s.io",
    cluster_status={"ready": True, "initialization": {"provisioned": True}},
)

# AWSMachine v1beta2 follows the older contract of Cluster API, whose status has no `initialization`.
AWS = SimulatedPlatform(
    name="AWS",
    machine=capa.AWSMachine,
    machine_finalizer="awsmachine.infrastructure.cluster.x-k8s.io",
    spec=_aws_spec,
    status=_aws_status,
    cluster=capa.AWSCluster,
    cluster_finalizer="awscluster.infrastructure.cluster.x-k8s.io",
    cluster_status={"ready": True},
)

PLATFORMS = {platform.name: platform for platform in (OPENSTACK, AWS)}
"""By the name that `Infrastructure.status.platformStatus.type` has."""
