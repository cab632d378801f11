"""A cloud over HTTP that a test scripts: Keystone, and services that answer what the test says."""

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct, field

from windlass.openstack.cloud.credentials import Credentials


class Seen(Struct):
    """A request that came in; `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


class Said(Struct):
    """An answer. `drop`: the connection is closed in its place."""

    status: int = 200
    body: Any = {}
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False


class HttpCloud:
    """`answer` gives the answers of services. `tokens` are the valid ones, of `life` seconds; `keystone` is what
    Keystone answers instead of a token, after `keystone_delay`. `regions` are those of the catalog, and its URLs begin
    with `base` if there is one."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.tokens: set[str] = set()
        self.issued = 0
        self.life = 3600.0
        self.keystone: Said | None = None
        self.keystone_delay = 0.0
        self.regions = ["one"]
        self.types = ["compute", "network", "image", "volumev3"]
        self.project: str | None = "p1"
        self.answer: Callable[[Seen], Said] = lambda _: Said()
        self.url = ""
        self.base = ""
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[Seen]:
        """Requests to services."""
        return [each for each in self.seen if not each.path.startswith("/identity")]

    def revoke(self) -> None:
        """All tokens are invalid from now on."""
        with self._lock:
            self.tokens.clear()

    def credentials(self, *, region: str = "", cacert: str = "", **entry: Any) -> Credentials:
        auth = {
            "auth_url": f"{self.url}/identity/v3",
            "username": "u",
            "password": "p",
            "project_name": "p",
            "user_domain_id": "default",
            "project_domain_id": "default",
        }
        return Credentials({"auth": auth, **entry}, "prod", region, cacert, "Secret prod/cloud")

    def reply(self, request: Seen) -> Said:
        with self._lock:
            self.seen.append(request)
        if request.path.endswith("/auth/tokens"):
            return self._login()
        if request.path.startswith("/identity"):
            version = {"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": f"{self.url}/identity/v3"}]}
            return Said(200, {"version": version})
        if request.headers.get("x-auth-token") not in self.tokens:
            return Said(401, {"error": {"message": "The request you have made requires authentication."}})
        return self.answer(request)

    def _login(self) -> Said:
        time.sleep(self.keystone_delay)
        if self.keystone is not None:
            return self.keystone
        with self._lock:
            self.issued += 1
            token = f"token-{self.issued}"
            self.tokens.add(token)
        now = datetime.now(UTC)
        catalog = [
            {
                "type": kind,
                "name": kind,
                "endpoints": [
                    {
                        "interface": interface,
                        "region": region,
                        "region_id": region,
                        "url": self.endpoint(kind, region, interface),
                    }
                    for region in self.regions
                    for interface in ("public", "internal")
                ],
            }
            for kind in self.types
        ]
        body: dict[str, Any] = {
            "user": {"id": "u1", "name": "u", "domain": {"id": "default", "name": "Default"}},
            "methods": ["password"],
            "issued_at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "expires_at": (now + timedelta(seconds=self.life)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        if self.project:
            project = {"id": self.project, "name": "p", "domain": {"id": "default", "name": "Default"}}
            body |= {"project": project, "catalog": catalog, "roles": []}
        return Said(201, {"token": body}, {"X-Subject-Token": token})

    def endpoint(self, kind: str, region: str, interface: str) -> str:
        version = {"compute": "/v2.1", "volumev3": f"/v3/{self.project}"}.get(kind, "")
        place = region if interface == "public" else f"{region}-{interface}"
        return f"{self.base or self.url}/{place}/{kind}{version}"


@contextmanager
def served(cloud: HttpCloud, *, tls: ssl.SSLContext | None = None) -> Iterator[HttpCloud]:
    """Serve it on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = cloud.reply(Seen(self.command, self.path, headers, body))
            if said.drop:
                self.close_connection = True
                return
            raw = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            self.send_response(said.status)
            for name, value in {"Content-Type": "application/json", **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 (names of the base class)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:
            pass  # a client that has gone

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    cloud.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
