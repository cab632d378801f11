"""Picks loopback ports that are free, and likely to stay free while a process starts or restarts on them."""

import random
import socket

# Below the range that Linux (32768) and macOS (49152) use for outgoing connections, so that no outgoing connection
# takes the port of an API server that is being restarted.
_RANGE = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """`count` different ports that nobody listens on. Another process may still win a race: callers try again."""
    found: list[int] = []
    for port in random.sample(_RANGE, k=len(_RANGE)):
        if _is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"fewer than {count} free loopback ports in {_RANGE.start}-{_RANGE.stop}: stop other programs")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Go listens: an old connection in TIME_WAIT does not make the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
