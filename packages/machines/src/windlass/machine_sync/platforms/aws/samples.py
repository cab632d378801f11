"""Valid values of an AWSMachine's fields, for the policies."""

from typing import Final

from windlass.machine_sync.platforms.samples import Samples

SAMPLES: Final = Samples(
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
