"""What to do about a Machine of the Machine API. The rows, in order:

| situation | what is done | module |
|---|---|---|
| it does not exist, cannot be read, or is for another platform | nothing | |
| no authority is told | the one that is asked for is told | |
| the authority is not MachineAPI | `Paused`, once no request of ours can be under way, and nothing else | |
| the garbage collector deleted it after a restore | the finalizer goes; server and Node stay | `deleting` |
| it is being deleted | its Node is drained; its server goes, then its Node and the finalizer | `deleting` |
| its cluster label or its provider spec is missing | an Event | |
| its phase is Failed | nothing: it stays so until it is deleted | |
| its provider spec is wrong, and there is no server | phase Failed | `building` |
| nobody has looked at it | phase Provisioning | |
| its annotation has the mark of another Machine that exists | it is dropped | |
| it has no finalizer or no mark | both are stored | |
| the credentials or the cloud fail | say so, and when it is tried again; never phase Failed | |
| else | resolve, create, tell; its server is missing, twice: phase Failed | `building` |

Source: `pkg/controller/machine/controller.go` of openshift/machine-api-operator, whose phases, conditions and Events
these are.
"""

from datetime import datetime
from typing import Final

from windlass.api.mapi import Machine
from windlass.kube.conditions import condition, find, is_true
from windlass.kube.control.plan import Merge, Plan, target
from windlass.kube.control.seen import Present
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine_api import building, deleting
from windlass.openstack.machine_api.conditions import NOT_CREATED, exists_unknown, failure_event, paused, write
from windlass.openstack.machine_api.constants import MACHINE_API
from windlass.openstack.machine_api.looking import with_cloud, with_others
from windlass.openstack.machine_api.provider_spec import is_ours
from windlass.openstack.machine_api.snapshot import (
    FAILED,
    PROVISIONING,
    MachineApiMachineSnapshot,
    MachineVisit,
    recorded,
    server_of,
    spec_of,
)
from windlass.openstack.objects import dropped, event, intend, is_held, mark_of, unseen
from windlass.openstack.ownership import claim_of
from windlass.openstack.provider_spec_reading import MACHINE_API_CLUSTER_LABEL
from windlass.openstack.sending import at
from windlass.openstack.server.sending import under_way
from windlass.openstack.server.snapshot import TIMING, ServerCloudFacts, Timing
from windlass.openstack.status import AUTHENTICATED, INSTANCE_READY, PAUSED, Reason
from windlass.openstack.trouble import Trouble, lasting_since, trouble_of_no_access

STANDS_STILL: Final = ("ClusterAPI", "Migrating")
"""The authorities under which nothing is done."""


def decide(seen: MachineApiMachineSnapshot, *, now: datetime, timing: Timing = TIMING) -> Plan:
    """Pure: the rows of the module."""
    found = seen.machine
    if not isinstance(found, Present):
        return unseen(found, Machine)
    if not is_ours(found.object):
        return Plan.nothing("its provider spec is of another platform")
    seen = with_others(seen, found)
    plan = _before_the_cloud(seen, found, now=now, timing=timing)
    if plan is not None:
        return plan
    seen = with_cloud(seen, found, now=now, timing=timing)
    cloud = seen.cloud
    if not isinstance(cloud, ServerCloudFacts):
        if found.object.status.authoritative_api in STANDS_STILL:
            return _pause(found, None, now=now, timing=timing)
        return _out_of_reach(found, trouble_of_no_access(cloud, delays=timing.delays), now=now, timing=timing)
    visit = MachineVisit(seen=seen, found=found, cloud=cloud, now=now, timing=timing)
    if found.object.status.authoritative_api in STANDS_STILL:
        return _pause(found, visit, now=now, timing=timing)
    if not claim_of(found).mark and (cloud.inventory is None or cloud.inventory.servers):
        return Plan.of(intend(found, seen.fresh_mark))
    return deleting.delete(visit) if found.deleting else building.build(visit)


