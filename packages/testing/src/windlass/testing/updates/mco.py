"""Plays the Machine Config Operator: pools, their rendered MachineConfigs, and how Nodes get them one by one.

Each method is a step of a script. `node` gives a single Node, for a test that wants to stop in the middle of one.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from windlass.api.core import Node
from windlass.api.machineconfiguration import GROUP, MachineConfig, MachineConfigPool
from windlass.testing.updates.layout import Layout, Pool, image
from windlass.testing.updates.nodes import PlayedNode, annotations
from windlass.testing.updates.objects import Objects, Tree, condition, is_true

_QUICKEST = 0.1
"""Seconds between two looks at what somebody else has to change, even if the pace is quicker."""


class MachineConfigOperator:
    """The operator of the pools of `layout`; `PlayedCluster` says what `pace` and `patience` are."""

    def __init__(self, objects: Objects, layout: Layout, *, pace: float, patience: float) -> None:
        self._objects = objects
        self._layout = layout
        self._pace = pace
        self._patience = patience
        self._reporting: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def install(self) -> None:
        """Create pools, MachineConfigs, Nodes and MachineConfigNodes of a cluster that is at rest."""
        for pool in self._layout.pools:
            config = await self._render(pool, self._layout.version)
            await self._objects.create(MachineConfigPool, pool_tree(pool, config))
            for name in pool.node_names:
                await self.node(name).install(config)
            await self._report(pool)

    def node(self, name: str) -> PlayedNode:
        """The Node of this name."""
        [pool] = [pool for pool in self._layout.pools if name in pool.node_names]
        return PlayedNode(
            self._objects,
            pool,
            name,
            patience=self._patience,
            again=max(self._pace, _QUICKEST),
            changed=lambda: self._report(pool),
        )

    async def render(self, version: str) -> None:
        """Make the MachineConfigs of a release, which the pools then want; paused ones, too."""
        for pool in self._layout.pools:
            config = await self._render(pool, version)
            await self._objects.patch(MachineConfigPool, pool.name, {"spec": {"configuration": {"name": config}}})
            await self._report(pool)

    async def pause(self, pool: str, *, paused: bool = True) -> None:
        """What an administrator does: of a paused pool no further Node is begun. `paused` False ends it."""
        await self._objects.patch(MachineConfigPool, pool, {"spec": {"paused": paused}})
        await self._report(self._layout.pool(pool))

    async def degrade(self, pool: str, kind: str, *, message: str) -> None:
        """The pool reports a condition, such as RenderDegraded, and that it is degraded."""
        conditions = condition(kind, True, "", message), condition("Degraded", True)
        await self._objects.report(MachineConfigPool, pool, *conditions)

    async def recover(self, pool: str, kind: str) -> None:
        """The condition is over, and the pool is not degraded."""
        await self._objects.report(MachineConfigPool, pool, condition(kind, False), condition("Degraded", False))

    async def roll(self, name: str) -> None:
        """Bring the Nodes of a pool to its configuration, `max_unavailable` at a time; waits while it is paused."""
        pool = self._layout.pool(name)
        room = asyncio.Semaphore(pool.max_unavailable)

        async def one(node: PlayedNode) -> None:
            async with room:
                while (spec := await self._spec(pool)).get("paused"):
                    await self._objects.clock.sleep(max(self._pace, _QUICKEST))
                config = spec["configuration"]["name"]
                if await node.annotation("currentConfig") == config:
                    return
                await node.prepare(config)
                for step in (node.drain, node.reboot, node.boot, node.settle):
                    await self._objects.clock.sleep(self._pace)
                    await step()

        async with asyncio.TaskGroup() as nodes:
            for node in pool.node_names:
                nodes.create_task(one(self.node(node)))

    async def _report(self, pool: Pool) -> None:
        """Write the pool's status from its Nodes."""
        async with self._reporting[pool.name]:
            spec = await self._spec(pool)
            nodes = [await self._objects.get(Node, name) for name in pool.node_names]
            counts, conditions = pool_status(nodes, spec["configuration"]["name"], paused=spec.get("paused", False))

            def update(status: Tree) -> None:
                status.update(counts)
                if counts["readyMachineCount"] == len(nodes):
                    status["configuration"] = spec["configuration"]

            await self._objects.report(MachineConfigPool, pool.name, *conditions, change=update)

    async def _render(self, pool: Pool, version: str) -> str:
        name = pool.rendered(version)
        metadata = {"name": name, "annotations": {f"{GROUP}/release-image-version": version}}
        spec = {"config": {"ignition": {"version": "3.4.0"}}, "osImageURL": image("rhel-coreos", version)}
        await self._objects.ensure(MachineConfig, {"metadata": metadata, "spec": spec})
        return name

    async def _spec(self, pool: Pool) -> Tree:
        spec: Tree = (await self._objects.get(MachineConfigPool, pool.name))["spec"]
        return spec


