"""Whether a server, or what belongs to one, is another owner's, and what people read then. Pure.

| the object | it stops at |
|---|---|
| any | the server that it names, if that has the mark of another owner, or another has recorded it (`recorders`) |
| has nothing | anything with another mark of its root: it was copied from another object, or that has taken it over |
| has no server | anything with its root and place: a newer object of its name has taken it over |
| makes a server, and nothing of it exists | a server of its name without a mark, or with that of its place |
"""

from collections.abc import Sequence

from windlass.openstack import taken
from windlass.openstack.cloud import marks
from windlass.openstack.cloud.inventory import Recorded, ServerInventory
from windlass.openstack.cloud.resources import Port, Server, Trunk, Volume
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.instance.match import is_going
from windlass.openstack.instance.step import Stuck
from windlass.openstack.ownership import Ownership
from windlass.openstack.status import Reason


def foreign(
    inventory: ServerInventory, ownership: Ownership, *, recorded: Recorded
) -> Server | Volume | Port | Trunk | None:
    """The resource of another owner at which the object stops; None if there is none."""
    own = {"", ownership.mark, *ownership.formers}
    servers = [each for each in inventory.servers if marks.mark_of(each) in own]
    if recorded.server:
        named = (each for each in inventory.servers if each.id == recorded.server and marks.mark_of(each) not in own)
        return next(named, None)
    if servers:
        return None
    at = marks.place_of(ownership.mark)
    # A user who can read the object can give its root to another one: beside what is its own, that one does not count.
    alone = not any(marks.mark_of(each) in own - {""} for each in inventory.all)
    return next((each for each in inventory.others if alone or marks.place_of(marks.mark_of(each)) == at), None)


def is_replaced(inventory: ServerInventory, ownership: Ownership, *, recorded: Recorded) -> bool:
    """The object does not hold its mark yet, and nothing in the cloud has an earlier one: its annotation is next."""
    if not ownership.claim.is_replacing or foreign(inventory, ownership, recorded=recorded) is not None:
        return False
    return not any(
        marks.mark_of(each) in ownership.formers and not (isinstance(each, Server) and is_going(each))
        for each in inventory.all
    )


def stopped(
    found: Server | Volume | Port | Trunk, ownership: Ownership, *, giving_up: str, subject: str = "this object"
) -> Stuck:
    """The dead end at a resource of another owner; the rest is that of `windlass.openstack.taken.stopped`."""
    text = taken.stopped(found, ownership, giving_up=giving_up, own="a server of its own", subject=subject)
    return Stuck(Reason.OWNED_BY_ANOTHER, text)


def namesake(name: str, servers: Sequence[Server], *, adopting: str = "", subject: str = "it") -> Stuck:
    """The dead end of an object that would make a server, and finds `servers` of its name that nobody owns, or that an
    earlier object of its place had. `adopting`: how the object is given one of them, as a request, if not by the
    annotation. `subject`: the object to annotate, if others say the same."""
    ids = ", ".join(each.id for each in servers)
    whose = "of an earlier object of this name" if any(map(marks.mark_of, servers)) else "without an owner"
    text = (
        f"the project has a server {name} {whose} ({ids}), which may have been made for this object before: "
        f"{adopting or f'annotate {subject} with {ADOPT_ANNOTATION}=ID'} if it is to have that server, or annotate "
        f"{subject} with {ADOPT_ANNOTATION}={ADOPT_NONE} if it is to make another one"
    )
    return Stuck(Reason.OWNED_BY_ANOTHER, text)
