"""What the decision about an OpenStackServer asks of other objects and of the cloud.

Questions that belong together are asked at once: before the first create, what the spec names; then what there is of
the server already, and under its name.
"""

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from windlass.api import capi, mapi, orc
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.ipam import IPAddressClaim
from windlass.kube.conditions import is_true
from windlass.kube.control.question import Cached, Confirmed, Live, Question
from windlass.kube.control.seen import Absent, Present
from windlass.openstack.cloud.account import VOLUMES
from windlass.openstack.cloud.inventory import NONE, ServerInventory
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.query import Answers
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.collected import named_owner, other_owner
from windlass.openstack.instance.address_pairs import changes
from windlass.openstack.instance.match import match
from windlass.openstack.instance.next import needs_extensions
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Send
from windlass.openstack.objects import claim_name, fresh_mark, is_paused
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import claim_of
from windlass.openstack.questions import Access, Extensions, FindOnce, InProject, Namesakes, NoAccess, ProjectOf
from windlass.openstack.recorders import Recorders
from windlass.openstack.server.building import step_of, unresolved
from windlass.openstack.server.image import image_of, name_of, with_image
from windlass.openstack.server.inventory import Looked, found_once, has_mark, is_of_another, look, quotas
from windlass.openstack.server.snapshot import (
    ServerCloudFacts,
    ServerSnapshot,
    Timing,
    adopted,
    adopts,
    has_recorded,
    made,
    may_have_namesakes,
    recorded,
    uses_volumes,
)
from windlass.openstack.status import PAUSED


def with_cluster(seen: ServerSnapshot, found: Present[OpenStackServer]) -> ServerSnapshot:
    """The snapshot; that there is no Cluster is not taken from the cache."""
    if seen.cluster_name and isinstance(seen.cluster, Absent):
        return replace(seen, cluster=seen.need(Confirmed(Cluster, seen.cluster_name, found.metadata.namespace)))
    return seen


def with_others(seen: ServerSnapshot, found: Present[OpenStackServer]) -> ServerSnapshot:
    """The snapshot, with who else has to do with the server, and with a new mark."""
    facts = replace(_owners(seen).facts(found), adopts=adopts(found))
    # What is recorded may exist although nothing has the mark; an object with choices had another mark before.
    new = recorded(found) == NONE and found.object.status.resolved is None
    seen = replace(seen, facts=facts, fresh_mark=fresh_mark(seen, found, unborn=new))
    if not found.deleting:
        return seen
    machine = named_owner(seen, found, OpenStackMachine)
    above = None
    if isinstance(machine, Present) and machine.deleting and other_owner(found, OpenStackMachine, machine):
        above = named_owner(seen, machine, capi.Machine)
    seen = replace(seen, machine=machine, above=above)
    if not (seen.machine_api and is_paused(found, seen.cluster)) or found.object.spec.floating_ip_pool_ref is None:
        return seen
    return replace(seen, claim=seen.need(Live(IPAddressClaim, claim_name(found), found.metadata.namespace)))


def with_cloud(
    seen: ServerSnapshot, found: Present[OpenStackServer], *, now: datetime, timing: Timing
) -> ServerSnapshot:
    """The snapshot, with what the cloud says, or why it says nothing."""
    cloud = _look(seen, found, now=now, timing=timing)
    if not isinstance(cloud, ServerCloudFacts):
        return replace(seen, cloud=cloud)
    seen = replace(seen, cloud=cloud)
    if not (is_paused(found, seen.cluster) or found.deleting):
        seen = _for_building(seen, found, cloud, now=now, timing=timing)
    if not isinstance(seen.cloud, ServerCloudFacts):
        return seen
    numbers = quotas(seen, _project(found), seen.cloud.blockers)
    return replace(seen, cloud=replace(seen.cloud, quotas=numbers))


def _owners(seen: ServerSnapshot) -> Owners:
    return Owners(seen, names=has_recorded)


def _project(found: Present[OpenStackServer]) -> ProjectOf:
    return ProjectOf(found.object.spec.identity_ref, found.metadata.namespace, claim_of(found).mark)


def _look(
    seen: ServerSnapshot, found: Present[OpenStackServer], *, now: datetime, timing: Timing
) -> ServerCloudFacts | NoAccess:
    of = _project(found)
    builds = not (is_paused(found, seen.cluster) or found.deleting)
    also = _with_the_look(seen, found, of, timing=timing) if builds else ()
    if not of.mark:
        seen.need_all((Access(of), *also))
        access = seen.need(Access(of))
        if not isinstance(access, InProject):
            return access
        return ServerCloudFacts(project=access.project, where=access.where, blockers=access.blockers, facts=seen.facts)
    kinds = (OpenStackServer, OpenStackMachine, *([mapi.Machine] if seen.machine_api else []))
    return look(
        seen,
        found,
        of,
        Looked(
            recorded=recorded(found),
            services=(VOLUMES,) if uses_volumes(found) else (),
            changes=lambda inventory: builds and _changes(found, inventory, of.mark),
            facts=seen.facts,
            owners=_owners(seen),
            recorders=Recorders(kinds, seen.mirrors),
            adopts=lambda inventory, former: bool(adopted(found) or former) and is_of_another(inventory, of.mark),
            handed_over=lambda inventory: _handed_over(seen, found, inventory, of.mark),
        ),
        also=also,
        now=now,
        timing=timing,
    )


