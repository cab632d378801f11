"""What of a project belongs to a cluster: what has its mark, and what an earlier provider made and recorded.

| it has | it belongs to the cluster |
|---|---|
| the mark | yes |
| no mark, the name and description of Cluster API's own provider, and the status records it | yes: it is marked first |
| the mark of somebody else, or neither | no |
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, TypeVar

from windlass.openstack.cloud.estate import Estate
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.requests import Describe, SetTags
from windlass.openstack.cloud.resources import FloatingIp, Network, Router, SecurityGroup, Subnet
from windlass.openstack.cluster.part import Ours, Part
from windlass.openstack.instance.next import TAGS
from windlass.openstack.status import Reason

T = TypeVar("T", Network, Subnet, Router, SecurityGroup, FloatingIp)
Markless: TypeAlias = Network | Subnet | Router | SecurityGroup
"""What an earlier provider made without a mark."""

COLLECTIONS: Final = {Network: "networks", Subnet: "subnets", Router: "routers", SecurityGroup: "security-groups"}
SOON: Final = 0.2
"""Seconds after the moment at which an absence is certain."""
ADOPTS: Final = "what an earlier provider made gets the mark of the cluster"


def owned(resources: Iterable[T], ours: Ours) -> tuple[T, ...]:
    return tuple(each for each in resources if mark_of(each) == ours.mark)


def adoption(resources: Iterable[Markless], ours: Ours) -> tuple[Describe, ...]:
    """Gives the mark to those of `resources` that an earlier provider made for the cluster."""
    return tuple(_adoption(resources, ours))


def _adoption(resources: Iterable[Markless], ours: Ours) -> Iterator[Describe]:
    for each in resources:
        if not mark_of(each) and _is_of_provider(each, ours):
            yield Describe(
                project=ours.project,
                mark=ours.mark,
                subject=each.name,
                id=each.id,
                collection=COLLECTIONS[type(each)],
                before=each.description,
                description=described(each.description, ours.mark),
            )


def _is_of_provider(found: Markless, ours: Ours) -> bool:
    if isinstance(found, SecurityGroup):
        return found.name.startswith(ours.group("")) and found.description == "Cluster API managed group"
    text = f"Created by cluster-api-provider-openstack cluster {ours.cluster}"
    return found.name == ours.name and found.description == text


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
