"""Ends a login that would wait for itself.

keystoneauth1 asks Keystone for its versions while it holds the lock of the token. If the answer is 401, it repeats the
question with a token, so it waits for that lock, which its own thread holds: for ever, and a hostile server would take
all threads. Here the second attempt is an error, after which keystoneauth1 goes by the URL alone.
"""

import threading
from types import TracebackType


class LoginLock:
    """A lock that the thread that holds it cannot take again: that raises DiscoveryFailure."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder = 0

    def __enter__(self) -> None:
        from keystoneauth1.exceptions import DiscoveryFailure

        if self._holder == threading.get_ident():
            raise DiscoveryFailure("Keystone wants a token before it names its versions: end auth_url with /v3")
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._holder = 0
        self._lock.release()