def _changes(found: Present[OpenStackServer], inventory: ServerInventory, mark: str) -> bool:
    """Its ports get other address pairs. The list may lack those that others have added since."""
    whole = made(found)
    if not isinstance(whole.spec, InstanceSpec) or whole.resolved is None or not recorded(found).server:
        return False
    ports = match(whole.resolved, inventory, recorded=recorded(found), mark=mark).ports
    return any(changes(whole.resolved, whole.spec, ports, project="", mark=mark))


def _with_the_look(
    seen: ServerSnapshot, found: Present[OpenStackServer], of: ProjectOf, *, timing: Timing
) -> tuple[Question[Any], ...]:
    """What is asked for together with the first look, because the first create needs it."""
    whole = made(found)
    if recorded(found).server or not isinstance(whole.spec, InstanceSpec):
        return ()
    if whole.resolved is None:
        find = FindOnce(of, queries(whole.spec))
        return () if adopts(found) or seen.known(find) is not None else (find,)
    extensions = (Extensions(of),) if needs_extensions(whole.resolved) else ()
    if may_have_namesakes(found) or recorded(found) != NONE:
        return extensions
    return (*extensions, _namesakes(found, of, timing))


def _namesakes(found: Present[OpenStackServer], of: ProjectOf, timing: Timing) -> Namesakes:
    return Namesakes(of, found.metadata.name, claim_of(found).place, timing.namesakes)


def _for_building(
    seen: ServerSnapshot,
    found: Present[OpenStackServer],
    cloud: ServerCloudFacts,
    *,
    now: datetime,
    timing: Timing,
) -> ServerSnapshot:
    of, whole = _project(found), made(found)
    if whole.resolved is not None and needs_extensions(whole.resolved):
        extensions = seen.need(Extensions(of))
        if not isinstance(extensions, InProject):
            return replace(seen, cloud=extensions)
        cloud = replace(cloud, extensions=extensions.value, blockers=extensions.blockers)
    has_nothing = cloud.inventory is not None and not cloud.inventory.all and recorded(found) == NONE
    if has_nothing and not may_have_namesakes(found):
        namesakes = seen.need(_namesakes(found, of, timing))
        if not isinstance(namesakes, InProject):
            return replace(seen, cloud=namesakes)
        cloud = replace(cloud, namesakes=namesakes.value, blockers=namesakes.blockers)
    step = step_of(seen, found, cloud)
    if step is None and isinstance(whole.spec, InstanceSpec):
        seen = replace(seen, image=_image(seen, found))
        spec = with_image(whole.spec, seen.image)
        return replace(seen, cloud=_answered(seen, found, spec, cloud, now=now, timing=timing))
    seen = replace(seen, cloud=cloud)
    if isinstance(step, Send) and any(isinstance(request, CreateServer) for request in step.requests):
        seen = replace(seen, user_data=_user_data(seen, found))
    return seen


def _answered(
    seen: ServerSnapshot,
    found: Present[OpenStackServer],
    spec: InstanceSpec,
    cloud: ServerCloudFacts,
    *,
    now: datetime,
    timing: Timing,
) -> ServerCloudFacts | NoAccess:
    """The facts, with answers to what the spec names. Answers that do not resolve the spec are used until the next
    attempt is due."""

    def until(answers: Answers, at: datetime) -> datetime:
        resolved = resolve(spec, answers)
        return at if isinstance(resolved, Resolved) else unresolved(found, resolved, at, timing=timing)[1]

    find = FindOnce(_project(found), queries(spec))
    answer = found_once(seen, find, cloud.project, until=until, now=now)
    if not isinstance(answer.value, InProject):
        return answer.value
    return replace(cloud, answers=answer.value.value, answered=answer.at, blockers=answer.value.blockers)


def _image(seen: ServerSnapshot, found: Present[OpenStackServer]) -> str | Problem | None:
    name, place = name_of(found.object), found.metadata.namespace
    return image_of(seen.need(Cached(orc.Image, name, place)), f"{place}/{name}") if name else None


def _user_data(seen: ServerSnapshot, found: Present[OpenStackServer]) -> str | Problem | None:
    """Base64, as both Secrets and Nova have it."""
    ref = found.object.spec.user_data_ref
    if ref is None:
        return None
    place = found.metadata.namespace
    secret = seen.need(Live(Secret, ref.name, place))
    if not isinstance(secret, Present):
        return Problem("Dependency", "userDataRef", f"Secret {place}/{ref.name} of spec.userDataRef does not exist")
    data = secret.object.data.get("value")
    if not data:
        text = f"Secret {place}/{ref.name} of spec.userDataRef has no key `value`: put the user data there"
        return Problem("Dependency", "userDataRef", text)
    return data


def _handed_over(
    seen: ServerSnapshot, found: Present[OpenStackServer], inventory: ServerInventory, mark: str
) -> tuple[str, str]:
    """The mark on a recorded server that the Machine of this name in the Machine API has handed over (Cluster API has
    the authority, and nothing of the Machine API acts any more), and ""; while that is awaited: "" and why; else ""
    twice."""
    owner = next((theirs for each in inventory.servers if (theirs := mark_on(each)) not in ("", mark)), "")
    if not owner or not seen.machine_api or found.metadata.namespace != seen.mirrors:
        return "", ""
    name = found.metadata.name
    machine = seen.need(Live(mapi.Machine, name, seen.machine_api))
    if isinstance(machine, Present) and has_mark(machine, owner):
        status = machine.object.status
        if status.authoritative_api == "ClusterAPI" and is_true(status.conditions, PAUSED):
            return owner, ""
        if status.authoritative_api in ("ClusterAPI", "Migrating"):
            return "", f"Waiting for Machine {seen.machine_api}/{name} of the Machine API to hand over"
    return "", ""
