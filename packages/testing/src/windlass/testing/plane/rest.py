"""Sends the few HTTP requests that a plane needs to start; standard library, blocking, a connection per thread.

Not a Kubernetes client: controllers under test bring their own.
"""

import http.client
import json
import ssl
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from windlass.testing.plane.errors import PlaneError, Refused, Unreachable

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Rest:
    """Requests to one server. `ca_file` None means: do not verify, which only loopback health checks may do.

    A handshake costs the server more than most answers do, so connections are kept.
    """

    def __init__(self, url: str, *, ca_file: Path | None = None, token: str = "") -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        if ca_file is None:
            self._context.check_hostname = False
            self._context.verify_mode = ssl.CERT_NONE
        self._of_thread = threading.local()

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = JSON, seconds: float = 30.0
    ) -> Any:
        """The decoded JSON answer. Raises Refused for an error status, Unreachable if there is no answer."""
        return json.loads(self.text(method, path, body, content_type=content_type, seconds=seconds))

    def text(self, method: str, path: str, body: Any = None, *, content_type: str = JSON, seconds: float = 30.0) -> str:
        """The answer as text. Raises as `request` does."""
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers | {"Content-Type": content_type, "Accept": JSON}
        kept: _Line | None = getattr(self._of_thread, "line", None)
        try:
            line = kept or self._connect()
            try:
                response = line.ask(method, path, content, headers, seconds=seconds)
            except _HUNG_UP:
                if kept is None:
                    raise
                # The server closed the connection, or is another one by now.
                kept.close()
                response = self._connect().ask(method, path, content, headers, seconds=seconds)
            answer = response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as problem:
            # At once: the error may be in a cycle of references, and with it the connection.
            if (failed := getattr(self._of_thread, "line", None)) is not None:
                failed.close()
            self._of_thread.line = None
            raise Unreachable(f"{method} {self._url}{path}: {problem}") from problem
        if response.status >= 400:
            raise _refused(f"{method} {path}", response, answer)
        return answer

    def _connect(self) -> "_Line":
        self._of_thread.line = line = _Line(self._url, self._context)
        return line


_HUNG_UP = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)


class _Line:
    """A connection to the server that closes when nobody holds it."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        server = urlsplit(url)
        assert server.hostname is not None
        if server.scheme == "https":
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                server.hostname, server.port, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(server.hostname, server.port)

    def ask(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], *, seconds: float
    ) -> http.client.HTTPResponse:
        self._connection.timeout = seconds
        if self._connection.sock is not None:
            self._connection.sock.settimeout(seconds)
        self._connection.request(method, path, content, headers)
        return self._connection.getresponse()

    def close(self) -> None:
        self._connection.close()

    __del__ = close


def _refused(request: str, response: http.client.HTTPResponse, text: str) -> Refused:
    try:
        status = json.loads(text)
        reason, message = status.get("reason", response.reason), status.get("message", text)
    except (ValueError, AttributeError):
        reason, message = response.reason, text
    return Refused(request, status=response.status, reason=str(reason), message=str(message))


def answers(rest: Rest, path: str) -> bool:
    """Whether a GET of `path` succeeds within 5 s: for probes."""
    try:
        rest.text("GET", path, seconds=5.0)
    except PlaneError:
        return False
    return True
