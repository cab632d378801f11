"""Reads objects of a Kubernetes cluster, and what the projects of their credentials have.

Clouds are asked before objects are listed when orphans are looked for: the mark of a resource is in its owner before
the resource exists, so an owner that is listed later cannot be too new to be seen.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import mapi
from windlass.api.capo import IdentityReference, OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.mapi import Machine
from windlass.api.meta import KubernetesObject
from windlass.capability.planning import ClusterListing
from windlass.kube.control.seen import Present, read
from windlass.kube.errors import NotServed
from windlass.kube.object import Object
from windlass.kube.together import together
from windlass.kube.verbs import Api
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import mark_of as mark_in_cloud
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import FloatingIp, Port, Server, Trunk, Volume
from windlass.openstack.identity.find import BY_NAME, IdentityTrouble, credentials_of
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine_api.constants import MACHINE_API
from windlass.openstack.machine_api.provider_spec import foreign_secret, provider_spec
from windlass.openstack.machine_api.snapshot import recorded
from windlass.openstack.overview.tree import (
    FOREIGN,
    GONE,
    NAMES,
    UNKNOWN,
    Members,
    Node,
    Of,
    blind,
    instance,
    is_of,
    members,
    of_object,
    recorded_elsewhere,
    tree,
    tree_alone,
)
from windlass.openstack.ownership import Claim, claim_of
from windlass.openstack.questions import authority

NAMELESS: Final = "it names no credentials: set identityRef, or cloudsSecret in the provider spec of a Machine"
UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


OWNERS: Final[tuple[type[KubernetesObject], ...]] = (
    OpenStackCluster,
    OpenStackMachine,
    OpenStackServer,
    mapi.Machine,
    OpenStackFloatingIPPool,
)
"""The kinds of objects that have resources in clouds."""


class Objects(Struct, frozen=True):
    """`listed`: the objects of each kind that the API server serves."""

    listed: Mapping[type[Any], Sequence[Object[Any]]]

    def all(self, kind: type[Any]) -> list[Present[Any]]:
        """Those that can be read."""
        return [found for each in self.listed.get(kind, ()) if isinstance(found := read(each), Present)]

    def unreadable(self) -> list[str]:
        """A sentence for each of the others."""
        return [
            f"{kind.RESOURCE.kind} {each.namespace}/{each.name} cannot be read: {found.why}"
            for kind, objects in self.listed.items()
            for each in objects
            if not isinstance(found := read(each), Present)
        ]

    def uuids(self) -> frozenset[str]:
        """All that their text has, in annotations, spec and status: marks, and IDs of resources."""
        return frozenset(
            found.decode() for objects in self.listed.values() for each in objects for found in UUID.findall(each.raw)
        )


class Identity(Struct, frozen=True):
    """Credentials that objects in `namespace` name. `of_machine`: a Machine of the Machine API names them, for which
    the CA may be in the cluster's own configuration. `refused`: why they are not read."""

    namespace: str
    ref: IdentityReference
    of_machine: bool = False
    refused: str = ""


def identity_of(found: Present[Any]) -> Identity | None:
    """The credentials that the object itself names."""
    place = found.metadata.namespace
    if not isinstance(found.object, mapi.Machine):
        ref = found.object.spec.identity_ref
        return Identity(place, ref) if ref is not None and ref.name else None
    given = provider_spec(found.object)
    if isinstance(given, Problem) or given.clouds_secret is None or not given.clouds_secret.name:
        return None
    ref = IdentityReference(type="Secret", name=given.clouds_secret.name, cloud_name=given.cloud_name)
    foreign = foreign_secret("cloudsSecret", given.clouds_secret, home=place)
    refused = f"Machine {place}/{found.metadata.name}: {foreign.message}" if foreign is not None else ""
    return Identity(place, ref, of_machine=True, refused=refused)


def identities(found: Objects, *, machine_api: str) -> dict[Identity, None]:
    """The credentials that objects name, each once; of Machines of the Machine API those in the namespace
    `machine_api`."""
    named = (identity_of(each) for kind in OWNERS for each in found.all(kind) if _is_served(kind, each, machine_api))
    return {each: None for each in named if each is not None}


