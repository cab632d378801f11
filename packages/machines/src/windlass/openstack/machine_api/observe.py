"""Reads the snapshot of a Machine: objects from caches, and of Node and cloud what the decision needs, no more."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capo import IdentityReference, OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.config import Infrastructure
from windlass.api.core import ConfigMap, Node, Pod, Secret
from windlass.api.mapi import Machine, MachineSet
from windlass.kube.conditions import is_true
from windlass.kube.control.plan import Evict, Outcome
from windlass.kube.control.seen import Absent, ListingReader, Present, Reader, Seen
from windlass.kube.errors import Undeclared, Unevictable
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.answered import KeptAnswers
from windlass.openstack.cloud.account import VOLUMES, Account
from windlass.openstack.cloud.clouds import Clouds, Owner
from windlass.openstack.cloud.credentials import Credentials, read_authority
from windlass.openstack.cloud.failures import CloudFailure, Unauthenticated
from windlass.openstack.cloud.inventory import NONE, ServerInventory
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.identity.find import IdentityTrouble, credentials_in
from windlass.openstack.instance.next import needs_extensions
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Send, Standing
from windlass.openstack.machine_api.building import missing_group, step_of
from windlass.openstack.machine_api.conditions import DRAINED
from windlass.openstack.machine_api.constants import CLUSTER_API_NAMESPACE
from windlass.openstack.machine_api.decide import without_cloud
from windlass.openstack.machine_api.drain import (
    CONTROL_PLANE_LABELS,
    NodeView,
    is_control_plane,
    is_skipped,
    why_refused,
)
from windlass.openstack.machine_api.floating_ip import floating_query
from windlass.openstack.machine_api.provider_spec import foreign_secret, provider_spec
from windlass.openstack.machine_api.snapshot import MachineApiMachineSnapshot, MachineVisit, adopts, recorded, spec_of
from windlass.openstack.machine_api.user_data import user_data
from windlass.openstack.objects import FreshMarks, is_held, owner_name
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import claim_of, may_be_unseen
from windlass.openstack.quota_numbers import QuotaNumbers
from windlass.openstack.recorders import Recorders
from windlass.openstack.server.observe import attached_to, has_mark, replaceable
from windlass.openstack.server.snapshot import ServerCloudFacts, Timing, may_have_namesakes
from windlass.openstack.status import PAUSED
from windlass.openstack.trouble import trouble_of_problems

BY_DELETION: Final = "deletion"
"""Index of Machines that are being deleted and have a Node: all have the value `DELETED`."""
DELETED: Final = "deleted"
AUTHORITY: Final = ("openshift-config", "cloud-provider-config", "ca-bundle.pem")
"""Namespace, name and key of the ConfigMap with the CA of the cloud, where the Secret has none."""
KEPT: Final = 60.0
"""Seconds for which answers that resolved a provider spec are used again, and for which the CA is."""


class MachineApiMachineObserver:
    """Takes snapshots of Machines. It remembers marks that are not persisted yet, answers of the cloud until there is a
    server, and which evictions were refused in an attempt."""

    def __init__(
        self,
        reader: ListingReader,
        clouds: Clouds,
        *,
        timing: Timing,
        now: Callable[[], datetime],
        new_mark: Callable[[], str],
    ) -> None:
        self._reader = reader
        self._owners = Owners(reader, names=lambda each: bool(recorded(each).server))
        self._recorders = Recorders(reader, (Machine, OpenStackServer), mirrors=CLUSTER_API_NAMESPACE)
        self._clouds = clouds
        self._timing = timing
        self._now = now
        self._fresh = FreshMarks(new_mark)
        self._marks: dict[NamespacedName, str] = {}
        self._answers = KeptAnswers(now)
        self._refused: dict[NamespacedName, dict[str, str]] = {}
        self._authority: tuple[datetime, str | IdentityTrouble] | None = None
        self._quotas = QuotaNumbers(now)

    async def __call__(self, key: NamespacedName, last: Outcome) -> MachineApiMachineSnapshot:
        namespace, name = key
        found = await self._reader.see(Machine, name, namespace=namespace)
        if not isinstance(found, Present):
            if isinstance(found, Absent):
                self._forget(key)
            return MachineApiMachineSnapshot(machine=found, last=last)
        seen = MachineApiMachineSnapshot(
            machine=found, infrastructure=await self._reader.see(Infrastructure, "cluster"), node=None, last=last
        )
        if found.deleting:
            seen = replace(seen, node=await self._node(key, found, last), owner=await self._set(found))
        # What is named may exist although nothing has the mark; a Machine that is held had another mark before.
        born = None if recorded(found).server or is_held(found) else self._clouds.born
        facts = replace(await self._owners.facts(found), adopts=adopts(found))
        seen = replace(seen, fresh_mark=self._fresh.of(key, found, born=born), facts=facts)
        if isinstance(last.unread, CloudFailure):
            return replace(seen, cloud=last.unread)
        if without_cloud(seen, found, now=self._now(), timing=self._timing) is not None:
            return seen
        credentials = await self._credentials(found)
        if isinstance(credentials, IdentityTrouble):
            return replace(seen, cloud=credentials)
        return await self._in_cloud(key, seen, found, credentials)

    async def _in_cloud(
        self, key: NamespacedName, seen: MachineApiMachineSnapshot, found: Present[Machine], credentials: Credentials
    ) -> MachineApiMachineSnapshot:
        project = await self._clouds.project(credentials)
        region = credentials.region or str(credentials.cloud.get("region_name") or "")
        cloud = await self._look(key, seen, found, project)
        seen = replace(seen, cloud=replace(cloud, where=credentials.where), region=region)
        if not found.deleting and claim_of(found).mark:
            seen = await self._for_building(key, seen, found, project)
        return await self._with_blockers(seen, found, project)

    # Kubernetes

    async def _set(self, found: Present[Machine]) -> Seen[MachineSet] | None:
        name = owner_name(found.metadata, MachineSet)
        place = found.metadata.namespace
        return await self._reader.see(MachineSet, name, namespace=place, live=True) if name else None

    async def _node(self, key: NamespacedName, found: Present[Machine], last: Outcome) -> NodeView | None:
        ref = found.object.status.node_ref
        if ref is None:
            return None
        node = await self._reader.see(Node, ref.name, live=True)
        view = NodeView(node=node)
        if not isinstance(node, Present) or is_skipped(found.object) or _is_drained(found):
            return view
        if is_control_plane(node.metadata):
            view = replace(view, **await self._others(found, node))
        pods = await self._reader.listed(Pod, field_selector=f"spec.nodeName={ref.name}")
        return replace(view, pods=tuple(pods), refused=self._refusals(key, last))

    async def _others(self, found: Present[Machine], node: Present[Node]) -> dict[str, Any]:
        nodes: dict[str, Present[Node]] = {}
        for label in CONTROL_PLANE_LABELS:
            listed = await self._reader.listed(Node, label_selector=label)
            nodes |= {each.metadata.name: each for each in listed if isinstance(each, Present)}
        nodes.pop(node.metadata.name, None)
        drained_first = [each for each in self._being_deleted() if _order(each) < _order(found)]
        named = {each.object.status.node_ref.name for each in drained_first if each.object.status.node_ref is not None}
        return {
            "cordoned": tuple(sorted(name for name, each in nodes.items() if each.object.spec.unschedulable)),
            "earlier": tuple(sorted(named & nodes.keys())),
        }

    def _being_deleted(self) -> list[Present[Machine]]:
        machines = (each.decode() for each in self._reader.indexed(Machine, BY_DELETION, DELETED))
        return [Present(each, b"") for each in machines]

    def _refusals(self, key: NamespacedName, last: Outcome) -> Mapping[str, str]:
        """The evictions that were refused in this attempt. The runtime shows those of the last round only."""
        if not last.results:
            self._refused.pop(key, None)
        for each in last.failures:
            if isinstance(each.action, Evict) and isinstance(each.error, Unevictable):
                self._refused.setdefault(key, {})[each.action.target.uid] = why_refused(each.error)
        return dict(self._refused.get(key, {}))

    async def _credentials(self, found: Present[Machine]) -> Credentials | IdentityTrouble:
        given = provider_spec(found.object)
        if isinstance(given, Problem):
            return IdentityTrouble(given.message)
        secret = given.clouds_secret
        if secret is None or not secret.name:
            return IdentityTrouble("spec.providerSpec.value.cloudsSecret names no Secret: set name")
        place = found.metadata.namespace
        if (foreign := foreign_secret("cloudsSecret", secret, home=place)) is not None:
            return IdentityTrouble(foreign.message)
        where = "spec.providerSpec.value.cloudsSecret"
        ref = IdentityReference(type="Secret", name=secret.name, cloud_name=given.cloud_name)
        credentials = await credentials_in(self._reader, place, secret.name, ref=ref, named_by=where)
        if isinstance(credentials, IdentityTrouble) or credentials.cacert:
            return credentials
        ca = await self._ca()
        return ca if isinstance(ca, IdentityTrouble) else replace(credentials, cacert=ca)

    async def _ca(self) -> str | IdentityTrouble:
        """The CA of the cluster's own configuration; empty if it has none."""
        if self._authority is None or self._now() - self._authority[0] > timedelta(seconds=KEPT):
            self._authority = self._now(), await authority(self._reader)
        return self._authority[1]

    async def _user_data(self, found: Present[Machine]) -> str | Problem | None:
        given = provider_spec(found.object)
        if isinstance(given, Problem) or given.user_data_secret is None or not given.user_data_secret.name:
            return None
        name, place = given.user_data_secret.name, found.metadata.namespace
        secret = await self._reader.see(Secret, name, namespace=place, live=True)
        where = f"Secret {place}/{name} of spec.providerSpec.value.userDataSecret"
        if not isinstance(secret, Present):
            return Problem("Dependency", "userDataSecret", f"{where} does not exist")
        return user_data(secret.object, where=where)

    # the cloud

    async def _look(
        self, key: NamespacedName, seen: MachineApiMachineSnapshot, found: Present[Machine], project: Account
    ) -> ServerCloudFacts:
        mark, had = claim_of(found).mark, recorded(found)
        inventory = await project.look(mark, had, services=(VOLUMES,))
        if may_be_unseen(found, inventory.as_of):
            inventory = await project.look(mark, had, services=(VOLUMES,), fresh=True)
        former, awaited = await self._handed_over(found, inventory, mark)
        if mark and (former or any(not mark_on(each) for each in inventory.servers)):
            # The lists may be older than its ports, and what is not marked now is never deleted.
            inventory = await project.look(mark, had, services=(VOLUMES,), fresh=True)
            volumes, trunks = attached_to(inventory, mark)
            had = replace(had, volumes=volumes, trunks=trunks)
            inventory = await project.look(mark, had, services=(VOLUMES,))
        if inventory.is_look_due(self._now(), seconds=self._timing.lost):
            inventory = await project.look(mark, had, services=(VOLUMES,), fresh=True)
        if mark:
            self._marks[key] = mark
            self._clouds.follow(Owner(Machine, key), project, mark, had)
        facts, formers = await replaceable(self._owners, found, seen.facts, inventory, former=former)
        inventory = inventory.with_others(lambda each: mark_on(each) in formers)
        if had.server:
            inventory = self._recorders.counted(found, inventory, had.server)
        inventory = inventory.settled({"", mark, *formers})
        return ServerCloudFacts(project=project.key, inventory=inventory, facts=facts, formers=formers, awaited=awaited)

    async def _handed_over(self, found: Present[Machine], inventory: ServerInventory, mark: str) -> tuple[str, str]:
        """The mark on a server whose owner, the OpenStackServer of this name in Cluster API, has given it up: it is
        paused, or gone and its OpenStackMachine is paused, and the Machine has the authority. Else why that is still
        awaited, if it is."""
        owner = next((theirs for each in inventory.servers if (theirs := mark_on(each)) not in ("", mark)), "")
        if not owner:
            return "", ""
        name, namespace = found.metadata.name, CLUSTER_API_NAMESPACE
        kinds: tuple[type[Any], ...] = (OpenStackServer, OpenStackMachine)
        for kind in kinds:  # if neither has the mark, the owner is in another management cluster, and has the server
            try:
                other: Seen[Any] = await self._reader.see(kind, name, namespace=namespace, live=True)
            except Undeclared:
                return "", ""
            if isinstance(other, Present) and has_mark(other, owner):
                awaited = f"Waiting for {kind.RESOURCE.kind} {namespace}/{name} of Cluster API to hand over"
                return (owner, "") if is_true(other.object.status.conditions, PAUSED) else ("", awaited)
            if not isinstance(other, Absent):
                return "", ""
        return "", ""

    async def _for_building(
        self, key: NamespacedName, seen: MachineApiMachineSnapshot, found: Present[Machine], project: Account
    ) -> MachineApiMachineSnapshot:
        cloud, spec = seen.cloud, spec_of(seen, found)
        assert isinstance(cloud, ServerCloudFacts)
        if not recorded(found).server and isinstance(spec, InstanceSpec):
            seen = replace(seen, cloud=await self._answered(key, seen, found, spec, cloud, project))
        assert isinstance(seen.cloud, ServerCloudFacts)
        inventory = seen.cloud.inventory
        is_new = inventory is not None and not inventory.all and recorded(found) == NONE
        if is_new and not may_have_namesakes(found):
            namesakes = await project.servers_named(
                found.metadata.name, at=claim_of(found).place, age=self._timing.namesakes
            )
            seen = replace(seen, cloud=replace(seen.cloud, namesakes=namesakes))
        step = step_of(self._visit(seen, found))
        if isinstance(step, Standing) and (query := floating_query(self._visit(seen, found), step.server)) is not None:
            assert isinstance(seen.cloud, ServerCloudFacts)
            seen = replace(seen, cloud=replace(seen.cloud, answers=await project.find([query])))
        if isinstance(step, Send) and any(isinstance(request, CreateServer) for request in step.requests):
            seen = replace(seen, user_data=await self._user_data(found))
        return seen

    async def _answered(
        self,
        key: NamespacedName,
        seen: MachineApiMachineSnapshot,
        found: Present[Machine],
        spec: InstanceSpec,
        cloud: ServerCloudFacts,
        project: Account,
    ) -> ServerCloudFacts:
        answered = await self._answers.of(key, queries(spec), project)
        until = answered.at + timedelta(seconds=KEPT)
        cloud = replace(cloud, answers=answered.answers, answered=answered.at)
        resolved = resolve(spec, answered.answers)
        visit = self._visit(replace(seen, cloud=cloud), found)
        if isinstance(resolved, Resolved):
            if needs_extensions(resolved):
                cloud = replace(cloud, extensions=await project.extensions())
        elif missing_group(spec, visit) is not None:
            self._answers.forget(key)  # the answer is another one as soon as the group is made
            return cloud
        else:
            until = trouble_of_problems(resolved, delays=self._timing.delays).due(answered.at, since=visit.since)
        self._answers.keep(key, answered, until)
        return cloud

    def _visit(self, seen: MachineApiMachineSnapshot, found: Present[Machine]) -> MachineVisit:
        assert isinstance(seen.cloud, ServerCloudFacts)
        return MachineVisit(seen=seen, found=found, cloud=seen.cloud, now=self._now(), timing=self._timing)

    async def _with_blockers(
        self, seen: MachineApiMachineSnapshot, found: Present[Machine], project: Account
    ) -> MachineApiMachineSnapshot:
        assert isinstance(seen.cloud, ServerCloudFacts)
        blockers = project.blockers(claim_of(found).mark)
        return replace(
            seen, cloud=replace(seen.cloud, blockers=blockers, quotas=await self._quotas.of(project, blockers))
        )

    def _forget(self, key: NamespacedName) -> None:
        self._fresh.forget(key)
        self._answers.forget(key)
        self._refused.pop(key, None)
        if mark := self._marks.pop(key, None):
            self._clouds.forget(Owner(Machine, key), mark)


async def authority(reader: Reader) -> str | IdentityTrouble:
    """The CA of clouds in the cluster's own configuration; empty if it has none."""
    namespace, name, entry = AUTHORITY
    found = await reader.see(ConfigMap, name, namespace=namespace, live=True)
    text = found.object.data.get(entry, "") if isinstance(found, Present) else ""
    try:
        return read_authority(text, where=f"the key {entry} of ConfigMap {namespace}/{name}")
    except Unauthenticated as wrong:
        return IdentityTrouble(wrong.fault)


def being_deleted(machine: Object[Any]) -> tuple[str, ...]:
    """The index `BY_DELETION`."""
    return (DELETED,) if machine.deleting else ()


def _is_drained(found: Present[Machine]) -> bool:
    return is_true(found.object.status.conditions, DRAINED)


def _order(found: Present[Machine]) -> tuple[str, str]:
    return found.metadata.deletion_timestamp or "", found.metadata.name
