"""The platforms that machines run on: the types of each, and its own rules for keeping machines in sync.

A platform is a folder here, with its `Platform`, and a line of `windlass.machine_sync.platform_list`; nothing else in
`windlass.machine_sync` names one. Each folder holds these modules, and the parts that they use:

| module | holds |
|---|---|
| `__init__` | the `Platform` |
| `to_machine_api` | Cluster API to the Machine API: the platform's part of a Machine |
| `to_cluster_api` | the other direction |
| `losses` | fields that `to_machine_api` drops with a warning |
| `provider_spec` | the Go names of the provider spec's types, for decoding errors |
| `samples` | valid values of fields that do not accept any, for the policies |

The types themselves are in `windlass.api`.
"""

from importlib import import_module
from typing import Final

from windlass.machine_sync.platform_list import LISTED
from windlass.machine_sync.platforms.platform import Platform

__all__ = ["AWS", "GCP", "OPENSTACK", "PLATFORMS", "POWERVS", "Platform", "platform_of_kind", "platform_of_type"]


def _platform(folder: str) -> Platform:
    """The `Platform` of a folder: it has one."""
    module = import_module(f"{__name__}.{folder}")
    return next(value for value in vars(module).values() if isinstance(value, Platform))


PLATFORMS: Final = {name: _platform(one.folder) for name, one in LISTED.items()}
AWS, GCP, OPENSTACK, POWERVS = (PLATFORMS[name] for name in ("AWS", "GCP", "OpenStack", "PowerVS"))


def platform_of_type(infra: type) -> Platform | None:
    """The platform whose machines, templates or clusters are of this type."""
    for platform in PLATFORMS.values():
        if infra in (platform.infra_machine, platform.infra_template, platform.infra_cluster):
            return platform
    return None


def platform_of_kind(kind: str) -> Platform | None:
    """The platform with this kind of machine, template or cluster: `AWSMachine`, `OpenStackCluster`, ..."""
    for platform in PLATFORMS.values():
        kinds = (platform.infra_machine, platform.infra_template, platform.infra_cluster)
        if any(one.RESOURCE.kind == kind for one in kinds):
            return platform
    return None
