"""Shares one plane between processes: its owner starts it when the first process asks over a Unix socket."""

import contextlib
import json
import shutil
import socket
import tempfile
import threading
from pathlib import Path

from windlass.testing.binaries import BinariesError
from windlass.testing.plane.connection import Connection
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.errors import PlaneError, StartFailed


class SharedPlane:
    """A plane that starts at most once, when it is first wanted, and is stopped by `close`."""

    def __init__(self, plane: BlockingControlPlane) -> None:
        self._plane = plane
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._listener: socket.socket | None = None
        self._folder: Path | None = None
        self.connection: Connection | None = None

    def start(self) -> Connection:
        """How to reach the plane, which is started if necessary. A failed start is not retried; it raises again."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self.connection is None:
                try:
                    self._plane.start()
                except (PlaneError, BinariesError) as problem:
                    self._failure = problem
                    raise
                self.connection = self._plane.connection
            return self.connection

    def serve(self) -> str:
        """The address that other processes `ask`; listening starts with the first call."""
        if self._listener is None or self._folder is None:
            # Short, because the path of a Unix socket may have 104 characters on macOS.
            self._folder = Path(tempfile.mkdtemp(prefix="windlass-"))
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._folder / "plane"))
            self._listener.listen(64)
            threading.Thread(target=self._answer_all, args=(self._listener,), daemon=True).start()
        return str(self._folder / "plane")

    def close(self) -> None:
        """Stop the plane, and answering."""
        if self._listener is not None and self._folder is not None:
            # Closing alone does not wake a thread that is in accept().
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)
        with self._lock:
            self._plane.stop()

    def _answer_all(self, listener: socket.socket) -> None:
        while True:
            try:
                asker, _ = listener.accept()
            except OSError:
                return
            with asker, contextlib.suppress(BrokenPipeError):
                asker.sendall(self._answer())

    def _answer(self) -> bytes:
        try:
            return json.dumps({"connection": self.start().to_json()}).encode()
        except (PlaneError, BinariesError) as problem:
            return json.dumps({"failure": str(problem)}).encode()


def ask(address: str) -> Connection:
    """How to reach the plane that the owner of `address` shares; waits while it starts. Raises StartFailed."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        with line.makefile("rb") as answer:
            content = json.loads(answer.read())
    if "failure" in content:
        raise StartFailed(content["failure"])
    return Connection.from_json(content["connection"])
