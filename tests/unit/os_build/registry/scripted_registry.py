"""A server that answers as a test says, for answers that no real registry gives on demand."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.test_utils import unused_port
from multidict import CIMultiDict

from windlass.kube.clock import SystemClock
from windlass.kube.process.serving import stop
from windlass.os_build.pullspec import Target


@dataclass(frozen=True)
class Says:
    """An answer; `{url}` in headers is where the server is. `status` 0: it cuts the connection; -1: it hangs."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes = ""
    chunked: bool = False
    endless: bool = False


class Watch(SystemClock):
    """A clock that a test moves."""

    time = 0.0

    def monotonic(self) -> float:
        return self.time


class ScriptedRegistry:
    """Answers requests in turn with `script`, the last one again and again. `asked` has the requests."""

    def __init__(self, *script: Says) -> None:
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[str] = []
        self._script = list(script)
        self._port = unused_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.target = Target(f"127.0.0.1:{self._port}", "org/os")

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await stop(self._runner)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path_qs}")
        self.headers.append(request.headers)
        self.bodies.append(await request.text())
        says = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if says.status == -1:
            await asyncio.Event().wait()
        if says.status == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        body = says.body.encode() if isinstance(says.body, str) else says.body
        headers = CIMultiDict((name, value.replace("{url}", self.url)) for name, value in says.headers.items())
        response = web.StreamResponse(status=says.status, headers=headers)
        if says.chunked or says.endless:
            response.enable_chunked_encoding()
        else:
            response.content_length = len(body)
        await response.prepare(request)
        for start in range(0, len(body), 1 << 16):
            await response.write(body[start : start + (1 << 16)])
        while says.endless:
            await response.write(b"x" * (1 << 16))
        await response.write_eof()
        return response
