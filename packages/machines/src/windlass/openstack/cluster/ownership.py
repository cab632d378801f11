"""What of a project belongs to a cluster: what has its mark, and what an earlier provider made and recorded.

| it has | it belongs to the cluster |
|---|---|
| the mark | yes |
| no mark, the name that it would have been given, and the status records it | yes: it is marked first |
| the status records it, with another name or the mark of somebody else | no, and no other one is made instead |

An earlier provider made resources of these names without a mark; people remove marks when they edit descriptions.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias, TypeVar

from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import in_words, mark_of
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp, Network, Router, SecurityGroup, Subnet
from windlass.openstack.cluster.part import Obstacle, Ours, Part
from windlass.openstack.status import Reason

T = TypeVar("T", Network, Subnet, Router, SecurityGroup, FloatingIp)
Markless: TypeAlias = Network | Subnet | Router | SecurityGroup
"""What an earlier provider made without a mark."""

ADOPTS: Final = "what was made for the cluster gets its mark"


def owned(resources: Iterable[T], ours: Ours) -> tuple[T, ...]:
    return tuple(each for each in resources if mark_of(each) == ours.mark)


def adoption(resources: Iterable[Markless], ours: Ours) -> tuple[CloudRequest, ...]:
    """Gives the mark to those of `resources` that were made for the cluster and have none."""
    return tuple(ours.adopt(each) for each in resources if not mark_of(each) and _has_our_name(each, ours))


def strange(resources: Iterable[Markless], ours: Ours, part: Part) -> tuple[Obstacle, ...]:
    """What the status records as the cluster's, and is not. One more would be a second network for its machines."""
    return tuple(
        Obstacle(
            part.condition,
            Reason.OWNED_BY_ANOTHER if mark_of(each) else part.reason,
            _whose(each),
        )
        for each in resources
        if mark_of(each) != ours.mark
    )


def _whose(found: Markless) -> str:
    what = f"{KINDS[type(found)].name} {found.name} ({found.id}), which the status records,"
    if mark := mark_of(found):
        return f"{what} belongs to {in_words(mark)}: remove it from the status"
    return f"{what} has neither mark nor name of this cluster: give it the name that it had, or delete it"


def _has_our_name(found: Markless, ours: Ours) -> bool:
    return found.name.startswith(ours.group("")) if isinstance(found, SecurityGroup) else found.name == ours.name
