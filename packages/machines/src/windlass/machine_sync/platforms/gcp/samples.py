"""Valid values of a GCPMachine's fields, for the policies."""

from typing import Final

from windlass.machine_sync.platforms.samples import Samples

_NAME: Final = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
_MANAGED: Final = {"kmsKeyName": _NAME}

SAMPLES: Final = Samples(
    base={"subnet": "s", "image": "projects/p/global/images/i"},
    machine={"failureDomain": "r-a"},
    cluster={"project": "p", "region": "r"},
    values={
        "imageFamily": "projects/p/global/images/family/f",
        "rootDeviceSize": 128,
        "rootDeviceType": "pd-ssd",
        "additionalDisks[].deviceType": "pd-ssd",
        "additionalDisks[].size": 128,
        "rootDiskEncryptionKey": {"keyType": "Managed", "managedKey": _MANAGED},
        "rootDiskEncryptionKey.keyType": "Managed",
        "rootDiskEncryptionKey.managedKey": _MANAGED,
        "rootDiskEncryptionKey.managedKey.kmsKeyName": _NAME,
        "provisioningModel": "Spot",
        "ipForwarding": "Disabled",
        "serviceAccounts": {"email": "e", "scopes": ["s"]},
        "onHostMaintenance": "Terminate",
        "confidentialCompute": "Disabled",
        "shieldedInstanceConfig.secureBoot": "Enabled",
        "shieldedInstanceConfig.virtualizedTrustedPlatformModule": "Enabled",
        "shieldedInstanceConfig.integrityMonitoring": "Enabled",
        "guestAccelerators": [{"count": 1, "type": "zones/r-a/acceleratorTypes/x"}],
    },
    # An image of its own goes beside a family; the key of a disk must be that of the root disk.
    skip=frozenset({"imageFamily", "additionalDisks[].encryptionKey"}),
)
