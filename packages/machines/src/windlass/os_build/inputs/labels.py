"""The labels of an image that say what it was built from, and for whom. Pure.

`CLUSTER_LABEL` is a hash of the cluster and of the other labels. So an image that is built on top of another cluster's
image, and inherits its labels, does not pass for that cluster's: its own build replaced the others.
"""

import hashlib
from typing import Final

import msgspec

CONFIG_LABEL: Final = "machineconfig"
POOL_LABEL: Final = "machineconfigpool"
RELEASE_LABEL: Final = "releaseversion"
BASE_LABEL: Final = "baseOSContainerImage"
CLUSTER_LABEL: Final = "io.windlass.cluster"
"""Of images that this cluster may remove again. The others are the operator's names."""
_DIGITS: Final = 32


def cluster_mark(cluster: str, *, pool: str, config: str, base: str) -> str:
    """The value of `CLUSTER_LABEL`; empty without a cluster."""
    if not cluster:
        return ""
    return hashlib.sha256(msgspec.json.encode([cluster, pool, config, base])).hexdigest()[:_DIGITS]
