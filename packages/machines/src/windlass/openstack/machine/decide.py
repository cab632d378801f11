"""What to do about an OpenStackMachine. The rows, in order:

| situation | what is done | module |
|---|---|---|
| it does not exist, or cannot be read | nothing | |
| it was recreated or restored, and nobody owns its OpenStackServer | it owns that one again | `existing` |
| it is paused, or its Cluster is | its OpenStackServer is paused too, then `Paused` says so | `pause` |
| its OpenStackServer knows no server, and it does | it names the server to it | `existing` |
| it is being deleted | its OpenStackServer is deleted, then the finalizer goes | `deletion` |
| its OpenStackServer exists | the machine repeats what the status of that object says | `conditions` |
| an OpenStackServer of its name belongs to something else | InvalidConfiguration | |
| no Machine owns it, or there is no Cluster or OpenStackCluster | wait | |
| its providerID names no server in OpenStack | InvalidConfiguration | `existing` |
| its Cluster has no infrastructure yet | WaitingForClusterInfrastructure | |
| a server exists already | an OpenStackServer for that one | `server_of` |
| there is no bootstrap data | WaitingForBootstrapData | |
| else | an OpenStackServer | `server_of` |
| that was refused | InstanceCreateFailed, and the refusal | |

`spec.providerID` is stored before the one write that says `provisioned`: Cluster API copies it with the addresses then.
"""

from datetime import datetime
from typing import Any, Final

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import tree
from windlass.kube.conditions import TRUE, condition, find, is_true
from windlass.kube.control.plan import Create, Merge, Plan, WaitFor, target
from windlass.kube.control.seen import NotServedKind, Present, Unreadable
from windlass.openstack.constants import PAUSED_ANNOTATION
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.conditions import WAITS_FOR_SERVER, in_the_way, ingress, mirrored, write
from windlass.openstack.machine.deletion import delete
from windlass.openstack.machine.existing import existing_server, naming, own_server, provider_id, taken_back
from windlass.openstack.machine.looking import with_others
from windlass.openstack.machine.server_of import foreign, identity_of, make, with_address_pairs, with_identity
from windlass.openstack.machine.snapshot import HANDED_DOWN, OpenStackMachineSnapshot
from windlass.openstack.objects import intend, is_paused, mark_of, unseen
from windlass.openstack.status import INSTANCE_READY, PAUSED, RESTS, Reason, progressing


def decide(seen: OpenStackMachineSnapshot, *, now: datetime) -> Plan:
    """Pure: the rows of the module."""
    found = seen.machine
    if not isinstance(found, Present):
        return unseen(found, OpenStackMachine)
    seen = with_others(seen, found)
    server = own_server(seen, found)
    if server is not None and not found.deleting and (owned := taken_back(found, server)).needed:
        return Plan.of(owned)
    if is_paused(found, seen.cluster):
        return pause(seen, found, now=now)
    if server is not None and (resumed := resume(server)) is not None:
        return Plan.of(resumed)
    if server is not None and (named := naming(seen, found, server)) is not None:
        return Plan.of(named)
    if found.deleting:
        return delete(seen, found, now=now)
    if server is not None:
        return _report(seen, found, server, now=now)
    if isinstance(seen.server, Unreadable | NotServedKind):
        return Plan.nothing(f"its OpenStackServer cannot be read: {seen.server.why}")
    return _make(seen, found, now=now)


def _make(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], *, now: datetime) -> Plan:
    """It has no OpenStackServer."""
    place, name = found.metadata.namespace, found.metadata.name
    if isinstance(seen.server, Present):
        whose = f"OpenStackServer {place}/{name} belongs to {foreign(seen.server)}"
        text = f"{whose}: delete it, or give the machine another name"
        return Plan.of(in_the_way(seen, found, Reason.INVALID_CONFIGURATION, text, now=now, by_itself=False))
    if awaited := _awaited(seen, found):
        return Plan.of(in_the_way(seen, found, Reason.WAITING_FOR_CLUSTER, awaited, now=now))
    exists = existing_server(seen, found)
    if isinstance(exists, Problem):
        return _invalid(seen, found, exists, now=now)
    if not exists and (text := _no_bootstrap_data(seen)):
        return Plan.of(in_the_way(seen, found, Reason.WAITING_FOR_BOOTSTRAP_DATA, text, now=now))
    plan = make(seen, found, existing=exists)
    if isinstance(plan, Problem):
        return _invalid(seen, found, plan, now=now)
    if (failed := seen.last.failed) is not None and isinstance(failed.action, Create):
        text = f"Failed to create OpenStackServer {name}: {failed.error}"
        return Plan.of(in_the_way(seen, found, Reason.INSTANCE_CREATE_FAILED, text, now=now)).retry(text)
    said = find(found.object.status.conditions, INSTANCE_READY)
    if said is not None and said.reason == Reason.INSTANCE_CREATE_FAILED:  # it is told until one is created
        return plan
    return Plan((write(seen, found, WAITS_FOR_SERVER, now=now), *plan.actions), plan.next)


