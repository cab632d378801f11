"""What comes next for an instance: requests that may go out at the same time, a wait, the end, or a dead end."""

from typing import TypeAlias

from msgspec import Struct

from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import Server


class Send(Struct, frozen=True):
    """Send these; they do not depend on each other. `why` is for people."""

    requests: tuple[CloudRequest, ...]
    why: str = ""


class Await(Struct, frozen=True):
    """Nothing to send until the cloud has done `what` (`volume worker-0-root is creating`)."""

    what: str


class Standing(Struct, frozen=True):
    """The server exists, with all that belongs to it; what its state means is `windlass.openstack.instance.state`."""

    server: Server


class Stuck(Struct, frozen=True):
    """It cannot go on: `reason` for programs, `message` for people, with the remedy."""

    reason: str
    message: str


class Vanished(Struct, frozen=True):
    """Nothing is left of it: where it was being deleted, the end; where a server was recorded, somebody deleted it.

    `note` names what stays in the cloud because it is not the owner's to delete, and why.
    """

    note: str = ""


Step: TypeAlias = Send | Await | Standing | Stuck | Vanished
