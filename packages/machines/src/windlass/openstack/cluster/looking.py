"""What the decision about an OpenStackCluster asks of other objects, of names, and of the cloud."""

from collections.abc import Collection
from datetime import datetime
from math import inf
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from windlass.api.capi import Cluster
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import find, is_true
from windlass.kube.control.plan import Delete, Emit, Merge, Outcome
from windlass.kube.control.question import Confirmed, Question
from windlass.kube.control.seen import Absent, Present
from windlass.openstack.cloud.account import ESTATE
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.marks import place_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.resources import (
    FloatingIp,
    LoadBalancer,
    Network,
    Port,
    Resource,
    Router,
    SecurityGroup,
    Subnet,
)
from windlass.openstack.cluster import bastion, bastion_address, new_balancer
from windlass.openstack.cluster.balancer import is_wanted
from windlass.openstack.cluster.endpoint import address_of, name_to_resolve
from windlass.openstack.cluster.names import names, of_provider
from windlass.openstack.cluster.network import look_up, queries
from windlass.openstack.cluster.recorded import counted
from windlass.openstack.cluster.snapshot import (
    ClusterCloudFacts,
    ClusterSnapshot,
    Unresolved,
    is_provisioned,
    recorded,
)
from windlass.openstack.collected import named_owner
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.objects import fresh_mark, is_held, owner_name
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import claim_of, replaced
from windlass.openstack.questions import (
    Access,
    Extensions,
    FindOnce,
    HasReportedAll,
    InProject,
    LookAtNetworks,
    LookForUnmarked,
    NoAccess,
    ProjectOf,
)
from windlass.openstack.status import BASTION_READY, READY
from windlass.openstack.taken import is_stopped

NAMES: Final = "names"
"""The system that resolves names: DNS."""
KEPT: Final = 60.0
"""Seconds for which answers are kept while the cluster is being made: what its spec names is there then."""
RECENT: Final = 30.0
"""The greatest age in seconds of lists that a new attempt begins with, unless a request has just failed, or the answers
to our requests tell all that there can be."""


class AddressOf(Question[str | Unresolved], frozen=True):
    """The address of a host."""

    SYSTEM: ClassVar[str] = NAMES

    host: str


def with_others(seen: ClusterSnapshot, found: Present[OpenStackCluster]) -> ClusterSnapshot:
    """The snapshot, with who else has the mark, and with a new one. During deletion absences are not taken from the
    cache: they let the finalizer go."""
    place, name = found.metadata.namespace, seen.cluster_name
    if found.deleting:
        if isinstance(seen.cluster, Absent):
            seen = replace(seen, cluster=seen.need(Confirmed(Cluster, name, place)))
        if owner_name(found.metadata, Cluster):
            seen = replace(seen, cluster=named_owner(seen, found, Cluster))
        if isinstance(seen.bastion, Absent):
            seen = replace(seen, bastion=seen.need(Confirmed(OpenStackServer, bastion.name_of(name), place)))
    # What is recorded may exist although nothing has the mark; one that is held had another mark before.
    exists = recorded(found.object) or is_held(found) or claim_of(found).stored
    mark = fresh_mark(seen, found, unborn=not exists)
    return replace(seen, fresh_mark=mark, facts=_owners(seen).facts(found))


def with_cloud(seen: ClusterSnapshot, found: Present[OpenStackCluster], *, now: datetime) -> ClusterSnapshot:
    """The snapshot, with what the cloud says, or why it says nothing."""
    return replace(seen, cloud=_cloud(seen, found, now=now))


def _owners(seen: ClusterSnapshot) -> Owners:
    return Owners(seen, names=lambda each: bool(recorded(each.object)))