def _awaited(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> str:
    """What of Cluster API is missing, as a sentence; empty if all is there."""
    place = found.metadata.namespace
    if seen.owner is None:
        return "Waiting for Cluster API to set the Machine as owner of this object"
    if not isinstance(seen.owner, Present):
        return "Waiting for the Machine that owns this object"
    if not isinstance(seen.cluster, Present):
        return f"Waiting for Cluster {place}/{seen.cluster_name}"
    if not isinstance(seen.infra, Present):
        return f"Waiting for OpenStackCluster {place}/{seen.cluster.object.spec.infrastructure_ref.name}"
    if not seen.cluster.object.status.initialization.infrastructure_provisioned:
        name = seen.infra.metadata.name
        return (
            f"Waiting for the infrastructure of Cluster {seen.cluster_name}: OpenStackCluster {name} is not provisioned"
        )
    return ""


def _no_bootstrap_data(seen: OpenStackMachineSnapshot) -> str:
    assert isinstance(seen.owner, Present)
    if seen.owner.object.spec.bootstrap.data_secret_name:
        return ""
    return f"Waiting for bootstrap data: spec.bootstrap.dataSecretName of Machine {seen.owner.metadata.name} is not set"


def _invalid(
    seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], problem: Problem, *, now: datetime
) -> Plan:
    reason = Reason.INVALID_MACHINE_SPEC if problem.field == "ports" else Reason.INVALID_CONFIGURATION
    return Plan.of(in_the_way(seen, found, reason, problem.message, now=now, by_itself=False))


def _report(
    seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], server: Present[OpenStackServer], *, now: datetime
) -> Plan:
    """The OpenStackServer exists. Known facts about the server stay while the OpenStackServer does not report them any
    more."""
    status, had = server.object.status, found.object.status
    exists = existing_server(seen, found)
    if isinstance(exists, str) and exists and status.instance_id and exists != status.instance_id:
        text = f"spec.providerID names server {exists}, but its OpenStackServer has {status.instance_id}: correct it"
        exists = Problem("Invalid", "providerID", text)
    if isinstance(exists, Problem):
        return _invalid(seen, found, exists, now=now)
    addresses = status.addresses or had.addresses
    known = {
        "instanceID": status.instance_id,
        "instanceState": status.instance_state,
        "addresses": [tree(each) for each in addresses],
    }
    fields: dict[str, Any] = {name: value for name, value in known.items() if value}
    told, reached = mirrored(server, addresses=bool(addresses)), ingress(seen, found)
    stored = None
    if status.instance_id and any((each.type, each.status) == (INSTANCE_READY, TRUE) for each in told):
        stored = _with_provider_id(found, status.instance_id)
        if reached is None or reached.status == TRUE:
            fields["initialization"] = {"provisioned": True}
        else:
            told = (*told, progressing(reached.message))
    credentials = with_identity(server, identity_of(found.object, seen.known_infra))
    # One that is being deleted may be that of an earlier machine of this name.
    mark = "" if server.deleting else mark_of(server)
    rotates = credentials is not None and credentials.needed  # one write to an object at a time
    pairs = None if rotates else with_address_pairs(server, found.object)
    before = Plan.of(intend(found, mark, carried=True), credentials, pairs, stored)
    if stored is not None and stored.needed:  # the status says which generation it is about
        return before
    merge = write(seen, found, (*told, *([reached] if reached is not None else ())), now=now, fields=fields)
    return Plan.of(*before.actions, merge)


def _with_provider_id(found: Present[OpenStackMachine], server: str) -> Merge:
    spec: dict[str, Any] = dict(found.tree.get("spec") or {})
    desired = {**spec, "providerID": provider_id(found, server)}
    why = "Cluster API copies it when the machine is provisioned"
    return Merge(target=target(found), observed={"spec": spec}, desired={"spec": desired}, why=why)


# A paused machine: its OpenStackServer is paused with it, and `Paused` is True once that one stands still.
#
# The OpenStackServer follows the Cluster by itself. The annotation of the machine is handed down, with a value that
# says so: it is taken back with the machine's own, and a pause that somebody else set on the OpenStackServer stays.

_WAITS: Final = "Waiting for the OpenStackServer to stand still"


def pause(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], *, now: datetime) -> Plan:
    server = own_server(seen, found)
    if server is None or is_true(server.object.status.conditions, PAUSED):
        handed = None if server is None else _annotated(found, server)
        return Plan.of(handed, write(seen, found, (RESTS,), now=now, awaited="Paused"))
    waits = condition(PAUSED, False, Reason.PAUSING, _WAITS)
    return Plan.of(_annotated(found, server), write(seen, found, (waits,), now=now, awaited=_WAITS)).then(
        WaitFor(f"OpenStackServer {server.metadata.name} to report Paused")
    )


def resume(server: Present[OpenStackServer]) -> Merge | None:
    """Take back the annotation that was handed down; None if there is none."""
    annotations = dict(server.metadata.annotations)
    if annotations.get(PAUSED_ANNOTATION) != HANDED_DOWN:
        return None
    left = {name: value for name, value in annotations.items() if name != PAUSED_ANNOTATION}
    return _merge(server, left, "its machine is not paused any more")


def _annotated(found: Present[OpenStackMachine], server: Present[OpenStackServer]) -> Merge | None:
    annotations = dict(server.metadata.annotations)
    if PAUSED_ANNOTATION not in found.metadata.annotations or PAUSED_ANNOTATION in annotations:
        return None
    return _merge(server, {**annotations, PAUSED_ANNOTATION: HANDED_DOWN}, "its machine is paused")


def _merge(server: Present[OpenStackServer], annotations: dict[str, str], why: str) -> Merge:
    observed = {"metadata": {"annotations": dict(server.metadata.annotations)}}
    return Merge(target=target(server), observed=observed, desired={"metadata": {"annotations": annotations}}, why=why)
