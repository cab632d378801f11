"""The controller of pools in this process, with all its backends, and builders that a test plays step by step."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from tests.api.os_build.pool.cluster import Cluster
from tests.waiting import eventually, until
from windlass.api.core import Pod
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.control.effects import Carrier
from windlass.kube.control.source import Mailbox
from windlass.kube.errors import Forbidden, Invalid
from windlass.kube.object import Object
from windlass.kube.process.manager import Manager
from windlass.kube.verbs import ApiRequest
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.carrier import LocalCarrier
from windlass.os_build.backends.local.requests import BUILDAH
from windlass.os_build.builder import Deadlines
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.pool.snapshot import Settings, Timing
from windlass.os_build.registry import SYSTEM as REGISTRY
from windlass.os_build.registry import Registry, RegistryCarrier
from windlass.os_build.request import BackendName
from windlass.os_build.retention.contents import SYSTEM as IMAGES
from windlass.os_build.retention.contents import ImagesCarrier
from windlass.os_build.sbom.carrier import SYSTEM as CONTENTS
from windlass.os_build.sbom.carrier import ContentsCarrier
from windlass.os_build.service import Local, images_maker, maker
from windlass.os_build.settings import OsBuildSettings
from windlass.os_build.signing.carrier import SYSTEM as SIGNATURES
from windlass.os_build.signing.carrier import SignaturesCarrier
from windlass.testing.builds.openshift import Built, PlayedBuilds
from windlass.testing.builds.pods import Ended, PlayedPods

QUICK: Final = Timing(debounce=0.0, retries=(0.2, 0.2, 0.2), lost=0.2, ask_again=0.5, patience=0.5, images=0.2)
"""What takes minutes, in fractions of a second."""
STEP: Final = "RUN exit 7"
FAILURE: Final = f'STEP 2/2: {STEP}\nno match for argument\nError: building at STEP "{STEP}": exit status 7'


class Writes(Client):
    """Counts what is written, with Events, and what the server refuses other than for a conflict."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sent: list[str] = []
        self.refused: list[str] = []

    async def send(self, request: ApiRequest[Any], /) -> Any:
        if request.WRITES:
            self.sent.append(str(request))
        try:
            return await super().send(request)
        except (Forbidden, Invalid) as error:
            self.refused.append(f"{request}: {error}")
            raise


def digest(name: str) -> str:
    """The digest that a played builder gives to the image of this build."""
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


class Hands(Protocol):
    """Plays the builder of each build, by its name."""

    async def run(self, name: str) -> None: ...
    async def succeed(self, name: str) -> None: ...
    async def fail(self, name: str) -> None:
        """As `STEP` fails, which the test has in its Containerfile."""

    def digest(self, name: str) -> str:
        """Of the image that was built."""
        ...


class OpenShiftHands:
    digest = staticmethod(digest)

    def __init__(self, cluster: Cluster) -> None:
        self.builds = PlayedBuilds(cluster.client, namespace=cluster.namespace)

    async def run(self, name: str) -> None:
        await self.builds.run(name)

    async def succeed(self, name: str) -> None:
        await self.builds.end(name, Built(digest=digest(name)))

    async def fail(self, name: str) -> None:
        await self.builds.end(name, Built(reason="DockerBuildFailed", log=FAILURE))


class JobHands:
    """The Jobs themselves are the business of the real job controller."""

    digest = staticmethod(digest)

    def __init__(self, cluster: Cluster) -> None:
        self.pods = PlayedPods(cluster.client, namespace=cluster.namespace)

    async def run(self, name: str) -> None:
        await self.pods.run(await self._pod(name))

    async def succeed(self, name: str) -> None:
        await self.push(name, digest(name))

    async def push(self, name: str, digest: str) -> None:
        """It succeeds with this image."""
        await self.pods.end(await self._pod(name), Ended(message=digest))

    async def fail(self, name: str) -> None:
        await self.pods.end(await self._pod(name), Ended(exit_code=65, message=FAILURE))

    async def _pod(self, name: str) -> Object[Pod]:
        return (await eventually(lambda: self.pods.of(name), what=f"a Pod of {name}"))[-1]


