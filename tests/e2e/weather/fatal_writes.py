"""A front before the API server behind which a controller dies for each machine or MachineSet at a write of its own.

    async with FatalFront(plane.connection) as front:
        front.condemn("w-1", 1)
        front.condemn("w-2", 3)
        ...                                     # a process works behind front.url
        await front.struck("w-1")               # its first write is stored
        await front.struck("w-2")               # its third
        ...                                     # SIGKILL
        front.pardon()                          # for its successor

What is written about one of them depends on nothing that is written about another. So one process can die at many
writes at once: after the write that is fatal for a subject nothing gets through about it, neither answer nor request,
and when that is so for every subject the process is killed.
"""

import asyncio
import json
from collections import defaultdict

from aiohttp import web

from windlass.testing.plane.connection import Connection

from .front import Front

_WRITES = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
_SETS_AND_MACHINES = ("machines", "machinesets")
_INFRA = "infrastructure.cluster.x-k8s.io"


class FatalFront(Front):
    """See the module. `writes` are those that were stored, by subject: `patch machines/status of machine.openshift.io`.

    Events are about a subject and none of its writes: they are best effort.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.writes: dict[str, list[str]] = defaultdict(list)
        self._fatal: dict[str, int] = {}
        self._struck: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._over = asyncio.Event()

    def condemn(self, subject: str, number: int | None) -> None:
        """The write of this number about `subject` is fatal, counted from 1 and from here on; None: none is."""
        self.writes.pop(subject, None)
        if number is not None:
            self._fatal[subject] = number

    async def struck(self, subject: str) -> None:
        """Return when the fatal write about `subject` is stored."""
        await self._struck[subject].wait()

    def is_struck(self, subject: str) -> bool:
        return self._struck[subject].is_set()

    def pardon(self) -> None:
        """Let everything through from here on. What was held back is lost, as its process is."""
        self._over.set()
        self._over = asyncio.Event()
        self._fatal.clear()
        self._struck.clear()
        self.writes.clear()

    def calm(self) -> None:
        self.pardon()
        super().calm()

    async def asked(self, request: web.Request, body: bytes) -> None:
        subject = _subject(request, body)
        if subject and self.is_struck(subject):
            await self._hold_back()

    async def answered(self, request: web.Request, body: bytes, *, status: int) -> None:
        subject = _subject(request, body)
        if not subject:
            return
        if status < 300:
            self.writes[subject].append(_line(request))
        if len(self.writes[subject]) == self._fatal.get(subject):
            self._struck[subject].set()
        if self.is_struck(subject):
            await self._hold_back()

    async def _hold_back(self) -> None:
        await self._over.wait()
        raise web.HTTPServiceUnavailable


def _subject(request: web.Request, body: bytes) -> str:
    """The machine or MachineSet that a write is about; "" for what is no write, and for other things."""
    if request.method not in _WRITES:
        return ""
    group, resource, name = _aim(request)
    if resource in _SETS_AND_MACHINES or group == _INFRA:
        name = name or str(json.loads(body)["metadata"]["name"])
        # What the machines of a set are made from has its name and a hash.
        return name.rpartition("-")[0] if resource.endswith("templates") else name
    return ""


def _aim(request: web.Request) -> tuple[str, str, str]:
    """Group, resource and name in /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME; "" where there is none."""
    parts = [*request.path.split("/"), *[""] * 8]
    return (parts[2], parts[6], parts[7]) if parts[1] == "apis" else ("", "", "")


def _line(request: web.Request) -> str:
    group, resource, _ = _aim(request)
    part = "/status" if request.path.endswith("/status") else ""
    return f"{_WRITES[request.method]} {resource}{part} of {group}"
