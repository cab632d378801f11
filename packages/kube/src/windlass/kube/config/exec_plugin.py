"""Gets credentials from an exec plugin: `aws eks get-token`, `gke-gcloud-auth-plugin`, `kubelogin`.

Supports `client.authentication.k8s.io/v1` and `v1beta1`. The plugin runs as a child process without blocking the loop,
one at a time. Its credential is cached until it expires, or until the server answers 401 to it.

    plugin = ExecPlugin(command="aws", args=("eks", "get-token", "--cluster-name", "prod"),
                        api_version="client.authentication.k8s.io/v1beta1", origin="~/.kube/config: user 'prod'")
    credential = await plugin.current()

A plugin that times out is killed with all processes that it started. A failure is cached for some seconds.

A plugin that cannot be found, or whose first answer is not usable, raises a ConfigError. A plugin that worked before
and fails now (its own server is down, for example) raises a TransportError: retry later.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct, field

from windlass.api.meta import without_nulls
from windlass.kube import decoding
from windlass.kube.config.cluster import check
from windlass.kube.config.credentials import ClientCertificate, Credential, bearer
from windlass.kube.errors import ConfigError, KubeError, TransportError
from windlass.kube.foreign import Malformed, read_json

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")

EXPIRY_MARGIN = 10.0
"""Seconds before its expiry at which a credential counts as expired: it must stay valid during the request."""
TIMEOUT = 60.0
INTERACTIVE_TIMEOUT = 600.0
"""Seconds a plugin may take when it may be waiting for a person to log in."""
REPEAT_SECONDS = 10.0
"""A refused credential younger than this is not fetched again: it was not refused for its age, and every request would
start a process."""
FAILURE_SECONDS = 5.0
"""How long a failure is cached. Callers that waited for the failed attempt get it too; otherwise each of them would
start a process, one after the other."""


class ExecCredentialStatus(Struct, rename="camel", frozen=True):
    """The `status` a plugin prints: a token, a client certificate with its key, or both; and their expiry."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class ExecCredential(Struct, rename="camel", frozen=True):
    api_version: str = ""
    kind: str = ""
    status: ExecCredentialStatus = field(default_factory=ExecCredentialStatus)


class _Failure(Struct, frozen=True):
    """Why the last attempt failed, and when it ended."""

    why: str
    at: datetime
    worked_before: bool

    def error(self) -> KubeError:
        return (
            TransportError(f"no credentials at the moment: {self.why}") if self.worked_before else ConfigError(self.why)
        )


