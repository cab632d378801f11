"""A cluster in memory with pools, Nodes and a registry, and the controller that removes images."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.unit.os_build.fake import FakeBackend, FakeBuilders
from tests.unit.os_build.world import (
    API,
    TARGET,
    config_map,
    machine_config,
    machine_os_config,
    pool,
    secret,
)
from windlass.api.core import ConfigMap, Event, Namespace, Node, Secret
from windlass.api.machineconfiguration import ControllerConfig, MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.rounds import Ending
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader
from windlass.os_build.constants import BUILDER_CONFIG, IMAGE, IMAGE_CONFIG, IMAGE_INPUTS, LAYERING
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.inputs.labels import cluster_mark
from windlass.os_build.machine_os.conditions import State, vector
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.index import OCI_INDEX, OCI_MANIFEST
from windlass.os_build.registry.repository import Manifest, Trouble, Why
from windlass.os_build.request import BackendName
from windlass.os_build.retention.contents import SYSTEM, ImagesCarrier
from windlass.os_build.retention.controller import images_controller
from windlass.os_build.retention.record import BUILT

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
OURS, THEIRS = "uid-of-ours", "uid-of-theirs"


class MemoryRepository:
    """A repository that a test fills. `refuses` is what it answers to every removal, `silent` to everything."""

    def __init__(self) -> None:
        self.manifests: dict[str, bytes] = {}
        self.blobs: dict[str, bytes] = {}
        self.tagged: dict[str, str] = {}
        self.refuses: Trouble | None = None
        self.silent: Trouble | None = None
        self.asked: list[str] = []
        self.deleted: list[str] = []
        self.before_tags: Any = None

    def push(self, tag: str, *, labels: Mapping[str, str]) -> str:
        config = json.dumps({"config": {"Labels": labels}, "of": tag}).encode()
        blob = _digest(config)
        self.blobs[blob] = config
        content = json.dumps({"mediaType": OCI_MANIFEST, "config": {"digest": blob}}).encode()
        return self._put(tag, content)

    def push_list(self, tag: str, *digests: str) -> str:
        listed = [{"digest": each} for each in digests]
        return self._put(tag, json.dumps({"mediaType": OCI_INDEX, "manifests": listed}).encode())

    def _put(self, tag: str, content: bytes) -> str:
        digest = _digest(content)
        self.manifests[digest] = content
        self.tagged[tag] = digest
        return digest

    async def tags(self) -> tuple[str, ...]:
        self._note("tags")
        if self.before_tags is not None:
            await self.before_tags()
        return tuple(self.tagged)

    async def manifest(self, reference: str) -> Manifest | None:
        self._note(reference)
        content = self.manifests.get(self.tagged.get(reference, reference))
        return Manifest(_digest(content), json.loads(content)["mediaType"], content) if content else None

    async def document(self, digest: str) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(self.blobs[digest])
        return found

    async def delete(self, digest: str) -> None:
        self._note(f"DELETE {digest}")
        if self.refuses is not None:
            raise self.refuses
        self.deleted.append(digest)
        self.manifests.pop(digest, None)
        self.tagged = {tag: each for tag, each in self.tagged.items() if each != digest}

    def _note(self, what: str) -> None:
        self.asked.append(what)
        if self.silent is not None:
            raise self.silent


class MemoryRegistries:
    def __init__(self) -> None:
        self.repositories: dict[str, MemoryRepository] = {}

    def repository(
        self, target: Target, login: Login | None, *, actions: str, origin: str, egress: Egress
    ) -> MemoryRepository:
        return self.of(str(target))

    def of(self, repository: str) -> MemoryRepository:
        return self.repositories.setdefault(repository, MemoryRepository())


class Images:
    """The cluster `cluster`. `registries`: shared with another cluster."""

    def __init__(
        self, *, keep: int = 0, served: bool = False, cluster: str = OURS, registries: MemoryRegistries | None = None
    ) -> None:
        kinds = (MachineConfigPool, ControllerConfig, MachineConfig, MachineOSConfig, MachineOSBuild)
        self.api = MemoryApi(*kinds, ConfigMap, Secret, Event, Node, Namespace, clock=lambda: NOW)
        self.registries = registries or MemoryRegistries()
        self.registry = self.registries.of(TARGET)
        self.builders = FakeBuilders()
        self.cluster = cluster
        self.served = served
        self.keep = keep
        self.api.load(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": cluster}},
            secret("pull", {"auths": {}}),
            secret("push", {"auths": {}}),
            secret("global-pull-secret-copy", {"auths": {}}),
            config_map(
                BUILDER_CONFIG,
                baseImagePullSecretName="pull",
                finalImagePushSecretName="push",
                finalImagePullspec=TARGET,
            ),
        )
        self.restart()

    def restart(self) -> None:
        self.reader = LaggingReader(self.api)
        self.carrier = ImagesCarrier(self.registries)  # type: ignore[arg-type]
        self.controller = images_controller(
            self.reader,
            {BackendName.JOB: FakeBackend(self.builders, name=BackendName.JOB)},
            self.carrier,
            settings=Settings(keep_images=self.keep, machine_os_configs=self.served),
            now=lambda: NOW,
        )
        self.reader.only(self.controller)
        self.asker = self.controller.asker(now=lambda: NOW)

    async def settle(self, name: str = "worker") -> Ending:
        return await self.controller.reconcile(
            name,
            executor=Executor(
                self.api,
                ledger=self.reader,
                permits=Declared(self.controller.declared),
                systems={SYSTEM: self.carrier},
                now=lambda: NOW,
            ),
            now=lambda: NOW,
            asker=self.asker,
        )

    def push(self, number: int, *, pool: str = "worker", cluster: str = "", tag: str = "", **more: str) -> str:
        """The pullspec of an image that a build of this (or another) cluster pushed."""
        config, base = f"rendered-{pool}-{number}", "base"
        mark = cluster_mark(cluster or self.cluster, pool=pool, config=config, base=base)
        known = {"machineconfig": config, "machineconfigpool": pool, "baseOSContainerImage": base}
        name = tag or (f"{pool}-{number:032x}" if self.served else f"build-{pool}-{number:032x}")
        return f"{TARGET}@{self.registry.push(name, labels={**known, 'io.windlass.cluster': mark, **more})}"

    def add_pool(self, number: int, image: str, *, history: str = "", name: str = "worker") -> None:
        """A pool that has this image, of the rendered MachineConfig with this number."""
        config = f"rendered-{name}-{number}"
        known = {LAYERING: "", IMAGE: image, IMAGE_CONFIG: config, IMAGE_INPUTS: "abc"}
        tree = pool(name, config, annotations={} if self.served else {**known, **({BUILT: history} if history else {})})
        tree["status"] = {"conditions": [{"type": "BuildSuccess", "status": "True", "reason": "", "message": image}]}
        self.api.load(tree)
        if not self.api.peek(MachineConfig, config):
            self.api.load(machine_config(config))

    def add_config(self, number: int, image: str) -> None:
        """The MachineOSConfig of the pool `worker`, whose current image this is."""
        tree = machine_os_config()
        tree["metadata"]["annotations"] = {f"{API.partition('/')[0]}/current-machine-os-build": build_name(number)}
        tree["status"] = {"currentImagePullSpec": image, "observedGeneration": 1}
        self.api.load(tree)

    def add_build(self, number: int, image: str, *, state: State = State.SUCCEEDED) -> None:
        conditions = [
            {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
            for each in vector(state, now=NOW)
        ]
        end = f"2026-11-{number:02d}T00:00:00Z"
        self.api.load(
            {
                "apiVersion": API,
                "kind": "MachineOSBuild",
                "metadata": {"name": build_name(number), "uid": f"uid-of-{number}"},
                "spec": {
                    "machineConfig": {"name": f"rendered-worker-{number}"},
                    "machineOSConfig": {"name": "worker"},
                    "renderedImagePushSpec": f"{TARGET}:{build_name(number)}",
                },
                "status": {"conditions": conditions, "digestedImagePushSpec": image, "buildEnd": end},
            }
        )

    def add_node(self, name: str, **annotations: str) -> None:
        keys = {f"machineconfiguration.openshift.io/{key}": value for key, value in annotations.items()}
        self.api.load({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": keys}})

    def history(self) -> list[str]:
        """The digests in the record of the pool `worker`."""
        found = self.api.peek(MachineConfigPool, "worker")
        assert found is not None
        recorded = found.tree()["metadata"].get("annotations", {}).get(BUILT, "[]")
        return [each["image"].partition("@")[2] for each in json.loads(recorded)]

    def events(self) -> list[tuple[str, str]]:
        return [(each.decode().reason, each.decode().message) for each in self.api.listing(Event)]

    def builds(self) -> list[str]:
        return sorted(each.name for each in self.api.listing(MachineOSBuild))


def build_name(number: int) -> str:
    return f"worker-{number:032x}"


def recorded(*images: str) -> str:
    """A record of these, newest first; the numbers of their configs count down."""
    count = len(images)
    return json.dumps(
        [
            {"image": image, "config": f"rendered-worker-{count - at}", "built": f"2026-11-{count - at:02d}T00:00:00Z"}
            for at, image in enumerate(images)
        ]
    )


def digest_of(image: str) -> str:
    return image.partition("@")[2]


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


REFUSED = Trouble(Why.UNSUPPORTED, "the registry does not remove it (405 UNSUPPORTED): allow that in its settings")
SILENT = Trouble(Why.UNANSWERED, "the registry could not be asked: 503")
