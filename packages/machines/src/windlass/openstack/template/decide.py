"""What to do about an OpenStackMachineTemplate. The rows, in order:

| situation | what is done |
|---|---|
| it does not exist, cannot be read, or is being deleted | nothing |
| no Cluster owns it, as one of a ClusterClass | nothing: a topology may still change its values |
| it is paused, or its Cluster is | nothing |
| neither it nor its OpenStackCluster names credentials | look again |
| the cloud cannot be asked, or has no such flavor | look again; an Event says why |
| else | capacity and operating system are written to its status |

Nothing else waits for it: machines are made from the spec, whatever the status says.
"""

from datetime import datetime
from typing import Any, Final

from windlass.api import orc
from windlass.api.capi import Cluster
from windlass.api.capo import IdentityReference, OpenStackMachineSpec, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.plan import Merge, Plan, RequeueAfter, target
from windlass.kube.control.question import Asking, Cached
from windlass.kube.control.seen import Present, Seen
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.resources import Flavor, Image
from windlass.openstack.filters import flavor_query, image_query
from windlass.openstack.objects import event, is_paused, unseen
from windlass.openstack.questions import Find, InProject, ProjectOf
from windlass.openstack.template.capacity import capacity_of
from windlass.openstack.trouble import trouble_of_no_access

SOON: Final = 30.0
LATER: Final = 600.0
"""Seconds until a look is repeated: while something of Cluster API is missing, and after the cloud said no."""
UNKNOWN: Final = "CapacityUnknown"
"""The reason of the Event."""


class OpenStackMachineTemplateSnapshot(Asking, frozen=True, kw_only=True):
    """`cluster` None: no Cluster owns the template, and there is no `infra`."""

    template: Seen[OpenStackMachineTemplate]
    cluster: Seen[Cluster] | None = None
    infra: Seen[OpenStackCluster] | None = None


def decide(seen: OpenStackMachineTemplateSnapshot, *, now: datetime) -> Plan:
    """Pure: the rows of the module."""
    found = seen.template
    if not isinstance(found, Present):
        return unseen(found, OpenStackMachineTemplate)
    if found.deleting or not isinstance(seen.cluster, Present):
        return Plan.nothing("it is being deleted" if found.deleting else "no Cluster owns it")
    if is_paused(found, seen.cluster):
        return Plan.nothing("it is paused")
    spec = found.object.spec.template.spec
    identity = _identity(seen, spec)
    flavor = flavor_query(id=spec.flavor_id, name=spec.flavor)
    if identity is None or flavor is None:
        why = "no flavor is named" if identity is not None else "waiting for the OpenStackCluster and its credentials"
        return Plan().then(RequeueAfter(SOON if identity is None else LATER, why))
    image = _image(seen, found)
    asked = (flavor, *([image] if image is not None else []))
    answer = seen.need(Find(ProjectOf(identity, found.metadata.namespace), asked))
    if not isinstance(answer, InProject):
        return _unknown(found, trouble_of_no_access(answer).message)
    there = _only(answer.value, flavor, Flavor)
    if not isinstance(there, Flavor):
        return _unknown(found, there)
    root = spec.root_volume
    capacity = capacity_of(there, root_volume=root.size_gib if root is not None else 0)
    system = _only(answer.value, image, Image) if image is not None else None
    return Plan.of(_write(found, capacity, system.os_type if isinstance(system, Image) else ""))


def _identity(seen: OpenStackMachineTemplateSnapshot, spec: OpenStackMachineSpec) -> IdentityReference | None:
    infra = seen.infra.object if isinstance(seen.infra, Present) else None
    return spec.identity_ref or (infra.spec.identity_ref if infra is not None else None)


def _image(seen: OpenStackMachineTemplateSnapshot, found: Present[OpenStackMachineTemplate]) -> Query | None:
    """None: it is not known yet, and neither is the operating system."""
    image = found.object.spec.template.spec.image
    if image.image_ref is None:
        return image_query(image)
    named = seen.need(Cached(orc.Image, image.image_ref.name, found.metadata.namespace))
    which = named.object.status.id if isinstance(named, Present) else None
    return Query("image", id=which) if which else None


def _only(answers: Answers, query: Query, kind: type[Any]) -> Any:
    """The one of this kind that the query finds, else why there is none."""
    answer = answers.get(query, ())
    if isinstance(answer, CloudFailure):
        return str(answer)
    found = [each for each in answer if isinstance(each, kind)]
    return found[0] if len(found) == 1 else f"{len(found) or 'no'} {query.kind}s match {query}"


def _unknown(found: Present[OpenStackMachineTemplate], why: str) -> Plan:
    note = f"The autoscaler cannot start from no machine of this template: its capacity is not known: {why}"
    told = event(found, UNKNOWN, note, warning=True, occasion=why)
    return Plan.of(told).then(RequeueAfter(LATER, why))


def _write(found: Present[OpenStackMachineTemplate], capacity: dict[str, str], system: str) -> Merge:
    """What others have written beside it stays."""
    status: dict[str, Any] = dict(found.tree.get("status") or {})
    desired = {**status, "capacity": {**(status.get("capacity") or {}), **capacity}}
    if system:
        desired["nodeInfo"] = {**(status.get("nodeInfo") or {}), "operatingSystem": system}
    return Merge(
        target=target(found),
        observed={"status": status},
        desired={"status": desired},
        part="status",
        why="the autoscaler starts from no machine by it",
    )
