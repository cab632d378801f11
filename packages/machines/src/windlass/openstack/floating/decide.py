"""What to do about the floating IP of an OpenStackServer. The rows, in order:

| situation | what is done |
|---|---|
| the claim is kept for a Machine of the Machine API, which is gone | the claim is released, and deleted |
| the same, and a server of its name asks for an address again | the claim is its own |
| the same | nothing: the Machine API has the server, with its port and its address |
| the server is gone, or another one of its name wants none | its claim is released, and deleted |
| it names no pool, or not its apiGroup; it has no mark yet, is paused, or is being deleted | nothing |
| IPAddressClaims are not served | say so |
| there is no claim, or it lacks our finalizer | both are made |
| the claim has no IPAddress | wait for the provider of the pool |
| the server has no port yet | wait |
| the floating IP leads to a port of the server | done |
| it does not exist, or leads to something else | say so, and look again |
| it leads nowhere | lead it to a port: the next one, if the external network is not reachable from one |
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import GROUP, IPAddress, IPAddressClaim, PoolReference
from windlass.api.meta import owner_reference, tree
from windlass.kube.conditions import condition, find, is_true
from windlass.kube.control.plan import AddFinalizer, Create, Delete, Merge, Outcome, Plan, RequeueAfter, Target, target
from windlass.kube.control.question import Asking, Confirmed
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen
from windlass.kube.errors import Failure
from windlass.openstack.cloud.failures import Missing
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.constants import CLAIM_FINALIZER, CLAIM_SUFFIX, CLUSTER_LABEL, KEPT_ANNOTATION
from windlass.openstack.objects import claim_name, is_held, kept_for, mark_of, release
from windlass.openstack.questions import InProject, LookAtNetworks, ProjectOf
from windlass.openstack.sending import RequestGate, at
from windlass.openstack.server.conditions import write
from windlass.openstack.server.snapshot import recorded
from windlass.openstack.status import FLOATING_READY, Reason
from windlass.openstack.trouble import Trouble, trouble_of, trouble_of_no_access, trouble_since, unmet

RECENT: Final = 60.0
JUST_NOW: Final = 1.0
"""The greatest age in seconds of the list of floating IPs: for a server that has its floating IP, and for others."""


class FloatingIPSnapshot(Asking, frozen=True, kw_only=True):
    """`address`: the IPAddress that the status of the claim names; None: it names none. `lives_on`: the Machine that
    the claim is kept for is there, as far as is known."""

    server: Seen[OpenStackServer]
    claim: Seen[IPAddressClaim]
    address: Seen[IPAddress] | None = None
    paused: bool = False
    lives_on: bool = False
    last: Outcome = Outcome()


def decide(seen: FloatingIPSnapshot, *, now: datetime) -> Plan:
    """Pure: the rows of the module."""
    claim = seen.claim
    found = _server(seen)
    if isinstance(claim, Present) and kept_for(claim):
        return _kept(seen, found, claim)
    of_server = isinstance(claim, Present) and bool(_owners(claim))
    if isinstance(found, Absent):
        gone = "its OpenStackServer is gone"
        return _release(claim, gone) if of_server and isinstance(claim, Present) else Plan.nothing("no claim")
    if not isinstance(found, Present):
        return Plan.nothing("the OpenStackServer cannot be read")
    if isinstance(claim, Present) and of_server and found.metadata.uid not in _owners(claim):
        return _release(claim, "it is of an earlier OpenStackServer of the same name")
    ref = _wanted(found, paused=seen.paused)
    if ref is None:
        return Plan.nothing("nothing is to be done about a floating IP")
    if isinstance(claim, NotServedKind):
        text = f"{GROUP} is not served: install Cluster API core"
        return _wait(found, Reason.WAITING_FOR_IPAM_PROVIDER, text, now=now, again=60.0)
    if isinstance(claim, Absent):
        text = f"Waiting for {ref.kind} {ref.name} to give an address"
        waits = condition(FLOATING_READY, False, Reason.WAITING_FOR_IPAM_PROVIDER, text)
        return Plan.of(write(found, (waits,), now=now), _claim(found, ref))
    if isinstance(claim, Present) and not of_server:
        text = f"IPAddressClaim {claim.metadata.name} is not of this server: delete it"
        return _wait(found, Reason.FLOATING_IP_ERROR, text, now=now)
    if isinstance(claim, Present) and not is_held(claim) and not claim.deleting:
        held = tuple(claim.metadata.finalizers)
        return Plan.of(AddFinalizer(target=target(claim), observed=held, finalizer=CLAIM_FINALIZER))
    if not isinstance(claim, Present) or not isinstance(seen.address, Present):
        text = f"Waiting for {ref.kind} {ref.name} to give IPAddressClaim {claim_name(found)} an address"
        return _wait(found, Reason.WAITING_FOR_IPAM_PROVIDER, text, now=now)
    if not (found.object.status.instance_id and recorded(found).ports):
        return _wait(found, Reason.INSTANCE_NOT_READY, "Waiting for the server and its ports", now=now)
    return _lead(seen, found, seen.address.object.spec.address, now=now)


def _server(seen: FloatingIPSnapshot) -> Seen[OpenStackServer]:
    """The claim is released if there is no server: the cache alone must not say so."""
    claim = seen.claim
    if not isinstance(seen.server, Absent) or not isinstance(claim, Present):
        return seen.server
    meta = claim.metadata
    return seen.need(Confirmed(OpenStackServer, meta.name.removesuffix(CLAIM_SUFFIX), meta.namespace))


def _lead(seen: FloatingIPSnapshot, found: Present[OpenStackServer], address: str, *, now: datetime) -> Plan:
    age = RECENT if is_true(found.object.status.conditions, FLOATING_READY) else JUST_NOW
    of = ProjectOf(found.object.spec.identity_ref, found.metadata.namespace, mark_of(found))
    cloud = seen.need(LookAtNetworks(of, (address,), kinds=(FloatingIp,), age=age))
    if not isinstance(cloud, InProject):
        about = trouble_of_no_access(cloud, part=FLOATING_READY)
        if about.type != FLOATING_READY:  # the controller of the server tells of the credentials
            return _wait(found, Reason.FLOATING_IP_ERROR, about.message, now=now)
        return _in_the_way(found, about, now, now=now)
    floating = next((each for each in cloud.value.floating_ips if each.floating_ip_address == address), None)
    if floating is None:
        text = f"Floating IP {address} does not exist in the project of the server"
        return _in_the_way(found, _unmet(text), now, now=now)
    ports = recorded(found).ports
    if floating.port_id in ports:
        return Plan.of(write(found, (condition(FLOATING_READY, True, Reason.READY, address),), now=now))
    if floating.port_id:
        text = f"Floating IP {address} leads to port {floating.port_id}, which is not of this server: take it off there"
        return _in_the_way(found, _unmet(text), now, now=now)
    refused = {each.subject: each.at for each in cloud.blockers.refusals if isinstance(each.failure, Missing)}
    choices = list(_associations(found, cloud.project, floating, ports))
    request = min(choices, key=lambda each: (each.subject in refused, refused.get(each.subject, now)))

    def explain(request: CloudRequest, failure: Failure) -> Trouble:
        unreachable = isinstance(failure, Missing)
        doing = f"{request.verb} {request.subject}"
        if unreachable:
            text = f"Failed to {doing}: {failure}. Connect a router with that network and the external one"
            return _unmet(text, Reason.UNABLE_TO_FIND_FLOATING_IP_NETWORK)
        return trouble_of(failure, doing=doing, part=FLOATING_READY, reason=Reason.FLOATING_IP_ERROR, where=cloud.where)

    gate = RequestGate(blockers=cloud.blockers, last=seen.last, now=now, since=lambda _: _since(found), explain=explain)
    return gate.admit([request]).plan(
        found,
        "the server gets its floating IP",
        deferred=lambda deferred: _in_the_way(found, deferred.trouble, deferred.until, now=now, due=True),
    )


def _associations(
    found: Present[OpenStackServer], project: str, floating: FloatingIp, ports: tuple[str, ...]
) -> Iterator[AssociateFloatingIp]:
    for port in ports:
        yield AssociateFloatingIp(
            project=project,
            mark=mark_of(found),
            subject=f"{floating.floating_ip_address} with port {port}",
            id=floating.id,
            port=port,
        )


def _claim(found: Present[OpenStackServer], pool: PoolReference) -> Create:
    meta, cluster = found.metadata, found.metadata.labels.get(CLUSTER_LABEL, "")
    body = {
        "metadata": {
            "labels": {CLUSTER_LABEL: cluster} if cluster else {},
            "finalizers": [CLAIM_FINALIZER],
            "ownerReferences": [tree(owner_reference(OpenStackServer, meta, controller=True))],
        },
        "spec": {"poolRef": tree(pool), **({"clusterName": cluster} if cluster else {})},
    }
    aim = Target(IPAddressClaim, claim_name(found), meta.namespace)
    return Create(target=aim, body=body, why="the server asks for an address")


def _wanted(found: Present[OpenStackServer], *, paused: bool) -> PoolReference | None:
    """The pool that it asks for an address; None if it asks for none, or must not be given one now."""
    ref = found.object.spec.floating_ip_pool_ref
    if ref is None or not ref.api_group or paused or found.deleting or not mark_of(found):
        return None
    return PoolReference(api_group=ref.api_group, kind=ref.kind, name=ref.name)


def _kept(seen: FloatingIPSnapshot, found: Seen[OpenStackServer], claim: Present[IPAddressClaim]) -> Plan:
    """The OpenStackServer of the claim is gone, and the server stayed with a Machine of the Machine API."""
    if isinstance(found, Present) and not claim.deleting and _wanted(found, paused=seen.paused):
        meta = claim.metadata
        left = {name: value for name, value in meta.annotations.items() if name != KEPT_ANNOTATION}
        owner = owner_reference(OpenStackServer, found.metadata, controller=True)
        taken = Merge(
            target=target(claim),
            observed={"metadata": {"annotations": dict(meta.annotations)}},
            desired={"metadata": {"annotations": left, "ownerReferences": [tree(owner)]}},
            why="its server has an OpenStackServer again",
        )
        return Plan.of(taken)
    if claim.deleting or not seen.lives_on:
        return _release(claim, "the machine that it was kept for is gone")
    return Plan.nothing("the Machine API has the server, and its address stays")


def _release(claim: Present[IPAddressClaim], why: str) -> Plan:
    """Deleted first: once the finalizer is gone, nobody would delete it again."""
    if not is_held(claim) and claim.deleting:
        return Plan.nothing(why)
    return Plan.of(
        Delete(target=target(claim), deleting=claim.deleting, why=why), release(claim, why) if claim.deleting else None
    )


def _owners(claim: Present[IPAddressClaim]) -> list[str]:
    """The uids of OpenStackServers that own it; that of a user has none."""
    return [each.uid for each in claim.metadata.owner_references if each.kind == OpenStackServer.RESOURCE.kind]


def _unmet(text: str, reason: Reason = Reason.FLOATING_IP_ERROR) -> Trouble:
    return unmet(text, part=FLOATING_READY, reason=reason)


def _wait(found: Present[OpenStackServer], reason: str, text: str, *, now: datetime, again: float = 0.0) -> Plan:
    plan = Plan.of(write(found, (condition(FLOATING_READY, False, reason, text),), now=now))
    return plan.then(RequeueAfter(again, text)) if again else plan


def _in_the_way(
    found: Present[OpenStackServer], about: Trouble, when: datetime, *, now: datetime, due: bool = False
) -> Plan:
    """`due`: `when` is the time of the next attempt; else it failed then."""
    until = when if due else about.due(when, since=_since(found))
    return Plan.of(write(found, (about.condition,), now=now)).then(at(until, about.message, now=now))


def _since(found: Present[OpenStackServer]) -> datetime | None:
    """Since when the present trouble lasts; to wait for others is none."""
    had = find(found.object.status.conditions, FLOATING_READY)
    waits = had is None or had.reason in (Reason.WAITING_FOR_IPAM_PROVIDER, Reason.INSTANCE_NOT_READY)
    return None if waits else trouble_since(found.object.status.conditions, FLOATING_READY)
