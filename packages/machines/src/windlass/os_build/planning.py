"""Declares how OS builds are planned: by the controller itself, with nothing built and no registry asked.

A plan sees all inputs for the first time, so pools do not rest in it: it shows the builders that would start.
"""

from typing import Any

from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.capability.planning import Planner, Scope
from windlass.capability.planning.planner import plain_planner
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Answer, Kind, NotAsked
from windlass.os_build.registry.carrier import ImageList
from windlass.os_build.service import Local, maker
from windlass.os_build.settings import OsBuildSettings


class Unasked:
    """Registries that nobody asks: a plan shows the builder that would start if they agree."""

    def answered(self, *, target: str, versions: str) -> Answer | None:
        return Answer(Kind.NOT_ASKED, "")

    async def manifest(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> NotAsked:
        return NotAsked("a plan does not ask the registry")

    async def architectures(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> NotAsked:
        return NotAsked("a plan does not ask the registry")

    def pushed(self, wanted: ImageList) -> None:
        return None


def planner(settings: OsBuildSettings, *, reader: Any) -> Planner:
    """`reader` is one that is never read."""
    pools = settings.pools
    rested = replace(settings, pools=replace(pools, timing=replace(pools.timing, debounce=0.0)))
    make = maker(rested, Unasked(), local=Local.of(settings))
    watched = [watch.kind for watch in make(reader).watches]
    scope = Scope(kinds=tuple(dict.fromkeys((*watched, MachineConfig))), subjects=(MachineConfigPool,))
    return plain_planner(lambda reader: (make(reader),), scope=scope)
