"""A server that exists although nothing says how it was made: an adopted one, and that of a moved object.

It gets our mark, with its ports and volumes, so that it goes as one of ours does. Nothing is ever created for it.
"""

from msgspec.structs import replace

from windlass.openstack.cloud.inventory import Inventory, Recorded
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.instance.match import server_of
from windlass.openstack.instance.next import marking
from windlass.openstack.instance.step import Send, Standing, Step, Stuck, Vanished
from windlass.openstack.status import Reason


def adopt(inventory: Inventory, recorded: Recorded, *, project: str, mark: str) -> Step | None:
    """What comes next for the recorded server, or the one with our mark; None if there is neither."""
    server = server_of(inventory, recorded)
    if server is None:
        return Vanished() if recorded.server else None
    if mark_of(server) not in ("", mark):
        text = f"server {server.id} belongs to {mark_of(server)}: delete its metadata key if it is to be taken over"
        return Stuck(Reason.INVALID_CONFIGURATION, text)
    # The server comes last: its mark says that all that belongs to it has one.
    parts = replace(inventory, servers=(), ports=(*inventory.ports, *inventory.attached))
    for some in (parts, Inventory(servers=(server,))):
        if requests := tuple(marking(some, project=project, mark=mark)):
            return Send(requests, "the server is adopted")
    return Standing(server)
