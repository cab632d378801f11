"""What the cloud has of an object with a server: an OpenStackServer, or a Machine of the Machine API."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.kube.control.question import Answer, Asking, Question
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.account import VOLUMES
from windlass.openstack.cloud.failures import OverQuota
from windlass.openstack.cloud.inventory import Blockers, Quota, Recorded, ServerInventory
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.marks import place_of
from windlass.openstack.cloud.query import Answers
from windlass.openstack.cloud.resources import Server
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import Facts, claim_of, may_be_unseen, replaced
from windlass.openstack.questions import FindOnce, InProject, Look, NoAccess, ProjectOf, Quotas
from windlass.openstack.recorders import Recorders
from windlass.openstack.server.snapshot import ServerCloudFacts, Timing


class Looked(Struct, frozen=True, kw_only=True):
    """What an object has to be looked for by.

    `recorded`: what it names. `services`: beside compute and network. `facts`: who else has the mark of its annotation.
    `owners` and `recorders`: who else has what. `handed_over`: the mark of the owner that has given its server up, or
    why that is awaited. `adopts`: whether the server of this inventory is to become its own, given that former mark.
    `changes`: by this inventory, a part is to be changed that others change too.
    """

    recorded: Recorded
    services: tuple[str, ...]
    facts: Facts
    owners: Owners
    recorders: Recorders
    handed_over: Callable[[ServerInventory], tuple[str, str]]
    adopts: Callable[[ServerInventory, str], bool]
    changes: Callable[[ServerInventory], bool] = lambda _: False


def look(
    seen: Asking,
    found: Present[Any],
    of: ProjectOf,
    by: Looked,
    *,
    also: Sequence[Question[Any]] = (),
    now: datetime,
    timing: Timing,
) -> ServerCloudFacts | NoAccess:
    """What there is in the cloud. `also` is asked together with the first look."""
    mark, had, services = of.mark, by.recorded, by.services
    first = Look(of, had, services)
    seen.need_all((first, *also))
    answer = seen.need(first)
    if not isinstance(answer, InProject):
        return answer
    if may_be_unseen(found, answer.value.as_of):
        answer = seen.need(replace(first, fresh=True))
        if not isinstance(answer, InProject):
            return answer
    former, awaited = by.handed_over(answer.value)
    if by.adopts(answer.value, former):
        # The lists may be older than its ports, and what is not marked now is never deleted.
        answer = seen.need(replace(first, fresh=True))
        if not isinstance(answer, InProject):
            return answer
        volumes, trunks = attached_to(answer.value, mark)
        had = replace(had, volumes=(*had.volumes, *volumes), trunks=(*had.trunks, *trunks))
        listed = VOLUMES in services
        services = (VOLUMES,) if volumes else services
        answer = seen.need(Look(of, had, services, fresh=bool(volumes) and not listed))
        if not isinstance(answer, InProject):
            return answer
    if by.changes(answer.value) or answer.value.is_look_due(now, seconds=timing.lost):
        answer = seen.need(Look(of, had, services, fresh=True))
        if not isinstance(answer, InProject):
            return answer
    facts, formers = replaceable(by.owners, found, by.facts, answer.value, former=former)
    inventory = answer.value.with_others(lambda each: mark_on(each) in formers)
    if had.server:
        inventory = by.recorders.counted(seen, found, inventory, had.server)
    return ServerCloudFacts(
        project=answer.project,
        where=answer.where,
        blockers=answer.blockers,
        inventory=inventory.settled({"", mark, *formers}),
        facts=facts,
        formers=formers,
        awaited=awaited,
        region=answer.region,
    )


def found_once(
    seen: Asking, find: FindOnce, project: str, *, until: Callable[[Answers, datetime], datetime], now: datetime
) -> Answer[InProject[Answers] | NoAccess]:
    """What the project has for what a spec names. An answer of an earlier attempt is used `until` then."""
    had = seen.known(find)
    if had is not None and not had.round:
        value = had.value
        usable = isinstance(value, InProject) and value.project == project and now < until(value.value, had.at)
        seen.need(find, this_attempt=not usable)
    else:
        seen.need(find)
    answer = seen.known(find)
    assert answer is not None
    return answer


def quotas(seen: Asking, of: ProjectOf, blockers: Blockers) -> tuple[Quota, ...]:
    """The numbers of the project's quotas, for messages: asked for only while one is used up."""
    closed = (gate.why for gate in blockers.gates.values())
    if not any(isinstance(each, OverQuota) for each in (*closed, *(one.failure for one in blockers.refusals))):
        return ()
    answer = seen.need(Quotas(of))
    return answer.value if isinstance(answer, InProject) else ()


def replaceable(
    owners: Owners, found: Present[Any], facts: Facts, inventory: ServerInventory, *, former: str = ""
) -> tuple[Facts, frozenset[str]]:
    """The marks of the `inventory` that the object replaces by its own, and the facts that this follows from.
    `former`: the mark of the owner that has given its server up."""
    claim, strange = claim_of(found), _strange_roots(inventory, found.metadata.name)
    there = {mark_on(each) for each in (*inventory.all, *inventory.others)} - {"", claim.mark, former}
    facts = owners.with_absent(facts, found, there)
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


def is_of_another(inventory: ServerInventory, mark: str) -> bool:
    """The server does not have the mark: it is to be adopted."""
    return any(mark_on(each) != mark for each in inventory.servers)


def attached_to(inventory: ServerInventory, mark: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The volumes and the trunks of a server that is to be adopted."""
    servers = [each for each in inventory.servers if mark_on(each) != mark]
    ports = (*inventory.ports, *inventory.attached) if servers else ()
    trunks = (str(each.trunk_details["trunk_id"]) for each in ports if each.trunk_details)
    return tuple(each.id for server in servers for each in server.volumes), tuple(trunks)
