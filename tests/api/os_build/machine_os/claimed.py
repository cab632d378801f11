"""A pool that a MachineOSConfig names, on a real API server with OpenShift's CRDs."""

import asyncio
import hashlib
import urllib.request
from typing import Any, Final

import msgspec

from tests.api.os_build.pool.cluster import Cluster
from tests.waiting import eventually
from windlass.api.core import ServiceAccount
from windlass.api.machineconfiguration import GROUP, MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.os_build.backends.job import SERVICE_ACCOUNT
from windlass.os_build.constants import GLOBAL_PULL_SECRET, RELEASE
from windlass.os_build.machine_os.conditions import IMAGE_BUILD_DEGRADED
from windlass.os_build.machine_os.name import CONTROLLER
from windlass.testing.registry import Registry

POOL: Final = "worker"
REPOSITORY: Final = "claimed/os"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"


class Claimed(Cluster):
    """The pool `worker`, its MachineOSConfig, and what became of both."""

    @property
    def target(self) -> str:
        return f"{self.registry.host}/{REPOSITORY}"

    async def prepare(self) -> None:
        """Everything but the MachineOSConfig."""
        await self.secret(GLOBAL_PULL_SECRET, self.registry.auths("puller"))
        await self.secret("push", self.registry.auths("pusher"))
        await self.put(ServiceAccount, SERVICE_ACCOUNT, {})
        await self.add_pool(POOL)

    async def render(self, config: str, *, base: str = "", **spec: Any) -> None:
        """With the annotations that name a build; `spec` are more of its fields."""
        await super().render(config, base=base)
        told = {RELEASE: "4.20.0", CONTROLLER: "v1"}
        await self.put(MachineConfig, config, {"metadata": {"annotations": told}, "spec": spec})

    async def move(self, config: str, **spec: Any) -> None:
        """The Machine Config Operator renders another configuration for the pool."""
        await self.render(config, **spec)
        await self.patch(POOL, {"spec": {"configuration": {"name": config}}})

    async def ask(self, **spec: Any) -> None:
        """Create the MachineOSConfig."""
        whole = {
            "machineConfigPool": {"name": POOL},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "push"},
            "renderedImagePushSpec": f"{self.target}:latest",
            **spec,
        }
        await self.client.create(MachineOSConfig, {"metadata": {"name": POOL}, "spec": whole})

    async def change(self, _: str = POOL, **spec: Any) -> None:  # type: ignore[override]
        """Change the MachineOSConfig."""
        await self.client.patch(MachineOSConfig, POOL, {"spec": spec}, type=PatchType.MERGE)

    async def tell(self, **annotations: str) -> None:
        """Annotate the MachineOSConfig, by keys without the prefix."""
        said = {f"{GROUP}/{key}": value for key, value in annotations.items()}
        await self.client.patch(MachineOSConfig, POOL, {"metadata": {"annotations": said}}, type=PatchType.MERGE)

    async def config(self) -> MachineOSConfig:
        return (await self.client.get(MachineOSConfig, POOL)).decode()

    async def builds(self) -> dict[str, Object[MachineOSBuild]]:
        return {each.name: each for each in (await self.client.list(MachineOSBuild)).items}

    async def state(self) -> dict[str, str]:
        """The condition that is True of each MachineOSBuild; empty: none."""
        return {
            name: next((one.type for one in each.decode().status.conditions if one.status == "True"), "")
            for name, each in (await self.builds()).items()
        }

    async def until_state(self, *states: str) -> None:
        await eventually(self.state, lambda found: sorted(found.values()) == sorted(states), what=f"builds: {states}")

    async def until_current(self, digest: str, *, config: str = "") -> MachineOSBuild:
        """Wait until nodes get this image, for the configuration; returns the MachineOSBuild that says so."""
        image = f"{self.target}@{digest}"

        async def current() -> MachineOSBuild | None:
            status = (await self.config()).status
            found = status.machine_os_build
            named = (await self.builds()).get(found.name) if found else None
            build = named.decode() if named and status.current_image_pull_spec == image else None
            return build if build and config in ("", build.spec.machine_config.name) else None

        found = await eventually(current, what=f"{image} is the current image")
        assert found is not None
        return found

    async def degraded(self) -> tuple[str, str, str]:
        """`ImageBuildDegraded` of the pool."""
        found = (await self.conditions(POOL)).get(IMAGE_BUILD_DEGRADED, {})
        return found.get("status", ""), found.get("reason", ""), found.get("message", "")

    async def until_degraded(self, status: str, *texts: str) -> None:
        await eventually(
            self.degraded,
            lambda said: said[0] == status and all(text in f"{said[1]}: {said[2]}" for text in texts),
            what=f"ImageBuildDegraded {status} with {texts}",
        )

    async def pool_changes(self) -> None:
        """Something else of the pool changes, so that it is looked at."""
        found = (await self.client.get(MachineConfigPool, POOL)).metadata.labels
        await self.patch(POOL, {"metadata": {"labels": {"looked-at": f"{len(found.get('looked-at', '')) * 'x'}x"}}})

    async def pushed(self, content: str) -> str:
        """Push an image; returns its digest."""
        return await asyncio.to_thread(push, self.registry, REPOSITORY, content)


def push(registry: Registry, repository: str, content: str) -> str:
    """Push an image that has nothing in it but this annotation; returns its digest."""
    body = msgspec.json.encode(
        {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [], "annotations": {"content": content}}
    )
    auth = registry.auths("pusher")["auths"][registry.host]["auth"]
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    request = urllib.request.Request(
        f"{registry.url}/v2/{repository}/manifests/{digest}",
        data=body,
        headers={"Content-Type": _INDEX, "Authorization": f"Basic {auth}"},
        method="PUT",
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 201
    return digest
