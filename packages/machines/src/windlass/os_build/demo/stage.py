"""The stage of OS builds: a cluster with the real Machine Config Operator's controller, a registry, and Windlass."""

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo import stage
from windlass.os_build.constants import BUILDER_CONFIG, CONTAINERFILES, LAYERING, NAMESPACE, OWN_LEASE
from windlass.os_build.demo.scene import POOLS, Process, Pushed, Scene, leftovers, processes
from windlass.os_build.installation import HOME, NAME, installation
from windlass.os_build.request import BUILDER_TYPE, PULL_SECRET, PULLSPEC, PUSH_SECRET
from windlass.testing import crds
from windlass.testing.binaries import (
    CORE_PARTS,
    DISTRIBUTION,
    MACHINE_CONFIG,
    MACHINE_CONFIG_API,
    OPENSHIFT_API,
    obtain,
)
from windlass.testing.builder import missing_builder, push_base
from windlass.testing.plane.access import Document
from windlass.testing.plane.errors import PlaneError
from windlass.testing.registry import Auth, Registry
from windlass.testing.updates import Pool
from windlass.testing.updates.os_builder import OsBuilder

DEBOUNCE: Final = "1s"
"""How long a changed pool rests: five seconds by default, but nobody wants to watch that long."""
LEASE: Final = (
    "--leader-elect-lease-duration=8s",
    "--leader-elect-renew-deadline=6s",
    "--leader-elect-retry-period=1s",
)
"""Half the usual times: a process that was killed cannot give its Lease back, and the next one waits for its end."""
REPOSITORY: Final = "org/os"
MOTD: Final = "/etc/motd"
EDITION: Final = "/etc/edition"
"""A file of the MachineConfig, and one that the user's Containerfile makes."""
CONFIG: Final = "60-motd"
MIRRORED: Final = "70-mirror"
"""The MachineConfig of the pool `infra` that names a base image without an address, and the mirror that has it."""
SOURCE: Final = "quay.example.invalid/ocp/os"
"""Where that image is said to be; names below `.invalid` never resolve (RFC 6761)."""
_MIRROR: Final = """\
[[registry]]
location = "{source}"
[[registry.mirror]]
location = "{mirror}"
"""

_PULL, _PUSH = "base-pull", "os-push"
_EMPTY: Final = [Pool(name=name, nodes=0) for name in POOLS]


def prepare() -> None:
    """Look for buildah, and build the other programs, before any deadline begins. Raises BinariesError, PlaneError."""
    if why := missing_builder():
        raise PlaneError(f"the demo of os-build builds images on this machine, and what it needs is {why}")
    obtain((*CORE_PARTS, OPENSHIFT_API, MACHINE_CONFIG, MACHINE_CONFIG_API, DISTRIBUTION))


