"""Shares a plane or a cloud between processes: its owner starts it when the first process asks over a Unix socket."""

import contextlib
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from windlass.testing.plane.errors import PlaneError, StartFailed

if TYPE_CHECKING:
    # Every run under pytest-xdist imports this module, also one that starts no plane.
    from windlass.testing.plane.connection import Connection
    from windlass.testing.plane.control_plane import BlockingControlPlane
    from windlass.testing.plane.options import PlaneOptions


class Reachable(Protocol):
    """How to reach what is shared."""

    def to_json(self) -> str:
        """As text for another process."""
        ...


Address = TypeVar("Address", bound=Reachable)
Address_co = TypeVar("Address_co", bound=Reachable, covariant=True)
Options = TypeVar("Options")


class Owned(Protocol[Address_co]):
    """What is shared."""

    @property
    def connection(self) -> Address_co: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Shared(Generic[Options, Address]):
    """Something that `make` makes when it is first wanted; it starts at most once and is stopped by `close`.

    `what` and `remedy` are for the error about different options.
    """

    def __init__(self, make: Callable[[Options], Owned[Address]], *, what: str, remedy: str) -> None:
        self._make = make
        self._what = what
        self._remedy = remedy
        self._owned: Owned[Address] | None = None
        self._options: str | None = None
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._listener: socket.socket | None = None
        self._folder: Path | None = None
        self.connection: Address | None = None

    def start(self, options: Options) -> Address:
        """How to reach it; it is started with `options` if it does not run.

        A failed start is not retried; it raises again. Raises PlaneError if it was started with other options.
        """
        asked = json.dumps(options, sort_keys=True)
        with self._lock:
            if self._options is not None and asked != self._options:
                raise PlaneError(
                    f"the shared {self._what} was started with the options {self._options}, and now {asked} is asked "
                    f"for: {self._remedy}"
                )
            self._options = asked
            if self._failure is not None:
                raise self._failure
            if self.connection is None:
                try:
                    self._owned = self._make(options)
                    self._owned.start()
                except Exception as problem:
                    self._failure = problem
                    raise
                self.connection = self._owned.connection
            return self.connection

    def serve(self) -> str:
        """The address that other processes `ask`; listening starts with the first call."""
        if self._listener is None or self._folder is None:
            # Short, because the path of a Unix socket may have 104 characters on macOS.
            self._folder = Path(tempfile.mkdtemp(prefix="windlass-"))
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._folder / "owner"))
            self._listener.listen(64)
            threading.Thread(target=self._answer_all, args=(self._listener,), daemon=True).start()
        return str(self._folder / "owner")

    def close(self) -> None:
        """Stop it, and answering."""
        if self._listener is not None and self._folder is not None:
            # Closing alone does not wake a thread that is in accept().
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)
        with self._lock:
            if self._owned is not None:
                self._owned.stop()

    def _answer_all(self, listener: socket.socket) -> None:
        while True:
            try:
                asker, _ = listener.accept()
            except OSError:
                return
            with asker, contextlib.suppress(BrokenPipeError):
                with asker.makefile("rb") as question:
                    options = json.loads(question.read())
                asker.sendall(self._answer(options))

    def _answer(self, options: Any) -> bytes:
        try:
            return json.dumps({"connection": self.start(options).to_json()}).encode()
        except Exception as problem:  # Whatever it is, it must be told where it was asked for.
            return json.dumps({"failure": str(problem)}).encode()


def shared_plane(make: "Callable[[PlaneOptions], BlockingControlPlane]") -> "Shared[PlaneOptions, Connection]":
    """A plane that several processes use."""
    remedy = "return one value from windlass_plane_options in all folders, or take windlass_planes"
    return Shared(make, what="plane", remedy=remedy)


def ask(address: str, options: Any) -> str:
    """What the owner of `address` shares, as the `to_json` of its connection; waits while it starts.

    Raises StartFailed.
    """
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(json.dumps(options).encode())
        line.shutdown(socket.SHUT_WR)
        with line.makefile("rb") as answer:
            content = json.loads(answer.read())
    if "failure" in content:
        raise StartFailed(content["failure"])
    connection: str = content["connection"]
    return connection
