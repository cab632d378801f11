"""What is said of a cloud's resource that another owner has: whose it is, never its mark, and what a person can do."""

from typing import Any

from windlass.kube.control.seen import Present
from windlass.openstack.cloud import marks
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.resources import Markable, Server, Volume
from windlass.openstack.constants import MARK_ANNOTATION, TAKE_OVER_ANNOTATION
from windlass.openstack.ownership import Ownership
from windlass.openstack.status import Reason


def is_stopped(found: Present[Any]) -> bool:
    """The object has said so, and somebody may have corrected the cloud since."""
    return any(each.reason == Reason.OWNED_BY_ANOTHER for each in found.object.status.conditions)


def whose(found: Markable) -> str:
    """The resource with its ID, and its owner, for people."""
    return f"{KINDS[type(found)].name} {found.id} belongs to {marks.in_words(marks.mark_of(found))}"


def left_to_its_owner(found: Markable) -> str:
    """What an Event says of a resource that stays although an object is deleted."""
    return f"Left in the cloud: {whose(found)}"


def stopped(
    found: Markable,
    ownership: Ownership,
    *,
    giving_up: str = f"remove the annotation {MARK_ANNOTATION}",
    own: str = "its own",
    subject: str = "this object",
) -> str:
    """Why an object stops at a resource of another owner, and the remedy. `giving_up`: what makes the object want its
    `own` one, as a request. `subject`: the object, if others say the same."""
    mark, claim = marks.mark_of(found), ownership.claim
    at, holder = marks.place_of(mark), ownership.facts.holders.get(mark, "")
    whose = f"{KINDS[type(found)].name} {found.id} belongs to {holder or marks.in_words(mark)}"
    if at and at == claim.place and claim.holds:
        newer = f"{whose} with another uid, which has taken it over from this one, maybe in another management cluster"
        return f"{newer}: delete this object; that leaves the cloud as it is"
    if not (at or holder):
        has_key = isinstance(found, Server | Volume)
        where = f"the key {MARK} of its metadata" if has_key else f"{MARK}=... from its description"
        return f"{whose}: remove {where} if it is to be taken over"
    other, confirmed = f"{giving_up} if {subject} is to have {own}", ownership.facts.confirmed
    if at in ownership.facts.absent:
        instead = f" in place of {confirmed}" if confirmed else ""
        take = f"annotate {subject} with {TAKE_OVER_ANNOTATION}={at}{instead} if it is to take over what that one had"
        return f"{whose}, which does not exist here: {take}, or {other}"
    if confirmed and confirmed == at:
        return f"{whose}, which exists here, so the annotation {TAKE_OVER_ANNOTATION} does nothing: {other}"
    return f"{whose}: {other}"