def _is_served(kind: type[Any], found: Present[Any], machine_api: str) -> bool:
    return kind is not mapi.Machine or found.metadata.namespace == machine_api


async def objects(
    api: Api, kinds: Sequence[type[Any]], *, namespace: str | None = None, machine_api: str | None = None
) -> Objects:
    """All objects of the `kinds` that are served; with `machine_api`, Machines of the Machine API in that namespace
    only. Raises KubeErrors."""

    async def listing(kind: type[Any]) -> tuple[type[Any], Sequence[Object[Any]]] | None:
        place = namespace
        if kind is mapi.Machine and machine_api is not None:
            if namespace not in (None, machine_api):
                return kind, ()
            place = machine_api
        try:
            return kind, (await api.list(kind, namespace=place)).items
        except NotServed:
            return None

    return Objects(dict(filter(None, await together(listing(kind) for kind in kinds))))


class Projects:
    """The projects of credentials that objects name. What cannot be asked has a sentence that says why."""

    def __init__(self, api: Api, clouds: Clouds) -> None:
        self._survey = ClusterListing(api)
        self._survey.add_index(Secret, BY_NAME, lambda found: ())
        self._clouds = clouds

    async def account(self, identity: Identity) -> Account | str:
        if identity.refused:
            return identity.refused
        found = await credentials_of(self._survey, identity.ref, namespace=identity.namespace)
        if isinstance(found, IdentityTrouble):
            return found.message
        if identity.of_machine and not found.cacert:
            ca = await authority(self._survey)
            if isinstance(ca, IdentityTrouble):
                return ca.message
            found = replace(found, cacert=ca)
        return await account_of(self._clouds, found)


async def account_of(clouds: Clouds, credentials: Credentials) -> Account | str:
    """The project of the credentials, or why it cannot be asked."""
    try:
        return await clouds.project(credentials)
    except CloudFailure as failure:
        return str(failure)


async def trees(found: Objects, projects: Projects, wanted: Sequence[Present[Any]]) -> list[Node]:
    """The tree of each of the `wanted` objects: OpenStackClusters, OpenStackFloatingIPPools, Machines of the Machine
    API, and what is `alone`. Each project is listed once. Raises KubeErrors."""
    machines, servers = found.all(OpenStackMachine), found.all(OpenStackServer)
    groups = [members(each, machines, servers) if _is_cluster(each) else None for each in wanted]
    asked: dict[Identity | None, Account | str] = {}
    also: dict[str, dict[Query, None]] = {}
    made = {
        id(root): next((each for each in servers if is_of(each, root)), None) for root in wanted if _is_machine(root)
    }
    for root, group in zip(wanted, groups, strict=True):
        for identity in _identities(root, group, made.get(id(root))):
            if identity not in asked:
                asked[identity] = NAMELESS if identity is None else await projects.account(identity)
        if group is not None and isinstance(account := asked[_within(group, root)], Account):
            also.setdefault(account.key, {}).update(dict.fromkeys(recorded_elsewhere(group)))
    sights = await holdings_of({each.key: each for each in asked.values() if isinstance(each, Account)}.values(), also)

    def sight(identity: Identity | None) -> Of:
        account = asked[identity]
        return account if isinstance(account, str) else sights[account.key]

    def tree_of(root: Present[Any], group: Members | None) -> Node:
        if group is not None:
            return tree(group, {group.identity(each): sight(_within(group, each)) for each in group.all})
        if isinstance(root.object, OpenStackServer | OpenStackMachine):
            server = made.get(id(root))
            return tree_alone(root, server, sight(identity_of(server or root)))
        of_root = tree_of_machine if isinstance(root.object, mapi.Machine) else tree_of_pool
        return of_root(root, sight(identity_of(root)))

    return list(map(tree_of, wanted, groups))


def _is_cluster(found: Present[Any]) -> bool:
    return isinstance(found.object, OpenStackCluster)


def _is_machine(found: Present[Any]) -> bool:
    return isinstance(found.object, OpenStackMachine)


def _identities(
    root: Present[Any], group: Members | None, made: Present[OpenStackServer] | None
) -> dict[Identity | None, None]:
    """The credentials that a tree needs, each once. `made`: the server of a machine that belongs to no cluster, which
    always names them."""
    if group is None:
        return {identity_of(made or root): None}
    return {_within(group, each): None for each in group.all}