def _cloud(seen: ClusterSnapshot, found: Present[OpenStackCluster], *, now: datetime) -> ClusterCloudFacts | NoAccess:
    ref, claim = found.object.spec.identity_ref, claim_of(found)
    if ref is None:
        return IdentityTrouble("spec.identityRef is missing: set it")
    of = ProjectOf(ref, found.metadata.namespace, claim.mark)
    host = "" if found.deleting else name_to_resolve(found.object)
    named_in_spec = () if found.deleting else _missing(found, {})
    find = [FindOnce(of, named_in_spec)] if named_in_spec else []
    tags = [Extensions(of)] if found.object.spec.tags else []
    unknown = [each for each in find if seen.known(each) is None]
    seen.need_all((Access(of), *unknown, *tags, *([AddressOf(host)] if host else [])))
    access = seen.need(Access(of))
    if not isinstance(access, InProject):
        return access
    asked = _answers(seen, found, of, access.project, now=now)
    if not isinstance(asked, tuple):
        return asked
    resolved = seen.need(AddressOf(host)) if host else ""
    inventory = _inventory(seen, found, of, access, resolved)
    facts, formers = seen.facts, frozenset[str]()
    if isinstance(inventory, NetworkInventory):
        inventory = counted(seen, found, inventory)
        there = {mark_on(each) for each in (*inventory.all, *inventory.others)} - {"", claim.mark}
        there -= _strange(inventory, names(f"{found.metadata.namespace}-{seen.cluster_name}"))
        facts = _owners(seen).with_absent(facts, found, there)
        formers = replaced(claim, there, facts)
        inventory = inventory.with_others(lambda each: mark_on(each) in formers)
    extensions = frozenset[str]()
    if tags:
        answer = seen.need(Extensions(of))
        if not isinstance(answer, InProject):
            return answer
        extensions = answer.value
    return ClusterCloudFacts(
        answers=asked[0],
        asked=asked[1],
        project=access.project,
        where=access.where,
        inventory=inventory,
        formers=formers,
        facts=facts,
        blockers=access.blockers,
        extensions=extensions,
        resolved=resolved,
    )


def _answers(
    seen: ClusterSnapshot, found: Present[OpenStackCluster], of: ProjectOf, project: str, *, now: datetime
) -> tuple[Answers, datetime] | NoAccess:
    """What the project has for what the spec names, and when the oldest of it was asked."""
    answers, at, is_new = dict[Query, tuple[Resource, ...] | CloudFailure](), now, True
    if found.deleting:
        return answers, at
    while wanted := _missing(found, answers):
        had = seen.known(FindOnce(of, wanted))
        if had is None or not isinstance(had.value, InProject) or had.value.project != project:
            break
        answers |= had.value.value
        at, is_new = min(at, had.at), is_new and had.round > 0
    goes_on = is_new or _has_looked(seen.last)
    if not wanted and (goes_on or _is_fresh(found, answers, (now - at).total_seconds())):
        return answers, at
    answers.clear()
    at = now
    while wanted := _missing(found, answers):
        find = FindOnce(of, wanted)
        answer = seen.need(find, this_attempt=True)
        if not isinstance(answer, InProject):
            return answer
        answers |= answer.value
        told = seen.known(find)
        at = min(at, told.at) if told is not None else at
    return answers, at


def _missing(found: Present[OpenStackCluster], answers: Answers) -> tuple[Query, ...]:
    """What has to be asked next."""
    asked = (*queries(found.object.spec, answers), *new_balancer.queries(found.object))
    return tuple(dict.fromkeys(each for each in asked if each not in answers))


def _is_fresh(found: Present[OpenStackCluster], answers: Answers, age: float) -> bool:
    """Nothing was missing a moment ago, and the cluster or its bastion is still being made."""
    made = is_provisioned(found.object) and is_true(found.object.status.conditions, BASTION_READY)
    return not made and age < KEPT and not look_up(found.object.spec, answers).obstacles


