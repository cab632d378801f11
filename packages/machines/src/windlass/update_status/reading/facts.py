"""The single facts that a report needs of objects that are otherwise not read."""

from collections.abc import Iterable

from windlass.api.apps import Deployment
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig
from windlass.update_status.constants import CURRENT_CONFIG, DESIRED_CONFIG, MCO_DEPLOYMENT, RELEASE_VERSION


def configs_of(nodes: Iterable[Node]) -> list[str]:
    """The names of MachineConfigs that nodes have or shall get, each once, in the order in which `oc` reads them."""
    names = (node.metadata.annotations.get(key, "") for node in nodes for key in (CURRENT_CONFIG, DESIRED_CONFIG))
    return [name for name in dict.fromkeys(names) if name]


def releases_of(configs: Iterable[MachineConfig]) -> dict[str, str]:
    """The releases of MachineConfigs by name; without those that name none."""
    return {
        config.metadata.name: release
        for config in configs
        if (release := config.metadata.annotations.get(RELEASE_VERSION, ""))
    }


def image_of(deployment: Deployment) -> str:
    """The image that the Machine Config Operator runs, "" if it has no such container."""
    containers = deployment.spec.template.spec.containers
    return next((one.image for one in containers if one.name == MCO_DEPLOYMENT), "")