def _before_the_cloud(
    seen: MachineApiMachineSnapshot, found: Present[Machine], *, now: datetime, timing: Timing
) -> Plan | None:
    """The rows that come before the cloud is asked. None: none of them fits."""
    machine = found.object
    authority, asked = machine.status.authoritative_api, machine.spec.authoritative_api
    if not authority and asked:
        return Plan.of(_authority(found, asked))
    if authority in STANDS_STILL:
        return None if _is_in_between(found) else _pause(found, None, now=now, timing=timing)
    if authority not in ("", MACHINE_API):
        return Plan.nothing(f"status.authoritativeAPI is {authority!r}, which says nothing to the Machine API")
    if found.deleting:
        return deleting.before_the_cloud(seen, found, now=now)
    if (wrong := _invalid(machine)) is not None:
        return Plan.of(event(found, "FailedValidate", wrong, warning=True))
    if seen.facts.rival:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    if authority and (told := find(machine.status.conditions, PAUSED)) is not None and told.status != "False":
        return Plan.of(write(found, (), now=now, why="it is not paused any more"))
    if machine.status.phase == FAILED:
        return Plan.nothing("its phase is Failed: delete the Machine to replace it")
    return _first_steps(seen, found, now=now)


def _first_steps(seen: MachineApiMachineSnapshot, found: Present[Machine], *, now: datetime) -> Plan | None:
    """What precedes the first look at the cloud."""
    named = server_of(found)
    if isinstance(named, Problem):
        return building.fail(found, (named,), now=now)
    if named:
        return None
    spec = spec_of(seen, found)
    if isinstance(spec, tuple):
        return building.fail(found, spec, now=now)
    if not found.object.status.phase:
        return Plan.of(write(found, (NOT_CREATED,), phase=PROVISIONING, now=now))
    if claim_of(found).is_replacing:  # what there is in the cloud comes first
        return None
    if not (mark_of(found) and is_held(found)):
        return Plan.of(intend(found, seen.fresh_mark))
    return None


def _authority(found: Present[Machine], asked: str) -> Merge:
    return Merge(
        target=target(found),
        part="status",
        observed={"status": {}},
        desired={"status": {"authoritativeAPI": asked}},
        why="nobody has told the authority yet",
    )


def _invalid(machine: Machine) -> str | None:
    """Why the Machine API does not accept the Machine; None if it does."""
    problems = []
    if not machine.metadata.labels.get(MACHINE_API_CLUSTER_LABEL):
        problems.append(f"metadata.labels: missing {MACHINE_API_CLUSTER_LABEL} label")
    if machine.spec.provider_spec.value is None:
        problems.append("spec.providerSpec: value field must be set")
    return f"{machine.metadata.name}: machine validation failed: {'; '.join(problems)}" if problems else None


def _pause(found: Present[Machine], visit: MachineVisit | None, *, now: datetime, timing: Timing) -> Plan:
    """`Paused` is True once nothing can be under way any more. `visit` None: the cloud cannot say, or need not."""
    if _is_in_between(found):
        inventory = visit.inventory if visit is not None else None
        if (again := under_way(found.object.status.conditions, inventory, now=now, timing=timing)) is not None:
            return Plan.of(write(found, (condition(PAUSED, None, Reason.PAUSING, again.why),), now=now)).then(again)
    return Plan.of(write(found, (paused(found),), now=now, why="the other side may act now"))


def _is_in_between(found: Present[Machine]) -> bool:
    """Something may have been created whose result is not stored."""
    if is_true(found.object.status.conditions, PAUSED):
        return False
    return bool(mark_of(found)) and is_held(found) and not recorded(found).server


def _out_of_reach(found: Present[Machine], trouble: Trouble, *, now: datetime, timing: Timing) -> Plan:
    """The cloud cannot be asked. What was known about a server stays, until nothing has been heard for too long."""
    conditions = found.object.status.conditions
    since = lasting_since(conditions, trouble.type)
    until = trouble.due(now, since=since)
    told_now = [trouble.progress(until)]
    unheard = since is not None and (now - since).total_seconds() >= timing.overdue
    if trouble.type == AUTHENTICATED or not recorded(found).server:
        told_now += [trouble.condition, exists_unknown(trouble.message)]
    elif not trouble.by_itself or unheard:
        ready = condition(INSTANCE_READY, None, trouble.reason, trouble.message)
        told_now += [ready, exists_unknown(trouble.message)]
    action = "Delete" if found.deleting else "Update" if recorded(found).server else "Create"
    news = failure_event(found, action, trouble.condition)
    merge = write(found, told_now, now=now)
    return Plan.of(merge, news).then(at(until, trouble.message, now=now))
