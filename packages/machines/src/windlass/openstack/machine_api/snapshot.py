"""The input of a decision about a Machine of the Machine API, and facts that follow from the object alone."""

from typing import Final, TypeAlias

from windlass.api.config import Infrastructure
from windlass.api.mapi import Machine, MachineSet
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Recorded
from windlass.openstack.cloud.requests import Intent
from windlass.openstack.constants import PROVIDER_ID
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.instance.spec import InstanceSpec, Problem
from windlass.openstack.machine_api.drain import NodeView
from windlass.openstack.machine_api.provider_spec import instance_spec
from windlass.openstack.objects import is_held, mark_of
from windlass.openstack.ownership import Facts, claim_of
from windlass.openstack.server.snapshot import ServerCloudFacts, Visit

PROVISIONING: Final = "Provisioning"
PROVISIONED: Final = "Provisioned"
RUNNING: Final = "Running"
DELETING: Final = "Deleting"
FAILED: Final = "Failed"


class MachineApiMachineSnapshot(Asking, frozen=True, kw_only=True):
    """What the decision asks for: `facts`, who else has the mark of its annotation; `fresh_mark`, the mark that the
    Machine is to get, in case it has none; `cloud`, or why there is no access to it; `user_data`, base64, or why there
    is none, None: it is not needed now; only while the Machine is being deleted, its `node`, and `owner`, which has the
    name of its MachineSet.
    """

    machine: Seen[Machine]
    infrastructure: Seen[Infrastructure] = Absent()
    last: Outcome = Outcome()
    facts: Facts = Facts()
    fresh_mark: str = ""
    cloud: ServerCloudFacts | IdentityTrouble | CloudFailure | None = None
    user_data: str | Problem | None = None
    node: NodeView | None = None
    owner: Seen[MachineSet] | None = None


MachineVisit: TypeAlias = Visit[MachineApiMachineSnapshot, Machine]


def server_of(found: Present[Machine]) -> str | Problem:
    """The ID of the server that providerID names; empty if there is none yet."""
    named = found.object.spec.provider_id
    if not named:
        return ""
    form = PROVIDER_ID.fullmatch(named)
    if form is None:
        text = (
            f"spec.providerID is {named!r}, which names no server in OpenStack: delete the Machine, or correct the ID"
        )
        return Problem("Invalid", "providerID", text)
    return form[2]


def recorded(found: Present[Machine]) -> Recorded:
    server = server_of(found)
    return Recorded(server=server if isinstance(server, str) else "")


def may_own(found: Present[Machine]) -> bool:
    """Whether something in the cloud may be its own: it has a mark, or a server."""
    return bool(claim_of(found).mark or recorded(found).server)


def adopts(found: Present[Machine]) -> bool:
    """It names a server, and has not been told to have it."""
    return bool(recorded(found).server) and found.object.status.phase in (None, "", PROVISIONING)


def intent_of(found: Present[Machine]) -> Intent | None:
    """The intent, if finalizer and mark were seen persisted; without it nothing may be created."""
    mark = mark_of(found)
    return Intent(mark) if mark and is_held(found) and not found.deleting else None


def spec_of(seen: MachineApiMachineSnapshot, found: Present[Machine]) -> InstanceSpec | tuple[Problem, ...]:
    infrastructure = seen.infrastructure
    return instance_spec(found.object, infrastructure.object if isinstance(infrastructure, Present) else None)
