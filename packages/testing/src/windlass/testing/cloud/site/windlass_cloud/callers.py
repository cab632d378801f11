"""Tells the project that a request is made for, before the service has looked at it.

Keystone's process writes a file for each token that it issues: its name is the token's digest, its content the project.
All other services read it. So requests with an expired token have a project too.
"""

import hashlib
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

LOGIN = "/v3/auth/tokens"


class Callers:
    """Projects by token, in a folder that all services of a cloud share.

    `identity` is Keystone's database, for Keystone's process alone: a login names a project or a credential, no token.
    """

    def __init__(self, tokens: Path, identity: Path | None = None) -> None:
        self._tokens = tokens
        self._identity = identity

    def is_login(self, environ: dict[str, Any]) -> bool:
        """Whether the answer to this request will be a token."""
        return (
            self._identity is not None
            and environ["REQUEST_METHOD"] == "POST"
            and environ["PATH_INFO"].rstrip("/") == LOGIN
        )

    def project(self, environ: dict[str, Any]) -> str | None:
        """The id of the project; None for unscoped tokens, tokens of other clouds and requests without one."""
        if self.is_login(environ):
            return self._project_of_login(environ)
        token = environ.get("HTTP_X_AUTH_TOKEN")
        return self._project_of_token(token) if token else None

    def remember(self, token: str, project: str) -> None:
        """Keep the project of a token that was issued."""
        self._file(token).write_text(project, encoding="ascii")

    def _file(self, token: str) -> Path:
        return self._tokens / hashlib.sha256(token.encode()).hexdigest()

    def _project_of_token(self, token: str) -> str | None:
        try:
            return self._file(token).read_text(encoding="ascii")
        except FileNotFoundError:
            return None

    def _project_of_login(self, environ: dict[str, Any]) -> str | None:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        try:
            return self._project_of(json.loads(body)["auth"])
        except (ValueError, LookupError, TypeError, AttributeError):
            # Keystone will refuse it in its own words.
            return None

    def _project_of(self, login: dict[str, Any]) -> str | None:
        if (scope := login.get("scope", {}).get("project")) is not None:
            return scope.get("id") or self._look_up("SELECT id FROM project WHERE name = ?", scope["name"])
        identity = login["identity"]
        if (credential := identity.get("application_credential")) is not None:
            return self._look_up("SELECT project_id FROM application_credential WHERE id = ?", credential["id"])
        return self._project_of_token(identity["token"]["id"])

    def _look_up(self, query: str, value: str) -> str | None:
        connection = sqlite3.connect(f"file:{self._identity}?mode=ro", uri=True)
        try:
            row = connection.execute(query, (value,)).fetchone()
        finally:
            connection.close()
        return None if row is None else str(row[0])
