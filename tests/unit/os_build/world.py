"""A cluster in memory with pools, their ConfigMaps and Secrets, and a process of ours that builds by fake builders."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from tests.unit.os_build.fake import SYSTEM, FakeBackend, FakeBuilders
from windlass.api.core import ConfigMap, Event, Node, Secret
from windlass.api.machineconfiguration import GROUP, ControllerConfig, MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.api.meta import KubernetesObject
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.plan import Request as CallRequest
from windlass.kube.control.rounds import Ending
from windlass.kube.control.seen import IndexedReader
from windlass.kube.verbs import Api, PatchType
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader
from windlass.os_build.builder import Backend
from windlass.os_build.constants import BUILDER_CONFIG, IMAGE, LAYERING, NAMESPACE
from windlass.os_build.counters import BuildCounters
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.pool.controller import pool_controller
from windlass.os_build.pool.snapshot import Settings, Timing
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Answer, Found, Gone, Kind, ListAnswer, NotAsked, Shown
from windlass.os_build.registry.carrier import ImageList, PushList
from windlass.os_build.registry.index import OCI_MANIFEST, Child, index_of
from windlass.os_build.request import BackendName
from windlass.os_build.sbom.carrier import IsAttached
from windlass.os_build.signing.carrier import IsSigned

TARGET = "registry.example.com/org/os"
API = f"{GROUP}/v1"


class FakeRegistries:
    """Registries whose answers a test sets. It is the carrier of probes too, and remembers as that does."""

    def __init__(self) -> None:
        self.answer = Answer(Kind.GRANTED, "")
        self.found: Found | Gone | NotAsked = NotAsked("registry.example.com does not answer")
        self.probes: list[Any] = []
        self.shown: dict[str, Shown | Gone | NotAsked] = {}
        """By the digest or tag; of others nothing is known."""
        self.lists: list[ImageList] = []
        self.joined: ListAnswer | None = None
        """None: each list is taken."""
        self._pushed: dict[ImageList, ListAnswer] = {}
        self._answered: dict[tuple[str, str], Answer] = {}

    def answered(self, *, target: str, versions: str) -> Answer | None:
        return self._answered.get((target, versions))

    async def manifest(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> Found | Gone | NotAsked:
        return self.found

    async def architectures(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> Shown | Gone | NotAsked:
        return self.shown.get(reference, NotAsked("registry.example.com does not answer"))

    def pushed(self, wanted: ImageList) -> ListAnswer | None:
        return self._pushed.get(wanted)

    async def send(self, request: Any, /) -> Answer | ListAnswer:
        if isinstance(request, PushList):
            return self._push(request.list)
        self.probes.append(request)
        self._answered[request.target, request.versions] = self.answer
        return self.answer

    def _push(self, wanted: ImageList) -> ListAnswer:
        self.lists.append(wanted)
        made = index_of(
            Child(digest=digest, media_type=OCI_MANIFEST, size=1, architecture=architecture)
            for architecture, digest in wanted.images
        )
        answer = self._pushed[wanted] = self.joined or Found(made.digest)
        if isinstance(answer, Found):
            self.shown[answer.digest] = Shown(answer.digest, tuple(each for each, _ in wanted.images))
        return answer

    def forget(self) -> None:
        """Time passes: answers about lists count no more."""
        self._pushed.clear()

    def doubt(self, request: CallRequest, /) -> None:
        self._answered.clear()
        self._pushed.clear()


class FakeAttachments:
    """Attaches signatures, or lists of contents, or says `why` not. It remembers as their carriers do; `sent` are the
    requests."""

    def __init__(self) -> None:
        self.why = ""
        self.sent: list[Any] = []
        self.known: dict[tuple[str, str], str] = {}

    async def answer(self, question: IsSigned | IsAttached, /) -> str | None:
        return self.known.get((question.image, question.versions))

    async def send(self, request: Any, /) -> str:
        self.sent.append(request)
        self.known[request.image, request.versions] = self.why
        return self.why

    def doubt(self, request: Any, /) -> None:
        return None


class World:
    """The cluster. `settle` is what the process does until it rests; `pass_time` moves the clock.

    `kinds`: those that not every cluster serves.
    """

    def __init__(
        self,
        *,
        debounce: float = 0.0,
        machine_os_configs: bool = False,
        max_builds: int = 0,
        kinds: tuple[type[KubernetesObject], ...] = (),
    ) -> None:
        served = (
            MachineConfigPool,
            ControllerConfig,
            MachineConfig,
            MachineOSConfig,
            MachineOSBuild,
            ConfigMap,
            Secret,
            Event,
            Node,
        )
        self.api = MemoryApi(*served, *kinds, clock=self.now)
        self.builders = FakeBuilders()
        self.debounce = debounce
        self.registry_ca: Path | None = None
        self.refers = True
        self.apply_by = ApplyBy.TREE
        self.machine_os_configs = machine_os_configs
        self.max_builds = max_builds
        self.signing_key = ""
        self.sbom = False
        self.counters = BuildCounters()
        self.process = Process(self)
        self.api.load(
            secret("pull", {"auths": {}}),
            secret("push", {"auths": {"registry.example.com": {"auth": base64.b64encode(b"u:p").decode()}}}),
            config_map(
                BUILDER_CONFIG,
                baseImagePullSecretName="pull",
                finalImagePushSecretName="push",
                finalImagePullspec=TARGET,
            ),
        )

    def backends(self, reader: IndexedReader) -> Mapping[BackendName, Backend]:
        """What builds."""
        return {
            name: FakeBackend(self.builders, name=name, refers=self.refers)
            for name in (BackendName.OPENSHIFT, BackendName.JOB)
        }

    def now(self) -> datetime:
        return self.builders.now

    def pass_time(self, seconds: float) -> None:
        self.builders.now += timedelta(seconds=seconds)

    def add_pool(self, name: str = "worker", *, config: str = "", **metadata: Any) -> None:
        """An opted-in pool with its rendered MachineConfig."""
        rendered = config or f"rendered-{name}-1"
        self.api.load(machine_config(rendered), pool(name, rendered, **metadata))

    def add_nodes(self, *architectures: str, pool: str = "worker") -> None:
        """A Node of each architecture in the pool, whose selector must have `pool`."""
        for architecture in architectures:
            labels = {"kubernetes.io/arch": architecture, f"node-role.kubernetes.io/{pool}": ""}
            metadata = {"name": f"{pool}-{architecture}", "labels": labels}
            self.api.load({"apiVersion": "v1", "kind": "Node", "metadata": metadata})

    def pool(self, name: str = "worker") -> dict[str, Any]:
        found = self.api.peek(MachineConfigPool, name)
        assert found is not None
        return found.tree()

    def annotations(self, name: str = "worker") -> dict[str, str]:
        return self.pool(name)["metadata"].get("annotations") or {}

    def image(self, name: str = "worker") -> str:
        return self.annotations(name).get(IMAGE, "")

    def conditions(self, name: str = "worker") -> dict[str, Any]:
        return {each["type"]: each for each in (self.pool(name).get("status") or {}).get("conditions") or []}

    def true(self, name: str = "worker") -> list[str]:
        """The conditions that are True."""
        return [type_ for type_, each in self.conditions(name).items() if each["status"] == "True"]

    def says(self, name: str = "worker") -> tuple[str, str, str]:
        """The condition of ours that is True (or empty), its reason and its message."""
        ours = [self.conditions(name)[each] for each in ("BuildPending", "Building", "BuildSuccess", "BuildFailed")]
        true = [each for each in ours if each["status"] == "True"]
        assert len(true) <= 1
        one = true[0] if true else ours[0]
        return one["type"] if true else "", one["reason"], one.get("message", "")

    async def patch_pool(self, patch: dict[str, Any], name: str = "worker", *, subresource: str = "") -> None:
        await self.api.patch(MachineConfigPool, name, patch, type=PatchType.MERGE, subresource=subresource)

    async def settle(self, *names: str) -> Ending:
        return await self.process.settle(*names)

    def restart(self) -> None:
        self.counters = BuildCounters()
        self.process = Process(self)


class Process:
    """One life of the process: what it remembers dies with it."""

    def __init__(self, world: World, *, api: Api | None = None, systems: Any = None) -> None:
        self._world = world
        self.registries: Any = systems["registry"] if systems else FakeRegistries()
        self._api = api or world.api
        self.reader = LaggingReader(world.api)
        self.signatures, self.contents = FakeAttachments(), FakeAttachments()
        self._systems = systems or {
            SYSTEM: world.builders,
            "registry": self.registries,
            "signatures": self.signatures,
            "contents": self.contents,
        }
        controller = pool_controller(
            self.reader,
            world.backends(self.reader),
            self.registries,
            now=world.now,
            signatures=self.signatures,
            contents=self.contents,
            settings=Settings(
                apply_by=world.apply_by,
                timing=Timing(debounce=world.debounce),
                machine_os_configs=world.machine_os_configs,
                max_builds=world.max_builds,
                registry_ca=world.registry_ca,
                signing_key=world.signing_key,
                sbom=world.sbom,
            ),
        )
        self.controller = structs.replace(controller, observe=world.counters.observing(controller.observe))
        self.asker = self.controller.asker(now=world.now)
        self.reader.only(self.controller)

    async def settle(self, *names: str) -> Ending:
        """Reconcile these pools (all) until each rests; the last ending."""
        all_names = names or tuple(each.name for each in self._world.api.listing(MachineConfigPool))
        ending: Ending | None = None
        for name in all_names:
            ending = await self.controller.reconcile(
                name,
                executor=Executor(
                    self._api,
                    ledger=self.reader,
                    permits=Declared(self.controller.declared),
                    systems=self._systems,
                    now=self._world.now,
                ),
                now=self._world.now,
                asker=self.asker,
            )
        assert ending is not None
        return ending


def pool(name: str, config: str, **metadata: Any) -> dict[str, Any]:
    """An opted-in MachineConfigPool."""
    sources = [{"apiVersion": API, "kind": "MachineConfig", "name": f"00-{name}"}]
    return {
        "apiVersion": API,
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "uid": f"uid-of-{name}", "annotations": {LAYERING: ""}, **metadata},
        "spec": {
            "configuration": {"name": config, "source": sources},
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
        },
        "status": {"conditions": [{"type": "Updated", "status": "True", "reason": "", "message": ""}]},
    }


def claimed(*, max_builds: int = 0) -> World:
    """A world whose pool `worker` a MachineOSConfig names, which is served."""
    world = World(machine_os_configs=True, max_builds=max_builds)
    world.api.load(secret("global-pull-secret-copy", {"auths": {}}), machine_os_config())
    world.add_pool(annotations={})
    return world


def machine_os_config(**spec: Any) -> dict[str, Any]:
    """That of the pool `worker`; `spec` are more of its fields."""
    return {
        "apiVersion": API,
        "kind": "MachineOSConfig",
        "metadata": {"name": "worker", "uid": "uid-of-config", "generation": 1},
        "spec": {
            "machineConfigPool": {"name": "worker"},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "push"},
            "renderedImagePushSpec": "registry.example.com/org/os:latest",
            **spec,
        },
    }


def machine_config(name: str, **spec: Any) -> dict[str, Any]:
    """A rendered one, with a file of its own; `spec` are more of its fields."""
    files = [{"path": "/etc/motd", "contents": {"source": f"data:,{name}"}}]
    annotations = {f"{GROUP}/release-image-version": "4.20.0", f"{GROUP}/generated-by-controller-version": "abc"}
    return {
        "apiVersion": API,
        "kind": "MachineConfig",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "osImageURL": "registry.example.com/base/os@sha256:" + "0" * 64,
            "config": {"ignition": {"version": "3.4.0"}, "storage": {"files": files}},
            **spec,
        },
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": data,
    }


def secret(name: str, document: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {".dockerconfigjson": base64.b64encode(json.dumps(document).encode()).decode()},
    }
