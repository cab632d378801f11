"""Runs the control plane of a benchmark and fills it with objects.

Each contestant has its own user, so that the audit log separates their requests. All have full rights and are exempt
from the server's fairness, so that only the contestants differ. Every run has its own namespaces with new objects, so
objects of earlier runs are never listed or watched again.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from bench.requests import RequestLog
from windlass.kube import config
from windlass.kube.client import Client
from windlass.testing import ControlPlane

SEED = "seed"
EXEMPT = "system:serviceaccount:windlass-system:windlass-machine-sync"
"""Windlass as the user that its admission policies exempt."""
USERS = ("windlass", EXEMPT, "paused", "raw", "controller-runtime", "kopf-event", "kopf-create", SEED)
RECORDED = "recorded"
"""The prefix of namespaces whose requests are logged with their bodies."""

_HANDS = 24
_RECORDED_NAMESPACES = [RECORDED, f"{RECORDED}-mapi", f"{RECORDED}-capi"]
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Request",
            "users": ["windlass", "paused"],
            "verbs": ["create", "patch"],
            "namespaces": _RECORDED_NAMESPACES,
        },
        {
            "level": "Request",
            "users": [SEED],
            "verbs": ["patch"],
            "resources": [{"group": "machine.openshift.io", "resources": ["machines"]}],
            "namespaces": _RECORDED_NAMESPACES,
        },
        {"level": "Metadata"},
    ],
}

Item = TypeVar("Item")


class Arena:
    """A control plane with the users, used with `async with`. `seed` is a client that may do everything."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        policy = directory / "policy.json"
        policy.write_text(json.dumps(_AUDIT_POLICY), encoding="utf-8")
        self.directory = directory
        self.plane = ControlPlane(
            users={user: ["system:masters"] for user in USERS},
            apiserver_flags=[f"--audit-policy-file={policy}"],
            directory=directory / "plane",
        )
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        await self.plane.start()
        self.seed = Client(config.load(kubeconfig=str(self.kubeconfig(SEED))), field_manager=SEED, timeout=120.0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.seed.close()
        await self.plane.stop()

    def kubeconfig(self, user: str) -> Path:
        """The credentials of a contestant."""
        return self.plane.kubeconfig(user)

    def requests(self, user: str) -> RequestLog:
        """What `user` asks from now on."""
        return RequestLog(self.plane.logs / "audit.log", user=user)

    def log(self, name: str) -> Path:
        """A fresh file for the output of a contestant."""
        path = self.directory / f"{next(self._numbers):03d}-{name}.log"
        path.unlink(missing_ok=True)
        return path

    async def namespaces(self, *names: str) -> None:
        """Make them."""
        for name in names:
            await self.plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def with_hands(items: Iterable[Item], work: Callable[[Item], Awaitable[Any]]) -> None:
    """`work` on every item, some at a time."""
    waiting = iter(items)

    async def hand() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(_HANDS):
            group.create_task(hand())
