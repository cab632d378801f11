"""Picks loopback ports that are free, and keeps those of servers that stop and start again.

A server of a test that is down must refuse connections, and come back on its port: clients have its URL. Meanwhile
another server could get the port, and answer in its place. `HeldPorts` prevents that. It binds a socket to each port
and connects it to a socket of its own:

| who | what the kernel says |
|---|---|
| another server | the address is in use, even if it asks for SO_REUSEADDR |
| our server, which asks for SO_REUSEPORT as the held socket does | it may bind and listen, as often as it likes |
| a client while our server is down | connection refused: a connected socket takes no other connections |

A socket that is bound and not connected would do on Linux. macOS drops what is sent to one, so clients would wait.
"""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

# Below the range that Linux (32768) and macOS (49152) use for outgoing connections, so that no outgoing connection
# takes the port of a server that is being started.
_RANGE = range(20_000, 32_000)
_HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """`count` different ports that nobody listens on. Another process may still win a race: callers try again."""
    found: list[int] = []
    for port in _candidates():
        if _is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise _none_left(count)


class HeldPorts:
    """`count` different `ports`, from now until `close` for servers with SO_REUSEPORT alone. Raises OSError."""

    def __init__(self, count: int) -> None:
        self.ports: list[int] = []
        with ExitStack() as sockets, socket.create_server((_HOST, 0)) as end:
            candidates = _candidates()
            while len(self.ports) < count:
                if (port := next(candidates, None)) is None:
                    raise _none_left(count)
                with suppress(OSError):
                    sockets.enter_context(_held(port, end))
                    self.ports.append(port)
            self._sockets = sockets.pop_all()

    def close(self) -> None:
        """Release them."""
        self._sockets.close()


def _held(port: int, end: socket.socket) -> ExitStack:
    """The two sockets of a connection from the port to `end`. Raises OSError if the port is taken."""
    with ExitStack() as sockets:
        holder = sockets.enter_context(socket.socket())
        # Bound before the option is set: two holders never share a port.
        holder.bind((_HOST, port))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.connect(end.getsockname())
        sockets.enter_context(end.accept()[0])
        return sockets.pop_all()


def _candidates() -> Iterator[int]:
    return iter(random.sample(_RANGE, k=len(_RANGE)))


def _none_left(count: int) -> OSError:
    return OSError(f"fewer than {count} free loopback ports in {_RANGE.start}-{_RANGE.stop}: stop other programs")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Go listens: an old connection in TIME_WAIT does not make the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
        return True
