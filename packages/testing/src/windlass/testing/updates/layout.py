"""What a played cluster consists of: its release, operators, pools and nodes, and the names that follow from them."""

import hashlib

from msgspec import Struct

MACHINE_CONFIG = "machine-config"
"""The operator that updates last, since it reboots the nodes."""
MCO = "machine-config-operator"
"""The Deployment of the Machine Config Operator, its container, and the name of its image."""
MCO_NAMESPACE = "openshift-machine-config-operator"


class Pool(Struct, frozen=True, kw_only=True):
    """A MachineConfigPool with `nodes` Nodes, of which at most `max_unavailable` are updated at a time.

    Nodes of a custom pool are workers, too.
    """

    name: str
    nodes: int
    max_unavailable: int = 1
    paused: bool = False

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number}" for number in range(self.nodes))

    @property
    def is_custom(self) -> bool:
        return self.name not in ("master", "worker")

    @property
    def roles(self) -> tuple[str, ...]:
        return ("worker", self.name) if self.is_custom else (self.name,)

    def rendered(self, version: str) -> str:
        """The name of its rendered MachineConfig in that release."""
        return f"rendered-{self.name}-{hashlib.md5(f'{self.name} {version}'.encode()).hexdigest()}"


class Layout(Struct, frozen=True, kw_only=True):
    """A cluster: the release that it is installed with, its operators and pools, and the manifests of a release."""

    version: str = "4.16.0"
    operators: tuple[str, ...] = ("etcd", "kube-apiserver", "network", "monitoring", MACHINE_CONFIG)
    pools: tuple[Pool, ...] = (
        Pool(name="master", nodes=3),
        Pool(name="worker", nodes=4),
        Pool(name="infra", nodes=2),
    )
    manifests: int = 744

    def pool(self, name: str) -> Pool:
        """The pool of this name; KeyError if there is none."""
        return {pool.name: pool for pool in self.pools}[name]


def release_image(version: str) -> str:
    """The pull spec of a release."""
    return f"quay.io/openshift-release-dev/ocp-release@{_digest(f'release {version}')}"


def image(component: str, version: str) -> str:
    """The pull spec of a component of that release."""
    return f"quay.io/openshift-release-dev/ocp-v4.0-art-dev@{_digest(f'{component} {version}')}"


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