class LocalHands:
    """Real builds, each of which waits for its base image until it may go on."""

    def __init__(self, cluster: Cluster) -> None:
        self._registry = cluster.registry
        self._repository = cluster.repository
        self._hold()

    async def run(self, name: str) -> None:
        """It runs by itself."""

    async def succeed(self, name: str) -> None:
        self._registry.clear_faults()
        asked = partial(self._registry.requests, method="PUT", path=f"/manifests/{name}")
        await until(lambda: [each.status for each in asked()] == [201])
        self._hold()

    async def fail(self, name: str) -> None:
        self._registry.clear_faults()

    def digest(self, name: str) -> str:
        return self._registry.images.digest(self._repository, name)

    def _hold(self) -> None:
        self._registry.fault(path="os/base/manifests", hang=True)


HANDS: Final[Mapping[BackendName, Callable[[Cluster], Hands]]] = {
    BackendName.OPENSHIFT: OpenShiftHands,
    BackendName.JOB: JobHands,
    BackendName.LOCAL: LocalHands,
}


class Stage:
    """A cluster, the controller's client `ours`, and the builds on this machine, if there are any."""

    def __init__(self, cluster: Cluster, ours: Writes, builds: Builds | None) -> None:
        self.cluster = cluster
        self.ours = ours
        self.builds = builds

    async def begun(self, pool: str, *, other_than: str = "") -> str:
        """The name of the one build of the pool, once there is one (another one)."""

        async def names() -> list[str]:
            if self.builds is not None:
                return [state.name for state in self.builds.states(pool)]
            return [each.name for each in await self.cluster.builders(pool)]

        found = await eventually(
            names, lambda found: len(found) == 1 and found != [other_than], what=f"one build of {pool}"
        )
        return found[0]


@asynccontextmanager
async def at_work(
    cluster: Cluster,
    *,
    folder: Path | None = None,
    slots: int = 2,
    timing: Timing = QUICK,
    deadlines: Deadlines = Deadlines(),  # noqa: B008 - frozen
    machine_os_configs: bool = False,
    account: ClusterConfig | None = None,
    **more: Any,
) -> AsyncIterator[Stage]:
    """The controller at work, as a new process that leads; with a `folder`, also with builds on this machine.

    `account`: whose rights it has; None: all. `more`: other fields of `Settings`.
    """
    pools = Settings(
        namespace=cluster.namespace,
        apply_by=ApplyBy.TREE,
        machine_os_configs=machine_os_configs,
        timing=timing,
        deadlines=deadlines,
        **more,
    )
    settings = OsBuildSettings(pools=pools)
    registry = Registry(insecure=(cluster.registry.host,))
    registries, images, signatures = RegistryCarrier(registry), ImagesCarrier(registry), SignaturesCarrier(registry)
    systems: dict[str, Carrier[Any]] = {REGISTRY: registries, IMAGES: images, SIGNATURES: signatures}
    systems[CONTENTS] = contents = ContentsCarrier(registry)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(registries)
        local = None
        if folder is not None:
            mailbox: Mailbox[str] = Mailbox()
            buildah = Buildah(tls_verify=False, retries=0, delay=0.1)
            builds = Builds(folder, slots=slots, buildah=buildah, changed=mailbox.post)
            local = Local(await stack.enter_async_context(builds), mailbox)
            systems[BUILDAH] = LocalCarrier(builds)
        ours = await stack.enter_async_context(Writes(account or cluster.client.config))
        manager = await stack.enter_async_context(Manager(ours, systems=systems))
        await manager.start(maker(settings, registries, local=local, signatures=signatures, contents=contents))
        if pools.keep_images is not None:
            await manager.start(images_maker(settings, images, local=local))
        running = asyncio.create_task(manager.run())
        try:
            yield Stage(cluster, ours, local.builds if local else None)
        finally:
            manager.shut_down()
            await running
