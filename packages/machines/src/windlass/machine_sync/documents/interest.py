"""The parts of a must-gather that concern machines: Machines and MachineSets of both APIs, and what these refer to."""

from typing import Final

from windlass.api import capi, config, mapi
from windlass.capability.documents import Interest
from windlass.machine_sync.platforms import PLATFORMS

MACHINES: Final = Interest(
    groups=frozenset(
        {capi.Machine.RESOURCE.group, mapi.Machine.RESOURCE.group}
        | {platform.infra_machine.RESOURCE.group for platform in PLATFORMS.values()}
    ),
    cluster_scoped=(config.Infrastructure.RESOURCE,),
)
