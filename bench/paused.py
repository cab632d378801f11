"""Reports `Paused` for the controllers of both APIs: a migration needs nothing else of them.

    python -m bench.paused --kubeconfig ... --machine-api-namespace ... --cluster-api-namespace ...

| object | condition `Paused` is True while |
|---|---|
| Machine of the Machine API | its status names another authority |
| Machine of Cluster API, AWSMachine | it has the annotation `cluster.x-k8s.io/paused` |

It shares the cores with the measured program, so it is as cheap as possible: no cache, no queue, one patch to an object
whose condition is wrong. The patch has the resourceVersion of the watch event; after a conflict a newer event follows.
"""

import argparse
import asyncio
from collections.abc import Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any

from windlass.api import capa, capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.client.watch import EventType
from windlass.kube.conditions import put
from windlass.kube.errors import Conflict, NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import PAUSED_ANNOTATION
from windlass.testing.machines.simulators.authority import paused_condition

_HANDS = 16

Tree = Mapping[str, Any]


async def follow(client: Client, kind: type[KubernetesObject], namespace: str) -> None:
    """Keep the condition of every object of `kind`."""
    newest: dict[str, Object[Any]] = {}
    names: asyncio.Queue[str] = asyncio.Queue()

    async def look() -> None:
        # An API server ends a watch that does not keep up with it. The next one begins with all that there is.
        while True:
            changes = client.watch(kind, namespace=namespace, send_initial_events=True, timeout_seconds=3600)
            async with aclosing(changes) as events:
                async for event in events:
                    if event.type in (EventType.ADDED, EventType.MODIFIED):
                        if event.object.name not in newest:
                            names.put_nowait(event.object.name)
                        newest[event.object.name] = event.object

    async def hand() -> None:
        while True:
            await _say(client, newest.pop(await names.get()))

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        for _ in range(_HANDS):
            group.create_task(hand())


async def _say(client: Client, found: Object[Any]) -> None:
    whole = found.tree()
    before = (whole.get("status") or {}).get("conditions") or []
    wanted = _condition(found.kind, whole)
    after = put(before, wanted, now=datetime.now(UTC)) if wanted else before
    if after == before:
        return
    body = {"metadata": {"resourceVersion": found.resource_version}, "status": {"conditions": after}}
    where = found.namespace
    with suppress(Conflict, NotFound):
        await client.patch(found.kind, found.name, body, type=PatchType.MERGE, subresource="status", namespace=where)


def _condition(kind: type[KubernetesObject], whole: Tree) -> dict[str, Any] | None:
    if kind is mapi.Machine:
        authority = (whole.get("status") or {}).get("authoritativeAPI")
        return paused_condition(authority) if authority else None
    paused = PAUSED_ANNOTATION in (whole["metadata"].get("annotations") or {})
    said: dict[str, Any] = {"type": "Paused", "status": str(paused), "reason": "Paused" if paused else "NotPaused"}
    if kind is capi.Machine:
        said |= {"message": "", "observedGeneration": whole["metadata"]["generation"]}
    elif not paused:
        said |= {"severity": "Info"}
    return said


async def _follow_all(settings: argparse.Namespace) -> None:
    async with (
        Client(config.load(kubeconfig=settings.kubeconfig), field_manager="paused") as client,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(follow(client, mapi.Machine, settings.machine_api_namespace))
        for kind in (capi.Machine, capa.AWSMachine):
            group.create_task(follow(client, kind, settings.cluster_api_namespace))


def main() -> None:
    parser = argparse.ArgumentParser(description="Say of paused Machines that they are.")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--machine-api-namespace", required=True)
    parser.add_argument("--cluster-api-namespace", required=True)
    asyncio.run(_follow_all(parser.parse_args()))


if __name__ == "__main__":
    main()
