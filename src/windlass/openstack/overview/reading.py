"""Reads objects of a Kubernetes cluster, and what the projects of their credentials have.

Clouds are asked before objects are listed when orphans are looked for: the mark of a resource is in its owner before
the resource exists, so an owner that is listed later cannot be too new to be seen.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import mapi
from windlass.api.capo import IdentityReference, OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.meta import KubernetesObject
from windlass.capability.planning import Survey
from windlass.capability.together import together
from windlass.kube.control.seen import Present, read
from windlass.kube.errors import NotServed
from windlass.kube.object import Object
from windlass.kube.verbs import Api
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.query import Query
from windlass.openstack.identity.find import BY_NAME, IdentityTrouble, credentials_of
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine_api.observe import authority
from windlass.openstack.machine_api.provider_spec import provider_spec
from windlass.openstack.overview.tree import Node, Of, members, recorded_elsewhere, tree

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
    the CA may be in the cluster's own configuration."""

    namespace: str
    ref: IdentityReference
    of_machine: bool = False


def identities(found: Objects) -> dict[Identity, None]:
    """The credentials that objects name, each once."""
    named: dict[Identity, None] = {}
    for kind in (OpenStackCluster, OpenStackMachine, OpenStackServer, OpenStackFloatingIPPool):
        for each in found.all(kind):
            if (ref := each.object.spec.identity_ref) is not None and ref.name:
                named[Identity(each.metadata.namespace, ref)] = None
    for machine in found.all(mapi.Machine):
        given = provider_spec(machine.object)
        if not isinstance(given, Problem) and (secret := given.clouds_secret) is not None and secret.name:
            ref = IdentityReference(type="Secret", name=secret.name, cloud_name=given.cloud_name)
            named[Identity(secret.namespace or machine.metadata.namespace, ref, of_machine=True)] = None
    return named


async def objects(api: Api, kinds: Sequence[type[Any]], *, namespace: str | None = None) -> Objects:
    """All objects of the `kinds` that are served. Raises KubeErrors."""

    async def listing(kind: type[Any]) -> tuple[type[Any], Sequence[Object[Any]]] | None:
        try:
            return kind, (await api.list(kind, namespace=namespace)).items
        except NotServed:
            return None

    return Objects(dict(filter(None, await together(listing(kind) for kind in kinds))))


class Projects:
    """The projects of credentials that objects name. What cannot be asked has a sentence that says why."""

    def __init__(self, api: Api, clouds: Clouds) -> None:
        self._survey = Survey(api)
        self._survey.add_index(Secret, BY_NAME, lambda found: ())
        self._clouds = clouds

    async def account(
        self, ref: IdentityReference | None, namespace: str, *, of_machine: bool = False
    ) -> Account | str:
        """The project for an object in `namespace`; `of_machine`: see `Identity`."""
        if ref is None:
            return "there is no identityRef: name credentials in it"
        found = await credentials_of(self._survey, ref, namespace=namespace)
        if isinstance(found, IdentityTrouble):
            return found.message
        if of_machine and not found.cacert:
            found = replace(found, cacert=await authority(self._survey))
        return await self.of(found)

    async def of(self, credentials: Credentials) -> Account | str:
        try:
            return await self._clouds.project(credentials)
        except CloudFailure as failure:
            return str(failure)


async def trees(found: Objects, projects: Projects, wanted: Sequence[Present[OpenStackCluster]]) -> list[Node]:
    """The tree of each of the `wanted` clusters. Each project is listed once. Raises KubeErrors."""
    machines, servers = found.all(OpenStackMachine), found.all(OpenStackServer)
    groups = [members(each, machines, servers) for each in wanted]
    asked: dict[tuple[str, IdentityReference | None], Account | str] = {}
    also: dict[str, dict[Query, None]] = {}
    for group in groups:
        namespace = group.cluster.metadata.namespace
        for ref in {group.identity(each): None for each in group.all}:
            if (namespace, ref) not in asked:
                asked[namespace, ref] = await projects.account(ref, namespace)
        if isinstance(account := asked[namespace, group.identity(group.cluster)], Account):
            also.setdefault(account.key, {}).update(dict.fromkeys(recorded_elsewhere(group)))
    accounts = {each.key: each for each in asked.values() if isinstance(each, Account)}
    sights = await holdings_of(accounts.values(), also)

    def sight(asked_for: Account | str) -> Of:
        return asked_for if isinstance(asked_for, str) else sights[asked_for.key]

    return [
        tree(
            group,
            {
                ref: sight(answer)
                for (namespace, ref), answer in asked.items()
                if namespace == group.cluster.metadata.namespace
            },
        )
        for group in groups
    ]


async def holdings_of(accounts: Iterable[Account], also: Mapping[str, Iterable[Query]] | None = None) -> dict[str, Of]:
    """What each project has, or why that is not known, by its key. `also`: what else is looked for, by key."""

    async def of(account: Account) -> tuple[str, Of]:
        try:
            return account.key, await account.holdings((also or {}).get(account.key, ()))
        except CloudFailure as failure:
            return account.key, f"{account.where}: {failure}"

    return dict(await asyncio.gather(*map(of, accounts)))
