"""One machine per platform, as a user would make it: what the API server admits and what conversion accepts."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from windlass.machine_sync.platforms import PLATFORMS, Platform
from windlass.testing.machines.simulators.platforms import AWS, GCP, OPENSTACK, SimulatedPlatform

from ...unit.machine_sync.trees import PROVIDER_SPEC

Tree = dict[str, Any]


class Example(Struct, frozen=True, kw_only=True):
    """What the tests need to know of a platform."""

    platform: Platform
    simulated: SimulatedPlatform
    infra_spec: Mapping[str, Any]
    cluster_spec: Mapping[str, Any]
    provider_spec: Mapping[str, Any]
    provider_id: str
    """How provider IDs begin; the rest names an instance."""
    machine_spec: Mapping[str, Any] = {}
    """What its Machines of Cluster API say, beside what all do."""
    described: Mapping[str, Any] = {}
    """What the cluster says about its platform, beside its type."""
    size: str
    """The field that says how large the machine is, in the spec of the infra machine and in the provider spec."""
    size_in_machine_api: str = ""
    """Its name in the provider spec, if that is another one."""

    @property
    def provider_field(self) -> str:
        """The field of the provider spec that says it."""
        return self.size_in_machine_api or self.size

    @property
    def name(self) -> str:
        return self.platform.name

    def provider_size(self, mirror: Tree) -> str:
        """The `size` that the mirror's provider spec says."""
        found: str = mirror["spec"]["providerSpec"]["value"][self.provider_field]
        return found


EXAMPLES = {
    "OpenStack": Example(
        platform=PLATFORMS["OpenStack"],
        simulated=OPENSTACK,
        infra_spec={"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}},
        cluster_spec={"identityRef": {"name": "openstack-cloud-credentials", "cloudName": "openstack"}},
        provider_spec={
            **PROVIDER_SPEC,
            "networks": [{"filter": {"name": "net"}, "subnets": [{"filter": {"name": "sub"}}]}],
            "securityGroups": [{"filter": {"name": "worker"}}],
        },
        provider_id="openstack:///",
        size="flavor",
    ),
    "AWS": Example(
        platform=PLATFORMS["AWS"],
        simulated=AWS,
        infra_spec={
            "ami": {"id": "ami-0123456789abcdef0"},
            "instanceType": "m6i.large",
            "ignition": {"version": "3.4", "storageType": "UnencryptedUserData"},
        },
        cluster_spec={"region": "us-east-1"},
        provider_spec={
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderConfig",
            "ami": {"id": "ami-0123456789abcdef0"},
            "instanceType": "m6i.large",
            "placement": {"region": "us-east-1", "availabilityZone": "us-east-1a"},
            "subnet": {"filters": [{"name": "tag:Name", "values": ["sub"]}]},
            "securityGroups": [{"filters": [{"name": "tag:Name", "values": ["worker"]}]}],
            "iamInstanceProfile": {"id": "worker"},
            "blockDevices": [{"ebs": {"encrypted": True, "volumeSize": 120, "volumeType": "gp3"}}],
            "userDataSecret": {"name": "worker-user-data"},
        },
        provider_id="aws:///us-east-1a/i-",
        described={"aws": {"region": "us-east-1"}},
        size="instanceType",
    ),
    "GCP": Example(
        platform=PLATFORMS["GCP"],
        simulated=GCP,
        infra_spec={
            "instanceType": "n2-standard-4",
            "subnet": "sub",
            "image": "projects/coreos/global/images/rhcos-1",
            "rootDeviceSize": 128,
        },
        cluster_spec={"project": "project", "region": "us-east4"},
        provider_spec={
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "GCPMachineProviderSpec",
            "disks": [
                {
                    "autoDelete": True,
                    "boot": True,
                    "sizeGb": 128,
                    "type": "pd-ssd",
                    "image": "projects/coreos/global/images/rhcos-1",
                }
            ],
            "networkInterfaces": [{"network": "default", "subnetwork": "sub"}],
            "serviceAccounts": [{"email": "default", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}],
            "machineType": "n2-standard-4",
            "region": "us-east4",
            "zone": "us-east4-a",
            "projectID": "project",
            "userDataSecret": {"name": "worker-user-data"},
        },
        provider_id="gce://project/us-east4-a/",
        machine_spec={"failureDomain": "us-east4-a"},
        described={"gcp": {"projectID": "project", "region": "us-east4"}},
        size="instanceType",
        size_in_machine_api="machineType",
    ),
}
