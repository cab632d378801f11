"""The few HTTP requests that a plane makes to bring itself up; standard library, blocking, a connection each.

Not a Kubernetes client: controllers under test bring their own.
"""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from windlass.testing.plane.errors import Refused, Unreachable

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Rest:
    """Requests to one server. `ca_file` None means: do not verify, which only loopback health checks may do."""

    def __init__(self, url: str, *, ca_file: Path | None = None, token: str = "") -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        if ca_file is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        # No proxy: everything is on loopback, whatever HTTP_PROXY says.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = JSON, seconds: float = 30.0
    ) -> Any:
        """The decoded JSON answer. Raises Refused for an error status, Unreachable if there is no answer."""
        return json.loads(self.text(method, path, body, content_type=content_type, seconds=seconds))

    def text(self, method: str, path: str, body: Any = None, *, content_type: str = JSON, seconds: float = 30.0) -> str:
        """The answer as text. Raises as `request` does."""
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers=self._headers | {"Content-Type": content_type, "Accept": JSON},
        )
        try:
            with self._opener.open(request, timeout=seconds) as response:
                answer: bytes = response.read()
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(f"{method} {path}", error) from None
        except (OSError, http.client.HTTPException) as problem:
            raise Unreachable(f"{method} {self._url}{path}: {problem}") from problem
        return answer.decode()


def _refused(request: str, error: urllib.error.HTTPError) -> Refused:
    text = error.read().decode(errors="replace")
    try:
        status = json.loads(text)
        reason, message = status.get("reason", error.reason), status.get("message", text)
    except (ValueError, AttributeError):
        reason, message = error.reason, text
    return Refused(request, status=error.code, reason=str(reason), message=str(message))