class ExecPlugin:
    """A CredentialSource that runs a program.

    `command`: absolute, or a name to look up on PATH. `cluster`: passed to the plugin if it wants to know the cluster
    (`provideClusterInfo`). `interactive_mode`: whether it gets the terminal (Never, IfAvailable or Always).
    `timeout`: seconds it may run without a terminal.
    """

    def __init__(
        self,
        *,
        command: str,
        api_version: str,
        args: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        cluster: Mapping[str, Any] | None = None,
        install_hint: str = "",
        interactive_mode: str = "IfAvailable",
        origin: str = "exec plugin",
        timeout: float = TIMEOUT,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if api_version not in API_VERSIONS:
            raise ConfigError(
                f"{origin}: exec.apiVersion {api_version or '(empty)'!r} is not spoken here: it must be "
                f"{' or '.join(API_VERSIONS)}; a newer version of {command!r} will offer one of them"
            )
        if interactive_mode not in INTERACTIVE_MODES:
            raise ConfigError(
                f"{origin}: exec.interactiveMode {interactive_mode!r} must be one of {', '.join(INTERACTIVE_MODES)}"
            )
        if not command:
            raise ConfigError(f"{origin}: exec.command is empty: name the program to run")
        self._argv = (command, *args)
        self._api_version = api_version
        self._env = dict(env or {})
        self._cluster = cluster
        self._install_hint = install_hint.strip()
        self._interactive_mode = interactive_mode
        self._origin = origin
        self._timeout = timeout
        self._now = now
        self._turn = asyncio.Lock()
        self._credential: Credential | None = None
        self._expires: datetime | None = None
        self._fetched: datetime | None = None
        self._failure: _Failure | None = None

    async def current(self) -> Credential:
        if (credential := self._valid()) is not None:
            return credential
        async with self._turn:
            # The previous holder of the lock may have fetched it.
            return self._valid() or await self._fetch()

    async def refused(self, credential: Credential) -> bool:
        async with self._turn:
            if self._credential == credential and not self._is_new():
                await self._fetch()
            return self._credential != credential

    def _valid(self) -> Credential | None:
        if self._expires is not None and (self._expires - self._now()).total_seconds() < EXPIRY_MARGIN:
            return None
        return self._credential

    def _is_new(self) -> bool:
        return self._fetched is not None and self._seconds_since(self._fetched) < REPEAT_SECONDS

    def _seconds_since(self, moment: datetime) -> float:
        return (self._now() - moment).total_seconds()

    async def _fetch(self) -> Credential:
        if self._failure is not None and self._seconds_since(self._failure.at) < FAILURE_SECONDS:
            raise self._failure.error()
        try:
            printed = await self._run()
            credential, expires = self._read(printed)
        except ConfigError as error:
            self._failure = _Failure(str(error), self._now(), worked_before=self._fetched is not None)
            raise self._failure.error() from error
        self._failure = None
        # The same certificate again keeps its identity, and with it the pooled connections.
        if self._credential is None or credential != self._credential:
            self._credential = credential
        self._expires = expires
        self._fetched = self._now()
        return self._credential

    async def _run(self) -> bytes:
        interactive = self._has_terminal()
        timeout = INTERACTIVE_TIMEOUT if interactive else self._timeout
        try:
            ended = await run_program(
                self._program(),
                env={**os.environ, **self._env, "KUBERNETES_EXEC_INFO": self._info(interactive=interactive)},
                timeout=timeout,
                # A plugin's prompts and errors on stderr are meant for the person at the terminal.
                terminal=interactive,
            )
        except TimeoutError as error:
            raise self._failed(f"gave no answer within {timeout:g} s") from error
        except OSError as error:
            raise self._failed(f"cannot be started: {error.strerror}") from error
        if ended.code:
            said = ended.complaint.decode(errors="replace").strip()
            raise self._failed(f"exited with {ended.code}{f': {said[-500:]}' if said else ''}")
        return ended.printed

    def _program(self) -> tuple[str, ...]:
        found = shutil.which(self._argv[0])
        if found is None:
            raise self._failed("is not installed or not executable")
        return (found, *self._argv[1:])

    def _has_terminal(self) -> bool:
        there = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self._interactive_mode == "Always" and not there:
            raise self._failed("wants a terminal to ask at (exec.interactiveMode is Always), and there is none")
        return there and self._interactive_mode != "Never"

    def _info(self, *, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _read(self, printed: bytes) -> tuple[Credential, datetime | None]:
        try:
            answer = decoding.convert(without_nulls(read_json(printed)), ExecCredential)
        except (Malformed, msgspec.MsgspecError) as error:
            raise self._failed(f"printed no ExecCredential: {error}") from error
        if answer.kind != "ExecCredential" or answer.api_version != self._api_version:
            raise self._failed(
                f"printed {answer.kind or 'no kind'} {answer.api_version or 'without apiVersion'}, but exec.apiVersion "
                f"is {self._api_version}: set it to what the plugin speaks"
            )
        status = answer.status
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("printed only one of clientCertificateData and clientKeyData")
        if not status.token and not status.client_certificate_data:
            raise self._failed("printed neither a token nor a client certificate")
        certificate = None
        if status.client_certificate_data:
            certificate = ClientCertificate(
                status.client_certificate_data.encode(), status.client_key_data.encode(), origin=self._origin
            )
            check(certificate)
        expires = status.expiration_timestamp
        if expires is not None and expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        where = f"{self._origin}: exec plugin {self._argv[0]!r}: status.token"
        return Credential(bearer(status.token, where) if status.token else "", certificate), expires

    def _failed(self, what: str) -> KubeError:
        hint = f"\n{self._install_hint}" if self._install_hint else ""
        return ConfigError(f"{self._origin}: exec plugin {self._argv[0]!r} {what}{hint}")


# Runs a program until it ends or times out, even if it leaves child processes behind.
#
#     ended = await run_program(("aws", "eks", "get-token"), env=os.environ, timeout=60.0)
#     print(ended.code, ended.printed, ended.complaint)
#
# `asyncio.subprocess.Process` waits until every process has closed the program's output. When a shell script is killed,
# the program that it started goes on running and may keep the output open indefinitely.

_CLOSING_SECONDS = 1.0
"""How long to wait for the output to close after the program has ended: its own output arrives long before."""


class Ended(Struct, frozen=True):
    """How a program ended, and what it wrote to stdout and stderr."""

    code: int
    printed: bytes
    complaint: bytes


class _Output(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.written = {1: bytearray(), 2: bytearray()}
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


async def run_program(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - what it started is to be killed
    terminal: bool = False,
) -> Ended:
    """Run the program `argv`. Raises TimeoutError after `timeout` seconds, and OSError if it cannot be started.

    `terminal`: it shares our stdin and stderr. Otherwise it runs in a session of its own; on timeout or cancellation it
    is killed together with all processes that it started.
    """
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Output,
            *argv,
            stdin=None if terminal else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if terminal else asyncio.subprocess.PIPE,
            env=env,
            start_new_session=not terminal,
        )
    )
    try:
        # Shielded, because asyncio kills only the program itself when its start is cancelled.
        _, output = await asyncio.shield(starting)
        async with asyncio.timeout(timeout):
            await output.exited.wait()
        await _closed(output)
    finally:
        transport, output = await starting
        if not output.exited.is_set() and not terminal:
            with suppress(ProcessLookupError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
        transport.close()
        await _closed(output)
    return Ended(transport.get_returncode() or 0, bytes(output.written[1]), bytes(output.written[2]))


async def _closed(output: _Output) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await output.closed.wait()
