"""What of a project belongs to a cluster: what has its mark, and what an earlier provider made and recorded.

| it has | it belongs to the cluster |
|---|---|
| the mark | yes |
| no mark, the name that it would have been given, and the status records it | yes: it is marked first |
| the status records it, with another name or the mark of somebody else | no, and no other one is made instead |

An earlier provider made resources of these names without a mark; people remove marks when they edit descriptions.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, TypeVar

from windlass.openstack.cloud.estate import Estate
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.requests import Describe, SetTags
from windlass.openstack.cloud.resources import FloatingIp, Network, Router, SecurityGroup, Subnet
from windlass.openstack.cluster.part import Obstacle, Ours, Part
from windlass.openstack.instance.next import TAGS
from windlass.openstack.status import Reason

T = TypeVar("T", Network, Subnet, Router, SecurityGroup, FloatingIp)
Markless: TypeAlias = Network | Subnet | Router | SecurityGroup
"""What an earlier provider made without a mark."""

COLLECTIONS: Final = {Network: "networks", Subnet: "subnets", Router: "routers", SecurityGroup: "security-groups"}
_KINDS: Final = {Network: "network", Subnet: "subnet", Router: "router", SecurityGroup: "security group"}
SOON: Final = 0.2
"""Seconds after the moment at which an absence is certain."""
ADOPTS: Final = "what was made for the cluster gets its mark"


def owned(resources: Iterable[T], ours: Ours) -> tuple[T, ...]:
    return tuple(each for each in resources if mark_of(each) == ours.mark)


def adoption(resources: Iterable[Markless], ours: Ours) -> tuple[Describe, ...]:
    """Gives the mark to those of `resources` that were made for the cluster and have none."""
    return tuple(_adoption(resources, ours))


def _adoption(resources: Iterable[Markless], ours: Ours) -> Iterator[Describe]:
    for each in resources:
        if not mark_of(each) and _has_our_name(each, ours):
            yield Describe(
                project=ours.project,
                mark=ours.mark,
                subject=each.name,
                id=each.id,
                collection=COLLECTIONS[type(each)],
                before=each.description,
                description=described(each.description, ours.mark),
            )


def strange(resources: Iterable[Markless], ours: Ours, part: Part) -> tuple[Obstacle, ...]:
    """What the status records as the cluster's, and is not. One more would be a second network for its machines."""
    return tuple(
        Obstacle(
            part.condition,
            part.reason,
            f"{_KINDS[type(each)]} {each.name} ({each.id}), which the status "
            f"records, {_whose(each)}: give it the name that it had, or delete it",
        )
        for each in resources
        if mark_of(each) != ours.mark
    )


def _whose(found: Markless) -> str:
    return f"belongs to {mark_of(found)}" if mark_of(found) else "has neither mark nor name of this cluster"


def _has_our_name(found: Markless, ours: Ours) -> bool:
    return found.name.startswith(ours.group("")) if isinstance(found, SecurityGroup) else found.name == ours.name


def tagging(found: Markless, ours: Ours) -> Iterator[SetTags]:
    """Adds the tags of the spec that are missing. Those that others have set stay."""
    missing = [each for each in ours.tags if each not in found.tags]
    if missing and TAGS in ours.extensions:
        yield SetTags(
            project=ours.project,
            mark=ours.mark,
            subject=found.name,
            id=found.id,
            collection=COLLECTIONS[type(found)],
            before=tuple(found.tags),
            tags=(*found.tags, *missing),
        )


def uncertain(estate: Estate, *, part: str, reason: Reason) -> Part:
    """Something is missing, but a request of an earlier leader may still make it."""
    late = f"the answer to an earlier request, which may arrive in the next {estate.certain_in:.0f} s"
    return Part(condition=part, reason=reason, waits=late, again=estate.certain_in + SOON)