class Stage(stage.Stage[Scene]):
    """Two pools without Nodes, and a registry with a base image."""

    MANIFESTS = "windlass.os_build.demo"

    WATCHED: ClassVar = {MachineConfigPool: None}
    LEASES: ClassVar = {OWN_LEASE: HOME}

    opening = Scene()

    def __init__(self, directory: Path, *, temporary: bool = True) -> None:
        super().__init__(directory, temporary=temporary)
        self._builds = directory / "builds"
        self._registry: Registry | None = None
        self._mirror: Registry | None = None
        self._operator: OsBuilder | None = None
        self._base = ""
        self._known: dict[tuple[str, str], Pushed] = {}
        self._killed: frozenset[Process] = frozenset()

    def crds(self) -> Sequence[Document]:
        return [*crds.documents(*crds.UPDATES), *crds.of(MACHINE_CONFIG_API)]

    @property
    def registry(self) -> Registry:
        assert self._registry is not None, "there is no registry yet"
        return self._registry

    # what the steps install

    async def start_cluster(self) -> None:
        """The control plane and the registry, then what the Machine Config Operator renders from a MachineConfig."""
        await asyncio.gather(self.start_control_plane(), asyncio.to_thread(self._start_registry))
        self._operator = await asyncio.to_thread(self._start_operator)
        self.watch()

    def _start_registry(self) -> None:
        self._registry = Registry().__enter__()
        self.at_end(self._registry.__exit__, None, None, None)
        self._base = push_base(self._registry)

    def _start_operator(self) -> OsBuilder:
        operator = OsBuilder(self.plane.blocking, pools=_EMPTY, folder=self.logs, os_image=self._base)
        self.at_end(operator.close)
        operator.install()
        operator.start()
        return operator

    async def start_windlass(self) -> None:
        """`windlass run os-build` as its ServiceAccount, the Secrets, and where images go."""
        await self.install(installation())
        await self.plane.apply(self._secret(_PULL, "puller"), self._secret(_PUSH, "pusher"))
        data = {
            PULL_SECRET: _PULL,
            PUSH_SECRET: _PUSH,
            PULLSPEC: f"{self.registry.host}/{REPOSITORY}",
            BUILDER_TYPE: "local",
        }
        await self._config_map(BUILDER_CONFIG, data)
        await self.run_again()

    async def run_again(self) -> None:
        """`windlass run os-build`."""
        await self.run_windlass(
            installation(),
            f"--local-builds={self._builds}",
            "--apply-by=tree",
            f"--debounce={DEBOUNCE}",
            f"--insecure-registry={self.registry.host}",
            *LEASE,
        )

    async def kill_and_run_again(self) -> None:
        """SIGKILL to Windlass while it builds; then it is run again."""
        self._killed = frozenset(await asyncio.to_thread(processes, self._builds))
        await self.kill_windlass(NAME)
        await self.run_again()

    # what a user does

    async def opt(self, *, into: bool) -> None:
        """`kubectl annotate` of both pools: with the annotation, or without it."""
        for name in POOLS:
            await self.merge(MachineConfigPool, name, {"metadata": {"annotations": {LAYERING: "" if into else None}}})

    async def greet(self, text: str) -> None:
        """Write a MachineConfig of all workers with the file /etc/motd."""
        operator = self._operator
        assert operator is not None, "there is no Machine Config Operator yet"
        await asyncio.to_thread(lambda: operator.configure(CONFIG, pool="worker", files={MOTD: text}))

    async def disconnect(self) -> None:
        """Put the base image of the pool infra behind a mirror with a CA of its own, as MachineConfigs tell nodes."""
        await asyncio.to_thread(self._disconnect)

    def _disconnect(self) -> None:
        assert self._operator is not None, "there is no Machine Config Operator yet"
        self._mirror = mirror = Registry(auth=Auth.NONE, tls=True).__enter__()
        self.at_end(mirror.__exit__, None, None, None)
        mirrored = push_base(mirror)
        repository, _, digest = mirrored.partition("@")
        files = {
            f"/etc/containers/registries.conf.d/{MIRRORED}.conf": _MIRROR.format(source=SOURCE, mirror=repository),
            f"/etc/containers/certs.d/{mirror.host}/ca.crt": mirror.ca_file.read_text(),
        }
        self._operator.configure(MIRRORED, pool="infra", files=files, osImageURL=f"{SOURCE}@{digest}")

    async def write_containerfile(self, *texts: str) -> None:
        """Write the Containerfile of the pool worker, several times in a row."""
        for text in texts:
            await self._config_map(CONTAINERFILES, {"worker": text})

    async def _config_map(self, name: str, data: Mapping[str, str]) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        await self.plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def _secret(self, name: str, user: str) -> dict[str, Any]:
        document = json.dumps(self.registry.auths(user)).encode()
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": base64.b64encode(document).decode()},
        }

    # what the scene shows

    async def complete(self, scene: Scene) -> Scene:
        return await asyncio.to_thread(self._with_machine, scene)

    def _with_machine(self, scene: Scene) -> Scene:
        """With what the registry has, and what builds consist of."""
        stored = self.registry.images
        images = []
        for tag in stored.tags(REPOSITORY):
            digest = stored.digest(REPOSITORY, tag)
            if (tag, digest) not in self._known:
                self._known[tag, digest] = self._pushed(tag, digest)
            images.append(self._known[tag, digest])
        return replace(
            scene,
            base=self._base,
            mirror=self._mirror.host if self._mirror else "",
            mirrored=len(self._mirror.requests(method="GET", path="/blobs/")) if self._mirror else 0,
            images=tuple(images),
            builders=processes(self._builds),
            killed=self._killed,
            left=leftovers(self._builds),
        )

    def _pushed(self, tag: str, digest: str) -> Pushed:
        stored = self.registry.images
        labels, files = stored.labels(REPOSITORY, digest), stored.files(REPOSITORY, digest)
        shown = {path: files.get(path.strip("/")) for path in (MOTD, EDITION)}
        texts = {path: content.decode() for path, content in shown.items() if isinstance(content, bytes)}
        pool, config = labels.get("machineconfigpool", ""), labels.get("machineconfig", "")
        return Pushed(tag, digest, pool, config, texts, labels.get("baseOSContainerImage", ""))
