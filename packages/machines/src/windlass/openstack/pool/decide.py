"""What to do about an OpenStackFloatingIPPool. The rows, in order:

| situation | what is done |
|---|---|
| it does not exist, or cannot be read | nothing |
| it is paused | `Paused` says so |
| its mark is a copy of another object's | it gets a new one |
| finalizer or mark is missing | both are added |
| the credentials or the cloud fail | say so, and when it is tried again |
| what has its mark's root in the cloud has an earlier mark of the pool | it gets the mark, then the pool does |
| the same has the mark of another object | the pool stops, and its deletion leaves the cloud as it is |
| an IPAddress is deleted | its floating IP goes (Delete), or is free again (Retain); then its finalizer |
| a claim has no address | one is kept for it in the status, then its IPAddress is created, then the claim is told |
| a floating IP is missing | it is created, up to `maxIPs` |
| the same, and floating IPs have its tag, no mark, and no record | the pool stops: they may be its own |
| the pool is deleted | wait until there is no IPAddress, then what it made goes (unless Retain), then the finalizer |
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api.capo_pool import RETAIN, OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.meta import Condition, owner_reference, tree
from windlass.kube.conditions import condition, find
from windlass.kube.control.plan import Action, Create, Merge, Plan, RequeueAfter, Target, WaitFor, target
from windlass.kube.control.seen import Present
from windlass.kube.errors import Failure
from windlass.openstack import status
from windlass.openstack.cloud import upkeep
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.network_requests import CreateFloatingIp
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cloud.resources import FloatingIp, Network
from windlass.openstack.cloud.upkeep import TAGS, adopt, delete
from windlass.openstack.constants import ADDRESS_FINALIZER, CLUSTER_LABEL
from windlass.openstack.objects import dropped, event, intend, is_held, is_paused, mark_of, release, unseen
from windlass.openstack.ownership import Ownership, claim_of
from windlass.openstack.pool import claiming
from windlass.openstack.pool.addresses import Allocation, allocate
from windlass.openstack.pool.looking import with_cloud, with_owners
from windlass.openstack.pool.snapshot import TAG, External, FloatingIPPoolCloudFacts, FloatingIPPoolSnapshot, reference
from windlass.openstack.sending import SOON, THE_REST, RequestGate, Sending, at, calls
from windlass.openstack.status import (
    AUTHENTIC,
    DELETING,
    NOT_DELETING,
    NOT_PAUSED,
    PAUSED,
    POOL,
    POOL_PARTS,
    POOL_READY,
    PROGRESSING,
    RESTS,
    Reason,
    first_visit,
    progressing,
    unvisited,
)
from windlass.openstack.taken import left_to_its_owner
from windlass.openstack.trouble import Trouble, lasting_since, trouble_of, trouble_of_no_access, unmet

PREFIX: Final = 32
"""A floating IP is one address."""


def decide(seen: FloatingIPPoolSnapshot, *, now: datetime) -> Plan:
    """Pure: the rows of the module."""
    found = seen.pool
    if not isinstance(found, Present):
        return unseen(found, OpenStackFloatingIPPool)
    if is_paused(found, None):
        return Plan.of(_write(found, (RESTS,), now=now))
    if found.deleting and not is_held(found):
        return Plan.nothing("it is being deleted, and nothing of ours holds it")
    seen = with_owners(seen, found)
    plan = _first_steps(seen, found, now=now)
    if plan is not None:
        return plan
    seen = with_cloud(seen, found)
    if isinstance(seen.cloud, FloatingIPPoolCloudFacts):
        return _Visit(seen, found, seen.cloud, now).plan()
    about = trouble_of_no_access(seen.cloud, part=POOL_READY)
    until = about.due(now, since=lasting_since(found.object.status.conditions, about.type))
    rest = _deleting(about.message) if found.deleting else NOT_DELETING
    merge = _write(found, (about.condition, about.progress(until), rest, NOT_PAUSED), now=now)
    return Plan.of(merge).then(at(until, about.message, now=now))


def _first_steps(
    seen: FloatingIPPoolSnapshot, found: Present[OpenStackFloatingIPPool], *, now: datetime
) -> Plan | None:
    """What precedes the first look at the cloud."""
    held, mark, claim = is_held(found), mark_of(found), claim_of(found)
    if seen.facts.rival and find(found.object.status.conditions, PAUSED) is not None:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    if claim.is_replacing and find(found.object.status.conditions, PAUSED) is not None:
        return None  # what there is in the cloud comes first
    if held and mark and find(found.object.status.conditions, PAUSED) is not None:
        return None
    ref = found.object.spec.identity_ref
    first = _write(
        found, (NOT_PAUSED,), now=now, awaited=f"Waiting for the credentials in {ref.type or 'Secret'} {ref.name}"
    )
    return Plan.of(first, intend(found, "" if claim.stored else seen.fresh_mark))


class _Visit(Struct, frozen=True):
    """A decision with access to the cloud."""

    seen: FloatingIPPoolSnapshot
    found: Present[OpenStackFloatingIPPool]
    cloud: FloatingIPPoolCloudFacts
    now: datetime

    @property
    def ownership(self) -> Ownership:
        return Ownership(claim_of(self.found), self.cloud.facts, self.cloud.formers)

    @property
    def mark(self) -> str:
        return self.ownership.mark

    def plan(self) -> Plan:
        found, inventory = self.found, self.cloud.inventory
        if (plan := self._claiming()) is not None:
            return plan
        allocation = allocate(
            found.object,
            () if found.deleting else self.seen.claims,
            self.seen.addresses,
            inventory.floating_ips,
            mark=self.mark,
            certain=inventory.certain,
            unknown=self.seen.unknown,
        )
        if found.deleting and not self.seen.addresses and not self.seen.unknown:
            return self._delete()
        requests = [*self._upkeep(), *self._deletions(allocation.surplus), *self._creations(allocation)]
        sending = self._post(requests)
        in_the_way = (sending.first.trouble, sending.first.until) if sending.first is not None else None
        if in_the_way is None and allocation.missing and self._unclaimed is not None:
            in_the_way = self._unclaimed, self._unclaimed.due(self.now, since=self._since(POOL_READY))
        told_now, until, why = self._reported(allocation, in_the_way)
        objects = (*self._released(allocation), *self._given(allocation), *self._named())
        merge = _write(found, (*told_now, NOT_PAUSED), now=self.now, fields=self._fields(allocation))
        if sending.now and not sending.later:
            return Plan.of(merge, *objects, *calls(found, sending.now, "floating IPs for claims"))
        plan = Plan.of(merge, *objects)
        if sending.now:
            return plan.then(THE_REST)
        if until is not None:
            return plan.then(at(until, why, now=self.now))
        if not inventory.certain:
            return plan.then(RequeueAfter(inventory.certain_in + SOON, "an earlier request may still arrive"))
        return plan.then(WaitFor("the IPAddresses to go")) if found.deleting else plan

    def _post(self, requests: Iterable[CloudRequest]) -> Sending:
        def explain(request: CloudRequest, failure: Failure) -> Trouble:
            doing = f"{request.verb} {request.subject}"
            return trouble_of(failure, doing=doing, part=POOL_READY, where=self.cloud.where)

        conditions = self.found.object.status.conditions
        gate = RequestGate(
            blockers=self.cloud.blockers,
            last=self.seen.last,
            now=self.now,
            since=lambda part: lasting_since(conditions, part),
            explain=explain,
        )
        return gate.admit(requests)

    # what is asked of the cloud

    def _deletions(self, surplus: Iterable[FloatingIp]) -> Iterator[CloudRequest]:
        for each in surplus:
            yield delete(each, **self._whose)

    def _creations(self, allocation: Allocation) -> Iterator[CreateFloatingIp]:
        external = self._network()
        if not isinstance(external, Network) or not self.cloud.inventory.certain or self._unclaimed is not None:
            return
        mark, place = self.mark, self.found.metadata.namespace
        for name in allocation.missing:
            body = {
                "floating_network_id": external.id,
                "description": described(f"Created by Windlass for IPAddressClaim {place}/{name}", mark),
            }
            yield CreateFloatingIp(project=self.cloud.project, intent=Intent(mark), subject=f"for {name}", body=body)

    def _upkeep(self) -> Iterator[CloudRequest]:
        """The mark on those that Cluster API's own provider made for the pool, and the tag on all. Tags of others
        stay."""
        tag, mark = TAG.format(self.found.metadata.name), self.mark
        for each in self.cloud.inventory.floating_ips:
            ours = mark_on(each) == mark
            if tag in each.tags and not mark_on(each) and not self._is_users(each):
                yield adopt(each, **self._whose)
            elif ours and tag not in each.tags and TAGS in self.cloud.extensions:
                yield upkeep.tag(each, (*each.tags, tag), **self._whose)

    def _is_users(self, floating: FloatingIp) -> bool:
        return floating.floating_ip_address in self.found.object.spec.pre_allocated_floating_ips

    @property
    def _whose(self) -> dict[str, str]:
        return {"project": self.cloud.project, "mark": self.mark}

    # whose they are

    @property
    def _unclaimed(self) -> Trouble | None:
        return claiming.unclaimed(self.cloud.inventory)

    def _claiming(self) -> Plan | None:
        """What comes before anything else; None if all that there is is the pool's."""
        found, inventory, ownership = self.found, self.cloud.inventory, self.ownership
        if (other := claiming.stranger(inventory, ownership)) is not None:
            if found.deleting:
                note = left_to_its_owner(other)
                return Plan.of(event(found, "LeftInCloud", note, warning=True), release(found, note))
            about = claiming.of_another(other, ownership)
            return self._wait(about, about.due(self.now, since=self._since(POOL_READY)))
        if earlier := claiming.earlier(inventory, ownership):
            sending = self._post(adopt(each, **self._whose) for each in earlier)
            why = "what the pool had before gets its mark"
            return sending.plan(found, why, deferred=lambda wait: self._wait(wait.trouble, wait.until))
        return claiming.held(found, inventory, ownership, fresh_mark=self.seen.fresh_mark)

    def _wait(self, about: Trouble, until: datetime) -> Plan:
        rest = _deleting(about.message) if self.found.deleting else NOT_DELETING
        told_now = (AUTHENTIC, about.condition, about.progress(until), rest, NOT_PAUSED)
        merge = _write(self.found, told_now, now=self.now)
        return Plan.of(merge).then(at(until, about.message, now=self.now))

    # objects

    def _released(self, allocation: Allocation) -> Iterator[Action]:
        """IPAddresses that are being deleted go when their floating IP is gone, or stays."""
        busy = {each.floating_ip_address for each in allocation.surplus}
        for each in self.seen.addresses:
            reclaimed = self.cloud.inventory.certain and each.object.spec.address not in busy
            if each.deleting and is_held(each) and reclaimed:
                yield release(each, "its floating IP is reclaimed")

    def _given(self, allocation: Allocation) -> Iterator[Create]:
        there = {each.metadata.name for each in self.seen.addresses} | self.seen.unknown
        for claim in () if self.found.deleting else self.seen.claims:
            name = claim.metadata.name
            if name in allocation.kept and name not in there and not claim.deleting:
                yield self._address(claim, allocation.kept[name])

    def _address(self, claim: Present[IPAddressClaim], address: str) -> Create:
        meta, pool = claim.metadata, reference(self.found)
        labels = {CLUSTER_LABEL: label} if (label := meta.labels.get(CLUSTER_LABEL)) else {}
        body = {
            "metadata": {
                "labels": labels,
                "finalizers": [ADDRESS_FINALIZER],
                "ownerReferences": [tree(owner_reference(IPAddressClaim, meta, controller=True))],
            },
            "spec": {
                "claimRef": {"name": meta.name},
                "poolRef": tree(pool),
                "address": address,
                "prefix": PREFIX,
            },
        }
        why = f"{address} is kept for the claim"
        return Create(target=Target(IPAddress, meta.name, meta.namespace), body=body, why=why)

    def _named(self) -> Iterator[Merge]:
        """Claims are told of their IPAddress."""
        given = {each.metadata.name: each for each in self.seen.addresses}
        for claim in self.seen.claims:
            name, ref = claim.metadata.name, claim.object.status.address_ref
            address = given.get(name)
            if address is None or address.deleting or claim.deleting or (ref is not None and ref.name == name):
                continue
            owners = {each.uid for each in address.metadata.owner_references if each.kind == "IPAddressClaim"}
            if not owners or claim.metadata.uid in owners:  # else it is that of an earlier claim, and goes soon
                yield Merge(
                    target=target(claim),
                    part="status",
                    observed={"status": {"addressRef": tree(ref) if ref is not None else None}},
                    desired={"status": {"addressRef": {"name": name}}},
                    why=f"it has {address.object.spec.address}",
                )

    # what is told

    def _network(self) -> Network | Trouble:
        return _one(self.cloud.external, named=self.found.object.spec.floating_ip_network is not None)

    def _fields(self, allocation: Allocation) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "claims": [{"name": name, "address": address} for name, address in sorted(allocation.kept.items())],
            "claimedIPs": sorted(set(allocation.kept.values())),
            "availableIPs": list(allocation.available),
            "failedIPs": list(allocation.failed),
        }
        network = self._network()
        if isinstance(network, Network) and not self.found.deleting:
            known = {"id": network.id, "name": network.name, "tags": network.tags}
            fields["floatingIPNetwork"] = {name: value for name, value in known.items() if value}
        return fields

    def _reported(
        self, allocation: Allocation, held: tuple[Trouble, datetime] | None
    ) -> tuple[Sequence[Condition], datetime | None, str]:
        """The conditions, and when what is in the way is tried again."""
        network = self._network()
        authentic, rest = AUTHENTIC, NOT_DELETING
        if self.found.deleting:
            names = ", ".join(each.metadata.name for each in self.seen.addresses)
            rest = _deleting(f"Waiting for {len(self.seen.addresses)} IPAddresses to go: {names}")
        elif held is None and isinstance(network, Trouble):
            held = network, network.due(self.now, since=self._since(network.type))
        if held is not None:
            about, until = held
            several = {each.type: each for each in (authentic, rest, about.condition, about.progress(until))}
            return tuple(several.values()), until, about.message
        good = condition(POOL_READY, True, Reason.READY)
        if allocation.refused:
            most, names = self.found.object.spec.max_ips, ", ".join(allocation.refused)
            text = f"All {most} floating IPs of spec.maxIPs are claimed; waiting for one: {names}"
            full = condition(PROGRESSING, False, Reason.MAX_IPS_REACHED, text)
            return (authentic, rest, condition(POOL_READY, False, Reason.MAX_IPS_REACHED, text), full), None, text
        busy = ", ".join(allocation.missing) or ("claims" if self.found.deleting else "")
        goes_on = progressing(f"Waiting for the floating IPs of {busy}")
        return (authentic, rest, good, goes_on if busy else condition(PROGRESSING, False, Reason.SUCCESS)), None, ""

    def _since(self, part: str) -> datetime | None:
        return lasting_since(self.found.object.status.conditions, part)

    # deletion

    def _delete(self) -> Plan:
        """No IPAddress is left."""
        found, inventory = self.found, self.cloud.inventory
        ours = [each for each in inventory.floating_ips if mark_on(each) == self.mark and not self._is_users(each)]
        if found.object.spec.reclaim_policy == RETAIN:
            return Plan.of(release(found, "its floating IPs are retained"))
        if not ours and inventory.certain:
            return Plan.of(release(found, "nothing is left of it in the cloud"))
        what = f"Deleting {len(ours)} floating IPs" if ours else "An earlier request may still arrive"
        sending = self._post(self._deletions(ours))
        progress, again = progressing(what), RequeueAfter(inventory.certain_in + SOON, what)
        if (first := sending.first) is not None:
            what, progress = first.trouble.message, first.trouble.progress(first.until)
            again = at(first.until, what, now=self.now)
        merge = _write(self.found, (_deleting(what, Reason.DELETING_FLOATING_IPS), progress, NOT_PAUSED), now=self.now)
        if sending.now and not sending.later:
            return Plan.of(merge, *calls(found, sending.now, "the pool is deleted"))
        return Plan.of(merge).then(THE_REST if sending.now else again)


def _one(external: External, *, named: bool) -> Network | Trouble:
    """The external network, or what is wrong with it."""
    if isinstance(external, CloudFailure):
        return trouble_of(external, doing="look up the external network", part=POOL_READY)
    if len(external) == 1:
        return external[0]
    where = "spec.floatingIPNetwork matches" if named else "the cloud has"
    names = ", ".join(sorted(each.name for each in external))
    text = f"{where} several external networks ({names}): name one" if external else f"{where} no external network"
    return unmet(text, part=POOL_READY, reason=Reason.UNABLE_TO_FIND_NETWORK)


def _deleting(what: str, reason: Reason = Reason.WAITING_FOR_ADDRESSES) -> Condition:
    return condition(DELETING, True, reason, what)


def _write(
    found: Present[OpenStackFloatingIPPool],
    told_now: Iterable[Condition],
    *,
    now: datetime,
    fields: Mapping[str, Any] | None = None,
    awaited: str = "Waiting for the cloud",
) -> Merge:
    """The one status write; conditions that are missing are added, Unknown."""
    first = first_visit(unvisited(found, POOL), awaited=awaited)
    return status.write(found, (*first, *told_now), parts=POOL_PARTS, now=now, fields=fields)
