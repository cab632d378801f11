"""What is said of a cloud's resource that another owner has: whose it is, never its mark, and what a person can do."""

from typing import Any

from windlass.kube.control.seen import Present
from windlass.openstack.cloud import marks
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.resources import Markable
from windlass.openstack.constants import MARK_ANNOTATION, TAKE_OVER_ANNOTATION
from windlass.openstack.ownership import Ownership
from windlass.openstack.status import Reason


def is_stopped(found: Present[Any]) -> bool:
    """The object has said so, and somebody may have corrected the cloud since."""
    return any(each.reason == Reason.OWNED_BY_ANOTHER for each in found.object.status.conditions)


def whose(found: Markable) -> str:
    """The resource with its ID, and its owner, for people."""
    return f"{KINDS[type(found)].name} {found.id} belongs to {marks.in_words(marks.mark_of(found))}"


def stopped(found: Markable, ownership: Ownership) -> str:
    """Why an object stops at a resource that has its root and another mark, and the remedy."""
    claim, at = ownership.claim, marks.place_of(marks.mark_of(found))
    if at and at == claim.place and claim.holds:
        newer = f"{whose(found)} with another uid, which has taken it over from this one, maybe in another management"
        return f"{newer} cluster: delete this object; that leaves the cloud as it is"
    if not at:
        return f"{whose(found)}: remove {MARK}=... from its description if it is to be taken over"
    other = f"remove the annotation {MARK_ANNOTATION} if this object is to have its own"
    if at in ownership.facts.absent:
        take = f"annotate this object with {TAKE_OVER_ANNOTATION}={at} if it is to take over what that one had"
        return f"{whose(found)}, which does not exist here: {take}, or {other}"
    return f"{whose(found)}: {other}"
