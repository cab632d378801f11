"""Reads the snapshot of an OpenStackServer: objects from caches, and of the cloud what the decision needs, no more."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from windlass.api import capi, mapi
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.ipam import IPAddressClaim
from windlass.kube.conditions import is_true
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, Present, Seen
from windlass.kube.object import NamespacedName
from windlass.openstack.answered import KeptAnswers
from windlass.openstack.cloud.account import VOLUMES, Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import NONE, ServerInventory
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.marks import place_of
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.cloud.resources import Server
from windlass.openstack.collected import named_owner, other_owner
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.openstack.identity.find import IdentityTrouble, credentials_of
from windlass.openstack.instance.next import needs_extensions
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Send
from windlass.openstack.objects import FreshMarks, claim_name, is_paused, machine_of
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import Facts, claim_of, may_be_unseen, replaced
from windlass.openstack.quota_numbers import QuotaNumbers
from windlass.openstack.recorders import Recorders
from windlass.openstack.server.building import step_of, unresolved
from windlass.openstack.server.decide import without_cloud
from windlass.openstack.server.snapshot import (
    ServerCloudFacts,
    ServerSnapshot,
    Timing,
    adopted,
    adopts,
    cluster_of,
    has_recorded,
    made,
    may_have_namesakes,
    recorded,
    uses_volumes,
)
from windlass.openstack.status import PAUSED


class ServerObserver:
    """Takes snapshots of OpenStackServers. It remembers marks that are not persisted yet, and answers that did not
    resolve a spec, so that not every round asks for them again. `machine_api`: the namespace of the Machines of the
    Machine API whose servers we have too; empty: we have none. `mirrors`: the namespace of their OpenStackServers."""

    def __init__(
        self,
        reader: IndexedReader,
        clouds: Clouds,
        *,
        timing: Timing,
        now: Callable[[], datetime],
        new_mark: Callable[[], str],
        machine_api: str,
        mirrors: str,
    ) -> None:
        self._reader = reader
        self._owners = Owners(reader, names=has_recorded)
        kinds = (OpenStackServer, OpenStackMachine, *([mapi.Machine] if machine_api else []))
        self._recorders = Recorders(reader, kinds, mirrors=mirrors)
        self._clouds = clouds
        self._timing = timing
        self._machine_api = machine_api
        self._mirrors = mirrors
        self._now = now
        self._fresh = FreshMarks(new_mark)
        self._marks: dict[NamespacedName, str] = {}
        self._answers = KeptAnswers(now)
        self._quotas = QuotaNumbers(now)

    async def __call__(self, key: NamespacedName, last: Outcome) -> ServerSnapshot:
        namespace, name = key
        found = await self._reader.see(OpenStackServer, name, namespace=namespace)
        if not isinstance(found, Present):
            if isinstance(found, Absent):
                self._forget(key)
            return ServerSnapshot(server=found, last=last)
        cluster = None
        if label := cluster_of(found):
            cluster = await self._reader.see(Cluster, label, namespace=namespace, confirm=True)
        facts = replace(await self._owners.facts(found), adopts=adopts(found))
        seen = ServerSnapshot(
            server=found,
            cluster=cluster,
            fresh_mark=self._fresh_mark(key, found),
            facts=facts,
            unnamed=await self._unnamed(found),
            last=last,
        )
        if found.deleting:
            seen = await self._with_owners(seen, found)
        if self._machine_api and found.deleting and is_paused(found, cluster):
            seen = replace(seen, claim=await self._claim(found))
        if isinstance(last.unread, CloudFailure):
            return replace(seen, cloud=last.unread)
        if without_cloud(seen, found, now=self._now(), timing=self._timing) is not None:
            return seen
        credentials = await credentials_of(
            self._reader, found.object.spec.identity_ref, namespace=found.metadata.namespace
        )
        if isinstance(credentials, IdentityTrouble):
            return replace(seen, cloud=credentials)
        project = await self._clouds.project(credentials)
        seen = replace(seen, cloud=await self._look(key, seen, found, project, credentials.where))
        if not (is_paused(found, seen.cluster) or found.deleting):
            seen = await self._for_building(key, seen, found, project)
        return await self._with_blockers(seen, found, project)

    async def _look(
        self, key: NamespacedName, seen: ServerSnapshot, found: Present[OpenStackServer], project: Account, where: str
    ) -> ServerCloudFacts:
        claim = claim_of(found)
        mark, cloud = claim.mark, ServerCloudFacts(project=project.key, where=where, facts=seen.facts)
        if not mark:
            return cloud
        services = (VOLUMES,) if uses_volumes(found) else ()
        had = recorded(found)
        inventory = await project.look(mark, had, services=services)
        if may_be_unseen(found, inventory.as_of):
            inventory = await project.look(mark, had, services=services, fresh=True)
        former, awaited = await self._handed_over(found, inventory, mark)
        if (adopted(found) or former) and is_of_another(inventory, mark):
            # The lists may be older than its ports, and what is not marked now is never deleted.
            inventory = await project.look(mark, had, services=services, fresh=True)
            volumes, trunks = attached_to(inventory, mark)
            had = replace(had, volumes=(*had.volumes, *volumes), trunks=(*had.trunks, *trunks))
            services = (VOLUMES,) if volumes else services
            inventory = await project.look(mark, had, services=services, fresh=bool(volumes))
        if inventory.is_look_due(self._now(), seconds=self._timing.lost):
            inventory = await project.look(mark, had, services=services, fresh=True)
        self._marks[key] = mark
        self._clouds.follow(key, project, mark, had)
        facts, formers = await replaceable(self._owners, found, seen.facts, inventory, former=former)
        inventory = inventory.with_others(lambda each: mark_on(each) in formers)
        if had.server:
            inventory = self._recorders.counted(found, inventory, had.server)
        inventory = inventory.settled({"", mark, *formers})
        return replace(cloud, inventory=inventory, facts=facts, formers=formers, awaited=awaited)

    async def _unnamed(self, found: Present[OpenStackServer]) -> str:
        """The machine that has to name its server first: a restored object without mark and status knows none."""
        name = machine_of(found)
        if not name or recorded(found) != NONE or MARK_ANNOTATION in found.metadata.annotations:
            return ""
        machine = await self._reader.see(OpenStackMachine, name, namespace=found.metadata.namespace)
        if not isinstance(machine, Present):
            return ""
        return name if machine.object.spec.provider_id or machine.object.status.instance_id else ""

    async def _with_owners(self, seen: ServerSnapshot, found: Present[OpenStackServer]) -> ServerSnapshot:
        """Who may have it again after a restore."""
        machine = await named_owner(self._reader, found, OpenStackMachine)
        above = None
        if isinstance(machine, Present) and machine.deleting and other_owner(found, OpenStackMachine, machine):
            above = await named_owner(self._reader, machine, capi.Machine)
        return replace(seen, machine=machine, above=above)

    async def _claim(self, found: Present[OpenStackServer]) -> Seen[IPAddressClaim] | None:
        """The IPAddressClaim of its floating IP, if the spec asks for one."""
        if found.object.spec.floating_ip_pool_ref is None:
            return None
        place = found.metadata.namespace
        return await self._reader.see(IPAddressClaim, claim_name(found), namespace=place, live=True)

    async def _handed_over(
        self, found: Present[OpenStackServer], inventory: ServerInventory, mark: str
    ) -> tuple[str, str]:
        """The mark on a recorded server that the Machine of this name in the Machine API has handed over (Cluster API
        has the authority, and nothing of the Machine API acts any more), and ""; while that is awaited: "" and why;
        else "" twice."""
        owner = next((theirs for each in inventory.servers if (theirs := mark_on(each)) not in ("", mark)), "")
        if not owner or not self._machine_api or found.metadata.namespace != self._mirrors:
            return "", ""
        name = found.metadata.name
        machine = await self._reader.see(mapi.Machine, name, namespace=self._machine_api, live=True)
        if isinstance(machine, Present) and has_mark(machine, owner):
            status = machine.object.status
            if status.authoritative_api == "ClusterAPI" and is_true(status.conditions, PAUSED):
                return owner, ""
            if status.authoritative_api in ("ClusterAPI", "Migrating"):
                return "", f"Waiting for Machine {self._machine_api}/{name} of the Machine API to hand over"
        return "", ""

    async def _for_building(
        self, key: NamespacedName, seen: ServerSnapshot, found: Present[OpenStackServer], project: Account
    ) -> ServerSnapshot:
        cloud, whole = seen.cloud, made(found)
        assert isinstance(cloud, ServerCloudFacts)
        if whole.resolved is not None and needs_extensions(whole.resolved):
            cloud = replace(cloud, extensions=await project.extensions())
        if not may_have_namesakes(found) and cloud.inventory is not None and is_nothing(cloud.inventory, found):
            namesakes = await project.servers_named(
                found.metadata.name, at=claim_of(found).place, age=self._timing.namesakes
            )
            cloud = replace(cloud, namesakes=namesakes)
        step = step_of(seen, found, cloud)
        if step is None and isinstance(whole.spec, InstanceSpec):
            cloud = await self._answered(key, found, whole.spec, cloud, project)
        seen = replace(seen, cloud=cloud)
        if isinstance(step, Send) and any(isinstance(request, CreateServer) for request in step.requests):
            seen = replace(seen, user_data=await self._user_data(found))
        return seen

    async def _answered(
        self,
        key: NamespacedName,
        found: Present[OpenStackServer],
        spec: InstanceSpec,
        cloud: ServerCloudFacts,
        project: Account,
    ) -> ServerCloudFacts:
        answered = await self._answers.of(key, queries(spec), project)
        resolved = resolve(spec, answered.answers)
        if not isinstance(resolved, Resolved):
            _, until = unresolved(found, resolved, answered.at, timing=self._timing)
            self._answers.keep(key, answered, until)
        return replace(cloud, answers=answered.answers, answered=answered.at)

    async def _user_data(self, found: Present[OpenStackServer]) -> str | Problem | None:
        """Base64, as both Secrets and Nova have it."""
        ref = found.object.spec.user_data_ref
        if ref is None:
            return None
        place = found.metadata.namespace
        secret = await self._reader.see(Secret, ref.name, namespace=place, live=True)
        if not isinstance(secret, Present):
            return Problem("Dependency", "userDataRef", f"Secret {place}/{ref.name} of spec.userDataRef does not exist")
        data = secret.object.data.get("value")
        if not data:
            text = f"Secret {place}/{ref.name} of spec.userDataRef has no key `value`: put the user data there"
            return Problem("Dependency", "userDataRef", text)
        return data

    async def _with_blockers(
        self, seen: ServerSnapshot, found: Present[OpenStackServer], project: Account
    ) -> ServerSnapshot:
        assert isinstance(seen.cloud, ServerCloudFacts)
        blockers = project.blockers(claim_of(found).mark)
        return replace(
            seen, cloud=replace(seen.cloud, blockers=blockers, quotas=await self._quotas.of(project, blockers))
        )

    def _fresh_mark(self, key: NamespacedName, found: Present[OpenStackServer]) -> str:
        # What is recorded may exist although nothing has the mark; an object with choices had another mark before.
        new = recorded(found) == NONE and found.object.status.resolved is None
        return self._fresh.of(key, found, born=self._clouds.born if new else None)

    def _forget(self, key: NamespacedName) -> None:
        self._fresh.forget(key)
        self._answers.forget(key)
        if mark := self._marks.pop(key, None):
            self._clouds.forget(key, mark)


async def replaceable(
    owners: Owners, found: Present[Any], facts: Facts, inventory: ServerInventory, *, former: str = ""
) -> tuple[Facts, frozenset[str]]:
    """The marks of the `inventory` that the object replaces by its own, and the facts that this follows from.
    `former`: the mark of the owner that has given its server up."""
    claim, strange = claim_of(found), _strange_roots(inventory, found.metadata.name)
    there = {mark_on(each) for each in (*inventory.all, *inventory.others)} - {"", claim.mark, former}
    facts = await owners.with_absent(facts, found, there)
    return facts, replaced(claim, there - strange, facts) | (frozenset({former}) if former else frozenset())


def _strange_roots(inventory: ServerInventory, name: str) -> frozenset[str]:
    """Of marks that are a root alone, those that may well be another one's: a copy in another management cluster has
    the root too. Servers say whose it is by their names; where there is none, the names of their parts do."""
    servers = [each for each in inventory.others if isinstance(each, Server)]
    own = {*map(mark_on, inventory.servers), *(mark_on(each) for each in servers if each.name == name)}
    strange = {mark_on(each) for each in servers if each.name != name}
    for each in inventory.others:
        if not (isinstance(each, Server) or mark_on(each) in own or (each.name or "").startswith(f"{name}-")):
            strange.add(mark_on(each))
    return frozenset(each for each in strange if not place_of(each))


def has_mark(found: Present[Any], mark: str) -> bool:
    """Whether what has this mark in the cloud is the object's to give up. That of a copy, or of an object of this name
    in another management cluster, is not."""
    claim = claim_of(found)
    return not claim.is_copied and mark in (claim.mark, claim.stored)


def is_nothing(inventory: ServerInventory, found: Present[OpenStackServer]) -> bool:
    """The object has no resources in the cloud, and records none."""
    return not inventory.all and recorded(found) == NONE


def is_of_another(inventory: ServerInventory, mark: str) -> bool:
    """The server does not have the mark: it is to be adopted."""
    return any(mark_on(each) != mark for each in inventory.servers)


def attached_to(inventory: ServerInventory, mark: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The volumes and the trunks of a server that is to be adopted."""
    servers = [each for each in inventory.servers if mark_on(each) != mark]
    ports = (*inventory.ports, *inventory.attached) if servers else ()
    trunks = (str(each.trunk_details["trunk_id"]) for each in ports if each.trunk_details)
    return tuple(each.id for server in servers for each in server.volumes), tuple(trunks)
