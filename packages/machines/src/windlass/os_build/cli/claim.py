"""The MachineOSConfig that names a pool and the MachineOSBuild that it goes by: reads them, and says how they are."""

from typing import Any

from msgspec import Struct

from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.conditions import find
from windlass.kube.errors import NotFound
from windlass.kube.verbs import ReadApi
from windlass.os_build.machine_os.conditions import State, state_of
from windlass.os_build.overview import current_build


class ClaimInspection(Struct, frozen=True):
    """`build` None: there is none."""

    config: MachineOSConfig
    build: MachineOSBuild | None = None

    @property
    def failure(self) -> str:
        """Why the build failed; empty if it did not."""
        if self.build is None or state_of(self.build.status.conditions) is not State.FAILED:
            return ""
        failed = find(self.build.status.conditions, State.FAILED)
        return failed.message if failed is not None else ""


async def look_at_claim(api: ReadApi, name: str) -> ClaimInspection:
    """The MachineOSConfig of this name with the build of what it asked for last. Raises KubeErrors."""
    config = (await api.get(MachineOSConfig, name)).decode()
    build = current_build(config)
    try:
        return ClaimInspection(config, (await api.get(MachineOSBuild, build)).decode() if build else None)
    except NotFound:
        return ClaimInspection(config)


def claim_tree(claim: ClaimInspection) -> dict[str, Any]:
    """For programs."""
    build = claim.build
    return {
        "name": claim.config.metadata.name,
        "image": claim.config.status.current_image_pull_spec,
        "build": None if build is None else _build_tree(build, claim.failure),
    }


def _build_tree(build: MachineOSBuild, failure: str) -> dict[str, Any]:
    status = build.status
    return {
        "name": build.metadata.name,
        "state": str(state_of(status.conditions) or "New"),
        "config": build.spec.machine_config.name,
        "image": status.digested_image_push_spec,
        "started": status.build_start,
        "ended": status.build_end,
        "failure": failure,
    }
