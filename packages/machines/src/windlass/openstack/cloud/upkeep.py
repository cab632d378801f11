"""The requests that resources of every kind have in common: mark, description, tags, deletion.

`project` is the key of the project that is asked, `mark` that of the owner.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from windlass.openstack.cloud import network_requests as networks
from windlass.openstack.cloud import requests
from windlass.openstack.cloud.balancer_requests import DeleteLoadBalancer, DescribeBalancer
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.resources import FloatingIp, InNeutron, LoadBalancer, Markable, Server, Volume

TAGS: Final = "standard-attr-tag"
"""The Neutron extension for tags of everything but networks."""
_DELETIONS: Final[Mapping[type[Any], type[requests.Deletion]]] = {
    each.OF: each
    for each in (
        requests.DeleteServer,
        requests.DeleteVolume,
        requests.DeletePort,
        requests.DeleteTrunk,
        networks.DeleteNetwork,
        networks.DeleteRouter,
        networks.DeleteSecurityGroup,
        networks.DeleteFloatingIp,
        DeleteLoadBalancer,
    )
}


def called(found: Markable) -> str:
    """For people: its name; the address of a floating IP; else its ID."""
    return found.floating_ip_address if isinstance(found, FloatingIp) else found.name or found.id


def adopt(found: Markable, *, project: str, mark: str) -> requests.CloudRequest:
    """Give it the mark."""
    if isinstance(found, LoadBalancer):
        old, new = found.description or "", described(found.description or "", mark)
        who = {"project": project, "mark": mark, "subject": called(found)}
        return DescribeBalancer(**who, id=found.id, before=old, description=new)
    if isinstance(found, Server):
        who = {"project": project, "mark": mark, "subject": called(found)}
        return requests.MarkServer(**who, id=found.id, before=mark_of(found))
    if isinstance(found, Volume):
        return requests.MarkVolume(project=project, mark=mark, subject=called(found), id=found.id)
    return describe(found, described(found.description, mark), project=project, mark=mark)


def describe(found: InNeutron, text: str, *, project: str, mark: str) -> requests.Describe:
    return requests.Describe(
        project=project,
        mark=mark,
        subject=called(found),
        id=found.id,
        collection=KINDS[type(found)].collection,
        before=found.description,
        description=text,
    )


def tag(found: InNeutron, tags: Sequence[str], *, project: str, mark: str) -> requests.SetTags:
    """Replace its tags by these."""
    return requests.SetTags(
        project=project,
        mark=mark,
        subject=called(found),
        id=found.id,
        collection=KINDS[type(found)].collection,
        before=tuple(found.tags),
        tags=tuple(tags),
    )


def lead(floating: FloatingIp, port: str | None, *, project: str, mark: str) -> networks.AssociateFloatingIp:
    """Lead the floating IP to the port, or nowhere."""
    return networks.AssociateFloatingIp(
        project=project, mark=mark, subject=called(floating), id=floating.id, before=floating.port_id, port=port
    )


def delete(found: Markable, *, project: str, mark: str) -> requests.Deletion:
    return _DELETIONS[type(found)](project=project, mark=mark, subject=called(found), id=found.id)