def _inventory(
    seen: ClusterSnapshot,
    found: Present[OpenStackCluster],
    of: ProjectOf,
    access: InProject[None],
    resolved: str | Unresolved,
) -> NetworkInventory | CloudFailure:
    infra, claim, again = found.object, claim_of(found), _has_looked(seen.last)
    addresses = tuple(each for each in (resolved, *_addresses(infra)) if isinstance(each, str) and each)
    age, replaces = RECENT, claim.is_replacing  # what another management cluster made may be in no list yet
    if found.deleting or access.blockers.refusals or _is_changed(found) or replaces or is_stopped(found):
        age = 0.0
    elif not is_provisioned(infra):
        reported = seen.need(HasReportedAll(of, addresses))
        age = inf if isinstance(reported, InProject) and reported.value else age
    named = (*recorded(infra), *addresses, *_ports(seen, found))
    look = LookAtNetworks(of, named, tuple(_kinds(infra)), age, again and not replaces)
    kinds = [] if found.deleting else _creatable(found)
    cluster = f"{found.metadata.namespace}-{seen.cluster_name}"
    unmarked = LookForUnmarked(
        of,
        tuple(sorted(names(cluster))),
        tuple(kinds),
        inf if again or (recorded(infra) and not is_stopped(found)) else min(age, RECENT),
        description=of_provider(cluster),
        but=named,
    )
    seen.need_all((look, *([unmarked] if kinds else [])))
    looked = seen.need(look)
    if not isinstance(looked, InProject):
        return _failed(looked)
    if not kinds:
        return looked.value
    others = seen.need(unmarked)
    return replace(looked.value, unmarked=others.value) if isinstance(others, InProject) else _failed(others)


def _failed(answer: NoAccess) -> CloudFailure:
    assert isinstance(answer, CloudFailure), answer  # the credentials have just been read
    return answer


def _strange(inventory: NetworkInventory, known: Collection[str]) -> set[str]:
    """Roots of an earlier version on networks that do not have one of the `known` names: a copy of the object, in
    another management cluster, has that root too."""
    named = (each for each in inventory.others if isinstance(each, Network) and each.name not in known)
    return {mark for each in named if not place_of(mark := mark_on(each))}


def _has_looked(last: Outcome) -> bool:
    """The round before this one, in the same attempt, has looked at the cloud: it has done more than store the mark, or
    delete a bastion."""
    actions = [each.action for each in last.results]
    marks = any(isinstance(each, Merge) and "finalizers" in each.desired.get("metadata", {}) for each in actions)
    return not marks and any(not isinstance(each, Delete | Emit) for each in actions)


def _is_changed(found: Present[OpenStackCluster]) -> bool:
    """The spec is another one since the last visit: it may name what was not there then."""
    said = find(found.object.status.conditions, READY)
    return said is not None and said.observed_generation != found.metadata.generation


def _creatable(found: Present[OpenStackCluster]) -> list[type[Any]]:
    """The kinds of which something may be created, so that what has no mark must be looked for first."""
    spec, kinds = found.object.spec, list[type[Any]]()
    if found.metadata.annotations.get(ADOPT_ANNOTATION) == ADOPT_NONE:
        return kinds
    if spec.managed_subnets:
        kinds += [Network, Subnet, *([Router, Port] if spec.router is None else [])]
    if spec.managed_security_groups is not None:
        kinds.append(SecurityGroup)
    if is_wanted(spec):
        kinds.append(LoadBalancer)
    floats = not spec.disable_api_server_floating_ip and not address_of(found.object)
    if not spec.disable_external_network and (floats or bastion.is_wanted(found.object)):
        kinds.append(FloatingIp)
    return kinds


def _addresses(infra: OpenStackCluster) -> tuple[str, ...]:
    """The floating IPs that are known by their address: that of the API servers, and those of the bastion. They may be
    the user's."""
    return (address_of(infra), *bastion_address.addresses_of(infra))


def _ports(seen: ClusterSnapshot, found: Present[OpenStackCluster]) -> tuple[str, ...]:
    """The ports of the bastion's server."""
    own = bastion.own_server(found, seen.bastion)
    return tuple(bastion_address.ports_of(own.object)) if own is not None else ()


def _kinds(infra: OpenStackCluster) -> list[type[Any]]:
    """What to look for: Octavia is asked only if the cluster has, or had, a load balancer."""
    balances = infra.spec.api_server_load_balancer is not None or infra.status.api_server_load_balancer is not None
    return [kind for kind in ESTATE if kind is not LoadBalancer or balances]
