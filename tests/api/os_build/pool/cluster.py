"""Pools on a real API server: what their images are made from, what they say, and what there is of builders."""

import base64
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api.batch import Job
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Pod, Secret, ServiceAccount
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.api.meta import KubernetesObject
from windlass.kube.client import Client
from windlass.kube.errors import NotFound, NotServed
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.os_build.backends.job import SERVICE_ACCOUNT
from windlass.os_build.constants import BUILD_LABEL, BUILDER_CONFIG, CONTAINERFILES, IMAGE, LAYERING, NAMESPACE
from windlass.os_build.pool.conditions import VECTOR
from windlass.os_build.request import BackendName
from windlass.testing.registry import Registry

_numbers = itertools.count(1)
TYPES: Final = {BackendName.OPENSHIFT: "openshift-image-builder", BackendName.JOB: "Job", BackendName.LOCAL: "local"}
BUILDERS: Final = (Build, Job)
"""Kinds whose objects build."""
Said = tuple[str, str, str]


class Cluster:
    """What an administrator does with pools. ConfigMaps, Secrets and builders are in `namespace`."""

    def __init__(self, client: Client, registry: Registry, *, base: str = "", namespace: str = NAMESPACE) -> None:
        self.client = client
        self.registry = registry
        self.base = base or f"{registry.host}/os/base@sha256:{'0' * 64}"
        self.namespace = namespace
        self.backend = BackendName.OPENSHIFT
        # Equal pools have equal tags, and the registry is that of all tests of the worker.
        self.repository = f"pools/os-{next(_numbers)}"

    @property
    def target(self) -> str:
        return f"{self.registry.host}/{self.repository}"

    async def configure(self, backend: BackendName, **more: str) -> None:
        """The builder's ConfigMap, the Secrets that it names, and the ServiceAccount of Jobs."""
        self.backend = backend
        await self.secret("pull", self.registry.auths("puller"))
        await self.secret("push", self.registry.auths("pusher"))
        await self.put(ServiceAccount, SERVICE_ACCOUNT, {})
        data = {
            "baseImagePullSecretName": "pull",
            "finalImagePushSecretName": "push",
            "finalImagePullspec": f"{self.target}:latest",
            "imageBuilderType": TYPES[backend],
        }
        await self.put(ConfigMap, BUILDER_CONFIG, {"data": {**data, **more}})

    async def secret(self, name: str, document: Any, *, type: str = "dockerconfigjson") -> None:  # noqa: A002
        """A new Secret of this name: its type cannot be changed."""
        with suppress(NotFound):
            await self.client.delete(Secret, name, namespace=self.namespace)
        packed = base64.b64encode(json.dumps(document).encode()).decode()
        await self.put(Secret, name, {"type": f"kubernetes.io/{type}", "data": {f".{type}": packed}})

    async def containerfile(self, pool: str, text: str) -> None:
        """The user's part."""
        await self.put(ConfigMap, CONTAINERFILES, {"data": {pool: text}})

    async def add_pool(self, name: str, *, config: str = "", base: str = "", opted_in: bool = True) -> None:
        """A pool with a rendered MachineConfig whose file /etc/motd has the name of that."""
        config = config or f"rendered-{name}-1"
        await self.render(config, base=base)
        sources = [{"apiVersion": MachineConfig.RESOURCE.api_version, "kind": "MachineConfig", "name": f"00-{name}"}]
        body = {"spec": {"configuration": {"name": config, "source": sources}}}
        await self.put(
            MachineConfigPool, name, {"metadata": {"annotations": {LAYERING: ""} if opted_in else {}}, **body}
        )

    async def render(self, config: str, *, base: str = "") -> None:
        motd = {"path": "/etc/motd", "contents": {"source": f"data:,{config}"}, "mode": 0o644}
        ignition = {"ignition": {"version": "3.4.0"}, "storage": {"files": [motd]}}
        await self.put(MachineConfig, config, {"spec": {"osImageURL": base or self.base, "config": ignition}})

    async def change(self, pool: str, config: str) -> None:
        """The Machine Config Operator renders another configuration for the pool."""
        await self.render(config)
        await self.patch(pool, {"spec": {"configuration": {"name": config}}})

    async def opt(self, pool: str, *, into: bool) -> None:
        await self.patch(pool, {"metadata": {"annotations": {LAYERING: "" if into else None}}})

    async def patch(self, pool: str, body: Mapping[str, Any], *, part: str = "") -> None:
        await self.client.patch(MachineConfigPool, pool, body, type=PatchType.MERGE, subresource=part)

    async def condition(self, pool: str, kind: str, status: str, message: str = "") -> None:
        """Write a condition as another controller does: the whole list, by what it just read."""
        found = await self.pool(pool)
        others = [each for each in (found.get("status") or {}).get("conditions") or [] if each["type"] != kind]
        mine = {"type": kind, "status": status, "reason": "", "message": message, "lastTransitionTime": None}
        body = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}
        await self.patch(pool, {**body, "status": {"conditions": [*others, mine]}}, part="status")

    async def put(self, kind: type[KubernetesObject], name: str, body: Mapping[str, Any]) -> None:
        """Create it, or merge this into it."""
        place = self.namespace if kind.RESOURCE.namespaced else None
        try:
            await self.client.patch(kind, name, body, type=PatchType.MERGE, namespace=place)
        except NotFound:
            await self.client.create(
                kind, {**body, "metadata": {**body.get("metadata", {}), "name": name}}, namespace=place
            )

    async def pool(self, name: str) -> Any:
        return (await self.client.get(MachineConfigPool, name)).tree()

    async def annotations(self, pool: str) -> dict[str, str]:
        return (await self.pool(pool))["metadata"].get("annotations") or {}

    async def conditions(self, pool: str) -> dict[str, dict[str, Any]]:
        found = (await self.pool(pool)).get("status") or {}
        return {each["type"]: each for each in found.get("conditions") or []}

    async def says(self, pool: str) -> Said:
        """The condition of ours that is True (empty: none), its reason, its message; all empty without conditions."""
        found = await self.conditions(pool)
        ours = [found[each] for each in VECTOR if each in found]
        assert len(ours) in (0, len(VECTOR)), "the vector is whole or not there"
        true = [each for each in ours if each["status"] == "True"]
        assert len(true) <= 1
        one = (true or ours or [{}])[0]
        return true[0]["type"] if true else "", one.get("reason", ""), one.get("message", "")

    async def until(self, pool: str, reason: str, *, text: str = "", within: float = PATIENCE) -> str:
        """Wait for a reason of the pool's conditions, with `text` in the message; returns the message."""
        holds: Callable[[Said], bool] = lambda said: said[1] == reason and text in said[2]  # noqa: E731
        return (await eventually(lambda: self.says(pool), holds, within=within, what=f"{reason} of {pool}"))[2]

    async def until_built(self, pool: str, config: str = "") -> str:
        """Wait until the pool has the image of this configuration; returns its pullspec."""
        config = config or f"rendered-{pool}-1"
        await self.until(pool, "BuildSucceeded", text=f" is built from {config}")
        return (await self.annotations(pool))[IMAGE]

    async def builders(self, pool: str = "") -> list[Object[Any]]:
        """The builder objects in the cluster."""
        return [each for each in await self._labelled(*BUILDERS) if each.name.startswith(f"build-{pool}")]

    async def left(self) -> list[str]:
        """Everything that exists of builds in the cluster."""
        return sorted(
            f"{each.kind.RESOURCE.kind} {each.name}" for each in await self._labelled(*BUILDERS, ConfigMap, Pod)
        )

    async def until_left(self, *names: str) -> None:
        await eventually(self.left, lambda left: left == sorted(names), what=f"left of builds: {names}")

    async def _labelled(self, *kinds: type[KubernetesObject]) -> Sequence[Object[Any]]:
        found: list[Object[Any]] = []
        for kind in kinds:
            try:
                found += (await self.client.list(kind, namespace=self.namespace, label_selector=BUILD_LABEL)).items
            except NotServed:
                continue
        return found