def _within(group: Members, one: Present[Any]) -> Identity | None:
    """The credentials of an object of a cluster: its own, or those of the cluster."""
    ref = group.identity(one)
    return Identity(group.cluster.metadata.namespace, ref) if ref is not None and ref.name else None


async def holdings_of(accounts: Iterable[Account], also: Mapping[str, Iterable[Query]] | None = None) -> dict[str, Of]:
    """What each project has, or why that is not known, by its key. `also`: what else is looked for, by key."""

    async def of(account: Account) -> tuple[str, Of]:
        try:
            return account.key, await account.project_inventory((also or {}).get(account.key, ()))
        except CloudFailure as failure:
            return account.key, f"{account.where}: {failure}"

    return dict(await asyncio.gather(*map(of, accounts)))


# Objects that belong to no OpenStackCluster, beside what they have in the cloud: a tree for each. Pure.
#
#     OpenStackFloatingIPPool ─ floating IP
#     Machine                              of the Machine API
#     └─ server, volume, port ─ trunk, floating IP
#
# A Machine records its server alone, in `spec.providerID`; all else is what hangs on that server, or has its mark.


def tree_of_pool(pool: Present[OpenStackFloatingIPPool], sight: Of) -> Node:
    """The floating IPs that the pool names, has given, or has made."""
    return of_object(pool, tuple(_floating_ips(pool, sight)), blind(sight))


def _floating_ips(pool: Present[OpenStackFloatingIPPool], sight: Of) -> Iterator[Node]:
    claim, users = claim_of(pool), pool.object.spec.pre_allocated_floating_ips
    claims = {each.address: f"claim {each.name}" for each in pool.object.status.claims}
    there = (
        {each.floating_ip_address: each for each in sight.all(FloatingIp)}
        if isinstance(sight, ProjectInventory)
        else {}
    )
    made = (address for address, each in there.items() if claim.is_of(mark_in_cloud(each)))
    for address in dict.fromkeys(chain(users, claims, made)):
        detail, found, notes = claims.get(address, "free"), there.get(address), list[str]()
        if found is None:
            gone = isinstance(sight, ProjectInventory)
            state, which = ("-" if gone else UNKNOWN), ""
            notes += [GONE] if gone else []
        else:
            state, which = found.status or "-", found.id
            other = mark_in_cloud(found)
            notes += [FOREIGN] if other and not claim.is_of(other) else []
            if found.port_id and address not in claims:
                notes.append(f"no claim has it, and it leads to port {found.port_id}")
        yield Node(kind=NAMES[FloatingIp], name=address, id=which, state=state, detail=detail, notes=tuple(notes))


def tree_of_machine(machine: Present[Machine], sight: Of) -> Node:
    """The server of the Machine with all that it has. Under another authority it is the OpenStackMachine's."""
    status, named = machine.object.status, recorded(machine).server
    authority = status.authoritative_api or machine.object.spec.authoritative_api or MACHINE_API
    if authority != MACHINE_API:
        return of_object(machine, (), (f"the authority is {authority}",), state=status.phase or "")
    volumes, ports, trunks = _belongings(named, claim_of(machine), sight)
    below = instance(named, volumes, ports, trunks, claim=claim_of(machine), sight=sight)
    return of_object(machine, tuple(below), blind(sight), state=status.phase or "")


def _belongings(server: str, claim: Claim, sight: Of) -> tuple[list[str], list[str], list[str]]:
    """The IDs of volumes, ports and trunks that hang on the server, or have the mark."""
    if isinstance(sight, str):
        return [], [], []
    found = sight.get(Server, server)
    attached = {each.id for each in found.volumes} if found is not None else set[str]()
    volumes = [each.id for each in sight.all(Volume) if each.id in attached or claim.is_of(mark_in_cloud(each))]
    ports = [
        each.id for each in sight.all(Port) if (server and each.device_id == server) or claim.is_of(mark_in_cloud(each))
    ]
    trunks = [each.id for each in sight.all(Trunk) if each.port_id in ports or claim.is_of(mark_in_cloud(each))]
    return volumes, ports, trunks