def pool_tree(pool: Pool, config: str = "") -> Tree:
    """The MachineConfigPool, with the MachineConfig `config`; "" if that is for others to say."""
    role = f"{GROUP}/role"
    configs: Tree = {"matchLabels": {role: pool.name}}
    if pool.is_custom:
        configs = {"matchExpressions": [{"key": role, "operator": "In", "values": list(pool.roles)}]}
    built_in = {} if pool.is_custom else {f"{GROUP}/mco-built-in": ""}
    return {
        "metadata": {"name": pool.name, "labels": {f"pools.operator.{GROUP}/{pool.name}": "", **built_in}},
        "spec": {
            **({"configuration": {"name": config}} if config else {}),
            "machineConfigSelector": configs,
            "maxUnavailable": pool.max_unavailable,
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{pool.name}": ""}},
            "paused": pool.paused,
        },
    }


def pool_status(nodes: Sequence[Tree], wanted: str, *, paused: bool) -> tuple[dict[str, int], list[Tree]]:
    """The counts and conditions of a pool. Source: machine-config-operator, pkg/controller/node/status.go."""
    updated = [node for node in nodes if _has(node, wanted)]
    ready = [node for node in updated if _is_ready(node)]
    degraded = [node for node in nodes if _is_failing(node)]
    counts = {
        "machineCount": len(nodes),
        "updatedMachineCount": len(updated),
        "readyMachineCount": len(ready),
        "unavailableMachineCount": len([node for node in nodes if _is_away(node)]),
        "degradedMachineCount": len(degraded),
    }
    config, finished = f"MachineConfig {wanted}", len(ready) == len(nodes)
    if finished:
        updating = condition("Updating", False)
    elif paused:
        updating = condition("Updating", False, "", f"Pool is paused; will not update to {config}")
    else:
        updating = condition("Updating", True, "", f"All nodes are updating to {config}")
    complaints = {node["metadata"]["name"]: annotations(node).get("reason") for node in degraded}
    reports = ", ".join(f'Node {name} is reporting: "{reason}"' for name, reason in complaints.items() if reason)
    failing = f"{len(degraded)} nodes are reporting degraded status on sync" if degraded else ""
    return counts, [
        condition("Updated", finished, "", f"All nodes are updated with {config}" if finished else ""),
        updating,
        condition("RenderDegraded", False),
        condition("NodeDegraded", bool(degraded), failing, reports),
        condition("Degraded", bool(degraded), "", reports),
    ]


def _has(node: Tree, config: str) -> bool:
    return _is_done(node) and annotations(node)["currentConfig"] == config


def _is_away(node: Tree) -> bool:
    """Whether the Node is unavailable: down, cordoned, or worked on. A Node whose update failed is not unavailable."""
    found = annotations(node)
    failed = _is_failing(node) and found["currentConfig"] != found["desiredConfig"]
    return not (_is_ready(node) and (_is_done(node) or failed))


def _is_ready(node: Tree) -> bool:
    return is_true(node, "Ready") and not node["spec"].get("unschedulable")


def _is_done(node: Tree) -> bool:
    found = annotations(node)
    return found["currentConfig"] == found["desiredConfig"] and found["state"] == "Done"


def _is_failing(node: Tree) -> bool:
    return annotations(node)["state"] in ("Degraded", "Unreconcilable")
