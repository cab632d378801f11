"""The next step of a deletion, until nothing is left. No spec is needed: everything of the owner has its mark.

| there is | next |
|---|---|
| something recorded without a mark | mark it |
| servers | delete them, and wait until they are gone |
| a trunk with subports | take the subports off; they stay |
| a trunk | delete it |
| a port without a trunk, a volume that is attached to nothing | delete it |
| a volume that is reserved for a server that Nova refused | release it |
| a volume that Cinder is busy with | wait |
| nothing, while an earlier request may still arrive | wait, then look again |
| nothing | vanished |

Recorded resources with the mark of somebody else stay, and so does what is attached to the server of another, whatever
mark it has (`ServerInventory.settled`).
A server that can still be restored (`SOFT_DELETED`) counts as gone; its volumes go with it.
"""

from collections.abc import Iterator

from windlass.openstack.cloud.inventory import NONE, Recorded, ServerInventory
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import in_words, mark_of
from windlass.openstack.cloud.requests import CloudRequest, RemoveSubports
from windlass.openstack.cloud.resources import Port, Trunk, Volume
from windlass.openstack.cloud.upkeep import delete
from windlass.openstack.instance.match import DELETABLE, is_going, marked, trunk_on
from windlass.openstack.instance.next import marking, releases
from windlass.openstack.instance.state import DELETED
from windlass.openstack.instance.step import Await, Send, Step, Stuck, Vanished


def next_deletion(
    inventory: ServerInventory,
    *,
    recorded: Recorded = NONE,
    project: str,
    mark: str,
    formers: frozenset[str] = frozenset(),
) -> Step:
    """The next step. `project` is the key of the project that is asked; `recorded`: what the owner's status has;
    `formers`: the marks that the owner replaces by its own."""
    known = {"", mark, *formers}
    inventory = inventory.settled(known)
    if marks := tuple(marking(inventory, project=project, mark=mark, formers=formers)):
        return Send(marks, "only what has the owner's mark is deleted")
    # One that is going already keeps an earlier mark, and its ports can be deleted only after it.
    servers = [each for each in inventory.servers if mark_of(each) in known and each.status not in DELETED]
    if sent := tuple(delete(each, project=project, mark=mark) for each in servers if not is_going(each)):
        return Send(sent, "the server goes first")
    if servers:
        return Await(", ".join(f"server {each.name} ({each.id}) is being deleted" for each in servers))
    volumes = [each for each in marked(inventory.volumes, mark) if not _elsewhere(each, inventory, recorded)]
    free = [each for each in volumes if each.status in DELETABLE and not each.attachments]
    requests: tuple[CloudRequest, ...] = (
        *releases(inventory, project=project, mark=mark),
        *_network(inventory, project=project, mark=mark),
        *(delete(each, project=project, mark=mark) for each in free),
    )
    if requests:
        return Send(requests, "what the server had")
    for volume in volumes:
        if volume.status == "error_deleting":
            text = f"Cinder failed to delete volume {volume.name} ({volume.id}): an operator must reset its state"
            return Stuck("InstanceDeleteFailed", text)
    if volumes:
        return Await(", ".join(f"volume {each.name} ({each.id}) is {each.status}" for each in volumes))
    if not inventory.certain:
        return Await(f"an earlier request, which may arrive in the next {inventory.certain_in:.0f} s")
    return Vanished("; ".join(_staying(inventory, recorded, mark)))


def _network(inventory: ServerInventory, *, project: str, mark: str) -> Iterator[CloudRequest]:
    """The trunks, and the ports that have none any more. A trunk has the owner of its port."""
    trunks = {each.id: each for each in marked(inventory.trunks, mark)}
    for port in marked(inventory.ports, mark):
        if trunk := trunk_on(port, inventory):
            trunks[trunk.id] = trunk
        else:
            yield delete(port, project=project, mark=mark)
    for trunk in trunks.values():
        yield _trunk(trunk, project=project, mark=mark)


def _trunk(trunk: Trunk, *, project: str, mark: str) -> CloudRequest:
    if subports := tuple(each.port_id for each in trunk.sub_ports):
        return RemoveSubports(project=project, mark=mark, subject=trunk.name, id=trunk.id, ports=subports)
    return delete(trunk, project=project, mark=mark)


def _elsewhere(volume: Volume, inventory: ServerInventory, recorded: Recorded) -> bool:
    """Attached to a server that is not ours, or to ours that can still be restored."""
    kept = {each.id for each in inventory.servers if each.status in DELETED}
    return any(each.server_id != recorded.server or each.server_id in kept for each in volume.attachments)


def _staying(inventory: ServerInventory, recorded: Recorded, mark: str) -> Iterator[str]:
    for each in inventory.all:
        if mark_of(each) not in ("", mark):
            yield f"{KINDS[type(each)].name} {each.name} ({each.id}) stays: it belongs to {in_words(mark_of(each))}"
    for part in inventory.elsewhere:
        if isinstance(part, Port):
            yield f"port {part.name} ({part.id}) stays: it is attached to server {part.device_id}"
    for volume in (*inventory.volumes, *(each for each in inventory.elsewhere if isinstance(each, Volume))):
        if mark_of(volume) == mark and (volume in inventory.elsewhere or _elsewhere(volume, inventory, recorded)):
            servers = ", ".join(each.server_id for each in volume.attachments)
            yield f"volume {volume.name} ({volume.id}) stays: it is attached to server {servers}"
