"""Reads the requests to the API server from its audit log while the server writes it.

Watching a run through the API would load the server, which matters on two cores. The audit log is written anyway, with
the times of receipt and completion of every request, in microseconds.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Reference(Struct, rename="camel", frozen=True, gc=False):
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _Status(Struct, frozen=True, gc=False):
    code: int = 0


class _User(Struct, frozen=True, gc=False):
    username: str = ""


class Request(Struct, rename="camel", frozen=True, gc=False):
    """One request, when it was answered. `request_object` is its body, where the policy says to keep it."""

    verb: str = ""
    request_uri: str = field(name="requestURI", default="")
    stage: str = ""
    user: _User = _User()
    object_ref: Reference = Reference()
    response_status: _Status = _Status()
    received: datetime = field(name="requestReceivedTimestamp", default=datetime.min)
    answered: datetime = field(name="stageTimestamp", default=datetime.min)
    request_object: msgspec.Raw = msgspec.Raw()

    @property
    def succeeded(self) -> bool:
        return 200 <= self.response_status.code < 300

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES

    @property
    def is_of_lease(self) -> bool:
        return self.object_ref.resource == "leases"

    @property
    def what(self) -> tuple[str, str, int]:
        """Verb, resource and code, as `("patch", "machines.machine.openshift.io/status", 200)`."""
        of = self.object_ref
        resource = f"{of.resource}.{of.api_group}" if of.api_group else of.resource
        return self.verb, f"{resource}/{of.subresource}" if of.subresource else resource, self.response_status.code


_DECODE = msgspec.json.Decoder(Request).decode


class RequestLog:
    """The requests of `user` from now on, in the order in which they were answered."""

    def __init__(self, path: Path, *, user: str) -> None:
        self._path = path
        self._mark = f'"username":"{user}"'.encode()
        self._offset = path.stat().st_size

    def read(self) -> Iterator[Request]:
        """What came since the last call."""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            text = log.read()
        whole = text.rfind(b"\n") + 1
        self._offset += whole
        for line in text[:whole].splitlines():
            if self._mark in line:
                request = _DECODE(line)
                # A watch is written down when it starts, and again when it ends.
                if request.stage == "ResponseComplete" or request.verb == "watch":
                    yield request
