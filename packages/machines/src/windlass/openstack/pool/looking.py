"""What the decision about an OpenStackFloatingIPPool asks of other objects and of the cloud."""

from math import inf
from typing import Final

from msgspec.structs import replace

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress
from windlass.kube.control.question import Confirmed
from windlass.kube.control.seen import Absent, Present
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import FloatingIp, Network
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.filters import EXTERNAL, network_query
from windlass.openstack.objects import fresh_mark, is_held
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import claim_of, replaced
from windlass.openstack.pool.recorded import counted
from windlass.openstack.pool.snapshot import TAG, External, FloatingIPPoolCloudFacts, FloatingIPPoolSnapshot
from windlass.openstack.questions import (
    Access,
    Extensions,
    Find,
    InProject,
    LookAtNetworks,
    LookForUnmarked,
    NoAccess,
    ProjectOf,
)
from windlass.openstack.taken import is_stopped

RECENT: Final = 30.0
JUST_NOW: Final = 1.0
"""The greatest age in seconds of the list of floating IPs: usually; after a refusal or a stop, and during deletion."""


def with_owners(seen: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool]) -> FloatingIPPoolSnapshot:
    """The snapshot, with who else has the mark of the pool, and with a new one."""
    status = found.object.status
    exists = status.claimed_ips or status.available_ips or is_held(found) or claim_of(found).stored
    mark = fresh_mark(seen, found, unborn=not exists)
    return replace(seen, fresh_mark=mark, facts=_owners(seen).facts(found))


def with_cloud(seen: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool]) -> FloatingIPPoolSnapshot:
    """The snapshot, with what the cloud has of the pool, and which claims may have an IPAddress that nobody can see."""
    unknown = seen.unknown | _unconfirmed(seen, found)
    return replace(seen, unknown=unknown, cloud=_cloud(seen, found))


def _owners(seen: FloatingIPPoolSnapshot) -> Owners:
    return Owners(seen, names=lambda each: bool(each.object.status.claimed_ips))


def _unconfirmed(seen: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool]) -> frozenset[str]:
    """Recorded claims that are gone, whose IPAddress the cache does not show (yet) although it exists."""
    alive = {each.metadata.name for each in seen.claims if not each.deleting}
    shown = {each.metadata.name for each in seen.addresses}
    names = [each.name for each in found.object.status.claims]
    gone = [each for each in names if each not in shown and (found.deleting or each not in alive)]
    questions = {name: Confirmed(IPAddress, name, found.metadata.namespace) for name in gone}
    seen.need_all(questions.values())
    return frozenset(name for name, each in questions.items() if not isinstance(seen.need(each), Absent))


def _cloud(
    seen: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool]
) -> FloatingIPPoolCloudFacts | NoAccess:
    spec, status, claim = found.object.spec, found.object.status, claim_of(found)
    mark, of = claim.mark, ProjectOf(spec.identity_ref, found.metadata.namespace, claim.mark)
    access = seen.need(Access(of))
    if not isinstance(access, InProject):
        return access
    given = (each.object.spec.address for each in seen.addresses)
    named = (*spec.pre_allocated_floating_ips, *status.claimed_ips, *status.available_ips, *given)
    age = JUST_NOW if access.blockers.refusals or found.deleting or is_stopped(found) else RECENT
    if seen.last.results and not named:  # what the pool has made in this attempt is known
        age = inf
    look = LookAtNetworks(of, named, kinds=(FloatingIp,), age=age)
    tag, kinds = TAG.format(found.metadata.name), (FloatingIp,)
    unmarked = LookForUnmarked(of, (), kinds, min(age, RECENT), tag=tag, but=named)
    takes = not found.deleting and found.metadata.annotations.get(ADOPT_ANNOTATION) != ADOPT_NONE
    query = _external(found.object)
    external = Find(of, (query,))
    seen.need_all((look, Extensions(of), *([unmarked] if takes else []), *([] if found.deleting else [external])))
    known, extensions = seen.need(look, Extensions(of))
    if not isinstance(known, InProject):
        return known
    if not isinstance(extensions, InProject):
        return extensions
    inventory = counted(seen, found, known.value)
    there = {mark_on(each) for each in (*inventory.all, *inventory.others)} - {"", mark}
    facts = _owners(seen).with_absent(seen.facts, found, there)
    formers = replaced(claim, there, facts)
    inventory = inventory.with_others(lambda each: mark_on(each) in formers)
    if takes:
        others = seen.need(unmarked)
        if not isinstance(others, InProject):
            return others
        inventory = replace(inventory, unmarked=others.value)
    networks: External = ()
    if not found.deleting:
        answer = seen.need(external)
        if not isinstance(answer, InProject):
            return answer
        listed = answer.value[query]
        if isinstance(listed, CloudFailure):
            networks = listed
        else:
            networks = tuple(each for each in listed if isinstance(each, Network))
    return FloatingIPPoolCloudFacts(
        project=access.project,
        where=access.where,
        inventory=inventory,
        formers=formers,
        facts=facts,
        external=networks,
        extensions=extensions.value,
        blockers=extensions.blockers,
    )


def _external(pool: OpenStackFloatingIPPool) -> Query:
    query = network_query(pool.spec.floating_ip_network) or Query("network")
    return replace(query, filters=(*query.filters, EXTERNAL))
