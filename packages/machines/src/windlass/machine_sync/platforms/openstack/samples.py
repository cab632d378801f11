"""Valid values of an OpenStackMachine's fields, for the policies."""

from typing import Final

from windlass.machine_sync.platforms.samples import Form, Samples

_VOLUME_ZONE: Final = {"from": "Name", "name": "x"}
_BY_NETWORK_ID: Final = "{0}.?network.?id.hasValue() && !{0}.?network.?filter.hasValue()"

SAMPLES: Final = Samples(
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
