"""Carries requests to the builder on this machine."""

from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import (
    BuilderRequest,
    CancelBuild,
    RemoveBuild,
    RenewCredentials,
    StartBuild,
)
from windlass.os_build.builder import BuildState


class LocalCarrier:
    """The system "buildah". The answer is the state of the build, None if there is none."""

    def __init__(self, builds: Builds) -> None:
        self._builds = builds

    async def send(self, request: BuilderRequest, /) -> BuildState | None:
        match request:
            case StartBuild():
                return await self._builds.start(request)
            case RenewCredentials():
                self._builds.renew(request)
            case CancelBuild():
                await self._builds.cancel(request.name)
            case RemoveBuild():
                await self._builds.remove(request.name)
        return self._builds.state(request.name)

    def doubt(self, request: BuilderRequest, /) -> None:
        """Nothing to do: `Builds` knows the state of its own processes."""
