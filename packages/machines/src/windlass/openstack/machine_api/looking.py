"""What the decision about a Machine asks: of its Node and its Pods, of other objects, and of the cloud."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capo import IdentityReference, OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Node, Pod, Secret
from windlass.api.mapi import Machine, MachineSet
from windlass.kube.conditions import is_true
from windlass.kube.control.plan import Evict, Outcome
from windlass.kube.control.question import Indexed, Listed, Live, LiveIfAllowed, Question
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.kube.errors import Unevictable
from windlass.kube.object import Object
from windlass.openstack.cloud.account import VOLUMES
from windlass.openstack.cloud.inventory import NONE, ServerInventory
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.query import Answers
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.instance.next import needs_extensions
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Send, Standing
from windlass.openstack.machine_api.building import missing_group, step_of
from windlass.openstack.machine_api.conditions import DRAINED
from windlass.openstack.machine_api.constants import CLUSTER_API_NAMESPACE
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
from windlass.openstack.objects import fresh_mark, is_held, owner_name
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import claim_of
from windlass.openstack.questions import Extensions, Find, FindOnce, InProject, Namesakes, NoAccess, ProjectOf
from windlass.openstack.recorders import Recorders
from windlass.openstack.server.inventory import Looked, found_once, has_mark, look, quotas
from windlass.openstack.server.snapshot import ServerCloudFacts, Timing, may_have_namesakes
from windlass.openstack.status import PAUSED
from windlass.openstack.trouble import trouble_of_problems

BY_DELETION: Final = "deletion"
"""Index of Machines that are being deleted and have a Node: all have the value `DELETED`."""
DELETED: Final = "deleted"
KEPT: Final = 60.0
"""Seconds for which answers that resolved a provider spec are used again."""
_RECORDERS: Final = Recorders((Machine, OpenStackServer), CLUSTER_API_NAMESPACE)


def being_deleted(machine: Object[Any]) -> tuple[str, ...]:
    """The index `BY_DELETION`."""
    return (DELETED,) if machine.deleting else ()


def with_others(seen: MachineApiMachineSnapshot, found: Present[Machine]) -> MachineApiMachineSnapshot:
    """The snapshot, with who else has the mark, and with a new one; during deletion with Node and MachineSet."""
    # What is named may exist although nothing has the mark; a Machine that is held had another mark before.
    new = not (recorded(found).server or is_held(found))
    facts = replace(_owners(seen).facts(found), adopts=adopts(found))
    seen = replace(seen, facts=facts, fresh_mark=fresh_mark(seen, found, unborn=new))
    return replace(seen, node=_node(seen, found), owner=_set(seen, found)) if found.deleting else seen


def with_cloud(
    seen: MachineApiMachineSnapshot, found: Present[Machine], *, now: datetime, timing: Timing
) -> MachineApiMachineSnapshot:
    """The snapshot, with what the cloud says, or why it says nothing."""
    of = _project(found)
    if isinstance(of, IdentityTrouble):
        return replace(seen, cloud=of)
    builds = not found.deleting and bool(of.mark)
    cloud = look(
        seen,
        found,
        of,
        Looked(
            recorded=recorded(found),
            services=(VOLUMES,),
            facts=seen.facts,
            owners=_owners(seen),
            recorders=_RECORDERS,
            adopts=lambda inventory, former: bool(
                of.mark and (former or any(not mark_on(each) for each in inventory.servers))
            ),
            handed_over=lambda inventory: _handed_over(seen, found, inventory, of.mark),
        ),
        also=_with_the_look(seen, found, of, timing=timing) if builds else (),
        now=now,
        timing=timing,
    )
    seen = replace(seen, cloud=cloud)
    if builds and isinstance(cloud, ServerCloudFacts):
        seen = _for_building(seen, found, of, cloud, now=now, timing=timing)
    if not isinstance(seen.cloud, ServerCloudFacts):
        return seen
    return replace(seen, cloud=replace(seen.cloud, quotas=quotas(seen, of, seen.cloud.blockers)))


# Kubernetes


def _owners(seen: MachineApiMachineSnapshot) -> Owners:
    return Owners(seen, names=lambda each: bool(recorded(each).server))


def _set(seen: MachineApiMachineSnapshot, found: Present[Machine]) -> Seen[MachineSet] | None:
    name = owner_name(found.metadata, MachineSet)
    return seen.need(Live(MachineSet, name, found.metadata.namespace)) if name else None


def _node(seen: MachineApiMachineSnapshot, found: Present[Machine]) -> NodeView | None:
    ref = found.object.status.node_ref
    if ref is None:
        return None
    node = seen.need(Live(Node, ref.name))
    if not isinstance(node, Present) or is_skipped(found.object) or is_true(found.object.status.conditions, DRAINED):
        return NodeView(node=node)
    labels = CONTROL_PLANE_LABELS if is_control_plane(node.metadata) else ()
    pods, nodes = Listed(Pod, field_selector=f"spec.nodeName={ref.name}"), [Listed(Node, each) for each in labels]
    seen.need_all((pods, *nodes))
    view = NodeView(node=node, pods=seen.need(pods), refused=_refusals(seen.last))
    if not nodes:
        return view
    listed = [each for question in nodes for each in seen.need(question) if isinstance(each, Present)]
    others = {each.metadata.name: each for each in listed if each.metadata.name != node.metadata.name}
    earlier = {each.object.status.node_ref.name for each in _deleted_before(seen, found) if each.object.status.node_ref}
    return replace(
        view,
        cordoned=tuple(sorted(name for name, each in others.items() if each.object.spec.unschedulable)),
        earlier=tuple(sorted(earlier & others.keys())),
    )


def _deleted_before(seen: MachineApiMachineSnapshot, found: Present[Machine]) -> list[Present[Machine]]:
    """The Machines whose deletion began earlier: their Nodes are drained first."""
    machines = seen.need(Indexed(Machine, BY_DELETION, DELETED))
    return [each for each in machines if isinstance(each, Present) and _order(each) < _order(found)]


def _order(found: Present[Machine]) -> tuple[str, str]:
    return found.metadata.deletion_timestamp or "", found.metadata.name


def _refusals(last: Outcome) -> dict[str, str]:
    """The Pods, by uid, whose eviction was refused in this attempt, and why."""
    refused = (each for each in last.failures if isinstance(each.action, Evict))
    return {each.action.target.uid: why_refused(each.error) for each in refused if isinstance(each.error, Unevictable)}


def _user_data(seen: MachineApiMachineSnapshot, found: Present[Machine]) -> str | Problem | None:
    given = provider_spec(found.object)
    if isinstance(given, Problem) or given.user_data_secret is None or not given.user_data_secret.name:
        return None
    name, place = given.user_data_secret.name, found.metadata.namespace
    secret = seen.need(Live(Secret, name, place))
    where = f"Secret {place}/{name} of spec.providerSpec.value.userDataSecret"
    if not isinstance(secret, Present):
        return Problem("Dependency", "userDataSecret", f"{where} does not exist")
    return user_data(secret.object, where=where)


# the cloud


def _project(found: Present[Machine]) -> ProjectOf | IdentityTrouble:
    given = provider_spec(found.object)
    if isinstance(given, Problem):
        return IdentityTrouble(given.message)
    secret = given.clouds_secret
    if secret is None or not secret.name:
        return IdentityTrouble("spec.providerSpec.value.cloudsSecret names no Secret: set name")
    place = found.metadata.namespace
    if (foreign := foreign_secret("cloudsSecret", secret, home=place)) is not None:
        return IdentityTrouble(foreign.message)
    ref = IdentityReference(type="Secret", name=secret.name, cloud_name=given.cloud_name)
    return ProjectOf(ref, place, claim_of(found).mark, machine_api=True)


def _with_the_look(
    seen: MachineApiMachineSnapshot, found: Present[Machine], of: ProjectOf, *, timing: Timing
) -> Sequence[Question[Any]]:
    """What is asked for together with the first look, because the first create needs it."""
    spec = spec_of(seen, found)
    if recorded(found).server or not isinstance(spec, InstanceSpec):
        return ()
    find = FindOnce(of, queries(spec))
    named = () if may_have_namesakes(found) else (_namesakes(found, of, timing),)
    return (*named, find) if seen.known(find) is None else named


def _namesakes(found: Present[Machine], of: ProjectOf, timing: Timing) -> Namesakes:
    return Namesakes(of, found.metadata.name, claim_of(found).place, timing.namesakes)


def _handed_over(
    seen: MachineApiMachineSnapshot, found: Present[Machine], inventory: ServerInventory, mark: str
) -> tuple[str, str]:
    """The mark and "" once the OpenStackServer of this name in Cluster API has handed its server over: that object is
    paused, or it is gone and its OpenStackMachine is paused. Until then "" and what is awaited; two empty texts if no
    such object has the server."""
    owner = next((theirs for each in inventory.servers if (theirs := mark_on(each)) not in ("", mark)), "")
    if not owner:
        return "", ""
    name, namespace = found.metadata.name, CLUSTER_API_NAMESPACE
    kinds: tuple[type[Any], ...] = (OpenStackServer, OpenStackMachine)
    for kind in kinds:  # if neither has the mark, the owner is in another management cluster, and has the server
        other = seen.need(LiveIfAllowed(kind, name, namespace))
        if isinstance(other, Present) and has_mark(other, owner):
            awaited = f"Waiting for {kind.RESOURCE.kind} {namespace}/{name} of Cluster API to hand over"
            return (owner, "") if is_true(other.object.status.conditions, PAUSED) else ("", awaited)
        if not isinstance(other, Absent):
            return "", ""
    return "", ""


def _for_building(
    seen: MachineApiMachineSnapshot,
    found: Present[Machine],
    of: ProjectOf,
    cloud: ServerCloudFacts,
    *,
    now: datetime,
    timing: Timing,
) -> MachineApiMachineSnapshot:
    def visit(facts: ServerCloudFacts) -> MachineVisit:
        return MachineVisit(seen=seen, found=found, cloud=facts, now=now, timing=timing)

    spec = spec_of(seen, found)
    if not recorded(found).server and isinstance(spec, InstanceSpec):
        answered = _answered(seen, of, spec, visit(cloud), timing=timing)
        if not isinstance(answered, ServerCloudFacts):
            return replace(seen, cloud=answered)
        cloud = answered
    is_new = cloud.inventory is not None and not cloud.inventory.all and recorded(found) == NONE
    if is_new and not may_have_namesakes(found):
        namesakes = seen.need(_namesakes(found, of, timing))
        if not isinstance(namesakes, InProject):
            return replace(seen, cloud=namesakes)
        cloud = replace(cloud, namesakes=namesakes.value, blockers=namesakes.blockers)
    step = step_of(visit(cloud))
    if isinstance(step, Standing) and (query := floating_query(visit(cloud), step.server)) is not None:
        addresses = seen.need(Find(of, (query,)))
        if not isinstance(addresses, InProject):
            return replace(seen, cloud=addresses)
        cloud = replace(cloud, answers=addresses.value, blockers=addresses.blockers)
    if isinstance(step, Send) and any(isinstance(request, CreateServer) for request in step.requests):
        seen = replace(seen, user_data=_user_data(seen, found))
    return replace(seen, cloud=cloud)


def _answered(
    seen: MachineApiMachineSnapshot, of: ProjectOf, spec: InstanceSpec, visit: MachineVisit, *, timing: Timing
) -> ServerCloudFacts | NoAccess:
    """The facts, with answers to what the spec names. Answers that do not resolve the spec are used until the next
    attempt is due."""

    def lacks_group(answers: Answers) -> bool:
        """The answer is another one as soon as the group is made."""
        return missing_group(spec, replace(visit, cloud=replace(visit.cloud, answers=answers))) is not None

    def until(answers: Answers, at: datetime) -> datetime:
        resolved = resolve(spec, answers)
        if isinstance(resolved, Resolved):
            return at + timedelta(seconds=KEPT)
        return (
            at
            if lacks_group(answers)
            else trouble_of_problems(resolved, delays=timing.delays).due(at, since=visit.since)
        )

    find = FindOnce(of, queries(spec))
    answer = found_once(seen, find, visit.cloud.project, until=until, now=visit.now)
    value = answer.value
    if isinstance(value, InProject) and lacks_group(value.value):
        value = seen.need(find, this_round=True)
    if not isinstance(value, InProject):
        return value
    cloud = replace(visit.cloud, answers=value.value, answered=answer.at, blockers=value.blockers)
    resolved = resolve(spec, value.value)
    if isinstance(resolved, Resolved) and needs_extensions(resolved):
        extensions = seen.need(Extensions(of))
        if not isinstance(extensions, InProject):
            return extensions
        cloud = replace(cloud, extensions=extensions.value, blockers=extensions.blockers)
    return cloud
