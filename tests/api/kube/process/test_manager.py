"""A manager on a real API server: a small controller from cold to rest, under the rights it declares."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.patience import PATIENCE
from tests.waiting import eventually, until
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.metrics import Metrics
from windlass.kube.control.permissions import rules, writes
from windlass.kube.control.plan import Create, Merge, Outcome, Plan, Target, target
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.kube.process.manager import Manager
from windlass.kube.verbs import PatchType
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Copied(Struct, frozen=True):
    original: Seen[ConfigMap]
    copy: Seen[ConfigMap]


def copying(reader: CacheReader, namespace: str, **settings: Any) -> Controller[str, Copied]:
    """Keeps a ConfigMap `copy-of-<name>` equal to each ConfigMap that is labelled `copy: yes`."""

    def key(found: Any) -> list[str]:
        if found.metadata.labels.get("copy") == "yes":
            return [found.name]
        return [found.name.removeprefix("copy-of-")] if found.name.startswith("copy-of-") else []

    async def observe(name: str, last: Outcome) -> Copied:
        return Copied(
            await reader.see(ConfigMap, name, namespace=namespace),
            await reader.see(ConfigMap, f"copy-of-{name}", namespace=namespace, confirm=True),
        )

    def decide(seen: Copied, *, now: datetime) -> Plan:
        if not isinstance(seen.original, Present):
            return Plan.nothing("the original is gone")
        desired = {"data": dict(seen.original.object.data)}
        match seen.copy:
            case Present():
                observed = {"data": dict(seen.copy.object.data)}
                return Plan.of(Merge(target=target(seen.copy), observed=observed, desired=desired))
            case Absent(confirmed=True):
                name = f"copy-of-{seen.original.metadata.name}"
                return Plan.of(Create(target=Target(ConfigMap, name, namespace), body=desired))
        return Plan.nothing("the copy cannot be read")

    usual: dict[str, Any] = {
        "name": "copying",
        "watches": (Watch(ConfigMap, key, namespace=namespace),),
        "permissions": (writes(ConfigMap, "create", "patch", namespace=namespace),),
        "observe": observe,
        "decide": decide,
        "workers": 8,
    }
    return Controller(**{**usual, **settings})


@pytest.fixture
async def client(windlass_kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_kubeconfig)) as client:
        yield client


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    task = asyncio.create_task(manager.run())
    try:
        yield
    finally:
        manager.shut_down()
        await asyncio.wait_for(task, PATIENCE)


async def put(client: Client, namespace: str, name: str, value: str) -> None:
    body = {"metadata": {"name": name, "labels": {"copy": "yes"}}, "data": {"value": value}}
    whole = {"apiVersion": "v1", "kind": "ConfigMap", **body}
    await client.patch(
        ConfigMap, name, whole, type=PatchType.APPLY, namespace=namespace, field_manager="test", force=True
    )


async def values(client: Client, namespace: str) -> dict[str, str]:
    listed = await client.list(ConfigMap, namespace=namespace)
    return {each.name: each.decode().data.get("value", "") for each in listed.items}


async def test_from_cold_to_rest_and_then_not_a_single_write(
    client: Client, windlass_kubeconfig: Path, windlass_namespace: str
) -> None:
    names = [f"original-{number}" for number in range(40)]
    for name in names:
        await put(client, windlass_namespace, name, "first")
    metrics = Metrics()
    requests: list[tuple[str, str]] = []

    def observer(method: str, kind: str, code: str, seconds: float) -> None:
        requests.append((method, kind))
        metrics.request(method, kind, code, seconds)

    async with (
        Client(config.load(kubeconfig=windlass_kubeconfig), observer=observer) as own,
        Manager(own, metrics=metrics) as manager,
    ):
        await manager.start(lambda reader: copying(reader, windlass_namespace, resync=0.5))
        async with running(manager):
            await eventually(
                lambda: values(client, windlass_namespace),
                lambda found: all(found.get(f"copy-of-{name}") == "first" for name in names),
            )
            assert not any(manager.report_ready().values())
            at_rest = asyncio.Event()
            await until(lambda: _idle(metrics, at_rest))
            assert sum(method == "POST" for method, _ in requests) == len(names)
            before, began = len(requests), time.monotonic()
            resyncs = reconciles(metrics) + 3 * len(names)
            await until(lambda: reconciles(metrics) >= resyncs)
            assert requests[before:] == [], f"requests in sync, after {time.monotonic() - began:.1f} s"
            for name in names[:5]:
                await put(client, windlass_namespace, name, "second")
            await eventually(
                lambda: values(client, windlass_namespace),
                lambda found: all(found[f"copy-of-{name}"] == "second" for name in names[:5]),
            )
    assert metrics.registry.get_sample_value("windlass_reconcile_writes_total", {"controller": "copying"}) == 45


def reconciles(metrics: Metrics) -> float:
    labels = {"controller": "copying", "result": "success"}
    return metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0


def _idle(metrics: Metrics, once: asyncio.Event) -> bool:
    """Nothing is in work or in line, twice in a row."""
    labels = {"name": "copying", "controller": "copying"}
    depths = [
        metrics.registry.get_sample_value("workqueue_depth", {**labels, "priority": each}) for each in ("low", "normal")
    ]
    idle = not any(depths) and not metrics.registry.get_sample_value("workqueue_unfinished_work_seconds", labels)
    if idle and once.is_set():
        return True
    once.set() if idle else once.clear()
    return False


async def test_the_declared_rights_are_enough(
    client: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    where = {"name": "copying", "namespace": windlass_namespace}
    version = "rbac.authorization.k8s.io/v1"
    declared = rules(copying(CacheReader(client), windlass_namespace).declared)[windlass_namespace]
    await windlass_plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where},
        {"apiVersion": version, "kind": "Role", "metadata": where, "rules": declared},
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": where,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "copying"},
            "subjects": [{"kind": "ServiceAccount", **where}],
        },
    )
    path = await windlass_plane.service_account_kubeconfig(windlass_namespace, "copying")
    await put(client, windlass_namespace, "original", "v")
    async with (
        Client(config.load(kubeconfig=path)) as own,
        Manager(own) as manager,
    ):
        await manager.start(lambda reader: copying(reader, windlass_namespace))
        async with running(manager):
            await eventually(
                lambda: values(client, windlass_namespace), lambda found: found.get("copy-of-original") == "v"
            )


async def test_a_controller_stopped_at_run_time_writes_no_more_and_starts_again(
    client: Client, windlass_namespace: str
) -> None:
    async with Manager(client) as manager, running(manager):
        await manager.start(lambda reader: copying(reader, windlass_namespace))
        await put(client, windlass_namespace, "a", "v")
        await eventually(lambda: values(client, windlass_namespace), lambda found: "copy-of-a" in found)
        await manager.stop("copying")
        await put(client, windlass_namespace, "b", "v")
        await manager.start(lambda reader: copying(reader, windlass_namespace))
        await eventually(lambda: values(client, windlass_namespace), lambda found: "copy-of-b" in found)
