"""The controller of OpenStackClusters: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster, OpenStackClusterSpec
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import find, is_true
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, emits_events, writes
from windlass.kube.control.plan import Delete, Emit, Merge, Outcome
from windlass.kube.control.seen import IndexedReader, Present
from windlass.kube.control.source import identity_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.account import ESTATE, Account
from windlass.openstack.cloud.balancer_requests import OF_BALANCERS, OF_MEMBERS
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.marks import place_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.network_requests import OF_FLOATING_IPS, OF_NETWORKS
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
from windlass.openstack.cluster.control_plane import (
    BY_CONTROL_PLANE,
    control_plane,
    is_control_plane,
    labelled_control_plane,
    reached_otherwise,
)
from windlass.openstack.cluster.decide import decide, without_cloud
from windlass.openstack.cluster.endpoint import address_of, name_to_resolve
from windlass.openstack.cluster.names import names, of_provider
from windlass.openstack.cluster.network import look_up, queries
from windlass.openstack.cluster.recorded import BY_RESOURCE, counted, resources_of
from windlass.openstack.cluster.resolve import Resolve, resolve
from windlass.openstack.cluster.snapshot import ClusterCloudFacts, ClusterSnapshot, cluster_of, is_provisioned, recorded
from windlass.openstack.collected import named_owner
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.identity.find import IdentityTrouble, credentials_of
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import (
    BY_CLUSTER,
    BY_MARK,
    FreshMarks,
    References,
    infrastructure,
    is_held,
    labelled,
    leads_to_machines,
    marked,
    owner_name,
)
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import claim_of, replaced
from windlass.openstack.status import BASTION_READY, READY
from windlass.openstack.taken import is_stopped

NAME: Final = "openstack-cluster"


KEPT: Final = 60.0
"""Seconds for which answers are kept while the cluster is being made: what its spec names is there then."""
RECENT: Final = 30.0
"""The greatest age in seconds of lists that a new attempt begins with, unless a request has just failed, or the answers
to our requests tell all that there can be."""


class _Asked(Struct, frozen=True):
    """Answers to what a spec names, asked with these credentials."""

    by: str
    spec: OpenStackClusterSpec
    answers: Answers
    at: datetime


class ClusterObserver:
    """Takes snapshots of OpenStackClusters. What the spec names is asked for once in an attempt."""

    def __init__(
        self,
        reader: IndexedReader,
        clouds: Clouds,
        *,
        now: Callable[[], datetime],
        new_mark: Callable[[], str],
        resolve: Resolve,
    ) -> None:
        self._reader = reader
        self._clouds = clouds
        self._now = now
        self._resolve = resolve
        self._fresh = FreshMarks(new_mark)
        self._owners = Owners(reader, names=lambda each: bool(recorded(each.object)))
        self._asked: dict[NamespacedName, _Asked] = {}

    async def __call__(self, key: NamespacedName, last: Outcome) -> ClusterSnapshot:
        namespace, name = key
        found = await self._reader.see(OpenStackCluster, name, namespace=namespace)
        if not isinstance(found, Present):
            self._fresh.forget(key)
            self._asked.pop(key, None)
            return ClusterSnapshot(infra=found, last=last)
        cluster_name, cluster = cluster_of(found.metadata), None
        if cluster_name:
            cluster = await self._reader.see(Cluster, cluster_name, namespace=namespace, confirm=found.deleting)
        if found.deleting and owner_name(found.metadata, Cluster):
            cluster = await named_owner(self._reader, found, Cluster)
        # What is recorded may exist although nothing has the mark; one that is held had another mark before.
        exists = recorded(found.object) or is_held(found) or claim_of(found).stored
        born = None if exists else self._clouds.born
        mark = self._fresh.of(key, found, born=born)
        seen = ClusterSnapshot(infra=found, cluster=cluster, cluster_name=cluster_name, fresh_mark=mark, last=last)
        seen = replace(seen, facts=await self._owners.facts(found))
        if cluster_name:  # an absence lets the finalizer go, so the cache is not enough for it
            server = await self._reader.see(
                OpenStackServer, bastion.name_of(cluster_name), namespace=namespace, confirm=found.deleting
            )
            seen = replace(seen, bastion=server)
        if found.deleting:
            machines = self._reader.indexed(Machine, BY_CLUSTER, f"{namespace}/{cluster_name}") if cluster_name else ()
            seen = replace(seen, machines=tuple(sorted(each.name for each in machines)))
        if without_cloud(seen, found, now=self._now()) is not None:
            return seen
        if isinstance(last.unread, CloudFailure):
            return replace(seen, cloud=last.unread)
        if not found.deleting and leads_to_machines(found):
            plane = await control_plane(self._reader, found.object, namespace=namespace or "", cluster=cluster_name)
            seen = replace(seen, control_plane=plane)
        return replace(seen, cloud=await self._cloud(key, seen, found))

    async def _cloud(
        self, key: NamespacedName, seen: ClusterSnapshot, found: Present[OpenStackCluster]
    ) -> ClusterCloudFacts | IdentityTrouble:
        ref = found.object.spec.identity_ref
        if ref is None:
            return IdentityTrouble("spec.identityRef is missing: set it")
        credentials = await credentials_of(self._reader, ref, namespace=found.metadata.namespace)
        if isinstance(credentials, IdentityTrouble):
            return credentials
        project, mark = await self._clouds.project(credentials), claim_of(found).mark
        again = _has_looked(seen.last)
        asked = await self._answers(key, found, credentials.key, project, again=again)
        host = "" if found.deleting else name_to_resolve(found.object)
        resolved = await self._resolve(host) if host else ""
        named = [each for each in (resolved, *_addresses(found.object)) if isinstance(each, str) and each]
        age = RECENT
        replaces = claim_of(found).is_replacing  # what another management cluster made may be in no list yet
        changed = _is_changed(found) or replaces or is_stopped(found)
        if found.deleting or project.blockers(mark).refusals or changed:
            age = 0.0
        elif not is_provisioned(found.object) and project.has_reported_all(mark, named):
            age = inf
        inventory = await _inventory(
            project, seen, found, (*named, *_ports(seen, found)), age=age, again=again and not replaces
        )
        facts, formers = seen.facts, frozenset[str]()
        if isinstance(inventory, NetworkInventory):
            inventory = counted(self._reader, found, inventory)
            there = {mark_on(each) for each in (*inventory.all, *inventory.others)} - {"", mark}
            there -= _strange(inventory, names(f"{found.metadata.namespace}-{seen.cluster_name}"))
            facts = await self._owners.with_absent(facts, found, there)
            formers = replaced(claim_of(found), there, facts)
            inventory = inventory.with_others(lambda each: mark_on(each) in formers)
        return ClusterCloudFacts(
            answers=asked.answers,
            asked=asked.at,
            project=project.key,
            where=credentials.where,
            inventory=inventory,
            formers=formers,
            facts=facts,
            blockers=project.blockers(mark),
            extensions=await project.extensions() if found.object.spec.tags else frozenset(),
            resolved=resolved,
        )

    async def _answers(
        self, key: NamespacedName, found: Present[OpenStackCluster], by: str, project: Account, *, again: bool
    ) -> _Asked:
        """`again`: in the same attempt."""
        spec, kept = found.object.spec, self._asked.get(key)
        if found.deleting:
            return _Asked(by, spec, {}, self._now())
        if kept is not None and kept.by == by and (again or self._is_fresh(kept, found)):
            return kept
        at, answers = self._now(), dict[Query, tuple[Resource, ...] | CloudFailure]()
        of_balancer = new_balancer.queries(found.object)
        while wanted := [each for each in (*queries(spec, answers), *of_balancer) if each not in answers]:
            answers |= await project.find(wanted)
        self._asked[key] = asked = _Asked(by, spec, answers, at)
        return asked

    def _is_fresh(self, kept: _Asked, found: Present[OpenStackCluster]) -> bool:
        """Nothing was missing a moment ago, and the cluster or its bastion is still being made."""
        made = is_provisioned(found.object) and is_true(found.object.status.conditions, BASTION_READY)
        young = (self._now() - kept.at).total_seconds() < KEPT
        return not made and young and kept.spec == found.object.spec and not look_up(kept.spec, kept.answers).obstacles


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


async def _inventory(
    project: Account,
    seen: ClusterSnapshot,
    found: Present[OpenStackCluster],
    others: Iterable[str],
    *,
    age: float,
    again: bool,
) -> NetworkInventory | CloudFailure:
    """`others`: IDs and addresses to look for, beside those that the status records."""
    infra, named = found.object, (*recorded(found.object), *others)
    try:
        inventory = await project.network_inventory(
            claim_of(found).mark, named, kinds=_kinds(infra), age=age, again=again
        )
        kinds = [] if found.deleting else _creatable(found)
        if not kinds:
            return inventory
        cluster = f"{found.metadata.namespace}-{seen.cluster_name}"
        unmarked = await project.unmarked(
            names(cluster),
            description=of_provider(cluster),
            but=named,
            kinds=kinds,
            age=inf if again or (recorded(infra) and not is_stopped(found)) else min(age, RECENT),
        )
        return replace(inventory, unmarked=unmarked)
    except CloudFailure as failure:
        return failure


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


def cluster_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
    resolve: Resolve = resolve,
) -> Controller[NamespacedName, ClusterSnapshot]:
    """The controller, of OpenStackClusters in `namespace` (None: all). Keys are `(namespace, name)`."""

    def of_machine(machine: Object[Any]) -> Iterable[NamespacedName]:
        """Machines matter while the object is being deleted; else each would make us ask the cloud for its networks."""
        for cluster in _cluster_of_machine(machine):
            for infra in reader.known(OpenStackCluster, BY_CLUSTER, cluster):
                if infra.deleting:
                    yield infra.key

    def of_control_plane(machine: Object[Any]) -> Iterable[NamespacedName]:
        if is_control_plane(reader, machine):
            for cluster in labelled(machine):
                yield from (infra.key for infra in reader.known(OpenStackCluster, BY_CLUSTER, cluster))

    indexes = {BY_CLUSTER: _cluster, BY_IDENTITY: identities}
    own_indexes = {**indexes, BY_MARK: marked, BY_RESOURCE: resources_of}
    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(OpenStackCluster, lambda infra: [infra.key], indexes=own_indexes),
            watch(Cluster, infrastructure(OpenStackCluster), when=_is_heeded),
            watch(
                Machine,
                of_machine,
                indexes={BY_CLUSTER: _cluster_of_machine, BY_CONTROL_PLANE: labelled_control_plane},
                when=identity_differs,
                cache_only=True,
            ),
            watch(
                OpenStackMachine,
                of_control_plane,
                indexes={BY_CLUSTER: labelled},
                when=reached_otherwise,
            ),
            # The ports of machines are known before their addresses, which wake the cluster; its bastion does itself.
            watch(OpenStackServer, _of_server),
            *identity_watches(reader, OpenStackCluster, namespace=namespace),
        ),
        permissions=(
            may_write(OpenStackCluster, "patch"),
            may_write(OpenStackCluster, "patch", subresource="status"),
            may_write(OpenStackMachine, "patch"),
            may_write(OpenStackServer, "create", "patch", "delete"),
            emits_events(namespace=namespace),
            calls(*OF_NETWORKS, *OF_FLOATING_IPS, *OF_BALANCERS, *OF_MEMBERS),
        ),
        observe=ClusterObserver(reader, clouds, now=now, new_mark=new_mark, resolve=resolve),
        decide=decide,
        workers=4,
    )


def _is_heeded(old: Object[Cluster] | None, new: Object[Cluster] | None) -> bool:
    """A change of the Cluster that is no work of ours: it copies the endpoint from here, and nobody has to look."""
    if old is None or new is None or identity_differs(old, new):
        return True
    return old.glimpse(References) != new.glimpse(References)


def _cluster(infra: Object[OpenStackCluster]) -> Iterable[str]:
    name = cluster_of(infra.metadata)
    return (f"{infra.namespace}/{name}",) if name else ()


def _of_server(server: Object[OpenStackServer]) -> Iterable[NamespacedName]:
    name = owner_name(server.metadata, OpenStackCluster)
    return ((server.namespace, name),) if name else ()


def _cluster_of_machine(machine: Object[Machine]) -> tuple[str, ...]:
    seen = machine.glimpse(References)
    return (f"{machine.namespace}/{seen.spec.cluster_name}",) if seen is not None and seen.spec.cluster_name else ()
