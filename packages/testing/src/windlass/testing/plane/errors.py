"""What can go wrong with a plane; each error says what the caller may do about it.

The tree:

    PlaneError
    ├── NotRunning          it was not started, or is stopped: use it inside `with` or after `start()`
    ├── StartFailed         a process did not get ready; the message has the end of its log and where the log is
    ├── Unreachable         nobody answers at the API server's address, for example after kill_apiserver()
    ├── Refused             the API server answered with an error: `.status` is the HTTP status, `.reason` its word
    └── NotServed           a kind or a CRD did not become available in time
"""


class PlaneError(Exception):
    """Something is wrong with a control plane of ours."""


class NotRunning(PlaneError):
    """The plane was not started or is stopped."""


class StartFailed(PlaneError):
    """A process of the plane died or did not get ready in time."""


class Unreachable(PlaneError):
    """No connection to the API server."""


class Refused(PlaneError):
    """The API server answered a request with an error."""

    def __init__(self, request: str, *, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason


class NotServed(PlaneError):
    """A kind is not served by the API server."""
