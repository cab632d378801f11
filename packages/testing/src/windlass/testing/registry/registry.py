"""Runs a registry on loopback: its program, what stands in front of it, and the thread that serves both.

Methods block for milliseconds and may be called from any thread. So the same registry serves tests with and without an
event loop, demos, and builders that are child processes.
"""

import asyncio
import base64
import json
import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from aiohttp import web

from windlass.kube.process.serving import stop
from windlass.testing.authority import new_authority
from windlass.testing.binaries import DISTRIBUTION, obtain
from windlass.testing.plane.errors import StartFailed
from windlass.testing.plane.ports import HeldPorts
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.waiting import wait_for
from windlass.testing.registry.front import Asked, Auth, Fault, Front, User
from windlass.testing.registry.stored import Images

T = TypeVar("T")

USERS: Final[Mapping[str, User]] = {"pusher": User("s3cret"), "puller": User("pa55word", push=())}
"""Users of a registry that was told of no others."""
_NAME: Final = "registry"
_SHORT: Final = "/tmp"
_HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 30.0


class Registry:
    """A registry, from the start of a `with` block to its end; nothing is left afterwards.

    host      127.0.0.1 and the port
    images    what was pushed
    behind    the Unix socket of the program, which knows no users
    names     more names in its certificate, for clients that reach it through a proxy
    ca_file   the certificate of its authority, in the folder `certificates`; only with `tls`, which needs `trustme`
    """

    def __init__(
        self,
        *,
        auth: Auth | str = Auth.BASIC,
        users: Mapping[str, User] = USERS,
        tls: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        self._auth = Auth(auth)
        self._users = dict(users)
        self._with_tls = tls
        self._names = names

    def __enter__(self) -> Self:
        self._held = HeldPorts(1)
        (self._port,) = self._held.ports
        self.host = f"{_HOST}:{self._port}"
        self.url = f"{'https' if self._with_tls else 'http'}://{self.host}"
        self._folder = Path(tempfile.mkdtemp(prefix="windlass-registry-"))
        self.images = Images(self._folder / "data")
        self.certificates = self._folder / "certificates"
        self.ca_file = self.certificates / "ca.crt"
        self._log = self._folder / "registry.log"
        # The path of a Unix socket may have about 100 characters, and folders of tests are deep.
        beside = Path(tempfile.mkdtemp(prefix="windlass-registry-", dir=_SHORT if os.access(_SHORT, os.W_OK) else None))
        self.behind = beside / "socket"
        self._processes = Processes(folders=[self._folder, beside], log=self._log)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"registry {self.host}", daemon=True)
        self._thread.start()
        try:
            self._start_program()
            self._front = Front(self.behind, auth=self._auth, users=self._users, url=self.url)
            self._run(self._start_front())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear_faults()
        self._run(stop(self._runner))
        self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._processes.close()
        self._held.close()

    def add_user(self, name: str, user: User) -> None:
        """Add a user, or change one: the next request counts."""
        self._users[name] = user

    def auths(self, user: str) -> dict[str, Any]:
        """The document of a Secret or authfile with the password of this user."""
        packed = base64.b64encode(f"{user}:{self._users[user].password}".encode()).decode()
        return {"auths": {self.host: {"auth": packed}}}

    def fault(self, **rule: Any) -> Fault:
        """Put a fault into force, see `Fault`."""
        fault = Fault(**rule)
        self._front.faults.append(fault)
        return fault

    def clear_faults(self) -> None:
        """Remove all faults; what hangs goes on."""
        cleared, self._front.faults[:] = [*self._front.faults], []
        for fault in cleared:
            self._loop.call_soon_threadsafe(fault.over.set)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Inside, nobody listens, and nobody else gets the port; open connections are reset."""
        self._run(self._stop_listening())
        try:
            yield
        finally:
            self._run(self._listen())

    def requests(self, *, method: str = "", user: str | None = None, path: str = "") -> list[Asked]:
        """The requests so far, oldest first, of those that have all that is asked for; `path` is a part of theirs."""
        return [
            asked
            for asked in [*self._front.asked]
            if method in ("", asked.method) and user in (None, asked.user) and path in asked.path
        ]

    def forget_requests(self) -> None:
        """Begin the log anew."""
        self._front.asked.clear()

    def _start_program(self) -> None:
        configuration = {
            "version": "0.1",
            "log": {"level": "warn", "accesslog": {"disabled": True}},
            "storage": {
                "filesystem": {"rootdirectory": str(self._folder / "data")},
                "delete": {"enabled": True},
                "maintenance": {"uploadpurging": {"enabled": False}},
            },
            "http": {"net": "unix", "addr": str(self.behind), "relativeurls": True},
        }
        file = self._folder / "config.yml"
        file.write_text(json.dumps(configuration), encoding="utf-8")
        self._processes.start(_NAME, [obtain([DISTRIBUTION]).program(_NAME), "serve", file], log=self._log)
        if not wait_for(self._accepts, seconds=_START_SECONDS):
            raise StartFailed(f"the registry did not get ready; its log:\n{self._log_end()}")

    def _accepts(self) -> bool | None:
        if self._processes.exit_code(_NAME) is not None:
            raise StartFailed(f"the registry ended; its log:\n{self._log_end()}")
        with socket.socket(socket.AF_UNIX) as probe:
            return True if probe.connect_ex(str(self.behind)) == 0 else None

    def _log_end(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-2000:]

    async def _start_front(self) -> None:
        self._tls = self._certify() if self._with_tls else None
        app = web.Application()
        app.cleanup_ctx.append(self._front.context)
        app.router.add_route("*", "/{path:.*}", self._front.handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await self._listen()

    async def _listen(self) -> None:
        await web.TCPSite(self._runner, _HOST, self._port, ssl_context=self._tls, reuse_port=True).start()

    async def _stop_listening(self) -> None:
        assert self._runner.server is not None
        for site in [*self._runner.sites]:
            await site.stop()
        for connection in [*self._runner.server.connections]:
            if connection.transport is not None:
                connection.transport.abort()

    def _certify(self) -> ssl.SSLContext:
        authority = new_authority()
        self.certificates.mkdir()
        authority.cert_pem.write_to_path(self.ca_file)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(_HOST, "localhost", *self._names).configure_cert(context)
        return context

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_START_SECONDS)
