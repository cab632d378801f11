"""Sample values for fields that do not accept any value: see `inexpressible`.

They say which values are valid, never which are forbidden. For a platform that is not here, "x" and 1 are used, so that
its enumerations seem inexpressible: add a valid word for each of them.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

Tree = dict[str, Any]


class Form(Struct, frozen=True):
    """x"""

    item: Tree
    when: str
    noun: str


class Samples(Struct, frozen=True, kw_only=True):
    """The samples; all by the path of the field, list items marked `[]`.

    base      the least spec that converts
    values    an admissible value
    company   other fields, beside it, that it needs
    forms     of the items of a list
    skip      what is not to be asked about
    """

    base: Tree = {}
    values: Mapping[str, Any] = {}
    company: Mapping[str, Tree] = {}
    forms: Mapping[str, tuple[Form, ...]] = {}
    skip: frozenset[str] = frozenset()


NO_SAMPLES: Final = Samples()

CORE: Final = Samples(
    values={
        "bootstrap.configRef": {"kind": "x", "name": "x", "apiGroup": "x"},
        "deletion.nodeDeletionTimeoutSeconds": 10,
        "taints": [{"key": "x", "effect": "NoSchedule", "propagation": "Always"}],
        "taints[].propagation": "Always",
    },
)

_AWS: Final = Samples(
    values={
        "instanceMetadataOptions.httpEndpoint": "enabled",
        "instanceMetadataOptions.httpProtocolIpv6": "disabled",
        "instanceMetadataOptions.httpPutResponseHopLimit": 1,
        "instanceMetadataOptions.httpTokens": "required",
        "instanceMetadataOptions.instanceMetadataTags": "disabled",
        "cpuOptions.confidentialCompute": "Disabled",
        "networkInterfaceType": "efa",
        "ignition.version": "2.3",
        "ignition.storageType": "UnencryptedUserData",
        "tenancy": "dedicated",
        "marketType": "Spot",
        "hostID": "h-0123456789abcdef0",
        "hostAffinity": "default",
        "nonRootVolumes": [{"deviceName": "x"}],
    },
    company={"hostID": {"hostAffinity": "host"}, "dynamicHostAllocation": {"hostAffinity": "host"}},
    # Fields that follow the IP family of the cluster: MachineSets create machines with them. And the name of a root
    # volume, which the Machine API has for other volumes: MachineSets must be able to create machines from such
    # templates.
    skip=frozenset({"privateDnsName", "assignPrimaryIPv6", "rootVolume.deviceName"}),
)

_VOLUME_ZONE: Final = {"from": "Name", "name": "x"}
_BY_NETWORK_ID: Final = "{0}.?network.?id.hasValue() && !{0}.?network.?filter.hasValue()"

_OPENSTACK: Final = Samples(
    base={"image": {"filter": {"name": "x"}}},
    values={
        "image": {"filter": {"name": "x"}},
        "image.filter": {"name": "x"},
        "securityGroups": [{"id": "x"}],
        "rootVolume.availabilityZone": _VOLUME_ZONE,
        "rootVolume.availabilityZone.from": "Name",
        "additionalBlockDevices": [{"name": "x", "sizeGiB": 1, "storage": {"type": "Local"}}],
        "additionalBlockDevices[].storage": {"type": "Volume", "volume": {"type": "x"}},
        "additionalBlockDevices[].storage.type": "Volume",
        "additionalBlockDevices[].storage.volume.availabilityZone": _VOLUME_ZONE,
        "additionalBlockDevices[].storage.volume.availabilityZone.from": "Name",
        "serverGroup": {"filter": {"name": "x"}},
        "serverGroup.filter": {"name": "x"},
        "identityRef": {"type": "Secret", "name": "x", "cloudName": "x"},
        "identityRef.type": "Secret",
        "ports": [{"network": {"id": "x"}}],
        "ports[].network": {"filter": {"name": "x"}},
        "ports[].securityGroups": [{"id": "x"}],
        "ports[].fixedIPs": [{"subnet": {"id": "x"}}],
        "ports[].fixedIPs[].subnet": {"id": "x"},
    },
    # IDs beside filters, which no CRD accepts. And two forms of the Machine API's networks, with which MachineSets
    # create machines: a network by ID with a subnet by filter, and the virtual addresses of the cluster.
    skip=frozenset(
        {"serverGroup.id", "ports[].network.id", "ports[].fixedIPs[].subnet.filter", "ports[].allowedAddressPairs"}
    ),
    forms={
        "ports": (
            Form({"network": {"id": "x"}}, _BY_NETWORK_ID, "port that names its network by ID"),
            Form(
                {"network": {"filter": {"name": "x"}}},
                f"!({_BY_NETWORK_ID})",
                "port that does not name its network by ID",
            ),
        ),
    },
)

PLATFORMS: Final[Mapping[str, Samples]] = {"AWS": _AWS, "OpenStack": _OPENSTACK}
"""By the name of the platform."""
