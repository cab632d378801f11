"""The trivial controller on `windlass.kube`: every Widget gets phase Ready and a condition.

python -m bench.widgets_windlass --kubeconfig FILE --namespace NAME
"""

import argparse
import asyncio
from datetime import datetime

from bench.widgets import Widget
from windlass.api.meta import tree
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.conditions import condition, put
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import writes
from windlass.kube.control.plan import Merge, Outcome, Plan, target
from windlass.kube.control.seen import Present, Reader, Seen
from windlass.kube.process import logs
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process


def widget_controller(reader: Reader, *, namespace: str, workers: int) -> Controller[str, Seen[Widget]]:
    """Keys are names of Widgets."""

    async def observe(name: str, _: Outcome) -> Seen[Widget]:
        return await reader.see(Widget, name, namespace=namespace)

    return Controller(
        name="widgets",
        watches=(Watch(Widget, lambda widget: [widget.name], namespace=namespace),),
        permissions=(writes(Widget, "patch", subresource="status", namespace=namespace),),
        observe=observe,
        decide=decide,
        workers=workers,
    )


def decide(widget: Seen[Widget], *, now: datetime) -> Plan:
    """What the Go program beside this one does."""
    if not isinstance(widget, Present):
        return Plan.nothing("no such Widget")
    generation, status = widget.metadata.generation, widget.object.status
    if status.observed_generation == generation and status.phase == "Ready":
        return Plan.nothing()
    observed = widget.tree.get("status") or {}
    ready = condition("Ready", True, "Assembled", "all parts are in place", observed_generation=generation)
    desired = {
        "phase": "Ready",
        "observedGeneration": generation,
        "conditions": put(observed.get("conditions") or [], tree(ready), now=now),
    }
    merge = Merge(
        target=target(widget),
        part="status",
        observed={"status": observed},
        desired={"status": desired},
        why="all parts are in place",
    )
    return Plan.of(merge)


async def _run(kubeconfig: str, *, namespace: str, workers: int) -> None:
    cluster = config.load(kubeconfig=kubeconfig)
    async with Process() as process, Client(cluster) as client, Manager(client) as manager:
        process.add(manager)
        await manager.start(lambda reader: widget_controller(reader, namespace=namespace, workers=workers))
        await process.run()


def main() -> None:
    parser = argparse.ArgumentParser(description="Give every Widget a status.")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--workers", type=int, default=16)
    settings = parser.parse_args()
    logs.configure()
    asyncio.run(_run(settings.kubeconfig, namespace=settings.namespace, workers=settings.workers))


if __name__ == "__main__":
    main()
