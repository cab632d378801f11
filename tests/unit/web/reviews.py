"""An API server that answers reviews alone: who holds which token, and what they may."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from windlass.kube.config import ClusterConfig
from windlass.kube.process.serving import stop


class Reviews:
    """`users`: by token. `may`: pairs of a user and a resource. While `away`, nothing is answered but 503."""

    def __init__(self) -> None:
        self.users = {"t-ann": "ann", "t-bob": "bob", "t-eve": "eve"}
        self.may = {("ann", "things"), ("ann", "others"), ("bob", "others")}
        self.away = False
        self.asked = 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[ClusterConfig]:
        app = web.Application()
        app.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", self._token)
        app.router.add_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", self._access)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield ClusterConfig(f"http://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await stop(runner)

    async def _token(self, request: web.Request) -> web.Response:
        if self.away:
            return web.Response(status=503)
        self.asked += 1
        user = self.users.get((await request.json())["spec"]["token"], "")
        return web.json_response({"status": {"authenticated": bool(user), "user": {"username": user}}})

    async def _access(self, request: web.Request) -> web.Response:
        if self.away:
            return web.Response(status=503)
        spec = (await request.json())["spec"]
        allowed = (spec["user"], spec["resourceAttributes"]["resource"]) in self.may
        return web.json_response({"status": {"allowed": allowed}})
