"""One machine per platform, as a user would make it: what the API server admits and what conversion accepts."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from windlass.api import mapi
from windlass.machine_sync.platforms import PLATFORMS, Platform
from windlass.testing.simulators.platforms import AWS, OPENSTACK, SimulatedPlatform

Tree = dict[str, Any]


class Example(Struct, frozen=True, kw_only=True):
    """What the tests need to know of a platform. `grow` is a change of the infra machine, `grown` what it makes of the
    mirror's provider spec."""

    platform: Platform
    simulated: SimulatedPlatform
    infra_spec: Mapping[str, Any]
    cluster_spec: Mapping[str, Any]
    size: str
    """The field of the infra machine's spec that may change, and what it is called in the provider spec."""

    @property
    def name(self) -> str:
        return self.platform.name

    def provider_size(self, mirror: Tree) -> str:
        """The `size` that the mirror's provider spec says."""
        found: str = mirror["spec"]["providerSpec"]["value"][self.size]
        return found


EXAMPLES = {
    "OpenStack": Example(
        platform=PLATFORMS["OpenStack"],
        simulated=OPENSTACK,
        infra_spec={"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}},
        cluster_spec={"identityRef": {"name": "openstack-cloud-credentials", "cloudName": "openstack"}},
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
        size="instanceType",
    ),
}

KINDS = {"mirror": mapi.Machine, "mirror_set": mapi.MachineSet}
